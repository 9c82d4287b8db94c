//! `tamis tune`: chooses hyper-parameters from a grid by cross-validation, then fits a model with them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use tamis::data::replace_file;
use tamis::model::summary::plural;
use tamis::param::worded;
use tamis::train::{Fitted, fit};
use tamis::tune::{Axis, CrossOptions, Curve, Files, Measure, Point, Rule, Search};
use tamis::tune::{search, settings, summarize};

use crate::args::input::DataArgs;
use crate::args::output::OutputArgs;
use crate::args::recipe::GridArgs;
use crate::args::recipe_file;
use crate::args::training::{TrainingDataArgs, measure_parser};
use crate::error::CliError;
use crate::flag::flag;
use crate::model_output::{check_model_output, is_stdout, write_model};
use crate::output::format;
use crate::output::progress::ProgressDisplay;
use crate::output::{csv, note, notes_json, print_data, print_line, show_notes, table};
use crate::output_file::{check_files, paths};

#[derive(Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub grid: GridArgs,
    #[command(flatten)]
    pub tuning: TuningArgs,
}

/// How settings are compared, and the files to write.
#[derive(Args)]
#[command(next_help_heading = "Tuning")]
pub struct TuningArgs {
    /// Number of cross-validation folds
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub folds: u32,
    /// Selection rule: one-se (sparsest within one standard error of the best) or min (smallest error)
    #[arg(long, default_value = "one-se", value_parser = rule_parser)]
    pub rule: Rule,
    /// Measure: error, log-loss, rmse or loss [default: error for classification, rmse for regression, loss for the
    /// poisson and quantile losses]
    #[arg(long, value_parser = measure_parser)]
    pub measure: Option<Measure>,
    /// Values of a recipe parameter, e.g. l1=0.1,1,10 or scale=auto,none; may be repeated
    #[arg(long = "grid", value_name = "NAME=VALUES")]
    pub lists: Vec<String>,
    /// Model file to write; - for standard output
    #[arg(long, short, value_name = "MODEL", default_value = "model.json")]
    pub out: PathBuf,
    /// File for the cross-validation results, .json or .csv
    #[arg(long, value_name = "FILE")]
    pub curve: Option<PathBuf>,
    /// File for the recipe that was chosen, for `fit --recipe`
    #[arg(long, value_name = "FILE")]
    pub save_recipe: Option<PathBuf>,
    /// Compare the settings but do not fit a model to all rows
    #[arg(long)]
    pub no_fit: bool,
    #[command(flatten)]
    pub training: TrainingDataArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

fn rule_parser(text: &str) -> Result<Rule, String> {
    let found = Rule::ALL.into_iter().find(|rule| rule.name() == text);
    found.ok_or_else(|| format!("expected one of {}", Rule::ALL.map(Rule::name).join(", ")))
}

pub fn run(mut args: TuneArgs) -> Result<(), CliError> {
    let started = Instant::now();
    if !args.tuning.no_fit {
        check_model_output(&args.tuning.out, &mut args.tuning.output)?;
    }
    let TuneArgs { data, grid, tuning } = &args;
    grid.checked()?;
    let model = (!tuning.no_fit).then_some(&tuning.out);
    curve_format(tuning.curve.as_deref())?;
    if model.is_some() && model == tuning.curve.as_ref() {
        let text = "the model and the curve need two files: name the curve with --curve, the model with --out";
        return Err(CliError::of_file(tuning.out.display(), text));
    }
    let options = tuning.training.fit_options(data)?;
    check_files(
        [model, tuning.curve.as_ref(), tuning.save_recipe.as_ref()].into_iter().flatten(),
        paths(&options.sources).chain(data.input.labels.as_deref()),
    )?;
    let mut axes = grid.axes.clone();
    axes.extend(tuning.lists.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<_>, _>>()?);
    settings(&grid.recipe, &axes)?; // reports errors of the grid before the data are read
    let rows = Files::of(&options)?;
    let about = summarize(&rows, grid.recipe.hash_bits)?;
    if !tuning.output.quiet {
        show_notes(&about.notes);
    }
    let cross = CrossOptions { folds: tuning.folds, seed: grid.recipe.seed, measure: tuning.measure };
    let progress = ProgressDisplay::of_fits(tuning.output.quiet, "cross-validation");
    let watch = |done, total| progress.advance(done, total);
    let found = search(&grid.recipe, &axes, tuning.rule, &rows, &about, &options, &cross, &watch)?;
    progress.finish();
    let Search { curve, chosen, .. } = found;
    if !tuning.output.quiet {
        found.notes.iter().for_each(|text| note!("note: {}", worded(text, flag)));
    }
    if let Some(path) = &tuning.curve {
        let content = match curve_format(Some(path))? {
            "csv" => as_csv(&curve, chosen),
            _ => format!("{:#}\n", as_json(&args, &curve, chosen)),
        };
        replace_file(path, content.as_bytes())
            .map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
    }
    if let Some(path) = &tuning.save_recipe {
        let text = recipe_file::text(&curve.points[chosen].setting.recipe);
        replace_file(path, text.as_bytes())
            .map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
    }
    let notes = [notes_json(&about.notes), found.notes.iter().map(ToString::to_string).collect()].concat();
    let fitted = match model {
        Some(path) => {
            let fitted = fit(&curve.points[chosen].setting.recipe, &options, None, &mut ())?;
            write_model(&fitted.model, path)?;
            Some(fitted)
        }
        None => None,
    };
    match model {
        Some(path) if is_stdout(path) => Ok(()),
        _ => show(&args, (&curve, chosen), fitted.as_ref(), &notes, started.elapsed().as_secs_f64()),
    }
}

/// The format of the curve, by its extension.
fn curve_format(path: Option<&Path>) -> Result<&'static str, CliError> {
    let Some(path) = path else { return Ok("json") };
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok("json"),
        Some("csv") => Ok("csv"),
        _ => Err(CliError::of_file(path.display(), "the curve is written as .json or .csv")),
    }
}

fn show(
    args: &TuneArgs,
    (curve, chosen): (&Curve, usize),
    fitted: Option<&Fitted>,
    notes: &[String],
    seconds: f64,
) -> Result<(), CliError> {
    if args.tuning.output.json {
        let mut value = as_json(args, curve, chosen);
        if let Some(fitted) = fitted {
            value["model"] = json!(args.tuning.out);
            value["nonzeros"] = json!(fitted.model.nonzeros());
        }
        value["notes"] = json!(notes);
        value["seconds"] = json!(seconds);
        print_data!("{value}")?;
        return Ok(());
    }
    print_line!("{}", as_table(args, curve, chosen))?;
    if let Some(fitted) = fitted {
        let features = format::features(fitted.model.nonzeros() as u64);
        print_line!("model: {} ({features}, fitted to all rows)", args.tuning.out.display())?;
    }
    if !args.tuning.output.quiet {
        note!("{seconds:.1} s");
    }
    Ok(())
}

fn as_table(args: &TuneArgs, curve: &Curve, chosen: usize) -> String {
    let point = &curve.points[chosen];
    let names: Vec<&str> = point.setting.values.iter().map(|(name, _)| name.as_str()).collect();
    let mut rows = vec![names.clone()];
    rows[0].extend([curve.measure.name(), "± se", "features", ""]);
    let texts: Vec<Vec<String>> =
        curve.points.iter().enumerate().map(|(at, point)| line(curve, at == chosen, point)).collect();
    rows.extend(texts.iter().map(|line| line.iter().map(String::as_str).collect::<Vec<_>>()));
    let mut text = format!(
        "{}, {}, {} folds, {} of method {}\n\n",
        format::rows(curve.rows),
        format::features(curve.features),
        args.tuning.folds,
        plural(curve.points.len() as u64, "setting"),
        args.grid.recipe.method.name()
    );
    text.push_str(&table::aligned(&rows));
    write!(text, "\nselected by {}: {}", args.tuning.rule.name(), point.setting.name()).expect("text grows");
    text
}

fn line(curve: &Curve, is_chosen: bool, point: &Point) -> Vec<String> {
    let mut line: Vec<String> = point.setting.values.iter().map(|(_, value)| value.clone()).collect();
    if point.folds.is_empty() {
        line.extend(["diverged", "", "", ""].map(String::from));
        return line;
    }
    let is_best = curve.best().is_some_and(|best| best.setting == point.setting);
    let mark = match (is_chosen, is_best) {
        (true, true) => "selected, best",
        (true, false) => "selected",
        (false, true) => "best",
        _ => "",
    };
    let number = |number| format::measure(curve.measure, number);
    line.extend([number(point.mean), number(point.standard_error), format!("{:.1}", point.size), mark.into()]);
    line
}

fn point_json(point: &Point) -> Value {
    let [mean, error, size] =
        [point.mean, point.standard_error, point.size].map(|number| (!point.folds.is_empty()).then_some(number));
    let setting = point.setting.as_json();
    json!({"setting": setting, "mean": mean, "standard_error": error, "nonzeros": size, "folds": point.folds})
}

fn as_json(args: &TuneArgs, curve: &Curve, chosen: usize) -> Value {
    json!({
        "method": args.grid.recipe.method.name(),
        "measure": curve.measure.name(),
        "rule": args.tuning.rule.name(),
        "folds": args.tuning.folds,
        "seed": args.grid.recipe.seed,
        "n_examples": curve.rows,
        "n_features": curve.features,
        "settings": curve.points.iter().map(point_json).collect::<Vec<_>>(),
        "chosen": point_json(&curve.points[chosen]),
    })
}

/// One row for each setting: its values, mean, standard error, size, the value in each fold, and whether it is chosen.
fn as_csv(curve: &Curve, chosen: usize) -> String {
    let folds = curve.points.iter().map(|point| point.folds.len()).max().unwrap_or(0);
    let names = curve.points[0].setting.values.iter().map(|(name, _)| name.clone());
    let head = names.chain(["mean", "standard_error", "nonzeros"].map(String::from));
    let head = head.chain((1..=folds).map(|fold| format!("fold{fold}"))).chain(["chosen".to_string()]);
    let row = |(at, point): (usize, &Point)| {
        let mut cells: Vec<String> = point.setting.values.iter().map(|(_, value)| value.clone()).collect();
        if point.folds.is_empty() {
            cells.extend(vec![String::new(); 3 + folds]);
        } else {
            cells.extend([point.mean, point.standard_error, point.size].map(|number| number.to_string()));
            cells.extend(point.folds.iter().map(|fold| fold.value.to_string()));
        }
        cells.push(usize::from(at == chosen).to_string());
        cells
    };
    csv::text(std::iter::once(head.collect::<Vec<_>>()).chain(curve.points.iter().enumerate().map(row)))
}
