//! Fits a model to a stream of rows.

use super::batches::replay_batches;
use super::continued::{is_replay, replay};
use super::fitted::Fitted;
use super::training::Training;
use crate::io::{ReadError, ReadOptions, RowSource, RowStream};
use crate::recipe::{Method, ROW_NUMBER, Recipe};
use crate::trainer::{Checkpoint, FitOptions, Observer, TrainError};

/// Learns a model. With `resume`, the training continues: at the same row of the same data if it was interrupted, or
/// with new data if it was complete. New data that are the log of a server are learned as the server learned them.
pub fn fit(
    recipe: &Recipe,
    options: &FitOptions,
    resume: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    recipe.check()?;
    let mut read = ReadOptions { stop: options.stop.clone(), ..options.read.clone() };
    read.cache_folder = read.cache_folder.or_else(|| options.cache_folder.clone());
    // The column that identifies rows is a key, whatever it looks like.
    read.columns.keep.extend(recipe.row_id().filter(|column| *column != ROW_NUMBER).map(String::from));
    read.columns.numeric.extend(recipe.offset.clone());
    if let Some(checkpoint) = &resume {
        read.columns.known = checkpoint.columns().cloned();
    }
    let mut stream = RowStream::open(options.sources.clone(), read);
    let resume = match resume {
        Some(checkpoint) if is_replay(&checkpoint, &options.sources) => {
            return match checkpoint.recipe().method.info().partial_fit {
                true => replay(options, &mut stream, checkpoint, observer),
                false => replay_batches(options, &mut stream, checkpoint, observer),
            };
        }
        other => other,
    };
    fit_rows(recipe, options, &mut stream, resume, observer)
}

/// Learns a model from rows of any origin: [`FitOptions::sources`] and the reading options are not used.
pub fn fit_rows(
    recipe: &Recipe,
    options: &FitOptions,
    stream: &mut dyn RowSource,
    resume: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    let is_saved = resume.is_some() || options.keep_open || options.checkpoint.is_some();
    let mut training = match resume {
        None => Training::new(recipe, options)?,
        Some(checkpoint) => Training::resume(recipe, options, checkpoint)?,
    };
    training.rows.is_identified = is_saved;
    training.reading_threads = stream.threads();
    training.reserve(stream.width());
    if let Some(ids) = training.data.vocabulary.shared_ids() {
        stream.share_ids(ids);
    }
    loop {
        let block = match stream.next_block() {
            Ok(Some(block)) => block,
            Ok(None) => break,
            Err(ReadError::Interrupted) => return Err(training.interrupt(observer)),
            Err(error) => return Err(error.into()),
        };
        training.set_columns(|| stream.columns());
        training.push(block, stream.bytes_read(), observer)?;
    }
    let model = training.finish(&stream.name(), stream.skipped(), observer)?;
    let (rows_learned, memory) = (training.rows_learned(), training.bytes());
    // After a refit, the weights of the other features are not those of the model.
    let is_incremental = recipe.method.info().partial_fit && !recipe.refits();
    let can_continue = options.keep_open && (is_incremental || recipe.method.kind() == Method::Kernel);
    let skipped = stream.first_skipped().to_vec();
    let (reason, notes) = (training.reason.clone(), stream.notes());
    Ok(Fitted { model, rows_learned, memory, skipped, reason, notes, training: can_continue.then_some(training) })
}
