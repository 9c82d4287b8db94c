//! The command line: one variant for each command, and the function that runs it.

use std::sync::LazyLock;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};

use crate::command::completions::CompletionsArgs;
use crate::command::convert::ConvertArgs;
use crate::command::demo::DemoArgs;
use crate::command::eval::EvalArgs;
use crate::command::export::ExportArgs;
use crate::command::fit::FitArgs;
use crate::command::inspect::InspectArgs;
use crate::command::man::ManArgs;
use crate::command::metric::MetricArgs;
use crate::command::moments::MomentsArgs;
use crate::command::predict::PredictArgs;
use crate::command::report::ReportArgs;
use crate::command::resize::ResizeArgs;
use crate::command::serve::ServeArgs;
use crate::command::solve::SolveArgs;
use crate::command::stability::StabilityArgs;
use crate::command::synth::SynthArgs;
use crate::command::tune::TuneArgs;
use crate::command::{
    completions, convert, demo, eval, export, fit, inspect, man, metric, moments, predict, report, resize, serve,
    solve, stability, synth, tune,
};
use crate::error::CliError;

/// Learn sparse models from streams of wide data
#[derive(Parser)]
#[command(name = "tamis", version, long_version = BUILD.as_str(), after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fit a sparse model
    Fit(Box<FitArgs>),
    /// Predict new rows
    Predict(PredictArgs),
    /// Evaluate a model on labelled data
    Eval(EvalArgs),
    /// Show the features of a model
    Inspect(InspectArgs),
    /// Write an HTML report
    Report(Box<ReportArgs>),
    /// Change the number of features of a fitted model
    Resize(ResizeArgs),
    /// Convert data to another format, or a model to CSV
    Convert(ConvertArgs),
    /// Write a model as SQL, scikit-learn, ONNX, C, Python or a scorecard
    Export(ExportArgs),
    /// Generate synthetic data with known coefficients
    Synth(SynthArgs),
    /// Compute co-moments of data in one pass; `solve` fits models to them
    Moments(Box<MomentsArgs>),
    /// Fit a sparse linear model to co-moments, without reading the data again
    Solve(Box<SolveArgs>),
    /// Learn a sparse metric for nearest-neighbour classification
    Metric(MetricArgs),
    /// Choose hyper-parameters by cross-validation, then fit a model with them
    Tune(Box<TuneArgs>),
    /// Fit repeatedly and measure how stable the selected features are
    Stability(Box<StabilityArgs>),
    /// Score rows over HTTP, and learn while serving
    Serve(Box<ServeArgs>),
    /// Run a demo on generated data
    Demo(DemoArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write manual pages
    Man(ManArgs),
}

/// What `--version` says. The same sources give the same text on every machine of a kind.
static BUILD: LazyLock<String> = LazyLock::new(|| {
    let (version, format) = (env!("CARGO_PKG_VERSION"), tamis::model::FORMAT_VERSION);
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{version}\nsystem: {system}, {processor}\nmodel files: format {format}\nlicence: MIT or Apache-2.0")
});

const EXIT_CODES: &str = "Exit codes: 0 success, 2 error, 130 interrupted (Ctrl-C)";

/// Words of other programs for our commands.
const OTHER_WORDS: [(&str, &str); 11] = [
    ("train", "fit"),
    ("learn", "fit"),
    ("test", "eval"),
    ("evaluate", "eval"),
    ("score", "eval"),
    ("show", "inspect"),
    ("info", "inspect"),
    ("apply", "predict"),
    ("cv", "tune"),
    ("search", "tune"),
    ("generate", "synth"),
];

/// The error of an unknown command, with the command that has another name elsewhere as the suggestion. Similar spelling
/// alone would suggest `metric` for `train`.
pub fn with_suggestion(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let ours = OTHER_WORDS.iter().find(|(theirs, _)| theirs == word).map(|(_, ours)| ours.to_string());
    if let Some(ours) = ours {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![ours]));
    }
    error
}

/// Runs the command.
pub fn run(cli: Cli) -> Result<(), CliError> {
    match cli.command {
        Command::Fit(args) => fit::run(*args),
        Command::Predict(args) => predict::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Report(args) => report::run(*args),
        Command::Resize(args) => resize::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Export(args) => export::run(args),
        Command::Synth(args) => synth::run(args),
        Command::Moments(args) => moments::run(*args),
        Command::Solve(args) => solve::run(*args),
        Command::Metric(args) => metric::run(args),
        Command::Tune(args) => tune::run(*args),
        Command::Stability(args) => stability::run(*args),
        Command::Serve(args) => serve::run(*args),
        Command::Demo(args) => demo::run(args),
        Command::Completions(args) => completions::run(args, Cli::command()),
        Command::Man(args) => man::run(args, Cli::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::recipe::Method;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_takes_json_and_quiet() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            let flags: Vec<&str> = command.get_arguments().filter_map(|arg| arg.get_long()).collect();
            let is_leaf = command.get_subcommands().all(|one| one.get_name() == "help");
            // These two print or write files, and nothing about them.
            let writes_files = [" completions", " man"].iter().any(|end| path.ends_with(end));
            if is_leaf && !path.contains(" metric ") && !writes_files {
                for flag in ["json", "quiet"] {
                    assert!(flags.contains(&flag), "{path} does not take --{flag}");
                }
            }
            command.get_subcommands().filter(|one| one.get_name() != "help").for_each(|one| check(one, &path));
        }
        check(&Cli::command(), "");
    }

    #[test]
    fn every_name_of_the_table_is_a_flag() {
        fn flags(command: &clap::Command) -> Vec<String> {
            let own = command.get_arguments().filter_map(|arg| arg.get_long().map(String::from));
            own.chain(command.get_subcommands().flat_map(flags)).collect()
        }
        let flags = flags(&Cli::command());
        for name in tamis::param::names::ALL {
            assert!(flags.iter().any(|flag| flag == name.flag), "{name:?}");
        }
    }

    #[test]
    fn flags_make_a_recipe() {
        let cli = Cli::parse_from("tamis fit a.svm --method fobos --l1 0.5 --l2 1e-3 --k 7 --no-shuffle".split(' '));
        let Command::Fit(fit) = cli.command else { panic!("fit") };
        let recipe = fit.recipe.recipe;
        assert_eq!((recipe.method.kind(), recipe.k, recipe.shuffle), (Method::Fobos, Some(7), Some(false)));
        assert_eq!((recipe.l1(), recipe.get("l2")), (Some(0.5), Some("0.001".into())));
        assert_eq!(fit.recipe.given, ["method", "k", "no-shuffle", "l1", "l2"]);
    }
}
