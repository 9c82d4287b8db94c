//! `tamis fit`: fits a sparse model to data.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use tamis::data::TaskKind;
use tamis::eval::{ClassReport, Evaluation, Metrics, UnknownClasses, evaluate, measure_classes};
use tamis::io::{ReadOptions, Source};
use tamis::loss::EvalMetric;
use tamis::model::{DEFAULT_FDR, Model};
use tamis::param::worded;
use tamis::recipe::{MethodParams, Provenance, Recipe};
use tamis::train::{Checkpoint, CheckpointPlan, FitOptions, Fitted, fit};
use tamis_report::{ReportContext, of_model};

use crate::args::input::DataArgs;
use crate::args::output::OutputArgs;
use crate::args::recipe::RecipeArgs;
use crate::args::training::TrainingDataArgs;
use crate::error::CliError;
use crate::flag::flag;
use crate::memory::peak_memory;
use crate::model_input::open_for;
use crate::model_output::{check_model_output, is_stdout, write_model};
use crate::output::format::{bytes, count, features, passes, rows};
use crate::output::progress::ProgressDisplay;
use crate::output::terminal::wrapped;
use crate::output::{classes, kernel, model, note, print_data, print_line, show_notes, sizes, warn_skipped};
use crate::output_file::{check_files, paths};
use crate::report_file::{feature_frequencies, write_report};

#[derive(Args)]
pub struct FitArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of the run that do not change the model.
#[derive(Args)]
#[command(next_help_heading = "Run")]
pub struct RunArgs {
    /// Model file to write; - for standard output
    #[arg(long, short, value_name = "MODEL", default_value = "model.json")]
    pub out: PathBuf,
    /// Labelled data to evaluate the model on
    #[arg(long, value_name = "FILE")]
    pub validate: Option<String>,
    /// Write an HTML report: features, how sure they are, accuracy of smaller models; with --validate, the evaluation
    #[arg(long, value_name = "HTML")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub training: TrainingDataArgs,
    /// Folder for rows that do not fit in memory [default: the system's temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub cache_dir: Option<PathBuf>,
    /// Checkpoint file, written at the end, on Ctrl-C, and as often as --checkpoint-every says
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Number of rows between two checkpoints
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: Option<u64>,
    /// Resume from a checkpoint: with the same data if it was interrupted; with new data if it was complete, then --k and
    /// --warm-start-decay may be given
    #[arg(long, value_name = "CHECKPOINT")]
    pub resume: Option<PathBuf>,
    /// With --resume from a complete training: learn the same data again
    #[arg(long, requires = "resume")]
    pub again: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(mut args: FitArgs) -> Result<(), CliError> {
    let started = Instant::now();
    check_model_output(&args.run.out, &mut args.run.output)?;
    let FitArgs { data, run, .. } = &args;
    let (recipe, resume) = recipe_or_checkpoint(&args)?;
    let options = fit_options(&args)?;
    let validation = run.validate.as_ref().map(|file| data.input.sources(std::slice::from_ref(file))).transpose()?;
    let checkpoint = options.checkpoint.as_ref().map(|plan| &plan.path);
    let outputs = [Some(&run.out), checkpoint, run.report.as_ref()].into_iter().flatten();
    let inputs = paths(&options.sources).chain(data.input.labels.as_deref());
    check_files(outputs, inputs.chain(validation.iter().flat_map(|sources| paths(sources))))?;
    let resumed = run.resume.as_deref();
    check_files([Some(&run.out), run.report.as_ref()].into_iter().flatten(), resumed)?;
    let mut progress = ProgressDisplay::of_rows(run.output.quiet, &options.sources).with_loss(recipe.loss);
    let fitted = fit(&recipe, &options, resume, &mut progress)?;
    progress.finish();
    if is_stdout(&run.out) {
        write_model(&fitted.model, &run.out)?;
    }
    let (mut measures, mut evaluation) = (None, None);
    if let Some(sources) = validation {
        let read = ReadOptions { stop: options.stop.clone(), ..data.input.options_of_labelled() };
        let mut rows = open_for(&fitted.model, sources, read, true);
        evaluation = run.report.as_ref().map(|_| evaluate(&fitted.model, &mut rows)).transpose()?;
        measures = Some(match &evaluation {
            Some(evaluation) => (evaluation.measures.clone(), evaluation.classes.clone()),
            None => measure_classes(&fitted.model, &mut rows, UnknownClasses::Refused)?,
        });
    }
    show(&args, &fitted, measures.as_ref(), started.elapsed().as_secs_f64())?;
    match &run.report {
        Some(path) => report(&args, path, &fitted.model, evaluation.as_ref(), &options.sources),
        None => Ok(()),
    }
}

/// The recipe of the command line or of the checkpoint. With new data, the number of features and the decay of the warm
/// start may differ; nothing else may.
fn recipe_or_checkpoint(args: &FitArgs) -> Result<(Recipe, Option<Checkpoint>), CliError> {
    let FitArgs { recipe, run, .. } = args;
    if run.checkpoint_every.is_some() && run.checkpoint.is_none() && run.resume.is_none() {
        return Err(CliError::Message("--checkpoint-every requires --checkpoint FILE".into()));
    }
    let Some(path) = &run.resume else { return Ok((recipe.checked()?.clone(), None)) };
    let mut saved = Checkpoint::load(path)?;
    let mut fixed = recipe.given.clone();
    if saved.is_complete() {
        for param in Checkpoint::CHANGEABLE.into_iter().filter(|param| recipe.given.contains(&param.flag)) {
            let value = recipe.checked()?.get(param.name).expect("the flag was given");
            saved.set(param, &value)?;
            fixed.retain(|flag| *flag != param.flag);
        }
    }
    if let Some(flag) = fixed.first()
        && recipe.checked() != Ok(saved.recipe())
    {
        let text = format!("--{flag} cannot change what a checkpoint trains; omit it, or train anew without --resume");
        return Err(CliError::Message(text));
    }
    if run.training.task != TaskKind::Auto {
        let text = "--task cannot change what a checkpoint trains; omit it, or train anew without --resume";
        return Err(CliError::Message(text.into()));
    }
    if !run.output.quiet {
        let path = path.display();
        if saved.is_complete() {
            note!("resuming from {path} with new data");
        } else {
            note!("resuming from {path} after {} rows", saved.rows());
        }
    }
    Ok((saved.recipe().clone(), Some(saved)))
}

fn fit_options(args: &FitArgs) -> Result<FitOptions, CliError> {
    let run = &args.run;
    let resumed = run.resume.clone().filter(|_| run.checkpoint_every.is_some());
    let checkpoint = run.checkpoint.clone().or(resumed);
    Ok(FitOptions {
        cache_folder: run.cache_dir.clone(),
        again: run.again,
        model: (!is_stdout(&run.out)).then(|| run.out.clone()),
        checkpoint: checkpoint.map(|path| CheckpointPlan { path, every: run.checkpoint_every }),
        ..run.training.fit_options(&args.data)?
    })
}

fn report(
    args: &FitArgs,
    path: &Path,
    model: &Model,
    evaluation: Option<&Evaluation>,
    sources: &[Source],
) -> Result<(), CliError> {
    let FitArgs { data, run, .. } = args;
    let densities = feature_frequencies(model, sources, &data.input)?;
    let (file, flags) = (run.out.display().to_string(), data.input.command_line());
    let names = data.data.join(" ");
    let context = ReportContext {
        file: &file,
        data: &data.data,
        flags: &flags,
        evaluation: run.validate.as_deref().zip(evaluation),
        densities: densities.as_ref().map(|found| (names.as_str(), found)),
        ..ReportContext::default()
    };
    write_report(path, &of_model(model, &context), !run.output.is_text())
}

/// The metrics on the rows of `--validate`, and those of each class.
type Measured = (Metrics, Option<ClassReport>);

fn show(args: &FitArgs, fitted: &Fitted, measures: Option<&Measured>, seconds: f64) -> Result<(), CliError> {
    let (run, seen) = (&args.run, &fitted.model.seen);
    if !run.output.quiet {
        warn_skipped(seen.skipped, &fitted.skipped);
        show_notes(&fitted.notes);
    }
    if run.output.json {
        print_data!("{}", as_json(args, fitted, measures, seconds))?;
        return Ok(());
    }
    if run.output.quiet {
        return Ok(());
    }
    print_line!(
        "{}, {}, {} seen, {} selected; {seconds:.2} s ({} rows/s), {} of memory",
        rows(seen.rows),
        passes(seen.passes),
        features(seen.features),
        count(fitted.model.nonzeros() as u64),
        count((fitted.rows_learned as f64 / seconds.max(1e-9)) as u64),
        bytes(peak_memory().unwrap_or(fitted.memory as u64)),
    )?;
    print_line!("{}", task_line(fitted))?;
    print_line!("model: {}", run.out.display())?;
    if let Some((measures, _)) = measures {
        print_line!("{}: {}", run.validate.as_deref().unwrap_or_default(), model::measures(measures))?;
    }
    if let Some(text) = sizes::selected(&fitted.model, &run.out.display().to_string()) {
        print_line!("{text}")?;
    }
    if let Some(kernel) = &fitted.model.kernel {
        let path = run.out.display().to_string();
        let findings = kernel::findings(&fitted.model, kernel, &path);
        let gap = if findings.is_empty() { "" } else { "\n" };
        print_line!("{}", wrapped(&format!("{}{gap}{findings}", kernel::estimate(&fitted.model, kernel))))?;
    }
    for text in not_sparse(&fitted.model).into_iter().chain(blind_to_labels(&fitted.model)) {
        note!("note: {text}");
    }
    if let Some(tests) = &fitted.model.tests {
        let fdr = sizes::asked_fdr(&fitted.model).unwrap_or(DEFAULT_FDR);
        print_line!("{}", wrapped(&sizes::certainty(&fitted.model, tests, fdr)))?;
    }
    let features = model::features(&fitted.model, 10);
    if !features.is_empty() {
        print_line!("\n{features}")?;
    }
    Ok(())
}

/// The share of features from which on a model is called dense, of this many at least.
const DENSE: (f64, u64) = (0.8, 10);

/// What to do about a model of a sparse method that keeps most features. A penalty has no default that suits all data.
fn not_sparse(model: &Model) -> Option<String> {
    let Provenance::Fit(recipe) = &model.recipe else { return None };
    let (kept, seen) = (model.nonzeros() as u64, model.seen.features);
    if recipe.k.is_some() || seen < DENSE.1 || (kept as f64) < DENSE.0 * seen as f64 {
        return None;
    }
    let name = recipe.method.name();
    let tuned = format!("give --k, or use `tamis tune --method {name}`");
    let advice = match &recipe.method {
        MethodParams::Rounding(params) => format!("raise --threshold (now {}), {tuned}", params.threshold()),
        MethodParams::SingleStage(params) => format!("lower --radius (now {}), {tuned}", params.radius()),
        MethodParams::Tsgd(_) | MethodParams::Fofs(_) | MethodParams::Sofs(_) => tuned,
        _ => format!("raise --l1 (now {}), {tuned}", recipe.l1().filter(|&l1| l1 > 0.0)?),
    };
    Some(format!("{} of {} have a weight: for fewer, {advice}", count(kept), features(seen)))
}

/// `sofs` counts where features occur and does not look at the labels: said if it had to choose.
fn blind_to_labels(model: &Model) -> Option<String> {
    let Provenance::Fit(recipe) = &model.recipe else { return None };
    let chooses = recipe.k.is_some_and(|k| (k as u64) < model.seen.features);
    let is_sofs = matches!(recipe.method, MethodParams::Sofs(_));
    (is_sofs && chooses).then(|| {
        "sofs keeps the features that occur most, whatever they say of the label: of columns that all rows have, it \
         picks any; --method tsgd and the default method look at the label"
            .to_string()
    })
}

/// Error and mean loss on rows that the model was not fitted to: those of `--validate`, or else the estimate of the
/// selected size.
fn heldout(model: &Model, measures: Option<&Measured>) -> (Option<f64>, Option<f64>) {
    match (measures, sizes::step(model)) {
        (Some((measures, _)), _) => {
            let loss = match model.loss.facts().metric {
                Some(EvalMetric::LogLoss) => measures.log_loss,
                Some(EvalMetric::SquaredError) => measures.rmse.map(|rmse| rmse * rmse),
                Some(EvalMetric::OwnLoss) => measures.loss,
                None => None,
            };
            (measures.error, loss)
        }
        (None, Some(step)) => (step.error, Some(step.loss)),
        (None, None) => {
            let score = model.kernel.as_ref().map(|kernel| kernel.score());
            (score.and_then(|score| score.error), score.map(|score| score.loss))
        }
    }
}

/// The task, the label's column and why.
fn task_line(fitted: &Fitted) -> String {
    let model = &fitted.model;
    let task = match model.classes().len() {
        0 => "regression".to_string(),
        count => format!("classification, {count} classes"),
    };
    let target = model.columns.as_ref().and_then(|columns| columns.target.as_ref());
    let of = target.map(|name| format!(" of {name:?}")).unwrap_or_default();
    let reason = fitted.reason.as_ref().map(|reason| format!(" ({})", worded(reason, flag))).unwrap_or_default();
    format!("task: {task}{of}{reason}")
}

fn as_json(args: &FitArgs, fitted: &Fitted, measures: Option<&Measured>, seconds: f64) -> Value {
    let Model { recipe, seen, loss, .. } = &fitted.model;
    let (error, mean_loss) = heldout(&fitted.model, measures);
    let mut value = json!({
        "model": args.run.out,
        "method": recipe.method_name(),
        "loss": loss.name(),
        "task": model::task_name(&fitted.model),
        "target": fitted.model.columns.as_ref().and_then(|columns| columns.target.as_ref()),
        "task_reason": fitted.reason.as_ref().map(|reason| worded(reason, flag)),
        "notes": fitted.notes.iter().map(|note| worded(note, flag)).collect::<Vec<_>>(),
        "n_examples": seen.rows,
        "n_features": seen.features,
        "nonzeros": fitted.model.nonzeros(),
        "passes": seen.passes,
        "skipped": seen.skipped,
        "seconds": seconds,
        "memory_bytes": fitted.memory,
        "peak_memory_bytes": peak_memory(),
        "heldout_error": error,
        "heldout_loss": mean_loss,
        "progressive_loss": seen.progressive_loss,
    });
    if let Some(error) = seen.progressive_error {
        value["progressive_error"] = json!(error);
    }
    if let Some(tests) = &fitted.model.tests {
        value["confirmed"] = sizes::confirmed_json(tests);
    }
    if let Some(kernel) = &fitted.model.kernel {
        value["kernel"] = kernel::as_json(kernel);
    }
    if let Some(sampling) = &fitted.model.sampling {
        value["sampling"] = json!(sampling);
    }
    if let Some((measures, report)) = measures {
        value["validation"] = classes::as_json(measures, report.as_ref());
    }
    value
}
