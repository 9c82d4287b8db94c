//! Suggested commands, with the user's own file names.

use tamis::model::Model;
use tamis::model::summary::count;
use tamis::recipe::{Criterion, Method, Provenance, Recipe, SolveRecipe, Solver};

use crate::context::ReportContext;
use crate::html::{Html, clipped, command, plain, prose, shell, tag};
use crate::page::Section;

/// A command and what it is for.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// What it is for.
    pub why: Html,
    /// The command.
    pub command: String,
}

impl Suggestion {
    /// A suggestion; the reason is [`prose`] without values.
    pub fn new(why: &'static str, command: String) -> Self {
        Suggestion { why: prose(why, &[]), command }
    }
}

/// A section with these suggestions.
pub fn list(suggestions: &[Suggestion]) -> Option<Section> {
    if suggestions.is_empty() {
        return None;
    }
    let item = |one: &Suggestion| plain("li", plain("span", one.why.clone()).with(command(&one.command)));
    let list = tag("ul", &[("class", "suggestions")], suggestions.iter().map(item).collect::<Html>());
    Some(Section::new("suggestions", "Suggested commands", list))
}

/// The section for a model.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    list(&of_model(model, context))
}

fn of_model(model: &Model, context: &ReportContext<'_>) -> Vec<Suggestion> {
    let (file, data, flags) = (shell(context.file), context.data_arguments(), context.flags);
    if let Some(rows) = context.unfinished {
        let why = prose("Resume training on the same data, from row {} on.", &[&count(rows)]);
        return vec![Suggestion { why, command: format!("tamis fit {data}{flags} --resume {file}") }];
    }
    let method = model.recipe.method_name();
    let mut list = Vec::new();
    if context.unsaved {
        let criterion = context.solved.and_then(|(_, criterion)| criterion).unwrap_or(Criterion::Bic).name();
        let command = format!("tamis solve {data} --method {method} --criterion {criterion} --out {file}");
        list.push(Suggestion::new("Save this model.", command));
    }
    list.extend(other_models(model, context));
    if context.evaluation.is_none() {
        list.push(Suggestion::new(
            "Evaluate the model on other labelled data.",
            format!("tamis report {file} --data TEST{flags} -o report.html"),
        ));
    }
    if matches!(model.recipe, Provenance::Fit(_)) {
        list.push(Suggestion::new(
            "Check how stable the selection is: fit twenty times on random nine tenths of the rows.",
            format!("tamis stability {data}{flags} --method {method} --report stability.html"),
        ));
    }
    list.push(Suggestion::new("Predict new rows.", format!("tamis predict {file} NEW > predictions.txt")));
    list
}

/// Commands that make another model from the same run or the same data.
fn other_models(model: &Model, context: &ReportContext<'_>) -> Vec<Suggestion> {
    let (file, data, flags) = (shell(context.file), context.data_arguments(), context.flags);
    let half = (model.nonzeros() / 2).max(1);
    if model.kernel.is_some() {
        return vec![Suggestion::new(
            "Compare with the default method, a linear model.",
            format!("tamis fit {data}{flags} --out linear.json --report linear.html"),
        )];
    }
    match (&model.recipe, &model.size_path) {
        (_, Some(_)) => vec![
            Suggestion::new(
                "Halve the number of features without reading the data again.",
                format!("tamis resize {file} --k {half} --out smaller.json"),
            ),
            Suggestion::new(
                "Keep only [confirmed] features.",
                format!("tamis resize {file} --fdr 0.1 --out confirmed.json"),
            ),
        ],
        (Provenance::Fit(_), None) => vec![Suggestion::new(
            "Fit by the default method, which tests each feature and builds a [size path].",
            format!("tamis fit {data}{flags} --out stable.json --report stable.html"),
        )],
        (Provenance::Solve(recipe), None) => vec![other_penalty(recipe, &data)],
    }
}

fn other_penalty(recipe: &SolveRecipe, data: &str) -> Suggestion {
    let other = if recipe.method == Solver::Mcp { "lasso" } else { "mcp" };
    let files = format!("--out {other}.json --report {other}.html");
    Suggestion::new(
        "Try another penalty on the same moments, without reading the data again.",
        format!("tamis solve {data} --method {other} --criterion bic --path {files}"),
    )
}

/// The section for repeated fits.
pub fn of_runs(recipe: &Recipe, context: &ReportContext<'_>) -> Option<Section> {
    let (data, flags) = (context.data_arguments(), context.flags);
    let method = recipe.method.name();
    let mut suggestions = vec![Suggestion::new(
        "Fit one model on all rows.",
        format!("tamis fit {data}{flags} --method {method} --out model.json --report model.html"),
    )];
    if recipe.method.kind() != Method::Stabilized {
        suggestions.push(Suggestion::new(
            "Compare with the default method, which is built for a stable selection.",
            format!("tamis stability {data}{flags} --report stable.html"),
        ));
    }
    list(&suggestions)
}

/// The section for several periods.
pub fn of_periods(periods: &[String]) -> Option<Section> {
    let files: Vec<String> = periods.iter().map(|period| shell(period)).collect();
    let command = format!("tamis moments merge {} -o all.moments", clipped(&files.join(" "), 400));
    list(&[Suggestion::new("Merge all periods.", command)])
}
