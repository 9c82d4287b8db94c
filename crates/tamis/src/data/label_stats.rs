//! Statistics of the labels read first: from them comes the task.

use std::collections::BTreeMap;

use super::Label;
use super::label_nature::{LabelNature, label_nature};
use super::target::{MAX_CLASSES, TargetEncoder, TargetError, TargetKind, TargetOptions};
use super::task::TaskKind;
use super::text_map::TextMap;
use crate::loss::LossKind;
use crate::param::{Message, names};

/// From this number of classes on, there must be two rows for each.
const MANY_CLASSES: usize = 20;

/// A label as buffered rows keep it while the task is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LabelCode {
    /// The number itself.
    Number(f64),
    /// The number of a text, in the order of first appearance.
    Text(u32),
}

/// Labels as classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassLabels {
    /// The classes: numbers by value, then texts by their bytes.
    pub classes: Vec<Label>,
    /// The class of each label, as its place in `classes`.
    pub class_of: Vec<u32>,
}

/// Statistics of the labels read so far.
#[derive(Clone, Debug, Default)]
pub struct LabelStats {
    /// Distinct labels, up to one more than the largest number of classes.
    pub(super) distinct: BTreeMap<LabelKey, SeenLabel>,
    /// The third distinct label, and the two before it.
    third: Option<(Label, [Label; 2])>,
    /// The texts among the labels, and their numbers.
    pub(super) texts: TextMap<Box<str>, u32>,
    /// The first text, and where it was seen.
    pub(super) first_text: Option<(Label, String)>,
    /// The first number below 0, and where it was seen.
    first_negative: Option<(Label, String)>,
    rows: u64,
    mean: f64,
    sum_of_squares: f64,
}

/// A label, where it was first seen, and how often.
#[derive(Clone, Debug)]
pub(super) struct SeenLabel {
    pub(super) label: Label,
    pub(super) place: String,
    count: u64,
}

/// What labels are told apart by, and the order in which classes are numbered: numbers by value, then texts by their bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelKey {
    /// The bits of a number, so changed that they ascend with it.
    Number(u64),
    /// A text.
    Text(Box<str>),
}

impl From<&Label> for LabelKey {
    fn from(label: &Label) -> LabelKey {
        match label {
            Label::Number(number) => {
                let bits = (number + 0.0).to_bits(); // −0 is 0
                LabelKey::Number(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 })
            }
            Label::Text(text) => LabelKey::Text(text.clone()),
            Label::Absent => LabelKey::Text("".into()),
        }
    }
}

impl LabelStats {
    /// The statistics of labels that were counted elsewhere: how often each occurs, in all `rows` rows, with the mean of
    /// the numbers and the sum of their squared deviations. `place` stands for where they were seen.
    pub fn from_counts(
        counts: impl IntoIterator<Item = (Label, u64)>,
        rows: u64,
        [mean, sum_of_squares]: [f64; 2],
        place: &str,
    ) -> Result<Self, TargetError> {
        let mut stats = LabelStats::default();
        for (label, count) in counts {
            stats.observe(&label, || place.into())?;
            if let Some(seen) = stats.distinct.get_mut(&LabelKey::from(&label)) {
                seen.count = count;
            }
        }
        (stats.rows, stats.mean, stats.sum_of_squares) = (rows, mean, sum_of_squares);
        Ok(stats)
    }

    /// Observes the label of a row and returns its code. `place` says where the row stands, for messages.
    pub fn observe(&mut self, label: &Label, place: impl Fn() -> String) -> Result<LabelCode, TargetError> {
        if *label == Label::Absent {
            return Err(TargetError::NoLabel { place: place() });
        }
        self.rows += 1;
        let key = LabelKey::from(label);
        if let Some(seen) = self.distinct.get_mut(&key) {
            seen.count += 1;
        } else if self.distinct.len() <= MAX_CLASSES {
            let before: Vec<Label> = self.labels().take(3).cloned().collect();
            if let Ok(two) = before.try_into() {
                self.third = Some((label.clone(), two));
            }
            self.distinct.insert(key, SeenLabel { label: label.clone(), place: place(), count: 1 });
        }
        Ok(match label {
            Label::Text(text) => {
                if self.first_text.is_none() {
                    self.first_text = Some((label.clone(), place()));
                }
                let next = self.texts.len() as u32;
                LabelCode::Text(*self.texts.entry(text.clone()).or_insert(next))
            }
            Label::Number(number) => {
                if *number < 0.0 && self.first_negative.is_none() {
                    self.first_negative = Some((label.clone(), place()));
                }
                self.add_to_moments(*number);
                LabelCode::Number(*number)
            }
            Label::Absent => unreachable!("refused above"),
        })
    }

    fn add_to_moments(&mut self, number: f64) {
        let shift = number - self.mean;
        self.mean += shift / self.rows as f64;
        self.sum_of_squares += shift * (number - self.mean);
    }

    /// Resets mean and variance; [`LabelStats::observe_again`] then measures them in another order of the rows.
    pub fn restart_moments(&mut self) {
        (self.rows, self.mean, self.sum_of_squares) = (0, 0.0, 0.0);
    }

    /// Observes the code of a label once more, after [`LabelStats::restart_moments`].
    pub fn observe_again(&mut self, code: LabelCode) {
        self.rows += 1;
        if let LabelCode::Number(number) = code {
            self.add_to_moments(number);
        }
    }

    /// Whether there are two different labels: with fewer, nothing can be decided.
    pub fn has_variety(&self) -> bool {
        self.distinct.len() > 1
    }

    /// The number of rows with a label, among the labels that are counted.
    pub fn count(&self, label: &Label) -> u64 {
        self.distinct.get(&LabelKey::from(label)).map_or(0, |seen| seen.count)
    }

    fn labels(&self) -> impl Iterator<Item = &Label> {
        self.distinct.values().map(|seen| &seen.label)
    }

    /// What the labels are, by their values and how often each occurs.
    fn nature(&self) -> LabelNature {
        let pairs = self.distinct.values().filter_map(|seen| match seen.label {
            Label::Number(number) => Some((number, seen.count)),
            _ => None,
        });
        label_nature(&pairs.collect::<Vec<_>>(), self.rows)
    }

    /// Why the task is what it is, in words.
    pub fn reason(&self, options: &TargetOptions, kind: TaskKind) -> Message {
        let count = self.distinct.len();
        let task = |kind: &str| names::TASK.with(kind);
        if kind != TaskKind::Auto {
            return Message::new("{} says so", [task(kind.name())]);
        }
        if let Some(loss) = options.loss.filter(|loss| loss.needs_classes() || loss.needs_numbers()) {
            return Message::new("{} says so", [names::LOSS.with(loss.name())]);
        }
        if self.first_text.is_some() {
            return Message::from(format!("{count} different labels, and some are not numbers"));
        }
        let ends = || (self.labels().next().map(ToString::to_string), self.labels().last().map(ToString::to_string));
        let (Some(low), Some(high)) = ends() else { return Message::from("there are no labels") };
        match self.nature() {
            LabelNature::Two => Message::from("two different labels"),
            LabelNature::Codes => {
                let text =
                    format!("{count} whole numbers from {low} to {high} are names of classes; {{}} for quantities");
                Message::new(text, [task("regression")])
            }
            LabelNature::Counts => {
                let most = if count > MAX_CLASSES { "more than 10000".to_string() } else { count.to_string() };
                let text = format!("{most} whole numbers from {low} to {high} are quantities; {{}} for classes");
                Message::new(text, [task("multiclass")])
            }
            LabelNature::Decimals => Message::from("the labels are numbers with decimals or far apart"),
        }
    }

    /// Decides what is to be learned.
    pub fn decide(&self, options: &TargetOptions, kind: TaskKind) -> Result<TargetEncoder, TargetError> {
        let only_classes = options.loss.is_some_and(LossKind::needs_classes);
        let only_numbers = options.loss.is_some_and(LossKind::needs_numbers);
        let all_numbers = self.first_text.is_none();
        let numeric = match kind {
            TaskKind::Regression => true,
            TaskKind::Binary | TaskKind::Multiclass => false,
            TaskKind::Auto => all_numbers && !only_classes && (only_numbers || self.nature().is_quantity()),
        };
        if kind == TaskKind::Auto && options.loss.is_none() && numeric {
            self.refuse_ids()?;
        }
        if let Some((label, place)) = self.first_text.as_ref().filter(|_| numeric) {
            let task = names::TASK.with("regression");
            let reason = Message::new("numbers are to be predicted; leave {} out for classes", [task]);
            return Err(TargetError::NotANumber { place: place.clone(), found: label.to_string(), reason });
        }
        let loss = options.loss.unwrap_or(LossKind::default_for(numeric));
        if !numeric && kind == TaskKind::Auto {
            self.check_classes()?;
        }
        let kind = match numeric {
            true if loss.needs_counts() => self.counts(loss)?,
            true => self.regression(options)?,
            false => self.classification(kind)?,
        };
        Ok(TargetEncoder::new(loss, options.shape, kind))
    }

    /// The classes among the observed labels, and the class of each of these labels; `None` if the labels are numbers.
    pub fn classes(&self, labels: &[Label], kind: TaskKind) -> Result<Option<ClassLabels>, TargetError> {
        let options = TargetOptions { loss: None, shape: 1.0, standardize: false };
        let mut targets = self.decide(&options, kind)?;
        if targets.is_numbers() {
            return Ok(None);
        }
        let class = |label: &Label| targets.encode(label, String::new).map(|class| class as u32);
        let class_of = labels.iter().map(class).collect::<Result<Vec<u32>, TargetError>>()?;
        Ok(Some(ClassLabels { classes: targets.classes().to_vec(), class_of }))
    }

    /// Whole numbers that count the rows are ids, and not quantities.
    fn refuse_ids(&self) -> Result<(), TargetError> {
        let whole = self.labels().all(|label| matches!(label, Label::Number(number) if number.fract() == 0.0));
        let ends = (self.labels().next(), self.labels().last());
        let (Some(Label::Number(low)), Some(Label::Number(high))) = ends else { return Ok(()) };
        let count = self.distinct.len();
        let is_ids = count >= MANY_CLASSES && count as u64 == self.rows && high - low + 1.0 == count as f64;
        if whole && is_ids {
            return Err(TargetError::IdLabels { rows: self.rows, low: *low, high: *high });
        }
        Ok(())
    }

    /// Counts are divided by their mean, so that the same steps suit counts of any size.
    fn counts(&self, loss: LossKind) -> Result<TargetKind, TargetError> {
        if let Some((label, place)) = &self.first_negative {
            return Err(TargetError::NegativeCount {
                place: place.clone(),
                found: label.to_string(),
                loss: loss.name(),
            });
        }
        let is_usual = self.mean > 0.0 && self.mean.is_finite();
        Ok(TargetKind::Counts { mean: if is_usual { self.mean } else { 1.0 } })
    }

    fn regression(&self, options: &TargetOptions) -> Result<TargetKind, TargetError> {
        if !self.sum_of_squares.is_finite() {
            let size = |label: &Label| if let Label::Number(number) = label { number.abs() } else { 0.0 };
            let largest = self.distinct.values().max_by(|one, other| size(&one.label).total_cmp(&size(&other.label)));
            let SeenLabel { label, place, .. } = largest.cloned().expect("rows have labels");
            return Err(TargetError::TooLarge { place, found: format!("{:e}", size(&label)) });
        }
        let spread = (self.sum_of_squares / self.rows.max(1) as f64).sqrt();
        let scaled = options.standardize && spread > 0.0;
        let (centre, spread) = if scaled { (self.mean, spread) } else { (0.0, 1.0) };
        Ok(TargetKind::Numbers { centre, spread })
    }

    /// Refuses labels that are hardly classes, where nobody said that they are: a model for each would take hours.
    fn check_classes(&self) -> Result<(), TargetError> {
        let labels = self.distinct.len();
        let is_hardly_a_class = labels >= MANY_CLASSES && labels as u64 * 2 > self.rows;
        if is_hardly_a_class { Err(TargetError::LabelPerRow { labels, rows: self.rows }) } else { Ok(()) }
    }

    fn classification(&self, kind: TaskKind) -> Result<TargetKind, TargetError> {
        let count = self.distinct.len();
        if count < 2 {
            let label = self.labels().next().map(ToString::to_string).unwrap_or_default();
            return Err(TargetError::OneClass { rows: self.rows, label });
        }
        if count > MAX_CLASSES {
            return Err(TargetError::TooManyClasses { labels: count });
        }
        if let Some((found, [first, second])) = self.third.as_ref().filter(|_| kind == TaskKind::Binary) {
            return Err(TargetError::ThirdLabel {
                place: self.distinct[&LabelKey::from(found)].place.clone(),
                found: found.to_string(),
                first: first.to_string(),
                second: second.to_string(),
                advice: Message::new("leave {} out for more classes", [names::TASK.with("binary")]),
            });
        }
        let single = count == 2 && kind != TaskKind::Multiclass;
        let classes = self.labels().cloned().collect();
        Ok(TargetKind::Classes { classes, single, may_grow: kind != TaskKind::Binary })
    }
}
