//! Stabilized truncated SGD (Ma & Zheng 2016, Algorithm 4 and section 5, read with E1–E6): each burst of each path
//! stores its whole weight vector and counters, and each formula is evaluated over all features, as printed.

use super::{dense, margin, soft};
use tamis::data::Batch;
use tamis::loss::{AnyLoss, Loss};
use tamis::recipe::{Count, Curve, Evidence, PublishedParams};
use tamis::rng::{RngStream, generator, shuffle};

/// The result of a run, and its stages.
pub struct PublishedRun {
    /// The mean weights.
    pub weights: Vec<f64>,
    /// The mean intercept.
    pub bias: f64,
    /// Π when it was last updated.
    pub frequency: Vec<f64>,
    /// Ω.
    pub active: Vec<bool>,
    /// β, g₀, K, |Ω|, non-zeros and mean loss of each stage.
    pub stages: Vec<PublishedStage>,
}

/// One stage.
#[allow(missing_docs, reason = "named as in the fast version")]
pub struct PublishedStage {
    pub rejection: f64,
    pub gravity: f64,
    pub burst: u64,
    pub active: usize,
    pub nonzeros: usize,
    pub loss: f64,
}

/// One burst of one path: Δw, k and ŵ of every feature.
struct Burst {
    delta: Vec<f64>,
    k: Vec<u64>,
    after: Vec<f64>,
}

/// One path: its permutation, its position in it, w and b.
struct Path {
    order: Vec<usize>,
    place: usize,
    w: Vec<f64>,
    b: f64,
}

/// Dense rows with targets and weights.
struct Data {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    c: Vec<f64>,
}

impl Data {
    fn new(rows: &Batch, p: usize) -> Self {
        Data {
            x: rows.examples().map(|example| dense(example.row, p)).collect(),
            y: rows.examples().map(|example| example.target).collect(),
            c: rows.examples().map(|example| example.weight).collect(),
        }
    }
}

/// Ω, and κ̃, b̃ and Π of the last stage.
struct Selection {
    omega: Vec<bool>,
    kappa: Vec<u64>,
    kept: Vec<u64>,
    frequency: Vec<f64>,
}

/// The algorithm over the features `0..p`.
pub fn published(rows: &Batch, loss: AnyLoss, settings: &PublishedParams, seed: u64, p: usize) -> PublishedRun {
    let data = Data::new(rows, p);
    let n = data.y.len();
    let occurs: Vec<bool> = (0..p).map(|j| data.x.iter().any(|x| x[j] != 0.0)).collect();
    let present = count(&occurs);
    let columns = settings.total_columns.unwrap_or(0).max(present as u64) as f64;
    let mut paths: Vec<Path> = (0..settings.n_paths).map(|m| start(seed, u64::from(m), n, p)).collect();
    let mut selection = Selection { omega: occurs, kappa: vec![0; p], kept: vec![0; p], frequency: vec![1.0; p] };
    let (mut rejection, mut gravity, mut burst) = (0.0, 0.0, u64::from(settings.burst));
    let mut stages: Vec<PublishedStage> = Vec::new();
    let mut learned = 0;
    while stages.len() < 2 || learned < u64::from(settings.passes) * n as u64 {
        let mut cost = (0.0, 0.0);
        let mut bursts = Vec::new();
        for path in &mut paths {
            for _ in 0..settings.bursts {
                bursts.push(run_burst(path, &data, loss, settings, &selection.omega, gravity, burst, &mut cost));
            }
        }
        learned += burst * u64::from(settings.bursts);
        if !stages.is_empty() {
            selection.update(&bursts, settings);
        }
        for path in &mut paths {
            path.w = path.w.iter().zip(&selection.omega).map(|(&w, &stays)| if stays { w } else { 0.0 }).collect();
        }
        let active = count(&selection.omega);
        let nonzeros = (0..p).filter(|&j| paths.iter().any(|path| path.w[j] != 0.0)).count();
        stages.push(PublishedStage { rejection, gravity, burst, active, nonzeros, loss: mean(cost) });
        let d = (active as f64 + columns - present as f64) / columns;
        rejection = if stages.len() == 1 { settings.rejection } else { phi(d, settings) };
        gravity = order_statistic(&bursts, &selection.omega, rejection);
        burst = grown(d, settings);
    }
    let weights = (0..p).map(|j| average(&paths, |path| path.w[j])).collect();
    let bias = average(&paths, |path| path.b);
    PublishedRun { weights, bias, frequency: selection.frequency, active: selection.omega, stages }
}

impl Selection {
    /// Eq. (16), then (9). Evidence that was used is not carried over.
    fn update(&mut self, bursts: &[Burst], settings: &PublishedParams) {
        let needed = u64::from(settings.evidence);
        for j in 0..self.omega.len() {
            if self.kappa[j] > needed {
                (self.kappa[j], self.kept[j]) = (0, 0);
            }
            for burst in bursts.iter().filter(|burst| burst.k[j] > 0) {
                self.kappa[j] += if settings.evidence_in == Evidence::Bursts { 1 } else { burst.k[j] };
                self.kept[j] += u64::from(burst.after[j] != 0.0);
            }
            if self.kappa[j] > needed {
                self.frequency[j] = self.kept[j] as f64 / self.kappa[j] as f64;
                self.omega[j] = self.frequency[j] >= settings.cutoff;
            }
        }
    }
}

/// 1/M Σ over the paths.
fn average(paths: &[Path], number: impl Fn(&Path) -> f64) -> f64 {
    paths.iter().map(number).sum::<f64>() / paths.len() as f64
}

fn count(flags: &[bool]) -> usize {
    flags.iter().filter(|&&flag| flag).count()
}

fn start(seed: u64, m: u64, n: usize, p: usize) -> Path {
    let mut order: Vec<usize> = (0..n).collect();
    shuffle(&mut generator(seed, RngStream::PathOrder, m), &mut order);
    Path { order, place: 0, w: vec![0.0; p], b: 0.0 }
}

fn mean((loss, weight): (f64, f64)) -> f64 {
    if weight == 0.0 { 0.0 } else { loss / weight }
}

/// Algorithm 3 on one path; the weights outside Ω are zero.
#[allow(clippy::too_many_arguments, reason = "the inputs of the algorithm")]
fn run_burst(
    path: &mut Path,
    data: &Data,
    loss: AnyLoss,
    settings: &PublishedParams,
    omega: &[bool],
    gravity: f64,
    size: u64,
    cost: &mut (f64, f64),
) -> Burst {
    let before = path.w.clone();
    let mut k = vec![0u64; before.len()];
    for _ in 0..size {
        let i = path.order[path.place % path.order.len()];
        path.place += 1;
        let f = margin(&path.w, path.b, &data.x[i]);
        cost.0 += data.c[i] * loss.value(f, data.y[i]);
        cost.1 += data.c[i];
        let slope = data.c[i] * loss.slope(f, data.y[i]);
        for j in (0..k.len()).filter(|&j| omega[j]) {
            let x = data.x[i][j];
            path.w[j] -= settings.learning_rate * slope * x;
            let informative = x != 0.0 && (slope != 0.0 || settings.count == Count::Present);
            k[j] += u64::from(informative);
        }
        if settings.intercept {
            path.b -= settings.learning_rate * slope;
        }
    }
    let delta = path.w.iter().zip(&before).map(|(w, before)| w - before).collect();
    path.w = path.w.iter().zip(&k).map(|(&w, &k)| soft(w, gravity * k as f64)).collect();
    Burst { delta, k, after: path.w.clone() }
}

/// Eq. (12) with 1 − d for d (E2), or as printed.
fn phi(d: f64, settings: &PublishedParams) -> f64 {
    let PublishedParams { rejection: beta, annealing: gamma, .. } = *settings;
    match settings.annealing_curve {
        Curve::Corrected if gamma >= 0.0 => beta * ((-gamma * (1.0 - d)).exp() - (1.0 - d) * (-gamma).exp()),
        Curve::Corrected => beta * (1.0 - gamma * d).ln() / (1.0 - gamma).ln(),
        Curve::Printed if gamma >= 0.0 => beta * ((-gamma * d).exp() - d * (-gamma).exp()),
        Curve::Printed => beta * (1.0 - gamma * (1.0 - d)).ln() / (1.0 - gamma).ln(),
    }
}

/// (3.12)–(3.13) of Ma 2017: all |Δw/k| of Ω in one vector, sorted, the ⌊β·length⌋-th (E1).
fn order_statistic(bursts: &[Burst], omega: &[bool], rejection: f64) -> f64 {
    let mut pulls: Vec<f64> = Vec::new();
    for burst in bursts {
        let counted = (0..omega.len()).filter(|&j| omega[j] && burst.k[j] > 0);
        pulls.extend(counted.map(|j| (burst.delta[j] / burst.k[j] as f64).abs()));
    }
    pulls.sort_by(f64::total_cmp);
    let rank = (rejection * pulls.len() as f64).floor() as usize;
    if rank == 0 { 0.0 } else { pulls[rank - 1] }
}

/// ⌈K₀·log(1/(αd))⌉, at least K₀ (E5).
fn grown(d: f64, settings: &PublishedParams) -> u64 {
    let start = f64::from(settings.burst);
    match settings.growth {
        Some(alpha) if d > 0.0 => (start * (1.0 / (alpha * d)).ln()).ceil().max(start) as u64,
        _ => u64::from(settings.burst),
    }
}
