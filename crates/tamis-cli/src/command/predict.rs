//! `tamis predict`: predicts new rows, one line each.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use tamis::eval::EvalError;
use tamis::model::{Model, Prediction, Predictor, Task};

use crate::args::input::DataArgs;
use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::model_input::load_model_and_data;
use crate::output::terminal::one_line;
use crate::output::warn_skipped;
use crate::output_file::{OutputFile, check_files, paths};

#[derive(Args)]
pub struct PredictArgs {
    /// Model file
    pub model: PathBuf,
    /// What to print for each row: label (or number), probability, margin or all
    #[arg(long, default_value = "label", value_parser = ["label", "probability", "margin", "all"])]
    pub output: String,
    /// File to write; - for standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub out: String,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub printed: OutputArgs,
}

pub fn run(args: PredictArgs) -> Result<(), CliError> {
    let (model, mut rows) = load_model_and_data(&args.model, &args.data, false)?;
    let predictor = Predictor::new(&model);
    let (out, data) = (PathBuf::from(&args.out), args.data.sources()?);
    check_files(Some(&out).filter(|_| args.out != "-"), paths(&data).chain([args.model.as_path()]))?;
    let file = OutputFile::create(&args.out)?;
    let mut out = BufWriter::new(file.file()?);
    while let Some(block) = rows.next_block()? {
        for (row, prediction) in predictor.predict(&block.rows).iter().enumerate() {
            if !prediction.is_finite() {
                let place = format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
                return Err(EvalError::NotFinite { place }.into());
            }
            let tag = block.rows.tags.get(row).filter(|tag| !tag.is_empty()).map(|tag| &**tag);
            if args.printed.json {
                writeln!(out, "{}", as_json(&model, prediction, tag))?;
            } else {
                write_text(&mut out, &model, prediction, &args.output)?;
                match tag {
                    Some(tag) => writeln!(out, " {}", one_line(tag))?,
                    None => writeln!(out)?,
                }
            }
        }
    }
    out.flush()?;
    file.persist()?;
    if !args.printed.quiet {
        warn_skipped(rows.skipped(), rows.first_skipped());
    }
    Ok(())
}

fn write_text(out: &mut impl Write, model: &Model, prediction: &Prediction, what: &str) -> std::io::Result<()> {
    // One line a row, whatever a label contains.
    let label = || prediction.class.map(|class| one_line(&model.classes()[class].to_string()));
    let margins = || prediction.margins.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    match (what, label()) {
        ("label", Some(label)) => write!(out, "{label}"),
        ("margin", _) => write!(out, "{}", margins()),
        ("all", Some(label)) => write!(out, "{label} {} {}", prediction.response, margins()),
        _ => write!(out, "{}", prediction.response),
    }
}

fn as_json(model: &Model, prediction: &Prediction, tag: Option<&str>) -> Value {
    let mut value = match (&model.task, prediction.class) {
        (Task::Classes(classes), Some(class)) => {
            json!({"label": classes[class], "probability": prediction.response, "margins": prediction.margins})
        }
        _ => json!({"prediction": prediction.response, "margins": prediction.margins}),
    };
    if let Some(tag) = tag {
        value["tag"] = json!(tag);
    }
    value
}
