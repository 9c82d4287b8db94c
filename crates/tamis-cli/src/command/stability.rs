//! `tamis stability`: fits a recipe repeatedly and compares the selected features.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use tamis::io::ReadOptions;
use tamis::train::FitOptions;
use tamis::tune::{DataSummary, Files, Measure, RepeatOptions, Repeated, Selected, TuneData, Variation};
use tamis::tune::{repeat, summarize};
use tamis_report::{ReportContext, of_runs};

use crate::args::input::DataArgs;
use crate::args::output::OutputArgs;
use crate::args::recipe::RecipeArgs;
use crate::args::training::{TrainingDataArgs, measure_parser};
use crate::error::CliError;
use crate::output::format::{self, count};
use crate::output::progress::ProgressDisplay;
use crate::output::terminal::clipped;
use crate::output::{csv, note, print_data, print_line, table};
use crate::output_file::{check_files, paths};
use crate::report_file::write_report;

#[derive(Args)]
pub struct StabilityArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub repeat: RepeatArgs,
}

/// How fits are repeated, and what is printed.
#[derive(Args)]
#[command(next_help_heading = "Repeated fits")]
pub struct RepeatArgs {
    /// Number of fits
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub runs: u64,
    /// What differs between fits: subsample (random subset of the rows), order (order of the rows) or seed (seed of the
    /// method; use it for methods that do not depend on the order of the rows, such as stabilized)
    #[arg(long, default_value = "subsample", value_parser = ["order", "seed", "subsample"])]
    pub by: String,
    /// Fraction of the rows in a subsample
    #[arg(long, value_name = "X", default_value_t = 0.9)]
    pub share: f64,
    /// Labelled data to evaluate on [default: the rows outside the subsample, or a held-out fifth of the rows]
    #[arg(long, value_name = "FILE")]
    pub validate: Option<String>,
    /// Measure: error, log-loss, rmse or loss [default: error for classification, rmse for regression, loss for the
    /// poisson and quantile losses]
    #[arg(long, value_parser = measure_parser)]
    pub measure: Option<Measure>,
    /// Total number of features for κ, including those that never occur [default: features seen]
    #[arg(long, value_name = "P")]
    pub total_features: Option<u64>,
    /// Number of features to show; 0 for all [default: 20; all with --json and --csv]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    #[command(flatten)]
    pub training: TrainingDataArgs,
    /// Write an HTML report: selection frequencies and how much the fits differ
    #[arg(long, value_name = "HTML")]
    pub report: Option<PathBuf>,
    /// Print the features as CSV: name, selection frequency, mean weight
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: StabilityArgs) -> Result<(), CliError> {
    let started = Instant::now();
    let StabilityArgs { data, recipe, repeat: repeated } = &args;
    let recipe = recipe.checked()?;
    recipe.check()?;
    let options = repeated.training.fit_options(data)?;
    let other = repeated.validate.as_ref().map(|file| data.input.sources(std::slice::from_ref(file))).transpose()?;
    if data.input.labels.is_some() && other.is_some() {
        return Err(CliError::Message("--labels holds the labels of the training data; omit --validate".into()));
    }
    let inputs = paths(&options.sources).chain(data.input.labels.as_deref());
    check_files(&repeated.report, inputs.chain(other.iter().flat_map(|sources| paths(sources))))?;
    let rows = Files::of(&options)?;
    let other = other.map(|sources| {
        let read = ReadOptions { rows: Vec::new(), ..options.read.clone() };
        Files::of(&FitOptions { sources, read, ..FitOptions::default() })
    });
    let other = other.transpose()?;
    let plan = RepeatOptions {
        runs: repeated.runs,
        by: match repeated.by.as_str() {
            "order" => Variation::Order,
            "seed" => Variation::Seed,
            _ => Variation::Subsample(repeated.share),
        },
        seed: recipe.seed,
        columns: repeated.total_features,
        measure: repeated.measure,
        validation: other.as_ref().map(|files| files as &dyn TuneData),
    };
    let about = summarize(&rows, recipe.hash_bits)?;
    let progress = ProgressDisplay::of_fits(repeated.output.quiet, "stability");
    let found = repeat(recipe, &rows, &about, &options, &plan, &|done, total| progress.advance(done, total))?;
    progress.finish();
    let seconds = started.elapsed().as_secs_f64();
    if let Some(path) = &repeated.report {
        let flags = data.input.command_line();
        let context = ReportContext { data: &data.data, flags: &flags, ..ReportContext::default() };
        write_report(path, &of_runs(recipe, &about, &found, &context), !repeated.output.is_text() || repeated.csv)?;
    }
    if repeated.output.json {
        print_data!("{}", as_json(&args, &about, &found, seconds))?;
    } else if repeated.csv {
        print_data!("{}", as_csv(&args, &found))?;
    } else {
        print_line!("{}", as_text(&args, &about, &found))?;
        if !repeated.output.quiet {
            note!("{seconds:.1} s");
        }
    }
    Ok(())
}

/// The features to show; `default` applies without `--top`.
fn shown<'a>(args: &StabilityArgs, found: &'a Repeated, default: usize) -> &'a [Selected] {
    let top = match args.repeat.top {
        None => default,
        Some(0) => usize::MAX,
        Some(top) => top,
    };
    &found.selected[..top.min(found.selected.len())]
}

fn as_json(args: &StabilityArgs, about: &DataSummary, found: &Repeated, seconds: f64) -> Value {
    let mut result = json!({
        "method": args.recipe.recipe.method.name(),
        "by": args.repeat.by,
        "measure": found.measure.name(),
        "kappa": found.kappa,
        "mean_error": found.error.0,
        "sd_error": found.error.1,
        "mean_nonzeros": found.nonzeros.0,
        "sd_nonzeros": found.nonzeros.1,
        "n_examples": about.rows,
        "n_features": about.features,
        "total_features": found.columns,
        "runs": found.runs,
        "features": shown(args, found, usize::MAX).iter().map(feature).collect::<Vec<_>>(),
        "seconds": seconds,
    });
    if args.repeat.by == "subsample" {
        result["share"] = json!(args.repeat.share);
    }
    result
}

fn feature(selected: &Selected) -> Value {
    json!({"name": selected.name, "frequency": selected.share, "weight": selected.weight})
}

fn as_csv(args: &StabilityArgs, found: &Repeated) -> String {
    let head = ["name", "frequency", "weight"].map(String::from);
    let row = |one: &Selected| {
        let weight = one.weight.map(|weight| weight.to_string()).unwrap_or_default();
        [one.name.clone(), one.share.to_string(), weight]
    };
    let rows = shown(args, found, usize::MAX).iter().map(row);
    csv::text(std::iter::once(head).chain(rows)).trim_end().to_string()
}

fn as_text(args: &StabilityArgs, about: &DataSummary, found: &Repeated) -> String {
    let repeated = &args.repeat;
    let how = match repeated.by.as_str() {
        "order" => "different row orders".to_string(),
        "seed" => "different seeds".to_string(),
        _ => format!("subsamples of {} % of the rows", 100.0 * repeated.share),
    };
    let on = match (&repeated.validate, repeated.by.as_str()) {
        (Some(file), _) => format!("on {file}"),
        (None, "order" | "seed") => "on a held-out fifth of the rows".into(),
        _ => "on the rows outside the subsample".into(),
    };
    let (mean, deviation) = found.error;
    let at_least = |share: f64| count(found.selected.iter().filter(|one| one.share >= share).count() as u64);
    format!(
        "{} fits of {} on {how}; {} rows, {} features\n\
         κ         {:.4} over {} features, mean of all pairs of fits\n\
         {:<9} {} ± {} {on}\n\
         features  {:.1} ± {:.1}; selected in all fits {}, in at least half {}, in any {}\n\n{}",
        count(repeated.runs),
        args.recipe.recipe.method.name(),
        count(about.rows),
        count(about.features),
        found.kappa,
        count(found.columns),
        found.measure.name(),
        format::measure(found.measure, mean),
        format::measure(found.measure, deviation),
        found.nonzeros.0,
        found.nonzeros.1,
        at_least(1.0),
        at_least(0.5),
        at_least(0.0),
        features(args, found),
    )
}

fn features(args: &StabilityArgs, found: &Repeated) -> String {
    let shown = shown(args, found, 20);
    let texts: Vec<[String; 3]> = shown
        .iter()
        .map(|one| {
            let weight = one.weight.map(|weight| format!("{weight:.6}")).unwrap_or_default();
            [format!("{:.0} %", 100.0 * one.share), weight, clipped(&one.name, 60)]
        })
        .collect();
    let mut rows = vec![vec!["frequency", "mean weight", "feature"]];
    rows.extend(texts.iter().map(|line| line.iter().map(String::as_str).collect::<Vec<_>>()));
    let mut text = table::aligned(&rows);
    if shown.len() < found.selected.len() {
        text += &format!("… and {} more", count((found.selected.len() - shown.len()) as u64));
    }
    text.truncate(text.trim_end().len());
    text
}
