//! Data that are read several times: files, or rows kept in memory.

use super::TuneError;
use crate::data::RowFilter;
use crate::io::{Block, ReadError, ReadOptions, RowSource, RowStream, Source};
use crate::model::Model;
use crate::parse::schema::ModelSchema;
use crate::recipe::Recipe;
use crate::train::{FitOptions, Fitted, TrainError, fit, fit_rows};

/// Rows that can be read any number of times, by several threads at once.
pub trait TuneData: Sync {
    /// Fits a recipe to the rows that all filters contain. Nothing is written.
    fn fit(&self, recipe: &Recipe, options: &FitOptions, rows: &[RowFilter]) -> Result<Fitted, TrainError>;

    /// The rows that all filters contain, as a fitted model reads them; without a model, as they are.
    fn open(&self, model: Option<&Model>, rows: &[RowFilter]) -> Box<dyn RowSource + '_>;
}

/// Files: every reading parses them again, on one thread.
pub struct Files {
    sources: Vec<Source>,
    read: ReadOptions,
}

impl Files {
    /// The files of a fit. Those that can be read only once (standard input, pipes) are an error.
    pub fn of(options: &FitOptions) -> Result<Self, TuneError> {
        let (sources, read) = (options.sources.clone(), ReadOptions { threads: 1, ..options.read.clone() });
        let once = |source: &&Source| {
            source.path.as_ref().is_none_or(|path| std::fs::metadata(path).is_ok_and(|about| !about.is_file()))
        };
        match sources.iter().find(once) {
            Some(source) => Err(TuneError::ReadOnce { file: source.name.clone() }),
            None => Ok(Files { sources, read }),
        }
    }

    fn options(&self, rows: &[RowFilter]) -> ReadOptions {
        let mut read = self.read.clone();
        read.rows.extend_from_slice(rows);
        read
    }
}

impl TuneData for Files {
    fn fit(&self, recipe: &Recipe, options: &FitOptions, rows: &[RowFilter]) -> Result<Fitted, TrainError> {
        let options = FitOptions { sources: self.sources.clone(), read: self.options(rows), ..options.clone() };
        fit(recipe, &options, None, &mut ())
    }

    fn open(&self, model: Option<&Model>, rows: &[RowFilter]) -> Box<dyn RowSource + '_> {
        let mut read = self.options(rows);
        read.columns.known = model.and_then(|model| model.columns.clone());
        Box::new(RowStream::open(self.sources.clone(), read))
    }
}

/// Rows in memory, read once from any source.
pub struct StoredRows {
    blocks: Vec<Block>,
    columns: Option<ModelSchema>,
    name: String,
}

impl StoredRows {
    /// Keeps all rows of a source.
    pub fn read(source: &mut dyn RowSource) -> Result<Self, ReadError> {
        let mut blocks = Vec::new();
        while let Some(block) = source.next_block()? {
            blocks.push(block);
        }
        Ok(StoredRows { blocks, columns: source.columns(), name: source.name() })
    }
}

impl TuneData for StoredRows {
    fn fit(&self, recipe: &Recipe, options: &FitOptions, rows: &[RowFilter]) -> Result<Fitted, TrainError> {
        fit_rows(recipe, options, &mut *self.open(None, rows), None, &mut ())
    }

    fn open(&self, _: Option<&Model>, rows: &[RowFilter]) -> Box<dyn RowSource + '_> {
        Box::new(SelectedRows { data: self, filters: rows.to_vec(), next: 0, rows: 0 })
    }
}

/// The rows in memory that all filters contain, as a stream.
struct SelectedRows<'a> {
    data: &'a StoredRows,
    filters: Vec<RowFilter>,
    next: usize,
    /// The number of rows before the next block, selected or not.
    rows: u64,
}

impl RowSource for SelectedRows<'_> {
    fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        while let Some(block) = self.data.blocks.get(self.next) {
            let first = self.rows;
            self.rows += block.rows.len() as u64;
            self.next += 1;
            let rows = block.rows.keep(|row| self.filters.iter().all(|filter| filter.takes(first + row as u64)));
            if !rows.is_empty() {
                return Ok(Some(Block { rows, file: block.file.clone(), first_line: block.first_line }));
            }
        }
        Ok(None)
    }

    fn name(&self) -> String {
        self.data.name.clone()
    }

    fn columns(&self) -> Option<ModelSchema> {
        self.data.columns.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::expand;
    use crate::recipe::Method;

    #[test]
    fn rows_in_memory_are_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.csv");
        let line = |row: u32| format!("{},{},{}\n", row % 7, ["red", "blue"][(row / 3 % 2) as usize], row % 2);
        std::fs::write(&path, "a,b,y\n".to_string() + &(0..900).map(line).collect::<String>()).unwrap();
        let sources = expand(&[path.display().to_string()], None).unwrap();
        let mut options = FitOptions { sources, memory: 1 << 30, ..FitOptions::default() };
        options.read.columns.target = Some("y".into());
        options.read.columns.needs_target = true;
        let files = Files::of(&options).unwrap();
        let stored = StoredRows::read(&mut *files.open(None, &[])).unwrap();
        let fold = RowFilter::Fold { number: 1, of: 3, seed: 0, inside: true };
        let recipe = Recipe::new(Method::Ftrl);
        let [one, other] = [&files as &dyn TuneData, &stored].map(|data| {
            let model = data.fit(&recipe, &options, &[fold.turned(false)]).unwrap().model;
            let (mut rows, mut seen) = (data.open(Some(&model), &[fold]), Vec::new());
            while let Some(block) = rows.next_block().unwrap() {
                seen.extend(
                    (0..block.rows.len()).map(|row| format!("{:?}", block.rows.entries(row).collect::<Vec<_>>())),
                );
            }
            (format!("{:?}", model.outputs), format!("{:?}", model.columns), seen)
        });
        assert_eq!(one, other);
        assert!((250..350).contains(&one.2.len()), "a fold of three: {}", one.2.len());
    }

    #[test]
    fn what_can_be_read_only_once_is_refused() {
        let options = FitOptions {
            sources: expand(&["-".into()], Some(crate::io::Format::Csv)).unwrap(),
            ..FitOptions::default()
        };
        let message = Files::of(&options).err().unwrap().to_string();
        assert!(message.contains("can be read only once"), "{message}");
    }
}
