//! A look at all rows before anything is learned: how many there are, with how many features.

use super::TuneError;
use super::cross_validation::can_be_read_again;
use crate::data::Vocabulary;
use crate::io::{ReadError, ReadOptions, RowStream, Source};

/// What the data are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataSummary {
    /// Rows.
    pub rows: u64,
    /// Different features with a value other than zero.
    pub features: u64,
    /// Values other than zero.
    pub nonzeros: u64,
}

/// Looks at all rows that `read` hands on; data that can be read only once are refused before. Memory follows the
/// number of features, or of buckets they are hashed to.
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
    Ok(found)
}
