//! `tamis metric fit`: candidates compete, the winner is learned from all rows and shown.

use std::time::Instant;

use serde_json::{Value, json};
use tamis::metric::{Candidate, FittedMetric, Judged, MetricError, MetricOptions, Settings, Stop, Table, fit};
use tamis::read::{RowStream, memory_of_this_machine};
use tamis::report::MetricTold;

use super::super::report::page_of_metric;
use super::{FitArgs, NumberArgs, show};
use crate::error::CliError;
use crate::output::progress::ProgressDisplay;
use crate::output::warn_skipped;
use crate::output::{note, print_line, table};
use crate::output_file::check_writable;
use crate::report_file::write_report;
use crate::signals::stop_on_signal;

pub fn run(args: &FitArgs) -> Result<(), CliError> {
    let started = Instant::now();
    [Some(&args.out), args.report.as_ref()].into_iter().flatten().try_for_each(|path| check_writable(path))?;
    let options = options(args)?;
    let sources = args.data.input.sources(&args.data.data)?;
    let mut screen = ProgressDisplay::of_rows(args.quiet, &sources);
    let mut stream = RowStream::open(sources, args.data.input.options(true));
    let rows = Table::read(&mut stream, args.task, options.memory, &mut screen)?;
    screen.finish();
    let steps = ProgressDisplay::of_steps(args.quiet);
    let read = started.elapsed().as_secs_f64();
    let fitted = fit(&rows, &options, &steps)?;
    steps.finish();
    fitted.metric.save(&args.out)?;
    if !args.quiet {
        warn_skipped(rows.skipped, stream.first_skipped());
        fitted.notes.iter().for_each(|text| note!("note: {text}"));
    }
    let seconds = started.elapsed().as_secs_f64();
    match args.json {
        true => print_line!("{}", summary(args, &fitted, seconds, seconds - read))?,
        false if !args.quiet => print_line!("{}", report(args, &fitted, seconds))?,
        false => {}
    }
    match &args.report {
        Some(path) => {
            let (file, flags) = (args.out.display().to_string(), args.data.input.command_line());
            let told = MetricTold { file: &file, data: &args.data.data, flags: &flags, ..MetricTold::default() };
            let page = page_of_metric(&fitted.metric, args.image_width.map(usize::from), &told);
            write_report(path, &page, args.quiet || args.json)
        }
        None => Ok(()),
    }
}

fn options(args: &FitArgs) -> Result<MetricOptions, MetricError> {
    let families = args.preset.as_ref().map_or(&args.families[..], std::slice::from_ref);
    let mut candidates = Candidate::changed(families, |settings| Ok(with(settings, &args.numbers)))?;
    candidates.truncate(if args.preset.is_some() { 1 } else { usize::MAX });
    let choice = &args.choice;
    let rule = match (&choice.stop, &args.preset) {
        (Some(rule), _) => rule.as_str(),
        (None, None) => "held-out",
        (None, Some(preset)) if preset == "thesis" => "complexity",
        (None, Some(_)) => "leave-one-out",
    };
    Ok(MetricOptions {
        candidates,
        folds: choice.folds,
        repeats: choice.repeats,
        choice_rows: choice.choice_rows,
        stop: match rule {
            "held-out" => Stop::HeldOut,
            "complexity" => Stop::Complexity(choice.complexity),
            "last" => Stop::Last,
            _ => Stop::LeaveOneOut,
        },
        steps: args.numbers.steps,
        voters: choice.voters,
        seed: choice.seed,
        threads: args.data.input.threads(),
        memory: args.memory.unwrap_or_else(memory_of_this_machine),
        interrupt: stop_on_signal(),
        ..MetricOptions::default()
    })
}

fn with(mut settings: Settings, numbers: &NumberArgs) -> Settings {
    let set = |field: &mut usize, value: Option<usize>| *field = value.unwrap_or(*field);
    set(&mut settings.neighbours, numbers.neighbours);
    set(&mut settings.entries, numbers.entries);
    set(&mut settings.update_every, numbers.update_every);
    set(&mut settings.burn_in, numbers.burn_in);
    set(&mut settings.order, numbers.order);
    settings.shrinkage = numbers.shrinkage.unwrap_or(settings.shrinkage);
    settings.bag = numbers.bag.unwrap_or(settings.bag);
    settings.balanced &= !numbers.unbalanced;
    settings.draw_columns |= numbers.draw_columns;
    if let Some(pool) = numbers.pool {
        settings.pool = Some(pool).filter(|&pool| pool > 0);
    }
    match (numbers.entries, numbers.entries_share) {
        (Some(_), _) => settings.entries_share = None,
        (None, Some(share)) => settings.entries_share = Some(share),
        (None, None) => {}
    }
    settings
}

fn report(args: &FitArgs, fitted: &FittedMetric, seconds: f64) -> String {
    let metric = &fitted.metric;
    let mut text = String::new();
    if !metric.judged.is_empty() {
        text += &judged(&metric.judged, fitted.chosen);
        text += "\n";
    }
    text += &show::about(metric);
    text += &format!(
        "leave-one-out error {:.2} % on the training rows (which the metric knows); {seconds:.2} s\n",
        100.0 * fitted.leave_one_out
    );
    text += &show::shares(metric, args.top);
    text + &format!("metric: {}", args.out.display())
}

/// The candidates and their errors on rows held out, the winner marked.
pub fn judged(judged: &[Judged], chosen: usize) -> String {
    let cells: Vec<[String; 4]> = judged
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let steps = if one.steps > 0 { one.steps.to_string() } else { "–".into() };
            let error = format!("{:.2} ± {:.2} %", 100.0 * one.error, 100.0 * one.deviation);
            [steps, error, if at == chosen { "→".into() } else { String::new() }, one.name.clone()]
        })
        .collect();
    let head = ["steps", "error on rows held out", "", "candidate"];
    let rows: Vec<Vec<&str>> = std::iter::once(head.to_vec())
        .chain(cells.iter().map(|row| row.iter().map(String::as_str).collect()))
        .collect();
    table::aligned(&rows)
}

fn summary(args: &FitArgs, fitted: &FittedMetric, seconds: f64, learning: f64) -> Value {
    let mut value = show::as_json(&fitted.metric, args.top);
    value["metric"] = json!(args.out);
    value["steps"] = json!(fitted.steps);
    value["leave_one_out_error"] = json!(fitted.leave_one_out);
    value["curve"] = json!(fitted.curve);
    value["notes"] = json!(fitted.notes);
    value["seconds"] = json!(seconds);
    value["learning_seconds"] = json!(learning);
    value
}
