use super::*;
use crate::data::{Label, RawRows, ScaleKind, TaskKind};
use crate::io::{Block, Dense, Labels, MatrixRows, RowSource};
use crate::model::Model;
use crate::recipe::Method;
use crate::recipe::Recipe;
use crate::rng::splitmix64;

const COLUMNS: usize = 12;

/// Cells, most of which are zero and some large, and labels that depend on two of the columns.
fn data(rows: usize, classes: usize) -> (Vec<f64>, Vec<f64>) {
    let random = |at: usize| splitmix64(at as u64 + 1) as f64 / u64::MAX as f64;
    let cell = |at: usize| if random(3 * at) < 0.3 { random(3 * at + 1) * [1.0, 40.0][at % 2] - 0.3 } else { 0.0 };
    let cells: Vec<f64> = (0..rows * COLUMNS).map(cell).collect();
    let score = |row: usize| cells[row * COLUMNS + 2] - cells[row * COLUMNS + 5] / 40.0;
    let label = |row: usize| match classes {
        0 => 100.0 + 7.0 * score(row),
        2 => f64::from(score(row) > 0.0),
        _ => (score(row) * 4.0).round().clamp(0.0, classes as f64 - 1.0),
    };
    let labels = (0..rows).map(label).collect();
    (cells, labels)
}

fn source<'a>(cells: &'a [f64], labels: &'a [f64]) -> MatrixRows<'a, Dense<'a, f64>> {
    let matrix = Dense::new(cells, labels.len(), COLUMNS).unwrap();
    MatrixRows::new(matrix, Labels::Numbers(labels), None, None).unwrap()
}

fn learn(training: &mut Training, cells: &[f64], labels: &[f64]) {
    let mut rows = source(cells, labels);
    while let Some(block) = rows.next_block().unwrap() {
        training.learn(block).unwrap();
    }
}

fn spec(classes: usize) -> TargetSpec {
    match classes {
        0 => TargetSpec::Numbers,
        _ => TargetSpec::Classes((0..classes).map(|class| Label::Number(class as f64)).collect()),
    }
}

/// The model of a fit with one pass.
fn fitted(recipe: &Recipe, cells: &[f64], labels: &[f64], classes: usize) -> Model {
    let task = [TaskKind::Regression, TaskKind::Auto, TaskKind::Binary, TaskKind::Multiclass][classes];
    let options = FitOptions { task, memory: 1 << 30, ..FitOptions::default() };
    let recipe = Recipe { passes: Some(1), ..recipe.clone() };
    let mut model = fit_rows(&recipe, &options, &mut source(cells, labels), None, &mut ()).unwrap().model;
    model.recipe = Recipe { passes: None, ..recipe }.into();
    model
}

#[test]
fn the_model_is_that_of_a_fit_however_rows_are_split() {
    for rows in [300, 9000] {
        for (classes, scale) in
            [(0, ScaleKind::Auto), (2, ScaleKind::Auto), (3, ScaleKind::MaxAbs), (2, ScaleKind::None)]
        {
            let (cells, labels) = data(rows, classes);
            let recipe = Recipe { scale, ..Recipe::new(Method::Ftrl) };
            let expected = fitted(&recipe, &cells, &labels, classes);
            assert!(expected.nonzeros() > 0);
            for cut in [1, 10, 1000, rows] {
                let mut training = Training::incremental(&recipe, spec(classes), 1).unwrap();
                for (labels, cells) in labels.chunks(cut).zip(cells.chunks(cut * COLUMNS)) {
                    learn(&mut training, cells, labels);
                }
                assert_eq!(training.rows(), rows as u64);
                assert_eq!(training.model().unwrap(), expected, "{classes} classes, {scale:?}, {rows} rows by {cut}");
            }
        }
    }
}

#[test]
fn a_saved_training_continues_with_the_same_bits() {
    for (rows, classes) in [(200, 0), (200, 3), (6000, 2), (6000, 0)] {
        let (cells, labels) = data(2 * rows, classes);
        let (first, second) = (&cells[..rows * COLUMNS], &cells[rows * COLUMNS..]);
        let mut training = Training::incremental(&Recipe::new(Method::Ftrl), spec(classes), 1).unwrap();
        learn(&mut training, first, &labels[..rows]);
        let mut back = Training::from_bytes(&training.to_bytes(), 2).unwrap();
        assert_eq!(back.model().unwrap(), training.model().unwrap());
        for training in [&mut training, &mut back] {
            learn(training, second, &labels[rows..]);
        }
        assert_eq!(back.model().unwrap(), training.model().unwrap());
        assert_eq!(parts(&back.to_bytes()), parts(&training.to_bytes()));
    }
}

/// Methods whose initial step depends on the rows take the same steps as a fit, wherever rows are split or saved.
#[test]
fn initial_steps_from_the_first_rows_are_those_of_a_fit() {
    for method in [Method::Fobos, Method::Rda, Method::Tsgd, Method::Fofs, Method::Sadmm] {
        for (rows, scale) in [(300, ScaleKind::None), (6000, ScaleKind::None), (6000, ScaleKind::Auto)] {
            let (cells, labels) = data(rows, 0);
            let k = method.info().keeps_k.then_some(6);
            let recipe = Recipe { scale, k, ..Recipe::new(method) };
            let expected = fitted(&recipe, &cells, &labels, 0);
            let mut training = Training::incremental(&recipe, spec(0), 1).unwrap();
            for (labels, cells) in labels.chunks(100).zip(cells.chunks(100 * COLUMNS)) {
                learn(&mut training, cells, labels);
                training = Training::from_bytes(&training.to_bytes(), 1).unwrap();
            }
            assert_eq!(training.model().unwrap(), expected, "{method:?}, {scale:?}, {rows} rows");
            assert!(expected.seen.progressive_loss < 2e4, "{method:?}: {}", expected.seen.progressive_loss);
        }
    }
}

/// Header and body of a saved state; the entries of the header have no order.
fn parts(bytes: &[u8]) -> (serde_json::Value, Vec<u8>) {
    let (length, rest) = bytes.split_first_chunk::<8>().unwrap();
    let (header, body) = rest.split_at(u64::from_le_bytes(*length) as usize);
    (serde_json::from_slice(header).unwrap(), body.to_vec())
}

#[test]
fn margins_are_those_of_the_model() {
    for (classes, rows, k) in [(0, 9000, None), (2, 9000, None), (3, 9000, Some(3)), (2, 100, None)] {
        let (cells, labels) = data(rows, classes);
        for method in [Method::Ftrl, Method::TruncatedGradient, Method::Rda] {
            let mut training = Training::incremental(&Recipe { k, ..Recipe::new(method) }, spec(classes), 1).unwrap();
            learn(&mut training, &cells, &labels);
            let block = source(&cells[..40 * COLUMNS], &labels[..40]).next_block().unwrap().unwrap();
            let found = training.margins(&block.rows).unwrap();
            let model = crate::model::Predictor::new(&training.model().unwrap()).predict(&block.rows);
            let wanted: Vec<f64> = model.into_iter().flat_map(|row| row.margins).collect();
            assert_eq!(found.len(), 40 * if classes > 2 { classes } else { 1 });
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!((found - wanted).abs() < 1e-9 * wanted.abs().max(1.0), "{method:?}: {found} {wanted}");
            }
        }
    }
}

/// The data with two more columns far from zero, one of them without some of its values.
fn far_data(rows: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut cells, mut labels) = data(rows, 0);
    for (row, label) in labels.iter_mut().enumerate() {
        let random = splitmix64(row as u64) as f64 / u64::MAX as f64;
        cells[row * COLUMNS + 7] = 2000.0 + 20.0 * random;
        cells[row * COLUMNS + 8] = if row % 10 == 0 { 0.0 } else { 50.0 };
        *label += 10.0 * random;
    }
    (cells, labels)
}

#[test]
fn columns_far_from_zero_are_centred_however_rows_are_split_or_saved() {
    for (method, rows) in [(Method::Ftrl, 300), (Method::Ftrl, 9000), (Method::Fobos, 6000)] {
        let (cells, labels) = far_data(rows);
        let recipe = Recipe::new(method);
        let expected = fitted(&recipe, &cells, &labels, 0);
        let far = expected.outputs[0].features.iter().find(|feature| feature.name == "8").expect("it has an effect");
        assert!((far.centre - 2010.0).abs() < 2.0, "{}", far.centre);
        assert!(rows < 1000 || (far.weight - 0.5).abs() < 0.2, "{method:?}, {rows}: {}", far.weight);
        let mut training = Training::incremental(&recipe, spec(0), 1).unwrap();
        for (labels, cells) in labels.chunks(700).zip(cells.chunks(700 * COLUMNS)) {
            learn(&mut training, cells, labels);
            training = Training::from_bytes(&training.to_bytes(), 1).unwrap();
        }
        assert_eq!(training.model().unwrap(), expected, "{method:?}, {rows} rows");
        let block = source(&cells[..40 * COLUMNS], &labels[..40]).next_block().unwrap().unwrap();
        let margins = crate::model::Predictor::new(&expected).predict(&block.rows);
        for (found, wanted) in training.margins(&block.rows).unwrap().iter().zip(margins) {
            assert!((found - wanted.margins[0]).abs() < 1e-6, "{found} {}", wanted.margins[0]);
        }
        let plain = Recipe { intercept: false, ..recipe };
        let model = fitted(&plain, &cells, &labels, 0);
        assert!(model.outputs[0].features.iter().all(|feature| feature.centre == 0.0), "without intercept");
    }
}

/// The model of rows with weights.
fn weighted(cells: &[f64], labels: &[f64], weights: &[f64], passes: u32) -> Model {
    let matrix = Dense::new(cells, labels.len(), COLUMNS).unwrap();
    let mut rows = MatrixRows::new(matrix, Labels::Numbers(labels), Some(weights), None).unwrap();
    let options = FitOptions { task: TaskKind::Regression, memory: 1 << 30, ..FitOptions::default() };
    let recipe = Recipe { passes: Some(passes), ..Recipe::new(Method::Ftrl) };
    fit_rows(&recipe, &options, &mut rows, None, &mut ()).unwrap().model
}

#[test]
fn weights_are_relative_and_rows_of_weight_zero_are_left_out() {
    let (mut cells, mut labels) = data(9000, 0);
    let weights: Vec<f64> = (0..9000).map(|row| f64::from(row % 4)).collect();
    for passes in [1, 2] {
        let model = weighted(&cells, &labels, &weights, passes);
        let heavy: Vec<f64> = weights.iter().map(|weight| 1024.0 * weight).collect();
        assert_eq!(weighted(&cells, &labels, &heavy, passes), model);
        assert_eq!(model.seen.rows, 6750);
        let all = weighted(&cells, &labels, &vec![1.0; 9000], passes);
        assert_eq!(weighted(&cells, &labels, &vec![0.1; 9000], passes), all);
        assert_ne!(all.outputs, model.outputs);
        for row in (0..9000).filter(|row| row % 4 == 0) {
            cells[row * COLUMNS] = 1e9;
            labels[row] = -1e9;
        }
        assert_eq!(weighted(&cells, &labels, &weights, passes), model);
        (cells, labels) = data(9000, 0);
    }
}

#[test]
fn damaged_bytes_are_errors() {
    let (cells, labels) = data(50, 2);
    let mut training = Training::incremental(&Recipe::new(Method::Ftrl), spec(2), 1).unwrap();
    learn(&mut training, &cells, &labels);
    let bytes = training.to_bytes();
    for at in (0..bytes.len()).step_by(97) {
        let mut bad = bytes.clone();
        bad[at] ^= 4;
        assert!(Training::from_bytes(&bad, 1).is_err(), "byte {at}");
    }
}

#[test]
fn a_fit_can_stay_open() {
    let (cells, labels) = data(6000, 2);
    let half = 3000 * COLUMNS;
    let recipe = Recipe { scale: ScaleKind::None, passes: Some(1), ..Recipe::new(Method::Fobos) };
    let options = FitOptions { task: TaskKind::Binary, memory: 1 << 30, keep_open: true, ..FitOptions::default() };
    let kept = fit_rows(&recipe, &options, &mut source(&cells[..half], &labels[..3000]), None, &mut ()).unwrap();
    let mut training = kept.training.expect("it was requested");
    assert_eq!(training.model().unwrap(), kept.model);
    learn(&mut training, &cells[half..], &labels[3000..]);
    let mut whole = Training::incremental(&recipe, spec(2), 1).unwrap();
    learn(&mut whole, &cells, &labels);
    assert_eq!(training.model().unwrap(), whole.model().unwrap());
}

#[test]
fn a_fit_that_samples_features_cannot_continue() {
    let (cells, labels) = data(600, 2);
    let options = FitOptions { task: TaskKind::Binary, memory: 1 << 30, keep_open: true, ..FitOptions::default() };
    let recipe = Recipe { k: Some(2), ..Recipe::new(Method::TwoStage) };
    let fitted = fit_rows(&recipe, &options, &mut source(&cells, &labels), None, &mut ()).unwrap();
    assert!(fitted.training.is_none(), "sampled features cannot be trained further");
    assert_eq!(fitted.model.outputs[0].features.len(), 2);
}

#[test]
fn error_messages_say_what_to_do() {
    let message = |recipe: Recipe| Training::incremental(&recipe, TargetSpec::Numbers, 1).unwrap_err().to_string();
    let ftrl = || Recipe::new(Method::Ftrl);
    assert!(message(Recipe::default()).contains("stabilized needs all rows at once"));
    assert!(message(Recipe::new(Method::TwoStage)).contains("two-stage needs all rows at once"));
    assert!(message(Recipe::new(Method::StabilizedPublished)).contains("all rows at once"));
    assert!(message(Recipe { passes: Some(2), ..ftrl() }).starts_with("`passes = 2` needs all rows before learning"));
    assert!(
        message(Recipe { scale: ScaleKind::UnitVariance, ..ftrl() })
            .starts_with("`scale = unit-variance` needs all rows")
    );
    let one = Training::incremental(&ftrl(), TargetSpec::Classes(vec![Label::Number(1.0)]), 1).unwrap_err();
    assert!(one.to_string().contains("classification needs two classes"));
    let mut training = Training::incremental(&ftrl(), spec(2), 1).unwrap();
    assert!(training.model().unwrap_err().to_string().contains("no rows"));
    let mut rows = RawRows::by_index();
    rows.push_index(1, 1.0);
    rows.end_row(Label::Number(7.0), 1.0, 0);
    let block = Block { rows, file: "X".into(), first_line: 1 };
    let strange = training.learn(block).unwrap_err().to_string();
    assert_eq!(strange, "X:1: label 7 is not one of the classes 0, 1");
}

/// A complete training of the first rows, in one pass.
fn complete(recipe: &Recipe, cells: &[f64], labels: &[f64], folder: &std::path::Path) -> Checkpoint {
    let path = folder.join("state.st");
    let checkpoint = Some(CheckpointPlan { path: path.clone(), every: None });
    let options = FitOptions { checkpoint, memory: 1 << 30, ..FitOptions::default() };
    fit_rows(recipe, &options, &mut source(cells, labels), None, &mut ()).unwrap();
    Checkpoint::load(&path).unwrap()
}

#[test]
fn a_complete_training_goes_on_as_if_it_had_never_ended() {
    let folder = tempfile::tempdir().unwrap();
    for (method, classes) in [(Method::Ftrl, 2), (Method::TruncatedGradient, 0), (Method::Rda, 3)] {
        let (cells, labels) = data(9000, classes);
        let recipe = Recipe { passes: Some(1), ..Recipe::new(method) };
        let (first, cut) = (&cells[..5000 * COLUMNS], 7123);
        let checkpoint = complete(&recipe, first, &labels[..5000], folder.path());
        let mut training = Training::continued(checkpoint, 2, None).unwrap();
        learn(&mut training, &cells[5000 * COLUMNS..cut * COLUMNS], &labels[5000..cut]);
        let saved = Checkpoint::from_bytes(&training.to_checkpoint(), "saved".as_ref()).unwrap();
        assert!(saved.is_complete());
        let mut training = Training::continued(saved, 1, None).unwrap();
        learn(&mut training, &cells[cut * COLUMNS..], &labels[cut..]);
        let options = FitOptions { memory: 1 << 30, ..FitOptions::default() };
        let whole = fit_rows(&recipe, &options, &mut source(&cells, &labels), None, &mut ()).unwrap().model;
        assert_eq!(training.model().unwrap().to_text(), whole.to_text(), "{method:?}");
    }
}

#[test]
fn rows_that_cannot_be_learned_are_found_before_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (cells, labels) = data(300, 2);
    let recipe = Recipe { passes: Some(1), ..Recipe::new(Method::Ftrl) };
    let checkpoint = complete(&recipe, &cells, &labels, folder.path());
    let mut training = Training::continued(checkpoint, 1, None).unwrap();
    let before = training.to_checkpoint();
    let block = |names: &[&str], label: Label, first_line: u64| {
        let mut rows = RawRows::by_name();
        names.iter().for_each(|name| rows.push_name(&[name], 1.0));
        rows.end_row(label, 1.0, 0);
        Block { rows, file: "request".into(), first_line }
    };
    let complaint = |training: &mut Training, block: Block| training.check(&block).unwrap_err().to_string();
    let twice = complaint(&mut training, block(&["a", "b", "a"], Label::Number(1.0), 7));
    assert_eq!(twice, "request:7: feature \"a\" occurs twice in one row");
    let third = complaint(&mut training, block(&["a"], Label::Number(2.0), 3));
    assert!(third.starts_with("request:3: a third label 2"), "{third}");
    let none = complaint(&mut training, block(&["a"], Label::Absent, 3));
    assert_eq!(none, "request:3: the row has no label");
    training.check(&block(&["a", "b"], Label::Number(1.0), 3)).unwrap();
    assert!(training.to_checkpoint() == before, "checks change nothing");
    let gap = training.learn_logged(block(&["a"], Label::Number(1.0), 302)).unwrap_err().to_string();
    assert!(gap.starts_with("request: the log goes on with row 302, and the training has 300 rows"), "{gap}");
    training.learn_logged(block(&["a"], Label::Number(1.0), 300)).unwrap();
    assert_eq!(training.rows(), 300, "it has this row already");
    training.learn_logged(block(&["a"], Label::Number(1.0), 301)).unwrap();
    assert_eq!(training.rows(), 301);
}

#[test]
fn what_cannot_go_on_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let (cells, labels) = data(300, 2);
    let refusal = |recipe: &Recipe| {
        let checkpoint = complete(recipe, &cells, &labels, folder.path());
        Training::continued(checkpoint, 1, None).unwrap_err().to_string()
    };
    let recipe = Recipe { k: Some(3), ..Recipe::new(Method::Ftrl) };
    assert!(refusal(&recipe).contains("refit` needs all rows before learning"), "{}", refusal(&recipe));
    assert!(refusal(&Recipe::new(Method::TwoStage)).starts_with("two-stage needs all rows at once"));
    let recipe = Recipe { passes: Some(1), ..Recipe::new(Method::Ftrl) };
    let mut checkpoint = complete(&recipe, &cells, &labels, folder.path());
    checkpoint.header.is_complete = false;
    let error = Training::continued(checkpoint, 1, None).unwrap_err().to_string();
    assert!(error.contains("the training is not complete"), "{error}");
}
