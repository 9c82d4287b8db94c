//! Whole reports: the sections that apply, in the order of a reader's questions.

use super::html::{Html, clipped, paragraph, plain, prose, shell, tag, term};
use super::page::{Report, Section, Tile};
use super::parts::drift::Course;
use super::parts::next::Idea;
use super::parts::sure::{CUTOFF, at_least, stabilities};
use super::parts::worth::Worth;
use super::parts::{asked, density, drift, features, judged, next, path, pixels, runs, sizes, stream, sure};
use super::table::{Cell, Table, count, per_cent, short_number};
use crate::eval::{Densities, Judged};
use crate::model::{Model, Task};
use crate::recipe::{Criterion, Origin, Recipe};
use crate::solve::Solved;
use crate::tune::{Repeated, Survey};

/// What is known beside a model. All of it may be missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    /// The file of the model.
    pub file: &'a str,
    /// The data it was learned from (or the moments it was solved from), as typed.
    pub data: &'a [String],
    /// Flags that reading the data needs, as typed: ` --target churned`.
    pub flags: &'a str,
    /// Labelled data the model was judged on: its name, and what was found.
    pub judged: Option<(&'a str, &'a Judged)>,
    /// How often features occur, and in which data.
    pub densities: Option<(&'a str, &'a Densities)>,
    /// The path the model was solved on, and the criterion that chose.
    pub solved: Option<(&'a Solved, Option<Criterion>)>,
    /// The width of the images whose pixels the features are.
    pub image_width: Option<usize>,
    /// Whether the model was made for the report, and is in no file.
    pub unsaved: bool,
    /// Whether the training stands half-way, and after how many rows.
    pub unfinished: Option<u64>,
}

/// The report of a model.
pub fn of_model(model: &Model, told: &Told<'_>) -> Report {
    let densities = told.densities.or(told.judged.map(|(name, judged)| (name, &judged.densities)));
    let solved = told.solved.and_then(|(solved, criterion)| {
        path::section(
            solved,
            criterion,
            told.data.first().map_or("MOMENTS", String::as_str),
            model.recipe.method_name(),
        )
    });
    let fewer = if solved.is_some() { solved } else { sizes::section(model, told.file, &refit(model, told)) };
    let notes = told.solved.map_or(&[][..], |(solved, _)| &solved.notes);
    Report { title: title(told), lead: lead(model, told), tiles: tiles(model, told), sections: Vec::new() }
        .with(features::section(model, told.file, densities.map(|found| found.1)))
        .with(told.image_width.and_then(|width| pixels::section(model, width)))
        .with(sure::section(model, told.file))
        .with(fewer)
        .with(told.judged.map(|(name, found)| judged::section(model, name, found)))
        .with(stream::section(model))
        .with(densities.and_then(|(name, found)| density::section(model, name, found)))
        .with(next::section(&ideas(model, told)))
        .with(Some(asked::section(model, told.data, notes)))
}

fn title(told: &Told<'_>) -> String {
    let name = clipped(told.file, 120);
    match (told.unfinished, told.unsaved) {
        (Some(_), _) => format!("Training so far: {name}"),
        (None, true) => format!("Moments report: {}", clipped(&told.data.join(", "), 120)),
        (None, false) => format!("Model report: {name}"),
    }
}

/// What came out, in a sentence, and what it rests on, in another.
fn lead(model: &Model, told: &Told<'_>) -> Html {
    let (kept, seen) = (count(model.nonzeros() as u64), count(model.seen.features));
    let s = if model.nonzeros() == 1 { "feature" } else { "features" };
    let name = |at: usize| model.classes().get(at).map(|class| clipped(&class.to_string(), 40)).unwrap_or_default();
    let what = match &model.task {
        Task::Regression => prose("*{} {}* of {} predict the number", &[&kept, s, &seen]),
        Task::Classes(classes) if classes.len() == 2 => {
            prose("*{} {}* of {} tell “{}” from “{}”", &[&kept, s, &seen, &name(1), &name(0)])
        }
        Task::Classes(classes) => {
            prose("*{} {}* of {} tell {} classes apart", &[&kept, s, &seen, &count(classes.len() as u64)])
        }
    };
    let worth = Worth::of(model, told.judged).map_or_else(
        || ".".into(),
        |worth| {
            let value = tag("strong", &[], worth.text());
            Html::from(", with ")
                .with(article(worth.measure.name()))
                .with(term(worth.measure.name()))
                .with(" of ")
                .with(value)
                .with(" ")
                .with(worth.on)
                .with(".")
        },
    );
    plain("p", what.with(worth)).with(second(model, told))
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u', 'R']) { "an " } else { "a " }
}

fn second(model: &Model, told: &Told<'_>) -> Html {
    let rows = count(model.seen.rows);
    let method = model.recipe.method_name();
    match (&model.recipe, told.unfinished) {
        (_, Some(learned)) => paragraph(
            "The training by `{}` stands after {} rows learned; this is what the model would be now.",
            &[method, &count(learned)],
        ),
        (Origin::Solve(_), _) => paragraph("Solved by `{}` from the [moments] of {} rows.", &[method, &rows]),
        (Origin::Fit(_), _) => paragraph("Learned by `{}` from {} rows.", &[method, &rows]),
    }
}

fn tiles(model: &Model, told: &Told<'_>) -> Vec<Tile> {
    let tile = |value: String, what: Html| Tile { value, what };
    let mut list =
        vec![tile(count(model.nonzeros() as u64), prose("features of {} seen", &[&count(model.seen.features)]))];
    if let Some(worth) = Worth::of(model, told.judged) {
        let mut what = term(worth.measure.name());
        if worth.has_interval {
            let [low, high] = [worth.value.low, worth.value.high].map(|value| worth.measure.written(value));
            what = what.with(format!(", {low} to {high}"));
        }
        list.push(tile(worth.measure.written(worth.value.value), what));
    }
    let shares = stabilities(model);
    if !shares.is_empty() {
        let sure = at_least(&shares, CUTOFF);
        list.push(tile(
            format!("{} of {}", count(sure as u64), count(shares.len() as u64)),
            prose("are sure: [stability] of 75 % or more", &[]),
        ));
    }
    if let Some((solved, _)) = told.solved {
        let r2 = solved.path.get(solved.chosen).map_or(f64::NAN, |point| point.r2);
        list.push(tile(short_number(r2), prose("[R²] on its rows", &[])));
    }
    list.push(tile(count(model.seen.rows), "rows learned from".into()));
    list
}

/// The command that would learn again with another number of features, `{}` for the number.
fn refit(model: &Model, told: &Told<'_>) -> String {
    let (method, data) = (model.recipe.method_name(), data(told));
    match &model.recipe {
        Origin::Fit(_) => {
            format!("tamis fit {data}{} --method {method} --k {{}} --refit --out smaller.json", told.flags)
        }
        Origin::Solve(_) => format!("tamis solve {data} --method {method} --k {{}} --out smaller.json"),
    }
}

fn data(told: &Told<'_>) -> String {
    match told.data {
        [] => "DATA".into(),
        files => files.iter().take(5).map(|file| shell(file)).collect::<Vec<_>>().join(" "),
    }
}

fn ideas(model: &Model, told: &Told<'_>) -> Vec<Idea> {
    let (file, data) = (shell(told.file), data(told));
    let idea = |why: Html, command: String| Idea { why, command };
    let mut list = Vec::new();
    if let Some(rows) = told.unfinished {
        let why = prose("Go on from here: the same data, from row {} on.", &[&count(rows)]);
        return vec![idea(why, format!("tamis fit {data}{} --resume {file}", told.flags))];
    }
    let (half, flags) = ((model.nonzeros() / 2).max(1), told.flags);
    if told.unsaved {
        let choose = told.solved.and_then(|(_, criterion)| criterion).unwrap_or(Criterion::Bic).name();
        let why = prose("Keep this model.", &[]);
        list.push(idea(
            why,
            format!("tamis solve {data} --method {} --choose {choose} --out {file}", model.recipe.method_name()),
        ));
    }
    match (&model.recipe, &model.selection) {
        (_, Some(_)) => {
            list.push(idea(
                prose("Half as many features, at once and without the data.", &[]),
                format!("tamis resize {file} --k {half} --out smaller.json"),
            ));
            list.push(idea(
                prose("Only the surest.", &[]),
                format!("tamis resize {file} --frequency 0.9 --out surest.json"),
            ));
        }
        (Origin::Fit(_), None) => list.push(idea(
            prose("How sure is each feature? The default method tells, and builds a [ladder] of sizes.", &[]),
            format!("tamis fit {data}{flags} --out stable.json --report stable.html"),
        )),
        (Origin::Solve(recipe), _) => {
            let other = if recipe.method == crate::recipe::Solver::Mcp { "lasso" } else { "mcp" };
            let why = prose("Another penalty on the same moments, without the data.", &[]);
            list.push(idea(
                why,
                format!(
                    "tamis solve {data} --method {other} --choose bic --path --out {other}.json --report {other}.html"
                ),
            ));
        }
    }
    if told.judged.is_none() {
        let why = prose("How good is it on data it has not seen? Calibration and ROC come with it.", &[]);
        list.push(idea(why, format!("tamis report {file} --data TEST{flags} -o report.html")));
    }
    if matches!(model.recipe, Origin::Fit(_)) {
        let method = model.recipe.method_name();
        let why =
            prose("Would other rows give the same features? Learn it twenty times on nine tenths of the rows.", &[]);
        list.push(idea(why, format!("tamis stability {data}{flags} --method {method} --report stability.html")));
    }
    list.push(idea(prose("Predict new rows.", &[]), format!("tamis predict {file} NEW > predictions.txt")));
    list
}

/// The report of a recipe learned many times.
pub fn of_runs(recipe: &Recipe, about: &Survey, found: &Repeated, told: &Told<'_>) -> Report {
    let shares: Vec<f64> = found.selected.iter().map(|one| one.share).collect();
    let always = count(at_least(&shares, 1.0) as u64);
    let runs = found.runs.len().to_string();
    let lead = paragraph(
        "*{} features come in all {} runs*; a run has {} on average. The sets agree with a [kappa] of *{}*.",
        &[&always, &runs, &short_number(found.nonzeros.0), &short_number(found.kappa)],
    );
    let error = match found.measure {
        crate::tune::Measure::Error => (per_cent(found.error.0), per_cent(found.error.1)),
        _ => (short_number(found.error.0), short_number(found.error.1)),
    };
    let tile = |value: String, what: Html| Tile { value, what };
    let tiles = vec![
        tile(short_number(found.kappa), prose("[kappa]: agreement of the sets", &[])),
        tile(always, prose("features in every run", &[])),
        tile(error.0, prose("{}, ± {} from run to run", &[found.measure.name(), &error.1])),
        tile(count(about.rows), prose("rows, {} features", &[&count(about.features)])),
    ];
    let method = recipe.method.name();
    let mut ideas = vec![Idea {
        why: prose("The model of all rows.", &[]),
        command: format!(
            "tamis fit {}{} --method {method} --out model.json --report model.html",
            data(told),
            told.flags
        ),
    }];
    if recipe.method != crate::recipe::Method::Stabilized {
        ideas.push(Idea {
            why: prose("The same for the default method, which is made to be stable.", &[]),
            command: format!("tamis stability {}{} --report stable.html", data(told), told.flags),
        });
    }
    let files = clipped(&told.data.join(", "), 120);
    Report { title: format!("Stability report: {files}"), lead, tiles, sections: Vec::new() }
        .with(Some(runs::features(found)))
        .with(Some(runs::spread(found)))
        .with(next::section(&ideas))
        .with(Some(asked_of_runs(recipe, about, told)))
}

fn asked_of_runs(recipe: &Recipe, about: &Survey, told: &Told<'_>) -> Section {
    let text = |what: &str, value: String, meaning: &str| (what.to_string(), value, meaning.to_string());
    let mut list = vec![text("method", recipe.method.name().into(), recipe.method.about())];
    list.extend(recipe.numbers.iter().map(|(name, value)| text(name, short_number(*value), "as given")));
    list.extend(recipe.k.map(|k| text("k", count(k as u64), "exactly so many features")));
    list.push(text("files", clipped(&told.data.join(", "), 400), "where the rows came from"));
    list.push(text("rows", count(about.rows), "examples"));
    list.push(text("features", count(about.features), "different inputs"));
    Section::new("asked", "What was asked, what went in?", asked::table("Recipe and data", &list).html())
}

/// The report of models of several periods.
pub fn of_periods(periods: &[String], models: &[Model], k: usize) -> Report {
    let mut courses: std::collections::BTreeMap<&str, Vec<f64>> = Default::default();
    for (at, model) in models.iter().enumerate() {
        for feature in model.outputs.iter().flat_map(|output| &output.features) {
            let weights = courses.entry(&feature.name).or_insert_with(|| vec![0.0; models.len()]);
            // With several outputs, the largest speaks for the feature.
            if feature.weight.abs() > weights[at].abs() {
                weights[at] = feature.weight;
            }
        }
    }
    let all = courses.values().filter(|weights| weights.iter().all(|weight| *weight != 0.0)).count();
    let lead = paragraph(
        "*{} features* are selected in all {} periods, {} in any. Each period was solved with {} features.",
        &[&count(all as u64), &periods.len().to_string(), &count(courses.len() as u64), &count(k as u64)],
    );
    let rows: u64 = models.iter().map(|model| model.seen.rows).sum();
    let tile = |value: String, what: &str| Tile { value, what: what.into() };
    let tiles = vec![
        tile(periods.len().to_string(), "periods"),
        tile(count(all as u64), "features selected in all of them"),
        tile(count(rows), "rows in all"),
    ];
    let courses = courses.into_iter().map(|(name, weights)| Course { name: name.to_string(), weights }).collect();
    let files: Vec<String> = periods.iter().map(|period| shell(period)).collect();
    let ideas = [Idea {
        why: prose("All periods together.", &[]),
        command: format!("tamis moments merge {} -o all.moments", clipped(&files.join(" "), 400)),
    }];
    Report { title: "Moments over time".into(), lead, tiles, sections: Vec::new() }
        .with(drift::section(periods, courses))
        .with(next::section(&ideas))
        .with(Some(asked_of_periods(periods, models)))
}

fn asked_of_periods(periods: &[String], models: &[Model]) -> Section {
    let mut table = Table::new("Periods", &["period", "rows", "features", "RMSE"]);
    for (period, model) in periods.iter().zip(models) {
        let whole = |number: u64| Cell::Shown(number as f64, count(number));
        let error = Cell::Number(model.seen.progressive_loss.max(0.0).sqrt());
        table.row(vec![Cell::Text(period.clone()), whole(model.seen.rows), whole(model.seen.features), error]);
    }
    let note = prose("RMSE on the rows of the period itself; of classes, that of the codes ±1.", &[]);
    Section::new("asked", "What was asked, what went in?", table.noted(note).html())
}
