//! `tamis demo`: fits a model to generated data and compares its features with the true ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use tamis::eval::evaluate;
use tamis::io::{RowStream, expand, memory_of_this_machine};
use tamis::model::{DEFAULT_FDR, Model};
use tamis::recipe::Recipe;
use tamis::synth::{Kind, Plan, Truth, generate};
use tamis::train::{FitOptions, fit};
use tamis_report::{ReportContext, of_model};

use super::synth::write_files;
use crate::args::input::InputArgs;
use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::output::format::{bytes, count, percent};
use crate::output::progress::ProgressDisplay;
use crate::output::{model, print_data, print_line};
use crate::output_file::check_files;
use crate::report_file::write_report;
use crate::signals::stop_on_signal;
use crate::temporary_folder::TemporaryFolder;

const TEST_ROWS: usize = 20_000;

#[derive(Args)]
pub struct DemoArgs {
    /// Number of training rows
    #[arg(long, default_value_t = 300_000)]
    pub n: usize,
    /// HTML report to write
    #[arg(long, value_name = "HTML", default_value = "report.html")]
    pub report: PathBuf,
    /// Keep data and model in this folder [default: a temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: DemoArgs) -> Result<(), CliError> {
    let temporary = TemporaryFolder::new()?;
    let folder = args.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder)?;
    check_files([&args.report], [])?;
    let (prefix, truth) = generate_data(&args, folder)?;
    let model = learn(&args, &prefix, folder)?;
    let comparison = Comparison::new(&truth, &model);
    let input = InputArgs::default();
    let mut test = RowStream::open(expand(&[format!("{prefix}.test.svm")], None)?, input.options(true));
    let evaluation = evaluate(&model, &mut test)?;
    if args.output.is_text() {
        print_line!("{}", comparison.table(&truth))?;
        let best = truth.bayes_error.map(|error| format!("; Bayes error {}", percent(error))).unwrap_or_default();
        print_line!("test data: {}{best}", model::measures(&evaluation.measures))?;
        if args.keep.is_some() {
            print_line!("data and model: {}", folder.display())?;
        }
    }
    let (file, data) = (folder.join("model.json").display().to_string(), [format!("{prefix}.svm")]);
    let context = ReportContext {
        file: &file,
        data: &data,
        evaluation: Some(("stream.test.svm", &evaluation)),
        ..ReportContext::default()
    };
    write_report(&args.report, &of_model(&model, &context), !args.output.is_text())?;
    if args.output.json {
        let mut value = json!(evaluation.measures);
        value["nonzeros"] = json!(model.nonzeros());
        value["relevant_features"] = json!(truth.features.len());
        value["found"] = json!(comparison.found());
        value["confirmed"] =
            json!({"q": DEFAULT_FDR, "count": comparison.confirmed.len(), "false": comparison.false_confirmed()});
        value["bayes_error"] = json!(truth.bayes_error);
        value["report"] = json!(args.report);
        print_data!("{value}")?;
    }
    Ok(())
}

fn generate_data(args: &DemoArgs, folder: &Path) -> Result<(String, Truth), CliError> {
    let started = Instant::now();
    let mut plan = Plan::new(Kind::Zipf);
    plan.rarest = 200.0 / args.n.max(1) as f64;
    plan.n = args.n + TEST_ROWS;
    let (truth, rows) = generate(&plan).map_err(|error| error.to_string())?;
    let prefix = folder.join("stream").display().to_string();
    write_files(&prefix, &truth, rows, args.n, TEST_ROWS)?;
    if args.output.is_text() {
        print_line!(
            "generated {} rows with {} possible features, {} of them relevant ({:.1} s)",
            count(args.n as u64),
            count(plan.p as u64),
            plan.k,
            started.elapsed().as_secs_f64()
        )?;
    }
    Ok((prefix, truth))
}

fn learn(args: &DemoArgs, prefix: &str, folder: &Path) -> Result<Model, CliError> {
    let file = format!("{prefix}.svm");
    let size = std::fs::metadata(&file)?.len();
    let options = FitOptions {
        sources: expand(&[file], None)?,
        read: InputArgs::default().options(true),
        memory: memory_of_this_machine(),
        stop: stop_on_signal(),
        ..FitOptions::default()
    };
    if args.output.is_text() {
        print_line!("$ tamis fit {prefix}.svm")?;
    }
    let started = Instant::now();
    let mut progress = ProgressDisplay::of_rows(args.output.quiet, &options.sources);
    let fitted = fit(&Recipe::default(), &options, None, &mut progress)?;
    progress.finish();
    let seconds = started.elapsed().as_secs_f64();
    let path = folder.join("model.json");
    fitted.model.save(&path)?;
    if args.output.is_text() {
        print_line!(
            "fitted in {seconds:.2} s: {} rows/s, {:.0} MB/s of text; {} features seen, {} of memory, model file {}",
            count((fitted.rows_learned as f64 / seconds) as u64),
            size as f64 / 1e6 / seconds,
            count(fitted.model.seen.features),
            bytes(fitted.memory as u64),
            bytes(std::fs::metadata(&path)?.len()),
        )?;
    }
    Ok(fitted.model)
}

/// The true features beside those of the model.
struct Comparison {
    /// The fitted weight of each true feature, in their order.
    weights: Vec<Option<f64>>,
    /// Features of the model that are not true.
    others: usize,
    /// For each confirmed feature, whether it is true.
    confirmed: Vec<bool>,
}

impl Comparison {
    fn new(truth: &Truth, model: &Model) -> Self {
        let fitted: BTreeMap<&str, f64> =
            model.outputs[0].features.iter().map(|feature| (feature.name.as_str(), feature.weight)).collect();
        let weights: Vec<Option<f64>> =
            truth.features.iter().map(|feature| fitted.get(feature.id.to_string().as_str()).copied()).collect();
        let found = weights.iter().flatten().count();
        let tests = model.tests.as_ref();
        let is_true = |name: &str| truth.features.iter().any(|feature| feature.id.to_string() == name);
        let confirmed = tests.map(|tests| tests.confirmed(DEFAULT_FDR)).unwrap_or_default();
        let confirmed = confirmed.iter().map(|test| is_true(&test.name)).collect();
        Comparison { weights, others: fitted.len() - found, confirmed }
    }

    fn found(&self) -> usize {
        self.weights.iter().flatten().count()
    }

    /// Confirmed features that are not true.
    fn false_confirmed(&self) -> usize {
        self.confirmed.iter().filter(|is_true| !**is_true).count()
    }

    fn table(&self, truth: &Truth) -> String {
        let mut text = format!("\n{:<10} {:>9} {:>9} {:>11}  found\n", "feature", "true", "fitted", "in rows");
        for (feature, weight) in truth.features.iter().zip(&self.weights) {
            let (fitted, mark) = match weight {
                Some(weight) if weight * feature.weight > 0.0 => (format!("{weight:.3}"), "yes"),
                Some(weight) => (format!("{weight:.3}"), "wrong sign"),
                None => (String::new(), "no"),
            };
            let share = 100.0 * feature.share;
            text += &format!("{:<10} {:>9.3} {fitted:>9} {share:>10.3} %  {mark}\n", feature.id, feature.weight);
        }
        let (all, confirmed) = (self.weights.len(), self.confirmed.len());
        text + &format!(
            "\nfound {} of {all} true features, and {} others\nconfirmed {confirmed} (q ≤ {DEFAULT_FDR}): {} true, {} false",
            self.found(),
            self.others,
            confirmed - self.false_confirmed(),
            self.false_confirmed(),
        )
    }
}
