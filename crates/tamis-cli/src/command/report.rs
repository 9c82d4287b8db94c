//! `tamis report`: a model, moments or a checkpoint as one page to look at.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use tamis::data::replace_file;
use tamis::eval::{Densities, judge};
use tamis::model::Model;
use tamis::moments::Moments;
use tamis::read::{RowStream, Source};
use tamis::recipe::SolveRecipe;
use tamis::solve::{SolveError, SolveOptions, Solved, solve};
use tamis::train::Checkpoint;
use tamis_metric::{Metric, Share};
use tamis_report::{MetricContext, Report, ReportContext, of_metric, of_model, of_periods};

use super::fit::can_be_written;
use super::{Failure, open_for, warn_of_skipped};
use crate::args::ReadingArgs;
use crate::output::{print_line, table};

#[derive(Args)]
pub struct ReportArgs {
    /// A model, moments, a metric or a checkpoint; several moments, in their order, show what changed over time
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Labelled data to judge the model on: error with interval, ROC, calibration
    #[arg(long, value_name = "DATA")]
    pub data: Vec<String>,
    /// Where the page goes
    #[arg(long, short, value_name = "HTML", default_value = "report.html")]
    pub out: PathBuf,
    /// Features are the pixels of images so many pixels wide: show them on the image
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub image_width: Option<u16>,
    /// Features of each model over time [default: as many as BIC chooses for the last moments]
    #[arg(long, value_name = "N")]
    pub k: Option<usize>,
    /// Say nothing
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

pub fn run(args: ReportArgs) -> Result<(), Failure> {
    can_be_written(&args.out)?;
    let report = match &args.files[..] {
        [file] => match Kind::of(file)? {
            Kind::Model => of_one(&args, file, &Model::load(file)?, &ReportContext::default())?,
            Kind::Moments => moments(&args, file)?,
            Kind::Metric => metric(&args, file)?,
            Kind::Checkpoint => checkpoint(&args, file)?,
        },
        several => periods(&args, several)?,
    };
    write(&args.out, &report, args.quiet)
}

/// Writes a page, and says where.
pub fn write(path: &Path, report: &Report, quiet: bool) -> Result<(), Failure> {
    let page = report.html();
    let failed = |error| Failure::Text(format!("{}: cannot be written: {error}", path.display()));
    replace_file(path, page.as_bytes()).map_err(failed)?;
    if !quiet {
        print_line!("report: {} ({})", path.display(), table::bytes(page.len() as u64))?;
    }
    Ok(())
}

/// What a file is.
enum Kind {
    Model,
    Moments,
    Metric,
    Checkpoint,
}

impl Kind {
    /// Looks at the first bytes: a model is text, the others say what they are in their header.
    fn of(path: &Path) -> Result<Kind, Failure> {
        let failed = |error| Failure::Text(format!("{}: {error}", path.display()));
        let mut head = Vec::new();
        File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut head)).map_err(failed)?;
        let holds = |text: &str| head.windows(text.len()).any(|window| window == text.as_bytes());
        Ok(match head.first() {
            Some(b'{') => Kind::Model,
            _ if holds("\"tamis-moments\"") => Kind::Moments,
            _ if holds("\"tamis-metric\"") => Kind::Metric,
            _ if holds("\"__metadata__\"") => Kind::Checkpoint,
            _ => {
                let text = "neither a model (.json), nor moments, a metric or a checkpoint of tamis; to learn from data, use `tamis fit`";
                return Err(Failure::Text(format!("{}: {text}", path.display())));
            }
        })
    }
}

/// The report of a model, judged on data if there is any.
fn of_one(args: &ReportArgs, file: &Path, model: &Model, context: &ReportContext<'_>) -> Result<Report, Failure> {
    let names = args.data.join(" ");
    let found = match args.data.is_empty() {
        true => None,
        false => {
            let mut stream = open_for(model, args.reading.sources(&args.data)?, args.reading.options(true));
            let found = judge(model, &mut stream)?;
            warn_of_skipped(stream.skipped(), stream.first_skipped());
            Some(found)
        }
    };
    let (file, flags) = (file.display().to_string(), args.reading.typed());
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

/// Moments: the model that `solve` makes of them by default, on its path.
fn moments(args: &ReportArgs, file: &Path) -> Result<Report, Failure> {
    let moments = Moments::load(file)?;
    let recipe = SolveRecipe { k: args.k, target: args.reading.target.clone(), ..SolveRecipe::default() };
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
    SolveOptions { path: true, threads: args.reading.threads.unwrap_or(0) }
}

/// A checkpoint: where the training stands.
fn checkpoint(args: &ReportArgs, file: &Path) -> Result<Report, Failure> {
    let saved = Checkpoint::load(file)?;
    let (rows, complete) = (saved.rows(), saved.is_complete());
    let Some(model) = saved.model()? else {
        let what = match complete {
            true => "the training is over, and what it found is in the model: report that file",
            false => "the first rung is not finished: there is nothing to show yet",
        };
        return Err(Failure::Text(format!("{}: {what}", file.display())));
    };
    let context = ReportContext { unfinished: (!complete).then_some(rows), ..ReportContext::default() };
    of_one(args, file, &model, &context)
}

fn metric(args: &ReportArgs, file: &Path) -> Result<Report, Failure> {
    if !args.data.is_empty() {
        let text = "--data: a metric is measured with `tamis metric eval`; its report needs no data";
        return Err(Failure::Text(text.into()));
    }
    let (name, flags) = (file.display().to_string(), args.reading.typed());
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
fn periods(args: &ReportArgs, files: &[PathBuf]) -> Result<Report, Failure> {
    if !args.data.is_empty() {
        return Err(Failure::Text("--data: name one model to judge it; several moments are compared over time".into()));
    }
    let recipe = |k: Option<usize>| SolveRecipe { k, target: args.reading.target.clone(), ..SolveRecipe::default() };
    let load = |file: &PathBuf| match Kind::of(file)? {
        Kind::Moments => Ok(Moments::load(file)?),
        _ => Err(Failure::Text(format!(
            "{}: several files must all be moments; report models one by one",
            file.display()
        ))),
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
            // A quiet period may have fewer features that vary.
            Err(SolveError::TooMany { usable, .. }) => solve(&period, &recipe(Some(usable.max(1))), options)?,
            other => other?,
        };
        models.push(solved.model);
    }
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Ok(of_periods(&names, &models, k))
}

/// How often features occur in the data a model was learned from; nothing for data that cannot be read again.
pub fn densities(model: &Model, sources: &[Source], reading: &ReadingArgs) -> Result<Option<Densities>, Failure> {
    if sources.iter().any(|source| source.path.is_none()) {
        return Ok(None);
    }
    let mut stream: RowStream = open_for(model, sources.to_vec(), reading.options(true));
    Ok(Some(Densities::of(&mut stream)?))
}
