//! The reader of a build without the feature `columnar`: it opens nothing and says why.

use std::fs::File;

use super::error::ColumnarError;
use super::kind::ColumnarKind;
use super::limits::ColumnarLimits;
use crate::data::RawRows;
use crate::parse::schema::{Schema, SchemaOptions};
use crate::parse::survey::Survey;

/// A reader that cannot be made, because this build lacks the feature `columnar`.
pub enum ColumnarReader {}

impl ColumnarReader {
    /// Always an error: [`ColumnarError::FeatureOff`].
    pub fn open(_: File, kind: ColumnarKind, _: &SchemaOptions, _: ColumnarLimits) -> Result<Self, ColumnarError> {
        Err(ColumnarError::FeatureOff { kind })
    }

    /// Always an error: [`ColumnarError::FeatureOff`].
    pub fn open_for_survey(
        _: File,
        kind: ColumnarKind,
        _: &SchemaOptions,
        _: ColumnarLimits,
    ) -> Result<Self, ColumnarError> {
        Err(ColumnarError::FeatureOff { kind })
    }

    /// The reader of all rows, by the schema that a survey has decided.
    pub fn after_survey(self, _: &SchemaOptions) -> Result<Option<Self>, ColumnarError> {
        match self {}
    }

    /// The named columns and their roles.
    pub fn columns(&self) -> Option<&Schema> {
        match *self {}
    }

    /// Observes the rows until the survey has enough.
    pub fn survey(&mut self, _: &str, _: &mut Survey) -> Result<(), ColumnarError> {
        match *self {}
    }

    /// The row of the file, from 0, that is line 0 of the block returned last.
    pub fn first_row(&self) -> u64 {
        match *self {}
    }
}

impl Iterator for ColumnarReader {
    type Item = Result<RawRows, ColumnarError>;

    fn next(&mut self) -> Option<Self::Item> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_format_and_the_feature() {
        let file = tempfile::tempfile().unwrap();
        let error = ColumnarReader::open(file, ColumnarKind::Parquet, &SchemaOptions::default(), Default::default())
            .err()
            .unwrap();
        assert_eq!(error.to_string(), "this build cannot read Parquet files: the cargo feature `columnar` is off");
    }
}
