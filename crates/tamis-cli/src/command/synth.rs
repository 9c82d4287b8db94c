//! `tamis synth`: generates data with known coefficients.

use std::fs::File;
use std::io::{BufWriter, Write};

use clap::Args;
use serde_json::json;
use tamis::synth::{Kind, Plan, Rows, Truth, generate, write_svmlight};

use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::output::format::count;
use crate::output::{print_data, print_line};
use crate::output_file::OutputFile;

#[derive(Args)]
pub struct SynthArgs {
    /// Kind of data: zipf, text-regression, correlated, drift, double-ring or xor
    pub kind: String,
    /// Prefix of the files: PREFIX.svm, PREFIX.truth.json and, with --test-rows, PREFIX.test.svm
    #[arg(long, short, value_name = "PREFIX")]
    pub out: String,
    /// Number of rows
    #[arg(long)]
    pub n: Option<usize>,
    /// Number of features
    #[arg(long)]
    pub p: Option<usize>,
    /// Number of relevant features
    #[arg(long)]
    pub k: Option<usize>,
    /// Seed of the random generator
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Number of test rows, generated after the training rows
    #[arg(long, default_value_t = 0)]
    pub test_rows: usize,
    /// Two classes instead of a numeric target (correlated, drift)
    #[arg(long)]
    pub classes: bool,
    /// Size of the coefficients
    #[arg(long)]
    pub signal: Option<f64>,
    /// Noise; the truth file says what it means for this kind
    #[arg(long)]
    pub noise: Option<f64>,
    /// Mean number of non-zero values in a row (zipf)
    #[arg(long)]
    pub nonzeros: Option<usize>,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: SynthArgs) -> Result<(), CliError> {
    let plan = plan(&args)?;
    let (train, test) = (plan.n - args.test_rows, args.test_rows);
    let (mut truth, rows) = generate(&plan).map_err(|error| error.to_string())?;
    truth.plan.n = train;
    write_files(&args.out, &truth, rows, train, test)?;
    let (prefix, relevant) = (&args.out, truth.features.len());
    if args.output.json {
        let test_file = (test > 0).then(|| format!("{prefix}.test.svm"));
        print_data!(
            "{}",
            json!({
                "data": format!("{prefix}.svm"),
                "n_examples": train,
                "test_data": test_file,
                "n_test_examples": test,
                "truth": format!("{prefix}.truth.json"),
                "relevant_features": relevant,
            })
        )?;
    } else if !args.output.quiet {
        print_line!("{prefix}.svm: {} rows", count(train as u64))?;
        if test > 0 {
            print_line!("{prefix}.test.svm: {} rows", count(test as u64))?;
        }
        print_data!("{prefix}.truth.json: {relevant} relevant features")?;
    }
    Ok(())
}

/// The plan of the command line. Test rows follow the training rows.
fn plan(args: &SynthArgs) -> Result<Plan, CliError> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == args.kind).ok_or_else(|| {
        let known: Vec<String> =
            Kind::ALL.iter().map(|kind| format!("  {:<12} {}", kind.name(), kind.about())).collect();
        format!("unknown kind {:?}; expected one of\n{}", args.kind, known.join("\n"))
    })?;
    let mut plan = Plan::new(kind);
    plan.seed = args.seed;
    plan.n = args.n.unwrap_or(plan.n);
    plan.p = args.p.unwrap_or(plan.p);
    plan.k = args.k.unwrap_or(plan.k);
    plan.signal = args.signal.unwrap_or(plan.signal);
    plan.noise = args.noise.unwrap_or(plan.noise);
    plan.nonzeros = args.nonzeros.unwrap_or(plan.nonzeros);
    plan.classes |= args.classes;
    if kind == Kind::Zipf {
        plan.rarest = (200.0 / plan.n.max(1) as f64).min(0.05);
    }
    plan.n += args.test_rows;
    Ok(plan)
}

/// Writes training rows, test rows and coefficients.
pub fn write_files(prefix: &str, truth: &Truth, mut rows: Rows, train: usize, test: usize) -> Result<(), CliError> {
    let write = |name: String, rows: &mut dyn FnMut(&mut BufWriter<File>) -> std::io::Result<()>| {
        let file = OutputFile::create(&name)?;
        let mut out = BufWriter::with_capacity(1 << 20, file.file()?);
        rows(&mut out).and_then(|()| out.flush()).map_err(|error| CliError::of_file(&name, error))?;
        file.persist()
    };
    write(format!("{prefix}.svm"), &mut |out| write_svmlight(rows.by_ref().take(train), out).map(drop))?;
    if test > 0 {
        write(format!("{prefix}.test.svm"), &mut |out| write_svmlight(rows.by_ref().take(test), out).map(drop))?;
    }
    write(format!("{prefix}.truth.json"), &mut |out| Ok(serde_json::to_writer_pretty(out, truth)?))
}
