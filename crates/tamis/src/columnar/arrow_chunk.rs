//! A few rows of a record batch, with their columns decoded.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::cells::Cells;
use super::schema::{Layout, Place, Sparse};
use super::sparse_columns::{Lists, Vectors};
use crate::parse::column::Role;

/// A few rows with their columns decoded, and the number of rows already returned.
pub(super) struct Chunk {
    pub(super) target: Option<Cells>,
    pub(super) id: Option<Cells>,
    pub(super) weight: Option<Cells>,
    pub(super) features: Vec<Cells>,
    pub(super) lists: Vec<Lists>,
    pub(super) vectors: Option<Vectors>,
    pub(super) rows: usize,
    pub(super) done: usize,
}

impl Chunk {
    /// Decodes the columns in use.
    pub(super) fn new(layout: &Layout, batch: &RecordBatch) -> Result<Chunk, ArrowError> {
        let plain = |place: &Place| Cells::plain(batch.column(place.at));
        let feature = |(place, role): &(Place, Role)| match role {
            Role::Category(_) | Role::Text => Cells::categories(batch.column(place.at)),
            _ => plain(place),
        };
        let vectors = match &layout.sparse {
            Some(Sparse::Struct(place, _)) => Some(Vectors::from_struct(batch.column(place.at))?),
            Some(Sparse::Pair { indices, values }) => {
                Some(Vectors::from_pair(batch.column(indices.at), batch.column(values.at))?)
            }
            None => None,
        };
        Ok(Chunk {
            target: layout.target.as_ref().map(plain).transpose()?,
            weight: layout.weight.as_ref().map(plain).transpose()?,
            id: layout.id.as_ref().map(plain).transpose()?,
            features: layout.features.iter().map(feature).collect::<Result<_, _>>()?,
            lists: layout.lists.iter().map(|place| Lists::new(batch.column(place.at))).collect::<Result<_, _>>()?,
            vectors,
            rows: batch.num_rows(),
            done: 0,
        })
    }
}
