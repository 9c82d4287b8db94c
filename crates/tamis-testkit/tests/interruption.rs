//! A stream learned in one pass that is stopped between two checkpoints: the checkpoint counts its rows correctly.

mod files;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use files::{Folder, fitted, options, text};
use tamis::data::ScaleKind;
use tamis::loss::LossKind;
use tamis::recipe::{Method, Recipe};
use tamis::train::{Checkpoint, CheckpointPlan, FitOptions, Observer, TrainError, fit};
use tamis_testkit::generators::{Shape, stream};

const SHAPE: Shape = Shape { rows: 9000, features: 40, longest: 8, seed: 3 };

/// Stops the training after a number of rows.
struct Watch {
    stop: Arc<AtomicBool>,
    at: u64,
}

impl Observer for Watch {
    fn tick(&mut self, rows: u64, _total: Option<u64>, _bytes: u64) {
        self.stop.fetch_or(rows >= self.at, Ordering::Relaxed);
    }
}

#[test]
fn rows_are_counted_once_whenever_a_stream_is_stopped() {
    let folder = Folder::new("stream-stops");
    let path = folder.write("two.svm", &files::svmlight(&stream(SHAPE, LossKind::Hinge)));
    let recipe = Recipe { passes: Some(1), scale: ScaleKind::None, ..Recipe::new(Method::Ftrl) };
    let mut options = options(&[path]);
    let whole = fitted(&recipe, &options);
    options.checkpoint = Some(CheckpointPlan { path: folder.path("state"), every: None });
    for at in [100, 4096, 4097, 5000, 6500, 8200] {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = FitOptions { stop: stop.clone(), ..options.clone() };
        let error = fit(&recipe, &stopped, None, &mut Watch { stop, at }).unwrap_err();
        assert!(matches!(error, TrainError::Interrupted { rows, saved: Some(_) } if rows >= at), "{error}");
        let saved = || Checkpoint::load(&folder.path("state")).unwrap();
        let resumed = fit(&recipe, &options, Some(saved()), &mut ()).unwrap();
        assert_eq!(text(&resumed.model), text(&whole), "stopped at {at}");
        let again = FitOptions { again: true, ..options.clone() };
        let continued = fit(&recipe, &again, Some(saved()), &mut ()).unwrap();
        assert_eq!(continued.model.seen.rows, 2 * SHAPE.rows as u64, "stopped at {at}, then the same rows again");
    }
}
