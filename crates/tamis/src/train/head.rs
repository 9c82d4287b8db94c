//! The rows read before learning begins: from them come the task, the scaling and the order.

use rustc_hash::FxHashMap;

use super::TrainError;
use super::task::{Kind, LabelSurvey, Targets};
use crate::data::{ColumnScale, Dictionary, Example, FeatureId, FeatureKey, Label, ParsedRows, Row, ScaleKind};
use crate::random::mix;
use crate::read::{Block, Held, HeldOptions, RowSource};
use crate::recipe::{Family, ROW_NUMBER, Recipe};

/// Rows that are enough for one pass: smaller data is passed over until this many are learned, at most 20 times.
const ENOUGH_ROWS: u64 = 200_000;
const MOST_PASSES: u64 = 20;
/// Rows from which a stream learned in one pass is judged.
pub(super) const JUDGED_ROWS: u64 = 4096;

/// How much is read first, and in which order rows are learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// Rows to read before learning.
    pub(super) head: u64,
    /// Whether rows of the head are learned in random order.
    pub(super) shuffle: bool,
    /// Whether each row is given its number, as a feature of the name [`ROW_NUMBER`] that tells it apart.
    pub(super) numbered: bool,
}

impl Plan {
    pub(super) fn of(recipe: &Recipe) -> Self {
        let everything = recipe.passes.is_some_and(|passes| passes > 1)
            || matches!(recipe.scaling(), ScaleKind::UnitVariance | ScaleKind::SqrtStd)
            || recipe.refit
            || recipe.method.info().family == Family::Staged
            || recipe.shuffle == Some(true);
        let head = match recipe.passes {
            _ if everything => u64::MAX,
            Some(_) if recipe.method.info().partial_fit => JUDGED_ROWS,
            // Nothing is said, or the method looks over rows first, and takes them for independent draws.
            _ => ENOUGH_ROWS,
        };
        Plan {
            head,
            shuffle: recipe.shuffle.unwrap_or(head > JUDGED_ROWS),
            numbered: recipe.row_id() == Some(ROW_NUMBER),
        }
    }
}

/// The head of a stream.
pub(super) struct Head {
    pub(super) held: Held,
    pub(super) labels: LabelSurvey,
    pub(super) texts: Texts,
    pub(super) rows: u64,
    pub(super) fingerprint: u64,
    /// Whether the stream ended within the head.
    pub(super) is_all: bool,
    /// The block in which the head ended, without the head's rows.
    pub(super) rest: Option<Block>,
}

impl Head {
    /// Reads until the plan is met and labels differ, or the stream ends. Rows are counted one by one: how the input is
    /// cut into files or blocks leaves no trace.
    pub(super) fn read(
        stream: &mut dyn RowSource,
        plan: Plan,
        rows_before: u64,
        held: HeldOptions,
        dictionary: &mut Dictionary,
        scale: &mut ColumnScale,
        mut tick: impl FnMut(u64) -> Result<(), TrainError>,
    ) -> Result<Head, TrainError> {
        let mut head = Head {
            held: Held::new(held),
            labels: LabelSurvey::default(),
            texts: Texts::default(),
            rows: 0,
            fingerprint: 0,
            is_all: false,
            rest: None,
        };
        let mut numbering = plan.numbered.then(|| Numbering::new(dictionary, rows_before));
        while head.rows < plan.head || !head.labels.has_variety() {
            let Some(block) = stream.next_block()? else {
                head.is_all = true;
                break;
            };
            head.take(block, plan.head, dictionary, scale, numbering.as_mut())?;
            tick(stream.bytes_read())?;
        }
        head.held.finish()?;
        Ok(head)
    }

    fn take(
        &mut self,
        block: Block,
        enough: u64,
        dictionary: &mut Dictionary,
        scale: &mut ColumnScale,
        mut numbering: Option<&mut Numbering>,
    ) -> Result<(), TrainError> {
        let prints = fingerprints(&block.rows, self.fingerprint);
        let Block { rows, file, first_line } = block;
        let mut copy = (self.rows + rows.len() as u64 > enough).then(|| rows.clone());
        let lines = rows.lines.clone();
        let place = |row: usize| format!("{file}:{}", first_line + u64::from(lines[row]));
        let (batch, labels) =
            rows.intern(dictionary).map_err(|(row, name)| TrainError::DuplicateName { place: place(row), name })?;
        for (row, (example, label)) in batch.examples().zip(&labels).enumerate() {
            if self.rows >= enough && self.labels.has_variety() {
                let rest = copy.as_mut().map(|rows| rows.split_off(row));
                self.rest = rest.map(|rows| Block { rows, file: file.clone(), first_line });
                break;
            }
            if *label == Label::Absent {
                return Err(TrainError::NoLabel { place: place(row) });
            }
            self.labels.observe(label, || place(row));
            if scale.is_active() {
                scale.observe(example.row);
            }
            let entries = match &mut numbering {
                Some(numbering) => numbering.number(example.row),
                None => example.row,
            };
            self.held.push(Example { row: entries, target: self.texts.encode(label), ..example })?;
            self.fingerprint = prints[row];
            self.rows += 1;
        }
        Ok(())
    }

    /// The number of passes over the head.
    pub(super) fn passes(&self, recipe: &Recipe) -> u32 {
        match recipe.passes {
            Some(passes) => passes,
            None if !self.is_all => 1,
            None => ENOUGH_ROWS.div_ceil(self.rows.max(1)).clamp(1, MOST_PASSES) as u32,
        }
    }
}

/// Gives rows their numbers.
struct Numbering {
    id: FeatureId,
    next: f64,
    ids: Vec<FeatureId>,
    values: Vec<f64>,
}

impl Numbering {
    fn new(dictionary: &mut Dictionary, rows_before: u64) -> Self {
        let id = dictionary.intern(FeatureKey::from_name(ROW_NUMBER));
        Numbering { id, next: rows_before as f64 + 1.0, ids: Vec::new(), values: Vec::new() }
    }

    /// The row with its number; one that brings a number of its own keeps it.
    fn number<'a>(&'a mut self, row: Row<'_>) -> Row<'a> {
        self.ids.clear();
        self.values.clear();
        self.ids.extend_from_slice(row.ids);
        self.values.extend_from_slice(row.values);
        if let Err(at) = row.ids.binary_search(&self.id) {
            self.ids.insert(at, self.id);
            self.values.insert(at, self.next);
        }
        self.next += 1.0;
        Row { ids: &self.ids, values: &self.values }
    }
}

/// Labels that are not numbers, kept as numbered NaNs among the targets of held rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    texts: Vec<Label>,
    numbers: FxHashMap<Box<str>, u64>,
}

const TEXT: u64 = 0xfff8_0000_0000_0000;

impl Texts {
    fn encode(&mut self, label: &Label) -> f64 {
        match label {
            Label::Number(number) => *number,
            Label::Absent => f64::NAN,
            Label::Text(text) => {
                let fresh = self.texts.len() as u64;
                let number = *self.numbers.entry(text.clone()).or_insert(fresh);
                if number == fresh {
                    self.texts.push(label.clone());
                }
                f64::from_bits(TEXT | number)
            }
        }
    }

    fn decode(&self, encoded: f64) -> Label {
        match encoded.is_nan() {
            true => self.texts[(encoded.to_bits() & !TEXT) as usize].clone(),
            false => Label::Number(encoded),
        }
    }
}

/// Turns encoded labels of held rows into targets, each kind of label worked out once.
pub(super) struct Decoder<'a> {
    texts: &'a Texts,
    known: FxHashMap<u64, f64>,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(texts: &'a Texts) -> Self {
        Decoder { texts, known: FxHashMap::default() }
    }

    pub(super) fn target(&mut self, encoded: f64, targets: &mut Targets) -> Result<f64, TrainError> {
        if let Kind::Numbers { centre, spread } = targets.kind
            && !encoded.is_nan()
        {
            return Ok((encoded - centre) / spread);
        }
        if let Some(&target) = self.known.get(&encoded.to_bits()) {
            return Ok(target);
        }
        let target = targets.target(&self.texts.decode(encoded), || "the data".into())?;
        self.known.insert(encoded.to_bits(), target);
        Ok(target)
    }
}

/// A number made of names (by their hashes) and values, in any order.
pub(super) fn content(entries: impl Iterator<Item = (FeatureId, f64)>, names: &[u64]) -> u64 {
    let entry = |(id, value): (FeatureId, f64)| mix(names[id as usize] ^ mix(value.to_bits()));
    mix(entries.map(entry).fold(0, u64::wrapping_add))
}

/// After each row, a number that depends on all rows so far: equal data, equal numbers.
pub(super) fn fingerprints(rows: &ParsedRows, before: u64) -> Vec<u64> {
    let mut print = before;
    let label = |label: &Label| match label {
        Label::Number(number) => number.to_bits(),
        Label::Text(text) => crate::data::hash_name(text),
        Label::Absent => 1,
    };
    let entry = |(key, value): (FeatureKey<'_>, f64)| match key {
        FeatureKey::Index(index) => value.to_bits().wrapping_add(u64::from(index)),
        FeatureKey::Name(name) => value.to_bits() ^ crate::data::hash_name(name),
    };
    let of_row = |row: usize| {
        let (count, ends) = rows.edges(row);
        let ends = ends.map_or(0, |[first, last]| mix(entry(first)) ^ entry(last));
        mix(label(&rows.labels[row]) ^ mix(ends.wrapping_add(count as u64)))
    };
    (0..rows.len())
        .map(|row| {
            print = mix(print ^ of_row(row));
            print
        })
        .collect()
}
