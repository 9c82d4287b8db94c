//! The training data by column, each column standardized.
//!
//! A variable is z-scored in `f64` (by its largest value first, so that no square overflows) and then kept as `f32`. A
//! part of the rows is z-scored once more by [`Sample`](super::sample::Sample): scaling twice is scaling once by the
//! part's own numbers, so nothing of the other rows leaks. Columns that do not vary are left out. Memory is counted before
//! it is taken.

use serde::{Deserialize, Serialize};

use super::MetricError;
use tamis::data::ClassLabels;
use tamis::data::LabelStats;
use tamis::data::TaskKind;
use tamis::data::{Batch, Label, Vocabulary};
use tamis::io::{Block, ReadError, RowSource};
use tamis::parse::schema::ModelSchema;
use tamis::rng::{RngStream, generator, shuffle};
use tamis::train::Observer;

/// Labelled rows, stored by column.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The variables that are not constant.
    pub variables: Vec<Variable>,
    /// The classes.
    pub classes: Vec<Label>,
    /// The class of each row.
    pub class_of: Vec<u32>,
    /// The importance of each row.
    pub weights: Vec<f64>,
    /// Number of constant columns, which are left out.
    pub constant: usize,
    /// The roles of columns, if a dataset was read.
    pub columns: Option<ModelSchema>,
    /// Bad lines left out.
    pub skipped: u64,
    /// Variable by variable.
    values: Vec<f32>,
}

/// A variable and its standardization.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub std: f64,
}

impl Dataset {
    /// Reads all rows; `memory` limits the bytes of the rows and of the learner.
    pub fn read(
        source: &mut dyn RowSource,
        task: TaskKind,
        memory: u64,
        observer: &mut dyn Observer,
    ) -> Result<Dataset, MetricError> {
        let mut gathered = RawDataset::default();
        while let Some(block) = source.next_block()? {
            gathered.take(block)?;
            observer.tick(gathered.labels.len() as u64, None, source.bytes_read());
        }
        if gathered.labels.is_empty() {
            return Err(ReadError::NoRows { files: source.name() }.into());
        }
        let mut dataset = gathered.standardize(task, memory)?;
        (dataset.columns, dataset.skipped) = (source.columns(), source.skipped());
        Ok(dataset)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.class_of.len()
    }

    /// A variable's standardized values.
    pub(super) fn values(&self, variable: usize) -> &[f32] {
        &self.values[variable * self.rows()..(variable + 1) * self.rows()]
    }

    /// Rows of each class.
    pub fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.classes.len()];
        self.class_of.iter().for_each(|&class| sizes[class as usize] += 1);
        sizes
    }

    /// About `wanted` rows, stratified by class: at least three of each class that has them.
    pub(super) fn stratified_part(&self, wanted: usize, seed: u64) -> Dataset {
        let mut chosen = Vec::new();
        for (class, size) in self.class_sizes().into_iter().enumerate() {
            let mut of_class: Vec<usize> =
                (0..self.rows()).filter(|&row| self.class_of[row] as usize == class).collect();
            let mut random = generator(seed, RngStream::Folds, u64::MAX - class as u64);
            shuffle(&mut random, &mut of_class);
            of_class.truncate((size * wanted / self.rows()).max(size.min(3)));
            chosen.extend(of_class);
        }
        chosen.sort_unstable();
        self.part(&chosen)
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
    pub fn part(&self, rows: &[usize]) -> Dataset {
        let values = (0..self.variables.len()).flat_map(|variable| {
            let column = self.values(variable);
            rows.iter().map(|&row| column[row])
        });
        Dataset {
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
struct RawDataset {
    vocabulary: Option<Vocabulary>,
    batches: Vec<Batch>,
    labels: Vec<Label>,
    survey: LabelStats,
}

impl RawDataset {
    fn take(&mut self, block: Block) -> Result<(), MetricError> {
        let vocabulary = self.vocabulary.get_or_insert_with(|| Vocabulary::new(None));
        let (batch, labels, place) = block.intern(vocabulary)?;
        for (row, label) in labels.iter().enumerate() {
            self.survey.observe(label, || place.of(row))?;
        }
        self.batches.push(batch);
        self.labels.extend(labels);
        Ok(())
    }

    fn standardize(self, task: TaskKind, memory: u64) -> Result<Dataset, MetricError> {
        let ClassLabels { classes, class_of } = self.survey.classes(&self.labels, task)?.ok_or(MetricError::Numbers)?;
        let vocabulary = self.vocabulary.unwrap_or_else(|| Vocabulary::new(None));
        let (rows, width) = (class_of.len(), vocabulary.span());
        let needed = bytes_for(rows as u64, width as u64);
        if needed > memory {
            return Err(MetricError::TooLarge { rows, variables: width, needed, limit: memory });
        }
        let weights = self.batches.iter().flat_map(|batch| batch.examples().map(|one| one.weight)).collect();
        let columns = by_column(&self.batches, width);
        let (mut variables, mut values, mut column) = (Vec::new(), Vec::new(), vec![0.0; rows]);
        for id in vocabulary.ids() {
            column.fill(0.0);
            columns[id as usize].iter().for_each(|&(row, value)| column[row as usize] = value);
            if let Some((mean, std)) = mean_and_std(&column) {
                variables.push(Variable { name: vocabulary.name(id), mean, std });
                values.extend(column.iter().map(|value| ((value / std) - mean / std) as f32));
            }
        }
        let constant = vocabulary.len() - variables.len();
        if variables.is_empty() {
            return Err(MetricError::NothingVaries);
        }
        Ok(Dataset { variables, classes, class_of, weights, constant, columns: None, skipped: 0, values })
    }
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
pub(super) fn mean_and_std(values: &[f64]) -> Option<(f64, f64)> {
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
    use tamis::io::{ReadOptions, RowStream, expand};

    /// A dataset read from text.
    pub(crate) fn dataset(name: &str, text: &str) -> Result<Dataset, MetricError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let sources = expand(&[path.display().to_string()], None).unwrap();
        let mut stream = RowStream::open(sources, ReadOptions::default());
        Dataset::read(&mut stream, TaskKind::Auto, 1 << 30, &mut ())
    }

    #[test]
    fn columns_are_centred_and_scaled_and_constant_ones_left_out() {
        let dataset = dataset("t.csv", "a,b,c,y\n1,7,1e300,no\n2,7,-1e300,yes\n3,7,0,no\n").unwrap();
        assert_eq!(dataset.constant, 1);
        let names: Vec<&str> = dataset.variables.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!((dataset.variables[0].mean, dataset.class_of.as_slice()), (2.0, &[0, 1, 0][..]));
        let wide = 1.5f32.sqrt();
        for (column, expected) in [(0, [-wide, 0.0, wide]), (1, [wide, -wide, 0.0])] {
            let close = |(a, b): (&f32, f32)| (a - b).abs() < 1e-6;
            assert!(dataset.values(column).iter().zip(expected).all(close), "{:?}", dataset.values(column));
        }
    }

    #[test]
    fn unusable_data_are_errors() {
        let error = |name: &str, text: &str| dataset(name, text).unwrap_err().to_string();
        assert!(error("t.csv", "a,y\n1,0.5\n2,1.5\n3,0.7\n").contains("a metric needs classes"));
        assert!(error("t.svm", "1 1:1\n1 1:2\n").contains('1'));
        assert!(error("t.csv", "a,y\n1,no\n1,yes\n").contains("all variables are constant"));
        assert!(error("t.csv", "a,y\n1,no\n,yes\n").contains("all variables are constant"), "the mean takes its place");
    }

    #[test]
    fn memory_is_counted_before_it_is_taken() {
        let mut stream = RawDataset::default();
        stream.survey.observe(&Label::Number(1.0), String::new).unwrap();
        stream.survey.observe(&Label::Number(2.0), String::new).unwrap();
        stream.labels = vec![Label::Number(1.0), Label::Number(2.0)];
        let mut names = Vocabulary::new(None);
        for index in 0..100 {
            names.intern(tamis::data::FeatureKey::Index(index));
        }
        stream.vocabulary = Some(names);
        let error = stream.standardize(TaskKind::Auto, 1000).unwrap_err().to_string();
        assert!(error.contains("2 rows of 100 variables") && error.contains("the limit is 0 MiB"), "{error}");
    }
}
