//! `stabilized-published` compared with its literal version, over settings, losses and seeds, stage by stage.

use tamis::data::Batch;
use tamis::loss::LossKind;
use tamis::recipe::{Count, Curve, Evidence, PublishedParams};
use tamis::stabilized::published::{Outcome, run};
use tamis::threads::Threads;
use tamis_testkit::generators::{HUBER, Shape, stream};
use tamis_testkit::naive::{PublishedRun, published};

const FEATURES: usize = 60;

fn rows(kind: LossKind, seed: u64) -> Batch {
    stream(Shape { rows: 150, features: FEATURES, longest: 12, seed }, kind)
}

/// Small enough for the dense version, with several purges.
fn base() -> PublishedParams {
    PublishedParams { n_paths: 5, bursts: 3, passes: 3, cutoff: 0.5, ..PublishedParams::default() }
}

fn cases() -> Vec<(&'static str, PublishedParams)> {
    vec![
        ("defaults", PublishedParams { passes: 2, ..PublishedParams::default() }),
        ("base", base()),
        ("eq. 16", PublishedParams { evidence: 4, ..base() }),
        ("eq. 16 in updates", PublishedParams { evidence: 4, evidence_in: Evidence::Updates, cutoff: 0.2, ..base() }),
        ("presence", PublishedParams { count: Count::Present, ..base() }),
        ("growing bursts", PublishedParams { growth: Some(0.3), evidence: 2, ..base() }),
        ("bursts that would shrink", PublishedParams { growth: Some(2.0), ..base() }),
        ("slow annealing", PublishedParams { annealing: -7.0, rejection: 0.9, ..base() }),
        ("fast annealing", PublishedParams { annealing: 3.0, intercept: true, ..base() }),
        ("linear annealing", PublishedParams { annealing: 0.0, cutoff: 0.8, ..base() }),
        ("printed curve", PublishedParams { annealing_curve: Curve::Printed, ..base() }),
        ("absent columns", PublishedParams { total_columns: Some(100), intercept: true, ..base() }),
        ("one path, long bursts", PublishedParams { n_paths: 1, burst: 40, bursts: 7, evidence: 3, ..base() }),
        ("no gravity", PublishedParams { rejection: 0.0, ..base() }),
        ("all gravity", PublishedParams { rejection: 1.0, annealing: -7.0, cutoff: 0.9, intercept: true, ..base() }),
    ]
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + b.abs())
}

/// Vectors of the fast version end at the last id that occurs: the literal version has `beyond` after it.
fn all_near(fast: &[f64], slow: &[f64], beyond: f64) -> bool {
    slow.iter().enumerate().all(|(j, &slow)| near(fast.get(j).copied().unwrap_or(beyond), slow))
}

fn agree(name: &str, fast: &Outcome, slow: &PublishedRun) {
    assert_eq!(fast.history.len(), slow.stages.len(), "{name}");
    for (fast, slow) in fast.history.iter().zip(&slow.stages) {
        let s = fast.stage;
        assert_eq!(
            (fast.burst, fast.active, fast.nonzeros),
            (slow.burst, slow.active, slow.nonzeros),
            "{name}, stage {s}"
        );
        assert!(near(fast.rejection, slow.rejection) && near(fast.gravity, slow.gravity), "{name}, stage {s}");
        assert!(near(fast.loss, slow.loss), "{name}, stage {s}: loss {} and {}", fast.loss, slow.loss);
    }
    assert!(all_near(&fast.weights, &slow.weights, 0.0), "{name}: {:?}\n{:?}", fast.weights, slow.weights);
    assert!(all_near(&fast.frequency, &slow.frequency, 1.0), "{name}: {:?}\n{:?}", fast.frequency, slow.frequency);
    assert!(near(fast.bias, slow.bias), "{name}");
    assert!(fast.active.iter().zip(&slow.active).all(|(a, b)| a == b), "{name}");
}

#[test]
fn the_fast_version_equals_the_literal_one() {
    let mut purged = 0;
    for kind in [LossKind::Hinge, LossKind::Logistic, LossKind::Huber] {
        for seed in [1, 2] {
            let rows = rows(kind, seed);
            let loss = kind.build(HUBER);
            for (name, settings) in cases() {
                let fast = run(&rows, loss, &settings, seed, &Threads::new(2)).expect("allowed settings");
                agree(name, &fast, &published(&rows, loss, &settings, seed, FEATURES));
                purged += usize::from(fast.history.last().expect("stages").active < fast.history[0].active);
            }
        }
    }
    assert!(purged > 3 * cases().len(), "most runs purge something: {purged}");
}

#[test]
fn threads_change_no_bit_with_any_setting() {
    let rows = rows(LossKind::Logistic, 3);
    for (name, settings) in cases() {
        // Stages long enough to be worth several threads.
        let settings = PublishedParams { burst: settings.burst * 100, passes: 50, ..settings };
        let [one, three] =
            [1, 3].map(|threads| run(&rows, LossKind::Logistic.build(HUBER), &settings, 3, &Threads::new(threads)));
        assert_eq!(one, three, "{name}");
    }
}
