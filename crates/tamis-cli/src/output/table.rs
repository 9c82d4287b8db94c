//! Numbers and features as people like to read them.

use std::fmt::Write as _;

use tamis::eval::Measures;
pub use tamis::model::summary::count;
use tamis::model::{Feature, Model, Sampling, Task};

use super::progress::number;
use super::terminal::{block, clipped, columns as columns_of, padded, width};

/// Bytes with a unit.
pub fn bytes(number: u64) -> String {
    match number {
        0..1024 => format!("{number} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", number as f64 / 1024.0),
        _ => format!("{:.1} MiB", number as f64 / 1_048_576.0),
    }
}

/// What a model predicts, in a word.
pub fn task_name(model: &Model) -> &'static str {
    match &model.task {
        Task::Regression => "regression",
        Task::Classes(classes) if classes.len() == 2 => "binary",
        Task::Classes(_) => "multiclass",
    }
}

/// Measures in one line.
pub fn measures(measures: &Measures) -> String {
    let mut text = format!("{} rows", count(measures.n));
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(text, ", {name} {value}").expect("text grows");
        }
    };
    add("error", measures.error.map(|error| format!("{:.2} %", 100.0 * error)));
    add("AUC", measures.auc.map(|auc| format!("{auc:.4}")));
    add("log loss", measures.log_loss.map(|loss| format!("{loss:.4}")));
    add("RMSE", measures.rmse.map(|rmse| format!("{rmse:.6}")));
    add("R²", measures.r2.map(|r2| format!("{r2:.4}")));
    text
}

/// A model in a few lines.
pub fn about(model: &Model) -> String {
    let seen = &model.seen;
    let mut text = format!(
        "{} by {} with {} loss\nlearned from {} rows in {} pass{}, {} features seen, {} kept",
        match &model.task {
            Task::Regression => "a number".to_string(),
            Task::Classes(classes) => {
                let names: Vec<String> = classes.iter().take(10).map(|class| class.to_string()).collect();
                let more = if classes.len() > 10 { ", …" } else { "" };
                format!("{} classes ({}{more})", classes.len(), names.join(", "))
            }
        },
        model.recipe.method_name(),
        model.loss.name(),
        count(seen.rows),
        seen.passes,
        if seen.passes == 1 { "" } else { "es" },
        count(seen.features),
        count(model.nonzeros() as u64),
    );
    if let Some(selection) = &model.selection {
        write!(text, "\n{}", super::ladder::standing(model, selection)).expect("text grows");
    } else if let Some(error) = seen.progressive_error {
        write!(text, "\nwrong on {:.2} % of rows before learning them", 100.0 * error).expect("text grows");
    }
    if let Some(one) = &model.sampling {
        write!(text, "\n{}", sampling(one)).expect("text grows");
    }
    if seen.skipped > 0 {
        write!(text, "\n{} bad lines were left out", count(seen.skipped)).expect("text grows");
    }
    text
}

/// How features were drawn, in a line.
pub fn sampling(sampling: &Sampling) -> String {
    let Sampling { law, draws, expected, candidates, epochs, settings } = sampling;
    let how = match draws {
        Some(draws) if *draws >= *candidates as u64 => "all kept: more draws than features are needed".to_string(),
        Some(draws) => format!("{} draws by {} were to keep {expected:.1}", count(*draws), law.name()),
        None if *expected >= *candidates as f64 => "all kept".to_string(),
        None => format!("{expected:.0} taken by {}", law.name()),
    };
    let s = if *epochs == 1 { "" } else { "s" };
    let flags = settings.iter().map(|(name, number)| format!(" --{name} {}", plain(*number))).collect::<String>();
    let learned = if flags.is_empty() { flags } else { format!("; learned with{flags}") };
    format!("of {} features with a weight after {epochs} epoch{s}, {how}{learned}", count(*candidates as u64))
}

/// A number as it would be given.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { number(value) }
}

/// The features of largest effect with bars, output by output.
pub fn features(model: &Model, top: usize) -> String {
    let mut text = String::new();
    for output in &model.outputs {
        if let Some(class) = &output.class {
            writeln!(text, "class {class}").expect("text grows");
        }
        let shown = &output.features[..top.min(output.features.len())];
        text.push_str(&bars(shown));
        if output.features.len() > shown.len() {
            writeln!(text, "… and {} more", count((output.features.len() - shown.len()) as u64)).expect("text grows");
        }
        writeln!(text, "intercept {}", output.intercept).expect("text grows");
    }
    text.truncate(text.trim_end().len());
    text
}

/// A name, numbers that fit the terminal, and a bar. Evidence goes first, then stability, where there is no room.
fn bars(features: &[Feature]) -> String {
    let largest = features.iter().map(|feature| feature.effect().abs()).fold(0.0, f64::max);
    let mut columns = vec![column("weight", features, |feature| Some(format!("{:12.6}", feature.weight)))];
    columns.push(column("stability", features, |feature| Some(format!("{:.0} %", 100.0 * feature.stability?))));
    columns.push(column("evidence", features, |feature| {
        feature.evidence.map(|[mean, spread]| format!("{mean:.1} ± {spread:.1}"))
    }));
    columns.retain(|column| column.iter().skip(1).any(|cell| !cell.trim().is_empty()));
    let taken = |columns: &[Vec<String>]| columns.iter().map(|column| 2 + column[0].chars().count()).sum::<usize>();
    let mut left_out = Vec::new();
    while columns.len() > 1 && SHORTEST_NAME + taken(&columns) + 2 + SHORTEST_BAR > width() {
        left_out.extend(columns.pop().map(|column| column[0].trim().to_string()));
    }
    let names = features.iter().map(|feature| columns_of(&feature.name)).max().unwrap_or(0);
    let rest = width().saturating_sub(taken(&columns) + 3);
    let names = names.clamp(SHORTEST_NAME, rest.saturating_sub(SHORTEST_BAR).clamp(SHORTEST_NAME, width().max(24) / 2));
    let room = rest.saturating_sub(names).clamp(SHORTEST_BAR, 40);
    let bar = |feature: &Feature| {
        let share = if largest > 0.0 { feature.effect().abs() / largest } else { 0.0 };
        let sign = if feature.effect() < 0.0 { "−" } else { "+" };
        sign.to_string() + &block().repeat((share * room as f64).ceil() as usize)
    };
    let line = |number: usize, name: &str, end: &str| {
        let cells: String = columns.iter().map(|column| format!("  {}", column[number])).collect();
        format!("{}{cells}  {end}\n", padded(&clipped(name, names), names))
    };
    let mut text = line(0, "feature", "effect");
    features.iter().enumerate().for_each(|(number, one)| text += &line(number + 1, &one.name, &bar(one)));
    text + &want_of_room(&left_out)
}

/// A name of fewer characters, or a bar of fewer blocks, says too little.
const SHORTEST_NAME: usize = 7;
const SHORTEST_BAR: usize = 4;

/// A heading and a cell for each feature, all of one width, to the right.
fn column(head: &str, features: &[Feature], cell: impl Fn(&Feature) -> Option<String>) -> Vec<String> {
    let cells = features.iter().map(|feature| cell(feature).unwrap_or_default());
    let cells: Vec<String> = std::iter::once(head.to_string()).chain(cells).collect();
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    cells.iter().map(|cell| format!("{cell:>width$}")).collect()
}

/// What was left out of a table, if anything.
pub fn want_of_room(columns: &[String]) -> String {
    match columns {
        [] => String::new(),
        columns => format!("(no room for {}; see --json)\n", columns.join(", ")),
    }
}

/// What the columns of a stabilized model mean.
pub fn legend(paths: usize) -> String {
    format!(
        "stability Π: how many of {paths} paths select the feature; evidence: its mean ± spread over the paths,\n\
         in standard errors of the gradient"
    )
}

/// Features as CSV: output by output, quoted where needed.
pub fn features_csv(model: &Model, top: usize) -> String {
    let many = model.outputs.len() > 1;
    let mut text = String::from(if many { "class," } else { "" });
    text.push_str("name,weight,scale,stability,evidence,evidence_spread\n");
    for output in &model.outputs {
        for feature in output.features.iter().take(top) {
            if let Some(class) = output.class.as_ref().filter(|_| many) {
                write!(text, "{},", quoted(&class.to_string())).expect("text grows");
            }
            let Feature { weight, scale, evidence, .. } = feature;
            let numbers = [feature.stability, evidence.map(|[mean, _]| mean), evidence.map(|[_, spread]| spread)];
            let [stability, mean, spread] = numbers.map(|one| one.map(|one| one.to_string()).unwrap_or_default());
            writeln!(text, "{},{weight},{scale},{stability},{mean},{spread}", quoted(&feature.name))
                .expect("text grows");
        }
    }
    text
}

/// Rows of cells in columns, the last to the left and all others to the right, each row a line.
pub fn aligned(rows: &[Vec<&str>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &&str)| {
            let room = " ".repeat(widths[column] - cell.chars().count());
            if column + 1 == columns { format!("{cell}{room}") } else { format!("{room}{cell}") }
        };
        let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
        writeln!(text, "{}", line.trim_end()).expect("text grows");
    }
    text
}

/// A field of a table, be it separated by commas or tabs.
pub fn quoted(field: &str) -> String {
    match field.contains(['"', ',', '\t', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_bytes() {
        assert_eq!(["7", "1,000", "12,345,678"], [7, 1000, 12_345_678].map(count));
        assert_eq!(bytes(5 << 20), "5.0 MiB");
    }

    #[test]
    fn cells_stand_in_columns() {
        let rows = [vec!["a", "κ", "mark"], vec!["10", "0.25 %", ""]];
        assert_eq!(aligned(&rows), " a       κ  mark\n10  0.25 %\n");
    }

    #[test]
    fn fields_are_quoted_where_needed() {
        assert_eq!(quoted("say \"hi\", you"), "\"say \"\"hi\"\", you\"");
    }
}
