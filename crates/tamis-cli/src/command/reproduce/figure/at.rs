//! A table drawn: what each column measures against the number its rows are about, a chart a data set. Li et al. 2017,
//! Figures 1 and 2.

use serde::Deserialize;
use tamis::report::{AxisKind, Chart};

use crate::command::reproduce::cell::Lab;
use crate::command::reproduce::plan::{RowPlan, TablePlan};
use crate::error::CliError;

/// Which table, and how its numbers are laid out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub table: String,
    /// What runs across: `at` of the rows, or a measure of the cells.
    x: String,
    x_title: String,
    y_title: String,
    #[serde(default)]
    logarithmic: bool,
}

impl Plan {
    pub fn draw(&self, lab: &Lab<'_>, title: &str) -> Result<Vec<Chart>, CliError> {
        let named = || format!("there is no table {:?}", self.table);
        let table = lab.experiment.tables.get(&self.table).ok_or_else(named)?;
        let mut names: Vec<&str> = table.rows.iter().map(|row| row.data.as_str()).collect();
        names.dedup();
        names.into_iter().map(|data| self.chart(lab, title, table, data)).collect()
    }

    fn chart(&self, lab: &Lab<'_>, title: &str, table: &TablePlan, data: &str) -> Result<Chart, CliError> {
        let kind = if self.logarithmic { AxisKind::Logarithmic } else { AxisKind::Linear };
        let title = format!("{title}: {}", lab.experiment.data[data].title);
        let mut chart = Chart::new(&title).x(&self.x_title).x_kind(kind).y(&self.y_title);
        let rows: Vec<&RowPlan> = table.rows.iter().filter(|row| row.data == data).collect();
        for column in &table.columns {
            let (mut line, mut band) = (Vec::new(), Vec::new());
            for row in &rows {
                let cell = lab.measured(table, row, column)?.map_err(CliError::Message)?;
                let first = |measure: &str| cell.values.get(measure).and_then(|values| values.first().copied());
                let x = if self.x == "at" { row.at } else { first(&self.x) };
                let (Some(x), Some(values)) = (x, cell.values.get(&table.measure)) else { continue };
                line.push((x, values[0]));
                band.extend(values.get(1).map(|spread| (x, values[0] - spread, values[0] + spread)));
            }
            line.sort_by(|a, b| a.0.total_cmp(&b.0));
            band.sort_by(|a, b| a.0.total_cmp(&b.0));
            let name = &lab.experiment.runs[column].title;
            chart = chart.line(name, line);
            chart = if band.is_empty() { chart } else { chart.band(name, band) };
        }
        Ok(chart)
    }
}
