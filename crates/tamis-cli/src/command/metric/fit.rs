//! `tamis metric fit`: candidates compete, the winner is learned from all rows and shown.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use tamis::metric::{Candidate, FittedMetric, Judged, MetricError, MetricOptions, Settings, Stop, Table, Watcher, fit};
use tamis::read::{RowStream, memory_of_this_machine};
use tamis_report::MetricContext;

use super::super::fit::{can_be_written, stop_on_signal};
use super::super::report::{page_of_metric, write};
use super::super::{Failure, warn_of_skipped};
use super::{FitArgs, NumberArgs, show};
use crate::output::progress::Screen;
use crate::output::{print_line, table, tell};

pub fn run(args: &FitArgs) -> Result<(), Failure> {
    let started = Instant::now();
    [Some(&args.out), args.report.as_ref()].into_iter().flatten().try_for_each(|path| can_be_written(path))?;
    let options = options(args)?;
    let sources = args.data.reading.sources(&args.data.data)?;
    let mut screen = Screen::new(args.quiet, &sources);
    let mut stream = RowStream::open(sources, args.data.reading.options(true));
    let rows = Table::read(&mut stream, args.task, options.memory, &mut screen)?;
    screen.finish();
    let bar = Bar::new(args.quiet);
    let read = started.elapsed().as_secs_f64();
    let fitted = fit(&rows, &options, &bar)?;
    bar.0.finish_and_clear();
    fitted.metric.save(&args.out)?;
    if !args.quiet {
        warn_of_skipped(rows.skipped, stream.first_skipped());
        fitted.notes.iter().for_each(|note| tell!("note: {note}"));
    }
    let seconds = started.elapsed().as_secs_f64();
    match args.json {
        true => print_line!("{}", summary(args, &fitted, seconds, seconds - read))?,
        false if !args.quiet => print_line!("{}", report(args, &fitted, seconds))?,
        false => {}
    }
    match &args.report {
        Some(path) => {
            let (file, flags) = (args.out.display().to_string(), args.data.reading.typed());
            let context =
                MetricContext { file: &file, data: &args.data.data, flags: &flags, ..MetricContext::default() };
            let page = page_of_metric(&fitted.metric, args.image_width.map(usize::from), &context);
            write(path, &page, args.quiet || args.json)
        }
        None => Ok(()),
    }
}

/// A bar on a terminal.
struct Bar(ProgressBar);

impl Bar {
    fn new(quiet: bool) -> Self {
        let bar = match !quiet && std::io::stderr().is_terminal() {
            true => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8)),
            false => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{bar:32} {percent:>3} % steps {pos}/{len} {elapsed}");
        bar.set_style(style.expect("the template is right").progress_chars("█▉▊▋▌▍▎▏ "));
        Bar(bar)
    }
}

impl Watcher for Bar {
    fn tick(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
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
        threads: args.data.reading.threads(),
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
