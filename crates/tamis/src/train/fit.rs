//! A whole stream in, a model out.

use super::training::Training;
use crate::io::{RowSource, RowStream};
use crate::model::Model;
use crate::recipe::Recipe;
use crate::trainer::{Checkpoint, FitOptions, Observer, TrainError};

/// A model and what it took.
#[derive(Debug)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Rows learned, all passes counted.
    pub rows_learned: u64,
    /// Bytes of learner, names and scaling.
    pub memory: usize,
    /// The first few messages about rows that were left out.
    pub skipped: Vec<String>,
    /// The training itself, if it was asked for and can continue with further rows.
    pub training: Option<Training>,
}

/// Learns a model. With `resume`, continues from there: at the same row of the same data if the training was
/// interrupted, or with new data if it was complete.
pub fn fit(
    recipe: &Recipe,
    options: &FitOptions,
    resume: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    recipe.check()?;
    let mut read = options.read.clone();
    if let Some(checkpoint) = &resume {
        read.columns.known = checkpoint.columns().cloned();
    }
    let mut stream = RowStream::open(options.sources.clone(), read);
    fit_rows(recipe, options, &mut stream, resume, observer)
}

/// Learns a model from rows of any origin: [`FitOptions::sources`] and how they are read do not matter here.
pub fn fit_rows(
    recipe: &Recipe,
    options: &FitOptions,
    stream: &mut dyn RowSource,
    resume: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    let mut training = match resume {
        None => Training::new(recipe, options)?,
        Some(checkpoint) => Training::resume(recipe, options, checkpoint)?,
    };
    while let Some(block) = stream.next_block()? {
        training.set_columns(|| stream.columns());
        training.push(block, stream.bytes_read(), observer)?;
    }
    let model = training.finish(&stream.name(), stream.skipped(), observer)?;
    let (rows_learned, memory) = (training.rows_learned(), training.bytes());
    let can_continue = options.keep_open && recipe.method.info().partial_fit;
    let skipped = stream.first_skipped().to_vec();
    Ok(Fitted { model, rows_learned, memory, skipped, training: can_continue.then_some(training) })
}
