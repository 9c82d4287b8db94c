//! Predictions as text, CSV or JSON lines.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use tamis::data::Label;
use tamis::model::{Model, Prediction, Predictor, Task};

use super::format::exact;
use super::terminal::one_line;

/// What is written for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Label,
    Probability,
    Margin,
    All,
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Text,
    Csv,
    JsonLines,
}

/// Writes predictions, one line a row.
pub struct PredictionWriter<'a, W: Write> {
    out: W,
    model: &'a Model,
    predictor: &'a Predictor,
    what: What,
    shape: Shape,
    /// Whether the tag of a row is its id.
    has_ids: bool,
    /// Two classes: the second one is predicted from this probability (or margin) on.
    threshold: Option<f64>,
}

impl<'a, W: Write> PredictionWriter<'a, W> {
    pub fn new(out: W, model: &'a Model, predictor: &'a Predictor, what: What, shape: Shape) -> Self {
        PredictionWriter { out, model, predictor, what, shape, has_ids: false, threshold: None }
    }

    /// With the id of each row.
    pub fn with_ids(self, has_ids: bool) -> Self {
        PredictionWriter { has_ids, ..self }
    }

    /// With another threshold between two classes.
    pub fn with_threshold(self, threshold: Option<f64>) -> Self {
        PredictionWriter { threshold, ..self }
    }

    /// The names of the columns, in CSV.
    pub fn head(&mut self) -> io::Result<()> {
        if self.shape != Shape::Csv {
            return Ok(());
        }
        let mut names = Vec::new();
        if self.has_ids {
            names.push("id".to_string());
        }
        let classes = self.model.classes();
        let of_classes = |kind: &str| classes.iter().map(|class| format!("{kind}_{class}")).collect::<Vec<_>>();
        if matches!(self.what, What::Label | What::All) {
            names.push(if classes.is_empty() { "prediction" } else { "label" }.to_string());
        }
        if self.what == What::Probability || (self.what == What::All && self.model.gives_probabilities()) {
            names.extend(of_classes("probability"));
        }
        if matches!(self.what, What::Margin | What::All) {
            match self.model.outputs.len() {
                1 => names.push("margin".into()),
                _ => names.extend(of_classes("margin")),
            }
        }
        self.record(names)
    }

    /// The prediction for a row.
    pub fn row(&mut self, prediction: &Prediction, tag: Option<&str>) -> io::Result<()> {
        match self.shape {
            Shape::Text => self.text(prediction, tag),
            Shape::Csv => {
                let cells = self.has_ids.then(|| tag.unwrap_or_default().to_string()).into_iter();
                let cells = cells.chain(self.cells(prediction)).collect();
                self.record(cells)
            }
            Shape::JsonLines => {
                let value = self.json(prediction, tag);
                writeln!(self.out, "{value}")
            }
        }
    }

    /// A row that was left out keeps its place: an empty line, empty cells, or an object that says so.
    pub fn left_out(&mut self, line: u64) -> io::Result<()> {
        match self.shape {
            Shape::Text => writeln!(self.out),
            Shape::Csv => {
                let classes = self.model.classes().len();
                let margins = self.model.outputs.len();
                let probabilities = if self.model.gives_probabilities() { classes } else { 0 };
                let cells = match self.what {
                    What::Label => 1,
                    What::Probability => classes,
                    What::Margin => margins,
                    What::All => 1 + probabilities + margins,
                };
                self.record(vec![String::new(); cells + usize::from(self.has_ids)])
            }
            Shape::JsonLines => writeln!(self.out, "{}", json!({"line": line, "skipped": true})),
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The predicted class.
    fn class(&self, prediction: &Prediction) -> Option<usize> {
        match self.threshold {
            Some(threshold) => Some(usize::from(prediction.response >= threshold)),
            None => prediction.class,
        }
    }

    fn label(&self, prediction: &Prediction) -> String {
        match self.class(prediction) {
            Some(class) => self.model.classes()[class].to_string(),
            None => exact(prediction.response),
        }
    }

    fn text(&mut self, prediction: &Prediction, tag: Option<&str>) -> io::Result<()> {
        let margins = || prediction.margins.iter().map(|&margin| exact(margin)).collect::<Vec<_>>().join(" ");
        let text = match self.what {
            What::Label => one_line(&self.label(prediction)),
            What::Probability if prediction.margins.len() == 1 => exact(prediction.response),
            What::Probability => self.named_probabilities(prediction),
            What::Margin => margins(),
            What::All if self.model.task == Task::Regression => exact(prediction.response),
            What::All => {
                format!("{} {} {}", one_line(&self.label(prediction)), exact(prediction.response), margins())
            }
        };
        match tag {
            Some(tag) => writeln!(self.out, "{text} {}", one_line(tag)),
            None => writeln!(self.out, "{text}"),
        }
    }

    /// `class:probability` for each class, with tabs between, since the name of a class may hold blanks.
    fn named_probabilities(&self, prediction: &Prediction) -> String {
        let probabilities = self.predictor.probabilities(&prediction.margins).unwrap_or_default();
        let pairs = self.model.classes().iter().zip(probabilities);
        let pair =
            |(class, probability): (&Label, f64)| format!("{}:{}", one_line(&class.to_string()), exact(probability));
        pairs.map(pair).collect::<Vec<_>>().join("\t")
    }

    fn cells(&self, prediction: &Prediction) -> Vec<String> {
        let probabilities = || self.predictor.probabilities(&prediction.margins).unwrap_or_default();
        let text = |numbers: Vec<f64>| numbers.into_iter().map(exact).collect::<Vec<_>>();
        match self.what {
            What::Label => vec![self.label(prediction)],
            What::Probability => text(probabilities()),
            What::Margin => text(prediction.margins.clone()),
            What::All => {
                let numbers = text(probabilities()).into_iter().chain(text(prediction.margins.clone()));
                std::iter::once(self.label(prediction)).chain(numbers).collect()
            }
        }
    }

    fn json(&self, prediction: &Prediction, tag: Option<&str>) -> Value {
        let mut value = Map::new();
        if let Some(tag) = tag {
            value.insert(if self.has_ids { "id" } else { "tag" }.into(), json!(tag));
        }
        match self.class(prediction) {
            Some(class) => value.insert("label".into(), json!(self.model.classes()[class])),
            None => value.insert("prediction".into(), json!(prediction.response)),
        };
        if let Some(probabilities) = self.predictor.probabilities(&prediction.margins) {
            value.insert("probability".into(), json!(prediction.response));
            let named = self.model.classes().iter().map(ToString::to_string).zip(probabilities);
            value.insert("probabilities".into(), named.map(|(class, p)| (class, json!(p))).collect());
        }
        value.insert("margins".into(), json!(prediction.margins));
        Value::Object(value)
    }

    /// A record of CSV.
    fn record(&mut self, cells: Vec<String>) -> io::Result<()> {
        self.out.write_all(super::csv::text([cells]).as_bytes())
    }
}
