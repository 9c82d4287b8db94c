//! A measure told at several points of a stream (`regret-1000`, `regret-3000`, …), drawn against them: a chart a data set,
//! a line a method. Sun et al. 2018, Figures 3 and 4.

use serde::Deserialize;
use tamis::report::{AxisKind, Chart};

use crate::command::reproduce::cell::Lab;
use crate::command::reproduce::plan::{Cell, RowPlan, TablePlan};
use crate::error::CliError;

/// Which table has the cells, and how the measures begin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub table: String,
    /// What comes before the number in the names of the measures.
    prefix: String,
    x_title: String,
    y_title: String,
}

impl Plan {
    pub fn draw(&self, lab: &Lab<'_>, title: &str) -> Result<Vec<Chart>, CliError> {
        let named = || format!("there is no table {:?}", self.table);
        let table = lab.experiment.tables.get(&self.table).ok_or_else(named)?;
        table.rows.iter().map(|row| self.chart(lab, title, table, row)).collect()
    }

    fn chart(&self, lab: &Lab<'_>, title: &str, table: &TablePlan, row: &RowPlan) -> Result<Chart, CliError> {
        let title = format!("{title}: {}", lab.experiment.data[&row.data].title);
        let logarithmic = AxisKind::Logarithmic;
        let mut chart =
            Chart::new(&title).x(&self.x_title).x_kind(logarithmic).y(&self.y_title).y_kind(AxisKind::Logarithmic);
        for column in &table.columns {
            let cell = lab.measured(table, row, column)?.map_err(CliError::Message)?;
            chart = chart.line(&lab.experiment.runs[column].title, self.points(&cell));
        }
        Ok(chart)
    }

    /// Points of a cell; what is not above zero has no place on this paper.
    fn points(&self, cell: &Cell) -> Vec<(f64, f64)> {
        let point = |(name, values): (&String, &Vec<f64>)| {
            let x = name.strip_prefix(&self.prefix)?.parse::<f64>().ok()?;
            Some((x, values[0])).filter(|(_, y)| *y > 0.0)
        };
        let mut points: Vec<(f64, f64)> = cell.values.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_in_the_order_of_their_numbers() {
        let words = ["regret-300", "regret-10000", "regret-3000", "slope"].map(String::from);
        let values = words.into_iter().zip([3.0, 0.1, 0.0, -1.0]).map(|(name, value)| (name, vec![value])).collect();
        let [prefix, x_title, y_title, table] = ["regret-", "rows", "regret", "1"].map(String::from);
        let plan = Plan { table, prefix, x_title, y_title };
        assert_eq!(plan.points(&Cell { values, ..Cell::default() }), [(300.0, 3.0), (10000.0, 0.1)]);
    }
}
