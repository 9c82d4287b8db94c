//! `tamis predict`: predicts new rows, one line each.

use std::fs::File;
use std::io::{BufWriter, Write, stdin};
use std::os::fd::AsFd;
use std::path::PathBuf;

use clap::Args;
use tamis::eval::EvalError;
use tamis::io::{Block, Format, RowStream, Source};
use tamis::model::{Model, Predictor, Task};

use crate::args::input::DataArgs;
use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::model_input::{MissingColumnsArgs, open_for};
use crate::output::format::rows as count_rows;
use crate::output::predictions::{PredictionWriter, Shape, What};
use crate::output::{note, warn_skipped};
use crate::output_file::{OutputFile, check_files, paths};

#[derive(Args)]
pub struct PredictArgs {
    /// Model file
    pub model: PathBuf,
    /// What to print for each row: label (or number), probability (of each class; of two classes, the second one), margin
    /// or all
    #[arg(long, default_value = "label", value_parser = ["label", "probability", "margin", "all"])]
    pub output: String,
    /// Two classes: predict the second one if its probability is at least this (for losses without probabilities, its
    /// margin)
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub threshold: Option<f64>,
    /// Column whose text is printed beside each prediction; it is no feature unless the model uses it
    #[arg(long, value_name = "COLUMN")]
    pub id_column: Option<String>,
    /// File to write; - for standard output. A name ending in .csv or .jsonl sets the format
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub out: String,
    /// Write CSV with a header
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub columns: MissingColumnsArgs,
    #[command(flatten)]
    pub printed: OutputArgs,
}

pub fn run(args: PredictArgs) -> Result<(), CliError> {
    let model = Model::load(&args.model)?;
    check(&args, &model)?;
    let mut rows = open(&args, &model)?;
    let (out, data) = (PathBuf::from(&args.out), args.data.sources()?);
    check_files([&out], paths(&data).chain(args.data.input.labels.as_deref()).chain([args.model.as_path()]))?;
    let (predictor, file) = (Predictor::new(&model), OutputFile::create(&args.out)?);
    let out = BufWriter::new(file.file()?);
    let mut writer = PredictionWriter::new(out, &model, &predictor, what(&args), shape(&args))
        .with_ids(args.id_column.is_some())
        .with_threshold(args.threshold);
    writer.head()?;
    let mut seen = Seen::default();
    while let Some(block) = rows.next_block()? {
        write_block(&mut writer, &predictor, &model, &block, &mut seen)?;
        writer.flush()?;
    }
    complain_of_strange_data(&args, &model, &rows, &seen)?;
    writer.flush()?;
    drop(writer);
    file.persist()?;
    if !args.printed.quiet {
        warn_skipped(rows.skipped(), rows.first_skipped());
        if seen.left_out > rows.skipped() {
            let left_out = count_rows(seen.left_out - rows.skipped());
            note!("warning: {left_out} with missing values left out; their lines are empty");
        }
    }
    Ok(())
}

/// Rows so far: predicted, with a feature of the model, and left out.
#[derive(Default)]
struct Seen {
    rows: u64,
    known: u64,
    left_out: u64,
}

fn what(args: &PredictArgs) -> What {
    match args.output.as_str() {
        "probability" => What::Probability,
        "margin" => What::Margin,
        "all" => What::All,
        _ => What::Label,
    }
}

fn shape(args: &PredictArgs) -> Shape {
    match () {
        () if args.printed.json || args.out.ends_with(".jsonl") && !args.csv => Shape::JsonLines,
        () if args.csv || args.out.ends_with(".csv") => Shape::Csv,
        () => Shape::Text,
    }
}

/// Refuses what the model cannot give.
fn check(args: &PredictArgs, model: &Model) -> Result<(), CliError> {
    let loss = model.loss.name();
    if what(args) == What::Probability && !model.gives_probabilities() {
        let text = match model.task {
            Task::Regression => "the model predicts numbers, which have no probability; omit --output".to_string(),
            Task::Classes(_) => {
                format!("{loss} loss gives no probabilities: use --output margin, or fit with --loss logistic")
            }
        };
        return Err(CliError::of_file(args.model.display(), text));
    }
    let Some(threshold) = args.threshold else { return Ok(()) };
    if model.classes().len() != 2 || model.outputs.len() != 1 {
        return Err(CliError::Message("--threshold needs a model of two classes".into()));
    }
    let is_valid = if model.gives_probabilities() { (0.0..=1.0).contains(&threshold) } else { threshold.is_finite() };
    match is_valid {
        true => Ok(()),
        false => Err(CliError::Message(format!("--threshold {threshold}: a probability is between 0 and 1"))),
    }
}

/// Opens the data. Lines of a pipe are answered as they come.
fn open(args: &PredictArgs, model: &Model) -> Result<RowStream, CliError> {
    let sources = args.data.sources()?;
    let mut options = args.data.input.options(false);
    options.columns.id = args.id_column.clone();
    // Without a schema the types of columns are inferred from the first block, which must not be cut short.
    let is_known = |source: &Source| model.columns.is_some() || !matches!(source.format, Format::Csv | Format::Tsv);
    options.live = sources.iter().any(|source| source.path.is_none() && is_known(source)) && !stdin_is_file();
    Ok(open_for(model, sources, options, args.columns.are_refused()))
}

fn stdin_is_file() -> bool {
    let file = stdin().as_fd().try_clone_to_owned().map(File::from);
    file.and_then(|file| file.metadata()).is_ok_and(|metadata| metadata.is_file())
}

/// Writes the predictions of a block. A row that was left out keeps its place.
fn write_block<W: Write>(
    writer: &mut PredictionWriter<'_, W>,
    predictor: &Predictor,
    model: &Model,
    block: &Block,
    seen: &mut Seen,
) -> Result<(), CliError> {
    let mut left_out = block.rows.left_out.iter().copied().peekable();
    seen.left_out += block.rows.left_out.len() as u64;
    for (row, prediction) in predictor.predict(&block.rows).iter().enumerate() {
        while let Some(line) = left_out.next_if(|&line| line < block.rows.lines[row]) {
            writer.left_out(block.first_line + u64::from(line))?;
        }
        if !prediction.is_finite() {
            let place = format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
            return Err(EvalError::NotFinite { place }.into());
        }
        let tag = block.rows.tags.get(row).filter(|tag| !tag.is_empty()).map(|tag| &**tag);
        writer.row(prediction, tag)?;
        let intercepts = model.outputs.iter().map(|output| output.intercept);
        // A kernel model depends on a value of zero, too.
        seen.known += u64::from(model.kernel.is_some() || prediction.margins.iter().copied().ne(intercepts));
        seen.rows += 1;
    }
    for line in left_out {
        writer.left_out(block.first_line + u64::from(line))?;
    }
    Ok(())
}

/// Rows without any feature of the model are most likely other data. A table has been compared by its columns.
fn complain_of_strange_data(args: &PredictArgs, model: &Model, rows: &RowStream, seen: &Seen) -> Result<(), CliError> {
    if seen.rows == 0 || seen.known > 0 || model.nonzeros() == 0 || rows.columns().is_some() {
        return Ok(());
    }
    let text = format!("none of the model's features occurs in {}; are these other data?", count_rows(seen.rows));
    if model.columns.is_some() && args.columns.are_refused() {
        let hint = "The model is of a table: with --missing-columns zero its columns count as zero";
        return Err(CliError::of_file(rows.name(), format!("{text} {hint}")));
    }
    if !args.printed.quiet {
        note!("warning: {}: {text}", rows.name());
    }
    Ok(())
}
