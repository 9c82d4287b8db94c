//! `tamis metric show`: what counts in a metric.

use serde_json::{Value, json};
use tamis::metric::{Metric, Share};

use super::ShowArgs;
use crate::error::CliError;
use crate::output::terminal::{clipped, width};
use crate::output::{format, print_line};

pub fn run(args: &ShowArgs) -> Result<(), CliError> {
    let metric = Metric::load(&args.metric)?;
    let top = if args.top == 0 { usize::MAX } else { args.top };
    match args.json {
        true => print_line!("{}", as_json(&metric, top))?,
        false => print_line!("{}{}{}", about(&metric), shares(&metric, top), axis(&metric))?,
    }
    Ok(())
}

/// A metric in a line or two.
pub fn about(metric: &Metric) -> String {
    let products = metric.terms.iter().filter(|term| term.variables.len() > 1).count();
    let kind = match &metric.settings {
        None => "plain nearest neighbours on scaled variables".to_string(),
        Some(_) => format!("a metric ({}) of {} directions", metric.name, metric.steps.len()),
    };
    format!(
        "{kind}: {} of {} variables, {products} products, {} coordinates; {} rows of {} classes\n",
        format::count(metric.variables.len() as u64),
        format::count(metric.width as u64),
        metric.dimensions(),
        format::count(metric.rows() as u64),
        metric.classes.len()
    )
}

/// Variables and products by their share of the trace, with bars; nothing where all have the same.
pub fn shares(metric: &Metric, top: usize) -> String {
    if metric.settings.is_none() {
        return String::new();
    }
    let mut text = bars("share of W: variables and products", &metric.term_shares(), top);
    if metric.terms.iter().any(|term| term.variables.len() > 1) {
        text += &bars("share of W: variables, alone or in products", &metric.variable_shares(), top);
    }
    text
}

fn bars(title: &str, shares: &[Share], top: usize) -> String {
    let shown = &shares[..top.min(shares.len())];
    let widest = shown.iter().map(|one| one.name.chars().count()).max().unwrap_or(0).clamp(7, 40);
    let largest = shown.first().map_or(1.0, |one| one.share);
    let room = width().saturating_sub(widest + 12).clamp(4, 40);
    let mut text = format!("\n{title}\n");
    for one in shown {
        let bar = "█".repeat((one.share / largest * room as f64).ceil() as usize);
        let name = clipped(&one.name, widest);
        text += &format!("{name:<widest$}  {:>6.2} %  {bar}\n", 100.0 * one.share);
    }
    if shares.len() > shown.len() {
        text += &format!("… and {} more\n", format::count((shares.len() - shown.len()) as u64));
    }
    text
}

/// The first axis by class, as rows of blocks.
fn axis(metric: &Metric) -> String {
    const STEPS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let Some(axis) = metric.first_axis(48) else { return String::new() };
    let largest = axis.shares.iter().flatten().fold(0.0, |most: f64, &one| most.max(one));
    let block = |share: &f64| STEPS[(share / largest * 8.0).ceil() as usize];
    let mut text = format!("\nrows along the first axis ({:.0} % of the variance), by class\n", 100.0 * axis.variance);
    for (class, shares) in metric.classes.iter().zip(&axis.shares) {
        let line: String = shares.iter().map(block).collect();
        text += &format!("{:>12}  {}\n", clipped(&class.to_string(), 12), line.trim_end());
    }
    text
}

pub fn as_json(metric: &Metric, top: usize) -> Value {
    let take = |shares: Vec<Share>| shares.into_iter().take(top).collect::<Vec<_>>();
    json!({
        "candidate": metric.name,
        "plain": metric.settings.is_none(),
        "settings": metric.settings,
        "judged": metric.judged,
        "classes": metric.classes,
        "n_examples": metric.rows(),
        "n_features": metric.width,
        "nonzeros": metric.variables.len(),
        "n_terms": metric.terms.len(),
        "directions": metric.steps.len(),
        "dimensions": metric.dimensions(),
        "terms": take(metric.term_shares()),
        "variables": take(metric.variable_shares()),
        "first_axis": metric.first_axis(20),
    })
}
