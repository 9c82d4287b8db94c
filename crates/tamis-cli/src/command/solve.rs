//! `tamis solve`: fits sparse linear models to co-moments.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use tamis::model::DEFAULT_FDR;
use tamis::moments::Moments;
use tamis::recipe::table::Value as _;
use tamis::recipe::{Criterion, Kind, Signs, SolveRecipe, Solver};
use tamis::solve::{PathPoint, SolveOptions, Solved, solve};
use tamis_report::{ReportContext, of_model};

use crate::args::input::threads_parser;
use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::model_output::{check_model_output, write_model};
use crate::output::format::{count, features, rows};
use crate::output::terminal::{clipped, wrapped};
use crate::output::{model, note, print_data, print_line, sizes};
use crate::output_file::check_files;
use crate::report_file::write_report;

#[derive(Args)]
pub struct SolveArgs {
    /// Moments file of `tamis moments`
    pub moments: PathBuf,
    /// Method: ols, ridge, ols-th, ofsa, lasso, elastic-net, mcp or scad
    #[arg(long, value_name = "NAME", default_value = "mcp", value_parser = solver_parser, long_help = solvers())]
    pub method: Solver,
    /// Number of features
    #[arg(long, value_name = "N")]
    pub k: Option<usize>,
    /// Penalty λ, in units of the target, on standardized columns
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub lambda: Option<f64>,
    /// Criterion that selects the size: bic, aic, ebic or cv (cross-validation; needs moments with --folds) [default: cv if
    /// the moments have folds, else ebic]
    #[arg(long, value_name = "CRITERION", value_parser = criterion_parser)]
    pub criterion: Option<Criterion>,
    /// Refit the selected features without penalty (ols-th and ofsa always do)
    #[arg(long)]
    pub refit: bool,
    /// Share of the L1 penalty in the elastic net (ρ) [default: 0.5]
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub l1_ratio: Option<f64>,
    /// γ of MCP (> 1) or a of SCAD (> 2) [default: 3, 3.7]
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub concavity: Option<f64>,
    /// Sign that weights must have (a monotone constraint): + or - for all features, or pairs such as age=+,debt=-; for lasso,
    /// elastic-net, mcp and scad. A lasso with --lambda 0 is least squares with signs
    #[arg(long, value_name = "SIGNS", value_parser = signs_parser)]
    pub sign: Option<Signs>,
    /// Target column, if the moments have several (--more-targets)
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// Print the solution path: sizes, criteria, cross-validation errors, features entering and leaving
    #[arg(long)]
    pub path: bool,
    /// Write an HTML report: path, features, accuracy of smaller models
    #[arg(long, value_name = "HTML")]
    pub report: Option<PathBuf>,
    /// Model file to write; - for standard output
    #[arg(long, short, value_name = "MODEL", default_value = "model.json")]
    pub out: PathBuf,
    /// Number of threads [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads_parser)]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub output: OutputArgs,
}

fn solver_parser(text: &str) -> Result<Solver, String> {
    let found = Solver::ALL.into_iter().find(|solver| solver.name() == text);
    found.ok_or_else(|| format!("expected one of {}", Solver::ALL.map(Solver::name).join(", ")))
}

fn signs_parser(text: &str) -> Result<Signs, String> {
    let Kind::Written { expected, .. } = Signs::KIND else { unreachable!("signs have a form of their own") };
    Signs::parse(text).ok_or_else(|| format!("expected {expected}"))
}

fn criterion_parser(text: &str) -> Result<Criterion, String> {
    let found = Criterion::ALL.into_iter().find(|criterion| criterion.name() == text);
    found.ok_or_else(|| format!("expected one of {}", Criterion::ALL.map(Criterion::name).join(", ")))
}

fn solvers() -> String {
    let lines = Solver::ALL.map(|solver| format!("  {:<12} {}", solver.name(), solver.about()));
    format!("Method\n{}", lines.join("\n"))
}

pub fn run(mut args: SolveArgs) -> Result<(), CliError> {
    let started = Instant::now();
    check_model_output(&args.out, &mut args.output)?;
    let recipe = SolveRecipe {
        target: args.target.clone(),
        k: args.k,
        lambda: args.lambda,
        criterion: args.criterion,
        refit: args.refit,
        l1_ratio: args.l1_ratio,
        concavity: args.concavity,
        sign: args.sign.clone(),
        ..SolveRecipe::new(args.method)
    };
    recipe.check()?;
    check_files([Some(&args.out), args.report.as_ref()].into_iter().flatten(), [args.moments.as_path()])?;
    let moments = Moments::load(&args.moments)?;
    let recipe = recipe.resolved(moments.folds.len());
    let options = SolveOptions { path: args.path || args.report.is_some(), threads: args.threads.unwrap_or(0) };
    let solved = solve(&moments, &recipe, options)?;
    write_model(&solved.model, &args.out)?;
    if !args.output.quiet {
        solved.notes.iter().for_each(|text| note!("note: {text}"));
    }
    show(&args, &recipe, &solved, started.elapsed().as_secs_f64())?;
    match &args.report {
        Some(path) => {
            let (file, data) = (args.out.display().to_string(), [args.moments.display().to_string()]);
            let context = ReportContext {
                file: &file,
                data: &data,
                solved: Some((&solved, recipe.criterion)),
                ..ReportContext::default()
            };
            write_report(path, &of_model(&solved.model, &context), !args.output.is_text())
        }
        None => Ok(()),
    }
}

fn show(args: &SolveArgs, recipe: &SolveRecipe, solved: &Solved, seconds: f64) -> Result<(), CliError> {
    if args.output.json {
        print_data!("{}", as_json(args, recipe, solved, seconds))?;
        return Ok(());
    }
    if args.path {
        print_line!("{}", path_table(solved, recipe.criterion))?;
    }
    if args.output.quiet {
        return Ok(());
    }
    let point = &solved.path[solved.chosen];
    let penalty = point.lambda.map(|penalty| format!(", λ {penalty:.6}")).unwrap_or_default();
    print_line!(
        "{}: {} of {}{penalty}, R² {:.4} on {}; {seconds:.2} s",
        args.method.name(),
        count(point.size as u64),
        features(solved.model.seen.features),
        point.r2,
        rows(solved.model.seen.rows),
    )?;
    print_line!("model: {}", args.out.display())?;
    if let Some(tests) = &solved.model.tests {
        print_line!("{}", wrapped(&sizes::certainty(&solved.model, tests, DEFAULT_FDR)))?;
    }
    print_line!("\n{}", model::features(&solved.model, 10))?;
    Ok(())
}

fn as_json(args: &SolveArgs, recipe: &SolveRecipe, solved: &Solved, seconds: f64) -> Value {
    let point = &solved.path[solved.chosen];
    let mut value = json!({
        "model": args.out,
        "method": args.method.name(),
        "k": args.k.unwrap_or(point.size),
        "nonzeros": solved.model.nonzeros(),
        "lambda": point.lambda,
        "criterion_name": recipe.criterion.map(Criterion::name),
        "criterion": recipe.criterion.and_then(|criterion| point.value(criterion)),
        "r2": point.r2,
        "aic": point.aic,
        "bic": point.bic,
        "ebic": point.ebic,
        "cv_error": point.cv_error,
        "confirmed": solved.model.tests.as_ref().map(sizes::confirmed_json),
        "n_examples": solved.model.seen.rows,
        "n_features": solved.model.seen.features,
        "seconds": seconds,
    });
    if args.path {
        value["path"] = json!(solved.path);
        value["chosen"] = json!(solved.chosen);
    }
    value
}

/// The path as a table, with an arrow at the selected model.
fn path_table(solved: &Solved, selected: Option<Criterion>) -> String {
    let criterion = selected.filter(|criterion| *criterion != Criterion::Cv).unwrap_or(Criterion::Bic);
    let folds = solved.path.iter().any(|point| point.cv_error.is_some());
    let head = if folds { "  cross-validation error" } else { "" };
    let mut text = format!("  {:>12} {:>8} {:>8} {:>14}{head}  entering", "lambda", "features", "R²", criterion.name());
    for (at, point) in solved.path.iter().enumerate() {
        let mark = if at == solved.chosen { "→" } else { " " };
        let penalty = point.lambda.map(|penalty| format!("{penalty:.6}")).unwrap_or_default();
        let value = point.value(criterion).unwrap_or(f64::NAN);
        let line = format!("\n{mark} {penalty:>12} {:>8} {:>8.4} {value:>14.2}", point.size, point.r2);
        write!(text, "{line}{}  {}", folds_of(point, folds), names(point)).expect("text grows");
        text.truncate(text.trim_end().len());
    }
    text
}

fn folds_of(point: &PathPoint, folds: bool) -> String {
    match (point.cv_error, point.cv_deviation) {
        (Some(error), Some(deviation)) => format!("  {:<22}", format!("{error:.5} ± {deviation:.5}")),
        _ if folds => " ".repeat(24),
        _ => String::new(),
    }
}

/// The first few names that enter, and those that leave.
fn names(point: &PathPoint) -> String {
    let some = |sign: char, names: &[String]| {
        let shown: Vec<String> = names.iter().take(5).map(|name| format!("{sign}{}", clipped(name, 24))).collect();
        let more = names.len().saturating_sub(5);
        if more > 0 { format!("{} {sign}{more} more", shown.join(" ")) } else { shown.join(" ") }
    };
    format!("{} {}", some('+', &point.entered), some('−', &point.left)).trim().to_string()
}
