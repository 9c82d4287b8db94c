//! How fast moments are accumulated and solved, on the simulated data of Sun et al. 2018 (section 5.1).
//!
//! ```text
//! moments_speed dense ROWS COLUMNS             seconds to accumulate dense rows from memory
//! moments_speed sparse ROWS COLUMNS NONZEROS   seconds to accumulate sparse rows, and pairs of entries per second
//! moments_speed save ROWS COLUMNS FILE         writes moments (place 0 is the target) for others to solve
//! moments_speed path FILE METHOD REPEAT        seconds for a path of 100 penalties, or one model of 100 features
//! moments_speed detect ROWS COLUMNS K SIGNAL RUNS [METHOD...]   share of true features found, and seconds
//! ```
//! Prints one line of JSON.

use std::time::Instant;

use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use serde_json::json;
use tamis::moments::{Accumulator, Column, Comoments, Moments};
use tamis::recipe::{Criterion, SolveRecipe, Solver};
use tamis::solve::{SolveOptions, solve};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments[at].parse::<usize>().expect("a whole number");
    let value = match arguments[0].as_str() {
        "dense" => dense(number(1), number(2)),
        "sparse" => sparse(number(1), number(2), number(3)),
        "save" => save(number(1), number(2), &arguments[3]),
        "path" => path(&arguments[1], solver(&arguments[2]), number(3)),
        "detect" => {
            let signal: f64 = arguments[4].parse().expect("a number");
            let methods: Vec<Solver> = arguments[6..].iter().map(|name| solver(name)).collect();
            detect(number(1), number(2), number(3), signal, number(5), &methods)
        }
        other => panic!("{other}: expected dense, sparse, save, path or detect"),
    };
    println!("{value}");
}

fn solver(name: &str) -> Solver {
    Solver::ALL.into_iter().find(|solver| solver.name() == name).expect("the name of a solver")
}

/// Rows (y, x) with x = z·1 + u, y = x·β + η, β at every tenth column.
fn rows(random: &mut Pcg64, rows: usize, columns: usize, k: usize, signal: f64) -> Vec<f64> {
    let mut all = Vec::with_capacity(rows * (columns + 1));
    for _ in 0..rows {
        let mut normal = || -> f64 { StandardNormal.sample(random) };
        let common = normal();
        let start = all.len();
        all.push(normal());
        all.extend((0..columns).map(|_| common + normal()));
        let planted: f64 = (1..=k).map(|j| all[start + 10 * j]).sum();
        all[start] += signal * planted;
    }
    all
}

fn dense(count: usize, columns: usize) -> serde_json::Value {
    let piece = rows(&mut Pcg64::new(1, 1), 1000.min(count), columns - 1, 5, 1.0);
    let all: Vec<f64> = piece.iter().copied().cycle().take(count * columns).collect();
    let started = Instant::now();
    let mut sums = Comoments::new(columns);
    sums.observe_dense(&all, &[]);
    let seconds = started.elapsed().as_secs_f64();
    json!({"seconds": seconds, "rows": sums.rows, "variance": sums.covariance(1, 1)})
}

fn sparse(count: usize, columns: usize, nonzeros: usize) -> serde_json::Value {
    let mut state = 1;
    let mut below = |limit: usize| {
        state = tamis::rng::splitmix64(state);
        ((u128::from(state) * limit as u128) >> 64) as usize
    };
    let mut row = || {
        let mut places: Vec<u32> = (0..nonzeros).map(|_| below(columns) as u32).collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    let all: Vec<Vec<u32>> = (0..count).map(|_| row()).collect();
    let pairs: f64 = all.iter().map(|row| (row.len() * row.len()) as f64).sum();
    let started = Instant::now();
    let mut accumulator = Accumulator::new(0.0);
    all.iter().for_each(|row| accumulator.push(row.iter().map(|&place| (place, 1.5)), 1.0, columns));
    let sums = accumulator.finish(columns);
    let seconds = started.elapsed().as_secs_f64();
    json!({"seconds": seconds, "rows": sums.rows, "squares_per_second": pairs / seconds})
}

fn moments(sums: Comoments) -> Moments {
    let features = (1..sums.size()).map(|j| Column::Feature(j.to_string()));
    let columns = [Column::Target("y".into())].into_iter().chain(features).collect();
    Moments {
        columns,
        table: None,
        decay: None,
        screened: false,
        skipped: 0,
        identity: tamis::moments::RowIdentity::default(),
        folds: vec![sums],
    }
}

fn simulated(seed: u64, count: usize, columns: usize, k: usize, signal: f64) -> Moments {
    let mut random = Pcg64::new(u128::from(seed), 7);
    let mut sums = Comoments::new(columns + 1);
    let mut left = count;
    while left > 0 {
        let now = left.min(4096);
        sums.observe_dense(&rows(&mut random, now, columns, k, signal), &[]);
        left -= now;
    }
    moments(sums)
}

fn save(count: usize, columns: usize, file: &str) -> serde_json::Value {
    let made = simulated(1, count, columns, columns / 10, 1.0);
    made.save(file.as_ref()).expect("the file can be written");
    json!({"rows": made.rows(), "columns": columns})
}

fn path(file: &str, method: Solver, repeat: usize) -> serde_json::Value {
    let moments = Moments::load(file.as_ref()).expect("moments");
    let criterion = method.is_penalised().then_some(Criterion::Bic);
    let k = if criterion.is_some() { None } else { Some(100) };
    let recipe = SolveRecipe { criterion, k, ..SolveRecipe::new(method) };
    let mut times = Vec::new();
    let mut sizes = Vec::new();
    for _ in 0..repeat {
        let started = Instant::now();
        let solved = solve(&moments, &recipe, SolveOptions::default()).expect("a model");
        times.push(started.elapsed().as_secs_f64());
        sizes = solved.path.iter().map(|point| point.size).collect();
    }
    times.sort_by(f64::total_cmp);
    json!({"seconds": times[times.len() / 2], "models": sizes.len(), "largest": sizes.iter().max()})
}

fn detect(count: usize, columns: usize, k: usize, signal: f64, runs: usize, methods: &[Solver]) -> serde_json::Value {
    let mut found = vec![(0.0, 0.0); methods.len()];
    for seed in 0..runs {
        let moments = simulated(seed as u64, count, columns, k, signal);
        for (method, (share, seconds)) in methods.iter().zip(&mut found) {
            let l1_ratio = (*method == Solver::ElasticNet).then_some(0.99);
            let recipe = SolveRecipe { k: Some(k), l1_ratio, ..SolveRecipe::new(*method) };
            let started = Instant::now();
            let solved = solve(&moments, &recipe, SolveOptions::default()).expect("a model");
            *seconds += started.elapsed().as_secs_f64() / runs as f64;
            let names = solved.model.outputs[0].features.iter().map(|feature| feature.name.parse::<usize>());
            let right = names.filter(|name| name.as_ref().is_ok_and(|&j| j % 10 == 0 && j / 10 <= k)).count();
            *share += 100.0 * right as f64 / (k * runs) as f64;
        }
    }
    let line = |(method, (share, seconds)): (&Solver, &(f64, f64))| json!({"method": method.name(), "detected": share, "seconds": seconds});
    json!({"rows": count, "runs": runs, "found": methods.iter().zip(&found).map(line).collect::<Vec<_>>()})
}
