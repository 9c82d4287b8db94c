//! `tamis resize`: changes the number of features of a fitted model, without data.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use tamis::model::{Model, Resize};

use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::model_output::{check_model_output, write_model};
use crate::output::format::{count, features};
use crate::output::{kernel, print_data, print_line, sizes};
use crate::output_file::check_files;

#[derive(Args)]
#[command(group = ArgGroup::new("size").required(true))]
pub struct ResizeArgs {
    /// Model file; the method of the model must be stabilized or kernel
    pub model: PathBuf,
    /// Number of features; between two fitted sizes of stabilized, the strongest features of the larger one
    #[arg(long, value_name = "N", group = "size")]
    pub k: Option<usize>,
    /// Keep the confirmed features: at most this share of them is expected to be false discoveries
    #[arg(long, value_name = "Q", group = "size", allow_hyphen_values = true)]
    pub fdr: Option<f64>,
    /// Keep the features with at least this selection frequency
    #[arg(long, value_name = "X", group = "size", allow_hyphen_values = true)]
    pub frequency: Option<f64>,
    /// Model file to write; - for standard output
    #[arg(long, short, value_name = "MODEL")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(mut args: ResizeArgs) -> Result<(), CliError> {
    let model = Model::load(&args.model)?;
    check_model_output(&args.out, &mut args.output)?;
    check_files([&args.out], [args.model.as_path()])?;
    let size = match (args.k, args.fdr) {
        (Some(size), _) => Resize::Size(size),
        (None, Some(fdr)) => Resize::Fdr(fdr),
        (None, None) => Resize::Frequency(args.frequency.expect("clap requires one of the three")),
    };
    let resized = model.resize(size).map_err(|error| CliError::of_file(args.model.display(), error))?;
    write_model(&resized, &args.out)?;
    if args.output.json {
        print_data!("{}", as_json(&args, &model, &resized))?;
    } else if !args.output.quiet {
        print_line!("{}\nmodel: {}", as_text(&args, &model, &resized), args.out.display())?;
    }
    Ok(())
}

/// The new and the old size with their held-out estimates.
fn as_text(args: &ResizeArgs, before: &Model, after: &Model) -> String {
    let [new, old] = [after, before].map(|model| model.nonzeros() as u64);
    let mut text = format!("{} instead of {}", features(new), count(old));
    if let Some(frequency) = args.frequency {
        text += &format!(": those with selection frequency ≥ {frequency}");
    }
    if let Some(fdr) = args.fdr {
        text += &format!(": the confirmed ones (q ≤ {fdr})");
    }
    for (name, model) in [("\nnow:    ", after), ("\nbefore: ", before)] {
        let own = || model.kernel.as_ref().map(|kernel| kernel::estimate(model, kernel));
        let estimate = model.size_path.as_ref().map(|size_path| sizes::estimate(model, size_path)).or_else(own);
        text += &format!("{name}{}", estimate.unwrap_or_default());
    }
    text
}

fn as_json(args: &ResizeArgs, before: &Model, after: &Model) -> Value {
    let step = sizes::step(after);
    let score = after.kernel.as_ref().map(|kernel| kernel.score());
    json!({
        "model": args.out,
        "from": args.model,
        "nonzeros": after.nonzeros(),
        "nonzeros_before": before.nonzeros(),
        "size": step.map(|step| step.size).or(score.map(|_| after.nonzeros())),
        "between": sizes::neighbours(after).map(|(larger, smaller)| json!([larger, smaller])),
        "error": step.map_or(score.and_then(|score| score.error), |step| step.error),
        "loss": step.map(|step| step.loss).or(score.map(|score| score.loss)),
        "standard_error": step.map(|step| step.standard_error).or(score.and_then(|score| score.error_se)),
    })
}
