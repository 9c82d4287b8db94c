//! What partial-dependence curves and surfaces are drawn from: some rows of the sample, and grids of raw values.
//!
//! They stay in the checkpoint, so that the curves of a model that new rows update are drawn without the first rows.

use super::inputs::quantile;
use super::sample::{Prepared, Sample};
use crate::data::{State, StateError};
use crate::model::kernel::{InputMap, KernelFunction};

/// Rows that partial dependence is averaged over, at most.
const CURVE_ROWS: usize = 400;
/// Points of a curve, and of each side of a surface, at most.
const POINTS: [usize; 2] = [33, 15];

/// Rows and grids of the variables that some kept size uses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CurveRows {
    /// By row: the input of each variable.
    inputs: Vec<Vec<f64>>,
    weights: Vec<f64>,
    /// By variable: raw values of a curve, and of a side of a surface.
    grids: Vec<[Vec<f64>; 2]>,
}

impl CurveRows {
    /// From rows of the sample; `columns` are the columns of the variables.
    pub(super) fn new(sample: &Sample, prepared: &Prepared, columns: &[usize]) -> Self {
        let rows = sample.weights.len().min(CURVE_ROWS);
        let input = |row: usize| columns.iter().map(|&column| prepared.rows.inputs[(row, column)]).collect();
        let grid = |&column: &usize| {
            let mut values: Vec<f64> = sample.values.col(column).iter().copied().collect();
            values.sort_unstable_by(f64::total_cmp);
            POINTS.map(|points| quantiles(&values, points))
        };
        CurveRows {
            inputs: (0..rows).map(input).collect(),
            weights: sample.weights[..rows].to_vec(),
            grids: columns.iter().map(grid).collect(),
        }
    }

    /// The curves of a function of some of the variables.
    pub(super) fn of<'a>(
        &'a self,
        variables: &'a [usize],
        maps: Vec<&'a InputMap>,
        function: &'a KernelFunction,
    ) -> Curves<'a> {
        let own = |row: &Vec<f64>| variables.iter().map(|&variable| row[variable]).collect();
        Curves { rows: self, variables, maps, inputs: self.inputs.iter().map(own).collect(), function }
    }

    /// Adds it to a state.
    pub(super) fn save(&self, state: &mut State) {
        state.put("curves.inputs", self.inputs.concat());
        state.put("curves.weights", self.weights.clone());
        for (number, grids) in self.grids.iter().enumerate() {
            let [curve, surface] = grids.clone();
            state.put(&format!("curves.{number}.curve"), curve);
            state.put(&format!("curves.{number}.surface"), surface);
        }
    }

    /// Takes it out of a state.
    pub(super) fn restore(state: &mut State, variables: usize) -> Result<Self, StateError> {
        let (inputs, weights) = (state.take("curves.inputs")?, state.take("curves.weights")?);
        if inputs.len() != weights.len() * variables || weights.is_empty() {
            return Err(state.wrong_shape("curves.inputs"));
        }
        let grid = |number: usize, state: &mut State| {
            let curve = state.take(&format!("curves.{number}.curve"))?;
            Ok([curve, state.take(&format!("curves.{number}.surface"))?])
        };
        let rows = inputs.chunks(variables.max(1)).map(<[f64]>::to_vec);
        Ok(CurveRows {
            inputs: if variables == 0 { vec![Vec::new(); weights.len()] } else { rows.collect() },
            grids: (0..variables).map(|number| grid(number, state)).collect::<Result<_, _>>()?,
            weights,
        })
    }
}

/// Distinct quantiles of sorted values, from the 1st to the 99th percentile.
fn quantiles(sorted: &[f64], points: usize) -> Vec<f64> {
    let share = |point: usize| 0.01 + 0.98 * point as f64 / (points - 1) as f64;
    let mut values: Vec<f64> = (0..points).map(|point| quantile(sorted, share(point))).collect();
    values.dedup();
    values
}

/// The curves of one function.
pub(super) struct Curves<'a> {
    rows: &'a CurveRows,
    variables: &'a [usize],
    maps: Vec<&'a InputMap>,
    inputs: Vec<Vec<f64>>,
    function: &'a KernelFunction,
}

impl Curves<'_> {
    fn dependence(&self, fixed: &[usize], points: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let rows = self.inputs.iter().map(Vec::as_slice).zip(self.rows.weights.iter().copied());
        let found = self.function.partial_dependence(fixed, points, rows);
        (0..self.function.intercepts.len())
            .map(|output| found.iter().map(|margins| margins[output]).collect())
            .collect()
    }

    /// The partial dependence of a variable of the function: raw values, and margins by output.
    pub(super) fn curve(&self, place: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let values = self.rows.grids[self.variables[place]][0].clone();
        let points: Vec<Vec<f64>> = values.iter().map(|&value| vec![self.maps[place].apply(value)]).collect();
        let margins = self.dependence(&[place], &points);
        (values, margins)
    }

    /// The partial dependence of a pair on a grid.
    pub(super) fn surface(&self, [a, b]: [usize; 2]) -> ([Vec<f64>; 2], Vec<Vec<f64>>) {
        let at = [a, b].map(|place| self.rows.grids[self.variables[place]][1].clone());
        let point = |x: f64, y: f64| vec![self.maps[a].apply(x), self.maps[b].apply(y)];
        let points: Vec<Vec<f64>> =
            at[0].iter().flat_map(|&x| at[1].iter().map(move |&y| (x, y))).map(|(x, y)| point(x, y)).collect();
        let margins = self.dependence(&[a, b], &points);
        (at, margins)
    }
}
