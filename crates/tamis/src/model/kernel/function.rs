//! The function of a kernel model: Σ weight · cos(w·z + b), a linear part and an intercept, for each output.

use serde::{Deserialize, Serialize};

use super::cosine::{cos_sin, cos_sin_all};

/// Random Fourier features of few variables each, with their weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelFunction {
    /// By feature: its variables, by their place in the list of the size.
    pub variables: Vec<Vec<u32>>,
    /// By feature: the frequency of each of its variables (w).
    pub frequencies: Vec<Vec<f64>>,
    /// By feature: the phase (b).
    pub phases: Vec<f64>,
    /// By output: the weight of each feature.
    pub weights: Vec<Vec<f64>>,
    /// By output: the weight of each input itself.
    pub linear: Vec<Vec<f64>>,
    /// By output.
    pub intercepts: Vec<f64>,
}

impl KernelFunction {
    /// Margins for the inputs of a row, one for each output.
    pub fn margins(&self, inputs: &[f64]) -> Vec<f64> {
        let mut margins = self.intercepts.clone();
        for (margin, weights) in margins.iter_mut().zip(&self.linear) {
            *margin += weights.iter().zip(inputs).map(|(weight, input)| weight * input).sum::<f64>();
        }
        for (feature, phase) in self.phases.iter().enumerate() {
            let (cosine, _) = cos_sin(self.angle(feature, inputs) + phase);
            margins.iter_mut().zip(&self.weights).for_each(|(margin, weights)| *margin += weights[feature] * cosine);
        }
        margins
    }

    /// w·z of a feature.
    fn angle(&self, feature: usize, inputs: &[f64]) -> f64 {
        let pairs = self.variables[feature].iter().zip(&self.frequencies[feature]);
        pairs.map(|(&variable, frequency)| frequency * inputs[variable as usize]).sum()
    }

    /// The mean over rows of the margins where the inputs of some variables have given values: partial dependence
    /// (Friedman 2001, section 8.2). `rows` yields the inputs of each row with its weight; `points` are values of the
    /// `fixed` variables. Returns a row for each point with a margin for each output.
    ///
    /// The mean of cos(w·z + b) over rows is Re(e^{i·w_F·z_F} · A), where A is the mean of e^{i(rest)} and the rest has the
    /// other variables and the phase: one complex number a feature serves all points.
    pub fn partial_dependence<'a>(
        &self,
        fixed: &[usize],
        points: &[Vec<f64>],
        rows: impl Iterator<Item = (&'a [f64], f64)>,
    ) -> Vec<Vec<f64>> {
        let count = self.linear.first().map_or(0, Vec::len);
        // By variable: the inputs of all rows, so that the loops over rows can be vectorised.
        let (mut columns, mut row_weights) = (vec![Vec::new(); count], Vec::new());
        for (inputs, weight) in rows {
            columns.iter_mut().zip(inputs).for_each(|(column, input)| column.push(*input));
            row_weights.push(weight);
        }
        fixed.iter().for_each(|&variable| columns[variable].fill(0.0));
        let total: f64 = row_weights.iter().sum();
        let mean =
            |values: &Vec<f64>| values.iter().zip(&row_weights).map(|(value, weight)| weight * value).sum::<f64>();
        let means: Vec<f64> = columns.iter().map(mean).collect();
        let (mut angles, mut sines) = (vec![0.0; row_weights.len()], vec![0.0; row_weights.len()]);
        let mut rest_of = |feature: usize| {
            angles.fill(0.0);
            for (&variable, frequency) in self.variables[feature].iter().zip(&self.frequencies[feature]) {
                let column = columns[variable as usize].iter();
                angles.iter_mut().zip(column).for_each(|(angle, input)| *angle += frequency * input);
            }
            cos_sin_all(&mut angles, self.phases[feature], &mut sines);
            [mean(&angles), mean(&sines)]
        };
        let rest: Vec<[f64; 2]> = (0..self.phases.len()).map(&mut rest_of).collect();
        let mut inputs = vec![0.0; means.len()];
        let (mut cosines, mut sines) = (vec![0.0; rest.len()], vec![0.0; rest.len()]);
        let at_point = |point: &Vec<f64>| {
            fixed.iter().zip(point).for_each(|(&variable, value)| inputs[variable] = *value);
            cosines.iter_mut().enumerate().for_each(|(feature, angle)| *angle = self.angle(feature, &inputs));
            cos_sin_all(&mut cosines, 0.0, &mut sines);
            let mut margins = self.intercepts.clone();
            for (margin, weights) in margins.iter_mut().zip(&self.linear) {
                let parts = weights.iter().zip(inputs.iter().zip(&means));
                *margin += parts.map(|(weight, (input, mean))| weight * (input + mean / total)).sum::<f64>();
            }
            for (feature, [real, imaginary]) in rest.iter().enumerate() {
                let mean = (cosines[feature] * real - sines[feature] * imaginary) / total;
                margins.iter_mut().zip(&self.weights).for_each(|(margin, weights)| *margin += weights[feature] * mean);
            }
            margins
        };
        points.iter().map(at_point).collect()
    }

    /// Why the function cannot be used with this many variables and outputs.
    pub(super) fn problem(&self, variables: usize, outputs: usize) -> Option<&'static str> {
        let features = self.phases.len();
        let fits = self.variables.len() == features
            && self.frequencies.len() == features
            && self.variables.iter().zip(&self.frequencies).all(|(one, other)| one.len() == other.len())
            && self.variables.iter().flatten().all(|&variable| (variable as usize) < variables)
            && [self.weights.len(), self.linear.len(), self.intercepts.len()] == [outputs; 3]
            && self.weights.iter().all(|weights| weights.len() == features)
            && self.linear.iter().all(|weights| weights.len() == variables);
        if !fits {
            return Some("has features or weights that do not fit together");
        }
        let lists = self.frequencies.iter().chain(&self.weights).chain(&self.linear).flatten();
        let mut numbers = lists.chain(&self.phases).chain(&self.intercepts);
        numbers.any(|number| !number.is_finite()).then_some("has a weight that is not a finite number")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function() -> KernelFunction {
        KernelFunction {
            variables: vec![vec![0, 1], vec![1]],
            frequencies: vec![vec![1.0, -2.0], vec![0.5]],
            phases: vec![0.25, 1.0],
            weights: vec![vec![2.0, -1.0]],
            linear: vec![vec![0.5, 3.0]],
            intercepts: vec![10.0],
        }
    }

    #[test]
    fn margins_are_the_formula() {
        let (x, y) = (0.3_f64, -1.2_f64);
        let expected = 10.0 + 0.5 * x + 3.0 * y + 2.0 * (x - 2.0 * y + 0.25).cos() - (0.5 * y + 1.0).cos();
        assert!((function().margins(&[x, y])[0] - expected).abs() < 1e-14);
    }

    #[test]
    fn partial_dependence_is_the_mean_over_rows() {
        let rows = [([0.3, -1.2], 1.0), ([2.0, 0.1], 3.0), ([-1.0, 1.7], 0.5)];
        let iterate = || rows.iter().map(|(inputs, weight)| (&inputs[..], *weight));
        let mean = |change: &dyn Fn([f64; 2]) -> [f64; 2]| {
            rows.iter().map(|(inputs, weight)| weight * function().margins(&change(*inputs))[0]).sum::<f64>() / 4.5
        };
        let found = function().partial_dependence(&[1], &[vec![0.7], vec![-2.0]], iterate());
        for (found, value) in found.iter().zip([0.7, -2.0]) {
            assert!((found[0] - mean(&|row| [row[0], value])).abs() < 1e-12);
        }
        let both = function().partial_dependence(&[1, 0], &[vec![0.7, 0.2]], iterate());
        assert!((both[0][0] - function().margins(&[0.2, 0.7])[0]).abs() < 1e-12);
    }

    #[test]
    fn functions_from_a_file_are_checked() {
        assert_eq!(function().problem(2, 1), None);
        assert!(function().problem(1, 1).is_some() && function().problem(2, 2).is_some());
        let mut short = function();
        short.frequencies[0].pop();
        assert!(short.problem(2, 1).is_some());
        let mut infinite = function();
        infinite.phases[0] = f64::INFINITY;
        assert_eq!(infinite.problem(2, 1), Some("has a weight that is not a finite number"));
    }
}
