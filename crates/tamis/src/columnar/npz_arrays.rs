//! The arrays of an npz file that hold the matrix and its labels, by their names and shapes.

use super::error::ColumnarError;
use super::npy::{Archive, Array};
use crate::parse::schema::SchemaOptions;

/// The names that an array of labels may have.
const LABELS: [&str; 3] = ["y", "labels", "target"];
/// The names that a dense matrix may have.
pub(super) const DENSE: [&str; 4] = ["X", "x", "data", "arr_0"];

/// A dense matrix: an array of two dimensions with a usual name. A row must fit in memory, so its width has a limit.
pub(super) fn dense_matrix(archive: &Archive) -> Result<Option<Array>, ColumnarError> {
    for name in DENSE {
        if let Some(array) = archive.find(name)?.filter(|array| array.shape().len() == 2) {
            return match array.shape()[1] {
                _ if array.by_columns => {
                    Err(array.fault("it is stored column by column; save numpy.ascontiguousarray(X) instead"))
                }
                width if width <= array.len() && width < u64::from(u32::MAX) => Ok(Some(array)),
                width => Err(array.fault(format!("it has {width} columns and {} elements", array.len()))),
            };
        }
    }
    Ok(None)
}

pub(super) fn sparse_shape(archive: &Archive) -> Result<(u64, u64), ColumnarError> {
    let format = archive.array("format")?.text()?;
    if format != "csr" {
        return Err(ColumnarError::NotCsr { format });
    }
    shape(archive.array("shape")?)
}

/// The arrays `indptr` after its first element, `indices` and `data` of a CSR matrix.
pub(super) fn sparse_arrays(
    archive: &Archive,
    rows: u64,
    first: &mut Vec<i64>,
) -> Result<(Array, Array, Array), ColumnarError> {
    let mut starts = archive.array("indptr")?.flat()?;
    if Some(starts.len()) != rows.checked_add(1) {
        return Err(starts.fault(format!("it has {} elements for {rows} rows, but one more is expected", starts.len())));
    }
    let (indices, data) = (archive.array("indices")?.flat()?, archive.array("data")?.flat()?);
    if indices.len() != data.len() {
        return Err(indices.fault(format!("it has {} elements, but data has {}", indices.len(), data.len())));
    }
    starts.integers(1, first)?;
    if *first != [0] {
        return Err(starts.fault(format!("it starts with {}, but 0 is expected", first[0])));
    }
    Ok((starts, indices, data))
}

fn shape(mut array: Array) -> Result<(u64, u64), ColumnarError> {
    let mut sizes = Vec::new();
    if array.len() == 2 {
        array.integers(2, &mut sizes)?;
    }
    match sizes[..] {
        [rows, columns] if rows >= 0 && columns >= 0 => Ok((rows as u64, columns as u64)),
        _ => Err(array.fault("two numbers are expected, rows and columns")),
    }
}

pub(super) fn find_labels(archive: &Archive, options: &SchemaOptions) -> Result<Option<Array>, ColumnarError> {
    if let Some(name) = &options.target {
        return archive.array(name).map(Some);
    }
    for name in LABELS {
        if let Some(array) = archive.find(name)? {
            return Ok(Some(array));
        }
    }
    if options.needs_target { Err(ColumnarError::NoLabels) } else { Ok(None) }
}
