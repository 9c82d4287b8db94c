//! Properties of the stabilized learner from files to a model.

mod files;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use files::{Folder, fitted, options, text};
use tamis::data::ScaleKind;
use tamis::loss::LossKind;
use tamis::recipe::{Method, Recipe};
use tamis::stabilized::{SMALLEST, size_path};
use tamis::train::{Checkpoint, CheckpointPlan, FitOptions, Observer, TrainError, fit};
use tamis_testkit::generators::{Shape, shuffled_entries, stream, with_explicit_zeros};

fn recipe() -> Recipe {
    Recipe::new(Method::Stabilized)
}

fn of_size(k: usize) -> Recipe {
    Recipe { k: Some(k), ..recipe() }
}

const SHAPE: Shape = Shape { rows: 150, features: 20, longest: 8, seed: 11 };

/// Two classes, three classes and regression, each as svmlight text.
fn kinds() -> [(&'static str, String); 3] {
    let two = files::svmlight(&stream(SHAPE, LossKind::Hinge));
    let three = two.lines().enumerate().map(|(number, line)| match line.strip_prefix("-1") {
        Some(rest) if number % 2 == 0 => format!("2{rest}\n"),
        _ => format!("{line}\n"),
    });
    let three = three.collect();
    [("two", two), ("three", three), ("numbers", files::svmlight(&stream(SHAPE, LossKind::Squared)))]
}

#[test]
fn threads_change_no_bit() {
    let folder = Folder::new("threads");
    for (kind, lines) in kinds() {
        for recipe in [recipe(), of_size(7)] {
            let mut options = options(&[folder.write(&format!("{kind}.svm"), &lines)]);
            let one = fitted(&recipe, &options);
            for threads in [2, 3] {
                options.read.threads = threads;
                assert_eq!(text(&fitted(&recipe, &options)), text(&one), "{kind}, {threads} threads");
            }
        }
    }
}

#[test]
fn blocks_and_memory_limits_do_not_matter() {
    let folder = Folder::new("cuts");
    for (kind, lines) in kinds() {
        let whole = text(&fitted(&of_size(6), &options(&[folder.write(&format!("{kind}.svm"), &lines)])));
        for rows in [1, 7, 60, 149] {
            let all: Vec<&str> = lines.lines().collect();
            let pieces = all.chunks(rows).enumerate();
            let name = |number| format!("{kind}-{rows}-{number}.svm");
            let paths = pieces.map(|(number, piece)| folder.write(&name(number), &(piece.join("\n") + "\n")));
            let mut options = options(&paths.collect::<Vec<_>>());
            options.read.threads = 2;
            assert_eq!(text(&fitted(&of_size(6), &options)), whole, "{kind}, {rows} rows a file");
            options.memory = 0;
            assert_eq!(text(&fitted(&of_size(6), &options)), whole, "{kind}, rows on disk");
        }
    }
}

#[test]
fn the_order_within_a_row_and_zeros_do_not_matter() {
    let folder = Folder::new("order");
    let batch = stream(SHAPE, LossKind::Logistic);
    let zeros = files::vowpal(&with_explicit_zeros(&shuffled_entries(&batch, 5), SHAPE.features), &[4, 9]);
    let plain = files::vowpal(&batch, &[]);
    assert!(zeros.contains(":0 ") && !plain.contains(":0 "));
    let [plain, zeros] = [("plain.vw", plain), ("zeros.vw", zeros)].map(|(name, lines)| folder.write(name, &lines));
    for recipe in [recipe(), of_size(5)] {
        assert_eq!(
            text(&fitted(&recipe, &options(std::slice::from_ref(&plain)))),
            text(&fitted(&recipe, &options(std::slice::from_ref(&zeros))))
        );
    }
}

/// Collects notes; stops the training after a number of rows.
#[derive(Default)]
struct Watch {
    notes: Vec<String>,
    stop: Arc<AtomicBool>,
    stop_at: Option<u64>,
}

impl Observer for Watch {
    fn tick(&mut self, rows: u64, _total: Option<u64>, _bytes: u64) {
        if self.stop_at.is_some_and(|at| rows >= at) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_string());
    }
}

#[test]
fn exactly_k_features() {
    let folder = Folder::new("exact");
    let path = folder.write("two.svm", &kinds()[0].1);
    for k in 1..=SHAPE.features {
        let model = fitted(&of_size(k), &options(std::slice::from_ref(&path)));
        assert_eq!(model.nonzeros(), k);
        let selection = model.size_path.expect("a size path");
        assert_eq!(selection.sizes[selection.chosen].size, k);
        let sizes: Vec<usize> = selection.sizes.iter().map(|size| size.size).collect();
        assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
        assert_eq!(sizes.last(), Some(&1), "the sizes go down to a single feature");
    }
}

#[test]
fn all_features_and_a_note_if_k_is_too_large() {
    let folder = Folder::new("more");
    for (kind, lines) in kinds() {
        let options = options(&[folder.write(&format!("{kind}.svm"), &lines)]);
        let mut watch = Watch::default();
        let model = fit(&of_size(21), &options, None, &mut watch).unwrap().model;
        assert_eq!((model.nonzeros(), model.seen.features), (20, 20), "{kind}");
        assert_eq!(watch.notes, ["21 features were asked for, but only 20 were seen: all are kept"]);
        let mut watch = Watch::default();
        let exactly = fit(&of_size(20), &options, None, &mut watch).unwrap().model;
        assert_eq!((exactly.outputs, watch.notes.len()), (model.outputs, 0), "{kind}");
    }
}

/// Stops a training after a number of rows; returns the checkpoint, or `None` if the training ended before.
fn stopped(recipe: &Recipe, options: &FitOptions, resume: Option<Checkpoint>, rows: u64) -> Option<Checkpoint> {
    let mut watch = Watch { stop_at: Some(rows), ..Watch::default() };
    let options = FitOptions { stop: watch.stop.clone(), ..options.clone() };
    let path = options.checkpoint.as_ref().expect("a place to save").path.clone();
    match fit(recipe, &options, resume, &mut watch) {
        Err(TrainError::Interrupted { saved, .. }) => {
            assert_eq!(saved.as_deref(), Some(path.as_path()));
            Some(Checkpoint::load(&path).unwrap())
        }
        Ok(_) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_resumed_training_equals_an_uninterrupted_one() {
    let folder = Folder::new("stops");
    let plan = CheckpointPlan { path: folder.path("state"), every: None };
    for (kind, lines) in kinds() {
        let mut options = options(&[folder.write(&format!("{kind}.svm"), &lines)]);
        for recipe in [recipe(), of_size(4)] {
            let whole = fitted(&recipe, &options);
            options.checkpoint = Some(plan.clone());
            let mut stops = 0;
            // The first stage has 1600 rows, the others 800; tallies are every 200 rows in the second half.
            for rows in [1, 149, 150, 151, 799, 800, 1000, 1599, 1600, 1601, 2000, 2399, 2400, 2900, 3199, 3200, 3999] {
                let Some(saved) = stopped(&recipe, &options, None, rows) else { continue };
                assert!(!saved.is_complete() && saved.rows() >= rows);
                stops += 1;
                let resumed = fit(&recipe, &options, Some(saved), &mut ()).unwrap();
                assert_eq!(text(&resumed.model), text(&whole), "{kind}, stopped at {rows}");
                assert_eq!(resumed.rows_learned, whole_rows(&recipe));
            }
            assert!(stops > 10, "{kind}: {stops}");
            options.checkpoint = None;
        }
    }
}

/// The rows visited by the trainings of these tests.
fn whole_rows(recipe: &Recipe) -> u64 {
    800 * (size_path(SHAPE.features, recipe.k.unwrap_or(SMALLEST)).len() as u64 + 1)
}

#[test]
fn repeated_stops_change_no_bit() {
    let folder = Folder::new("chain");
    let (_, lines) = &kinds()[0];
    let mut options = options(&[folder.write("two.svm", lines)]);
    let whole = text(&fitted(&of_size(4), &options));
    // With checkpoints every 37 rows as well, and one or two threads in turn.
    options.checkpoint = Some(CheckpointPlan { path: folder.path("state"), every: Some(37) });
    let mut saved = None;
    for rows in (111..3100).step_by(111) {
        options.read.threads = 1 + rows as usize % 2;
        saved = stopped(&of_size(4), &options, saved, rows);
    }
    let model = fit(&of_size(4), &options, Some(saved.expect("not over yet")), &mut ()).unwrap().model;
    assert_eq!(text(&model), whole);
    assert!(Checkpoint::load(&folder.path("state")).unwrap().is_complete());
}

/// Copies every checkpoint it finds: the file that a process killed at that moment would leave.
struct Kills<'a> {
    path: &'a std::path::Path,
    copies: Vec<Vec<u8>>,
}

impl Observer for Kills<'_> {
    fn tick(&mut self, _rows: u64, _total: Option<u64>, _bytes: u64) {
        if let Ok(bytes) = std::fs::read(self.path)
            && self.copies.last() != Some(&bytes)
        {
            self.copies.push(bytes);
        }
    }
}

#[test]
fn a_kill_between_saves_loses_rows_but_no_bit() {
    let folder = Folder::new("kills");
    let (_, lines) = &kinds()[1];
    let mut options = options(&[folder.write("three.svm", lines)]);
    let path = folder.path("state");
    options.checkpoint = Some(CheckpointPlan { path: path.clone(), every: Some(291) });
    let mut kills = Kills { path: &path, copies: Vec::new() };
    let whole = text(&fit(&recipe(), &options, None, &mut kills).unwrap().model);
    assert!(kills.copies.len() > 6, "{}", kills.copies.len());
    for (number, bytes) in kills.copies.iter().enumerate() {
        let saved = Checkpoint::from_bytes(bytes, &path).unwrap();
        assert_eq!(saved.rows(), 291 * (number as u64 + 1));
        assert_eq!(text(&fit(&recipe(), &options, Some(saved), &mut ()).unwrap().model), whole, "{number}");
    }
}

#[test]
fn a_checkpoint_of_other_data_is_refused() {
    let folder = Folder::new("other");
    let (_, lines) = &kinds()[0];
    let mut options = options(&[folder.write("two.svm", lines)]);
    options.checkpoint = Some(CheckpointPlan { path: folder.path("state"), every: None });
    stopped(&recipe(), &options, None, 500).unwrap();
    let saved = || Checkpoint::load(&folder.path("state")).unwrap();
    let fewer: String = lines.lines().skip(1).map(|line| format!("{line}\n")).collect();
    options.sources = files::sources(&[folder.write("fewer.svm", &fewer)]);
    assert!(matches!(fit(&recipe(), &options, Some(saved()), &mut ()), Err(TrainError::OtherData { .. })));
    let error = fit(&of_size(3), &options, Some(saved()), &mut ()).unwrap_err();
    assert!(matches!(error, TrainError::OtherRecipe { .. }), "{error}");
}

/// Two days from the same distribution; all features are in the first row of each, so that they get the same ids.
fn days() -> [String; 2] {
    let day = |seed| {
        let lines = files::svmlight(&stream(Shape { seed, ..SHAPE }, LossKind::Hinge));
        let all: String = (1..=SHAPE.features).map(|id| format!(" {id}:0.5")).collect();
        format!("+1{all}\n{lines}")
    };
    [day(21), day(22)]
}

fn first_day(recipe: &Recipe, folder: &Folder, lines: &str) -> Checkpoint {
    let mut options = options(&[folder.write("first.svm", lines)]);
    options.checkpoint = Some(CheckpointPlan { path: folder.path("state"), every: None });
    fit(recipe, &options, None, &mut ()).unwrap();
    let saved = Checkpoint::load(&folder.path("state")).unwrap();
    assert!(saved.is_complete());
    saved
}

#[test]
fn full_decay_equals_a_new_training() {
    let folder = Folder::new("forget");
    let [first, second] = days();
    let options = options(&[folder.write("second.svm", &second)]);
    // Only the divisors of columns and the intercept are kept, and these have none.
    for k in [None, Some(6)] {
        let plain = Recipe { k, scale: ScaleKind::None, intercept: false, ..recipe() }.with("warm-start-decay", 1.0);
        let fresh = fitted(&plain, &options);
        let resumed = fit(&plain, &options, Some(first_day(&plain, &folder, &first)), &mut ()).unwrap().model;
        assert_eq!((&resumed.outputs, &resumed.size_path), (&fresh.outputs, &fresh.size_path));
        assert_eq!((fresh.seen.rows, resumed.seen.rows), (151, 302));
        let keeping = plain.with("warm-start-decay", 0.0);
        let kept = fit(&keeping, &options, Some(first_day(&keeping, &folder, &first)), &mut ()).unwrap().model;
        assert_ne!(kept.outputs, fresh.outputs);
    }
}

#[test]
fn a_second_day_may_be_interrupted_too() {
    let folder = Folder::new("second");
    let [first, second] = days();
    // A feature of the first day is gone, and there is a new one.
    let second = second.replace(" 3:", " 77:");
    let mut sorted = String::new();
    for line in second.lines() {
        let mut words = line.split(' ');
        sorted.push_str(words.next().expect("a label"));
        let mut entries: Vec<&str> = words.collect();
        entries.sort_by_key(|entry| entry.split(':').next().and_then(|id| id.parse::<u32>().ok()));
        entries.iter().for_each(|entry| sorted.extend([" ", entry]));
        sorted.push('\n');
    }
    let recipe = of_size(6).with("warm-start-decay", 0.3);
    let mut options = options(&[folder.write("second.svm", &sorted)]);
    options.checkpoint = Some(CheckpointPlan { path: folder.path("later"), every: None });
    let whole = fit(&recipe, &options, Some(first_day(&recipe, &folder, &first)), &mut ()).unwrap().model;
    assert_eq!((whole.seen.rows, whole.seen.features, whole.nonzeros()), (302, 21, 6));
    for rows in [1, 700, 1600, 2500, 3199] {
        let saved = stopped(&recipe, &options, Some(first_day(&recipe, &folder, &first)), rows).unwrap();
        let resumed = fit(&recipe, &options, Some(saved), &mut ()).unwrap().model;
        assert_eq!(text(&resumed), text(&whole), "stopped at {rows}");
    }
}

#[test]
fn only_ratios_of_importance_matter_for_regression() {
    let folder = Folder::new("importance");
    let batch = stream(SHAPE, LossKind::Squared);
    for loss in [LossKind::Squared, LossKind::Huber] {
        let recipe = Recipe { loss: Some(loss), ..of_size(8) };
        let [one, eight] = [1.0, 8.0].map(|factor| {
            let lines = files::weighted_vowpal(&batch, factor);
            let model = fitted(&recipe, &options(&[folder.write(&format!("{factor}.vw"), &lines)]));
            text(&model)
        });
        assert_eq!(one, eight, "{loss:?}");
    }
}

#[test]
fn a_second_day_may_have_one_class_only() {
    let folder = Folder::new("one-sided");
    let [first, second] = days();
    let second: String = second.lines().filter(|line| line.starts_with('+')).map(|line| format!("{line}\n")).collect();
    let options = options(&[folder.write("second.svm", &second)]);
    let model = fit(&of_size(5), &options, Some(first_day(&of_size(5), &folder, &first)), &mut ()).unwrap().model;
    assert_eq!(model.classes().len(), 2);
    assert!(model.outputs[0].intercept.is_finite());
}
