//! From labels as written to targets a loss understands.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::data::Label;
use crate::loss::{AnyLoss, Loss, LossKind};
use crate::model::Task;
use crate::param::{Message, names};
use crate::recipe::Recipe;

/// What the user says the labels are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// The labels decide.
    #[default]
    Auto,
    /// Two classes, and nothing else.
    Binary,
    /// Any number of classes.
    Multiclass,
    /// Numbers.
    Regression,
}

impl TaskKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [TaskKind; 4] = [TaskKind::Auto, TaskKind::Binary, TaskKind::Multiclass, TaskKind::Regression];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TaskKind::Auto => "auto",
            TaskKind::Binary => "binary",
            TaskKind::Multiclass => "multiclass",
            TaskKind::Regression => "regression",
        }
    }
}

/// Most classes one model may have.
const MOST_CLASSES: usize = 10_000;

/// What the labels of the head looked like.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelSurvey {
    /// Distinct labels, up to a few more than any class list has, and where each was first seen.
    distinct: BTreeMap<LabelKey, (Label, String)>,
    /// The third distinct label, and the two before it.
    third: Option<(Label, [Label; 2])>,
    rows: u64,
    mean: f64,
    deviation: f64,
}

/// The order in which classes are numbered: numbers by value, then texts by their bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LabelKey {
    Number(u64),
    Text(Box<str>),
}

fn key(label: &Label) -> LabelKey {
    match label {
        Label::Number(number) => {
            let bits = (number + 0.0).to_bits(); // −0 is 0
            LabelKey::Number(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 })
        }
        Label::Text(text) => LabelKey::Text(text.clone()),
        Label::Absent => LabelKey::Text("".into()),
    }
}

impl LabelSurvey {
    pub(crate) fn observe(&mut self, label: &Label, place: impl Fn() -> String) {
        self.rows += 1;
        let key = key(label);
        if self.distinct.len() <= MOST_CLASSES && !self.distinct.contains_key(&key) {
            let before: Vec<Label> = self.labels().take(3).cloned().collect();
            if let Ok(two) = before.try_into() {
                self.third = Some((label.clone(), two));
            }
            self.distinct.insert(key, (label.clone(), place()));
        }
        if let Label::Number(number) = label {
            self.measure(*number);
        }
    }

    fn measure(&mut self, number: f64) {
        let shift = number - self.mean;
        self.mean += shift / self.rows as f64;
        self.deviation += shift * (number - self.mean);
    }

    /// Forgets mean and spread, which are to be measured anew by [`LabelSurvey::observe_number`].
    pub(crate) fn restart_numbers(&mut self) {
        (self.rows, self.mean, self.deviation) = (0, 0.0, 0.0);
    }

    /// Takes note of a label known already; one that is no number counts as a row.
    pub(crate) fn observe_number(&mut self, number: f64) {
        self.rows += 1;
        if !number.is_nan() {
            self.measure(number);
        }
    }

    /// Whether labels differ yet: without that, nothing can be decided.
    pub(crate) fn has_variety(&self) -> bool {
        self.distinct.len() > 1
    }

    fn labels(&self) -> impl Iterator<Item = &Label> {
        self.distinct.values().map(|(label, _)| label)
    }

    fn all_numbers(&self) -> bool {
        self.labels().all(|label| matches!(label, Label::Number(_)))
    }

    /// Whole numbers close together are names of classes; anything else numeric is a quantity.
    fn looks_like_classes(&self) -> bool {
        let numbers: Vec<f64> =
            self.labels().filter_map(|l| if let Label::Number(n) = l { Some(*n) } else { None }).collect();
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return true };
        let count = numbers.len() as f64;
        let close = last - first + 1.0 <= 2.0 * count && numbers.iter().all(|number| number.fract() == 0.0);
        count <= 2.0 || (close && count <= 100.0 && self.rows as f64 >= 2.0 * count)
    }

    /// Decides what is to be learned.
    pub(crate) fn decide(&self, recipe: &Recipe, kind: TaskKind) -> Result<Targets, TrainError> {
        let only_classes = recipe.loss.is_some_and(LossKind::needs_classes);
        let only_numbers = matches!(recipe.loss, Some(LossKind::Squared | LossKind::Huber));
        let numeric = match kind {
            TaskKind::Regression => true,
            TaskKind::Binary | TaskKind::Multiclass => false,
            TaskKind::Auto => self.all_numbers() && !only_classes && (only_numbers || !self.looks_like_classes()),
        };
        let first = || self.labels().next().map(ToString::to_string).unwrap_or_default();
        let text = self.distinct.values().find(|(label, _)| !matches!(label, Label::Number(_)));
        if let Some((label, place)) = text.filter(|_| numeric) {
            let task = names::TASK.with("regression");
            let reason = Message::new("numbers are to be predicted; leave {} out for classes", [task]);
            return Err(TrainError::NotANumber { place: place.clone(), found: label.to_string(), reason });
        }
        let loss = recipe.loss.unwrap_or(if numeric { LossKind::Squared } else { LossKind::Logistic });
        let built = loss.build(recipe.huber_delta);
        if numeric {
            return Ok(self.regression(recipe, loss, built));
        }
        match self.distinct.len() {
            0 | 1 => Err(TrainError::OneClass { rows: self.rows, label: first() }),
            n if n > MOST_CLASSES => Err(TrainError::TooManyClasses { labels: n }),
            n => {
                let classes: Vec<Label> = self.labels().cloned().collect();
                if let Some((found, [first, second])) = self.third.as_ref().filter(|_| kind == TaskKind::Binary) {
                    return Err(TrainError::ThirdLabel {
                        place: self.distinct[&key(found)].1.clone(),
                        found: found.to_string(),
                        first: first.to_string(),
                        second: second.to_string(),
                        advice: Message::new("leave {} out for more classes", [names::TASK.with("binary")]),
                    });
                }
                let single = n == 2 && kind != TaskKind::Multiclass;
                Ok(Targets { loss, built, kind: Kind::Classes { classes, single, may_grow: kind != TaskKind::Binary } })
            }
        }
    }

    fn regression(&self, recipe: &Recipe, loss: LossKind, built: AnyLoss) -> Targets {
        let spread = (self.deviation / self.rows.max(1) as f64).sqrt();
        let scaled = recipe.scale != crate::data::ScaleKind::None && spread > 0.0;
        let (centre, spread) = if scaled { (self.mean, spread) } else { (0.0, 1.0) };
        Targets { loss, built, kind: Kind::Numbers { centre, spread } }
    }
}

/// How labels become targets.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    pub(crate) loss: LossKind,
    pub(crate) built: AnyLoss,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Targets are (label − centre)/spread.
    Numbers { centre: f64, spread: f64 },
    /// Targets are class numbers. `single`: one learner tells two classes apart.
    Classes { classes: Vec<Label>, single: bool, may_grow: bool },
}

impl Targets {
    /// Whether targets are numbers.
    pub(super) fn is_numbers(&self) -> bool {
        matches!(self.kind, Kind::Numbers { .. })
    }

    /// The number of learners needed.
    pub(crate) fn learners(&self) -> usize {
        match &self.kind {
            Kind::Numbers { .. } | Kind::Classes { single: true, .. } => 1,
            Kind::Classes { classes, .. } => classes.len(),
        }
    }

    /// The targets of labels, if none of them is new or wrong.
    pub(super) fn known(&self, labels: &[Label]) -> Option<Vec<f64>> {
        let known = |label: &Label| match (&self.kind, label) {
            (Kind::Numbers { centre, spread }, Label::Number(number)) => Some((number - centre) / spread),
            (Kind::Numbers { .. }, _) | (_, Label::Absent) => None,
            (Kind::Classes { classes, .. }, _) => class_of(classes, label),
        };
        labels.iter().map(known).collect()
    }

    /// The target of a label: a scaled number or a class number. A class not seen before is added where that is possible.
    pub(crate) fn target(&mut self, label: &Label, place: impl Fn() -> String) -> Result<f64, TrainError> {
        if *label == Label::Absent {
            return Err(TrainError::NoLabel { place: place() });
        }
        match (&mut self.kind, label) {
            (Kind::Numbers { centre, spread }, Label::Number(number)) => Ok((number - *centre) / *spread),
            (Kind::Numbers { .. }, _) => {
                let task = names::TASK.with("multiclass");
                let reason = Message::new("earlier labels were numbers; use {} if they are classes", [task]);
                Err(TrainError::NotANumber { place: place(), found: label.to_string(), reason })
            }
            (Kind::Classes { classes, single, may_grow }, _) => {
                if let Some(class) = class_of(classes, label) {
                    return Ok(class);
                }
                if *single {
                    let text = |at: usize| classes[at].to_string();
                    let advice = if *may_grow {
                        let ways = [names::TASK.with("multiclass"), names::PASSES.with(2)];
                        Message::new("use {}, or {} to read everything first", ways)
                    } else {
                        Message::new("leave {} out for more classes", [names::TASK.with("binary")])
                    };
                    let found = label.to_string();
                    return Err(TrainError::ThirdLabel {
                        place: place(),
                        found,
                        first: text(0),
                        second: text(1),
                        advice,
                    });
                }
                if classes.len() == MOST_CLASSES {
                    return Err(TrainError::TooManyClasses { labels: MOST_CLASSES + 1 });
                }
                classes.push(label.clone());
                Ok((classes.len() - 1) as f64)
            }
        }
    }

    /// The loss's own target for learner `learner`, from a target of [`Targets::target`].
    #[inline]
    pub(crate) fn code(&self, target: f64, learner: usize) -> f64 {
        match &self.kind {
            Kind::Numbers { .. } => target,
            Kind::Classes { single: true, .. } => self.built.codes()[usize::from(target == 1.0)],
            Kind::Classes { .. } => self.built.codes()[usize::from(target == learner as f64)],
        }
    }

    /// What a model needs to know.
    pub(crate) fn task(&self) -> Task {
        match &self.kind {
            Kind::Numbers { .. } => Task::Regression,
            Kind::Classes { classes, .. } => Task::Classes(classes.clone()),
        }
    }

    /// What losses are multiplied with to be in the label's own units.
    pub(crate) fn loss_unit(&self) -> f64 {
        match &self.kind {
            Kind::Numbers { spread, .. } => spread * spread,
            Kind::Classes { .. } => 1.0,
        }
    }

    /// Restores the loss after loading.
    pub(crate) fn from_parts(loss: LossKind, recipe: &Recipe, kind: Kind) -> Self {
        Targets { loss, built: loss.build(recipe.huber_delta), kind }
    }
}

fn class_of(classes: &[Label], label: &Label) -> Option<f64> {
    classes.iter().position(|class| class == label).map(|class| class as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(labels: &[Label], recipe: &Recipe, kind: TaskKind) -> Result<Targets, TrainError> {
        let mut survey = LabelSurvey::default();
        (0..40).for_each(|_| labels.iter().for_each(|label| survey.observe(label, || "f:1".into())));
        survey.decide(recipe, kind)
    }

    fn numbers(list: &[f64]) -> Vec<Label> {
        list.iter().map(|&number| Label::Number(number)).collect()
    }

    fn auto(labels: &[f64]) -> Targets {
        decide(&numbers(labels), &Recipe::default(), TaskKind::Auto).unwrap()
    }

    #[test]
    fn labels_tell_the_task() {
        assert_eq!(
            auto(&[1.0, -1.0]).kind,
            Kind::Classes { classes: numbers(&[-1.0, 1.0]), single: true, may_grow: true }
        );
        assert_eq!(auto(&[0.0, 1.0, 2.0, 9.0, 5.0]).learners(), 5, "digits are classes");
        assert!(matches!(auto(&[0.0, 10.0, 20.0, 100.0]).kind, Kind::Numbers { .. }), "spaced numbers are a quantity");
        assert!(matches!(auto(&[0.5, 1.0, 2.0]).kind, Kind::Numbers { .. }));
        let texts = [Label::Text("b".into()), Label::Text("a".into()), Label::Number(3.0)];
        let targets = decide(&texts, &Recipe::default(), TaskKind::Auto).unwrap();
        assert_eq!(
            targets.task(),
            Task::Classes(vec![Label::Number(3.0), Label::Text("a".into()), Label::Text("b".into())])
        );
    }

    #[test]
    fn a_loss_may_tell_the_task() {
        let squared = Recipe { loss: Some(LossKind::Squared), ..Recipe::default() };
        assert!(matches!(decide(&numbers(&[0.0, 1.0]), &squared, TaskKind::Auto).unwrap().kind, Kind::Numbers { .. }));
        let hinge = Recipe { loss: Some(LossKind::Hinge), ..Recipe::default() };
        assert_eq!(decide(&numbers(&[0.5, 7.0]), &hinge, TaskKind::Auto).unwrap().learners(), 1);
    }

    #[test]
    fn numbers_are_centred_and_scaled() {
        let mut targets = auto(&[0.5, 10.5, 20.5]);
        let Kind::Numbers { centre, spread } = targets.kind else { panic!("numbers") };
        assert!((centre - 10.5).abs() < 1e-9 && (spread - (200f64 / 3.0).sqrt()).abs() < 1e-9);
        assert!((targets.target(&Label::Number(10.5), String::new).unwrap()).abs() < 1e-9);
    }

    #[test]
    fn complaints_say_what_to_do() {
        let told = |labels: &[Label], kind| decide(labels, &Recipe::default(), kind).unwrap_err().to_string();
        assert_eq!(
            told(&numbers(&[3.0]), TaskKind::Auto),
            "all 40 rows have the label 3; two are needed to learn a difference"
        );
        assert!(told(&numbers(&[1.0, 2.0, 3.0]), TaskKind::Binary).contains("a third label 3 where two are needed"));
        assert!(
            told(&[Label::Text("x".into()), Label::Number(1.0)], TaskKind::Regression)
                .contains("label x is not a number")
        );
        let mut targets = auto(&[0.0, 1.0]);
        let told = targets.target(&Label::Number(2.0), || "f:9".into()).unwrap_err().to_string();
        assert!(told.starts_with("f:9: a third label 2") && told.contains("`task = multiclass`"));
        assert!(
            targets
                .target(&Label::Absent, || "f:9".into())
                .unwrap_err()
                .to_string()
                .contains("f:9: the row has no label")
        );
    }

    #[test]
    fn classes_may_come_late() {
        let mut targets = auto(&[1.0, 2.0, 3.0]);
        assert_eq!(targets.target(&Label::Number(4.0), String::new).unwrap(), 3.0);
        assert_eq!(targets.learners(), 4);
        assert_eq!([0, 3].map(|learner| targets.code(3.0, learner)), [-1.0, 1.0]);
    }
}
