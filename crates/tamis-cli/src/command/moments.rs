//! `tamis moments`: computes co-moments of data, merges and subtracts them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tamis::data::TaskKind;
use tamis::io::memory_of_this_machine;
use tamis::moments::{CollectOptions, Column, Moments, MomentsError, Products, collect};
use tamis::parse::survey::ColumnNote;

use crate::args::byte_size::bytes_parser;
use crate::args::input::InputArgs;
use crate::args::output::OutputArgs;
use crate::args::training::task_parser;
use crate::error::CliError;
use crate::output::format::{count, features, rows};
use crate::output::progress::ProgressDisplay;
use crate::output::{notes_json, print_data, print_line, show_notes};
use crate::output_file::{check_files, check_not_stdout, paths};
use crate::signals::stop_on_signal;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct MomentsArgs {
    #[command(subcommand)]
    pub command: Option<MomentsCommand>,
    /// Files, directories or glob patterns; - for standard input
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    /// Number of cross-validation folds; each row belongs to one of them by a hash of its number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub folds: Option<u32>,
    /// Exponential decay: weight of the newest row, so that about the last 1/A rows count
    #[arg(long, value_name = "A")]
    pub decay: Option<f64>,
    /// Add the products of all pairs of features, squares included
    #[arg(long)]
    pub interactions: bool,
    /// File with interactions to add, one tab-separated pair per line
    #[arg(long, value_name = "FILE", conflicts_with = "interactions")]
    pub products: Option<PathBuf>,
    /// Keep the N features most correlated with the target; reads the data twice
    #[arg(long, value_name = "N")]
    pub screen: Option<usize>,
    /// Keep the features of another moments file, so that the two can be merged
    #[arg(long, value_name = "FILE", conflicts_with = "screen")]
    pub features_of: Option<PathBuf>,
    /// Further target columns, not used as features; choose one with solve --target
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub more_targets: Vec<String>,
    /// Type of the target: auto, binary, multiclass or regression
    #[arg(long, value_name = "TASK", default_value = "auto", value_parser = task_parser)]
    pub task: TaskKind,
    /// Memory limit of the moments, e.g. 500M or 2G [default: half of the machine's memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub input: InputArgs,
}

#[derive(Args)]
pub struct FileArgs {
    /// Moments file to write
    #[arg(long, short, value_name = "FILE", default_value = "data.moments")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Subcommand)]
pub enum MomentsCommand {
    /// Merge the moments of different rows
    Merge(MergeArgs),
    /// Subtract the moments of some rows from those of all rows
    Subtract(CombineArgs),
    /// Show the contents of moments files
    Info(InfoArgs),
}

#[derive(Args)]
pub struct CombineArgs {
    /// Moments files: the first one, then those to add or to subtract
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub file: FileArgs,
}

#[derive(Args)]
pub struct MergeArgs {
    /// Merge rows that are in the moments already, so that they count twice
    #[arg(long)]
    pub again: bool,
    #[command(flatten)]
    pub files: CombineArgs,
}

#[derive(Args)]
pub struct InfoArgs {
    /// Moments files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: MomentsArgs) -> Result<(), CliError> {
    match args.command {
        None => compute(&args),
        Some(MomentsCommand::Merge(args)) => combine(&args.files, |whole, part| whole.merge(part, args.again)),
        Some(MomentsCommand::Subtract(args)) => combine(&args, Moments::subtract),
        Some(MomentsCommand::Info(args)) => info(&args),
    }
}

fn info(args: &InfoArgs) -> Result<(), CliError> {
    for file in &args.files {
        let moments = Moments::load(file)?;
        if args.output.json {
            print_data!("{}", as_json(&moments, file))?;
        } else {
            print_line!("{}: {}", file.display(), summary(&moments))?;
        }
    }
    Ok(())
}

fn compute(args: &MomentsArgs) -> Result<(), CliError> {
    let started = Instant::now();
    let options = options(args)?;
    let others = [&args.products, &args.features_of].into_iter().flatten().map(PathBuf::as_path);
    check_not_stdout(&args.file.out)?;
    let others = others.chain(args.input.labels.as_deref());
    check_files([&args.file.out], paths(&options.sources).chain(others))?;
    let mut progress = ProgressDisplay::of_rows(args.file.output.quiet, &options.sources);
    let moments = collect(&options, &mut progress)?;
    progress.finish();
    if !args.file.output.quiet {
        show_notes(&progress.notes);
    }
    save(&args.file, &moments, &progress.notes, started)
}

fn options(args: &MomentsArgs) -> Result<CollectOptions, CliError> {
    let products = match &args.products {
        Some(path) => {
            let failed = |error: &dyn std::fmt::Display| CliError::of_file(path.display(), error);
            let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
            Products::parse(&text).map_err(|error| failed(&error))?
        }
        None if args.interactions => Products::All,
        None => Products::None,
    };
    let only = match &args.features_of {
        Some(path) => Some(feature_names(&Moments::load(path)?)),
        None => None,
    };
    Ok(CollectOptions {
        sources: args.input.sources(&args.data)?,
        read: args.input.options(true),
        task: args.task,
        targets: args.more_targets.clone(),
        folds: args.folds.unwrap_or(1) as usize,
        decay: args.decay.unwrap_or(0.0),
        products,
        screen: args.screen,
        only,
        memory: args.memory.unwrap_or_else(memory_of_this_machine),
        stop: stop_on_signal(),
        ..CollectOptions::default()
    })
}

fn feature_names(moments: &Moments) -> Vec<String> {
    let name = |column: &Column| if let Column::Feature(name) = column { Some(name.clone()) } else { None };
    moments.columns.iter().filter_map(name).collect()
}

/// Merges or subtracts file by file, so that two are in memory at a time.
fn combine(
    args: &CombineArgs,
    step: impl Fn(&mut Moments, &Moments) -> Result<(), MomentsError>,
) -> Result<(), CliError> {
    let started = Instant::now();
    // The first file may be replaced by the result: so statistics grow day by day.
    check_not_stdout(&args.file.out)?;
    check_files([&args.file.out], args.files[1..].iter().map(PathBuf::as_path))?;
    let mut moments = Moments::load(&args.files[0])?;
    for file in &args.files[1..] {
        let other = Moments::load(file)?;
        step(&mut moments, &other).map_err(|error| CliError::of_file(file.display(), error))?;
    }
    save(&args.file, &moments, &[], started)
}

fn save(file: &FileArgs, moments: &Moments, notes: &[ColumnNote], started: Instant) -> Result<(), CliError> {
    moments.save(&file.out)?;
    let seconds = started.elapsed().as_secs_f64();
    if file.output.json {
        let mut value = as_json(moments, &file.out);
        value["notes"] = json!(notes_json(notes));
        value["seconds"] = json!(seconds);
        print_data!("{value}")?;
    } else if !file.output.quiet {
        print_line!("{}; {seconds:.2} s\nmoments: {}", summary(moments), file.out.display())?;
    }
    Ok(())
}

/// Moments in a line.
fn summary(moments: &Moments) -> String {
    let targets: Vec<String> = moments.columns.iter().filter(|c| !c.is_feature()).map(Column::name).collect();
    let kind = if moments.classes().is_empty() { "target" } else { "classes" };
    let shown = targets.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    let more = if targets.len() > 8 { ", …" } else { "" };
    let mut text = format!("{}, {}, {kind} {shown}{more}", rows(moments.rows()), features(moments.features() as u64));
    if moments.folds.len() > 1 {
        text += &format!(", {} folds", moments.folds.len());
    }
    if let Some(rate) = moments.decay {
        text += &format!(", decay {rate} ({:.0} effective rows)", moments.total().effective_rows());
    }
    if moments.screened {
        text += ", screened";
    }
    if moments.skipped > 0 {
        text += &format!(", {} malformed lines skipped", count(moments.skipped));
    }
    text
}

fn as_json(moments: &Moments, file: &Path) -> Value {
    let total = moments.total();
    let targets: Vec<String> = moments.columns.iter().filter(|c| !c.is_feature()).map(Column::name).collect();
    json!({
        "moments": file,
        "n_examples": moments.rows(),
        "weight": total.weight,
        "effective_rows": total.effective_rows(),
        "n_features": moments.features(),
        "targets": targets,
        "task": if moments.classes().is_empty() { "regression" } else { "classes" },
        "folds": moments.folds.len(),
        "decay": moments.decay,
        "screened": moments.screened,
        "skipped": moments.skipped,
    })
}
