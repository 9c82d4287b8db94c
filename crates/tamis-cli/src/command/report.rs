//! `tamis report`: writes an HTML report of a model, moments, a metric or a checkpoint.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use tamis::eval::{Evaluation, evaluate};
use tamis::model::Model;
use tamis::moments::Moments;
use tamis::recipe::SolveRecipe;
use tamis::solve::{SolveError, SolveOptions, Solved, solve};
use tamis::train::Checkpoint;
use tamis_metric::{Metric, Share};
use tamis_report::{MetricContext, Report, ReportContext, of_metric, of_model, of_periods};

use crate::args::input::InputArgs;
use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::model_input::{MissingColumnsArgs, open_for};
use crate::model_output::is_stdout;
use crate::output::{print_data, warn_skipped};
use crate::output_file::{check_files, paths};
use crate::report_file::write_report;

#[derive(Args)]
pub struct ReportArgs {
    /// Model, moments, metric or checkpoint; several moments files, in order of time, show changes over time
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Labelled data to evaluate the model on: error with confidence interval, ROC curve, calibration
    #[arg(long, value_name = "DATA")]
    pub data: Vec<String>,
    /// HTML file to write
    #[arg(long, short, value_name = "HTML", default_value = "report.html")]
    pub out: PathBuf,
    /// Width of the images, if features are pixels: show the weights as an image
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub image_width: Option<u16>,
    /// Number of features of each model over time [default: chosen by BIC on the last moments]
    #[arg(long, value_name = "N")]
    pub k: Option<usize>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub columns: MissingColumnsArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: ReportArgs) -> Result<(), CliError> {
    if is_stdout(&args.out) && args.output.json {
        return Err(CliError::Message("--json needs an output file: standard output holds the page".into()));
    }
    let data = if args.data.is_empty() { Vec::new() } else { args.input.sources(&args.data)? };
    check_files(
        [&args.out],
        paths(&data).chain(args.input.labels.as_deref()).chain(args.files.iter().map(PathBuf::as_path)),
    )?;
    let report = match &args.files[..] {
        [file] => match Kind::of(file)? {
            Kind::Model => of_one(&args, file, &Model::load(file)?, &ReportContext::default())?,
            Kind::Moments => moments(&args, file)?,
            Kind::Metric => metric(&args, file)?,
            Kind::Checkpoint => checkpoint(&args, file)?,
        },
        several => periods(&args, several)?,
    };
    write_report(&args.out, &report, !args.output.is_text())?;
    if args.output.json {
        print_data!("{}", json!({"report": args.out}))?;
    }
    Ok(())
}

/// The kind of a file.
enum Kind {
    Model,
    Moments,
    Metric,
    Checkpoint,
}

impl Kind {
    /// Reads the first bytes: a model is JSON, the other files have a header that names their kind.
    fn of(path: &Path) -> Result<Kind, CliError> {
        let failed = |error| CliError::of_file(path.display(), error);
        let mut head = Vec::new();
        File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut head)).map_err(failed)?;
        let holds = |text: &str| head.windows(text.len()).any(|window| window == text.as_bytes());
        Ok(match head.first() {
            Some(b'{') => Kind::Model,
            _ if holds("\"tamis-moments\"") => Kind::Moments,
            _ if holds("\"tamis-metric\"") => Kind::Metric,
            _ if holds("\"__metadata__\"") => Kind::Checkpoint,
            _ => {
                let text =
                    "not a model, moments, metric or checkpoint file of tamis; `tamis fit` makes a model from data";
                return Err(CliError::of_file(path.display(), text));
            }
        })
    }
}

/// The report of a model, with an evaluation if there are data.
fn of_one(args: &ReportArgs, file: &Path, model: &Model, context: &ReportContext<'_>) -> Result<Report, CliError> {
    let names = args.data.join(" ");
    let found = if args.data.is_empty() { None } else { Some(evaluated(args, model)?) };
    let (file, flags) = (file.display().to_string(), args.input.command_line());
    let file = if context.file.is_empty() { &file } else { context.file };
    Ok(of_model(
        model,
        &ReportContext {
            file,
            flags: &flags,
            evaluation: found.as_ref().map(|found| (names.as_str(), found)),
            image_width: args.image_width.map(usize::from),
            ..*context
        },
    ))
}

fn evaluated(args: &ReportArgs, model: &Model) -> Result<Evaluation, CliError> {
    let (sources, options) = (args.input.sources(&args.data)?, args.input.options(true));
    let mut rows = open_for(model, sources, options, args.columns.are_refused());
    let found = evaluate(model, &mut rows)?;
    if !args.output.quiet {
        warn_skipped(rows.skipped(), rows.first_skipped());
    }
    Ok(found)
}

/// Moments: the model that `solve` makes of them by default, on its path.
fn moments(args: &ReportArgs, file: &Path) -> Result<Report, CliError> {
    let moments = Moments::load(file)?;
    let recipe = SolveRecipe { k: args.k, target: args.input.target.clone(), ..SolveRecipe::default() };
    let recipe = recipe.resolved(moments.folds.len());
    let solved = solve(&moments, &recipe, options(args))?;
    let data = [file.display().to_string()];
    let context = ReportContext {
        file: "model.json",
        data: &data,
        solved: Some((&solved, recipe.criterion)),
        unsaved: true,
        ..ReportContext::default()
    };
    of_one(args, file, &solved.model, &context)
}

fn options(args: &ReportArgs) -> SolveOptions {
    SolveOptions { path: true, threads: args.input.threads.unwrap_or(0) }
}

/// A checkpoint: the model so far.
fn checkpoint(args: &ReportArgs, file: &Path) -> Result<Report, CliError> {
    let saved = Checkpoint::load(file)?;
    let (rows, complete) = (saved.rows(), saved.is_complete());
    let Some(model) = saved.model()? else {
        let text = if complete {
            "the training is complete; report its model file"
        } else {
            "the first size is not fitted yet; there is no model to report"
        };
        return Err(CliError::of_file(file.display(), text));
    };
    let context = ReportContext { unfinished: (!complete).then_some(rows), ..ReportContext::default() };
    of_one(args, file, &model, &context)
}

fn metric(args: &ReportArgs, file: &Path) -> Result<Report, CliError> {
    if !args.data.is_empty() {
        let text = "--data does not apply to a metric; evaluate it with `tamis metric eval`";
        return Err(CliError::Message(text.into()));
    }
    let (name, flags) = (file.display().to_string(), args.input.command_line());
    let context = MetricContext { file: &name, flags: &flags, ..MetricContext::default() };
    Ok(page_of_metric(&Metric::load(file)?, args.image_width.map(usize::from), &context))
}

/// Bins of the first axis.
const BINS: usize = 40;

/// The report of a metric; `context` has what its file does not.
pub fn page_of_metric(metric: &Metric, image_width: Option<usize>, context: &MetricContext<'_>) -> Report {
    let pair = |share: Share| (share.name, share.share);
    let variables: Vec<(String, f64)> = metric.variable_shares().into_iter().map(pair).collect();
    let axis = metric.first_axis(BINS);
    let names = metric.classes.iter().map(ToString::to_string);
    let classes: Vec<(String, Vec<f64>)> =
        axis.iter().flat_map(|axis| names.clone().zip(axis.shares.iter().cloned())).collect();
    let error = |name: &str| metric.cv_results.iter().find(|one| one.name == name).map(|one| one.error);
    of_metric(&MetricContext {
        rows: metric.rows() as u64,
        of: metric.n_features,
        errors: (error(&metric.name), error("plain").filter(|_| metric.params.is_some())),
        variables: &variables,
        first_axis: axis.as_ref().map(|axis| (&axis.borders[..], &classes[..])),
        image_width,
        ..*context
    })
}

/// Several moments in their order: one model each, of the same size.
fn periods(args: &ReportArgs, files: &[PathBuf]) -> Result<Report, CliError> {
    if !args.data.is_empty() {
        return Err(CliError::Message("--data needs exactly one model; several moments are compared over time".into()));
    }
    let recipe = |k: Option<usize>| SolveRecipe { k, target: args.input.target.clone(), ..SolveRecipe::default() };
    let load = |file: &PathBuf| match Kind::of(file)? {
        Kind::Moments => Ok(Moments::load(file)?),
        _ => Err(CliError::of_file(file.display(), "not a moments file; a report of several files takes only moments")),
    };
    let options = SolveOptions { path: false, ..options(args) };
    let k = match args.k {
        Some(k) => k,
        None => {
            let Solved { model, .. } = solve(&load(files.last().expect("several files"))?, &recipe(None), options)?;
            model.nonzeros().max(1)
        }
    };
    let mut models = Vec::new();
    for file in files {
        let period = load(file)?;
        let solved = match solve(&period, &recipe(Some(k)), options) {
            // A period may have fewer features that vary.
            Err(SolveError::TooMany { usable, .. }) => solve(&period, &recipe(Some(usable.max(1))), options)?,
            other => other?,
        };
        models.push(solved.model);
    }
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Ok(of_periods(&names, &models, k))
}
