//! The share of features that are selected, by how often they occur. Ma & Zheng 2016, Figure 3.

use std::collections::BTreeMap;

use serde::Deserialize;
use tamis::data::Vocabulary;
use tamis::io::RowStream;
use tamis::model::Model;
use tamis_report::{AxisKind, Chart};

use crate::error::Failure;
use crate::spec::Fields;
use crate::table_cell::{Rows, Session};

/// The data, the methods and the levels shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub data: String,
    /// Fields set in every recipe.
    #[serde(default)]
    set: Fields,
    pub series: Vec<String>,
    /// Number of density levels, equally wide on a logarithmic axis.
    levels: usize,
}

impl Plan {
    pub fn draw(&self, session: &Session<'_>, title: &str) -> Result<Vec<Chart>, Failure> {
        let rows = session.data(&self.data)?;
        let densities = densities(&rows)?;
        let mut chart = Chart::new(title)
            .x("share of the rows in which a feature occurs (%)")
            .x_kind(AxisKind::Logarithmic)
            .y("features selected (%)")
            .y_holds(0.0);
        for name in &self.series {
            let run = &session.experiment.runs[name];
            let recipe = session.chosen_recipe(&self.data, &rows, run, &self.set)?;
            let (model, _) = session.learn_and_test(&rows, &recipe)?;
            chart = chart.points(&run.title, self.shares(&densities, &model));
        }
        Ok(vec![chart])
    }

    /// (density, share selected, share of all features) of each non-empty level.
    fn shares(&self, densities: &BTreeMap<String, f64>, model: &Model) -> Vec<(f64, f64, f64)> {
        let bounds = densities.values().fold((f64::INFINITY, 0.0_f64), |(low, high), &d| (low.min(d), high.max(d)));
        let width = (bounds.1 / bounds.0).ln() / self.levels as f64;
        let level = |density: f64| {
            if width > 0.0 { (((density / bounds.0).ln() / width) as usize).min(self.levels - 1) } else { 0 }
        };
        let mut counts = vec![(0.0, 0.0, 0.0); self.levels];
        let selected: std::collections::HashSet<&str> =
            model.outputs.iter().flat_map(|output| &output.features).map(|feature| feature.name.as_str()).collect();
        for (name, &density) in densities {
            let (sum, chosen, all) = &mut counts[level(density)];
            *sum += density;
            *all += 1.0;
            *chosen += f64::from(u8::from(selected.contains(name.as_str())));
        }
        let found = counts.into_iter().filter(|&(_, _, all)| all > 0.0);
        found
            .map(|(sum, chosen, all)| (100.0 * sum / all, 100.0 * chosen / all, all / densities.len() as f64))
            .collect()
    }
}

/// The share of the training rows in which each feature occurs.
fn densities(rows: &Rows) -> Result<BTreeMap<String, f64>, Failure> {
    let mut stream = RowStream::open(rows.fit.sources.clone(), rows.fit.read.clone());
    let (mut vocabulary, mut counts, mut total) = (Vocabulary::new(None), Vec::new(), 0.0);
    while let Some(block) = stream.next_block()? {
        let named = |(row, name)| format!("row {row}: the feature {name} occurs twice");
        let (batch, _) = block.rows.intern(&mut vocabulary).map_err(named)?;
        counts.resize(vocabulary.span(), 0.0);
        for example in batch.examples() {
            example.row.iter().filter(|(_, value)| *value != 0.0).for_each(|(id, _)| counts[id as usize] += 1.0);
            total += 1.0;
        }
    }
    let occurs = vocabulary.ids().filter(|&id| counts[id as usize] > 0.0);
    Ok(occurs.map(|id| (vocabulary.name(id), counts[id as usize] / total)).collect())
}
