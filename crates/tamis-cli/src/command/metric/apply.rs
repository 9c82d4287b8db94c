//! `tamis metric transform|predict|eval`: a metric applied to new rows.

use std::io::{BufWriter, Write, stdout};

use serde_json::json;
use tamis::data::Label;
use tamis::io::RowStream;
use tamis_metric::{ErrorRates, Metric, Prediction};

use super::args::{EvalArgs, PredictArgs, TransformArgs};
use crate::args::input::DataArgs;
use crate::error::CliError;
use crate::output::format;
use crate::output::warn_skipped;
use crate::output::{print_data, print_line};

/// The data, opened with the columns the metric remembers.
fn open(metric: &Metric, data: &DataArgs, needs_target: bool) -> Result<RowStream, CliError> {
    let mut options = data.input.options(needs_target);
    options.columns.known = metric.columns.clone();
    Ok(RowStream::open(data.input.sources(&data.data)?, options))
}

pub fn transform(args: &TransformArgs) -> Result<(), CliError> {
    let metric = Metric::load(&args.metric)?;
    let shown = args.components.unwrap_or(usize::MAX).clamp(1, metric.dimensions());
    let mut stream = open(&metric, &args.data, false)?;
    let vocabulary = metric.vocabulary();
    let mut out = csv::Writer::from_writer(stdout().lock());
    let mut labelled: Option<bool> = None;
    while let Some(block) = stream.next_block()? {
        let places = metric.transform(&block.rows, &vocabulary);
        for (place, label) in places.iter().zip(&block.rows.labels) {
            let is_first = labelled.is_none();
            let with_label = *labelled.get_or_insert(*label != Label::Absent);
            if is_first {
                let names = (1..=shown).map(|axis| format!("axis{axis}"));
                out.write_record(with_label.then(|| "y".to_string()).into_iter().chain(names))?;
            }
            let text = if *label == Label::Absent { String::new() } else { label.to_string() };
            let numbers = place[..shown].iter().map(f64::to_string);
            out.write_record(with_label.then_some(text).into_iter().chain(numbers))?;
        }
    }
    out.flush()?;
    warn_skipped(stream.skipped(), stream.first_skipped());
    Ok(())
}

pub fn predict(args: &PredictArgs) -> Result<(), CliError> {
    let metric = Metric::load(&args.metric)?;
    let mut stream = open(&metric, &args.data, false)?;
    let vocabulary = metric.vocabulary();
    let mut out = BufWriter::new(stdout().lock());
    while let Some(block) = stream.next_block()? {
        for prediction in metric.predict(&metric.transform(&block.rows, &vocabulary)) {
            writeln!(out, "{}", line(&metric, prediction, &args.output))?;
        }
    }
    out.flush()?;
    warn_skipped(stream.skipped(), stream.first_skipped());
    Ok(())
}

fn line(metric: &Metric, prediction: Prediction, what: &str) -> String {
    let [vote, base] = [prediction.vote, prediction.base].map(|score| metric.classes[score.class].to_string());
    match what {
        "base" => base,
        "score" => prediction.base.score.to_string(),
        "all" => format!("{vote} {base} {} {}", prediction.vote.score, prediction.base.score),
        _ => vote,
    }
}

pub fn eval(args: &EvalArgs) -> Result<(), CliError> {
    let metric = Metric::load(&args.metric)?;
    let mut stream = open(&metric, &args.data, true)?;
    let evaluation = metric.evaluate(&mut stream)?;
    warn_skipped(stream.skipped(), stream.first_skipped());
    if args.json {
        let mut value = json!(evaluation);
        value["nonzeros"] = json!(metric.variables.len());
        value["dimensions"] = json!(metric.dimensions());
        print_data!("{value}")?;
        return Ok(());
    }
    let line = |name: &str, rates: &ErrorRates| {
        let auc = rates.auc.map(|auc| format!(", AUC {auc:.4}")).unwrap_or_default();
        let [error, balanced] = [rates.error, rates.balanced_error].map(|error| 100.0 * error);
        format!("{name}  error {error:.2} %, balanced error {balanced:.2} %{auc}")
    };
    print_line!(
        "{} rows, {} variables\n{}\n{}",
        format::count(evaluation.n as u64),
        metric.variables.len(),
        line(&format!("{}-NN", metric.n_neighbors), &evaluation.vote),
        line("base classifier", &evaluation.base)
    )?;
    Ok(())
}
