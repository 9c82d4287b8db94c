//! A table with the paper's numbers beside ours, for the screen and as a page of Markdown.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::output::aligned;
use crate::spec::{Cell, DataSet, Experiment, ProtocolName, TablePlan};

/// One line: a cell of the paper's table.
pub struct Line {
    pub row: String,
    pub column: String,
    pub paper: Option<Vec<f64>>,
    /// Ours, or why there is none.
    pub ours: Result<Vec<f64>, String>,
    pub before: Option<Vec<f64>>,
    pub setting: String,
}

impl Line {
    fn difference(&self) -> Option<f64> {
        Some(self.ours.as_ref().ok()?.first()? - self.paper.as_ref()?.first()?)
    }
}

/// A cell's number of a table: the measure asked for, or the measure that names the column.
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
        match difference.fract() == 0.0 {
            true => format!("{difference:+.0}{mark}"),
            false => format!("{difference:+.decimals$}{mark}"),
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

/// The table for the screen.
pub fn text(table: &TablePlan, lines: &[Line]) -> String {
    let all: Vec<[String; 7]> = lines.iter().map(|line| cells(line, table)).collect();
    let mut rows = vec![HEAD.to_vec()];
    rows.extend(all.iter().map(|cells| cells.iter().map(String::as_str).collect::<Vec<_>>()));
    aligned(&rows)
}

/// The table as a page.
pub fn markdown(experiment: &Experiment, name: &str, table: &TablePlan, lines: &[Line]) -> String {
    let mut page =
        format!("# Table {name}: {}\n\n{}\n\n{}\n\n", table.title, experiment.paper, experiment.about.trim());
    let protocol = &experiment.protocol;
    let how = match table.protocol.unwrap_or(protocol.name) {
        ProtocolName::Describe => "Counted from the files.".to_string(),
        ProtocolName::TuneThenOrderings => format!(
            "Ours: settings by {}-fold cross-validation on the training rows (rule `{}`), then {} seeds (orders of all \
             training rows and every other random choice), each tested once.",
            protocol.folds, protocol.rule, protocol.runs
        ),
        ProtocolName::ByEpoch => format!(
            "Ours: settings by {}-fold cross-validation on the training rows; then one pass, cut after each of {} epochs.",
            protocol.folds, protocol.epochs
        ),
        ProtocolName::ByDraws | ProtocolName::AtEqualSize => format!(
            "Ours: settings by {}-fold cross-validation on the training rows; then one model, its features drawn {} times: \
             mean ± standard deviation over the drawings.",
            protocol.folds, protocol.runs
        ),
        ProtocolName::SparsestWithin => format!(
            "Ours: by {}-fold cross-validation on the training rows, the sparsest setting that loses at most {} % of the \
             performance of `{}`; then learned on all training rows and tested once.",
            protocol.folds,
            100.0 * protocol.within,
            protocol.baseline.as_deref().unwrap_or_default()
        ),
        ProtocolName::Detection => {
            "Ours: mean ± standard deviation over generated data sets, as many as the rows of this \
             table say in `expected.toml`; models have the true number of features and are tested on further rows."
                .to_string()
        }
        ProtocolName::Drift => "Ours: each period is predicted by the model of all rows before it; mean ± standard \
             deviation over generated streams."
            .to_string(),
        ProtocolName::Regret => "Ours: mean ± standard deviation over generated streams, of the loss on the way less that of \
             least squares on the true features in hindsight; models from running averages are made anew whenever the rows \
             have grown by a fourth."
            .to_string(),
        ProtocolName::Metric => format!(
            "Ours: mean ± standard deviation over random splits, {} % of the rows for learning (one run where the files bring \
             their own test rows), or over data sets made anew; the last column says how many runs chose which candidate. \
             Candidate and steps are chosen by {}-fold cross-validation on training rows.",
            100.0 * protocol.train_share,
            protocol.folds
        ),
        ProtocolName::RandomSplits => format!(
            "Ours: mean ± standard deviation over {} random splits; sizes by {}-fold cross-validation from the running \
             averages of the training rows, each model tested once.",
            protocol.runs, protocol.folds
        ),
    };
    writeln!(page, "{how}\n").expect("text grows");
    if let (Some(tolerance), Some(why)) = (table.tolerance, &table.why) {
        writeln!(page, "✓ within {tolerance} of the paper, ✗ beyond. {why}\n").expect("text grows");
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
            write!(page, "\n{}: {note}\n", data.title).expect("text grows");
        }
    }
    page
}

/// The table for machines.
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
