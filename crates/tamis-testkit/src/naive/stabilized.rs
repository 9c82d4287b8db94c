//! The literal stabilized learner: one path after the other, every row dense, every feature at every row.
//!
//! ```text
//! for each row of the stage that is in the path's subsample:
//!   u_j = −z_j/√n_j (0 if n_j = 0)   w_j = a·sign(u_j)·max(|u_j| − g₀, 0)   j ∈ A
//!   f = b + Σ_j w_j·x_j              g = c·ℓ'(f, y);  g = 0: next row
//!   n_b += g²   b −= ½·g/√n_b        z_j += g·x_j    n_j += (g·x_j)²
//! n_K times in the second half of the stage's L rows: record u, w, whether w ≠ 0, and b
//! after the stage: means over paths and records; A ← the k' of largest |ū| in any output;  g₀ ← the least of these
//! ```
//! Details that the ensemble shares: all paths visit the rows in one order and skip those outside of their subsample,
//! so that records are taken by the number of rows of the stage; c is the importance of the row times the weight of its
//! class; several outputs share one active set.

use super::dense;
use tamis::data::Example;
use tamis::loss::{AnyLoss, Loss};
use tamis::stabilized::{ClassCoding, Settings, Subsamples};

/// A row and its hash.
pub type Known<'a> = (Example<'a>, u64);

/// All paths of all outputs over the features `0..p`.
pub struct Stabilized {
    settings: Settings,
    loss: AnyLoss,
    subsamples: Subsamples,
    outputs: Vec<LiteralOutput>,
    /// A: whether a feature is active.
    pub active: Vec<bool>,
    /// g₀.
    pub gravity: f64,
    step: f64,
}

struct LiteralOutput {
    coding: ClassCoding,
    paths: Vec<Path>,
}

/// The state of one path.
struct Path {
    number: usize,
    z: Vec<f64>,
    n: Vec<f64>,
    b: f64,
    b_norm: f64,
    notes: Vec<Note>,
}

/// The record of a path at one time.
struct Note {
    u: Vec<f64>,
    w: Vec<f64>,
    b: f64,
}

/// The result of a stage for one output; inactive features have zeros.
pub struct LiteralMeans {
    /// The mean of b.
    pub bias: f64,
    /// The mean of w.
    pub weights: Vec<f64>,
    /// ū.
    pub evidence: Vec<f64>,
    /// The variance of u over paths and records.
    pub variance: Vec<f64>,
    /// Π: the share of records with w ≠ 0.
    pub frequency: Vec<f64>,
}

impl Stabilized {
    /// Paths in their initial state.
    pub fn new(settings: Settings, loss: AnyLoss, codings: &[ClassCoding], subsamples: Subsamples, p: usize) -> Self {
        let path = |number| Path { number, z: vec![0.0; p], n: vec![0.0; p], b: 0.0, b_norm: 0.0, notes: Vec::new() };
        let output = |&coding: &ClassCoding| LiteralOutput { coding, paths: (0..settings.paths).map(path).collect() };
        let outputs = codings.iter().map(output).collect();
        Stabilized { settings, loss, subsamples, outputs, active: vec![true; p], gravity: 0.0, step: 0.0 }
    }

    /// Runs a stage over these rows; α is divided by `row_size`.
    pub fn stage(&mut self, rows: &[Known<'_>], row_size: f64) {
        self.step = self.settings.alpha / row_size;
        let rule = self.rule();
        let moments = moments(rows.len() as u64, self.settings.tallies);
        for output in &mut self.outputs {
            for path in &mut output.paths {
                path.notes.clear();
                for (visited, &(example, row_hash)) in (1..).zip(rows) {
                    if self.subsamples.contains(path.number, row_hash) {
                        path.learn(&rule, output.coding, example);
                    }
                    for _ in moments.iter().filter(|&&moment| moment == visited) {
                        path.notes.push(path.note(&rule));
                    }
                }
            }
        }
    }

    /// Means over paths and records.
    pub fn means(&self) -> Vec<LiteralMeans> {
        let p = self.active.len();
        let of_output = |output: &LiteralOutput| {
            let notes: Vec<&Note> = output.paths.iter().flat_map(|path| &path.notes).collect();
            let mean =
                |number: &dyn Fn(&Note) -> f64| notes.iter().map(|note| number(note)).sum::<f64>() / notes.len() as f64;
            let each = |number: &dyn Fn(&Note, usize) -> f64| (0..p).map(|j| mean(&|note| number(note, j))).collect();
            let evidence: Vec<f64> = each(&|note, j| note.u[j]);
            LiteralMeans {
                bias: mean(&|note| note.b),
                weights: each(&|note, j| note.w[j]),
                variance: each(&|note, j| (note.u[j] - evidence[j]).powi(2)),
                frequency: each(&|note, j| if note.w[j] != 0.0 { 1.0 } else { 0.0 }),
                evidence,
            }
        };
        self.outputs.iter().map(of_output).collect()
    }

    /// Σz and Σn over the paths of an output, for each feature.
    pub fn state_sums(&self, output: usize) -> Vec<[f64; 2]> {
        let paths = &self.outputs[output].paths;
        let sum = |j: usize| [paths.iter().map(|path| path.z[j]).sum(), paths.iter().map(|path| path.n[j]).sum()];
        (0..self.active.len()).map(sum).collect()
    }

    /// For each output, the mean margin of the paths whose subsample does not contain a row; 0 if there are none.
    pub fn scores(&self, row: Known<'_>) -> Vec<f64> {
        let (example, row_hash) = row;
        let x = dense(example.row, self.active.len());
        let mean = |output: &LiteralOutput| {
            let outside = output.paths.iter().filter(|path| !self.subsamples.contains(path.number, row_hash));
            let margins: Vec<f64> = outside.map(|path| path.margin(&self.rule(), &x)).collect();
            if margins.is_empty() { 0.0 } else { margins.iter().sum::<f64>() / margins.len() as f64 }
        };
        self.outputs.iter().map(mean).collect()
    }

    /// Keeps the `size` features with the most evidence, the first ones if there are ties.
    pub fn shrink_to(&mut self, means: &[LiteralMeans], size: usize) {
        let strength = |j: usize| means.iter().map(|means| means.evidence[j].abs()).fold(0.0, f64::max);
        let mut ranked: Vec<usize> = (0..self.active.len()).filter(|&j| self.active[j]).collect();
        ranked.sort_by(|&a, &b| strength(b).total_cmp(&strength(a)).then(a.cmp(&b)));
        ranked.truncate(size);
        self.gravity = strength(*ranked.last().expect("a feature stays"));
        self.active = (0..self.active.len()).map(|j| ranked.contains(&j)).collect();
    }

    fn rule(&self) -> Rule {
        Rule {
            active: self.active.clone(),
            gravity: self.gravity,
            step: self.step,
            loss: self.loss,
            intercept: self.settings.intercept,
        }
    }
}

/// The parameters of a stage.
struct Rule {
    active: Vec<bool>,
    gravity: f64,
    step: f64,
    loss: AnyLoss,
    intercept: bool,
}

impl Rule {
    fn evidence(&self, path: &Path, j: usize) -> f64 {
        if path.n[j] == 0.0 || !self.active[j] { 0.0 } else { -path.z[j] / path.n[j].sqrt() }
    }

    fn weight(&self, u: f64) -> f64 {
        if u.abs() <= self.gravity { 0.0 } else { self.step * u.signum() * (u.abs() - self.gravity) }
    }
}

impl Path {
    fn margin(&self, rule: &Rule, x: &[f64]) -> f64 {
        let part = |(j, x): (usize, &f64)| rule.weight(rule.evidence(self, j)) * x;
        self.b + x.iter().enumerate().map(part).sum::<f64>()
    }

    fn learn(&mut self, rule: &Rule, coding: ClassCoding, example: Example<'_>) {
        let x = dense(example.row, self.z.len());
        let (y, class_weight) = match coding.output.class {
            None => (example.target, 1.0),
            Some(class) if class == example.target => (1.0, coding.class_weights[1]),
            Some(_) => (-1.0, coding.class_weights[0]),
        };
        let g = rule.loss.slope(self.margin(rule, &x), y) * example.weight * class_weight;
        if g == 0.0 {
            return;
        }
        if rule.intercept {
            self.b_norm += g * g;
            self.b -= 0.5 * g / self.b_norm.sqrt();
        }
        for (j, x) in x.into_iter().enumerate() {
            self.z[j] += g * x;
            self.n[j] += (g * x) * (g * x);
        }
    }

    fn note(&self, rule: &Rule) -> Note {
        let u: Vec<f64> = (0..self.z.len()).map(|j| rule.evidence(self, j)).collect();
        Note { w: u.iter().map(|&u| rule.weight(u)).collect(), u, b: self.b }
    }
}

/// The rows after which records are taken: the second half of the stage in `count` equal parts, each recorded at its
/// end.
fn moments(length: u64, count: u64) -> Vec<u64> {
    let half = length / 2;
    (1..=count).map(|part| half + (length - half) * part / count).collect()
}
