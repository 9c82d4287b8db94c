//! Groups of columns that determine each other: of these, "which one matters" has no answer.
//!
//! `select/collinear.rs` finds them.

use super::fold::Determined;
use super::gather::Gathered;
use crate::data::FeatureId;
use crate::select::representatives;
use crate::stabilized::gram::Gram;

/// A feature, and those that it stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) representative: FeatureId,
    pub(super) others: Vec<FeatureId>,
}

/// Groups of features, given from the first to the last that may represent others, and the columns that do not represent themselves.
pub(super) fn groups(gathered: &Gathered, features: &[FeatureId]) -> (Vec<Group>, Vec<Determined>) {
    let columns = gathered.columns_of(features);
    let (correlations, rows) = correlations(gathered, &columns);
    let (representatives, represented_by) = representatives(correlations, features.len(), rows);
    let mut groups: Vec<Group> = representatives
        .iter()
        .map(|&representative| Group { representative: features[representative], others: Vec::new() })
        .collect();
    let deviation = |place: usize| gathered.stats[columns[place] as usize].variance.sqrt();
    let mut determined = Vec::new();
    for (place, parts) in represented_by.iter().enumerate().filter(|(_, parts)| !parts.is_empty()) {
        parts.iter().for_each(|&(group, _)| groups[group].others.push(features[place]));
        let raw = |&(group, coefficient): &(usize, f64)| {
            let part = representatives[group];
            (columns[part], coefficient * deviation(place) / deviation(part))
        };
        determined.push(Determined { column: columns[place], parts: parts.iter().map(raw).collect() });
    }
    (groups, determined)
}

/// The correlations of columns (the upper half), and the number of rows.
fn correlations(gathered: &Gathered, columns: &[u32]) -> (Vec<f64>, usize) {
    let size = columns.len();
    let mut places = vec![u32::MAX; gathered.stats.len()];
    (0..).zip(columns).for_each(|(place, &column)| places[column as usize] = place);
    let mut gram = Gram::new(size, size);
    let (mut entries, mut total, mut rows) = (Vec::new(), 0.0, 0);
    for example in gathered.folds.iter().flat_map(|fold| fold.rows.examples()) {
        entries.clear();
        let placed = |(column, value): (u32, f64)| (places[column as usize], value);
        entries.extend(example.row.iter().map(placed).filter(|entry| entry.0 != u32::MAX));
        gram.add(&entries, example.weight);
        total += example.weight;
        rows += 1;
    }
    gram.finish();
    let stats = |place: usize| gathered.stats[columns[place] as usize];
    let mut matrix = vec![0.0; size * size];
    for a in 0..size {
        for b in a..size {
            let covariance = gram.product(a, b) / total - stats(a).mean * stats(b).mean;
            let scale = (stats(a).variance * stats(b).variance).sqrt();
            matrix[a * size + b] = if scale > 0.0 { covariance / scale } else { 0.0 };
        }
    }
    (matrix, rows)
}
