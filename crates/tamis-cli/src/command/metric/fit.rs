//! `tamis metric fit`: selects a candidate by cross-validation, learns it from all rows and shows it.

use std::time::Instant;

use serde_json::{Value, json};
use tamis::io::{ReadOptions, RowStream, memory_of_this_machine};
use tamis_metric::{
    Candidate, CvResult, Dataset, EarlyStopping, FittedMetric, MetricError, MetricOptions, Params, fit,
};
use tamis_report::MetricContext;

use super::super::report::page_of_metric;
use super::args::{FitArgs, ParamArgs};
use super::show;
use crate::error::CliError;
use crate::output::progress::ProgressDisplay;
use crate::output::{note, notes_json, print_data, print_line, show_notes, table, warn_skipped};
use crate::output_file::{check_files, check_not_stdout, paths};
use crate::report_file::write_report;
use crate::signals::stop_on_signal;

pub fn run(args: &FitArgs) -> Result<(), CliError> {
    let started = Instant::now();
    let options = options(args)?;
    let sources = args.data.input.sources(&args.data.data)?;
    check_not_stdout(&args.out)?;
    check_files(
        [Some(&args.out), args.report.as_ref()].into_iter().flatten(),
        paths(&sources).chain(args.data.input.labels.as_deref()),
    )?;
    let mut screen = ProgressDisplay::of_rows(args.quiet, &sources);
    let mut stream =
        RowStream::open(sources, ReadOptions { stop: options.interrupt.clone(), ..args.data.input.options(true) });
    let dataset = Dataset::read(&mut stream, args.task, options.memory, &mut screen)?;
    screen.finish();
    let mut steps = ProgressDisplay::of_steps(args.quiet);
    let read = started.elapsed().as_secs_f64();
    let fitted = fit(&dataset, &options, &mut steps)?;
    steps.finish();
    fitted.metric.save(&args.out)?;
    if !args.quiet {
        warn_skipped(dataset.skipped, stream.first_skipped());
        show_notes(&stream.notes());
        fitted.notes.iter().for_each(|text| note!("note: {text}"));
    }
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        let mut value = summary(args, &fitted, seconds, seconds - read);
        value["notes"] = json!([notes_json(&stream.notes()), fitted.notes.clone()].concat());
        print_data!("{value}")?;
    } else if !args.quiet {
        print_line!("{}", report(args, &fitted, seconds))?;
    }
    match &args.report {
        Some(path) => {
            let (file, flags) = (args.out.display().to_string(), args.data.input.command_line());
            let context =
                MetricContext { file: &file, data: &args.data.data, flags: &flags, ..MetricContext::default() };
            let page = page_of_metric(&fitted.metric, args.image_width.map(usize::from), &context);
            write_report(path, &page, args.quiet || args.json)
        }
        None => Ok(()),
    }
}

fn options(args: &FitArgs) -> Result<MetricOptions, MetricError> {
    let families = args.candidate.as_ref().map_or(&args.candidates[..], std::slice::from_ref);
    let mut candidates = Candidate::changed(families, |params| Ok(with(params, &args.params)))?;
    candidates.truncate(if args.candidate.is_some() { 1 } else { usize::MAX });
    let selection = &args.selection;
    Ok(MetricOptions {
        candidates,
        folds: selection.folds,
        repeats: selection.repeats,
        cv_rows: selection.cv_rows,
        early_stopping: early_stopping(args),
        max_iter: args.params.max_iter,
        n_neighbors: selection.n_neighbors,
        seed: selection.seed,
        threads: args.data.input.threads(),
        memory: args.memory.unwrap_or_else(memory_of_this_machine),
        interrupt: stop_on_signal(),
        ..MetricOptions::default()
    })
}

/// The rule that was given, or the default of the candidates.
fn early_stopping(args: &FitArgs) -> EarlyStopping {
    let complexity = EarlyStopping::Complexity(args.selection.complexity_penalty);
    match (args.selection.early_stopping.as_deref(), args.candidate.as_deref()) {
        (Some("held-out"), _) | (None, None) => EarlyStopping::HeldOut,
        (Some("complexity"), _) | (None, Some("thesis")) => complexity,
        (Some("off"), _) => EarlyStopping::Off,
        _ => EarlyStopping::LeaveOneOut,
    }
}

fn with(mut params: Params, args: &ParamArgs) -> Params {
    let set = |field: &mut usize, value: Option<usize>| *field = value.unwrap_or(*field);
    set(&mut params.metric_neighbors, args.metric_neighbors);
    set(&mut params.max_terms, args.max_terms);
    set(&mut params.update_every, args.update_every);
    set(&mut params.burn_in, args.burn_in);
    set(&mut params.max_order, args.max_order);
    params.learning_rate = args.learning_rate.unwrap_or(params.learning_rate);
    params.subsample = args.subsample.unwrap_or(params.subsample);
    params.class_balance &= !args.no_class_balance;
    params.subsample_terms |= args.subsample_terms;
    if let Some(pool) = args.interaction_pool {
        params.interaction_pool = Some(pool).filter(|&pool| pool > 0);
    }
    match (args.max_terms, args.max_terms_share) {
        (Some(_), _) => params.max_terms_share = None,
        (None, Some(share)) => params.max_terms_share = Some(share),
        (None, None) => {}
    }
    params
}

fn report(args: &FitArgs, fitted: &FittedMetric, seconds: f64) -> String {
    let metric = &fitted.metric;
    let mut text = String::new();
    if !metric.cv_results.is_empty() {
        text += &cv_results(&metric.cv_results, fitted.selected);
        text += "\n";
    }
    text += &show::about(metric);
    text += &format!(
        "leave-one-out error {:.2} % on the training rows (optimistic: the metric was learned from them); {seconds:.2} s\n",
        100.0 * fitted.leave_one_out_error
    );
    text += &show::shares(metric, args.top);
    text + &format!("metric: {}", args.out.display())
}

/// The candidates and their held-out errors; an arrow marks the selected one.
fn cv_results(results: &[CvResult], selected: usize) -> String {
    let cells: Vec<[String; 5]> = results
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let steps = if one.steps > 0 { one.steps.to_string() } else { "–".into() };
            let error = format!("{:.2} ± {:.2} %", 100.0 * one.error, 100.0 * one.standard_error);
            let mark = if at == selected { "→".into() } else { String::new() };
            [steps, error, one.rows.to_string(), mark, one.name.clone()]
        })
        .collect();
    let head = ["steps", "held-out error", "rows", "", "candidate"];
    let rows: Vec<Vec<&str>> = std::iter::once(head.to_vec())
        .chain(cells.iter().map(|row| row.iter().map(String::as_str).collect()))
        .collect();
    table::aligned(&rows)
}

fn summary(args: &FitArgs, fitted: &FittedMetric, seconds: f64, learning: f64) -> Value {
    let mut value = show::as_json(&fitted.metric, args.top);
    value["metric"] = json!(args.out);
    value["steps"] = json!(fitted.steps);
    value["leave_one_out_error"] = json!(fitted.leave_one_out_error);
    value["curve"] = json!(fitted.curve);
    value["seconds"] = json!(seconds);
    value["learning_seconds"] = json!(learning);
    value
}
