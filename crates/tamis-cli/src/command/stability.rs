//! `tamis stability`: one recipe learned many times: are the features the same?

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use tamis::tune::{Measure, RepeatOptions, Repeated, Survey, Variation, repeat, survey};
use tamis_report::{ReportContext, of_runs};

use super::fit::{can_be_written, fit_options};
use super::tune::{measure_parser, value};
use super::{Failure, report};
use crate::args::{DataArgs, HoldingArgs, RecipeArgs};
use crate::output::fits::Fits;
use crate::output::terminal::clipped;
use crate::output::{print_line, table, tell};

#[derive(Args)]
pub struct StabilityArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub repeating: RepeatingArgs,
}

/// What is repeated, and what is shown.
#[derive(Args)]
#[command(next_help_heading = "Repeating")]
pub struct RepeatingArgs {
    /// How often to learn
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub runs: u64,
    /// What differs between runs: subsample (each has a share of the rows), order (the same rows, shuffled anew) or seed
    /// (the same rows, every random choice made anew; the stabilized learner does not follow the order of the rows)
    #[arg(long, default_value = "subsample", value_parser = ["order", "seed", "subsample"])]
    pub by: String,
    /// The share of the rows in a subsample
    #[arg(long, value_name = "X", default_value_t = 0.9)]
    pub share: f64,
    /// Labelled data to measure on [default: the rows left out of the subsample; a fifth, kept from all runs]
    #[arg(long, value_name = "FILE")]
    pub validate: Option<String>,
    /// What is measured: error, log-loss or rmse [default: error of classes, rmse of numbers]
    #[arg(long, value_parser = measure_parser)]
    pub measure: Option<Measure>,
    /// The number of columns, also those that never occur, that κ is taken over [default: features seen]
    #[arg(long, value_name = "P")]
    pub columns: Option<u64>,
    /// Show this many features, 0 for all
    #[arg(long, default_value_t = 20)]
    pub top: usize,
    #[command(flatten)]
    pub holding: HoldingArgs,
    /// Write a page to look at: which features come again, how far runs differ
    #[arg(long, value_name = "HTML")]
    pub report: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print every feature any run used as CSV: name, share of runs, mean weight
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Say nothing but the result
    #[arg(long, short)]
    pub quiet: bool,
}

pub fn run(args: StabilityArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let StabilityArgs { data, recipe, repeating } = &args;
    let recipe = recipe.checked()?;
    recipe.check()?;
    repeating.report.iter().try_for_each(|path| can_be_written(path))?;
    let options = fit_options(data, &repeating.holding)?;
    let other = repeating.validate.as_ref().map(|file| data.reading.sources(std::slice::from_ref(file))).transpose()?;
    let plan = RepeatOptions {
        runs: repeating.runs,
        by: match repeating.by.as_str() {
            "order" => Variation::Order,
            "seed" => Variation::Seed,
            _ => Variation::Subsample(repeating.share),
        },
        seed: recipe.seed,
        columns: repeating.columns,
        measure: repeating.measure,
        validation: other.map(|sources| (sources, Vec::new())),
    };
    let about = survey(&options.sources, &options.read, recipe.hash_bits)?;
    let screen = Fits::new(repeating.quiet, "repeating");
    let found = repeat(recipe, &about, &options, &plan, &|done, of| screen.watch(done, of))?;
    screen.finish();
    let seconds = started.elapsed().as_secs_f64();
    if let Some(path) = &repeating.report {
        let flags = data.reading.typed();
        let context = ReportContext { data: &data.data, flags: &flags, ..ReportContext::default() };
        let page = of_runs(recipe, &about, &found, &context);
        report::write(path, &page, repeating.quiet || repeating.json || repeating.csv)?;
    }
    if repeating.json {
        print_line!("{}", as_json(&args, &about, &found, seconds))?;
        return Ok(());
    }
    if repeating.csv {
        print_line!("{}", as_csv(&found))?;
        return Ok(());
    }
    print_line!("{}", as_text(&args, &about, &found))?;
    if !repeating.quiet {
        tell!("{seconds:.1} s");
    }
    Ok(())
}

/// The features to show.
fn shown(top: usize, found: &Repeated) -> usize {
    if top == 0 { found.selected.len() } else { top.min(found.selected.len()) }
}

fn as_json(args: &StabilityArgs, about: &Survey, found: &Repeated, seconds: f64) -> serde_json::Value {
    let repeating = &args.repeating;
    let mut result = json!({
        "method": args.recipe.recipe.method.name(),
        "by": repeating.by,
        "measure": found.measure.name(),
        "kappa": found.kappa,
        "mean_error": found.error.0,
        "sd_error": found.error.1,
        "mean_nonzeros": found.nonzeros.0,
        "sd_nonzeros": found.nonzeros.1,
        "n_examples": about.rows,
        "n_features": about.features,
        "columns": found.columns,
        "runs": found.runs,
        "features": found.selected[..shown(repeating.top, found)],
        "seconds": seconds,
    });
    if repeating.by == "subsample" {
        result["share"] = json!(repeating.share);
    }
    result
}

fn as_csv(found: &Repeated) -> String {
    let mut text = String::from("name,share,weight");
    for one in &found.selected {
        let weight = one.weight.map(|weight| weight.to_string()).unwrap_or_default();
        write!(text, "\n{},{},{weight}", table::quoted(&one.name), one.share).expect("text grows");
    }
    text
}

fn as_text(args: &StabilityArgs, about: &Survey, found: &Repeated) -> String {
    let repeating = &args.repeating;
    let how = match repeating.by.as_str() {
        "order" => "orderings".to_string(),
        "seed" => "seeds".to_string(),
        _ => format!("subsamples of {} %", 100.0 * repeating.share),
    };
    let on = match (&repeating.validate, repeating.by.as_str()) {
        (Some(file), _) => format!("on {file}"),
        (None, "order" | "seed") => "on a fifth of the rows, kept from all runs".into(),
        _ => "on the rows left out".into(),
    };
    let (mean, deviation) = found.error;
    let at_least = |share: f64| table::count(found.selected.iter().filter(|one| one.share >= share).count() as u64);
    format!(
        "{} by {}: {how} of {} rows, {} features\n\
         κ         {:.4} over {} columns, mean of all pairs of runs\n\
         {:<9} {} ± {} {on}\n\
         features  {:.1} ± {:.1}; in all runs {}, in half of them {}, in any {}\n\n{}",
        count_of_runs(repeating.runs),
        args.recipe.recipe.method.name(),
        table::count(about.rows),
        table::count(about.features),
        found.kappa,
        table::count(found.columns),
        found.measure.name(),
        value(found.measure, mean),
        value(found.measure, deviation),
        found.nonzeros.0,
        found.nonzeros.1,
        at_least(1.0),
        at_least(0.5),
        at_least(0.0),
        features(repeating.top, found),
    )
}

fn count_of_runs(runs: u64) -> String {
    format!("{} runs", table::count(runs))
}

fn features(top: usize, found: &Repeated) -> String {
    let shown = shown(top, found);
    let texts: Vec<[String; 3]> = found.selected[..shown]
        .iter()
        .map(|one| {
            let weight = one.weight.map(|weight| format!("{weight:.6}")).unwrap_or_default();
            [format!("{:.0} %", 100.0 * one.share), weight, clipped(&one.name, 60)]
        })
        .collect();
    let mut rows = vec![vec!["runs", "mean weight", "feature"]];
    rows.extend(texts.iter().map(|line| line.iter().map(String::as_str).collect::<Vec<_>>()));
    let mut text = table::aligned(&rows);
    if shown < found.selected.len() {
        write!(text, "… and {} more", table::count((found.selected.len() - shown) as u64)).expect("text grows");
    }
    text.truncate(text.trim_end().len());
    text
}
