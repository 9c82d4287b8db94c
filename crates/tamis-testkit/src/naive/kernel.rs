//! The kernel method by nested loops over rows: scores of a scan, ridge regression, derivatives by finite differences.

use super::linear_system::solve;
use tamis::kernel::Rows;

/// Columns of waves, centred and divided by their deviation.
fn waves(rows: &Rows, side: &[usize], wave: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
    let total: f64 = side.iter().map(|&row| rows.weights[row]).sum();
    let column = |j: usize| -> Vec<f64> {
        let values: Vec<f64> = side.iter().map(|&row| wave(rows.inputs[(row, j)])).collect();
        let mean = |of: &dyn Fn(f64) -> f64| -> f64 {
            side.iter().zip(&values).map(|(&row, &value)| rows.weights[row] * of(value)).sum::<f64>() / total
        };
        let centre = mean(&|value| value);
        let deviation = mean(&|value| (value - centre).powi(2)).sqrt().max(0.05);
        values.iter().map(|value| (value - centre) / deviation).collect()
    };
    (0..rows.inputs.ncols()).map(column).collect()
}

/// Σ w·y·(the product of some columns)/√n over one side of a split.
fn correlation(rows: &Rows, side: &[usize], output: usize, columns: &[&[f64]]) -> f64 {
    let total: f64 = side.iter().map(|&row| rows.weights[row]).sum();
    let mut sum = 0.0;
    for (place, &row) in side.iter().enumerate() {
        let product: f64 = columns.iter().map(|column| column[place]).product();
        sum += rows.weights[row] * rows.targets[(row, output)] * product;
    }
    sum / total.sqrt()
}

fn sides(rows: &Rows, half: &[usize]) -> [Vec<usize>; 2] {
    [true, false]
        .map(|inside| (0..rows.blocks.len()).filter(|&row| half.contains(&rows.blocks[row]) == inside).collect())
}

/// The scores of variables and of pairs, averaged over halves.
pub fn scan(rows: &Rows, halves: &[[usize; 4]]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let size = rows.inputs.ncols();
    let (mut single, mut pairs) = (vec![0.0; size], vec![vec![0.0; size]; size]);
    for half in halves {
        let sides = sides(rows, half);
        for frequency in [0.7, 1.5] {
            let cosines = sides.each_ref().map(|side| waves(rows, side, |z| (frequency * z).cos()));
            let sines = sides.each_ref().map(|side| waves(rows, side, |z| (frequency * z).sin()));
            for output in 0..rows.targets.ncols() {
                let cross = |one: &[Vec<Vec<f64>>; 2], j: usize, other: Option<(&[Vec<Vec<f64>>; 2], usize)>| -> f64 {
                    let on = |side: usize| {
                        let mut columns = vec![&one[side][j][..]];
                        columns.extend(other.map(|(other, k)| &other[side][k][..]));
                        correlation(rows, &sides[side], output, &columns)
                    };
                    on(0) * on(1) / halves.len() as f64
                };
                for j in 0..size {
                    single[j] += cross(&cosines, j, None) + cross(&sines, j, None);
                    for k in (0..size).filter(|&k| k != j) {
                        pairs[j][k] += cross(&cosines, j, Some((&cosines, k)))
                            + cross(&sines, j, Some((&sines, k)))
                            + cross(&cosines, j, Some((&sines, k)))
                            + cross(&sines, j, Some((&cosines, k)));
                    }
                }
            }
        }
    }
    (single, pairs)
}

/// The score of a triple on one split.
pub fn triple_score(rows: &Rows, half: &[usize; 4], triple: [usize; 3]) -> f64 {
    let sides = sides(rows, half);
    let sines = sides.each_ref().map(|side| waves(rows, side, f64::sin));
    let on = |side: usize, output: usize| {
        let columns: Vec<&[f64]> = triple.iter().map(|&j| &sines[side][j][..]).collect();
        correlation(rows, &sides[side], output, &columns)
    };
    (0..rows.targets.ncols()).map(|output| on(0, output) * on(1, output)).sum()
}

/// A function of rows: Σ β·cos(w·z + b) + γ·z + intercept, for one output.
#[derive(Clone, Debug)]
pub struct Function {
    /// By feature: a frequency for each variable.
    pub frequencies: Vec<Vec<f64>>,
    /// By feature.
    pub phases: Vec<f64>,
    /// β of the features, γ of the variables, the intercept.
    pub weights: Vec<f64>,
}

impl Function {
    /// The values of features, variables and the constant 1 for a row.
    fn values(&self, inputs: &[f64]) -> Vec<f64> {
        let angle = |w: &Vec<f64>| w.iter().zip(inputs).map(|(w, z)| w * z).sum::<f64>();
        let waves = self.frequencies.iter().zip(&self.phases).map(|(w, b)| (angle(w) + b).cos());
        waves.chain(inputs.iter().copied()).chain([1.0]).collect()
    }

    /// The value for a row whose features are moved: by Ω·t along each of some variables, as a derivative at the resolution of
    /// one standard deviation does.
    fn moved(&self, inputs: &[f64], moves: &[(usize, f64)]) -> f64 {
        let variables = inputs.len();
        let resolved = |w: f64| w / (1.0 + w * w).sqrt();
        let mut value = self.weights[self.phases.len() + variables];
        for (l, w) in self.frequencies.iter().enumerate() {
            let still: f64 = w.iter().zip(inputs).map(|(w, z)| w * z).sum();
            let moved: f64 = moves.iter().map(|&(j, t)| resolved(w[j]) * t).sum();
            value += self.weights[l] * (still + self.phases[l] + moved).cos();
        }
        for (j, z) in inputs.iter().enumerate() {
            let moved: f64 = moves.iter().filter(|one| one.0 == j).map(|one| one.1).sum();
            value += self.weights[self.phases.len() + j] * (z + moved);
        }
        value
    }

    /// ∂_j by central differences, extrapolated.
    pub fn derivative(&self, inputs: &[f64], j: usize) -> f64 {
        let central = |h: f64| (self.moved(inputs, &[(j, h)]) - self.moved(inputs, &[(j, -h)])) / (2.0 * h);
        (4.0 * central(5e-4) - central(1e-3)) / 3.0
    }

    /// ∂_jk by central differences, extrapolated.
    pub fn second_derivative(&self, inputs: &[f64], j: usize, k: usize) -> f64 {
        let central = |h: f64| {
            let at = |a: f64, b: f64| self.moved(inputs, &[(j, a), (k, b)]);
            (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4.0 * h * h)
        };
        let [a, b, c] = [8e-3, 4e-3, 2e-3].map(central);
        let [ab, bc] = [(4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0];
        (16.0 * bc - ab) / 15.0
    }

    /// The squared error on some rows.
    pub fn squared_error(&self, rows: &Rows, members: &[usize], output: usize) -> f64 {
        let of_row = |&row: &usize| {
            let inputs: Vec<f64> = (0..rows.inputs.ncols()).map(|j| rows.inputs[(row, j)]).collect();
            let value: f64 = self.values(&inputs).iter().zip(&self.weights).map(|(value, weight)| value * weight).sum();
            rows.weights[row] * (rows.targets[(row, output)] - value).powi(2)
        };
        members.iter().map(of_row).sum()
    }

    /// The same features with the ridge weights of some rows: centred columns, normal equations, Gauss elimination.
    pub fn ridge(&self, rows: &Rows, members: &[usize], output: usize, penalty: f64) -> Function {
        let total: f64 = members.iter().map(|&row| rows.weights[row]).sum();
        let values = |&row: &usize| -> Vec<f64> {
            let inputs: Vec<f64> = (0..rows.inputs.ncols()).map(|j| rows.inputs[(row, j)]).collect();
            self.values(&inputs)
        };
        let table: Vec<Vec<f64>> = members.iter().map(values).collect();
        let size = table[0].len() - 1;
        let mean = |j: usize| -> f64 {
            members.iter().zip(&table).map(|(&row, values)| rows.weights[row] * values[j]).sum::<f64>() / total
        };
        let means: Vec<f64> = (0..size).map(mean).collect();
        let centre: f64 =
            members.iter().map(|&row| rows.weights[row] * rows.targets[(row, output)]).sum::<f64>() / total;
        let (mut matrix, mut right) = (vec![vec![0.0; size]; size], vec![0.0; size]);
        for (&row, values) in members.iter().zip(&table) {
            for a in 0..size {
                let left = rows.weights[row] * (values[a] - means[a]);
                (0..size).for_each(|b| matrix[a][b] += left * (values[b] - means[b]));
                right[a] += left * (rows.targets[(row, output)] - centre);
            }
        }
        let trace: f64 = (0..size).map(|a| matrix[a][a]).sum();
        (0..size).for_each(|a| matrix[a][a] += penalty + 1e-9 * trace);
        let mut weights = solve(matrix, right);
        let intercept = centre - weights.iter().zip(&means).map(|(weight, mean)| weight * mean).sum::<f64>();
        weights.push(intercept);
        Function { weights, ..self.clone() }
    }
}
