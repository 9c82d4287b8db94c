//! Evaluation on labelled rows: metrics with intervals, ROC curve, calibration, confusion matrix.

use tamis::eval::{Evaluation, Interval, Metrics};
use tamis::model::summary::count;
use tamis::model::{Model, Task};

use crate::chart::Chart;
use crate::context::ReportContext;
use crate::html::{Html, clipped, paragraph, plain, prose};
use crate::page::{Section, details, figure, row};
use crate::table::{Cell, Table, per_cent, short_number};

/// The largest number of classes for which the confusion matrix is shown.
const CLASSES: usize = 30;

/// The section, if the model was evaluated.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    let (name, evaluation) = context.evaluation?;
    let same = if evaluation.measures.n == model.seen.rows {
        let text = "The number of rows is that of the training data. If these are the training rows, the results are optimistic.";
        paragraph(text, &[])
    } else {
        Html::new()
    };
    let mut body = summary(name, evaluation).with(same).with(metrics(evaluation).html());
    let mut figures = Vec::new();
    figures.extend(roc(model, evaluation));
    figures.extend(calibration(model, evaluation));
    if !figures.is_empty() {
        body = body.with(row(figures));
    }
    if !evaluation.calibration.is_empty() {
        body = body.with(details("Show calibration as a table", bins(model, evaluation).html()));
    }
    if let Some(table) = per_class(evaluation) {
        body = body.with(plain("h3", "Classes")).with(table.html());
    }
    if let Some(table) = confusion(model, evaluation) {
        body = body.with(plain("h3", prose("[Confusion matrix|confusion matrix]", &[]))).with(table.html());
    }
    Some(Section::new("evaluation", "Evaluation", body))
}

fn summary(name: &str, evaluation: &Evaluation) -> Html {
    let rows = count(evaluation.measures.n);
    let between =
        |interval: &Interval, text: fn(f64) -> String| [interval.value, interval.low, interval.high].map(text);
    match (&evaluation.error, &evaluation.rmse) {
        (Some(error), _) => {
            let [value, low, high] = between(error, per_cent);
            paragraph(
                "On the {} rows of `{}` the [error] is *{}* (95 % [interval]: {} to {}).",
                &[&rows, name, &value, &low, &high],
            )
        }
        (None, Some(rmse)) => {
            let [value, low, high] = between(rmse, short_number);
            paragraph(
                "On the {} rows of `{}` the [RMSE] is *{}* (95 % [interval]: {} to {}).",
                &[&rows, name, &value, &low, &high],
            )
        }
        _ => paragraph("The model was evaluated on the {} rows of `{}`.", &[&rows, name]),
    }
}

fn metrics(evaluation: &Evaluation) -> Table {
    // Taken apart field by field, so that no metric is left out; most have an interval.
    let Metrics { n: _, error: _, auc: _, log_loss: _, rmse: _, r2, loss } = evaluation.measures;
    let mut table = Table::new("Metrics", &["metric", "value", "from|interval", "to|interval"]);
    let mut add = |name: &str, interval: Option<Interval>, text: fn(f64) -> String| {
        if let Some(Interval { value, low, high }) = interval {
            let shown = |value: f64| Cell::Shown(value, text(value));
            table.row(vec![Cell::Text(name.into()), shown(value), shown(low), shown(high)]);
        }
    };
    add("error", evaluation.error, per_cent);
    add("AUC", evaluation.auc, short_number);
    add("log loss", evaluation.log_loss, short_number);
    add("RMSE", evaluation.rmse, short_number);
    if let Some(r2) = r2 {
        table.row(vec![Cell::Text("R²".into()), Cell::Number(r2), Cell::Empty, Cell::Empty]);
    }
    if let Some(loss) = loss {
        table.row(vec![Cell::Text("mean loss".into()), Cell::Number(loss), Cell::Empty, Cell::Empty]);
    }
    table.with_note(match (evaluation.auc, r2) {
        (Some(_), _) => prose("From and to: 95 % [interval]. See also [AUC], [log loss].", &[]),
        (None, Some(_)) => prose("From and to: 95 % [interval]. See also [R²].", &[]),
        _ => prose("From and to: 95 % [interval].", &[]),
    })
}

fn roc(model: &Model, evaluation: &Evaluation) -> Option<Html> {
    let Task::Classes(classes) = &model.task else { return None };
    if evaluation.roc.is_empty() {
        return None;
    }
    let percent = |points: &[(f64, f64)]| points.iter().map(|&(x, y)| (100.0 * x, 100.0 * y)).collect::<Vec<_>>();
    let positive = classes.get(1).map(|class| clipped(&class.to_string(), 24)).unwrap_or_default();
    let chart = Chart::new("ROC curve")
        .size(460.0, 260.0)
        .x("false positive rate (%)")
        .y("true positive rate (%)")
        .line("model", percent(&evaluation.roc))
        .line("chance", vec![(0.0, 0.0), (100.0, 100.0)]);
    Some(figure(chart.inline(), prose("[ROC curve] for class {}; the area under it is the [AUC]", &[&positive])))
}

fn calibration(model: &Model, evaluation: &Evaluation) -> Option<Html> {
    if evaluation.calibration.len() < 2 {
        return None;
    }
    let is_regression = model.task == Task::Regression;
    let unit = if is_regression { 1.0 } else { 100.0 };
    let spans: Vec<_> = evaluation
        .calibration
        .iter()
        .map(|bin| [bin.predicted, bin.observed.value, bin.observed.low, bin.observed.high].map(|value| unit * value))
        .map(|[x, y, low, high]| (x, y, low, high))
        .collect();
    let ends =
        spans.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), span| (low.min(span.0), high.max(span.0)));
    let (low, high) = if is_regression { ends } else { (0.0, 100.0) };
    let (x, y) = if is_regression {
        ("predicted", "observed mean")
    } else {
        ("predicted probability (%)", "observed frequency (%)")
    };
    let chart = Chart::new("Calibration curve")
        .size(460.0, 260.0)
        .x(x)
        .y(y)
        .spans("binned predictions", spans)
        .line("perfect calibration", vec![(low, low), (high, high)]);
    let caption =
        if is_regression { "Observed against predicted".into() } else { prose("[Calibration|calibration] curve", &[]) };
    Some(figure(chart.inline(), caption))
}

fn bins(model: &Model, evaluation: &Evaluation) -> Table {
    let mut table = Table::new("Calibration", &["predicted", "observed", "from|interval", "to|interval", "rows"]);
    let text = if model.task == Task::Regression { short_number } else { per_cent };
    let shown = |value: f64| Cell::Shown(value, text(value));
    for bin in &evaluation.calibration {
        let Interval { value, low, high } = bin.observed;
        table.row(vec![
            shown(bin.predicted),
            shown(value),
            shown(low),
            shown(high),
            Cell::Shown(bin.rows as f64, count(bin.rows)),
        ]);
    }
    table
}

fn confusion(model: &Model, evaluation: &Evaluation) -> Option<Table> {
    let classes = model.classes();
    let report = evaluation.classes.as_ref()?;
    if classes.is_empty() || classes.len() > CLASSES || report.confusion.len() != classes.len() {
        return None;
    }
    let names: Vec<String> = classes.iter().map(|class| clipped(&class.to_string(), 24)).collect();
    let columns: Vec<String> = names.iter().map(|name| format!("predicted {name}")).collect();
    let mut heads = vec!["true class"];
    heads.extend(columns.iter().map(String::as_str));
    let mut table = Table::new("Confusion matrix", &heads);
    for (truth, row) in report.confusion.iter().enumerate() {
        let mut cells = vec![Cell::Text(names[truth].clone())];
        cells.extend(row.iter().map(|&weight| Cell::Number(weight)));
        table.row(cells);
    }
    Some(table)
}

/// Precision, recall, F1 and PR-AUC of each class, and their means.
fn per_class(evaluation: &Evaluation) -> Option<Table> {
    let report = evaluation.classes.as_ref()?;
    let mut table = Table::new("Classes", &["class", "rows", "precision", "recall", "F1", "PR-AUC"]);
    let share = |value: Option<f64>| value.map_or(Cell::Empty, Cell::Share);
    for class in &report.classes {
        let name = Cell::Text(clipped(&class.class.to_string(), 24));
        let rows = Cell::Number(class.n);
        table.row(vec![
            name,
            rows,
            share(class.precision),
            share(class.recall),
            share(class.f1),
            class.pr_auc.map_or(Cell::Empty, Cell::Number),
        ]);
    }
    let means = &report.averages;
    let mut cells = vec![Cell::Text("mean of classes".into()), Cell::Empty];
    cells.extend([means.precision, means.recall, means.f1].map(Cell::Share));
    cells.push(means.pr_auc.map_or(Cell::Empty, Cell::Number));
    table.row(cells);
    Some(table.with_note(prose("See also [precision], [recall], [F1], [PR-AUC].", &[])))
}
