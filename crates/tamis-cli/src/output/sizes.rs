//! The size path of a stabilized model: the sizes that were fitted, their held-out estimates, and which of them
//! `tamis resize` can write.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tamis::model::summary::{HeadlineMetric, HeldOut};
use tamis::model::{Certainty, DEFAULT_FDR, FeatureTests, Model, SizePath, SizePoint};
use tamis::recipe::{MethodParams, Provenance, Recipe};
use tamis::select::N_SE;

use super::format::{count, features, loss, percent, shell_word};
use super::table;

/// The held-out estimate of a metric with its standard error.
fn value(metric: HeadlineMetric, step: &SizePoint) -> String {
    let found = metric.estimate(step);
    if metric == HeadlineMetric::Error && step.error.is_some() {
        format!("{:.2} ± {}", 100.0 * found.value, percent(found.standard_error))
    } else {
        format!("{} ± {}", loss(found.value), loss(found.standard_error))
    }
}

fn named_value(metric: HeadlineMetric, step: &SizePoint) -> String {
    format!("{} {}", metric.name(), value(metric, step))
}

/// The step of the size path that a model is, if it is one.
pub fn step(model: &Model) -> Option<&SizePoint> {
    HeldOut::of(model, model.size_path.as_ref()?).own()
}

/// The sizes next to a model that is no step of the path.
pub fn neighbours(model: &Model) -> Option<(usize, Option<usize>)> {
    match HeldOut::of(model, model.size_path.as_ref()?) {
        HeldOut::Own(_) => None,
        HeldOut::Nearest { larger, smaller } => Some((larger.size, smaller.map(|step| step.size))),
    }
}

/// The held-out estimate of a model, or those of the nearest sizes.
pub fn estimate(model: &Model, size_path: &SizePath) -> String {
    let headline = HeadlineMetric::of(model);
    let named = |step: &SizePoint| format!("{} ({})", count(step.size as u64), named_value(headline, step));
    match HeldOut::of(model, size_path) {
        HeldOut::Own(step) => format!("held-out {}", named_value(headline, step)),
        HeldOut::Nearest { larger, smaller: Some(smaller) } => {
            format!("no held-out estimate for this size; nearest sizes: {}, {}", named(larger), named(smaller))
        }
        HeldOut::Nearest { larger, smaller: None } => {
            format!("no held-out estimate for this size; nearest size: {}", named(larger))
        }
    }
}

/// The false discovery rate that was asked for.
pub fn asked_fdr(model: &Model) -> Option<f64> {
    match &model.recipe {
        Provenance::Fit(Recipe { method: MethodParams::Stabilized(params), .. }) => params.fdr,
        _ => None,
    }
}

/// Which size a fit selected and why, and what a smaller model would cost.
pub fn selected(model: &Model, path: &str) -> Option<String> {
    let size_path = model.size_path.as_ref()?;
    let Provenance::Fit(Recipe { k: asked, .. }) = model.recipe else { return None };
    let (steps, headline) = (&size_path.sizes, HeadlineMetric::of(model));
    let chosen = steps.get(size_path.chosen)?;
    // Fewer than the size of the step where some of its weights are zero.
    let kept = model.nonzeros();
    let smaller = steps.iter().find(|step| 2 * step.size <= kept);
    let counted =
        |size: usize, step: &SizePoint| format!("{} ({})", features(size as u64), named_value(headline, step));
    let sized = |step: &SizePoint| counted(step.size, step);
    let first = match asked_fdr(model) {
        // Not a size of the path, as a rule.
        Some(fdr) => {
            let estimate = estimate(model, size_path);
            format!("selected {}: those that are confirmed (q ≤ {fdr}); {estimate}", features(kept as u64))
        }
        None => format!("selected {}: {}", counted(kept, chosen), reason(size_path, asked, sized)),
    };
    let resize = |size: usize| format!("`tamis resize {} --k {size} -o SMALLER`", shell_word(path));
    let second = match smaller {
        Some(step) => format!("smaller: {}: {}", sized(step), resize(step.size)),
        None if kept > 1 => {
            let half = kept / 2;
            format!("smaller: {} (no held-out estimate): {}", features(half as u64), resize(half))
        }
        None => return Some(first),
    };
    Some(format!("{first}\n{second}"))
}

/// Why the size was selected.
fn reason(size_path: &SizePath, asked: Option<usize>, sized: impl Fn(&SizePoint) -> String) -> String {
    let steps = &size_path.sizes;
    let chosen = &steps[size_path.chosen];
    if let Some(asked) = asked {
        return if chosen.size == asked { "set by --k".into() } else { format!("--k {asked} was requested") };
    }
    let value = |step: &SizePoint| step.error.unwrap_or(step.loss);
    let best = steps.iter().min_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or(chosen);
    if value(best) == value(chosen) {
        "no size has a lower held-out error".into()
    } else if value(chosen) <= value(best) + N_SE * best.standard_error {
        format!("within √2 standard errors of the best, {}", sized(best))
    } else {
        format!("the best size is {}", sized(best))
    }
}

/// The size path as a table.
pub fn table(model: &Model, size_path: &SizePath, path: &str) -> String {
    let headline = HeadlineMetric::of(model);
    let is_step = HeldOut::of(model, size_path).own().is_some();
    let mut head = vec!["features".to_string(), headline.name().into()];
    head.extend((headline != HeadlineMetric::Loss).then(|| "loss".into()));
    head.extend(["per path".into(), String::new()]);
    let row = |(at, step): (usize, &SizePoint)| {
        let mut cells = vec![count(step.size as u64), value(headline, step)];
        cells.extend((headline != HeadlineMetric::Loss).then(|| loss(step.loss)));
        let mark = match (at == size_path.chosen, step.outputs.is_empty()) {
            (true, _) if is_step => "◄ this model",
            (true, _) => "◄ resized from",
            (false, false) => "resize",
            (false, true) => "",
        };
        cells.extend([format!("{:.1}", step.selected), mark.into()]);
        cells
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(size_path.sizes.iter().enumerate().map(row)).collect();
    let mut text = format!(
        "size path with held-out estimates\n{}per path: mean number of features that a path selects",
        table::narrowed(rows),
    );
    if size_path.sizes.iter().any(|step| !step.outputs.is_empty()) {
        let path = shell_word(path);
        text +=
            &format!("\nresize: `tamis resize {path} --k N -o FILE` writes this size or a smaller one without data");
    }
    text
}

/// How many features are confirmed, in sentences.
pub fn certainty(model: &Model, tests: &FeatureTests, fdr: f64) -> String {
    let rows = count(tests.rows);
    match tests.certainty(fdr) {
        Certainty::NotTested => {
            format!(
                "features are not tested: {rows} rows are too few (at least {} are needed)",
                FeatureTests::FEWEST_ROWS
            )
        }
        Certainty::Nothing { few_rows } => {
            let first = format!(
                "no feature is confirmed at q ≤ {fdr}: these rows cannot tell any of them from chance. The model may \
                 still predict"
            );
            let entered = count(tests.entered as u64);
            let few =
                format!("; {rows} rows are few for {entered} features, so that only strong effects could be confirmed");
            if few_rows { first + &few } else { first }
        }
        Certainty::Confirmed(confirmed) => {
            let names: BTreeSet<&str> = tests.confirmed(fdr).iter().map(|test| test.name.as_str()).collect();
            let features = model.outputs.iter().flat_map(|output| &output.features);
            let inside =
                features.map(|one| one.name.as_str()).filter(|name| names.contains(name)).collect::<BTreeSet<_>>();
            let of_model = format!("{} of them in this model", count(inside.len() as u64));
            let of_model = if inside.len() == confirmed { String::new() } else { format!(", {of_model}") };
            let (are, all) = (if confirmed == 1 { "feature is" } else { "features are" }, count(confirmed as u64));
            format!(
                "{all} {are} confirmed (q ≤ {fdr}){of_model}: on average, at most {} % of confirmed features are \
                 false discoveries",
                100.0 * fdr
            )
        }
    }
}

/// The confirmed features as JSON, at the usual false discovery rate.
pub fn confirmed_json(tests: &FeatureTests) -> Value {
    json!({
        "q": DEFAULT_FDR,
        "count": tests.confirmed(DEFAULT_FDR).len(),
        "tested": tests.tests.len(),
        "entered": tests.entered,
        "rows": tests.rows,
    })
}

/// The size path as JSON.
pub fn as_json(size_path: &SizePath) -> Value {
    let step = |(number, step): (usize, &SizePoint)| {
        json!({
            "size": step.size,
            "error": step.error,
            "standard_error": step.standard_error,
            "loss": step.loss,
            "mean_per_path": step.selected,
            "chosen": number == size_path.chosen,
            "resizable": !step.outputs.is_empty(),
        })
    };
    size_path.sizes.iter().enumerate().map(step).collect()
}
