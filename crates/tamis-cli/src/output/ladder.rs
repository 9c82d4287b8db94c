//! The ladder of a stabilized model: the sizes that were tried, what each is worth, and which can be had without data.

use serde_json::{Value, json};
use tamis::model::summary::{HeadlineMetric, HeldOut, at_least, selection_frequencies};
pub use tamis::model::summary::{STABLE as CUTOFF, bound_text as bounded};
use tamis::model::{Model, Selection, Step};
use tamis::recipe::{Origin, Recipe};

use super::progress::number;
use super::table::{self, count};

/// The held-out estimate of a step with its standard error.
fn estimate(metric: HeadlineMetric, step: &Step) -> String {
    let found = metric.estimate(step);
    if metric == HeadlineMetric::Error && step.error.is_some() {
        return format!("{:.2} ± {:.2} %", 100.0 * found.value, 100.0 * found.standard_error);
    }
    format!("{} ± {}", number(found.value), number(found.standard_error))
}

fn named_estimate(metric: HeadlineMetric, step: &Step) -> String {
    format!("{} {}", metric.name(), estimate(metric, step))
}

/// The step of the size path that a model is, if it was not cut from one.
pub fn rung(model: &Model) -> Option<&Step> {
    HeldOut::of(model, model.selection.as_ref()?).own()
}

/// The sizes of the steps around a model that is none.
pub fn neighbours(model: &Model) -> Option<(usize, Option<usize>)> {
    match HeldOut::of(model, model.selection.as_ref()?) {
        HeldOut::Own(_) => None,
        HeldOut::Nearest { larger, smaller } => Some((larger.size, smaller.map(|step| step.size))),
    }
}

/// What a model is worth, as part of a sentence.
pub fn standing(model: &Model, selection: &Selection) -> String {
    let metric = HeadlineMetric::of(model);
    let named = |step: &Step| format!("{} ({})", count(step.size as u64), named_estimate(metric, step));
    match HeldOut::of(model, selection) {
        HeldOut::Own(step) => format!("{} on rows its features were chosen without", named_estimate(metric, step)),
        HeldOut::Nearest { larger, smaller: Some(smaller) } => {
            format!("not judged itself, between the rungs of {} and {}", named(larger), named(smaller))
        }
        HeldOut::Nearest { larger, smaller: None } => {
            format!("not judged itself, below the smallest rung of {}", named(larger))
        }
    }
}

/// Which rung a fit took, and why; then what half as many features would cost.
pub fn taken(model: &Model, path: &str) -> Option<String> {
    let selection = model.selection.as_ref()?;
    let Origin::Fit(Recipe { k: asked, .. }) = model.recipe else { return None };
    let (ladder, metric) = (&selection.ladder, HeadlineMetric::of(model));
    let chosen = ladder.get(selection.chosen)?;
    let value = |step: &Step| step.error.unwrap_or(step.loss);
    let best = ladder.iter().min_by(|a, b| value(a).total_cmp(&value(b)))?;
    let smaller = ladder.get(selection.chosen + 1);
    let reason = match (asked, smaller) {
        (Some(asked), _) if chosen.size == asked => "as many as were asked for".to_string(),
        (Some(asked), _) => format!("{} were asked for", count(asked as u64)),
        (None, _) if best.size > chosen.size => {
            let best = format!("{} features, {}", count(best.size as u64), named_estimate(metric, best));
            format!("the smallest within the noise of the best ({best})")
        }
        (None, Some(_)) => "the best, and the next smaller one is not within its noise".into(),
        (None, None) => "the best, and the smallest".into(),
    };
    let first =
        format!("rung taken: {} features, {}: {reason}", count(chosen.size as u64), named_estimate(metric, chosen));
    let cut = |size: usize| format!("tamis recut {path} --k {size} --out SMALLER");
    let second = match smaller {
        Some(step) => {
            format!("half as many: {} features, {} ({})", step.size, named_estimate(metric, step), cut(step.size))
        }
        None if chosen.size > 1 => {
            let half = chosen.size / 2;
            format!("half as many: {half} features, not judged: no smaller rung was built ({})", cut(half))
        }
        None => return Some(first),
    };
    Some(format!("{first}\n{second}"))
}

/// The ladder as a table, and what can be done with it.
pub fn table(model: &Model, selection: &Selection, path: &str) -> String {
    let metric = HeadlineMetric::of(model);
    let whole = HeldOut::of(model, selection).own().is_some();
    let mut head = vec!["features".to_string(), metric.name().into()];
    head.extend((metric != HeadlineMetric::Loss).then(|| "loss".into()));
    head.extend(["selected".into(), String::new()]);
    let row = |(at, step): (usize, &Step)| {
        let mut cells = vec![count(step.size as u64), estimate(metric, step)];
        cells.extend((metric != HeadlineMetric::Loss).then(|| number(step.loss)));
        let mark = match (at == selection.chosen, step.outputs.is_empty()) {
            (true, _) if whole => "◄ model",
            (true, _) => "◄ cut from",
            (false, false) => "recut",
            (false, true) => "",
        };
        cells.extend([format!("{:.1}", step.selected), mark.into()]);
        cells
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(selection.ladder.iter().enumerate().map(row)).collect();
    let recut = match selection.ladder.iter().any(|step| !step.outputs.is_empty()) {
        true => {
            format!("\nrecut: `tamis recut {path} --k N --out FILE` makes this model without data, and sizes below it")
        }
        false => String::new(),
    };
    format!(
        "the ladder: models of falling size, judged on rows their features were chosen without\n{}\
         selected: how many features a path selects, on average{recut}",
        narrowed(rows),
    )
}

/// A table that fits the terminal: columns from the third on are left out while it does not, and that is said.
fn narrowed(mut rows: Vec<Vec<String>>) -> String {
    let mut left_out = Vec::new();
    loop {
        let borrowed: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
        let text = table::aligned(&borrowed);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if widest <= super::terminal::width() || rows[0].len() == 3 {
            return text + &table::want_of_room(&left_out);
        }
        left_out.push(rows[0][2].clone());
        rows.iter_mut().for_each(|row| drop(row.remove(2)));
    }
}

/// How many features are stable, and how many of these may be there by chance.
pub fn chance(model: &Model, selection: &Selection) -> String {
    let stable = stable_features(model, CUTOFF);
    let [few, all] = [stable, model.nonzeros()].map(|number| count(number as u64));
    let first = format!("{few} of {all} features have a stability Π ≥ {CUTOFF}");
    let Some(bound) = selection.false_selections(CUTOFF) else { return first };
    let each = match (model.outputs.len() > 1, bound < stable as f64) {
        (_, false) => ", which says nothing",
        (true, true) => " for each class",
        (false, true) => "",
    };
    format!(
        "{first}; expected among them by chance: at most {}{each}\n\
         (Meinshausen & Bühlmann's bound; indicative: features that left the ladder early no longer vote)",
        bounded(bound)
    )
}

/// The number of features with at least this selection frequency, in any output.
pub fn stable_features(model: &Model, cutoff: f64) -> usize {
    at_least(&selection_frequencies(model), cutoff)
}

/// The ladder for scripts.
pub fn as_json(selection: &Selection) -> Value {
    let step = |(number, step): (usize, &Step)| {
        json!({
            "size": step.size,
            "error": step.error,
            "standard_error": step.standard_error,
            "loss": step.loss,
            "selected": step.selected,
            "chosen": number == selection.chosen,
            "recut": !step.outputs.is_empty(),
        })
    };
    selection.ladder.iter().enumerate().map(step).collect()
}
