//! Configuration and data: the recipe in words, the rows and columns.

use tamis::model::summary::count;
use tamis::model::{Model, Task};
use tamis::param::{ParamName, names};
use tamis::recipe::{Provenance, Recipe, SolveRecipe};
use tamis::tune::DataSummary;

use crate::context::ReportContext;
use crate::html::{Html, clipped, paragraph, plain, prose};
use crate::page::Section;
use crate::table::{Cell, Table, short_number};

const ID: &str = "configuration";
const TITLE: &str = "Configuration and data";

/// A setting, its value, and what it means.
type Setting = [String; 3];

fn setting(name: &str, value: impl ToString, meaning: &str) -> Setting {
    [name.into(), value.to_string(), meaning.into()]
}

fn table(name: &str, settings: &[Setting]) -> Html {
    let mut table = Table::new(name, &["setting", "value", "meaning"]);
    for setting in settings {
        table.row(setting.clone().map(Cell::Text).into());
    }
    table.html()
}

/// The section of a model.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    let settings = match &model.recipe {
        Provenance::Fit(recipe) => of_fit(recipe, model),
        Provenance::Solve(recipe) => of_solve(recipe),
    };
    let notes = context.solved.map_or(&[][..], |(solved, _)| &solved.notes);
    let notes: Html = notes.iter().map(|note| paragraph("Note: {}.", &[note])).collect();
    let body = plain("h3", "Configuration")
        .with(table("Configuration", &settings))
        .with(plain("h3", "Data"))
        .with(table("Data", &of_data(model, context.data)))
        .with(notes);
    Some(Section::new(ID, TITLE, body))
}

fn of_fit(recipe: &Recipe, model: &Model) -> Vec<Setting> {
    let mut list = vec![
        setting("method", recipe.method.name(), recipe.method.info().about),
        setting("loss", model.loss.name(), "the loss that training minimises"),
        match recipe.k {
            Some(k) => setting("k", count(k as u64), "the requested number of features"),
            None => setting("k", "not set", "the method chose the number of features"),
        },
    ];
    list.extend(given(recipe));
    let scaling = "the scaling of columns during training; reported weights apply to raw values";
    list.push(setting("scale", recipe.scale.name(), scaling));
    list.push(setting("passes", model.seen.passes, "the number of passes over the rows"));
    let flags = [
        (recipe.refits(), "refit", "the weights of the selected features were refitted without penalty"),
        (!recipe.intercept, "no intercept", "the score is 0 where all features are 0"),
    ];
    list.extend(flags.iter().filter(|flag| flag.0).map(|flag| setting(flag.1, "yes", flag.2)));
    let texts = [
        (names::CLASS_WEIGHT, "the weights of the rows of each class"),
        (names::INTERACTIONS, "the columns whose products are features"),
        (names::OFFSET, "the column that is added to the prediction"),
    ];
    let given_text =
        |(param, about): (ParamName, &'static str)| Some(setting(param.name, recipe.get(param.name)?, about));
    list.extend(texts.into_iter().filter_map(given_text));
    if let Some(bits) = recipe.hash_bits {
        list.push(setting("hash-bits", bits, "names were hashed into 2^bits features"));
    }
    list.push(setting("seed", recipe.seed, "the random seed: the same seed and rows give the same model"));
    list
}

/// The parameters of the method that are not at their defaults.
fn given(recipe: &Recipe) -> Vec<Setting> {
    let set = recipe.method.params().entries().into_iter().filter(|entry| !entry.is_default);
    let described = set.filter_map(|entry| {
        let value = entry.number.map(short_number).or(entry.value.map(|text| clipped(&text, 60)))?;
        Some(setting(entry.param.name.name, value, entry.param.help()))
    });
    described.collect()
}

fn of_solve(recipe: &SolveRecipe) -> Vec<Setting> {
    let mut list = vec![setting("method", recipe.method.name(), recipe.method.about())];
    let number = |value: f64| short_number(value);
    let given = [
        recipe.k.map(|k| setting("k", count(k as u64), "the requested number of features")),
        recipe
            .criterion
            .map(|criterion| setting("criterion", criterion.name(), "the criterion that chose the model size")),
        recipe.lambda.map(|value| setting("lambda", number(value), "the strength λ of the penalty")),
        recipe.found_lambda.map(|value| setting("lambda found", number(value), "λ of the chosen model")),
        recipe.target.as_ref().map(|name| setting("target", clipped(name, 60), "the predicted column")),
        recipe.decay.map(|rate| setting("decay", number(rate), "the weight of the newest row in the averages")),
        recipe.refit.then(|| setting("refit", "yes", "the selected features were refitted without penalty")),
    ];
    list.extend(given.into_iter().flatten());
    list
}

fn of_data(model: &Model, data: &[String]) -> Vec<Setting> {
    let seen = &model.seen;
    let mut list = Vec::new();
    if !data.is_empty() {
        let names: Vec<String> = data.iter().take(20).map(|name| clipped(name, 120)).collect();
        let more = if data.len() > 20 { format!(" and {} more", data.len() - 20) } else { String::new() };
        list.push(setting("files", names.join(", ") + &more, "the source of the rows"));
    }
    list.push(setting("rows", count(seen.rows), "training examples"));
    list.push(setting("features seen", count(seen.features), "distinct features at the end of training"));
    list.push(setting("features selected", count(model.nonzeros() as u64), "features with a non-zero weight"));
    list.push(setting("skipped lines", count(seen.skipped), "malformed lines skipped under --on-error skip"));
    match &model.task {
        Task::Regression => list.push(setting("task", "regression", "the label is a number")),
        Task::Classes(classes) => {
            let names: Vec<String> = classes.iter().take(30).map(|class| clipped(&class.to_string(), 40)).collect();
            let more = if classes.len() > 30 { ", …" } else { "" };
            list.push(setting("classes", format!("{}{more}", names.join(", ")), "the labels in the data"));
        }
    }
    if let Some(columns) = &model.columns {
        let [numeric, categorical] = [columns.numeric.len(), columns.categorical.len()].map(|n| count(n as u64));
        list.push(setting("columns", format!("{numeric} numeric, {categorical} categorical"), "columns of the table"));
        if let Some(target) = &columns.target {
            list.push(setting("target", clipped(target, 60), "the label column"));
        }
    }
    list
}

/// The section of repeated fits.
pub fn of_runs(recipe: &Recipe, about: &DataSummary, context: &ReportContext<'_>) -> Section {
    let mut list = vec![setting("method", recipe.method.name(), recipe.method.info().about)];
    list.extend(given(recipe));
    list.extend(recipe.k.map(|k| setting("k", count(k as u64), "the requested number of features")));
    list.push(setting("files", clipped(&context.data.join(", "), 400), "the source of the rows"));
    list.push(setting("rows", count(about.rows), "examples"));
    list.push(setting("features", count(about.features), "distinct features"));
    Section::new(ID, TITLE, table("Configuration", &list))
}

/// The section of several periods.
pub fn of_periods(periods: &[String], models: &[Model]) -> Section {
    let mut table = Table::new("Periods", &["period", "rows", "features", "RMSE"]);
    for (period, model) in periods.iter().zip(models) {
        let whole = |number: u64| Cell::Shown(number as f64, count(number));
        let error = Cell::Number(model.seen.progressive_loss.max(0.0).sqrt());
        table.row(vec![Cell::Text(period.clone()), whole(model.seen.rows), whole(model.seen.features), error]);
    }
    let note = prose("RMSE on the rows of the period itself; classes are coded as ±1.", &[]);
    Section::new(ID, TITLE, table.with_note(note).html())
}
