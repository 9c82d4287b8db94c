//! What the loader of metrics promises about any bytes at all. The fuzz target and the ordinary tests share this.

use std::path::Path;

use tamis_metric::Metric;

/// A file is refused, or it is loaded, is written again as it was, and classifies any row.
pub fn metric(bytes: &[u8]) {
    if let Ok(metric) = Metric::from_bytes(bytes, Path::new("fuzz")) {
        assert_eq!(Metric::from_bytes(&metric.to_bytes(), Path::new("fuzz")).expect("our own bytes"), metric);
        assert_eq!(metric.predict(&[vec![0.0; metric.dimensions()]]).len(), 1);
    }
}
