//! A table with the paper's values beside ours: as text, Markdown and JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::output::aligned;
use crate::spec::{Cell, DataSet, Experiment, Protocol, ProtocolName, TablePlan};

/// One cell of the paper's table, shown as a line.
pub struct Line {
    pub row: String,
    pub column: String,
    pub paper: Option<Vec<f64>>,
    /// Our value, or why there is none.
    pub ours: Result<Vec<f64>, String>,
    pub before: Option<Vec<f64>>,
    pub setting: String,
}

impl Line {
    fn difference(&self) -> Option<f64> {
        Some(self.ours.as_ref().ok()?.first()? - self.paper.as_ref()?.first()?)
    }
}

/// The value of a measure in a cell.
pub fn value_of(cell: &Cell, measure: &str) -> Result<Vec<f64>, String> {
    cell.values.get(measure).cloned().ok_or_else(|| format!("{measure} is not measured by this protocol"))
}

const HEAD: [&str; 7] = ["", "", "paper", "ours", "difference", "last recorded", "setting"];

fn number(values: &[f64], decimals: usize) -> String {
    let digits = |value: f64| match value.abs() {
        size if size >= 1000.0 || (size >= 10.0 && value.fract() == 0.0) => format!("{value:.0}"),
        _ => format!("{value:.decimals$}"),
    };
    match values {
        [value] => digits(*value),
        [value, deviation, ..] => format!("{} ± {}", digits(*value), digits(*deviation)),
        [] => String::new(),
    }
}

fn cells(line: &Line, table: &TablePlan) -> [String; 7] {
    let decimals = table.decimals;
    let difference = line.difference().map(|difference| {
        let mark = match table.tolerance {
            Some(tolerance) if difference.abs() <= tolerance => " ✓",
            Some(_) => " ✗",
            None => "",
        };
        if difference.fract() == 0.0 {
            format!("{difference:+.0}{mark}")
        } else {
            format!("{difference:+.decimals$}{mark}")
        }
    });
    let (ours, remark) = match &line.ours {
        Ok(values) => (number(values, decimals), line.setting.clone()),
        Err(reason) => ("–".to_string(), reason.clone()),
    };
    let optional =
        |values: &Option<Vec<f64>>| values.as_deref().map(|values| number(values, decimals)).unwrap_or_default();
    [
        line.row.clone(),
        line.column.clone(),
        optional(&line.paper),
        ours,
        difference.unwrap_or_default(),
        optional(&line.before),
        remark,
    ]
}

/// The table as text.
pub fn text(table: &TablePlan, lines: &[Line]) -> String {
    let all: Vec<[String; 7]> = lines.iter().map(|line| cells(line, table)).collect();
    let mut rows = vec![HEAD.to_vec()];
    rows.extend(all.iter().map(|cells| cells.iter().map(String::as_str).collect::<Vec<_>>()));
    aligned(&rows)
}

/// How our values are measured.
fn method(protocol: &Protocol, name: ProtocolName) -> String {
    let Protocol { folds, rule, runs, epochs, .. } = protocol;
    let tuned = format!("Our values: hyper-parameters chosen by {folds}-fold cross-validation on the training rows");
    match name {
        ProtocolName::Describe => "Counted from the files.".to_string(),
        ProtocolName::TuneThenOrderings => format!(
            "{tuned} (rule `{rule}`), then {runs} fits with different seeds (row order and all other random choices), each \
             tested once."
        ),
        ProtocolName::ByEpoch => format!("{tuned}; then one pass, measured after each of {epochs} epochs."),
        ProtocolName::ByDraws | ProtocolName::AtEqualSize => format!(
            "{tuned}; then {runs} samples of the features of one model: mean ± standard deviation over the samples."
        ),
        ProtocolName::SparsestWithin => format!(
            "Our values: the sparsest setting that loses at most {} % of the performance of `{}` in {folds}-fold \
             cross-validation on the training rows, fitted to all training rows and tested once.",
            100.0 * protocol.within,
            protocol.baseline.as_deref().unwrap_or_default()
        ),
        ProtocolName::Detection => "Our values: mean ± standard deviation over generated data sets (`expected.toml` gives \
             their number); models have the true number of features and are tested on further rows."
            .to_string(),
        ProtocolName::Drift => "Our values: the model of all earlier rows predicts each period; mean ± standard deviation \
             over generated streams."
            .to_string(),
        ProtocolName::Regret => "Our values: mean ± standard deviation over generated streams of the progressive loss minus \
             the loss of least squares on the true features in hindsight; models from running averages are solved again \
             whenever the number of rows has grown by a fourth."
            .to_string(),
        ProtocolName::Metric => format!(
            "Our values: mean ± standard deviation over random splits with {} % of the rows for training (one run if the \
             data set has its own test rows), or over newly generated data sets; the last column says how many runs chose \
             which candidate. {folds}-fold cross-validation on training rows chooses the candidate and its number of steps.",
            100.0 * protocol.train_share
        ),
        ProtocolName::RandomSplits => format!(
            "Our values: mean ± standard deviation over {runs} random splits; {folds}-fold cross-validation from the running \
             averages of the training rows chooses the size, and each model is tested once."
        ),
    }
}

/// The table as a Markdown page.
pub fn markdown(experiment: &Experiment, name: &str, table: &TablePlan, lines: &[Line]) -> String {
    let mut page =
        format!("# Table {name}: {}\n\n{}\n\n{}\n\n", table.title, experiment.paper, experiment.about.trim());
    let how = method(&experiment.protocol, table.protocol.unwrap_or(experiment.protocol.name));
    writeln!(page, "{how}\n").expect("writing to a string cannot fail");
    if let (Some(tolerance), Some(why)) = (table.tolerance, &table.why) {
        writeln!(page, "✓ within {tolerance} of the paper, ✗ beyond. {why}\n")
            .expect("writing to a string cannot fail");
    }
    let row = |cells: &[String]| {
        format!("| {} |\n", cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
    };
    page.push_str(&row(&HEAD.map(String::from)));
    page.push_str("|---|---|--:|--:|--:|--:|---|\n");
    lines.iter().for_each(|line| page.push_str(&row(&cells(line, table))));
    let used: std::collections::BTreeSet<&str> = table.rows.iter().map(|row| row.data.as_str()).collect();
    let notes: Vec<(&str, &DataSet)> = used.into_iter().map(|name| (name, &experiment.data[name])).collect();
    for (_, data) in notes {
        if let Some(note) = &data.note {
            write!(page, "\n{}: {note}\n", data.title).expect("writing to a string cannot fail");
        }
    }
    page
}

/// The table as JSON.
pub fn as_json(name: &str, table: &TablePlan, lines: &[Line]) -> Value {
    let line = |line: &Line| {
        json!({
            "row": line.row,
            "column": line.column,
            "paper": line.paper,
            "ours": line.ours.as_ref().ok(),
            "difference": line.difference(),
            "recorded": line.before,
            "setting": line.setting,
            "missing": line.ours.as_ref().err(),
        })
    };
    json!({"table": name, "title": table.title, "measure": table.measure, "lines": lines.iter().map(line).collect::<Vec<_>>()})
}
