//! Counters of the server, as Prometheus text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets of a histogram, in seconds.
const BOUNDS: [f64; 12] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// Durations, counted in buckets.
#[derive(Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Histogram {
    /// Counts a duration.
    pub fn observe(&self, duration: Duration) {
        if let Some(bucket) = BOUNDS.iter().position(|bound| duration.as_secs_f64() <= *bound) {
            self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(duration.as_nanos() as u64, Ordering::Relaxed);
    }

    fn write(&self, out: &mut String, name: &str) {
        let mut sum = 0;
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
            sum += bucket.load(Ordering::Relaxed);
            writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {sum}").expect("text grows");
        }
        let (count, total) = (self.count.load(Ordering::Relaxed), self.nanoseconds.load(Ordering::Relaxed));
        writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {count}").expect("text grows");
        writeln!(out, "{name}_sum {}\n{name}_count {count}", total as f64 / 1e9).expect("text grows");
    }
}

/// The counters.
#[derive(Default)]
pub struct Metrics {
    /// Requests by route and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// Time of requests.
    pub request_seconds: Histogram,
    /// Time to bring a group of requests to disk.
    pub sync_seconds: Histogram,
    /// Rows scored.
    pub rows_scored: AtomicU64,
    /// Rows learned since the server started.
    pub rows_learned: AtomicU64,
    /// Features of scored rows that have no weight in the model.
    pub unknown_features: AtomicU64,
    /// Rows whose label did not come in time.
    pub expired_labels: AtomicU64,
    /// Bytes of the log.
    pub log_bytes: AtomicU64,
    /// Scored rows that wait for their label.
    pub pending_labels: AtomicU64,
    /// Rows that wait to be learned in a batch.
    pub waiting_rows: AtomicU64,
}

/// Values that are not counted but read when they are asked for.
pub struct Gauges {
    /// Mean loss of predictions that were made before learning.
    pub progressive_loss: f64,
    /// Features with a weight.
    pub nonzeros: u64,
    /// The last learned record.
    pub sequence: u64,
    /// Open connections.
    pub connections: u64,
}

impl Metrics {
    /// Counts a request.
    pub fn request(&self, route: &'static str, status: u16, duration: Duration) {
        *self.requests.lock().expect("no thread panicked").entry((route, status)).or_default() += 1;
        self.request_seconds.observe(duration);
    }

    /// All values as Prometheus text.
    pub fn text(&self, gauges: &Gauges) -> String {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").expect("text grows");
        };
        head(&mut out, "tamis_requests_total", "counter", "Requests by route and status.");
        for ((route, code), count) in self.requests.lock().expect("no thread panicked").iter() {
            writeln!(out, "tamis_requests_total{{route=\"{route}\",code=\"{code}\"}} {count}").expect("text grows");
        }
        head(&mut out, "tamis_request_seconds", "histogram", "Time of requests.");
        self.request_seconds.write(&mut out, "tamis_request_seconds");
        head(&mut out, "tamis_log_sync_seconds", "histogram", "Time to bring a group of requests to disk.");
        self.sync_seconds.write(&mut out, "tamis_log_sync_seconds");
        let counters = [
            ("tamis_rows_scored_total", &self.rows_scored, "Rows scored."),
            ("tamis_rows_learned_total", &self.rows_learned, "Rows learned since the start."),
            ("tamis_unknown_features_total", &self.unknown_features, "Features of scored rows without a weight."),
            ("tamis_expired_labels_total", &self.expired_labels, "Rows whose label did not come in time."),
        ];
        for (name, counter, help) in counters {
            head(&mut out, name, "counter", help);
            writeln!(out, "{name} {}", counter.load(Ordering::Relaxed)).expect("text grows");
        }
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed) as f64;
        let values = [
            ("tamis_log_bytes", read(&self.log_bytes), "Bytes of the log."),
            ("tamis_progressive_loss", gauges.progressive_loss, "Mean loss of predictions made before learning."),
            ("tamis_nonzeros", gauges.nonzeros as f64, "Features with a weight."),
            ("tamis_model_sequence", gauges.sequence as f64, "The last learned record of the log."),
            ("tamis_pending_labels", read(&self.pending_labels), "Scored rows that wait for their label."),
            ("tamis_waiting_rows", read(&self.waiting_rows), "Logged rows that wait to be learned in a batch."),
            ("tamis_connections", gauges.connections as f64, "Open connections."),
        ];
        for (name, value, help) in values {
            head(&mut out, name, "gauge", help);
            writeln!(out, "{name} {value}").expect("text grows");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let histogram = Histogram::default();
        [1, 3, 3, 60_000].into_iter().for_each(|time| histogram.observe(Duration::from_millis(time)));
        let mut text = String::new();
        histogram.write(&mut text, "t");
        for line in [
            "t_bucket{le=\"0.0005\"} 0",
            "t_bucket{le=\"0.001\"} 1",
            "t_bucket{le=\"0.005\"} 3",
            "t_bucket{le=\"30\"} 3",
            "t_bucket{le=\"+Inf\"} 4",
            "t_sum 60.007",
            "t_count 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
