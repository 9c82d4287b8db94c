//! Whole reports: each is a summary, a few numbers and a list of sections.

use std::collections::BTreeMap;

use tamis::model::summary::{at_least, count, plural};
use tamis::model::{DEFAULT_FDR, Model, Task};
use tamis::recipe::{Provenance, Recipe};
use tamis::tune::{DataSummary, Measure, Repeated};

use super::context::ReportContext;
use super::html::{Html, clipped, paragraph, plain, prose, tag, term};
use super::page::{Report, Section, Tile};
use super::parts::{
    certainty, configuration, density, drift, evaluation, features, headline::Headline, kernel_effects, kernel_sizes,
    learning_curve, path, pixels, repeated_fits, selection_frequency, sizes, suggestions,
};
use super::table::{per_cent, short_number};

/// The sections of a model's report, in the order of the page. Each is made by one file of `parts/`.
const SECTIONS: &[fn(&Model, &ReportContext<'_>) -> Option<Section>] = &[
    features::section,
    kernel_effects::section,
    kernel_sizes::section,
    pixels::section,
    certainty::section,
    selection_frequency::section,
    sizes::section,
    path::section,
    evaluation::section,
    learning_curve::section,
    density::section,
    suggestions::section,
    configuration::section,
];

/// The report of a model.
pub fn of_model(model: &Model, context: &ReportContext<'_>) -> Report {
    let sections = SECTIONS.iter().filter_map(|section| section(model, context)).collect();
    Report { title: title(context), lead: summary(model, context), tiles: tiles(model, context), sections }
}

fn title(context: &ReportContext<'_>) -> String {
    let name = clipped(context.file, 120);
    match (context.unfinished, context.unsaved) {
        (Some(_), _) => format!("Unfinished training: {name}"),
        (None, true) => format!("Moments report: {}", clipped(&context.data.join(", "), 120)),
        (None, false) => format!("Model report: {name}"),
    }
}

/// The result in one sentence, and its provenance in another.
fn summary(model: &Model, context: &ReportContext<'_>) -> Html {
    let (kept, all) = (count(model.nonzeros() as u64), plural(model.seen.features, "feature"));
    let name = |at: usize| model.classes().get(at).map(|class| clipped(&class.to_string(), 40)).unwrap_or_default();
    let result = match &model.task {
        Task::Regression => prose("*{} of {}* predict the label", &[&kept, &all]),
        Task::Classes(classes) if classes.len() == 2 => {
            prose("*{} of {}* separate “{}” from “{}”", &[&kept, &all, &name(1), &name(0)])
        }
        Task::Classes(classes) => {
            let classes = count(classes.len() as u64);
            prose("*{} of {}* separate {} classes ([one-vs-rest])", &[&kept, &all, &classes])
        }
    };
    let quality = Headline::of(model, context.evaluation).map_or_else(
        || ".".into(),
        |headline| {
            Html::from(", with ")
                .with(article(headline.metric.name()))
                .with(term(headline.metric.name()))
                .with(" of ")
                .with(tag("strong", &[], headline.text()))
                .with(" ")
                .with(headline.measured_on)
                .with(".")
        },
    );
    plain("p", result.with(quality)).with(provenance_line(model, context))
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u', 'R']) { "an " } else { "a " }
}

fn provenance_line(model: &Model, context: &ReportContext<'_>) -> Html {
    let rows = count(model.seen.rows);
    let method = model.recipe.method_name();
    match (&model.recipe, context.unfinished) {
        (_, Some(learned)) => {
            paragraph("Training by `{}` is not finished: this is the model after {} rows.", &[method, &count(learned)])
        }
        (Provenance::Solve(_), _) => paragraph("Solved by `{}` from the [moments] of {} rows.", &[method, &rows]),
        (Provenance::Fit(_), _) => paragraph("Trained by `{}` on {} rows.", &[method, &rows]),
    }
}

fn tiles(model: &Model, context: &ReportContext<'_>) -> Vec<Tile> {
    let tile = |value: String, what: Html| Tile { value, what };
    let kept = count(model.nonzeros() as u64);
    let mut list = vec![tile(kept, prose("of {}", &[&plural(model.seen.features, "feature")]))];
    if let Some(headline) = Headline::of(model, context.evaluation) {
        let mut what = term(headline.metric.name());
        if let Some([low, high]) = headline.interval_text() {
            what = what.with(format!(", {low} to {high}"));
        }
        list.push(tile(headline.value_text(), what));
    }
    if let Some(tests) = model.tests.as_ref().filter(|tests| !tests.tests.is_empty()) {
        let confirmed = tests.confirmed(DEFAULT_FDR).len();
        list.push(tile(count(confirmed as u64), prose("features [confirmed] at q ≤ 0.1", &[])));
    }
    if let Some((solved, _)) = context.solved {
        let r2 = solved.path.get(solved.chosen).map_or(f64::NAN, |point| point.r2);
        list.push(tile(short_number(r2), prose("[R²] on the training rows", &[])));
    }
    list.push(tile(count(model.seen.rows), "training rows".into()));
    list
}

/// The report of a recipe that was fitted repeatedly on subsamples.
pub fn of_runs(recipe: &Recipe, about: &DataSummary, found: &Repeated, context: &ReportContext<'_>) -> Report {
    let shares: Vec<f64> = found.selected.iter().map(|one| one.share).collect();
    let always = count(at_least(&shares, 1.0) as u64);
    let lead = paragraph(
        "*{} features were selected in all {} runs*; a run selects {} on average. The feature sets agree with a [kappa] of *{}*.",
        &[&always, &found.runs.len().to_string(), &short_number(found.nonzeros.0), &short_number(found.kappa)],
    );
    let written = if found.measure == Measure::Error { per_cent } else { short_number };
    let [error, deviation] = [found.error.0, found.error.1].map(written);
    let tile = |value: String, what: Html| Tile { value, what };
    let tiles = vec![
        tile(short_number(found.kappa), prose("[kappa] of the feature sets", &[])),
        tile(always, "features selected in every run".into()),
        tile(error, prose("{}, standard deviation {}", &[found.measure.name(), &deviation])),
        tile(count(about.rows), prose("rows, {}", &[&plural(about.features, "feature")])),
    ];
    let title = format!("Stability report: {}", clipped(&context.data.join(", "), 120));
    Report { title, lead, tiles, sections: Vec::new() }
        .with(Some(repeated_fits::features(found)))
        .with(Some(repeated_fits::variation(found)))
        .with(suggestions::of_runs(recipe, context))
        .with(Some(configuration::of_runs(recipe, about, context)))
}

/// The report of models of several periods.
pub fn of_periods(periods: &[String], models: &[Model], k: usize) -> Report {
    let mut traces: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (at, model) in models.iter().enumerate() {
        for feature in model.outputs.iter().flat_map(|output| &output.features) {
            let weights = traces.entry(&feature.name).or_insert_with(|| vec![0.0; models.len()]);
            // With several outputs, the largest weight stands for the feature.
            if feature.weight.abs() > weights[at].abs() {
                weights[at] = feature.weight;
            }
        }
    }
    let always = traces.values().filter(|weights| weights.iter().all(|weight| *weight != 0.0)).count();
    let lead = paragraph(
        "*{} features* are selected in all {} periods, {} in at least one. The model of each period has {}.",
        &[&count(always as u64), &periods.len().to_string(), &count(traces.len() as u64), &plural(k as u64, "feature")],
    );
    let rows: u64 = models.iter().map(|model| model.seen.rows).sum();
    let tile = |value: String, what: &str| Tile { value, what: what.into() };
    let tiles = vec![
        tile(periods.len().to_string(), "periods"),
        tile(count(always as u64), "features selected in all periods"),
        tile(count(rows), "rows in total"),
    ];
    let traces = traces.into_iter().map(|(name, weights)| drift::Trace { name: name.to_string(), weights }).collect();
    Report { title: "Moments over time".into(), lead, tiles, sections: Vec::new() }
        .with(drift::section(periods, traces))
        .with(suggestions::of_periods(periods))
        .with(Some(configuration::of_periods(periods, models)))
}
