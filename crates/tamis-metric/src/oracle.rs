//! A naive version of the algorithm, dense and literal, which the fast version must agree with (tests only).
//!
//! Every Dᵢ is an explicit matrix, A is their sum, the truncated power method multiplies by it, the support is refitted by
//! a full eigen-decomposition, the weight comes from bisection, distances are (φ − φ′)′W(φ − φ′) from an explicit W, and
//! neighbours from sorting. Labels are ±1 and neighbours positive and negative, in the reading of E17: that the fast
//! version speaks of the own class and others must make no difference. The form of the thesis is here too: an even
//! start, A + λI with λ from all eigenvalues of A, bags and drawn candidates (drawn by the same dice), products to any
//! order, (2.17).

use faer::{Mat, Side};

use super::params::Params;
use super::subsample::{sample_rows, sample_terms};

/// The state after some steps.
pub(super) struct Oracle {
    /// Variables of each term, and what it is divided by.
    pub(super) terms: Vec<(Vec<u32>, f64)>,
    /// φ(x), a row each.
    phi: Vec<Vec<f64>>,
    labels: Vec<f64>,
    importance: Vec<f64>,
    /// Positive and negative neighbours of each row.
    sets: Vec<[Vec<usize>; 2]>,
    /// f(xᵢ).
    pub(super) scores: Vec<f64>,
    /// W.
    pub(super) weights: Mat<f64>,
    /// At each update: steps so far, loss, and variables in W.
    pub(super) curve: Vec<(usize, f64, usize)>,
    params: Params,
    seed: u64,
}

impl Oracle {
    pub(super) fn new(rows: Vec<Vec<f64>>, labels: Vec<f64>, params: &Params, seed: u64) -> Self {
        let width = rows[0].len();
        let count = |sign: f64| labels.iter().filter(|&&label| label == sign).count() as f64;
        let of_class = |&label: &f64| labels.len() as f64 / (2.0 * count(label));
        let importance = labels.iter().map(|label| if params.class_balance { of_class(label) } else { 1.0 }).collect();
        let mut oracle = Oracle {
            terms: (0..width as u32).map(|variable| (vec![variable], 1.0)).collect(),
            scores: vec![0.0; labels.len()],
            weights: Mat::zeros(0, 0),
            sets: Vec::new(),
            phi: rows,
            labels,
            importance,
            curve: Vec::new(),
            params: params.clone(),
            seed,
        };
        if params.squares {
            (0..width as u32).for_each(|variable| oracle.add(vec![variable, variable]));
        }
        let size = oracle.terms.len();
        oracle.weights = Mat::zeros(size, size);
        oracle.find_neighbours(&Mat::identity(size, size));
        oracle
    }

    pub(super) fn run(&mut self, steps: usize) {
        for number in 1..=steps {
            self.step(number);
            if number % self.params.update_every == 0 || number == steps {
                let weights = self.weights.clone();
                self.find_neighbours(&weights);
                self.scores = (0..self.phi.len()).map(|row| self.score(row, &weights)).collect();
                let loss = (0..self.phi.len()).map(|row| self.residual(row).abs()).sum();
                self.curve.push((number, loss, self.variables().len()));
            }
        }
    }

    /// The variables W speaks of.
    fn variables(&self) -> Vec<u32> {
        let used = (0..self.terms.len()).filter(|&term| self.weights[(term, term)] > 0.0);
        let mut variables: Vec<u32> = used.flat_map(|term| self.terms[term].0.clone()).collect();
        variables.sort_unstable();
        variables.dedup();
        variables
    }

    /// (2.17): where loss + λ·variables is least.
    fn kept_steps(&self, price: f64) -> usize {
        let costs = self.curve.iter().map(|&(step, loss, variables)| (loss + price * variables as f64, step));
        costs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
    }

    fn gap(&self, a: usize, b: usize) -> Vec<f64> {
        self.phi[a].iter().zip(&self.phi[b]).map(|(a, b)| a - b).collect()
    }

    fn find_neighbours(&mut self, metric: &Mat<f64>) {
        let distance = |a: usize, b: usize| quadratic(metric, &self.gap(a, b));
        let nearest = |row: usize, sign: f64| {
            let mut others: Vec<usize> =
                (0..self.phi.len()).filter(|&other| other != row && self.labels[other] == sign).collect();
            others.sort_by(|&a, &b| distance(row, a).total_cmp(&distance(row, b)));
            others.truncate(self.params.metric_neighbors);
            others
        };
        self.sets = (0..self.phi.len()).map(|row| [nearest(row, 1.0), nearest(row, -1.0)]).collect();
    }

    /// Dᵢ.
    fn information(&self, row: usize) -> Mat<f64> {
        let size = self.terms.len();
        let mut sum = Mat::zeros(size, size);
        for (set, sign) in self.sets[row].iter().zip([-1.0, 1.0]) {
            for &other in set {
                let gap = self.gap(row, other);
                sum += Mat::from_fn(size, size, |i, j| sign * gap[i] * gap[j] / self.params.metric_neighbors as f64);
            }
        }
        sum
    }

    fn score(&self, row: usize, metric: &Mat<f64>) -> f64 {
        let information = self.information(row);
        let size = metric.nrows();
        (0..size).flat_map(|i| (0..size).map(move |j| (i, j))).map(|at| information[at] * metric[at]).sum()
    }

    fn residual(&self, row: usize) -> f64 {
        self.importance[row] * self.labels[row] * (-self.labels[row] * self.scores[row]).clamp(-30.0, 30.0).exp()
    }

    /// A, of the rows in the bag.
    fn matrix(&self, inside: &[bool]) -> Mat<f64> {
        let rows: Vec<usize> = (0..self.phi.len()).filter(|&row| inside[row]).collect();
        let total: f64 = rows.iter().map(|&row| self.residual(row).abs()).sum();
        let mut matrix = Mat::zeros(self.terms.len(), self.terms.len());
        for row in rows {
            let (residual, information) = (self.residual(row) / total, self.information(row));
            matrix += Mat::from_fn(self.terms.len(), self.terms.len(), |i, j| residual * information[(i, j)]);
        }
        matrix
    }

    fn step(&mut self, number: usize) {
        let size = self.terms.len();
        let matrix = self.matrix(&sample_rows(self.phi.len(), &self.params, self.seed, number));
        let drawn = sample_terms(size, &self.params, self.seed, number);
        let part = Mat::from_fn(drawn.len(), drawn.len(), |i, j| matrix[(drawn[i] as usize, drawn[j] as usize)]);
        let entries = self.params.max_terms_of(size).min(drawn.len());
        let Some(found) = leading(&part, entries, &self.params) else { return };
        let mut direction = vec![0.0; size];
        drawn.iter().zip(found).for_each(|(&term, value)| direction[term as usize] = value);
        let rank_one = Mat::from_fn(size, size, |i, j| direction[i] * direction[j]);
        let gains: Vec<f64> = (0..self.phi.len()).map(|row| self.score(row, &rank_one)).collect();
        let Some(weight) = self.weight(&gains) else { return };
        let weight = weight * self.params.learning_rate;
        self.weights += Mat::from_fn(size, size, |i, j| weight * rank_one[(i, j)]);
        self.scores.iter_mut().zip(&gains).for_each(|(score, gain)| *score += weight * gain);
        if number > self.params.burn_in && self.params.max_order > 1 {
            self.grow(&direction);
        }
    }

    /// Bisection on the derivative of the loss.
    fn weight(&self, gains: &[f64]) -> Option<f64> {
        let slope = |weight: f64| {
            let one = |row: usize| {
                let exponent = (-weight * self.labels[row] * gains[row]).clamp(-30.0, 30.0);
                -self.residual(row) * gains[row] * exponent.exp()
            };
            (0..gains.len()).map(one).sum::<f64>()
        };
        let (mut low, mut high) = (0.0, 5.0 / (gains.iter().map(|gain| gain.abs()).sum::<f64>() / gains.len() as f64));
        if slope(0.0) >= 0.0 {
            return None;
        }
        if slope(high) <= 0.0 {
            return Some(high);
        }
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if slope(middle) < 0.0 { low = middle } else { high = middle }
        }
        Some(0.5 * (low + high))
    }

    /// One more term: a product of variables, divided by its deviation.
    fn add(&mut self, list: Vec<u32>) {
        let value = |row: &Vec<f64>| list.iter().map(|&variable| row[variable as usize]).product::<f64>();
        let values: Vec<f64> = self.phi.iter().map(value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        self.phi.iter_mut().zip(&values).for_each(|(row, value)| row.push(value / variance.sqrt()));
        self.terms.push((list, variance.sqrt()));
    }

    fn grow(&mut self, direction: &[f64]) {
        let used: Vec<usize> = (0..self.terms.len()).filter(|&term| self.weights[(term, term)] > 0.0).collect();
        for first in (0..direction.len()).filter(|&term| direction[term] != 0.0) {
            for &second in &used {
                let mut list = [&self.terms[first].0[..], &self.terms[second].0[..]].concat();
                list.sort_unstable();
                if list.len() > self.params.max_order || self.terms.iter().any(|(other, _)| *other == list) {
                    continue;
                }
                self.add(list);
            }
        }
        let (old, size) = (self.weights.clone(), self.terms.len());
        let inside = |i: usize, j: usize| i < old.nrows() && j < old.nrows();
        self.weights = Mat::from_fn(size, size, |i, j| if inside(i, j) { old[(i, j)] } else { 0.0 });
    }
}

fn quadratic(matrix: &Mat<f64>, vector: &[f64]) -> f64 {
    let size = vector.len();
    (0..size).map(|i| (0..size).map(|j| vector[i] * matrix[(i, j)] * vector[j]).sum::<f64>()).sum()
}

/// λ by tens from a thousandth of the diagonal, until A + λI has no negative eigenvalue.
fn definite_shift(matrix: &Mat<f64>, scale: f64) -> f64 {
    let eigen = matrix.self_adjoint_eigen(Side::Lower).unwrap();
    let lowest = eigen.S().column_vector().iter().fold(f64::INFINITY, |least: f64, &one| least.min(one));
    (0..).map(|power| 1e-3 * scale * 10f64.powi(power)).find(|shift| lowest + shift >= 0.0).unwrap()
}

/// The truncated power method on an explicit matrix, then the leading eigenvector on the support.
fn leading(matrix: &Mat<f64>, entries: usize, params: &Params) -> Option<Vec<f64>> {
    let size = matrix.nrows();
    let scale = (0..size).fold(0.0, |most: f64, at| most.max(matrix[(at, at)].abs()));
    let first = (0..size).fold(0, |best, at| if matrix[(at, at)] > matrix[(best, best)] { at } else { best });
    let mut now: Vec<f64> = if params.uniform_start {
        vec![1.0 / (size as f64).sqrt(); size]
    } else {
        (0..size).map(|at| f64::from(at == first)).collect()
    };
    let image = |vector: &[f64]| -> Vec<f64> {
        (0..size).map(|i| (0..size).map(|j| matrix[(i, j)] * vector[j]).sum()).collect()
    };
    let most = image(&now).iter().fold(0.0, |most: f64, one| most.max(one.abs()));
    // A dense start is no rival of sparse vectors.
    let mut gain = if params.uniform_start { f64::NEG_INFINITY } else { quadratic(matrix, &now) };
    let mut shift = if params.psd_shift { definite_shift(matrix, scale) } else { 0.0 };
    for _ in 0..30 {
        let moved: Vec<f64> = image(&now).iter().zip(&now).map(|(image, one)| image + shift * one).collect();
        let mut order: Vec<usize> = (0..size).collect();
        order.sort_by(|&a, &b| moved[b].abs().total_cmp(&moved[a].abs()).then(a.cmp(&b)));
        let mut next = vec![0.0; size];
        order[..entries].iter().for_each(|&at| next[at] = moved[at]);
        let norm = next.iter().map(|one| one * one).sum::<f64>().sqrt();
        next.iter_mut().for_each(|one| *one /= norm);
        let next_gain = quadratic(matrix, &next);
        if next_gain < gain - 1e-9 * scale {
            shift = (2.0 * shift).max(most);
            if shift > 1000.0 * scale {
                break;
            }
            continue;
        }
        let same = now.iter().zip(&next).all(|(a, b)| (*a == 0.0) == (*b == 0.0));
        let settled = same && next_gain - gain <= 1e-4 * next_gain.abs();
        (now, gain) = (next, next_gain);
        if settled {
            break;
        }
    }
    let direction = if params.refit { refitted(matrix, &now) } else { now };
    (quadratic(matrix, &direction) > 0.0).then_some(direction)
}

/// The leading eigenvector on the support of a vector, without its smallest entries.
fn refitted(matrix: &Mat<f64>, now: &[f64]) -> Vec<f64> {
    let size = now.len();
    let support: Vec<usize> = (0..size).filter(|&at| now[at] != 0.0).collect();
    let part = Mat::from_fn(support.len(), support.len(), |i, j| matrix[(support[i], support[j])]);
    let eigen = part.self_adjoint_eigen(Side::Lower).unwrap();
    let mut direction = vec![0.0; size];
    let vector = eigen.U().col(support.len() - 1);
    support.iter().enumerate().for_each(|(at, &term)| direction[term] = vector[at]);
    let largest = direction.iter().fold(0.0, |most: f64, one| most.max(one.abs()));
    direction.iter_mut().for_each(|one| *one = if one.abs() < 1e-3 * largest { 0.0 } else { *one });
    let norm = direction.iter().map(|one| one * one).sum::<f64>().sqrt();
    direction.iter_mut().for_each(|one| *one /= norm);
    direction
}

mod tests {
    use std::collections::BTreeMap;

    use super::super::boost::{Boost, Limits, RunPoint};
    use super::super::dataset::tests::dataset;
    use super::super::early_stopping::{EarlyStopping, steps_of};
    use super::super::sample::Sample;
    use super::*;
    use tamis::rng::{RngStream, generator, uniform};

    /// Two classes on a ring and inside it, with variables that say nothing.
    fn ring(rows: usize, width: usize, seed: u64) -> String {
        let mut random = generator(seed, RngStream::ShardRows, 0);
        let names: Vec<String> = (0..width).map(|at| format!("x{at}")).collect();
        let mut text = format!("{},y\n", names.join(","));
        for row in 0..rows {
            let radius = if row % 3 == 0 { 2.0 } else { 1.0 } + 0.3 * uniform(&mut random);
            let angle = std::f64::consts::TAU * uniform(&mut random);
            let noise = (2..width).map(|_| uniform(&mut random).to_string());
            let informative = [radius * angle.cos(), radius * angle.sin()].map(|one| one.to_string());
            let cells: Vec<String> = informative.into_iter().chain(noise).collect();
            text += &format!("{},{}\n", cells.join(","), if row % 3 == 0 { "out" } else { "in" });
        }
        text
    }

    fn limits(dense_rows: usize) -> Limits {
        Limits { dense_rows, term_bytes: 1 << 30, n_neighbors: 3, seed: 1 }
    }

    /// W of a run, by the variables of its terms.
    fn weights_of(boost: &Boost<'_, f64>) -> BTreeMap<[Vec<u32>; 2], f64> {
        let mut sums = BTreeMap::new();
        for step in &boost.steps {
            for (&a, &x) in step.support.iter().zip(&step.values) {
                for (&b, &y) in step.support.iter().zip(&step.values) {
                    let key = [a, b].map(|term| boost.terms.lists[term as usize].clone());
                    *sums.entry(key).or_insert(0.0) += step.weight * x * y;
                }
            }
        }
        sums
    }

    /// Both versions on one ring of four or five variables; the oracle is handed back with the fast version's curve.
    fn compare(params: &Params, steps: usize, dense_rows: usize, width: usize) -> (Oracle, Vec<RunPoint>) {
        let dataset = dataset("ring.csv", &ring(45, width, 7)).unwrap();
        let sample = Sample::<f64>::new(&dataset, &(0..45).collect::<Vec<_>>());
        let params = Params { max_iter: steps, ..params.clone() };
        let mut boost = Boost::new(&sample, &params, limits(dense_rows));
        assert!(boost.run(steps, &|| true));
        let rows = (0..45).map(|row| (0..width).map(|one| sample.values[one * 45 + row]).collect()).collect();
        let labels = sample.class_of.iter().map(|&class| if class == 1 { 1.0 } else { -1.0 }).collect();
        let mut oracle = Oracle::new(rows, labels, &params, limits(dense_rows).seed);
        oracle.run(steps);
        let place = |list: &Vec<u32>| oracle.terms.iter().position(|(other, _)| other == list).expect("the same terms");
        let found = weights_of(&boost);
        assert!(found.len() > 4, "something was learned: {found:?}");
        let mut seen = Mat::<f64>::zeros(oracle.terms.len(), oracle.terms.len());
        for ([a, b], weight) in &found {
            seen[(place(a), place(b))] = *weight;
        }
        for i in 0..oracle.terms.len() {
            for j in 0..oracle.terms.len() {
                let (ours, theirs) = (seen[(i, j)], oracle.weights[(i, j)]);
                assert!((ours - theirs).abs() < 1e-8, "W[{i},{j}] = {ours}, not {theirs}");
            }
        }
        let loss: f64 = (0..45).map(|row| oracle.residual(row).abs()).sum();
        assert!((boost.curve.last().unwrap().loss - loss).abs() < 1e-8);
        (oracle, boost.curve)
    }

    #[test]
    fn the_fast_version_is_the_literal_one() {
        let linear = Params { max_order: 1, metric_neighbors: 3, update_every: 4, max_terms: 2, ..Params::default() };
        compare(&linear, 17, 1000, 5);
        let square =
            Params { max_order: 2, burn_in: 3, max_terms: 3, interaction_pool: None, learning_rate: 0.2, ..linear };
        compare(&square, 15, 1000, 5);
        let squares = Params { metric_neighbors: 3, update_every: 4, max_terms: 2, ..Params::squares() };
        compare(&squares, 17, 1000, 5);
        compare(&Params { max_order: 2, burn_in: 3, interaction_pool: None, ..squares }, 15, 1000, 5);
    }

    #[test]
    fn streamed_distances_lead_to_the_same_metric() {
        // Updates come at 4, 8, 16 in the streamed run: the same as every 4 steps up to 8.
        let params = Params { max_order: 2, burn_in: 3, metric_neighbors: 3, update_every: 4, ..Params::default() };
        compare(&params, 8, 10, 5);
    }

    #[test]
    fn the_form_of_the_thesis_is_the_literal_one_and_stops_where_it_stops() {
        let (oracle, curve) = compare(&Params::thesis(), 110, 1000, 4);
        assert!(oracle.terms.iter().any(|(list, _)| list.len() == 4), "products to order four were made");
        assert_eq!(oracle.curve.iter().map(|point| point.0).collect::<Vec<_>>(), [50, 100, 110]);
        for price in [0.0, 0.1, 1.0, 10.0, 1000.0] {
            assert_eq!(steps_of(&curve, EarlyStopping::Complexity(price), 45), oracle.kept_steps(price), "λ = {price}");
        }
        for (fast, (step, loss, variables)) in curve.iter().zip(&oracle.curve) {
            assert_eq!((fast.step, fast.variables), (*step, *variables));
            assert!((fast.loss - loss).abs() < 1e-8, "{} and {loss} after {step} steps", fast.loss);
        }
    }
}
