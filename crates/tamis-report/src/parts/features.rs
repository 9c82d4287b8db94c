//! Which features: the strongest as a picture, all of them as a table.

use crate::bars::{Bar, bars};
use crate::html::{Html, clipped, paragraph, plain, prose, shell, tag};
use crate::page::{Section, figure, row};
use crate::table::{Cell, Table, count, per_cent, short_number};
use tamis::eval::Densities;
use tamis::model::{Feature, Model, Output, Task};

/// Bars of a picture, of one output and of one among several.
const BARS: usize = 25;
const BARS_EACH: usize = 8;
/// Pictures of classes.
const PICTURES: usize = 30;
/// Rows of the table in all: a page must open at once, however large the model.
const ROWS: usize = 1000;

/// What a typical change of a feature does to the score.
pub fn effect(feature: &Feature) -> f64 {
    feature.weight * feature.scale
}

/// The section. `file` is the model's, for the command that writes the whole list.
pub fn section(model: &Model, file: &str, densities: Option<&Densities>) -> Option<Section> {
    let features = model.outputs.iter().map(|output| output.features.len()).sum::<usize>();
    if features == 0 {
        let body = paragraph("None: the model always says the same. More rows, or less [penalty], may help.", &[]);
        return Some(Section::new("features", "Which features?", body));
    }
    let pictures = match &model.outputs[..] {
        [output] => row([figure(picture(output, BARS, &heading(model, output)), caption(model, output, BARS))]),
        many => row(many.iter().filter(|output| !output.features.is_empty()).take(PICTURES).map(|output| {
            figure(picture(output, BARS_EACH, &heading(model, output)), caption(model, output, BARS_EACH))
        })),
    };
    let body = signs(model).with(pictures).with(rest(model, features, file)).with(table(model, densities).html());
    Some(Section::new("features", "Which features?", body))
}

fn heading(model: &Model, output: &Output) -> String {
    match (&output.class, &model.task) {
        (Some(class), _) => format!("Features for class {}", clipped(&class.to_string(), 40)),
        (None, Task::Classes(_)) => "Features and their effects".into(),
        (None, Task::Regression) => "Features and their effects on the prediction".into(),
    }
}

fn caption(model: &Model, output: &Output, most: usize) -> Html {
    let title = Html::from(heading(model, output));
    match output.features.len() {
        all if all <= most => title,
        all => title.with(plain("small", format!("the {most} strongest of {}", count(all as u64)))),
    }
}

fn picture(output: &Output, most: usize, title: &str) -> String {
    let shown = &output.features[..most.min(output.features.len())];
    let list: Vec<Bar> = shown
        .iter()
        .map(|feature| Bar { name: feature.name.clone(), value: effect(feature), sure: feature.stability })
        .collect();
    let first: Vec<String> =
        list.iter().take(5).map(|bar| format!("{} {}", clipped(&bar.name, 40), short_number(bar.value))).collect();
    let words = format!("Bars of {} features by effect, the largest first: {}", list.len(), first.join("; "));
    bars(title, &words, "stability", &list)
}

/// What the signs mean.
fn signs(model: &Model) -> Html {
    let key = |class: &str| tag("span", &[("class", class), ("aria-hidden", "true")], "");
    let (plus, minus) = match (&model.task, model.outputs.len()) {
        (Task::Classes(classes), 1) => {
            let name = |at: usize| classes.get(at).map(|class| clipped(&class.to_string(), 60)).unwrap_or_default();
            (prose("more of it speaks for *{}*", &[&name(1)]), prose("more of it speaks for *{}*", &[&name(0)]))
        }
        (Task::Classes(_), _) => (prose("more of it speaks for the class", &[]), prose("against it", &[])),
        (Task::Regression, _) => (prose("more of it raises the prediction", &[]), prose("lowers it", &[])),
    };
    let line = key("key plus").with(plus).with("; ").with(key("key minus")).with(minus);
    let how =
        prose(". Bars are [effects|effect]: weight times scale, so that features of different units compare.", &[]);
    let sure = model.outputs.iter().flat_map(|output| &output.features).any(|feature| feature.stability.is_some());
    let pale = if sure { prose(" The paler a bar, the less sure it is.", &[]) } else { Html::new() };
    plain("p", line.with(how).with(pale))
}

/// What the table leaves out.
fn rest(model: &Model, features: usize, file: &str) -> Html {
    if features <= ROWS {
        return Html::new();
    }
    let mut sizes: Vec<f64> =
        model.outputs.iter().flat_map(|output| &output.features).map(|feature| effect(feature).abs()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let part = sizes[..ROWS].iter().sum::<f64>() / sizes.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let command = format!("tamis inspect {} --top 0 --csv > features.csv", shell(file));
    paragraph(
        "The table has the {} strongest of {} weights, which make up *{}* of all effects together; each of the others is \
         below {}. All of them:",
        &[&count(ROWS as u64), &count(features as u64), &per_cent(part), &short_number(sizes[ROWS - 1])],
    )
    .with(crate::html::command(&command))
}

fn table(model: &Model, densities: Option<&Densities>) -> Table {
    let many = model.outputs.len() > 1;
    let all = || model.outputs.iter().flat_map(|output| output.features.iter().map(move |feature| (output, feature)));
    let (sure, told) = (all().any(|(_, f)| f.stability.is_some()), all().any(|(_, f)| f.evidence.is_some()));
    let scaled = all().any(|(_, f)| f.scale != 1.0);
    let mut columns = vec!["feature|features"];
    columns.extend(many.then_some("class"));
    columns.push("effect");
    columns.extend(sure.then_some("stability"));
    columns.extend(told.then_some("evidence"));
    columns.extend(scaled.then_some("weight"));
    columns.extend(densities.map(|_| "in rows|density"));
    let mut table = Table::new("All features", &columns).searchable();
    let mut list: Vec<(&Output, &Feature)> = all().collect();
    list.sort_by(|a, b| effect(b.1).abs().total_cmp(&effect(a.1).abs()));
    let largest = list.first().map_or(1.0, |(_, feature)| effect(feature).abs()).max(f64::MIN_POSITIVE);
    for (output, feature) in list.into_iter().take(ROWS) {
        let mut cells = vec![Cell::Text(feature.name.clone())];
        let class = || output.class.as_ref().map_or(Cell::Empty, |class| Cell::Text(class.to_string()));
        cells.extend(many.then(class));
        let value = effect(feature);
        cells.push(Cell::Bar(value, value / largest, feature.stability.unwrap_or(1.0)));
        cells.extend(sure.then(|| feature.stability.map_or(Cell::Empty, Cell::Share)));
        let evidence = |[mean, spread]: [f64; 2]| Cell::Shown(mean, format!("{mean:.1} ± {spread:.1}"));
        cells.extend(told.then(|| feature.evidence.map_or(Cell::Empty, evidence)));
        cells.extend(scaled.then_some(Cell::Number(feature.weight)));
        cells.extend(densities.map(|found| Cell::Share(found.share(&feature.name))));
        table.row(cells);
    }
    table.noted(intercepts(model))
}

fn intercepts(model: &Model) -> Html {
    match &model.outputs[..] {
        [output] => prose(
            "[Intercept|intercept]: {}. Sorting goes by size, whatever the sign.",
            &[&short_number(output.intercept)],
        ),
        _ => prose("Sorting goes by size, whatever the sign.", &[]),
    }
}
