//! A kernel model as text and JSON: held-out errors, variables, interactions, sizes.

use serde_json::{Value, json};
use tamis::model::kernel::{KernelEffect, KernelInteraction, KernelModel, KernelScore, KernelSize};
use tamis::model::summary::HeadlineMetric;
use tamis::model::{DEFAULT_FDR, Model};

use super::format::{count, loss, percent, shell_word};
use super::table;
use super::terminal::{clipped, one_line};

/// The longest name in a table.
const NAME: usize = 40;

/// A held-out score with its standard error: the error of classes, the RMSE of numbers.
fn value(score: &KernelScore) -> String {
    match (score.error, score.error_se) {
        (Some(error), Some(deviation)) => format!("{:.2} ± {}", 100.0 * error, percent(deviation)),
        _ => {
            let rmse = score.loss.max(0.0).sqrt();
            format!("{} ± {}", loss(rmse), loss(rmse * score.squared_se / (2.0 * score.squared).max(f64::MIN_POSITIVE)))
        }
    }
}

fn variables(number: usize) -> String {
    format!("{} variable{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// The held-out estimate beside those of a constant and of a linear model, in a line.
pub fn estimate(model: &Model, kernel: &KernelModel) -> String {
    let metric = HeadlineMetric::of(model).name();
    let (own, constant, linear) = (value(kernel.score()), value(&kernel.constant_score), value(&kernel.linear_score));
    let size = mean_size(kernel.linear_size);
    format!("held-out {metric} {own}; a constant {constant}; a linear model of {size} {linear}")
}

/// The mean number of features over folds.
fn mean_size(size: f64) -> String {
    match size {
        1.0 => "1 feature".to_string(),
        whole if whole.fract() == 0.0 => format!("{whole} features"),
        mean => format!("{mean:.1} features on average"),
    }
}

/// What a fit found, and what to do about it.
pub fn findings(model: &Model, kernel: &KernelModel, path: &str) -> String {
    let resize = |size: usize| format!("`tamis resize {} --k {size} -o FILE`", shell_word(path));
    let mut lines = Vec::new();
    if !kernel.is_better_than_constant {
        lines.push("nothing found: no number of variables predicts held-out rows better than a constant".to_string());
    } else if kernel.is_linear_as_good {
        lines.push("a linear model does as well on held-out rows: use another method, such as stabilized".into());
    }
    if !kernel.tests.is_empty() && kernel.is_better_than_constant {
        let confirmed = kernel.confirmed(DEFAULT_FDR).len();
        let own =
            kernel.names().iter().filter(|name| kernel.q_value(&[name]).is_some_and(|q| q <= DEFAULT_FDR)).count();
        lines.push(format!(
            "{} confirmed at q ≤ {DEFAULT_FDR} on rows of outer folds, {} of them in this model",
            variables(confirmed),
            count(own as u64)
        ));
    }
    if kernel.rows_since > 0 {
        lines.push(format!(
            "{} rows have updated the weights since the search on {} rows, whose variables, held-out errors and q-values \
             are shown",
            count(kernel.rows_since),
            count(kernel.rows_of_search)
        ));
    }
    let best = &kernel.sizes[kernel.best];
    match kernel.size() {
        None => lines.push(format!("the model predicts a constant; {} writes a model of one variable", resize(1))),
        Some(size) if kernel.is_better_than_constant && size.size != best.size => {
            let metric = HeadlineMetric::of(model).name();
            let cure = if best.function.is_some() { format!(": {}", resize(best.size)) } else { String::new() };
            lines.push(format!("lowest held-out {metric}: {} with {}{cure}", value(&best.score), variables(best.size)));
        }
        Some(_) => {}
    }
    lines.join("\n")
}

/// The variables of the model, the most sensitive first, then its strong pairs.
pub fn effects(kernel: &KernelModel, top: usize) -> String {
    let Some(size) = kernel.size() else { return "no variables".into() };
    let name = |place: usize| clipped(&one_line(&kernel.variables[place].name), NAME);
    let with = |effect: &KernelEffect| {
        let pairs = size.interactions.iter().filter(|pair| pair.variables.contains(&effect.variable));
        let others = pairs.filter_map(|pair| pair.variables.into_iter().find(|&one| one != effect.variable));
        let names: Vec<String> = others.map(name).collect();
        if names.is_empty() { "alone".to_string() } else { format!("with {}", names.join(", ")) }
    };
    let row = |effect: &KernelEffect| {
        let share = format!("{:.0} %", 100.0 * effect.share);
        let q = q_text(kernel.q_value(&[&kernel.variables[effect.variable].name]));
        vec![name(effect.variable), loss(effect.sensitivity), loss(effect.least), share, q, with(effect)]
    };
    let head = ["variable", "sensitivity", "least", "folds", "q", ""].map(String::from).to_vec();
    let shown = size.variables.iter().take(top).map(row);
    let mut text = table::narrowed(std::iter::once(head).chain(shown).collect());
    if size.variables.len() > top {
        text += &format!("… and {} more\n", count((size.variables.len() - top) as u64));
    }
    if !size.interactions.is_empty() {
        let row = |pair: &KernelInteraction| {
            let [a, b] = pair.variables.map(name);
            vec![
                format!("{a} × {b}"),
                loss(pair.sensitivity),
                loss(pair.least),
                q_text(pair_q(kernel, pair)),
                String::new(),
            ]
        };
        let head = ["interaction", "sensitivity", "least", "q", ""].map(String::from).to_vec();
        let shown = size.interactions.iter().take(top).map(row);
        text += &format!("\n{}", table::narrowed(std::iter::once(head).chain(shown).collect()));
    }
    text.truncate(text.trim_end().len());
    text
}

/// The q-value of a pair.
fn pair_q(kernel: &KernelModel, pair: &KernelInteraction) -> Option<f64> {
    kernel.q_value(&pair.variables.map(|place| kernel.variables[place].name.as_str()))
}

/// A q-value; a dash for what was not tested.
fn q_text(q: Option<f64>) -> String {
    match q {
        None => "–".into(),
        Some(q) if q < 0.0005 => "< 0.001".into(),
        Some(q) => format!("{q:.3}"),
    }
}

/// What the columns of [`effects`] mean.
pub const LEGEND: &str = "sensitivity: mean product of the derivatives of two half-sample fits; about 0 for a \
     variable that does not matter\n\
     least: the least of four splits\n\
     folds: share of the outer folds whose own search selects the variable at this size\n\
     q: of variables (or pairs) with at most this value, at most this share are false discoveries, on average; tested on \
     rows of the outer folds, pairs of classes on the scale of log-odds";

/// The sizes as a table.
pub fn sizes(model: &Model, kernel: &KernelModel, path: &str) -> String {
    let head = ["variables", HeadlineMetric::of(model).name(), "squared error", ""].map(String::from).to_vec();
    let squared = |score: &KernelScore| format!("{:.4} ± {:.4}", score.squared, score.squared_se);
    let row = |(place, size): (usize, &KernelSize)| {
        let mark = match (kernel.chosen == Some(place), size.function.is_some()) {
            (true, _) => "◄ this model",
            (false, true) => "resize",
            (false, false) => "",
        };
        vec![count(size.size as u64), value(&size.score), squared(&size.score), mark.to_string()]
    };
    let other = |name: &str, score: &KernelScore, mark: &str| {
        vec![name.to_string(), value(score), squared(score), mark.to_string()]
    };
    let mut rows = vec![head];
    rows.extend(kernel.sizes.iter().enumerate().map(row));
    rows.push(other("constant", &kernel.constant_score, if kernel.chosen.is_none() { "◄ this model" } else { "" }));
    rows.push(other("linear", &kernel.linear_score, &mean_size(kernel.linear_size)));
    format!(
        "held-out errors by number of variables, on outer folds\n{}squared error: in units of the variance of the \
         target\nresize: `tamis resize {} --k N -o FILE` writes this size without data",
        table::narrowed(rows),
        shell_word(path)
    )
}

/// Variables as rows of CSV.
pub fn csv_rows(kernel: &KernelModel, top: usize) -> Vec<Vec<String>> {
    let head = ["name", "sensitivity", "least", "share", "q"].map(String::from).to_vec();
    let effects = kernel.size().map(|size| &size.variables[..]).unwrap_or_default();
    let row = |effect: &KernelEffect| {
        let name = &kernel.variables[effect.variable].name;
        let numbers = [effect.sensitivity, effect.least, effect.share].map(|number| number.to_string());
        let q = kernel.q_value(&[name]).map(|q| q.to_string()).unwrap_or_default();
        std::iter::once(name.clone()).chain(numbers).chain([q]).collect()
    };
    std::iter::once(head).chain(effects.iter().take(top).map(row)).collect()
}

/// Variables as JSON, as `features` of `inspect`.
pub fn features_json(kernel: &KernelModel, top: usize) -> Vec<Value> {
    let effects = kernel.size().map(|size| &size.variables[..]).unwrap_or_default();
    let feature = |effect: &KernelEffect| {
        let KernelEffect { variable, sensitivity, least, share, at, margins } = effect;
        json!({
            "name": kernel.variables[*variable].name,
            "sensitivity": sensitivity,
            "least": least,
            "share": share,
            "q": kernel.q_value(&[&kernel.variables[*variable].name]),
            "curve": {"at": at, "margins": margins},
        })
    };
    effects.iter().take(top).map(feature).collect()
}

/// Everything else about the model as JSON.
pub fn as_json(kernel: &KernelModel) -> Value {
    let name = |place: usize| &kernel.variables[place].name;
    let interaction = |pair: &KernelInteraction| {
        let KernelInteraction { variables, sensitivity, least, at, margins } = pair;
        let surface = json!({"at": at, "margins": margins});
        json!({
            "variables": variables.map(name),
            "sensitivity": sensitivity,
            "least": least,
            "q": pair_q(kernel, pair),
            "surface": surface,
        })
    };
    let size = |(place, size): (usize, &KernelSize)| {
        json!({
            "size": size.size,
            "score": size.score,
            "chosen": kernel.chosen == Some(place),
            "resizable": size.function.is_some(),
            "variables": size.variables.iter().map(|effect| name(effect.variable)).collect::<Vec<_>>(),
        })
    };
    let pairs = kernel.size().map(|size| &size.interactions[..]).unwrap_or_default();
    json!({
        "inputs": kernel.inputs,
        "family": kernel.family,
        "is_better_than_constant": kernel.is_better_than_constant,
        "is_linear_as_good": kernel.is_linear_as_good,
        "best_size": kernel.sizes[kernel.best].size,
        "score": kernel.score(),
        "constant": kernel.constant_score,
        "linear": kernel.linear_score,
        "linear_size": kernel.linear_size,
        "interactions": pairs.iter().map(interaction).collect::<Vec<_>>(),
        "sizes": kernel.sizes.iter().enumerate().map(size).collect::<Vec<_>>(),
        "searches": kernel.searches,
        "scan": kernel.scan,
        "tests": kernel.tests,
        "confirmed": kernel.confirmed(DEFAULT_FDR),
        "rows_of_search": kernel.rows_of_search,
        "rows_since": kernel.rows_since,
    })
}
