//! `tamis fit`: data in, model out.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::json;
use tamis::eval::{Judged, Measures, judge};
use tamis::model::Model;
use tamis::read::{Source, memory_of_this_machine};
use tamis::recipe::Recipe;
use tamis::train::{Checkpoint, CheckpointPlan, FitOptions, Fitted, fit};
use tamis_report::{ReportContext, of_model};

use super::{Failure, eval, open_for, report, warn_of_skipped};
use crate::args::{DataArgs, FitArgs, HoldingArgs};
use crate::output::progress::Screen;
use crate::output::{ladder, print_line, table, tell};

pub fn run(args: FitArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let (recipe, resume) = recipe_or_resume(&args)?;
    let outputs = [Some(&args.running.out), args.running.checkpoint.as_ref(), args.running.report.as_ref()];
    outputs.into_iter().flatten().try_for_each(|path| can_be_written(path))?;
    let options = fit_options(&args.data, &args.running.holding)?;
    let validation =
        args.running.validate.as_ref().map(|file| args.data.reading.sources(std::slice::from_ref(file))).transpose()?;
    let options = FitOptions {
        cache_folder: args.running.cache_dir.clone(),
        model: Some(args.running.out.clone()),
        checkpoint: args
            .running
            .checkpoint
            .clone()
            .or(args.running.resume.clone().filter(|_| args.running.checkpoint_every.is_some()))
            .map(|path| CheckpointPlan { path, every: args.running.checkpoint_every }),
        ..options
    };
    let mut screen = Screen::new(args.running.quiet, &options.sources).with_loss(recipe.loss);
    let fitted = fit(&recipe, &options, resume, &mut screen)?;
    screen.finish();
    let (mut measures, mut judged) = (None, None);
    if let Some(sources) = validation {
        let mut stream = open_for(&fitted.model, sources, args.data.reading.options(true));
        judged = args.running.report.as_ref().map(|_| judge(&fitted.model, &mut stream)).transpose()?;
        measures = Some(match &judged {
            Some(judged) => judged.measures.clone(),
            None => eval::measure(&fitted.model, &mut stream)?,
        });
    }
    tell(&args, &fitted, measures.as_ref(), started.elapsed().as_secs_f64())?;
    match &args.running.report {
        Some(path) => write_report(&args, path, &fitted.model, judged.as_ref(), &options.sources),
        None => Ok(()),
    }
}

fn write_report(
    args: &FitArgs,
    path: &Path,
    model: &Model,
    judged: Option<&Judged>,
    sources: &[Source],
) -> Result<(), Failure> {
    let densities = report::densities(model, sources, &args.data.reading)?;
    let (file, flags, data) = (args.running.out.display().to_string(), args.data.reading.typed(), &args.data.data);
    let names = data.join(" ");
    let context = ReportContext {
        file: &file,
        data,
        flags: &flags,
        evaluation: args.running.validate.as_deref().zip(judged),
        densities: densities.as_ref().map(|found| (names.as_str(), found)),
        ..ReportContext::default()
    };
    report::write(path, &of_model(model, &context), args.running.quiet || args.running.json)
}

/// What all commands that learn have in common: the data, how to read and hold it, and Ctrl-C.
pub fn fit_options(data: &DataArgs, holding: &HoldingArgs) -> Result<FitOptions, Failure> {
    Ok(FitOptions {
        sources: data.reading.sources(&data.data)?,
        read: data.reading.options(true),
        task: holding.task,
        memory: holding.memory.unwrap_or_else(memory_of_this_machine),
        stop: stop_on_signal(),
        ..FitOptions::default()
    })
}

/// What would only show at the end of a long training is looked at first.
pub fn can_be_written(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (path.is_dir(), folder.is_dir()) {
        (true, _) => Err(Failure::Text(format!("{}: cannot be written: it is a directory", path.display()))),
        (_, false) => {
            let text = format!("{}: cannot be written: there is no directory {}", path.display(), folder.display());
            Err(Failure::Text(text))
        }
        _ => Ok(()),
    }
}

/// The recipe typed, or the checkpoint's: what is learned may not change half-way.
fn recipe_or_resume(args: &FitArgs) -> Result<(Recipe, Option<Checkpoint>), Failure> {
    if args.running.checkpoint_every.is_some() && args.running.checkpoint.is_none() && args.running.resume.is_none() {
        return Err(Failure::Text("--checkpoint-every requires --checkpoint FILE".into()));
    }
    let Some(path) = &args.running.resume else { return Ok((args.recipe.checked()?.clone(), None)) };
    let saved = Checkpoint::load(path)?;
    if let Some(flag) = args.recipe.given.first()
        && args.recipe.checked() != Ok(saved.recipe())
    {
        let text =
            format!("--{flag}: a checkpoint brings its own recipe; leave it out, or begin anew without --resume");
        return Err(Failure::Text(text));
    }
    if !args.running.quiet {
        match saved.is_complete() {
            true => tell!("going on from {} with new data", path.display()),
            false => tell!("going on from {} after {} rows", path.display(), saved.rows()),
        }
    }
    Ok((saved.recipe().clone(), Some(saved)))
}

/// A flag that Ctrl-C raises; a second Ctrl-C ends at once.
pub fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = stop.clone();
    let handler = move || {
        if raised.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        tell!("tamis: stopping after the rows in hand; Ctrl-C again stops at once");
    };
    // A handler can be set once a process; without one Ctrl-C simply ends the program.
    ctrlc::set_handler(handler).ok();
    stop
}

fn tell(args: &FitArgs, fitted: &Fitted, measures: Option<&Measures>, seconds: f64) -> Result<(), Failure> {
    let model = &fitted.model;
    if model.seen.skipped > 0 && !args.running.quiet {
        warn_of_skipped(model.seen.skipped, &fitted.skipped);
    }
    if args.running.json {
        print_line!("{}", summary(args, fitted, measures, seconds))?;
        return Ok(());
    }
    if args.running.quiet {
        return Ok(());
    }
    let seen = &model.seen;
    let rate = fitted.rows_learned as f64 / seconds.max(1e-9);
    print_line!(
        "{} rows, {} pass{}, {} features seen, {} kept; {:.2} s ({} rows/s), {} of memory",
        table::count(seen.rows),
        seen.passes,
        if seen.passes == 1 { "" } else { "es" },
        table::count(seen.features),
        table::count(model.nonzeros() as u64),
        seconds,
        table::count(rate as u64),
        table::bytes(fitted.memory as u64),
    )?;
    print_line!("model: {}", args.running.out.display())?;
    if let Some(measures) = measures {
        print_line!("on {}: {}", args.running.validate.as_deref().unwrap_or_default(), table::measures(measures))?;
    }
    if let Some(text) = ladder::taken(model, &args.running.out.display().to_string()) {
        print_line!("{text}")?;
    }
    let top = table::features(model, 10);
    if !top.is_empty() {
        print_line!("\n{top}")?;
    }
    Ok(())
}

fn summary(args: &FitArgs, fitted: &Fitted, measures: Option<&Measures>, seconds: f64) -> serde_json::Value {
    let Model { recipe, seen, loss, .. } = &fitted.model;
    let mut value = json!({
        "model": args.running.out,
        "method": recipe.method_name(),
        "loss": loss.name(),
        "task": table::task_name(&fitted.model),
        "n_examples": seen.rows,
        "n_features": seen.features,
        "nonzeros": fitted.model.nonzeros(),
        "passes": seen.passes,
        "skipped": seen.skipped,
        "seconds": seconds,
        "memory_bytes": fitted.memory,
        "progressive_loss": seen.progressive_loss,
    });
    if let Some(error) = seen.progressive_error {
        value["progressive_error"] = json!(error);
    }
    if let Some(sampling) = &fitted.model.sampling {
        value["sampling"] = json!(sampling);
    }
    if let Some(measures) = measures {
        value["validation"] = json!(measures);
    }
    value
}
