//! Rows of a stream laid out by column, each column centred and scaled: what distances are measured on.
//!
//! A variable is z-scored in `f64` (by its largest value first, so that no square overflows) and then kept as `f32`. A
//! part of the rows is z-scored once more by [`Sample`](super::sample::Sample): scaling twice is scaling once by the
//! part's own numbers, so nothing of the other rows leaks. Columns that do not vary are left out. Memory is counted before
//! it is taken.

use serde::{Deserialize, Serialize};

use super::MetricError;
use crate::data::{Batch, Dictionary, Label, ScaleKind};
use crate::parse::columns::KnownColumns;
use crate::read::{Block, ReadError, RowSource};
use crate::recipe::Recipe;
use crate::train::{Kind, LabelSurvey, Observer, Targets, TaskKind, TrainError};

/// Labelled rows by column.
#[derive(Clone, Debug)]
pub struct Table {
    /// The variables that vary.
    pub variables: Vec<Variable>,
    /// The classes.
    pub classes: Vec<Label>,
    /// The class of each row.
    pub class_of: Vec<u32>,
    /// The importance of each row.
    pub weights: Vec<f64>,
    /// Columns that do not vary and were left out.
    pub constant: usize,
    /// The roles of columns, if a table was read.
    pub columns: Option<KnownColumns>,
    /// Bad lines left out.
    pub skipped: u64,
    /// Variable by variable.
    values: Vec<f32>,
}

/// A variable and how it was scaled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its mean.
    pub centre: f64,
    /// Its standard deviation.
    pub spread: f64,
}

impl Table {
    /// Reads all rows; `memory` bounds what they and the learner's own tables take.
    pub fn read(
        source: &mut dyn RowSource,
        task: TaskKind,
        memory: u64,
        observer: &mut dyn Observer,
    ) -> Result<Table, MetricError> {
        let mut gathered = Gathered::default();
        while let Some(block) = source.next_block()? {
            gathered.take(block)?;
            observer.tick(gathered.labels.len() as u64, None, source.bytes_read());
        }
        if gathered.labels.is_empty() {
            return Err(ReadError::NoRows { files: source.name() }.into());
        }
        let mut table = gathered.lay_out(task, memory)?;
        (table.columns, table.skipped) = (source.columns(), source.skipped());
        Ok(table)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.class_of.len()
    }

    /// A variable's values, scaled.
    pub(super) fn values(&self, variable: usize) -> &[f32] {
        &self.values[variable * self.rows()..(variable + 1) * self.rows()]
    }

    /// Rows of each class.
    pub fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.classes.len()];
        self.class_of.iter().for_each(|&class| sizes[class as usize] += 1);
        sizes
    }

    /// An error if a class has fewer than `least` rows.
    pub(super) fn check_classes(&self, least: usize) -> Result<(), MetricError> {
        match self.class_sizes().iter().position(|&size| size < least) {
            Some(class) => {
                let (label, found) = (self.classes[class].to_string(), self.class_sizes()[class]);
                Err(MetricError::FewRows { label, found, needed: least })
            }
            None => Ok(()),
        }
    }

    /// Some of the rows, in the order given, with the same columns.
    pub fn part(&self, rows: &[usize]) -> Table {
        let values = (0..self.variables.len()).flat_map(|variable| {
            let column = self.values(variable);
            rows.iter().map(|&row| column[row])
        });
        Table {
            values: values.collect(),
            class_of: rows.iter().map(|&row| self.class_of[row]).collect(),
            weights: rows.iter().map(|&row| self.weights[row]).collect(),
            variables: self.variables.clone(),
            classes: self.classes.clone(),
            columns: self.columns.clone(),
            ..*self
        }
    }
}

/// Rows as they come.
#[derive(Default)]
struct Gathered {
    dictionary: Option<Dictionary>,
    batches: Vec<Batch>,
    labels: Vec<Label>,
    survey: LabelSurvey,
}

impl Gathered {
    fn take(&mut self, block: Block) -> Result<(), MetricError> {
        let Block { rows, file, first_line } = block;
        let lines = rows.lines.clone();
        let place = |row: usize| format!("{file}:{}", first_line + u64::from(lines[row]));
        let dictionary = self.dictionary.get_or_insert_with(|| Dictionary::new(None));
        let duplicate = |(row, name)| TrainError::DuplicateName { place: place(row), name };
        let (batch, labels) = rows.intern(dictionary).map_err(duplicate)?;
        for (row, label) in labels.iter().enumerate() {
            if *label == Label::Absent {
                return Err(TrainError::NoLabel { place: place(row) }.into());
            }
            self.survey.observe(label, || place(row));
        }
        self.batches.push(batch);
        self.labels.extend(labels);
        Ok(())
    }

    fn lay_out(self, task: TaskKind, memory: u64) -> Result<Table, MetricError> {
        let (classes, class_of) = classes_of(&self.survey, &self.labels, task)?;
        let dictionary = self.dictionary.unwrap_or_else(|| Dictionary::new(None));
        let (rows, width) = (class_of.len(), dictionary.span());
        let needed = bytes_for(rows as u64, width as u64);
        if needed > memory {
            return Err(MetricError::TooLarge { rows, variables: width, needed, limit: memory });
        }
        let weights = self.batches.iter().flat_map(|batch| batch.examples().map(|one| one.weight)).collect();
        let columns = by_column(&self.batches, width);
        let (mut variables, mut values, mut column) = (Vec::new(), Vec::new(), vec![0.0; rows]);
        for id in dictionary.ids() {
            column.fill(0.0);
            columns[id as usize].iter().for_each(|&(row, value)| column[row as usize] = value);
            if let Some((centre, spread)) = centre_and_spread(&column) {
                variables.push(Variable { name: dictionary.name(id), centre, spread });
                values.extend(column.iter().map(|value| ((value / spread) - centre / spread) as f32));
            }
        }
        let constant = dictionary.len() - variables.len();
        if variables.is_empty() {
            return Err(MetricError::NothingVaries);
        }
        Ok(Table { variables, classes, class_of, weights, constant, columns: None, skipped: 0, values })
    }
}

/// The classes, and the class of each label.
pub(super) fn classes_of(
    survey: &LabelSurvey,
    labels: &[Label],
    task: TaskKind,
) -> Result<(Vec<Label>, Vec<u32>), MetricError> {
    let recipe = Recipe { scale: ScaleKind::None, ..Recipe::default() };
    let mut targets = survey.decide(&recipe, task)?;
    if let Kind::Numbers { .. } = targets.kind {
        return Err(MetricError::Numbers);
    }
    let class = |label: &Label| targets.target(label, String::new).map(|class| class as u32);
    let class_of = labels.iter().map(class).collect::<Result<Vec<u32>, TrainError>>()?;
    let Targets { kind: Kind::Classes { classes, .. }, .. } = targets else { return Err(MetricError::Numbers) };
    Ok((classes, class_of))
}

/// Bytes of the columns, of the learner's tables beside them, and of the rows as they came.
fn bytes_for(rows: u64, width: u64) -> u64 {
    rows.saturating_mul(width).saturating_mul(4 * 4)
}

/// Entries of each column: row and value.
fn by_column(batches: &[Batch], width: usize) -> Vec<Vec<(u32, f64)>> {
    let mut columns = vec![Vec::new(); width];
    for (row, example) in batches.iter().flat_map(Batch::examples).enumerate() {
        example.row.iter().for_each(|(id, value)| columns[id as usize].push((row as u32, value)));
    }
    columns
}

/// Mean and standard deviation, unless nothing varies.
pub(super) fn centre_and_spread(values: &[f64]) -> Option<(f64, f64)> {
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let count = values.len() as f64;
    let mean = values.iter().map(|value| value / largest).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value / largest - mean).powi(2)).sum();
    let deviation = (squares / count).sqrt();
    // Digits that only rounding made are no variation.
    (largest > 0.0 && deviation > 1e-12).then_some((mean * largest, deviation * largest))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::read::{ReadOptions, RowStream, expand};

    /// A table read from text.
    pub(in crate::metric) fn table(name: &str, text: &str) -> Result<Table, MetricError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let sources = expand(&[path.display().to_string()], None).unwrap();
        let mut stream = RowStream::open(sources, ReadOptions::default());
        Table::read(&mut stream, TaskKind::Auto, 1 << 30, &mut ())
    }

    #[test]
    fn columns_are_centred_and_scaled_and_constant_ones_left_out() {
        let table = table("t.csv", "a,b,c,y\n1,7,1e300,no\n2,7,-1e300,yes\n3,7,0,no\n").unwrap();
        assert_eq!(table.constant, 1);
        let names: Vec<&str> = table.variables.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!((table.variables[0].centre, table.class_of.as_slice()), (2.0, &[0, 1, 0][..]));
        let wide = 1.5f32.sqrt();
        for (column, expected) in [(0, [-wide, 0.0, wide]), (1, [wide, -wide, 0.0])] {
            let close = |(a, b): (&f32, f32)| (a - b).abs() < 1e-6;
            assert!(table.values(column).iter().zip(expected).all(close), "{:?}", table.values(column));
        }
    }

    #[test]
    fn what_is_no_table_of_classes_is_told() {
        let told = |name: &str, text: &str| table(name, text).unwrap_err().to_string();
        assert!(told("t.csv", "a,y\n1,0.5\n2,1.5\n3,0.7\n").contains("a metric needs classes"));
        assert!(told("t.svm", "1 1:1\n1 1:2\n").contains('1'));
        assert!(told("t.csv", "a,y\n1,no\n1,yes\n").contains("no variable varies"));
        assert!(told("t.csv", "a,y\n1,no\n,yes\n").contains("t.csv:3"));
    }

    #[test]
    fn memory_is_counted_before_it_is_taken() {
        let mut stream = Gathered::default();
        stream.survey.observe(&Label::Number(1.0), String::new);
        stream.survey.observe(&Label::Number(2.0), String::new);
        stream.labels = vec![Label::Number(1.0), Label::Number(2.0)];
        let mut names = Dictionary::new(None);
        for index in 0..100 {
            names.intern(crate::data::FeatureKey::Index(index));
        }
        stream.dictionary = Some(names);
        let told = stream.lay_out(TaskKind::Auto, 1000).unwrap_err().to_string();
        assert!(told.contains("2 rows of 100 variables") && told.contains("`memory`"), "{told}");
    }
}
