//! Statistics of the labels read first: from them comes the task.

use std::collections::{BTreeMap, HashMap};

use super::Label;
use super::target::{MAX_CLASSES, TargetEncoder, TargetError, TargetKind, TargetOptions, TaskKind};
use crate::loss::LossKind;
use crate::param::{Message, names};

/// More classes than this are suspicious if they have less than two rows each.
const MANY_CLASSES: usize = 100;

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
    /// Distinct labels, up to one more than the largest number of classes, and where each was first seen.
    pub(super) distinct: BTreeMap<LabelKey, (Label, String)>,
    /// The third distinct label, and the two before it.
    third: Option<(Label, [Label; 2])>,
    /// The texts among the labels, and their numbers.
    pub(super) texts: HashMap<Box<str>, u32, ahash::RandomState>,
    /// The first text, and where it was seen.
    pub(super) first_text: Option<(Label, String)>,
    rows: u64,
    mean: f64,
    sum_of_squares: f64,
}

/// The order in which classes are numbered: numbers by value, then texts by their bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LabelKey {
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

impl LabelStats {
    /// Observes the label of a row and returns its code. `place` says where the row stands, for messages.
    pub fn observe(&mut self, label: &Label, place: impl Fn() -> String) -> Result<LabelCode, TargetError> {
        if *label == Label::Absent {
            return Err(TargetError::NoLabel { place: place() });
        }
        self.rows += 1;
        let key = key(label);
        if self.distinct.len() <= MAX_CLASSES && !self.distinct.contains_key(&key) {
            let before: Vec<Label> = self.labels().take(3).cloned().collect();
            if let Ok(two) = before.try_into() {
                self.third = Some((label.clone(), two));
            }
            self.distinct.insert(key, (label.clone(), place()));
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

    fn labels(&self) -> impl Iterator<Item = &Label> {
        self.distinct.values().map(|(label, _)| label)
    }

    /// Whole numbers close together are names of classes; other numbers are quantities.
    fn looks_like_classes(&self) -> bool {
        let numbers: Vec<f64> =
            self.labels().filter_map(|l| if let Label::Number(n) = l { Some(*n) } else { None }).collect();
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return true };
        let count = numbers.len() as f64;
        let close = last - first + 1.0 <= 2.0 * count && numbers.iter().all(|number| number.fract() == 0.0);
        count <= 2.0 || (close && count <= 100.0 && self.rows as f64 >= 2.0 * count)
    }

    /// Decides what is to be learned.
    pub fn decide(&self, options: &TargetOptions, kind: TaskKind) -> Result<TargetEncoder, TargetError> {
        let only_classes = options.loss.is_some_and(LossKind::needs_classes);
        let only_numbers = options.loss.is_some_and(LossKind::needs_numbers);
        let all_numbers = self.first_text.is_none();
        let numeric = match kind {
            TaskKind::Regression => true,
            TaskKind::Binary | TaskKind::Multiclass => false,
            TaskKind::Auto => all_numbers && !only_classes && (only_numbers || !self.looks_like_classes()),
        };
        if let Some((label, place)) = self.first_text.as_ref().filter(|_| numeric) {
            let task = names::TASK.with("regression");
            let reason = Message::new("numbers are to be predicted; leave {} out for classes", [task]);
            return Err(TargetError::NotANumber { place: place.clone(), found: label.to_string(), reason });
        }
        let loss = options.loss.unwrap_or(LossKind::default_for(numeric));
        if !numeric && kind == TaskKind::Auto && !only_classes {
            self.check_classes()?;
        }
        let kind = if numeric { self.regression(options)? } else { self.classification(kind)? };
        Ok(TargetEncoder::new(loss, options.huber_delta, kind))
    }

    /// The classes among the observed labels, and the class of each of these labels; `None` if the labels are numbers.
    pub fn classes(&self, labels: &[Label], kind: TaskKind) -> Result<Option<ClassLabels>, TargetError> {
        let options = TargetOptions { loss: None, huber_delta: 1.0, standardize: false };
        let mut targets = self.decide(&options, kind)?;
        if targets.is_numbers() {
            return Ok(None);
        }
        let class = |label: &Label| targets.encode(label, String::new).map(|class| class as u32);
        let class_of = labels.iter().map(class).collect::<Result<Vec<u32>, TargetError>>()?;
        Ok(Some(ClassLabels { classes: targets.classes().to_vec(), class_of }))
    }

    fn regression(&self, options: &TargetOptions) -> Result<TargetKind, TargetError> {
        if !self.sum_of_squares.is_finite() {
            let size = |label: &Label| if let Label::Number(number) = label { number.abs() } else { 0.0 };
            let largest = self.distinct.values().max_by(|one, other| size(&one.0).total_cmp(&size(&other.0)));
            let (label, place) = largest.cloned().expect("rows have labels");
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
        let is_hardly_a_class = labels > MANY_CLASSES && labels as u64 * 2 > self.rows;
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
                place: self.distinct[&key(found)].1.clone(),
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
