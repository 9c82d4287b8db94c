//! A model as text: a summary and its features.

use std::fmt::Write as _;

use tamis::eval::Metrics;
use tamis::model::summary::q_text;
use tamis::model::{Feature, Model, Sampling, Task};

use super::format::{count, features as features_of, loss, passes, percent, rows};
use super::table::omitted_columns;
use super::terminal::{block, clipped, columns as columns_of, one_line, padded, width};
use super::{kernel, sizes};

/// The type of the target.
pub fn task_name(model: &Model) -> &'static str {
    match &model.task {
        Task::Regression => "regression",
        Task::Classes(classes) if classes.len() == 2 => "binary",
        Task::Classes(_) => "multiclass",
    }
}

/// Metrics in one line.
pub fn measures(measures: &Metrics) -> String {
    // Taken apart field by field, so that no metric is left out.
    let &Metrics { n, error, auc, log_loss, rmse, r2, loss: mean_loss } = measures;
    let named = [
        ("error", error.map(percent)),
        ("AUC", auc.map(|auc| format!("{auc:.4}"))),
        ("log loss", log_loss.map(|loss| format!("{loss:.4}"))),
        ("RMSE", rmse.map(|rmse| format!("{rmse:.6}"))),
        ("R²", r2.map(|r2| format!("{r2:.4}"))),
        ("mean loss", mean_loss.map(|mean| format!("{mean:.6}"))),
    ];
    let known = named.into_iter().filter_map(|(name, value)| Some(format!(", {name} {}", value?)));
    format!("{}{}", rows(n), known.collect::<String>())
}

/// A summary of a few lines.
pub fn summary(model: &Model) -> String {
    let seen = &model.seen;
    let target = match &model.task {
        Task::Regression => "regression".to_string(),
        Task::Classes(classes) => {
            let names: Vec<String> = classes.iter().take(10).map(|class| one_line(&class.to_string())).collect();
            let more = if classes.len() > 10 { ", …" } else { "" };
            format!("{} classes ({}{more})", classes.len(), names.join(", "))
        }
    };
    let mut lines = vec![
        format!("{target}, method {}, {} loss", model.recipe.method_name(), model.loss.name()),
        format!(
            "{}, {}, {} seen, {} selected",
            rows(seen.rows),
            passes(seen.passes),
            features_of(seen.features),
            count(model.nonzeros() as u64)
        ),
    ];
    if let Some(size_path) = &model.size_path {
        lines.push(sizes::estimate(model, size_path));
    } else if let Some(kernel) = &model.kernel {
        lines.push(kernel::estimate(model, kernel));
    } else if let Some(error) = seen.progressive_error {
        lines.push(format!("progressive validation error {}{}", percent(error), optimistic(seen.passes)));
    }
    lines.extend(model.sampling.as_ref().map(sampling));
    if seen.skipped > 0 {
        lines.push(format!("{} malformed lines skipped", count(seen.skipped)));
    }
    lines.join("\n")
}

/// Progressive validation predicts each row before it is learned, but the rows of a second pass were learned in the first.
fn optimistic(number: u32) -> String {
    match number {
        0 | 1 => String::new(),
        _ => format!(" over {}, optimistic: the later ones predict rows that were learned", passes(number)),
    }
}

/// How features were sampled, in a line.
pub fn sampling(sampling: &Sampling) -> String {
    let Sampling { law, draws, expected, candidates, epochs, settings } = sampling;
    let of = count(*candidates as u64);
    let how = match draws {
        Some(draws) if *draws >= *candidates as u64 => {
            format!("all {of} candidates kept (as many draws as candidates)")
        }
        Some(draws) => {
            format!("{} draws by {} from {of} candidates (expected {expected:.1} distinct)", count(*draws), law.name())
        }
        None if *expected >= *candidates as f64 => format!("all {of} candidates kept"),
        None => format!("{expected:.0} of {of} candidates sampled by {}", law.name()),
    };
    let s = if *epochs == 1 { "" } else { "s" };
    let flags = settings.iter().map(|(name, number)| format!(" --{name} {}", plain(*number))).collect::<String>();
    let chosen = if flags.is_empty() { flags } else { format!("; hyper-parameters{flags}") };
    format!("{how} after {epochs} epoch{s}{chosen}")
}

/// A number as a user would type it.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { loss(value) }
}

/// The features of largest effect with bars, output by output; the variables of a kernel model.
pub fn features(model: &Model, top: usize) -> String {
    if let Some(kernel) = &model.kernel {
        return kernel::effects(kernel, top);
    }
    let mut text = String::new();
    for output in &model.outputs {
        if let Some(class) = &output.class {
            writeln!(text, "class {class}").expect("text grows");
        }
        let shown = &output.features[..top.min(output.features.len())];
        text.push_str(&bars(model, shown));
        if output.features.len() > shown.len() {
            writeln!(text, "… and {} more", count((output.features.len() - shown.len()) as u64)).expect("text grows");
        }
        writeln!(text, "intercept {}", output.intercept).expect("text grows");
    }
    text.truncate(text.trim_end().len());
    text
}

/// The shortest useful name and bar.
const MIN_NAME: usize = 7;
const MIN_BAR: usize = 4;

/// A table of name, numbers and a bar. Where the terminal is narrow, evidence is omitted first, then frequency.
fn bars(model: &Model, features: &[Feature]) -> String {
    let effect = |feature: &Feature| feature.weight * feature.scale;
    let largest = features.iter().map(|feature| effect(feature).abs()).fold(0.0, f64::max);
    let (columns, omitted) = number_columns(model, features);
    let used: usize = columns.iter().map(|column| 2 + columns_of(&column[0])).sum();
    let names = features.iter().map(|feature| columns_of(&feature.name)).max().unwrap_or(0);
    let rest = width().saturating_sub(used + 3);
    let names = names.clamp(MIN_NAME, rest.saturating_sub(MIN_BAR).clamp(MIN_NAME, width().max(24) / 2));
    let room = rest.saturating_sub(names).clamp(MIN_BAR, 40);
    let bar = |feature: &Feature| {
        let share = if largest > 0.0 { effect(feature).abs() / largest } else { 0.0 };
        let sign = if effect(feature) < 0.0 { "−" } else { "+" };
        sign.to_string() + &block().repeat((share * room as f64).ceil() as usize)
    };
    let line = |number: usize, name: &str, end: &str| {
        let cells: String = columns.iter().map(|column| format!("  {}", column[number])).collect();
        format!("{}{cells}  {end}\n", padded(&clipped(name, names), names))
    };
    let mut text = line(0, "feature", "effect");
    features.iter().enumerate().for_each(|(number, one)| text += &line(number + 1, &one.name, &bar(one)));
    text + &omitted_columns(&omitted)
}

/// Weight, q-value, frequency and evidence as columns that fit the terminal, and the names of those that do not.
fn number_columns(model: &Model, features: &[Feature]) -> (Vec<Vec<String>>, Vec<String>) {
    let is_tested = model.tests.as_ref().is_some_and(|tests| !tests.tests.is_empty());
    let mut columns = vec![
        column("weight", features, |feature| Some(format!("{:12.6}", feature.weight))),
        column("q", features, |feature| match model.test(&feature.name) {
            Some(test) => Some(q_text(test.q)),
            None if is_tested => Some("–".into()),
            None => None,
        }),
        column("frequency", features, |feature| Some(format!("{:.0} %", 100.0 * feature.frequency?))),
        column("evidence", features, |feature| {
            feature.evidence.map(|[mean, deviation]| format!("{mean:.1} ± {deviation:.1}"))
        }),
    ];
    columns.retain(|column| column.iter().skip(1).any(|cell| !cell.trim().is_empty()));
    let used = |columns: &[Vec<String>]| columns.iter().map(|column| 2 + columns_of(&column[0])).sum::<usize>();
    let mut omitted = Vec::new();
    while columns.len() > 1 && MIN_NAME + used(&columns) + 2 + MIN_BAR > width() {
        omitted.extend(columns.pop().map(|column| column[0].trim().to_string()));
    }
    (columns, omitted)
}

/// A heading and a cell for each feature, all of one width, aligned to the right.
fn column(head: &str, features: &[Feature], cell: impl Fn(&Feature) -> Option<String>) -> Vec<String> {
    let cells = features.iter().map(|feature| cell(feature).unwrap_or_default());
    let cells: Vec<String> = std::iter::once(head.to_string()).chain(cells).collect();
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    cells.iter().map(|cell| format!("{cell:>width$}")).collect()
}

/// What the columns of a stabilized model mean.
pub fn legend(paths: usize) -> String {
    format!(
        "q: false discovery rate up to which the feature is confirmed (–: not tested by itself)\n\
         frequency: share of {paths} paths that select the feature: how much they agree, not how sure it is\n\
         evidence: mean ± standard deviation over the paths, in standard errors of the gradient"
    )
}
