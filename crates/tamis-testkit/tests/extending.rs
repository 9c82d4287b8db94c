//! The examples of docs/extending.md: one toy for each kind of extension, made with public interfaces only.

use std::sync::Arc;

use tamis::data::{Example, FeatureId, Label, RawRows, Row, State, StateError};
use tamis::eval::{Metrics, Scored};
use tamis::io::{Block, ReadError, RowSource};
use tamis::learners::{LazySgd, Learner, Step};
use tamis::loss::{Loss, LossDefinition, LossFacts, LossKind, Targets};
use tamis::model::Model;
use tamis::moments::Comoments;
use tamis::parse::{LineError, LineParser, ParseError, parse_lines};
use tamis::prox::{NoProx, soft_threshold};
use tamis::recipe::{Method, Recipe};
use tamis::solve::penalty::{Lasso, Penalty};
use tamis::solve::solve_penalized;
use tamis::step_size::Schedule;
use tamis::train::{FitOptions, fit_rows};
use tamis_report::{Report, ReportContext, Section, paragraph};
use tamis_testkit::contract::SHORT;
use tamis_testkit::generators::stream;

/// A loss: the absolute error |f − y|, whose best constant is the median.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Absolute;

impl Loss for Absolute {
    fn value(&self, margin: f64, target: f64) -> f64 {
        (margin - target).abs()
    }

    fn slope(&self, margin: f64, target: f64) -> f64 {
        if margin == target { 0.0 } else { (margin - target).signum() }
    }

    fn curvature(&self, _margin: f64, _target: f64) -> f64 {
        0.0
    }
}

impl LossDefinition for Absolute {
    const FACTS: LossFacts = LossFacts {
        name: "absolute",
        targets: Targets::Numbers,
        is_probabilistic: false,
        has_bounded_slope: true,
        half_curvature: 1.0,
        divides_rows: false,
        metric: None,
        scales_linearly: true,
        is_online_only: false,
        shape: None,
    };

    fn build(_shape: f64) -> Self {
        Absolute
    }
}

#[test]
fn a_loss_runs_in_a_learner() {
    let rate = Schedule { start: 1.0, power: 0.5 };
    let mut learner = LazySgd::new(Absolute::build(1.0), rate, NoProx, false, false);
    for i in 0..5000 {
        let target = if i % 5 == 0 { 100.0 } else { 2.0 };
        learner.learn(Example { row: Row { ids: &[0], values: &[1.0] }, target, weight: 1.0 });
    }
    let found = learner.weight(0);
    assert!((found - 2.0).abs() < 0.1, "the median is 2, found {found}");
    let facts = Absolute::FACTS;
    assert!(LossKind::ALL.iter().all(|kind| kind.name() != facts.name), "the toy is none of the library's");
    let steepest = (-50..=50).map(|margin| Absolute.slope(f64::from(margin), 0.0).abs()).fold(0.0, f64::max);
    assert_eq!(facts.has_bounded_slope, steepest <= 1.0);
}

/// A penalty: the lasso, `factor` times as strong.
#[derive(Clone, Copy, Debug)]
struct Stronger {
    factor: f64,
}

impl Penalty for Stronger {
    fn value(self, beta: f64, lambda: f64) -> f64 {
        self.factor * lambda * beta.abs()
    }

    fn prox(self, t: f64, lambda: f64) -> f64 {
        soft_threshold(t, self.zero_threshold(lambda))
    }

    fn piece(self, _beta: f64, lambda: f64) -> (f64, f64) {
        (self.factor * lambda, 0.0)
    }

    fn zero_threshold(self, lambda: f64) -> f64 {
        self.factor * lambda
    }

    fn is_convex(self) -> bool {
        true
    }
}

#[test]
fn a_penalty_runs_in_coordinate_descent() {
    let mut sums = Comoments::new(4);
    for i in 0..50 {
        let [a, b, c] = [f64::from(i % 7), f64::from(i % 5), f64::from(i % 3)];
        sums.observe_dense(&[3.0 * a - 2.0 * b + 0.01 * c, a, b, c], &[]);
    }
    let features = [1, 2, 3];
    let toy = solve_penalized(&sums, 0, &features, Stronger { factor: 4.0 }, 0.125);
    let lasso = solve_penalized(&sums, 0, &features, Lasso, 0.5);
    assert_eq!(toy, lasso, "four times an eighth is a half");
    let columns: Vec<usize> = toy.weights.iter().map(|pair| pair.0).collect();
    assert_eq!(columns, [1, 2], "the faint column is left out");
    assert!(solve_penalized(&sums, 0, &features, Stronger { factor: 4.0 }, 100.0).weights.is_empty());
}

/// A learner: the perceptron, w ← w + y·x after a mistake.
#[derive(Clone, Debug, Default)]
struct Perceptron {
    weights: Vec<f64>,
}

impl Learner for Perceptron {
    fn margin(&self, row: Row<'_>) -> f64 {
        row.iter().map(|(id, value)| self.weight(id) * value).sum()
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        let margin = self.margin(example.row);
        if margin * example.target <= 0.0 {
            for (id, value) in example.row.iter() {
                self.weights.resize(self.span().max(id as usize + 1), 0.0);
                self.weights[id as usize] += example.weight * example.target * value;
            }
        }
        Step { margin, loss: (-margin * example.target).max(0.0) * example.weight }
    }

    fn weight(&self, id: FeatureId) -> f64 {
        self.weights.get(id as usize).copied().unwrap_or(0.0)
    }

    fn bias(&self) -> f64 {
        0.0
    }

    fn span(&self) -> usize {
        self.weights.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        self.weight(id) == 0.0
    }

    fn forget(&mut self, id: FeatureId) {
        if let Some(weight) = self.weights.get_mut(id as usize) {
            *weight = 0.0;
        }
    }

    fn bytes(&self) -> usize {
        8 * self.weights.capacity()
    }

    fn save(&self, state: &mut State) {
        state.put("weights", self.weights.clone());
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.weights = state.take("weights")?;
        Ok(())
    }
}

#[test]
fn a_learner_keeps_the_laws() {
    let batch = stream(SHORT, LossKind::Hinge);
    let mut whole = Perceptron::default();
    whole.learn_all(batch.examples(), |_, _| {});
    assert!(whole.nonzeros() > 0);

    let mut cut = Perceptron::default();
    for (i, example) in batch.examples().enumerate() {
        let predicted = cut.margin(example.row);
        let before = cut.weights.clone();
        assert!(cut.margin(example.row) == predicted && cut.weights == before, "predicting changes nothing");
        assert_eq!(cut.learn(example).margin, predicted);
        if i % 100 == 0 {
            let (mut state, mut loaded) = (State::default(), Perceptron::default());
            cut.save(&mut state);
            loaded.load(&mut state).unwrap();
            cut = loaded;
        }
        for id in 0..cut.span() as FeatureId {
            if cut.is_idle(id) {
                cut.forget(id);
            }
        }
    }
    assert_eq!(cut.weights, whole.weights, "batches, checkpoints and idle features leave no trace");
}

/// A format: `label: word word …`, one row a line.
struct Words;

impl LineParser for Words {
    fn line(&self, line: &[u8], number: u32, rows: &mut RawRows) -> Result<(), (usize, LineError)> {
        let text = std::str::from_utf8(line).map_err(|error| (error.valid_up_to(), LineError::NotUtf8))?;
        let (label, words) = text.split_once(':').ok_or((0, LineError::NoLabel))?;
        words.split_whitespace().for_each(|word| rows.push_name(&[word], 1.0));
        rows.end_row(Label::Text(label.into()), 1.0, number);
        Ok(())
    }
}

/// The rows of a text in that format.
struct WordsSource(Option<String>);

impl RowSource for WordsSource {
    fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        let Some(text) = self.0.take() else { return Ok(None) };
        let (mut rows, mut errors) = (RawRows::by_name(), Vec::new());
        parse_lines(text.as_bytes(), &Words, &mut rows, &mut errors);
        if let Some(ParseError { line, column, problem }) = errors.into_iter().next() {
            return Err(ReadError::Line { file: self.name(), line: u64::from(line) + 1, column, problem });
        }
        Ok(Some(Block { rows, file: Arc::from(self.name()), first_line: 1 }))
    }

    fn name(&self) -> String {
        "mail.words".into()
    }
}

fn mail() -> Model {
    let text = "spam: win money now\nham: meet me now\n".repeat(100);
    let recipe = Recipe { k: Some(2), ..Recipe::new(Method::Ftrl) };
    fit_rows(&recipe, &FitOptions::default(), &mut WordsSource(Some(text)), None, &mut ()).unwrap().model
}

#[test]
fn a_format_feeds_a_fit() {
    let model = mail();
    assert_eq!((model.seen.rows, model.nonzeros()), (200, 2));
    assert!(model.outputs[0].features.iter().all(|feature| feature.name != "now"), "it is in both classes");
    let bad = WordsSource(Some("spam: win\nno label\n".into())).next_block().unwrap_err();
    assert_eq!(bad.to_string(), "mail.words:2:1: the line has no label");
}

/// A metric: the Brier score, the mean squared error of probabilities; nothing where the loss gives none.
fn brier(scored: &[(Scored, f64)]) -> Option<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for &(one, weight) in scored {
        let Scored::Class { binary: Some((truth, _, probability)), .. } = one else { return None };
        sum += weight * (probability? - f64::from(u8::from(truth))).powi(2);
        total += weight;
    }
    (total > 0.0).then(|| sum / total)
}

#[test]
fn a_metric_takes_predictions_beside_the_truth() {
    let row = |truth, probability: f64, weight| {
        let right = truth == (probability > 0.5);
        let true_probability = Some(if truth { probability } else { 1.0 - probability });
        (Scored::Class { right, true_probability, binary: Some((truth, probability, Some(probability))) }, weight)
    };
    let rows = [row(true, 0.75, 1.0), row(false, 0.5, 2.0)];
    assert_eq!(brier(&rows), Some((0.0625 + 2.0 * 0.25) / 3.0));
    assert_eq!(brier(&[(Scored::Number(1.0, 2.0), 1.0)]), None);
    assert_eq!(Metrics::of(&rows).n, 2, "the library's metrics take the same rows");
}

/// A section of the report: the number of rows for each feature.
fn rows_per_feature(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    let share = model.seen.rows.checked_div(model.nonzeros() as u64)?;
    let body = paragraph("The model in `{}` has *{}* rows for each feature.", &[context.file, &share.to_string()]);
    Some(Section::new("rows-per-feature", "Rows per feature", body))
}

#[test]
fn a_section_joins_a_report() {
    let (model, context) = (mail(), ReportContext { file: "mail.json", ..ReportContext::default() });
    let section: fn(&Model, &ReportContext<'_>) -> Option<Section> = rows_per_feature;
    let page = Report::default().with(section(&model, &context)).html();
    assert!(page.contains("id=\"rows-per-feature\"") && page.contains("<strong>100</strong> rows"), "{page}");
    let empty = Model { outputs: Vec::new(), ..model };
    assert!(section(&empty, &context).is_none());
}

#[test]
fn every_section_is_in_the_list() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tamis-report/src");
    let list = std::fs::read_to_string(source.join("build.rs")).unwrap();
    let mut sections = 0;
    for entry in std::fs::read_dir(source.join("parts")).unwrap() {
        let path = entry.unwrap().path();
        if std::fs::read_to_string(&path).unwrap().contains("pub fn section(model: &Model,") {
            let line = format!("    {}::section,\n", path.file_stem().unwrap().to_str().unwrap());
            assert!(list.contains(&line), "{} is not in SECTIONS", path.display());
            sections += 1;
        }
    }
    assert!(sections >= 10, "{sections} sections found");
}
