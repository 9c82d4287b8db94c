//! The evaluation of a model, class by class, as JSON and as text.

use serde_json::{Value, json};
use tamis::eval::{ClassMetrics, ClassReport, Metrics};

use super::table::aligned;

/// The largest number of classes for which the confusion matrix is printed.
const MATRIX: usize = 12;

/// The metrics by their names, those of each class, their means and the confusion matrix.
pub fn as_json(measures: &Metrics, report: Option<&ClassReport>) -> Value {
    let mut value = json!(measures);
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, json!(report)) {
        fields.extend(more);
    }
    value
}

/// A table of the metrics of each class and their means, and the confusion matrix if it is small.
pub fn table(report: &ClassReport) -> String {
    let share = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
    let row = |class: &ClassMetrics| {
        let ClassMetrics { class, n, precision, recall, f1, pr_auc } = class;
        [class.to_string(), n.to_string(), share(*precision), share(*recall), share(*f1), share(*pr_auc)]
    };
    let head = ["class", "rows", "precision", "recall", "F1", "PR-AUC"].map(String::from);
    let means = &report.averages;
    let average = [Some(means.precision), Some(means.recall), Some(means.f1), means.pr_auc].map(share);
    let mut rows: Vec<Vec<String>> = vec![head.to_vec()];
    rows.extend(report.classes.iter().map(|class| row(class).to_vec()));
    rows.push(["mean of classes".to_string(), String::new()].into_iter().chain(average).collect());
    let metrics = text(&rows);
    match report.classes.len() <= MATRIX {
        true => format!("{metrics}\n\n{}", confusion(report)),
        false => metrics,
    }
}

fn confusion(report: &ClassReport) -> String {
    let names = || report.classes.iter().map(|class| class.class.to_string());
    let mut rows: Vec<Vec<String>> = vec![std::iter::once("true \\ predicted".to_string()).chain(names()).collect()];
    rows.extend(
        names()
            .zip(&report.confusion)
            .map(|(name, weights)| std::iter::once(name).chain(weights.iter().map(f64::to_string)).collect()),
    );
    text(&rows)
}

fn text(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    aligned(&rows).trim_end().to_string()
}
