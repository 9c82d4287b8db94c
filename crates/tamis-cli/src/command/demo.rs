//! `tamis demo`: a stream of a million features, a few of which matter; are they found?

use std::path::Path;
use std::time::Instant;

use tamis::eval::judge;
use tamis::model::Model;
use tamis::read::{RowStream, expand, memory_of_this_machine};
use tamis::recipe::Recipe;
use tamis::synth::{Kind, Plan, Truth, generate};
use tamis::train::{FitOptions, fit};
use tamis_report::{ReportContext, of_model};

use super::fit::{can_be_written, stop_on_signal};
use super::{Failure, report, synth};
use crate::args::{DemoArgs, ReadingArgs};
use crate::output::progress::Screen;
use crate::output::{print_line, table};

const TEST_ROWS: usize = 20_000;

pub fn run(args: DemoArgs) -> Result<(), Failure> {
    let temporary = tempfile::tempdir()?;
    let folder = match &args.keep {
        Some(folder) => {
            std::fs::create_dir_all(folder)?;
            folder.as_path()
        }
        None => temporary.path(),
    };
    can_be_written(&args.report)?;
    let (prefix, truth) = make_data(folder, args.n)?;
    let model = learn(&prefix, folder)?;
    compare(&truth, &model)?;
    let reading = ReadingArgs::default();
    let mut test = RowStream::open(expand(&[format!("{prefix}.test.svm")], None)?, reading.options(true));
    let judged = judge(&model, &mut test)?;
    let measures = &judged.measures;
    let best = truth.bayes_error.map(|error| format!("; no model can beat {:.2} %", 100.0 * error)).unwrap_or_default();
    print_line!("on {TEST_ROWS} new rows: {}{best}", table::measures(measures))?;
    if args.keep.is_some() {
        print_line!("data and model are in {}", folder.display())?;
    }
    let (file, data) = (folder.join("model.json").display().to_string(), [format!("{prefix}.svm")]);
    let context = ReportContext {
        file: &file,
        data: &data,
        evaluation: Some(("stream.test.svm", &judged)),
        ..ReportContext::default()
    };
    report::write(&args.report, &of_model(&model, &context), false)
}

fn make_data(folder: &Path, n: usize) -> Result<(String, Truth), Failure> {
    let started = Instant::now();
    let mut plan = Plan::new(Kind::Zipf);
    plan.rarest = 200.0 / n.max(1) as f64;
    plan.n = n + TEST_ROWS;
    let (truth, rows) = generate(&plan).map_err(|error| error.to_string())?;
    let prefix = folder.join("stream").display().to_string();
    synth::write_all(&prefix, &truth, rows, n, TEST_ROWS)?;
    print_line!(
        "made {} rows of {} possible features, {} of which matter ({:.1} s)",
        table::count(n as u64),
        table::count(plan.p as u64),
        plan.k,
        started.elapsed().as_secs_f64()
    )?;
    Ok((prefix, truth))
}

fn learn(prefix: &str, folder: &Path) -> Result<Model, Failure> {
    let file = format!("{prefix}.svm");
    let size = std::fs::metadata(&file)?.len();
    let recipe = Recipe::default();
    let options = FitOptions {
        sources: expand(&[file], None)?,
        read: ReadingArgs::default().options(true),
        memory: memory_of_this_machine(),
        stop: stop_on_signal(),
        ..FitOptions::default()
    };
    print_line!("$ tamis fit {prefix}.svm")?;
    let started = Instant::now();
    let mut screen = Screen::new(false, &options.sources);
    let fitted = fit(&recipe, &options, None, &mut screen)?;
    screen.finish();
    let seconds = started.elapsed().as_secs_f64();
    let path = folder.join("model.json");
    fitted.model.save(&path)?;
    print_line!(
        "learned in {seconds:.2} s: {} rows/s, {:.0} MB/s of text; {} features seen, {} of memory; the model is {}",
        table::count((fitted.rows_learned as f64 / seconds) as u64),
        size as f64 / 1e6 / seconds,
        table::count(fitted.model.seen.features),
        table::bytes(fitted.memory as u64),
        table::bytes(std::fs::metadata(&path)?.len()),
    )?;
    Ok(fitted.model)
}

/// Planted features beside found ones.
fn compare(truth: &Truth, model: &Model) -> Result<(), Failure> {
    let found: std::collections::BTreeMap<&str, f64> =
        model.outputs[0].features.iter().map(|feature| (feature.name.as_str(), feature.weight)).collect();
    print_line!("\n{:<10} {:>9} {:>9} {:>11}  found", "feature", "planted", "learned", "in rows")?;
    let mut hits = 0;
    for feature in &truth.features {
        let learned = found.get(feature.id.to_string().as_str());
        hits += usize::from(learned.is_some());
        let (text, mark) = match learned {
            Some(weight) if weight * feature.weight > 0.0 => (format!("{weight:.3}"), "yes"),
            Some(weight) => (format!("{weight:.3}"), "wrong sign"),
            None => (String::new(), "missed"),
        };
        print_line!("{:<10} {:>9.3} {text:>9} {:>10.3} %  {mark}", feature.id, feature.weight, 100.0 * feature.share)?;
    }
    print_line!("\nfound {hits} of {} planted features, {} others", truth.features.len(), found.len() - hits)?;
    Ok(())
}
