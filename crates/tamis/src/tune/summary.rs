//! A first pass over the data that counts rows and features.

use super::{TuneData, TuneError};
use crate::data::Vocabulary;
use crate::io::ReadError;
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

/// Counts the rows and features of some data. Memory grows with the number of features, or of hash buckets.
pub fn summarize(data: &dyn TuneData, hash_bits: Option<u32>) -> Result<DataSummary, TuneError> {
    let mut stream = data.open(None, &[]);
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
        return Err(ReadError::NoRows { files: stream.name() }.into());
    }
    found.features = vocabulary.len() as u64;
    found.notes = stream.notes();
    Ok(found)
}
