//! From labels as written to the targets a loss understands: the one place where labels are encoded.
//!
//! [`LabelStats`] observes the labels of the rows read first and gives each a [`LabelCode`]. From the statistics comes
//! the task, as a [`TargetEncoder`]: standardised numbers, or class numbers. An [`OutputCoding`] turns class numbers
//! into the two codes of a loss, one output at a time (one-vs-rest).

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Label;
use super::label_stats::{LabelCode, LabelStats, SeenLabel};
use super::task::{OutputCoding, Task};
use crate::loss::{AnyLoss, Loss, LossKind};
use crate::param::{Message, names};

/// Labels cannot be used as targets.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum TargetError {
    #[error("{place}: the row has no label")]
    NoLabel { place: String },
    #[error("{place}: label {found} is not a number, and {reason}")]
    NotANumber { place: String, found: String, reason: Message },
    #[error(
        "{place}: label {found} is too large: its square is not a finite number. Is it a mark for a missing label?"
    )]
    TooLarge { place: String, found: String },
    #[error("all {rows} rows have the label {label}; classification needs two classes")]
    OneClass { rows: u64, label: String },
    #[error(
        "{labels} different labels for {rows} rows: is {} the right column? Use {} if these are classes",
        names::TARGET,
        names::TASK.with("multiclass")
    )]
    LabelPerRow { labels: usize, rows: u64 },
    #[error("{place}: a third label {found} in a task with two classes ({first}, {second}); {advice}")]
    ThirdLabel { place: String, found: String, first: String, second: String, advice: Message },
    #[error("{place}: label {found} is below 0, and {loss} loss is for counts; use {}", names::LOSS.with("squared"))]
    NegativeCount { place: String, found: String, loss: &'static str },
    #[error("{place}: label {found} is not one of the classes {}", classes.join(", "))]
    UnknownClass { place: String, found: String, classes: Vec<String> },
    #[error(
        "{labels} different labels are more than a model can have (at most 10000); use {} for numbers",
        names::TASK.with("regression")
    )]
    TooManyClasses { labels: usize },
    #[error(
        "the labels of {rows} rows are the whole numbers from {low} to {high}, each once: is this the label, or an id? \
         Name another column with {}, or use {}",
        names::TARGET, names::TASK.with("regression")
    )]
    IdLabels { rows: u64, low: f64, high: f64 },
}

/// The largest number of classes of a model.
pub(super) const MAX_CLASSES: usize = 10_000;

/// What a recipe says about targets.
#[derive(Clone, Copy, Debug)]
pub struct TargetOptions {
    /// The loss; `None` lets the labels decide (logistic for classes, squared for numbers).
    pub loss: Option<LossKind>,
    /// The parameter of the loss, if it has one.
    pub shape: f64,
    /// Whether numbers are standardised.
    pub standardize: bool,
}

/// How label codes become targets, for all rows that [`LabelStats`] has observed.
#[derive(Clone, Debug)]
pub enum TargetMap {
    /// Targets are (label − centre)/spread.
    #[allow(missing_docs, reason = "named for what they are")]
    Numbers { centre: f64, spread: f64 },
    /// Targets are class numbers, by the bits of a number and by the number of a text.
    #[allow(missing_docs, reason = "named for what they are")]
    Classes { numbers: FxHashMap<u64, f64>, texts: Vec<f64> },
}

impl TargetMap {
    /// The target of a code.
    ///
    /// # Panics
    /// If the code is of a label that was not observed.
    pub fn target(&self, code: LabelCode) -> f64 {
        match (self, code) {
            (TargetMap::Numbers { centre, spread }, LabelCode::Number(number)) => (number - centre) / spread,
            (TargetMap::Classes { numbers, .. }, LabelCode::Number(number)) => numbers[&(number + 0.0).to_bits()],
            (TargetMap::Classes { texts, .. }, LabelCode::Text(text)) => texts[text as usize],
            (TargetMap::Numbers { .. }, LabelCode::Text(_)) => unreachable!("texts are no numbers"),
        }
    }
}

/// How labels become targets.
#[derive(Clone, Debug)]
pub struct TargetEncoder {
    /// The loss in force.
    pub loss: LossKind,
    /// The loss itself.
    pub loss_fn: AnyLoss,
    /// What targets are.
    pub kind: TargetKind,
}

/// What targets are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TargetKind {
    /// Targets are (label − centre)/spread.
    #[allow(missing_docs, reason = "named for what they are")]
    Numbers { centre: f64, spread: f64 },
    /// Targets are label/mean, and margins are logarithms of them.
    #[allow(missing_docs, reason = "named for what it is")]
    Counts { mean: f64 },
    /// Targets are class numbers. `single`: one output tells two classes apart.
    #[allow(missing_docs, reason = "named for what they are")]
    Classes { classes: Vec<Label>, single: bool, may_grow: bool },
}

impl TargetKind {
    /// Whether labels can have led to this; a file may say anything.
    pub(crate) fn is_possible(&self) -> bool {
        let positive = |number: f64| number.is_finite() && number > 0.0;
        match self {
            TargetKind::Numbers { centre, spread } => centre.is_finite() && positive(*spread),
            TargetKind::Counts { mean } => positive(*mean),
            TargetKind::Classes { classes, single: true, .. } => classes.len() == 2,
            TargetKind::Classes { classes, single: false, .. } => classes.len() <= MAX_CLASSES,
        }
    }
}

impl TargetEncoder {
    /// An encoder of this kind.
    pub fn new(loss: LossKind, shape: f64, kind: TargetKind) -> Self {
        TargetEncoder { loss, loss_fn: loss.build(shape), kind }
    }

    /// What stands for an encoder until the task is decided.
    pub fn undecided(options: &TargetOptions) -> Self {
        let kind = TargetKind::Numbers { centre: 0.0, spread: 1.0 };
        TargetEncoder::new(options.loss.unwrap_or(LossKind::default_for(false)), options.shape, kind)
    }

    /// An encoder for classes that are known before the first row; none is added later.
    pub fn for_classes(options: &TargetOptions, classes: Vec<Label>) -> Result<Self, TargetError> {
        if classes.len() < 2 {
            let label = classes.first().map(ToString::to_string).unwrap_or_default();
            return Err(TargetError::OneClass { rows: 0, label });
        }
        let kind = TargetKind::Classes { single: classes.len() == 2, classes, may_grow: false };
        Ok(TargetEncoder::new(options.loss.unwrap_or(LossKind::default_for(false)), options.shape, kind))
    }

    /// Whether targets are numbers.
    pub fn is_numbers(&self) -> bool {
        !matches!(self.kind, TargetKind::Classes { .. })
    }

    /// The classes; empty for numbers.
    pub fn classes(&self) -> &[Label] {
        match &self.kind {
            TargetKind::Numbers { .. } | TargetKind::Counts { .. } => &[],
            TargetKind::Classes { classes, .. } => classes,
        }
    }

    /// The number of outputs: one for numbers and for two classes, else one a class.
    pub fn outputs(&self) -> usize {
        match &self.kind {
            TargetKind::Numbers { .. } | TargetKind::Counts { .. } | TargetKind::Classes { single: true, .. } => 1,
            TargetKind::Classes { classes, .. } => classes.len(),
        }
    }

    /// The targets of labels, if none of them is new or invalid.
    pub fn encode_known(&self, labels: &[Label]) -> Option<Vec<f64>> {
        let known = |label: &Label| match (&self.kind, label) {
            (TargetKind::Numbers { centre, spread }, Label::Number(number)) => Some((number - centre) / spread),
            (TargetKind::Counts { mean }, Label::Number(number)) if *number >= 0.0 => Some(number / mean),
            (TargetKind::Numbers { .. } | TargetKind::Counts { .. }, _) | (_, Label::Absent) => None,
            (TargetKind::Classes { classes, .. }, _) => class_of(classes, label),
        };
        let mut targets = Vec::with_capacity(labels.len());
        for label in labels {
            targets.push(known(label)?);
        }
        Some(targets)
    }

    /// The target of a label: a standardised number or a class number. A new class is added where that is possible.
    pub fn encode(&mut self, label: &Label, place: impl Fn() -> String) -> Result<f64, TargetError> {
        if *label == Label::Absent {
            return Err(TargetError::NoLabel { place: place() });
        }
        match (&mut self.kind, label) {
            (TargetKind::Numbers { centre, spread }, Label::Number(number)) => Ok((number - *centre) / *spread),
            (TargetKind::Counts { mean }, Label::Number(number)) if *number >= 0.0 => Ok(number / *mean),
            (TargetKind::Counts { .. }, Label::Number(_)) => {
                Err(TargetError::NegativeCount { place: place(), found: label.to_string(), loss: self.loss.name() })
            }
            (TargetKind::Numbers { .. } | TargetKind::Counts { .. }, _) => {
                let task = names::TASK.with("multiclass");
                let reason = Message::new("earlier labels were numbers; use {} if they are classes", [task]);
                Err(TargetError::NotANumber { place: place(), found: label.to_string(), reason })
            }
            (TargetKind::Classes { classes, single, may_grow }, _) => match class_of(classes, label) {
                Some(class) => Ok(class),
                None => add_class(classes, *single, *may_grow, label, place),
            },
        }
    }

    /// How the label codes of observed rows become targets. Labels that are not yet classes are added, in their order.
    pub fn map(&mut self, labels: &LabelStats) -> Result<TargetMap, TargetError> {
        if let Some((centre, spread)) = self.label_units() {
            if let Some((label, place)) = &labels.first_text {
                self.encode(label, || place.clone())?;
            }
            return Ok(TargetMap::Numbers { centre, spread });
        }
        let (mut numbers, mut texts) = (FxHashMap::default(), vec![0.0; labels.texts.len()]);
        for SeenLabel { label, place, .. } in labels.distinct.values() {
            let class = self.encode(label, || place.clone())?;
            match label {
                Label::Number(number) => drop(numbers.insert((number + 0.0).to_bits(), class)),
                Label::Text(text) => texts[labels.texts[text] as usize] = class,
                Label::Absent => unreachable!("refused when it was observed"),
            }
        }
        Ok(TargetMap::Classes { numbers, texts })
    }

    /// Centre and spread of labels, if they are numbers: targets are (label − centre)/spread.
    fn label_units(&self) -> Option<(f64, f64)> {
        match self.kind {
            TargetKind::Numbers { centre, spread } => Some((centre, spread)),
            TargetKind::Counts { mean } => Some((0.0, mean)),
            TargetKind::Classes { .. } => None,
        }
    }

    /// How class numbers become the codes of the loss, for one output.
    #[inline]
    pub fn coding(&self, output: usize) -> OutputCoding {
        let class = match &self.kind {
            TargetKind::Numbers { .. } | TargetKind::Counts { .. } => None,
            TargetKind::Classes { single: true, .. } => Some(1.0),
            TargetKind::Classes { .. } => Some(output as f64),
        };
        OutputCoding { class, codes: self.loss_fn.codes() }
    }

    /// What a model predicts.
    pub fn task(&self) -> Task {
        match &self.kind {
            TargetKind::Numbers { .. } | TargetKind::Counts { .. } => Task::Regression,
            TargetKind::Classes { classes, .. } => Task::Classes(classes.clone()),
        }
    }

    /// What is added to margins after they are multiplied, and the factor, to bring them to the units of the label; 0 and 1
    /// for classes.
    pub fn centre_and_spread(&self) -> (f64, f64) {
        match self.kind {
            TargetKind::Numbers { centre, spread } => (centre, spread),
            TargetKind::Counts { mean } => (mean.ln(), 1.0),
            TargetKind::Classes { .. } => (0.0, 1.0),
        }
    }

    /// The factor that brings losses to the units of the label.
    pub fn loss_unit(&self) -> f64 {
        let unit = self.label_units().map_or(1.0, |(_, spread)| spread);
        if self.loss.facts().scales_linearly { unit } else { unit * unit }
    }

    /// A target in the words of the label: a number in its own units, or the class.
    pub fn describe(&self, target: f64) -> String {
        match &self.kind {
            TargetKind::Numbers { centre, spread } => format!("{:.4}", centre + spread * target),
            TargetKind::Counts { mean } => format!("{:.4}", mean * target),
            TargetKind::Classes { classes, .. } => classes[target as usize].to_string(),
        }
    }
}

fn class_of(classes: &[Label], label: &Label) -> Option<f64> {
    classes.iter().position(|class| class == label).map(|class| class as f64)
}

/// Adds a class that was not among the first labels, and returns its number.
fn add_class(
    classes: &mut Vec<Label>,
    single: bool,
    may_grow: bool,
    label: &Label,
    place: impl Fn() -> String,
) -> Result<f64, TargetError> {
    let found = label.to_string();
    if !may_grow {
        let classes = classes.iter().map(ToString::to_string).collect();
        return Err(TargetError::UnknownClass { place: place(), found, classes });
    }
    if single {
        let [first, second] = [0, 1].map(|at: usize| classes[at].to_string());
        let ways = [names::TASK.with("multiclass"), names::PASSES.with(2)];
        let advice = Message::new("use {}, or {} to read everything first", ways);
        return Err(TargetError::ThirdLabel { place: place(), found, first, second, advice });
    }
    if classes.len() == MAX_CLASSES {
        return Err(TargetError::TooManyClasses { labels: MAX_CLASSES + 1 });
    }
    classes.push(label.clone());
    Ok((classes.len() - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TaskKind;

    const OPTIONS: TargetOptions = TargetOptions { loss: None, shape: 1.345, standardize: true };

    fn decide(labels: &[Label], options: &TargetOptions, kind: TaskKind) -> Result<TargetEncoder, TargetError> {
        let mut stats = LabelStats::default();
        for label in std::iter::repeat_n(labels, 40).flatten() {
            stats.observe(label, || "f:1".into())?;
        }
        stats.decide(options, kind)
    }

    fn numbers(list: &[f64]) -> Vec<Label> {
        list.iter().map(|&number| Label::Number(number)).collect()
    }

    fn auto(labels: &[f64]) -> TargetEncoder {
        decide(&numbers(labels), &OPTIONS, TaskKind::Auto).unwrap()
    }

    #[test]
    fn kinds_that_no_labels_give_are_impossible() {
        let classes = |list: &[f64], single| TargetKind::Classes { classes: numbers(list), single, may_grow: true };
        for kind in [classes(&[], true), classes(&[1.0], true), classes(&[1.0, 2.0, 3.0], true)] {
            assert!(!kind.is_possible(), "{kind:?}");
        }
        assert!(!TargetKind::Counts { mean: 0.0 }.is_possible());
        assert!(!TargetKind::Numbers { centre: 0.0, spread: -1.0 }.is_possible());
        for kind in
            [classes(&[], false), classes(&[0.0, 1.0], true), auto(&[1.0, -1.0]).kind, auto(&[1.5, 2.0, 9.0]).kind]
        {
            assert!(kind.is_possible(), "{kind:?}");
        }
    }

    #[test]
    fn labels_tell_the_task() {
        assert_eq!(
            auto(&[1.0, -1.0]).kind,
            TargetKind::Classes { classes: numbers(&[-1.0, 1.0]), single: true, may_grow: true }
        );
        assert_eq!(auto(&[0.0, 1.0, 2.0, 9.0, 5.0]).outputs(), 5, "digits are classes");
        assert!(
            matches!(auto(&[0.0, 10.0, 20.0, 100.0]).kind, TargetKind::Numbers { .. }),
            "spaced numbers are a quantity"
        );
        assert!(matches!(auto(&[0.5, 1.0, 2.0]).kind, TargetKind::Numbers { .. }));
        let texts = [Label::Text("b".into()), Label::Text("a".into()), Label::Number(3.0)];
        let targets = decide(&texts, &OPTIONS, TaskKind::Auto).unwrap();
        assert_eq!(
            targets.task(),
            Task::Classes(vec![Label::Number(3.0), Label::Text("a".into()), Label::Text("b".into())])
        );
    }

    #[test]
    fn a_loss_may_tell_the_task() {
        let squared = TargetOptions { loss: Some(LossKind::Squared), ..OPTIONS };
        assert!(matches!(
            decide(&numbers(&[0.0, 1.0]), &squared, TaskKind::Auto).unwrap().kind,
            TargetKind::Numbers { .. }
        ));
        let hinge = TargetOptions { loss: Some(LossKind::Hinge), ..OPTIONS };
        assert_eq!(decide(&numbers(&[0.5, 7.0]), &hinge, TaskKind::Auto).unwrap().outputs(), 1);
    }

    #[test]
    fn numbers_are_centred_and_scaled() {
        let mut targets = auto(&[0.5, 10.5, 20.5]);
        let TargetKind::Numbers { centre, spread } = targets.kind else { panic!("numbers") };
        assert!((centre - 10.5).abs() < 1e-9 && (spread - (200f64 / 3.0).sqrt()).abs() < 1e-9);
        assert!((targets.encode(&Label::Number(10.5), String::new).unwrap()).abs() < 1e-9);
    }

    #[test]
    fn complaints_say_what_to_do() {
        let message = |labels: &[Label], kind| decide(labels, &OPTIONS, kind).unwrap_err().to_string();
        assert_eq!(
            message(&numbers(&[3.0]), TaskKind::Auto),
            "all 40 rows have the label 3; classification needs two classes"
        );
        assert!(
            message(&numbers(&[1.0, 2.0, 3.0]), TaskKind::Binary)
                .contains("a third label 3 in a task with two classes")
        );
        assert!(
            message(&[Label::Text("x".into()), Label::Number(1.0)], TaskKind::Regression)
                .contains("label x is not a number")
        );
        let mut targets = auto(&[0.0, 1.0]);
        let message = targets.encode(&Label::Number(2.0), || "f:9".into()).unwrap_err().to_string();
        assert!(message.starts_with("f:9: a third label 2") && message.contains("`task = multiclass`"));
        assert!(
            targets
                .encode(&Label::Absent, || "f:9".into())
                .unwrap_err()
                .to_string()
                .contains("f:9: the row has no label")
        );
    }

    #[test]
    fn classes_may_come_late() {
        let mut targets = auto(&[1.0, 2.0, 3.0]);
        assert_eq!(targets.encode(&Label::Number(4.0), String::new).unwrap(), 3.0);
        assert_eq!(targets.outputs(), 4);
        assert_eq!([0, 3].map(|output| targets.coding(output).code(3.0)), [-1.0, 1.0]);
    }
}
