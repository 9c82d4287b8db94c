//! What was asked for and what went in: the recipe in words, the rows and columns.

use crate::model::{Model, Task};
use crate::recipe::{Origin, Recipe, SolveRecipe};
use crate::report::html::{Html, clipped, paragraph, plain};
use crate::report::page::Section;
use crate::report::table::{Cell, Table, count, short_number};

/// A choice, its value, and what it means.
pub type Setting = (String, String, String);

/// The section. `data` are the files learned from, as far as known; `notes` what a user should know, in sentences.
pub fn section(model: &Model, data: &[String], notes: &[String]) -> Section {
    let settings = match &model.recipe {
        Origin::Fit(recipe) => of_fit(recipe, model),
        Origin::Solve(recipe) => of_solve(recipe),
    };
    let told: Html = notes.iter().map(|note| paragraph("Note: {}.", &[note])).collect();
    let body = plain("h3", "The recipe")
        .with(table("Recipe", &settings).html())
        .with(plain("h3", "The data"))
        .with(table("Data", &went_in(model, data)).html())
        .with(told);
    Section::new("asked", "What was asked, what went in?", body)
}

/// Settings as a table.
pub fn table(name: &str, settings: &[Setting]) -> Table {
    let mut table = Table::new(name, &["what", "value", "meaning"]);
    for (what, value, meaning) in settings {
        table.row([what, value, meaning].map(|text| Cell::Text(text.clone())).into());
    }
    table
}

fn setting(what: &str, value: impl ToString, meaning: &str) -> Setting {
    (what.into(), value.to_string(), meaning.into())
}

/// The recipe of a learner.
pub fn of_fit(recipe: &Recipe, model: &Model) -> Vec<Setting> {
    let mut list = vec![
        setting("method", recipe.method.name(), recipe.method.info().about),
        setting("loss", model.loss.name(), "what learning makes small"),
    ];
    match recipe.k {
        Some(k) => list.push(setting("k", count(k as u64), "exactly so many features were asked for")),
        None => list.push(setting("k", "not set", "the number of features was left to the method")),
    }
    list.extend(given(recipe));
    list.push(setting(
        "scale",
        recipe.scale.name(),
        "how columns were scaled while learning; weights are for raw values",
    ));
    list.push(setting("passes", model.seen.passes, "how often the rows were gone through"));
    let flags = [
        (recipe.refit, "refit", "the chosen weights were learned again without penalty"),
        (!recipe.intercept, "no intercept", "the model says 0 where all features are 0"),
    ];
    list.extend(flags.iter().filter(|flag| flag.0).map(|flag| setting(flag.1, "yes", flag.2)));
    if let Some(bits) = recipe.hash_bits {
        list.push(setting("hash-bits", bits, "names were hashed into 2^bits features"));
    }
    list.push(setting("seed", recipe.seed, "of all randomness: the same seed and rows give the same model"));
    list
}

/// The parameters of the method that are not at their defaults.
pub fn given(recipe: &Recipe) -> Vec<Setting> {
    let set = recipe.method.params().entries().into_iter().filter(|entry| !entry.is_default);
    let told = set.filter_map(|entry| {
        let value = entry.number.map(short_number).or(entry.value.map(|text| clipped(&text, 60)))?;
        Some(setting(entry.param.name.name, value, entry.param.help()))
    });
    told.collect()
}

/// The recipe of a solver.
pub fn of_solve(recipe: &SolveRecipe) -> Vec<Setting> {
    let mut list = vec![setting("method", recipe.method.name(), recipe.method.about())];
    let number = |value: f64| short_number(value);
    let some = [
        recipe.k.map(|k| setting("k", count(k as u64), "exactly so many features were asked for")),
        recipe.criterion.map(|criterion| setting("criterion", criterion.name(), "the criterion that chose the size")),
        recipe.lambda.map(|value| setting("lambda", number(value), "strength of the penalty (λ)")),
        recipe.found_lambda.map(|value| setting("lambda found", number(value), "λ at which the model was taken")),
        recipe.target.as_ref().map(|name| setting("target", clipped(name, 60), "the column predicted")),
        recipe.forget.map(|rate| setting("forget", number(rate), "the newest row's share in the averages")),
        recipe.refit.then(|| setting("refit", "yes", "the chosen features were fitted again without penalty")),
    ];
    list.extend(some.into_iter().flatten());
    list
}

fn went_in(model: &Model, data: &[String]) -> Vec<Setting> {
    let seen = &model.seen;
    let mut list = Vec::new();
    if !data.is_empty() {
        let names: Vec<String> = data.iter().take(20).map(|name| clipped(name, 120)).collect();
        let more = if data.len() > 20 { format!(" and {} more", data.len() - 20) } else { String::new() };
        list.push(setting("files", names.join(", ") + &more, "where the rows came from"));
    }
    list.push(setting("rows", count(seen.rows), "examples learned from"));
    list.push(setting("features seen", count(seen.features), "different inputs known at the end"));
    list.push(setting("features kept", count(model.nonzeros() as u64), "those with a weight"));
    list.push(setting(
        "lines left out",
        count(seen.skipped),
        "bad lines; with --on-error skip they are counted, not learned",
    ));
    match &model.task {
        Task::Regression => list.push(setting("predicts", "a number", "the label as it is")),
        Task::Classes(classes) => {
            let names: Vec<String> = classes.iter().take(30).map(|class| clipped(&class.to_string(), 40)).collect();
            let more = if classes.len() > 30 { ", …" } else { "" };
            list.push(setting("classes", format!("{}{more}", names.join(", ")), "the labels, as the data has them"));
        }
    }
    if let Some(columns) = &model.columns {
        let (numeric, categorical) = (columns.numeric.len(), columns.categorical.len());
        let text = format!("{} of numbers, {} of categories", count(numeric as u64), count(categorical as u64));
        list.push(setting("columns", text, "of the table"));
        if let Some(target) = &columns.target {
            list.push(setting("target", clipped(target, 60), "the label's column"));
        }
    }
    list
}
