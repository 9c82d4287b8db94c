//! `tamis reproduce`: a paper's tables beside ours.

mod cell;
mod detection;
mod draws;
mod drift;
mod figure;
mod generate;
mod load;
mod metric;
mod page;
mod plan;
mod regret;
mod simulate;
mod splits;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use tamis::model::replace_file;

use self::cell::{Lab, shared};
use self::page::Line;
use self::plan::{Experiment, ProtocolName, Recorded, RowPlan, TablePlan};
use crate::args::input::threads_parser;
use crate::error::CliError;
use crate::output::{note, print_line};
use crate::signals::stop_on_signal;

#[derive(Args)]
pub struct ReproduceArgs {
    /// The paper, a folder of experiments (its first letters are enough), and one of its tables or figures: 2, figure1
    #[arg(value_name = "PAPER[/TABLE|/FIGURE]")]
    pub what: String,
    /// The folder with the data sets [default: TAMIS_DATA, or else ../shared/data]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The folder with the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub experiments: PathBuf,
    /// Where pages of results go
    #[arg(long, value_name = "DIR", default_value = "docs/results")]
    pub out: PathBuf,
    /// Only these data sets; nothing is written then
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// So many orderings, splits or generated data sets instead of the experiment's; nothing is written then
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,
    /// Keep our values in recorded.toml, to be shown beside those of later runs
    #[arg(long)]
    pub record: bool,
    /// Threads [default: all]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads_parser)]
    pub threads: Option<usize>,
    /// Print the tables as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing but the result
    #[arg(long, short)]
    pub quiet: bool,
}

pub fn run(args: ReproduceArgs) -> Result<(), CliError> {
    let (paper, part) = match args.what.split_once('/') {
        Some((paper, part)) => (paper, Some(part)),
        None => (args.what.as_str(), None),
    };
    let folder = find_paper(&args.experiments, paper)?;
    let mut experiment = load::experiment(&folder.join("expected.toml"))?;
    if let Some(runs) = args.runs {
        experiment.protocol.runs = runs;
        experiment.data.values_mut().for_each(|data| data.runs = None);
        let generated = experiment.data.values_mut().filter_map(|data| data.generated.as_mut());
        generated.for_each(|rows| rows.runs = Some(runs));
    }
    if let Some(name) = args.only.iter().find(|name| !experiment.data.contains_key(*name)) {
        let names: Vec<&str> = experiment.data.keys().map(String::as_str).collect();
        return Err(CliError::Message(format!("--only {name}: the data sets are {}", names.join(", "))));
    }
    let (tables, figures) = parts(&experiment, part)?;
    let mut known = load::recorded(&folder.join("recorded.toml"))?;
    let lab = Lab {
        experiment: &experiment,
        paper: &folder,
        folder: data_folder(args.data.as_deref()),
        threads: args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1),
        quiet: args.quiet,
        stop: stop_on_signal(),
        done: Default::default(),
        baselines: Default::default(),
        chosen: Default::default(),
        wholes: Default::default(),
    };
    let mut machine = Vec::new();
    for name in tables {
        let table = &experiment.tables[name];
        let lines = lines(&lab, &args, table, &known)?;
        match args.json {
            true => machine.push(page::as_json(name, table, &lines)),
            false => print_line!("table {name}: {}\n\n{}", table.title, page::text(table, &lines))?,
        }
        if args.only.is_empty() && args.runs.is_none() {
            let file = args.out.join(format!("{}-{name}.md", folder.file_name().unwrap_or_default().to_string_lossy()));
            write(&file, &page::markdown(&experiment, name, table, &lines), args.quiet)?;
        }
    }
    for name in figures {
        machine.extend(show_figure(&lab, &args, &folder, name)?);
    }
    if args.record {
        known.extend(shared(&lab.done).iter().filter_map(|(key, cell)| Some((key.clone(), cell.clone().ok()?))));
        let text = toml::to_string(&known).map_err(|error| error.to_string())?;
        write(&folder.join("recorded.toml"), &text, args.quiet)?;
    }
    if args.json {
        print_line!("{}", Value::from(machine))?;
    }
    Ok(())
}

fn write(file: &Path, content: &str, quiet: bool) -> Result<(), CliError> {
    let failed = |error: std::io::Error| format!("{}: cannot be written: {error}", file.display());
    let folder = file.parent().expect("a file in a folder");
    std::fs::create_dir_all(folder).map_err(failed)?;
    replace_file(file, content.as_bytes()).map_err(failed)?;
    if !quiet {
        note!("written: {}", file.display());
    }
    Ok(())
}

/// The folder of a paper, by its name or the beginning of it.
fn find_paper(experiments: &Path, paper: &str) -> Result<PathBuf, CliError> {
    let entries = std::fs::read_dir(experiments).map_err(|error| {
        format!("{}: {error}; --experiments names the folder with the experiments", experiments.display())
    })?;
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.join("expected.toml").is_file()).collect();
    folders.sort();
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().to_string();
    let meant: Vec<&PathBuf> = folders.iter().filter(|path| name(path).starts_with(paper)).collect();
    match meant.iter().find(|path| name(path) == paper).or(meant.first().filter(|_| meant.len() == 1)) {
        Some(path) => Ok(path.to_path_buf()),
        None => {
            let all: Vec<String> = folders.iter().map(name).collect();
            Err(CliError::Message(format!("{paper}: expected one of {}", all.join(", "))))
        }
    }
}

fn data_folder(asked: Option<&Path>) -> PathBuf {
    let told = std::env::var_os("TAMIS_DATA").map(PathBuf::from);
    asked.map(Path::to_path_buf).or(told).unwrap_or_else(|| "../shared/data".into())
}

/// The tables and figures meant: all of them; `2` and `table2` are table 2 with its parts, `2-rmse` is one of them; `figure1`.
fn parts<'a>(experiment: &'a Experiment, asked: Option<&'a str>) -> Result<(Vec<&'a str>, Vec<&'a str>), CliError> {
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
    Err(CliError::Message(format!("{asked}: expected one of {}", all.collect::<Vec<_>>().join(", "))))
}

/// Draws a figure and writes it; returns what machines are told.
fn show_figure(lab: &Lab<'_>, args: &ReproduceArgs, folder: &Path, name: &str) -> Result<Option<Value>, CliError> {
    let plan = &lab.experiment.figures[name];
    let table = plan.draw.table().and_then(|table| lab.experiment.tables.get(table));
    let of_table = table.into_iter().flat_map(|table| table.rows.iter().map(|row| &row.data));
    let is_left_out = |data: &str| !args.only.is_empty() && !args.only.iter().any(|only| only == data);
    if plan.draw.data().is_some_and(is_left_out) || of_table.into_iter().any(|data| is_left_out(data)) {
        return Ok(None);
    }
    let charts = figure::draw(lab, plan)?;
    if !args.json {
        let text = charts.as_deref().map_or_else(|reason| format!("not drawn: {reason}\n"), figure::text);
        print_line!("figure {name}: {}\n\n{text}", plan.title)?;
    }
    if let Ok(charts) = &charts
        && args.only.is_empty()
        && args.runs.is_none()
    {
        for (file, content) in figure::files(lab.experiment, &figure::stem(folder, name), plan, charts) {
            write(&args.out.join(file), &content, args.quiet)?;
        }
    }
    Ok(args.json.then(|| figure::as_json(name, plan, &charts)))
}

/// All cells of a table.
fn lines(lab: &Lab<'_>, args: &ReproduceArgs, table: &TablePlan, known: &Recorded) -> Result<Vec<Line>, CliError> {
    let mut lines = Vec::new();
    for row in table.rows.iter().filter(|row| args.only.is_empty() || args.only.contains(&row.data)) {
        for column in &table.columns {
            lines.push(line(lab, table, row, column, known)?);
        }
    }
    Ok(lines)
}

fn line(lab: &Lab<'_>, table: &TablePlan, row: &RowPlan, column: &str, known: &Recorded) -> Result<Line, CliError> {
    let describes = lab.protocol_of(table) == ProtocolName::Describe;
    let measure = if describes { column } else { table.measure.as_str() };
    let run = lab.experiment.runs.get(column).filter(|_| !describes);
    let cell = lab.measured(table, row, column)?;
    Ok(Line {
        row: row.title.clone().unwrap_or_else(|| lab.experiment.data[&row.data].title.clone()),
        column: run.map_or_else(|| column.to_string(), |run| run.title.clone()),
        paper: row.paper.get(column).cloned(),
        ours: cell.as_ref().map_err(Clone::clone).and_then(|cell| page::value_of(cell, measure)),
        before: known.get(&lab.key(table, row, column)).and_then(|cell| cell.values.get(measure).cloned()),
        setting: cell.ok().filter(|_| measure != "baseline").map(|cell| cell.setting).unwrap_or_default(),
    })
}
