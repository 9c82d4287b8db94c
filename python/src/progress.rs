//! Progress reports to Python, and Ctrl-C, during a training that runs without the interpreter lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis::train::{Observer, Progress, SizeReport};

/// How often Ctrl-C is checked.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Watches a training for Python.
pub struct Watcher {
    /// Called with a dict; `None` reports nothing.
    report: Option<Py<PyAny>>,
    /// Raised to end the training.
    pub stop: Arc<AtomicBool>,
    /// The exception raised meanwhile: `KeyboardInterrupt`, or an error of `report`.
    pub raised: Option<PyErr>,
    /// Notes for the user, to become warnings.
    pub notes: Vec<String>,
    looked: Instant,
}

impl Watcher {
    /// Watches for `report`.
    pub fn new(report: Option<Py<PyAny>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        Watcher { report, stop, raised: None, notes: Vec::new(), looked: Instant::now() }
    }

    /// The result of a training, or the exception that Python raised meanwhile. Notes become warnings.
    pub fn outcome<T>(self, outcome: PyResult<T>, py: Python<'_>) -> PyResult<T> {
        if let Some(raised) = self.raised {
            return Err(raised);
        }
        let value = outcome?;
        for note in self.notes {
            py.import("tamis.errors")?.getattr("warn")?.call1((note,))?;
        }
        Ok(value)
    }

    /// Checks from time to time whether Ctrl-C was pressed.
    pub fn look(&mut self, rows: u64) {
        self.tick(rows, None, 0);
    }

    /// Reports how many of several fits are done, and checks whether Ctrl-C was pressed.
    pub fn tell_fits(&mut self, done: usize, all: usize) {
        let outcome = Python::attach(|py| py.check_signals());
        self.keep(outcome);
        self.call_report(|entries| {
            entries.set_item("fits", done)?;
            entries.set_item("total", all)
        });
    }

    fn keep(&mut self, outcome: PyResult<()>) {
        if let Err(error) = outcome {
            self.stop.store(true, Ordering::SeqCst);
            self.raised.get_or_insert(error);
        }
    }

    fn call_report(&mut self, fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>) {
        let Some(report) = &self.report else { return };
        let entries = Python::attach(|py| {
            let entries = PyDict::new(py);
            fill(&entries)?;
            report.call1(py, (entries,)).map(drop)
        });
        self.keep(entries);
    }
}

impl Observer for Watcher {
    fn report(&mut self, progress: &Progress) {
        self.call_report(|entries| {
            entries.set_item("rows", progress.rows)?;
            entries.set_item("pass", progress.pass)?;
            entries.set_item("loss", progress.loss)?;
            entries.set_item("recent_loss", progress.recent_loss)?;
            entries.set_item("error", progress.error)?;
            entries.set_item("nonzeros", progress.nonzeros)
        });
    }

    fn tick(&mut self, rows: u64, total: Option<u64>, _bytes: u64) {
        if self.looked.elapsed() < LOOK_EVERY {
            return;
        }
        self.looked = Instant::now();
        let outcome = Python::attach(|py| py.check_signals());
        self.keep(outcome);
        self.call_report(|entries| {
            entries.set_item("rows", rows)?;
            entries.set_item("total", total)
        });
    }

    fn size(&mut self, report: &SizeReport) {
        self.call_report(|entries| {
            entries.set_item("size", report.size)?;
            entries.set_item("loss", report.loss)?;
            entries.set_item("error", report.error)
        });
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_string());
    }
}
