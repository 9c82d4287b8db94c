//! One invocation: finds the experiment, computes the tables and figures asked for, prints and writes them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tamis::data::replace_file;

use crate::args::Arguments;
use crate::error::Failure;
use crate::output::{note, print_line, stop_on_signal};
use crate::render::{self, Line};
use crate::spec::{Experiment, ProtocolName, Recorded, RowPlan, TablePlan};
use crate::table_cell::{Session, shared};
use crate::{figure, load};

/// Runs what the command line asks for.
pub fn run(args: &Arguments) -> Result<(), Failure> {
    let (paper, part) = match args.what.split_once('/') {
        Some((paper, part)) => (paper, Some(part)),
        None => (args.what.as_str(), None),
    };
    let folder = find_paper(&args.experiments(), paper)?;
    let experiment = experiment(args, &folder)?;
    let (tables, figures) = parts(&experiment, part)?;
    let mut known = load::recorded(&folder.join("recorded.toml"))?;
    let session = Session {
        experiment: &experiment,
        paper: &folder,
        folder: args.data(),
        threads: args.threads(),
        quiet: args.quiet,
        stop: stop_on_signal(),
        done: Default::default(),
        baselines: Default::default(),
        chosen: Default::default(),
        full_models: Default::default(),
    };
    let mut machine = Vec::new();
    for name in tables {
        machine.extend(show_table(&session, args, &folder, name, &known)?);
    }
    for name in figures {
        machine.extend(show_figure(&session, args, &folder, name)?);
    }
    if args.record {
        known.extend(shared(&session.done).iter().filter_map(|(key, cell)| Some((key.clone(), cell.clone().ok()?))));
        let text = toml::to_string(&known).map_err(|error| error.to_string())?;
        write(&folder.join("recorded.toml"), &text, args.quiet)?;
    }
    if args.json {
        print_line!("{}", Value::from(machine))?;
    }
    Ok(())
}

/// Reads the experiment of a folder and applies `--runs` and `--only`.
fn experiment(args: &Arguments, folder: &Path) -> Result<Experiment, Failure> {
    let mut experiment = load::experiment(&folder.join("expected.toml"))?;
    if let Some(runs) = args.runs {
        experiment.protocol.runs = runs;
        experiment.data.values_mut().for_each(|data| data.runs = None);
        let generated = experiment.data.values_mut().filter_map(|data| data.generated.as_mut());
        generated.for_each(|rows| rows.runs = Some(runs));
    }
    if let Some(name) = args.only.iter().find(|name| !experiment.data.contains_key(*name)) {
        let names: Vec<&str> = experiment.data.keys().map(String::as_str).collect();
        return Err(Failure::Text(format!("--only {name}: the data sets are {}", names.join(", "))));
    }
    Ok(experiment)
}

fn write(file: &Path, content: &str, quiet: bool) -> Result<(), Failure> {
    let failed = |error: std::io::Error| format!("{}: cannot be written: {error}", file.display());
    let folder = file.parent().expect("a file in a folder");
    std::fs::create_dir_all(folder).map_err(failed)?;
    replace_file(file, content.as_bytes()).map_err(failed)?;
    if !quiet {
        note!("written: {}", file.display());
    }
    Ok(())
}

/// The folder of a paper, by its name or a unique prefix of it.
fn find_paper(experiments: &Path, paper: &str) -> Result<PathBuf, Failure> {
    let entries = std::fs::read_dir(experiments)
        .map_err(|error| format!("{}: {error}; --root names the repository", experiments.display()))?;
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.join("expected.toml").is_file()).collect();
    folders.sort();
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().to_string();
    let meant: Vec<&PathBuf> = folders.iter().filter(|path| name(path).starts_with(paper)).collect();
    match meant.iter().find(|path| name(path) == paper).or(meant.first().filter(|_| meant.len() == 1)) {
        Some(path) => Ok(path.to_path_buf()),
        None => {
            let all: Vec<String> = folders.iter().map(name).collect();
            Err(Failure::Text(format!("{paper}: expected one of {}", all.join(", "))))
        }
    }
}

/// The tables and figures asked for: all of them; `2` and `table2` are table 2 with its parts, `2-rmse` is one part;
/// `figure1` is a figure.
fn parts<'a>(experiment: &'a Experiment, asked: Option<&'a str>) -> Result<(Vec<&'a str>, Vec<&'a str>), Failure> {
    let tables: Vec<&str> = experiment.tables.keys().map(String::as_str).collect();
    let figures: Vec<&str> = experiment.figures.keys().map(String::as_str).collect();
    let Some(asked) = asked else { return Ok((tables, figures)) };
    let named = |all: &[&'a str], name: Option<&str>| -> Vec<&'a str> {
        let Some(name) = name else { return Vec::new() };
        let is_part =
            |part: &&&str| part.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        all.iter().filter(is_part).copied().collect()
    };
    let found = [named(&tables, Some(asked)), named(&tables, asked.strip_prefix("table"))];
    if let Some(found) = found.into_iter().find(|found| !found.is_empty()) {
        return Ok((found, Vec::new()));
    }
    let found = named(&figures, asked.strip_prefix("figure"));
    if !found.is_empty() {
        return Ok((Vec::new(), found));
    }
    let all = tables.iter().map(|name| name.to_string()).chain(figures.iter().map(|name| format!("figure{name}")));
    Err(Failure::Text(format!("{asked}: expected one of {}", all.collect::<Vec<_>>().join(", "))))
}

/// Measures a table, prints and writes it; returns its JSON if that is asked for.
fn show_table(
    session: &Session<'_>,
    args: &Arguments,
    folder: &Path,
    name: &str,
    known: &Recorded,
) -> Result<Option<Value>, Failure> {
    let table = &session.experiment.tables[name];
    let lines = lines(session, args, table, known)?;
    if !args.json {
        print_line!("table {name}: {}\n\n{}", table.title, render::text(table, &lines))?;
    }
    if args.is_complete() {
        let file = format!("{}-{name}.md", folder.file_name().unwrap_or_default().to_string_lossy());
        write(&args.results().join(file), &render::markdown(session.experiment, name, table, &lines), args.quiet)?;
    }
    Ok(args.json.then(|| render::as_json(name, table, &lines)))
}

/// Draws a figure, prints and writes it; returns its JSON if that is asked for.
fn show_figure(session: &Session<'_>, args: &Arguments, folder: &Path, name: &str) -> Result<Option<Value>, Failure> {
    let plan = &session.experiment.figures[name];
    let table = plan.draw.table().and_then(|table| session.experiment.tables.get(table));
    let of_table = table.into_iter().flat_map(|table| table.rows.iter().map(|row| row.data.as_str()));
    if plan.draw.data().into_iter().chain(of_table).any(|data| !args.includes(data)) {
        return Ok(None);
    }
    let charts = figure::draw(session, plan)?;
    if !args.json {
        let text = charts.as_deref().map_or_else(|reason| format!("not drawn: {reason}\n"), figure::text);
        print_line!("figure {name}: {}\n\n{text}", plan.title)?;
    }
    if let Ok(charts) = &charts
        && args.is_complete()
    {
        for (file, content) in figure::files(session.experiment, &figure::stem(folder, name), plan, charts) {
            write(&args.results().join(file), &content, args.quiet)?;
        }
    }
    Ok(args.json.then(|| figure::as_json(name, plan, &charts)))
}

/// All cells of a table.
fn lines(session: &Session<'_>, args: &Arguments, table: &TablePlan, known: &Recorded) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for row in table.rows.iter().filter(|row| args.includes(&row.data)) {
        for column in &table.columns {
            lines.push(line(session, table, row, column, known)?);
        }
    }
    Ok(lines)
}

fn line(
    session: &Session<'_>,
    table: &TablePlan,
    row: &RowPlan,
    column: &str,
    known: &Recorded,
) -> Result<Line, Failure> {
    let describes = session.protocol_of(table) == ProtocolName::Describe;
    let measure = if describes { column } else { table.measure.as_str() };
    let run = session.experiment.runs.get(column).filter(|_| !describes);
    let cell = session.measured(table, row, column)?;
    Ok(Line {
        row: row.title.clone().unwrap_or_else(|| session.experiment.data[&row.data].title.clone()),
        column: run.map_or_else(|| column.to_string(), |run| run.title.clone()),
        paper: row.paper.get(column).cloned(),
        ours: cell.as_ref().map_err(Clone::clone).and_then(|cell| render::value_of(cell, measure)),
        before: known.get(&session.key(table, row, column)).and_then(|cell| cell.values.get(measure).cloned()),
        setting: cell.ok().filter(|_| measure != "baseline").map(|cell| cell.setting).unwrap_or_default(),
    })
}
