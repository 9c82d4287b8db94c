//! `tamis recut`: the same training's model with another number of features, or the surest ones only. No data needed.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use serde_json::{Value, json};
use tamis::model::{Cut, Model};
use tamis::param::worded;

use super::Failure;
use super::fit::can_be_written;
use crate::args::flag;
use crate::output::{ladder, print_line, table};

#[derive(Args)]
#[command(group = ArgGroup::new("cut").required(true))]
pub struct RecutArgs {
    /// A model of the method stabilized
    pub model: PathBuf,
    /// Exactly this many features; between two rungs, the strongest of the larger one
    #[arg(long, value_name = "N", group = "cut")]
    pub k: Option<usize>,
    /// The features that at least this share of the paths selected (π₀)
    #[arg(long, value_name = "P", group = "cut", allow_hyphen_values = true)]
    pub cutoff: Option<f64>,
    /// Where the new model goes
    #[arg(long, short, value_name = "MODEL2")]
    pub out: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: RecutArgs) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    can_be_written(&args.out)?;
    let cut = match (args.k, args.cutoff) {
        (Some(size), _) => Cut::Size(size),
        (None, share) => Cut::Stability(share.expect("clap asks for one of the two")),
    };
    let recut = model
        .recut(cut)
        .map_err(|error| Failure::Text(format!("{}: {}", args.model.display(), worded(&error, flag))))?;
    recut.save(&args.out)?;
    match args.json {
        true => print_line!("{}", as_json(&args, &model, &recut))?,
        false => print_line!("{}\nmodel: {}", told(&args, &model, &recut), args.out.display())?,
    }
    Ok(())
}

/// What there is now, and what was given up for it.
fn told(args: &RecutArgs, before: &Model, after: &Model) -> String {
    let sizes = [after, before].map(|model| table::count(model.nonzeros() as u64));
    let mut text = format!("{} features instead of {}", sizes[0], sizes[1]);
    if let Some(cutoff) = args.cutoff {
        text += &format!(", those with a stability Π ≥ {cutoff}");
    }
    for (name, model) in [("\nnow:    ", after), ("\nbefore: ", before)] {
        let standing = model.selection.as_ref().map(|selection| ladder::standing(model, selection));
        text += &format!("{name}{}", standing.unwrap_or_default());
    }
    if let Some(bound) = args.cutoff.and_then(|cutoff| after.selection.as_ref()?.false_selections(cutoff)) {
        let each = if after.outputs.len() > 1 { " for each class" } else { "" };
        text += &format!("\nexpected by chance: at most {}{each} (indicative)", ladder::bounded(bound));
    }
    text
}

fn as_json(args: &RecutArgs, before: &Model, after: &Model) -> Value {
    let rung = ladder::rung(after);
    let bound = args.cutoff.and_then(|cutoff| after.selection.as_ref()?.false_selections(cutoff));
    json!({
        "model": args.out,
        "from": args.model,
        "nonzeros": after.nonzeros(),
        "nonzeros_before": before.nonzeros(),
        "rung": rung.map(|step| step.size),
        "between": ladder::neighbours(after).map(|(larger, smaller)| json!([larger, smaller])),
        "error": rung.and_then(|step| step.error),
        "standard_error": rung.map(|step| step.standard_error),
        "loss": rung.map(|step| step.loss),
        "false_selections": bound,
    })
}
