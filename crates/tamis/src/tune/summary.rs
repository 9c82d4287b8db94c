//! A first pass over the data that counts rows and features.

use super::TuneError;
use super::cross_validation::can_be_read_again;
use crate::data::Vocabulary;
use crate::io::{ReadError, ReadOptions, RowStream, Source};
use crate::parse::survey::ColumnNote;

/// Counts of a data set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSummary {
    /// Rows.
    pub rows: u64,
    /// Different features with a value other than zero.
    pub features: u64,
    /// Values other than zero.
    pub nonzeros: u64,
    /// What was found out about the columns of a table.
    pub notes: Vec<ColumnNote>,
}

/// Counts the rows and features of some data. Data that can be read only once are an error. Memory grows with the
/// number of features, or of hash buckets.
pub fn summarize(sources: &[Source], read: &ReadOptions, hash_bits: Option<u32>) -> Result<DataSummary, TuneError> {
    can_be_read_again(sources)?;
    let mut stream = RowStream::open(sources.to_vec(), read.clone());
    let mut vocabulary = Vocabulary::new(hash_bits);
    let mut found = DataSummary::default();
    while let Some(block) = stream.next_block()? {
        found.rows += block.rows.len() as u64;
        for row in 0..block.rows.len() {
            for (key, _) in block.rows.entries(row) {
                vocabulary.intern(key);
                found.nonzeros += 1;
            }
        }
    }
    if found.rows == 0 {
        let files: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        return Err(ReadError::NoRows { files: files.join(", ") }.into());
    }
    found.features = vocabulary.len() as u64;
    found.notes = stream.notes();
    Ok(found)
}
