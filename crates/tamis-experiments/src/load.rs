//! Reading experiments and recorded values.

use std::collections::BTreeMap;
use std::path::Path;

use crate::spec::{Experiment, ProtocolName, Recorded, RowPlan};

/// Reads an experiment and checks that every name in it is defined.
pub fn experiment(path: &Path) -> Result<Experiment, String> {
    let named = |error: String| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
    let mut experiment: Experiment = toml::from_str(&text).map_err(|error| named(error.to_string()))?;
    check(&experiment).map_err(named)?;
    share_rows(&mut experiment).map_err(named)?;
    Ok(experiment)
}

fn check(experiment: &Experiment) -> Result<(), String> {
    experiment.protocol.rule()?;
    for (name, data) in &experiment.data {
        data.task()?;
        match &data.generated {
            Some(rows) if data.train.is_empty() => {
                rows.plan(0).check().map_err(|error| format!("data {name}: {error}"))?
            }
            None if !data.train.is_empty() => {}
            _ => return Err(format!("data {name}: expected either train or generated")),
        }
    }
    let run_is_known = |name: &str, place: &str| {
        if experiment.runs.contains_key(name) { Ok(()) } else { Err(format!("{place}: there is no run {name:?}")) }
    };
    if let Some(baseline) = &experiment.protocol.baseline {
        run_is_known(baseline, "protocol")?;
    }
    for (name, table) in &experiment.tables {
        let place = format!("table {name}");
        if table.protocol.unwrap_or(experiment.protocol.name) != ProtocolName::Describe {
            table.columns.iter().try_for_each(|column| run_is_known(column, &place))?;
        }
        for row in &table.rows {
            if !experiment.data.contains_key(&row.data) {
                return Err(format!("{place}: there is no data {:?}", row.data));
            }
            if let Some(column) =
                row.paper.keys().chain(row.not_run.keys()).find(|column| !table.columns.contains(column))
            {
                return Err(format!("{place}, row {}: {column:?} is not one of its columns", row.data));
            }
            if row.paper.values().any(|value| !(1..=2).contains(&value.len())) {
                return Err(format!("{place}, row {}: expected [value] or [mean, standard deviation]", row.data));
            }
        }
    }
    for (name, figure) in &experiment.figures {
        let place = format!("figure {name}");
        figure.draw.runs().iter().try_for_each(|run| run_is_known(run, &place))?;
        if let Some(data) = figure.draw.data().filter(|data| !experiment.data.contains_key(*data)) {
            return Err(format!("{place}: there is no data {data:?}"));
        }
    }
    Ok(())
}

/// Copies the rows of the table named by `rows_of`.
fn share_rows(experiment: &mut Experiment) -> Result<(), String> {
    let names: Vec<(String, String)> =
        experiment.tables.iter().filter_map(|(name, table)| Some((name.clone(), table.rows_of.clone()?))).collect();
    for (name, other) in names {
        let rows = experiment.tables.get(&other).ok_or_else(|| format!("table {name}: there is no table {other:?}"))?;
        let rows = rows.rows.iter().map(|row| RowPlan { paper: BTreeMap::new(), ..row.clone() }).collect();
        experiment.tables.get_mut(&name).expect("just seen").rows = rows;
    }
    Ok(())
}

/// Reads recorded cells; a missing file has none.
pub fn recorded(path: &Path) -> Result<Recorded, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Recorded::new()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}
