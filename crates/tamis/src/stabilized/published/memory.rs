//! The memory that a run needs.

use crate::recipe::PublishedParams;

/// Bytes that a run over this number of rows, feature ids and non-zeros needs beside the rows, to be checked before it
/// starts. Assumes rows of average length and bursts that do not grow: they do if few features are active.
pub fn bytes(params: &PublishedParams, rows: usize, span: usize, entries: usize) -> u64 {
    let [rows, span, entries] = [rows, span, entries].map(|count| count as u64);
    let (paths, bursts) = (u64::from(params.n_paths), u64::from(params.bursts));
    let touched = u64::from(params.burst).saturating_mul(entries.div_ceil(rows.max(1))).min(span);
    let records = bursts.saturating_mul(touched);
    let of_path =
        span.saturating_mul(16).saturating_add(rows.saturating_mul(4)).saturating_add(records.saturating_mul(24));
    // The rows are copied when less than half of their entries are active.
    paths.saturating_mul(of_path).saturating_add(entries.saturating_mul(6)).saturating_add(span.saturating_mul(40))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_paths_and_never_overflows() {
        let params = PublishedParams::default();
        let one = PublishedParams { n_paths: 1, ..params.clone() };
        assert!(bytes(&params, 300, 20_000, 30_000) > 16 * 20_000 * 16);
        assert!(bytes(&params, 300, 20_000, 30_000) > 5 * bytes(&one, 300, 20_000, 30_000));
        assert_eq!(bytes(&params, usize::MAX, usize::MAX, usize::MAX), u64::MAX);
    }
}
