//! `tamis metric show`: the variables and interactions of a metric.

use serde_json::{Value, json};
use tamis_metric::{Metric, Share};

use super::args::ShowArgs;
use crate::error::CliError;
use crate::output::terminal::{clipped, width};
use crate::output::{format, print_data, print_line};

pub fn run(args: &ShowArgs) -> Result<(), CliError> {
    let metric = Metric::load(&args.metric)?;
    let top = if args.top == 0 { usize::MAX } else { args.top };
    if args.json {
        print_data!("{}", as_json(&metric, top))?;
    } else {
        print_line!("{}{}{}", about(&metric), shares(&metric, top), axis(&metric))?;
    }
    Ok(())
}

/// A summary of a metric in one line.
pub fn about(metric: &Metric) -> String {
    let interactions = metric.terms.iter().filter(|term| term.variables.len() > 1).count();
    let kind = match &metric.params {
        None => "plain k-NN on standardized variables".to_string(),
        Some(_) => format!("a metric ({}) of {} rank-one updates", metric.name, metric.updates.len()),
    };
    format!(
        "{kind}: {} of {} variables, {interactions} interactions, {} coordinates; {} rows, {} classes\n",
        format::count(metric.variables.len() as u64),
        format::count(metric.n_features as u64),
        metric.dimensions(),
        format::count(metric.rows() as u64),
        metric.classes.len()
    )
}

/// Variables and interactions by their share of the trace of W, with bars; empty for plain k-NN.
pub fn shares(metric: &Metric, top: usize) -> String {
    if metric.params.is_none() {
        return String::new();
    }
    let mut text = bars("share of the trace of W: variables and interactions", &metric.term_shares(), top);
    if metric.terms.iter().any(|term| term.variables.len() > 1) {
        text += &bars(
            "share of the trace of W: variables, interactions divided among their variables",
            &metric.variable_shares(),
            top,
        );
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

/// A histogram of each class along the first axis.
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
        "plain": metric.params.is_none(),
        "params": metric.params,
        "cv_results": metric.cv_results,
        "classes": metric.classes,
        "n_examples": metric.rows(),
        "n_features": metric.n_features,
        "nonzeros": metric.variables.len(),
        "n_terms": metric.terms.len(),
        "rank_one_updates": metric.updates.len(),
        "dimensions": metric.dimensions(),
        "terms": take(metric.term_shares()),
        "variables": take(metric.variable_shares()),
        "first_axis": metric.first_axis(20),
    })
}
