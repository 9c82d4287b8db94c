//! The model that requests are scored with: a snapshot, replaced as a whole.

use std::sync::OnceLock;

use tamis::model::{Model, Predictor};

/// A model as it is served.
pub struct Served {
    /// The model.
    pub model: Model,
    /// Its weights, indexed.
    pub predictor: Predictor,
    /// The last record of the log that it has learned.
    pub sequence: u64,
    text: OnceLock<String>,
    used_columns: OnceLock<Vec<String>>,
}

impl Served {
    /// A model as it is served.
    pub fn new(model: Model, sequence: u64) -> Self {
        Served {
            predictor: Predictor::new(&model),
            model,
            sequence,
            text: OnceLock::new(),
            used_columns: OnceLock::new(),
        }
    }

    /// The columns that a table must have.
    pub fn used_columns(&self) -> &[String] {
        self.used_columns.get_or_init(|| self.model.used_columns())
    }

    /// The text of its file.
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| self.model.to_text())
    }

    /// The tag that changes with the text.
    pub fn etag(&self) -> String {
        format!("\"{:08x}-{}\"", crc32fast::hash(self.text().as_bytes()), self.text().len())
    }
}
