//! `tamis tune`: a grid of settings, cross-validation, one choice, and the model it gives.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use tamis::data::replace_file;
use tamis::train::{FitOptions, Fitted, fit};
use tamis::tune::{Axis, CrossOptions, Curve, Measure, Point, Rule};
use tamis::tune::{choose, cross_validate, default_axes, settings, survey};

use super::Failure;
use super::fit::{can_be_written, fit_options};
use crate::args::{DataArgs, GridArgs, HoldingArgs};
use crate::output::fits::Fits;
use crate::output::{print_line, table, tell};

#[derive(Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub grid: GridArgs,
    #[command(flatten)]
    pub tuning: TuningArgs,
}

/// How settings are compared, and where results go.
#[derive(Args)]
#[command(next_help_heading = "Tuning")]
pub struct TuningArgs {
    /// Parts of the rows: each setting is learned on all but one and measured on that one, in turn
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub folds: u32,
    /// Which setting to take: one-se (sparsest within one standard error of the best) or min (least error)
    #[arg(long, default_value = "one-se", value_parser = rule_parser)]
    pub rule: Rule,
    /// What is compared: error, log-loss or rmse [default: error of classes, rmse of numbers]
    #[arg(long, value_parser = measure_parser)]
    pub measure: Option<Measure>,
    /// Values of any parameter of the recipe, e.g. l1=0.1,1,10 or scale=auto,none; may be repeated
    #[arg(long = "grid", value_name = "NAME=VALUES")]
    pub lists: Vec<String>,
    /// Where the curve goes, .json or .csv
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Where the model goes
    #[arg(long, value_name = "MODEL", default_value = "model.json")]
    pub model: PathBuf,
    /// Only compare; learn no model from all rows
    #[arg(long)]
    pub no_fit: bool,
    #[command(flatten)]
    pub holding: HoldingArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing but the result
    #[arg(long, short)]
    pub quiet: bool,
}

pub fn rule_parser(text: &str) -> Result<Rule, String> {
    let found = Rule::ALL.into_iter().find(|rule| rule.name() == text);
    found.ok_or_else(|| format!("one of {}", Rule::ALL.map(Rule::name).join(", ")))
}

pub fn measure_parser(text: &str) -> Result<Measure, String> {
    let found = Measure::ALL.into_iter().find(|measure| measure.name() == text);
    found.ok_or_else(|| format!("one of {}", Measure::ALL.map(Measure::name).join(", ")))
}

pub fn run(args: TuneArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let TuneArgs { data, grid, tuning } = &args;
    grid.checked()?;
    let model = (!tuning.no_fit).then_some(&tuning.model);
    [model, tuning.out.as_ref()].into_iter().flatten().try_for_each(|path| can_be_written(path))?;
    curve_format(tuning.out.as_deref())?;
    let options = fit_options(data, &tuning.holding)?;
    let mut axes = grid.axes.clone();
    axes.extend(tuning.lists.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<_>, _>>()?);
    settings(&grid.recipe, &axes)?; // what is wrong with the lists shows before anything is read
    let about = survey(&options.sources, &options.read, grid.recipe.hash_bits)?;
    axes.extend(default_axes(&grid.recipe, &axes, about.features));
    let all = settings(&grid.recipe, &axes)?;
    let cross = CrossOptions { folds: tuning.folds, seed: grid.recipe.seed, measure: tuning.measure };
    let screen = Fits::new(tuning.quiet, "tuning");
    let curve = cross_validate(&all, &about, &options, &cross, &|done, of| screen.watch(done, of))?;
    screen.finish();
    let chosen = choose(&curve, tuning.rule).expect("a curve without any value is an error");
    if !tuning.quiet {
        edges(&curve, &axes).iter().for_each(|text| tell!("note: {text}"));
    }
    if let Some(path) = &tuning.out {
        let content = match curve_format(Some(path))? {
            "csv" => as_csv(&curve, chosen),
            _ => format!("{:#}\n", as_json(&args, &curve, chosen)),
        };
        replace_file(path, content.as_bytes())
            .map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
    }
    let fitted = match model {
        Some(path) => {
            let options = FitOptions { model: Some(path.clone()), ..options };
            Some(fit(&curve.points[chosen].setting.recipe, &options, None, &mut ())?)
        }
        None => None,
    };
    show(&args, &curve, chosen, fitted.as_ref(), started.elapsed().as_secs_f64())
}

/// The format of the curve's file by its name.
fn curve_format(path: Option<&Path>) -> Result<&'static str, Failure> {
    let Some(path) = path else { return Ok("json") };
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok("json"),
        Some("csv") => Ok("csv"),
        _ => Err(Failure::Text(format!("{}: a curve is written as .json or .csv", path.display()))),
    }
}

/// A best value at the end of its list may not be the best there is.
fn edges(curve: &Curve, axes: &[Axis]) -> Vec<String> {
    let Some(best) = curve.best() else { return Vec::new() };
    let at_edge = |axis: &&Axis| {
        let is_number = axis.values.iter().all(|value| value.parse::<f64>().is_ok());
        let value = best.setting.values.iter().find(|(name, _)| *name == axis.name).map(|(_, value)| value);
        let ends = [axis.values.first(), axis.values.last()];
        is_number && axis.values.len() > 2 && ends.contains(&value)
    };
    let text = |axis: &Axis| {
        let value = &best.setting.values.iter().find(|(name, _)| *name == axis.name).expect("an axis is set").1;
        let ends = [&axis.values[0], &axis.values[axis.values.len() - 1]];
        let [first, last] = ends;
        format!("the least error is at {} {value}, an end of {first} … {last}: values beyond may be better", axis.name)
    };
    axes.iter().filter(at_edge).map(text).collect()
}

fn show(args: &TuneArgs, curve: &Curve, chosen: usize, fitted: Option<&Fitted>, seconds: f64) -> Result<(), Failure> {
    if args.tuning.json {
        let mut value = as_json(args, curve, chosen);
        if let Some(fitted) = fitted {
            value["model"] = json!(args.tuning.model);
            value["nonzeros"] = json!(fitted.model.nonzeros());
        }
        value["seconds"] = json!(seconds);
        print_line!("{value}")?;
        return Ok(());
    }
    print_line!("{}", as_table(args, curve, chosen))?;
    if let Some(fitted) = fitted {
        let kept = table::count(fitted.model.nonzeros() as u64);
        print_line!("model: {}, learned from all rows, {kept} features", args.tuning.model.display())?;
    }
    if !args.tuning.quiet {
        tell!("{seconds:.1} s");
    }
    Ok(())
}

/// A measured value: a share of errors in per cent, other measures as they are.
pub fn value(measure: Measure, number: f64) -> String {
    match measure {
        Measure::Error => format!("{:.2} %", 100.0 * number),
        _ => format!("{number:.6}"),
    }
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
        "{} rows, {} features, {} folds, {} settings of {}\n\n",
        table::count(curve.rows),
        table::count(curve.features),
        args.tuning.folds,
        curve.points.len(),
        args.grid.recipe.method.name()
    );
    text.push_str(&table::aligned(&rows));
    write!(text, "\nchosen ({}): {}", args.tuning.rule.name(), point.setting.name()).expect("text grows");
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
        (true, true) => "chosen, least",
        (true, false) => "chosen",
        (false, true) => "least",
        _ => "",
    };
    let number = |number| value(curve.measure, number);
    line.extend([number(point.mean), number(point.standard_error), format!("{:.1}", point.size), mark.into()]);
    line
}

fn point_json(point: &Point) -> Value {
    let (mean, error, size) = match point.folds.is_empty() {
        true => (None, None, None),
        false => (Some(point.mean), Some(point.standard_error), Some(point.size)),
    };
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

/// One line a setting: its values, mean, standard error, size, the folds, and whether it was chosen.
fn as_csv(curve: &Curve, chosen: usize) -> String {
    let folds = curve.points.iter().map(|point| point.folds.len()).max().unwrap_or(0);
    let names = curve.points[0].setting.values.iter().map(|(name, _)| table::quoted(name));
    let head = names.chain(["mean", "standard_error", "nonzeros"].map(String::from));
    let head = head.chain((1..=folds).map(|fold| format!("fold{fold}"))).chain(["chosen".to_string()]);
    let mut text = head.collect::<Vec<_>>().join(",") + "\n";
    for (at, point) in curve.points.iter().enumerate() {
        let mut cells: Vec<String> = point.setting.values.iter().map(|(_, value)| table::quoted(value)).collect();
        match point.folds.is_empty() {
            true => cells.extend(vec![String::new(); 3 + folds]),
            false => {
                cells.extend([point.mean, point.standard_error, point.size].map(|number| number.to_string()));
                cells.extend(point.folds.iter().map(|fold| fold.value.to_string()));
            }
        }
        cells.push(usize::from(at == chosen).to_string());
        text.push_str(&(cells.join(",") + "\n"));
    }
    text
}
