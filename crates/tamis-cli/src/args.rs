//! What can be typed. Numbers of a recipe come from the library's table, so help and checks cannot drift apart.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Parser, Subcommand};
use tamis::data::ScaleKind;
use tamis::learn::stabilized::paper::Settings;
use tamis::loss::LossKind;
use tamis::parse::Missing;
use tamis::parse::columns::ColumnOptions;
use tamis::read::{Format, ReadOptions, Source, expand};
use tamis::recipe::{Law, Method, PARAMETERS, RateKind, Recipe};
use tamis::report::shell;
use tamis::train::TaskKind;

use crate::command::Failure;
use crate::command::metric::MetricArgs;
use crate::command::moments::MomentsArgs;
use crate::command::recut::RecutArgs;
use crate::command::report::ReportArgs;
use crate::command::reproduce::ReproduceArgs;
use crate::command::solve::SolveArgs;
use crate::command::stability::StabilityArgs;
use crate::command::tune::TuneArgs;

/// Press a stream of wide data through a sieve; keep the few features that matter.
#[derive(Parser)]
#[command(name = "tamis", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Commands,
}

#[derive(Subcommand)]
pub enum Commands {
    /// Learn a sparse model from a stream
    Fit(Box<FitArgs>),
    /// Predict each row of new data, one line a row
    Predict(PredictArgs),
    /// Measure a model on labelled data
    Eval(EvalArgs),
    /// Show what a model uses
    Inspect(InspectArgs),
    /// A page to look at: which features, how sure, what if fewer
    Report(Box<ReportArgs>),
    /// Another number of features from the same training, without the data
    Recut(RecutArgs),
    /// Write data in another format, or a model as a table
    Convert(ConvertArgs),
    /// Make data whose truth is known
    Synth(SynthArgs),
    /// Running averages of data: one pass, then models of any sparsity with solve
    Moments(Box<MomentsArgs>),
    /// Make a sparse model of running averages, without the data
    Solve(Box<SolveArgs>),
    /// Distances that suit the classes: a sparse, nonlinear metric and nearest neighbours under it
    Metric(MetricArgs),
    /// Choose settings by cross-validation, then learn with them; any number or name of the recipe may be a list
    Tune(Box<TuneArgs>),
    /// Learn many times: how much do the selected features agree?
    Stability(Box<StabilityArgs>),
    /// Run a paper's experiments and put its numbers beside ours
    Reproduce(ReproduceArgs),
    /// See it work: a million features, a few that matter
    Demo(DemoArgs),
}

/// How data is read.
#[derive(Args, Clone, Default)]
pub struct DataArgs {
    /// Files, directories, patterns, or - for standard input
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// How data is read, apart from which.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Reading")]
pub struct ReadingArgs {
    /// svm, vw, csv, tsv, jsonl, parquet, arrow or npz [default: by the file's name]
    #[arg(long, value_parser = format_parser)]
    pub format: Option<Format>,
    /// The label's column of a table [default: y, label, target or class]
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// The importance weight's column of a table
    #[arg(long, value_name = "COLUMN")]
    pub weight_column: Option<String>,
    /// Columns not to be used
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Columns that hold categories though they look like numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,
    /// What a missing value is: error, zero or skip-row
    #[arg(long, value_name = "WHAT", default_value = "error", value_parser = missing_parser)]
    pub missing: Missing,
    /// What to do about a bad line: stop, or skip and count
    #[arg(long, value_name = "WHAT", default_value = "stop", value_parser = ["stop", "skip"])]
    pub on_error: String,
    /// svmlight indices start at 0
    #[arg(long)]
    pub zero_based: bool,
    /// Threads [default: all]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads_parser)]
    pub threads: Option<usize>,
}

/// A number of threads that a machine can be asked for.
pub fn threads_parser(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|threads| *threads <= 1024).ok_or_else(|| "a whole number of at most 1024".into())
}

fn format_parser(text: &str) -> Result<Format, String> {
    Format::from_name(text).ok_or_else(|| "one of svm, vw, csv, tsv, jsonl, parquet, arrow, npz".into())
}

fn missing_parser(text: &str) -> Result<Missing, String> {
    match text {
        "error" => Ok(Missing::Error),
        "zero" => Ok(Missing::Zero),
        "skip-row" => Ok(Missing::SkipRow),
        _ => Err("one of error, zero, skip-row".into()),
    }
}

impl ReadingArgs {
    /// The threads to use.
    pub fn threads(&self) -> usize {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or(all).max(1)
    }

    /// What the library needs to know.
    pub fn options(&self, needs_target: bool) -> ReadOptions {
        ReadOptions {
            columns: ColumnOptions {
                target: self.target.clone(),
                weight: self.weight_column.clone(),
                ignore: self.ignore.clone(),
                categorical: self.categorical.clone(),
                known: None,
                needs_target,
                missing: self.missing,
            },
            zero_based: self.zero_based,
            skip_bad: self.on_error == "skip",
            threads: self.threads(),
            rows: Vec::new(),
        }
    }

    /// The flags as they would be typed again, each with a blank before it.
    pub fn typed(&self) -> String {
        let list = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
        let missing = match self.missing {
            Missing::Error => None,
            Missing::Zero => Some("zero".to_string()),
            Missing::SkipRow => Some("skip-row".to_string()),
        };
        let flags = [
            ("--format", self.format.map(|format| format.name().to_string())),
            ("--target", self.target.clone()),
            ("--weight-column", self.weight_column.clone()),
            ("--ignore", list(&self.ignore)),
            ("--categorical", list(&self.categorical)),
            ("--missing", missing),
            ("--on-error", (self.on_error == "skip").then(|| "skip".to_string())),
        ];
        let given = flags.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", shell(&value?))));
        given.chain(self.zero_based.then(|| " --zero-based".to_string())).collect()
    }

    /// The files meant.
    pub fn sources(&self, data: &[String]) -> Result<Vec<Source>, Failure> {
        Ok(expand(data, self.format)?)
    }
}

#[derive(Args)]
pub struct FitArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub running: RunningArgs,
}

/// Everything about the run that does not change the model.
#[derive(Args)]
#[command(next_help_heading = "Running")]
pub struct RunningArgs {
    /// Where the model goes
    #[arg(long, short, value_name = "MODEL", default_value = "model.json")]
    pub out: PathBuf,
    /// Labelled data to measure the model on at the end
    #[arg(long, value_name = "FILE")]
    pub validate: Option<String>,
    /// Write a page to look at: features, how sure, what if fewer, and how good with --validate
    #[arg(long, value_name = "HTML")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub holding: HoldingArgs,
    /// Where rows go when memory is full [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub cache_dir: Option<PathBuf>,
    /// Save the state to this file, at the end, on Ctrl-C, and every N rows with --every
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Rows between two saves
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Go on from a checkpoint: same data if it was interrupted, new data if it was finished
    #[arg(long, value_name = "CHECKPOINT")]
    pub resume: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing but the result
    #[arg(long, short)]
    pub quiet: bool,
}

/// What every command that learns asks about the rows.
#[derive(Args)]
pub struct HoldingArgs {
    /// What the labels are: auto, binary, multiclass or regression
    #[arg(long, value_name = "TASK", default_value = "auto", value_parser = task_parser)]
    pub task: TaskKind,
    /// Memory for rows between passes, e.g. 500M or 2G [default: half of the machine's]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub memory: Option<u64>,
}

pub fn task_parser(text: &str) -> Result<TaskKind, String> {
    let found = TaskKind::ALL.into_iter().find(|task| task.name() == text);
    found.ok_or_else(|| format!("one of {}", TaskKind::ALL.map(TaskKind::name).join(", ")))
}

/// A count of bytes: a number, with K, M, G or T behind it.
pub fn bytes_parser(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't', 'B', 'b', 'i']);
    let shift = match text[digits.len()..].chars().next().map(|unit| unit.to_ascii_uppercase()) {
        None | Some('B') => 0,
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        _ => 40,
    };
    let number: f64 = digits.parse().map_err(|_| "a number of bytes like 500M or 2G".to_string())?;
    if !(0.0..1e15).contains(&number) {
        return Err("a number of bytes like 500M or 2G".into());
    }
    Ok((number * f64::from(2).powi(shift)) as u64)
}

/// The recipe, made of flags.
pub struct RecipeArgs {
    pub recipe: Recipe,
    /// Flags that were given, for resuming: they may not contradict the checkpoint.
    pub given: Vec<&'static str>,
}

/// A choice by name: flag, names, help.
fn choice(flag: &'static str, names: Vec<&'static str>, help: String) -> Arg {
    Arg::new(flag).long(flag).value_name("NAME").value_parser(names).help(help)
}

impl Args for RecipeArgs {
    fn augment_args(command: Command) -> Command {
        let methods: Vec<String> = Method::ALL.iter().map(|m| format!("  {:<19} {}", m.name(), m.about())).collect();
        let command = command
            .next_help_heading("Learning")
            .arg(
                choice("method", Method::ALL.map(Method::name).into(), "How to learn [default: stabilized]".into())
                    .long_help(format!("How to learn [default: stabilized]\n{}", methods.join("\n")))
                    .hide_possible_values(true),
            )
            .arg(choice(
                "loss",
                LossKind::ALL.map(LossKind::name).into(),
                "The loss [default: logistic for classes, squared for numbers]".into(),
            ))
            .arg(
                Arg::new("k")
                    .long("k")
                    .value_name("N")
                    .value_parser(clap::value_parser!(u64))
                    .help("Exactly this many features (with --refit their weights are learned alone)"),
            )
            .arg(choice(
                "rate",
                RateKind::ALL.map(RateKind::name).into(),
                "How step sizes fall [default: the method's own]".into(),
            ))
            .arg(choice(
                "scale",
                ScaleKind::ALL.map(ScaleKind::name).into(),
                "How columns are scaled; the model takes raw values all the same [default: auto]".into(),
            ))
            .arg(choice(
                "law",
                Law::ALL.map(Law::name).into(),
                "How two-stage draws features: by their part in predictions or by weight [default: distribution]"
                    .into(),
            ))
            .arg(
                Arg::new("key")
                    .long("key")
                    .value_name("COLUMN")
                    .help("Column that tells rows apart, or #row for the row's number [default: a row's content]"),
            )
            .arg(choice(
                "preset",
                vec!["paper"],
                "paper: the stabilized learner as it was published, to check the paper, not to get a model".into(),
            ))
            .arg(
                Arg::new("paper")
                    .long("paper")
                    .value_name("NAME=VALUE")
                    .requires("preset")
                    .action(clap::ArgAction::Append)
                    .value_delimiter(',')
                    .help("A number or switch of --preset paper, such as burst=5, cutoff=0.7, count=present"),
            )
            .arg(flag("refit", "Learn the chosen features again without penalty"))
            .arg(flag("average", "Average the weights over all steps"))
            .arg(flag("no-intercept", "Leave the intercept out"))
            .arg(
                Arg::new("passes")
                    .long("passes")
                    .value_name("N")
                    .value_parser(clap::value_parser!(u32))
                    .help("Passes over the data [default: 1, more for small data]"),
            )
            .arg(flag("shuffle", "Visit rows in random order [default for several passes, and for two-stage]"))
            .arg(flag("no-shuffle", "Visit rows in the order of the input").conflicts_with("shuffle"))
            .arg(
                Arg::new("seed")
                    .long("seed")
                    .value_name("N")
                    .value_parser(clap::value_parser!(u64))
                    .help("Seed of all randomness [default: 0]"),
            )
            .arg(
                Arg::new("hash-bits")
                    .long("hash-bits")
                    .value_name("BITS")
                    .value_parser(clap::value_parser!(u32))
                    .help("Hash names into 2^BITS features to bound memory"),
            );
        PARAMETERS.iter().fold(command.next_help_heading("Numbers"), |command, parameter| {
            let default = if parameter.default.is_nan() { "by method".into() } else { parameter.default.to_string() };
            let help = format!("{} [default: {default}]", parameter.help);
            command.arg(
                Arg::new(parameter.name)
                    .long(parameter.name)
                    .value_name("X")
                    .value_parser(clap::value_parser!(f64))
                    .allow_hyphen_values(true)
                    .help(help),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(clap::ArgAction::SetTrue).help(help)
}

/// The numbers of `--preset paper`: its defaults with what `--paper` says put in.
fn paper_settings(matches: &ArgMatches) -> Result<Option<Settings>, clap::Error> {
    if matches.get_one::<String>("preset").is_none() {
        return Ok(None);
    }
    let wrong = |text: String| clap::Error::raw(clap::error::ErrorKind::ValueValidation, text + "\n");
    let mut fields = serde_json::to_value(Settings::default()).expect("plain data becomes JSON");
    for word in matches.get_many::<String>("paper").into_iter().flatten() {
        let (name, text) =
            word.split_once('=').ok_or_else(|| wrong(format!("--paper {word}: NAME=VALUE is expected")))?;
        let known: Vec<String> = fields.as_object().expect("fields").keys().cloned().collect();
        if !known.iter().any(|one| one == name) {
            return Err(wrong(format!("--paper {name}: no such number; there are {}", known.join(", "))));
        }
        fields[name] = serde_json::from_str(text).unwrap_or_else(|_| text.into());
    }
    let settings = serde_json::from_value(fields).map_err(|error| wrong(format!("--paper: {error}")))?;
    Ok(Some(settings))
}

impl FromArgMatches for RecipeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Vec::new();
        let mut recipe = Recipe::default();
        let mut name = |flag: &'static str| {
            let found = matches.get_one::<String>(flag).cloned();
            given.extend(found.is_some().then_some(flag));
            found
        };
        if let Some(text) = name("method") {
            recipe.method = Method::ALL.into_iter().find(|method| method.name() == text).expect("clap checked");
        }
        recipe.loss = name("loss").and_then(|text| LossKind::ALL.into_iter().find(|loss| loss.name() == text));
        recipe.rate = name("rate").and_then(|text| RateKind::ALL.into_iter().find(|rate| rate.name() == text));
        recipe.law = name("law").and_then(|text| Law::ALL.into_iter().find(|law| law.name() == text));
        if let Some(text) = name("scale") {
            recipe.scale = ScaleKind::ALL.into_iter().find(|scale| scale.name() == text).expect("clap checked");
        }
        if let Some(&k) = matches.get_one::<u64>("k") {
            recipe.k = Some(k as usize);
            given.push("k");
        }
        if let Some(&passes) = matches.get_one::<u32>("passes") {
            recipe.passes = Some(passes);
            given.push("passes");
        }
        if let Some(&seed) = matches.get_one::<u64>("seed") {
            recipe.seed = seed;
            given.push("seed");
        }
        if let Some(&bits) = matches.get_one::<u32>("hash-bits") {
            recipe.hash_bits = Some(bits);
            given.push("hash-bits");
        }
        recipe.key = matches.get_one::<String>("key").cloned();
        given.extend(recipe.key.is_some().then_some("key"));
        if let Some(settings) = paper_settings(matches)? {
            recipe.paper = Some(settings);
            given.push("preset");
        }
        let mut on = |flag: &'static str| {
            let on = matches.get_flag(flag);
            given.extend(on.then_some(flag));
            on
        };
        recipe.refit = on("refit");
        recipe.average = on("average");
        recipe.intercept = !on("no-intercept");
        recipe.shuffle = match (on("shuffle"), on("no-shuffle")) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        for parameter in &PARAMETERS {
            if let Some(&value) = matches.get_one::<f64>(parameter.name) {
                recipe.numbers.insert(parameter.name.to_string(), value);
                given.push(parameter.name);
            }
        }
        Ok(RecipeArgs { recipe, given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[derive(Args)]
pub struct PredictArgs {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// What to print: label (or number), probability, margin, or all
    #[arg(long, default_value = "label", value_parser = ["label", "probability", "margin", "all"])]
    pub output: String,
}

#[derive(Args)]
pub struct EvalArgs {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct InspectArgs {
    /// The model
    pub model: PathBuf,
    /// Show this many features, 0 for all
    #[arg(long, default_value_t = 20)]
    pub top: usize,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the features as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

#[derive(Args)]
pub struct ConvertArgs {
    /// Data, or a model (.json)
    pub input: String,
    /// Where to; the name tells the format, - with --to is standard output
    pub output: String,
    /// The format to write [default: by the name of OUTPUT]
    #[arg(long, value_parser = format_parser)]
    pub to: Option<Format>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Args)]
pub struct SynthArgs {
    /// zipf, text-regression, correlated, drift, double-ring or xor
    pub kind: String,
    /// Files to make: PREFIX.svm, PREFIX.truth.json, and PREFIX.test.svm with --test-rows
    #[arg(long, short, value_name = "PREFIX")]
    pub out: String,
    /// Rows
    #[arg(long)]
    pub n: Option<usize>,
    /// Features
    #[arg(long)]
    pub p: Option<usize>,
    /// Features that matter
    #[arg(long)]
    pub k: Option<usize>,
    /// Seed
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Rows for testing, made after the others
    #[arg(long, default_value_t = 0)]
    pub test_rows: usize,
    /// Two classes instead of numbers (correlated, drift)
    #[arg(long)]
    pub classes: bool,
    /// Strength of the planted features
    #[arg(long)]
    pub signal: Option<f64>,
    /// Noise (see the truth file)
    #[arg(long)]
    pub noise: Option<f64>,
    /// Mean non-zeros of a row (zipf)
    #[arg(long)]
    pub nonzeros: Option<usize>,
}

#[derive(Args)]
pub struct DemoArgs {
    /// Rows of the stream
    #[arg(long, default_value_t = 300_000)]
    pub n: usize,
    /// Where the report goes
    #[arg(long, value_name = "HTML", default_value = "report.html")]
    pub report: PathBuf,
    /// Keep the data and the model in this folder [default: a temporary one]
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn flags_make_a_recipe() {
        let arguments = Arguments::parse_from(
            "tamis fit a.svm --method fobos --penalty 0.5 --l2 1e-3 --k 7 --no-shuffle".split(' '),
        );
        let Commands::Fit(fit) = arguments.command else { panic!("fit") };
        let recipe = fit.recipe.recipe;
        assert_eq!((recipe.method, recipe.k, recipe.shuffle), (Method::Fobos, Some(7), Some(false)));
        assert_eq!((recipe.number("penalty"), recipe.number("l2")), (0.5, 1e-3));
        assert_eq!(fit.recipe.given, ["method", "k", "no-shuffle", "penalty", "l2"]);
    }

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes_parser("500M"), Ok(500 << 20));
        assert_eq!(bytes_parser("1.5GiB"), Ok(3 << 29));
        assert_eq!(bytes_parser("77"), Ok(77));
        assert!(bytes_parser("much").is_err() && bytes_parser("-1G").is_err());
    }
}
