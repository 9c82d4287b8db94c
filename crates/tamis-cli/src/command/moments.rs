//! `tamis moments`: running averages of data, and sums and differences of them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tamis::moments::{CollectOptions, Column, Moments, MomentsError, Products, collect};
use tamis::param::worded;
use tamis::read::memory_of_this_machine;
use tamis::train::TaskKind;

use super::Failure;
use super::fit::{can_be_written, stop_on_signal};
use crate::args::{ReadingArgs, bytes_parser, flag, task_parser};
use crate::output::progress::Screen;
use crate::output::{print_line, table};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct MomentsArgs {
    #[command(subcommand)]
    pub command: Option<MomentsCommand>,
    /// Files, directories, patterns, or - for standard input
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Keep folds apart for cross-validation: row i (from 0) belongs to fold i mod N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub folds: Option<u32>,
    /// Forget: the newest row's share in the averages is at least A (about the last 1/A rows count)
    #[arg(long, value_name = "A")]
    pub forget: Option<f64>,
    /// Products of all pairs of features, squares too, as further columns
    #[arg(long)]
    pub interactions: bool,
    /// Products listed in a file, two names a line apart by a tab, as further columns
    #[arg(long, value_name = "FILE", conflicts_with = "interactions")]
    pub products: Option<PathBuf>,
    /// Keep only the N features most correlated with the target; reads the data twice
    #[arg(long, value_name = "N")]
    pub screen: Option<usize>,
    /// Keep only the features of other moments, so that the two can be merged
    #[arg(long, value_name = "FILE", conflicts_with = "screen")]
    pub features_of: Option<PathBuf>,
    /// Further columns to be predicted (with solve --target), not used as features
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub more_targets: Vec<String>,
    /// What the labels are: auto, binary, multiclass or regression
    #[arg(long, value_name = "TASK", default_value = "auto", value_parser = task_parser)]
    pub task: TaskKind,
    /// Memory the moments may take, e.g. 500M or 2G [default: half of the machine's]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Args)]
pub struct OutputArgs {
    /// Where the moments go
    #[arg(long, short, value_name = "FILE", default_value = "data.moments")]
    pub out: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing but the result
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Subcommand)]
pub enum MomentsCommand {
    /// Join the moments of different rows
    Merge(JoinArgs),
    /// Take the moments of some rows from those of all
    Subtract(JoinArgs),
    /// Show what moments hold
    Info(InfoArgs),
}

#[derive(Args)]
pub struct JoinArgs {
    /// Moments: the first, then those added to it or taken from it
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
pub struct InfoArgs {
    /// Moments
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print one line of JSON a file
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: MomentsArgs) -> Result<(), Failure> {
    match args.command {
        None => gather(args),
        Some(MomentsCommand::Merge(args)) => join(&args, Moments::merge),
        Some(MomentsCommand::Subtract(args)) => join(&args, Moments::subtract),
        Some(MomentsCommand::Info(args)) => {
            for file in &args.files {
                let moments = Moments::load(file)?;
                match args.json {
                    true => print_line!("{}", summary(&moments, file))?,
                    false => print_line!("{}: {}", file.display(), about(&moments))?,
                }
            }
            Ok(())
        }
    }
}

fn gather(args: MomentsArgs) -> Result<(), Failure> {
    let started = Instant::now();
    can_be_written(&args.output.out)?;
    let options = options(&args)?;
    let mut screen = Screen::new(args.output.quiet, &options.sources);
    let moments = collect(&options, &mut screen)?;
    screen.finish();
    moments.save(&args.output.out)?;
    tell(&args.output, &moments, started)
}

fn options(args: &MomentsArgs) -> Result<CollectOptions, Failure> {
    let products = match &args.products {
        Some(path) => {
            let failed =
                |error: &dyn std::fmt::Display| Failure::Text(format!("{}: {}", path.display(), worded(error, flag)));
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
        sources: args.reading.sources(&args.data)?,
        read: args.reading.options(true),
        task: args.task,
        targets: args.more_targets.clone(),
        folds: args.folds.unwrap_or(1) as usize,
        forget: args.forget.unwrap_or(0.0),
        products,
        screen: args.screen,
        only,
        memory: args.memory.unwrap_or_else(memory_of_this_machine),
        stop: stop_on_signal(),
    })
}

fn feature_names(moments: &Moments) -> Vec<String> {
    let name = |column: &Column| if let Column::Feature(name) = column { Some(name.clone()) } else { None };
    moments.columns.iter().filter_map(name).collect()
}

/// Merges or subtracts file by file, so that two are in memory at a time.
fn join(args: &JoinArgs, step: fn(&mut Moments, &Moments) -> Result<(), MomentsError>) -> Result<(), Failure> {
    let started = Instant::now();
    can_be_written(&args.output.out)?;
    let mut moments = Moments::load(&args.files[0])?;
    for file in &args.files[1..] {
        let other = Moments::load(file)?;
        let failed = |error| Failure::Text(format!("{}: {}", file.display(), worded(&error, flag)));
        step(&mut moments, &other).map_err(failed)?;
    }
    moments.save(&args.output.out)?;
    tell(&args.output, &moments, started)
}

fn tell(output: &OutputArgs, moments: &Moments, started: Instant) -> Result<(), Failure> {
    if output.json {
        let mut value = summary(moments, &output.out);
        value["seconds"] = json!(started.elapsed().as_secs_f64());
        print_line!("{value}")?;
    } else if !output.quiet {
        print_line!("{}; {:.2} s\nmoments: {}", about(moments), started.elapsed().as_secs_f64(), output.out.display())?;
    }
    Ok(())
}

/// Moments in a line.
fn about(moments: &Moments) -> String {
    let targets: Vec<String> = moments.columns.iter().filter(|c| !c.is_feature()).map(Column::name).collect();
    let kind = if moments.classes().is_empty() { "target" } else { "classes" };
    let shown = targets.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    let more = if targets.len() > 8 { ", …" } else { "" };
    let mut text = format!(
        "{} rows, {} features, {kind} {shown}{more}",
        table::count(moments.rows()),
        table::count(moments.features() as u64)
    );
    if moments.folds.len() > 1 {
        text += &format!(", {} folds", moments.folds.len());
    }
    if let Some(rate) = moments.forget {
        text += &format!(", forgets at {rate} (worth {:.0} rows)", moments.total().effective_rows());
    }
    if moments.screened {
        text += ", screened";
    }
    if moments.skipped > 0 {
        text += &format!(", {} bad lines left out", table::count(moments.skipped));
    }
    text
}

fn summary(moments: &Moments, file: &Path) -> Value {
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
        "forget": moments.forget,
        "screened": moments.screened,
        "skipped": moments.skipped,
    })
}
