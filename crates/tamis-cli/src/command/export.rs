//! `tamis export`: writes a model for other programs.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use tamis::export::{Dialect, ExportOptions, LinearForm, Points, Scorecard, Target, export};
use tamis::model::Model;
use tamis_report::of_scorecard;

use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::output::{print_data, print_line};
use crate::output_file::{OutputFile, check_files, check_not_stdout};

#[derive(Args)]
pub struct ExportArgs {
    /// Model file
    pub model: PathBuf,
    /// What to write: a SQL query, a Python file that builds a scikit-learn pipeline, an ONNX graph, C functions, a Python file
    /// without dependencies, or a scorecard
    #[arg(long, value_name = "TARGET", value_parser = PossibleValuesParser::new(Target::ALL.map(Target::name)))]
    pub to: String,
    /// File to write; - for standard output. A scorecard is CSV, or a page if the name ends in .html
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub out: String,
    /// sql: the dialect; ansi is also for SQLite
    #[arg(long, value_name = "NAME", default_value = "ansi", value_parser = PossibleValuesParser::new(Dialect::ALL.map(Dialect::name)))]
    pub dialect: String,
    /// sql: for a table in long form, with the columns id, feature and value, where absent features are zero
    #[arg(long)]
    pub long: bool,
    /// sql: the table to read
    #[arg(long, value_name = "NAME", default_value = "data")]
    pub table: String,
    /// sql: the column that identifies a row, in long form
    #[arg(long, value_name = "COLUMN", default_value = "id")]
    pub id_column: String,
    /// scorecard: points that double the odds of the second class
    #[arg(long, value_name = "X", default_value_t = Points::default().double_odds, allow_hyphen_values = true)]
    pub double_odds: f64,
    /// scorecard: the points of the base odds
    #[arg(long, value_name = "X", default_value_t = Points::default().base_points, allow_hyphen_values = true)]
    pub base_points: f64,
    /// scorecard: odds of the second class that have the base points
    #[arg(long, value_name = "X", default_value_t = Points::default().base_odds, allow_hyphen_values = true)]
    pub base_odds: f64,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: ExportArgs) -> Result<(), CliError> {
    let model = Model::load(&args.model)?;
    let target = Target::of_name(&args.to).expect("clap checks the name");
    let out = PathBuf::from(&args.out);
    if target == Target::Onnx {
        check_not_stdout(&out)?;
    }
    if args.out == "-" && args.output.json {
        return Err(CliError::Message("--json needs an output file: standard output holds the export".into()));
    }
    check_files([&out], [args.model.as_path()])?;
    let options = options(&args);
    let failed = |error| CliError::of_file(args.model.display(), error);
    let bytes = match target {
        Target::Scorecard if args.out.ends_with(".html") => {
            let form = LinearForm::new(&model, target).map_err(failed)?;
            let card = Scorecard::new(&form, options.points).map_err(failed)?;
            of_scorecard(&card, &args.model.display().to_string()).html().into_bytes()
        }
        _ => export(&model, target, &options).map_err(failed)?,
    };
    let file = OutputFile::create(&args.out)?;
    file.file()?.write_all(&bytes)?;
    file.persist()?;
    if args.output.json {
        print_data!("{}", json!({"model": args.model, "to": args.to, "out": args.out, "bytes": bytes.len()}))?;
    } else if args.out != "-" && !args.output.quiet {
        print_line!("{}: {}", args.to, args.out)?;
    }
    Ok(())
}

fn options(args: &ExportArgs) -> ExportOptions {
    ExportOptions {
        dialect: Dialect::of_name(&args.dialect).expect("clap checks the name"),
        is_long: args.long,
        table: args.table.clone(),
        id: args.id_column.clone(),
        points: Points { double_odds: args.double_odds, base_points: args.base_points, base_odds: args.base_odds },
    }
}
