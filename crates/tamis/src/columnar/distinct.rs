//! A row's features in ascending order, each once, as columnar files store them.

use std::cmp::Ordering;

use super::error::ColumnarError;
use crate::data::{FeatureKey, RawRows};

/// The entries of a row with distinct keys: numbers first and ascending, then names by their bytes. The values of a
/// repeated key are summed if `rows.adds_duplicates`; otherwise it is an error.
pub(super) fn distinct(rows: &RawRows, i: usize, row: u64) -> Result<Vec<(FeatureKey<'_>, f64)>, ColumnarError> {
    let mut entries: Vec<_> = rows.entries(i).collect();
    entries.sort_unstable_by(|a, b| order(a.0, b.0).then(a.1.total_cmp(&b.1)));
    let mut twice = None;
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
            twice = Some(kept.0);
        }
        same
    });
    match twice.filter(|_| !rows.adds_duplicates) {
        Some(FeatureKey::Index(index)) => Err(ColumnarError::Twice { row, name: index.to_string() }),
        Some(FeatureKey::Name(name)) => Err(ColumnarError::Twice { row, name: name.to_string() }),
        None => Ok(entries),
    }
}

fn order(a: FeatureKey<'_>, b: FeatureKey<'_>) -> Ordering {
    match (a, b) {
        (FeatureKey::Index(a), FeatureKey::Index(b)) => a.cmp(&b),
        (FeatureKey::Name(a), FeatureKey::Name(b)) => a.cmp(b),
        (FeatureKey::Index(_), FeatureKey::Name(_)) => Ordering::Less,
        (FeatureKey::Name(_), FeatureKey::Index(_)) => Ordering::Greater,
    }
}
