//! The selected features: the strongest as a bar chart, all of them as a table.

use tamis::eval::FeatureFrequencies;
use tamis::model::summary::{count, q_text};
use tamis::model::{Feature, FeatureTest, Model, Output, Task};

use crate::bars::{Bar, bars};
use crate::context::ReportContext;
use crate::html::{Html, clipped, paragraph, plain, prose, shell, tag};
use crate::page::{Section, figure, row};
use crate::table::{Cell, Table, per_cent, short_number};

/// Bars of a chart: for a single output, and for one of several.
const BARS: usize = 25;
const BARS_EACH: usize = 8;
/// Charts of classes.
const CHARTS: usize = 30;
/// Rows of the table: a page must open at once, however large the model.
const ROWS: usize = 1000;

/// The section; a kernel model has one of its own.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    if model.kernel.is_some() {
        return None;
    }
    let features = model.outputs.iter().map(|output| output.features.len()).sum::<usize>();
    if features == 0 {
        let body = paragraph(
            "No feature was selected: every prediction is the same. Try more rows or a smaller [penalty].",
            &[],
        );
        return Some(Section::new("features", "Selected features", body));
    }
    let charts = match &model.outputs[..] {
        [output] => row([figure(chart(output, BARS, &heading(model, output)), caption(model, output, BARS))]),
        many => row(many.iter().filter(|output| !output.features.is_empty()).take(CHARTS).map(|output| {
            figure(chart(output, BARS_EACH, &heading(model, output)), caption(model, output, BARS_EACH))
        })),
    };
    let densities = context.known_densities().map(|(_, densities)| densities);
    let body =
        signs(model).with(charts).with(omitted(model, features, context.file)).with(table(model, densities).html());
    Some(Section::new("features", "Selected features", body))
}

fn heading(model: &Model, output: &Output) -> String {
    match (&output.class, &model.task) {
        (Some(class), _) => format!("Effects for class {}", clipped(&class.to_string(), 40)),
        (None, Task::Classes(_)) => "Effects of features".into(),
        (None, Task::Regression) => "Effects of features on the prediction".into(),
    }
}

fn caption(model: &Model, output: &Output, most: usize) -> Html {
    let title = Html::from(heading(model, output));
    match output.features.len() {
        all if all <= most => title,
        all => title.with(plain("small", format!("the {most} largest of {}", count(all as u64)))),
    }
}

fn chart(output: &Output, most: usize, title: &str) -> String {
    let shown = &output.features[..most.min(output.features.len())];
    let list: Vec<Bar> = shown
        .iter()
        .map(|feature| Bar { name: feature.name.clone(), value: feature.effect(), frequency: feature.frequency })
        .collect();
    let first: Vec<String> =
        list.iter().take(5).map(|bar| format!("{} {}", clipped(&bar.name, 40), short_number(bar.value))).collect();
    let words = format!("Bars of {} features by effect, the largest first: {}", list.len(), first.join("; "));
    bars(title, &words, "selection frequency", &list)
}

/// The meaning of the signs and colours.
fn signs(model: &Model) -> Html {
    let key = |class: &str| tag("span", &[("class", class), ("aria-hidden", "true")], "");
    let (plus, minus) = match (&model.task, model.outputs.len()) {
        (Task::Classes(classes), 1) => {
            let name = |at: usize| classes.get(at).map(|class| clipped(&class.to_string(), 60)).unwrap_or_default();
            (prose("A larger value favours *{}*", &[&name(1)]), prose("a larger value favours *{}*", &[&name(0)]))
        }
        (Task::Classes(_), _) => {
            (prose("A larger value favours the class", &[]), prose("a larger value disfavours it", &[]))
        }
        (Task::Regression, _) => {
            (prose("A larger value raises the prediction", &[]), prose("a larger value lowers it", &[]))
        }
    };
    let line = key("key plus").with(plus).with("; ").with(key("key minus")).with(minus);
    let how = prose(". Bars show [effects|effect]: weight times scale, comparable across units.", &[]);
    let all = || model.outputs.iter().flat_map(|output| &output.features);
    let pale = if all().any(|feature| feature.frequency.is_some()) {
        prose(" Paler bars have a lower [selection frequency].", &[])
    } else {
        Html::new()
    };
    plain("p", line.with(how).with(pale))
}

/// What the table omits.
fn omitted(model: &Model, features: usize, file: &str) -> Html {
    if features <= ROWS {
        return Html::new();
    }
    let mut sizes: Vec<f64> =
        model.outputs.iter().flat_map(|output| &output.features).map(|feature| feature.effect().abs()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let share = sizes[..ROWS].iter().sum::<f64>() / sizes.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let command = format!("tamis inspect {} --top 0 --csv > features.csv", shell(file));
    paragraph(
        "The table shows the {} largest of {} effects, which are *{}* of the total absolute effect; each of the others is at most \
         {}. This command writes all of them:",
        &[&count(ROWS as u64), &count(features as u64), &per_cent(share), &short_number(sizes[ROWS - 1])],
    )
    .with(crate::html::command(&command))
}

fn table(model: &Model, densities: Option<&FeatureFrequencies>) -> Table {
    let many = model.outputs.len() > 1;
    let all = || model.outputs.iter().flat_map(|output| output.features.iter().map(move |feature| (output, feature)));
    let has_frequency = all().any(|(_, feature)| feature.frequency.is_some());
    let has_test = all().any(|(_, feature)| model.test(&feature.name).is_some());
    let has_evidence = all().any(|(_, feature)| feature.evidence.is_some());
    let scaled = all().any(|(_, feature)| feature.scale != 1.0);
    let mut columns = vec!["feature|features"];
    columns.extend(many.then_some("class"));
    columns.push("effect");
    columns.extend(has_frequency.then_some("selection frequency"));
    columns.extend(has_test.then_some("q-value"));
    columns.extend(has_evidence.then_some("evidence"));
    columns.extend(scaled.then_some("weight"));
    columns.extend(densities.map(|_| "density"));
    let mut table = Table::new("All features", &columns).searchable();
    let mut list: Vec<(&Output, &Feature)> = all().collect();
    list.sort_by(|a, b| b.1.effect().abs().total_cmp(&a.1.effect().abs()));
    let largest = list.first().map_or(1.0, |(_, feature)| feature.effect().abs()).max(f64::MIN_POSITIVE);
    for (output, feature) in list.into_iter().take(ROWS) {
        let mut cells = vec![Cell::Text(feature.name.clone())];
        let class = || output.class.as_ref().map_or(Cell::Empty, |class| Cell::Text(class.to_string()));
        cells.extend(many.then(class));
        let value = feature.effect();
        cells.push(Cell::Bar(value, value / largest, feature.frequency.unwrap_or(1.0)));
        cells.extend(has_frequency.then(|| feature.frequency.map_or(Cell::Empty, Cell::Share)));
        let q_value = |test: &FeatureTest| Cell::Shown(test.q, q_text(test.q));
        cells.extend(has_test.then(|| model.test(&feature.name).map_or(Cell::Empty, q_value)));
        let evidence = |[mean, spread]: [f64; 2]| Cell::Shown(mean, format!("{mean:.1} ± {spread:.1}"));
        cells.extend(has_evidence.then(|| feature.evidence.map_or(Cell::Empty, evidence)));
        cells.extend(scaled.then_some(Cell::Number(feature.weight)));
        cells.extend(densities.map(|found| Cell::Share(found.share(&feature.name))));
        table.row(cells);
    }
    table.with_note(intercepts(model))
}

fn intercepts(model: &Model) -> Html {
    match &model.outputs[..] {
        [output] => prose(
            "[Intercept|intercept]: {}. Numbers are sorted by absolute value.",
            &[&short_number(output.intercept)],
        ),
        _ => prose("Numbers are sorted by absolute value.", &[]),
    }
}
