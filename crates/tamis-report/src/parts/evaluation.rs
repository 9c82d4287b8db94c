//! On labelled rows: measures with intervals, the ROC curve, calibration, who is taken for whom.

use crate::chart::Chart;
use crate::html::{Html, clipped, paragraph, plain, prose};
use crate::page::{Section, details, figure, row};
use crate::table::{Cell, Table, count, per_cent, short_number};
use tamis::eval::{Interval, Judged};
use tamis::model::{Model, Task};

/// Classes for which it is told who is taken for whom.
const CLASSES: usize = 30;

/// The section. `name` is the data's.
pub fn section(model: &Model, name: &str, judged: &Judged) -> Section {
    let same = match judged.measures.n == model.seen.rows {
        true => paragraph(
            "There are as many rows as the model was learned from. If they are the same, all of this flatters it.",
            &[],
        ),
        false => Html::new(),
    };
    let mut body = lead(name, judged).with(same).with(measures(judged).html());
    let mut figures = Vec::new();
    figures.extend(roc(model, judged));
    figures.extend(calibration(model, judged));
    if !figures.is_empty() {
        body = body.with(row(figures));
    }
    if !judged.calibration.is_empty() {
        body = body.with(details("Predicted and observed as a table", bins(model, judged).html()));
    }
    if let Some(table) = confusion(model, judged) {
        body = body.with(plain("h3", "Who is taken for whom")).with(table.html());
    }
    Section::new("data", "How good is it on other data?", body)
}

fn lead(name: &str, judged: &Judged) -> Html {
    let rows = count(judged.measures.n);
    let between =
        |interval: &Interval, text: fn(f64) -> String| [interval.value, interval.low, interval.high].map(text);
    match (&judged.error, &judged.rmse) {
        (Some(error), _) => {
            let [value, low, high] = between(error, per_cent);
            paragraph(
                "On the {} rows of `{}` the model names the wrong class for *{}* of the rows (between {} and {}, 95 % [interval]).",
                &[&rows, name, &value, &low, &high],
            )
        }
        (None, Some(rmse)) => {
            let [value, low, high] = between(rmse, short_number);
            paragraph(
                "On the {} rows of `{}` predictions are off by *{}* in the typical case ([RMSE], between {} and {}).",
                &[&rows, name, &value, &low, &high],
            )
        }
        _ => paragraph("Measured on the {} rows of `{}`.", &[&rows, name]),
    }
}

fn measures(judged: &Judged) -> Table {
    let mut table = Table::new("Measures", &["measure", "value", "from|interval", "to|interval"]);
    let mut add = |name: &str, interval: Option<Interval>, text: fn(f64) -> String| {
        if let Some(Interval { value, low, high }) = interval {
            let shown = |value: f64| Cell::Shown(value, text(value));
            table.row(vec![Cell::Text(name.into()), shown(value), shown(low), shown(high)]);
        }
    };
    add("error", judged.error, per_cent);
    add("AUC", judged.auc, short_number);
    add("log loss", judged.log_loss, short_number);
    add("RMSE", judged.rmse, short_number);
    if let Some(r2) = judged.measures.r2 {
        table.row(vec![Cell::Text("R²".into()), Cell::Number(r2), Cell::Empty, Cell::Empty]);
    }
    table.noted(match (judged.auc, judged.measures.r2) {
        (Some(_), _) => prose("From and to: 95 % [interval]. See also [AUC], [log loss].", &[]),
        (None, Some(_)) => prose("From and to: 95 % [interval]. See also [R²].", &[]),
        _ => prose("From and to: 95 % [interval].", &[]),
    })
}

fn roc(model: &Model, judged: &Judged) -> Option<Html> {
    let Task::Classes(classes) = &model.task else { return None };
    if judged.roc.is_empty() {
        return None;
    }
    let percent = |points: &[(f64, f64)]| points.iter().map(|&(x, y)| (100.0 * x, 100.0 * y)).collect::<Vec<_>>();
    let class = |at: usize| classes.get(at).map(|class| clipped(&class.to_string(), 24)).unwrap_or_default();
    let chart = Chart::new("ROC curve")
        .size(460.0, 260.0)
        .x(&format!("of class {}, called {} (%)", class(0), class(1)))
        .y(&format!("of class {}, found (%)", class(1)))
        .line("model", percent(&judged.roc))
        .line("guessing", vec![(0.0, 0.0), (100.0, 100.0)]);
    Some(figure(
        chart.inline(),
        prose("Found against false alarms, for every threshold (ROC; its area is the [AUC])", &[]),
    ))
}

fn calibration(model: &Model, judged: &Judged) -> Option<Html> {
    if judged.calibration.len() < 2 {
        return None;
    }
    let numbers = model.task == Task::Regression;
    let unit = if numbers { 1.0 } else { 100.0 };
    let spans: Vec<_> = judged
        .calibration
        .iter()
        .map(|bin| [bin.predicted, bin.observed.value, bin.observed.low, bin.observed.high].map(|value| unit * value))
        .map(|[x, y, low, high]| (x, y, low, high))
        .collect();
    let ends =
        spans.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), span| (low.min(span.0), high.max(span.0)));
    let (low, high) = if numbers { ends } else { (0.0, 100.0) };
    let (x, y) = match numbers {
        true => ("predicted", "observed mean"),
        false => ("predicted probability (%)", "came true (%)"),
    };
    let chart = Chart::new("Predicted beside observed")
        .size(460.0, 260.0)
        .x(x)
        .y(y)
        .spans("rows of about the same prediction", spans)
        .line("as it should be", vec![(low, low), (high, high)]);
    let caption = match numbers {
        true => prose("Are predictions right on average?", &[]),
        false => prose("Can probabilities be believed? ([calibration])", &[]),
    };
    Some(figure(chart.inline(), caption))
}

fn bins(model: &Model, judged: &Judged) -> Table {
    let mut table =
        Table::new("Predicted and observed", &["predicted", "observed", "from|interval", "to|interval", "rows"]);
    let text = if model.task == Task::Regression { short_number } else { per_cent };
    let shown = |value: f64| Cell::Shown(value, text(value));
    for bin in &judged.calibration {
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

fn confusion(model: &Model, judged: &Judged) -> Option<Table> {
    let classes = model.classes();
    if classes.is_empty() || classes.len() > CLASSES || judged.confusion.len() != classes.len() {
        return None;
    }
    let names: Vec<String> = classes.iter().map(|class| clipped(&class.to_string(), 24)).collect();
    let columns: Vec<String> = names.iter().map(|name| format!("called {name}")).collect();
    let mut heads = vec!["true class"];
    heads.extend(columns.iter().map(String::as_str));
    heads.push("right");
    let mut table = Table::new("Who is taken for whom", &heads);
    for (truth, row) in judged.confusion.iter().enumerate() {
        let total: f64 = row.iter().sum();
        let mut cells = vec![Cell::Text(names[truth].clone())];
        cells.extend(row.iter().map(|&weight| Cell::Number(weight)));
        cells.push(if total > 0.0 { Cell::Share(row[truth] / total) } else { Cell::Empty });
        table.row(cells);
    }
    Some(table)
}
