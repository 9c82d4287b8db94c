//! `tamis synth`: data whose truth is known.

use std::fs::File;
use std::io::{BufWriter, Write};

use tamis::synth::{Kind, Plan, Rows, Truth, generate, write_svmlight};

use super::Failure;
use crate::args::SynthArgs;
use crate::output::print_line;

pub fn run(args: SynthArgs) -> Result<(), Failure> {
    let plan = plan(&args)?;
    let (rows, kept) = (plan.n - args.test_rows, args.test_rows);
    let (truth, stream) = generate(&plan).map_err(|error| error.to_string())?;
    let mut truth = truth;
    truth.plan.n = rows;
    write_all(&args.out, &truth, stream, rows, kept)?;
    print_line!("{}.svm: {rows} rows", args.out)?;
    if kept > 0 {
        print_line!("{}.test.svm: {kept} rows", args.out)?;
    }
    print_line!("{}.truth.json: {} features that matter", args.out, truth.features.len())?;
    Ok(())
}

/// The plan typed. Test rows are the ones after the training rows.
fn plan(args: &SynthArgs) -> Result<Plan, Failure> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == args.kind).ok_or_else(|| {
        let known: Vec<String> =
            Kind::ALL.iter().map(|kind| format!("  {:<12} {}", kind.name(), kind.about())).collect();
        format!("unknown kind {:?}; there are\n{}", args.kind, known.join("\n"))
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

/// Writes the three files.
pub fn write_all(prefix: &str, truth: &Truth, mut stream: Rows, rows: usize, kept: usize) -> Result<(), Failure> {
    let create = |name: String| {
        let file = File::create(&name).map_err(|error| Failure::Text(format!("{name}: {error}")))?;
        Ok::<_, Failure>(BufWriter::with_capacity(1 << 20, file))
    };
    let mut out = create(format!("{prefix}.svm"))?;
    write_svmlight(stream.by_ref().take(rows), &mut out)?;
    out.flush()?;
    if kept > 0 {
        let mut out = create(format!("{prefix}.test.svm"))?;
        write_svmlight(stream.take(kept), &mut out)?;
        out.flush()?;
    }
    let mut out = create(format!("{prefix}.truth.json"))?;
    serde_json::to_writer_pretty(&mut out, truth).map_err(std::io::Error::from)?;
    Ok(out.flush()?)
}
