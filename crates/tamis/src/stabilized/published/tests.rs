//! Whole runs: small cases by hand, reproducibility, the printed against the corrected form, degenerate input.

use super::*;
use crate::data::{Example, Row};
use crate::loss::LossKind;
use crate::recipe::{Count, Curve, Evidence};
use crate::rng::{RngStream, generator, uniform_below};
use crate::threads::Threads;

fn hinge() -> AnyLoss {
    LossKind::Hinge.build(1.0)
}

fn batch(rows: &[(&[u32], &[f64], f64)]) -> Batch {
    let mut batch = Batch::new();
    for &(ids, values, target) in rows {
        batch.push(Example { row: Row { ids, values }, target, weight: 1.0 });
    }
    batch
}

/// Features 0 and 1 decide the class, the others are noise; each row has one of the two and three of the others.
fn planted(rows: usize, features: u32) -> Batch {
    let mut random = generator(5, RngStream::ShardRows, 0);
    let mut batch = Batch::new();
    for _ in 0..rows {
        let target = if uniform_below(&mut random, 2) == 0 { -1.0 } else { 1.0 };
        let mut ids: Vec<u32> = (0..3).map(|_| 2 + uniform_below(&mut random, features as usize - 2) as u32).collect();
        ids.push(u32::from(target > 0.0));
        ids.sort_unstable();
        ids.dedup();
        let values: Vec<f64> = ids.iter().map(|_| 0.5 + uniform_below(&mut random, 1000) as f64 / 1000.0).collect();
        batch.push(Example { row: Row { ids: &ids, values: &values }, target, weight: 1.0 });
    }
    batch
}

/// One path, bursts of one row, two bursts a stage, steps of 1/16.
fn small() -> PublishedParams {
    PublishedParams {
        n_paths: 1,
        burst: 1,
        bursts: 2,
        rejection: 1.0,
        annealing: 0.0,
        cutoff: 0.6,
        learning_rate: 0.0625,
        passes: 6,
        ..PublishedParams::default()
    }
}

#[test]
fn three_stages_by_hand() {
    // Pilot: (1/16, 1/8), then (1/8, 1/4). All of {1/16, 1/8, 1/16, 1/8} is to be rejected: g₀ = 1/8.
    // Stage 1: f = 5/8, (3/16, 3/8) → (1/16, 1/4); f = 9/16, (1/8, 3/8) → (0, 1/4). Π = (1/2, 1): feature 0 is purged.
    // d = 1/2, so β = 1/2: of {1/8, 1/8} the first, g₀ = 1/8.
    // Stage 2: f = 1/2, 3/8 → 1/4, twice.
    let rows = batch(&[(&[0, 1], &[1.0, 2.0], 1.0)]);
    let outcome = run(&rows, hinge(), &small(), 0, &Threads::new(1)).unwrap();
    assert_eq!(outcome.weights, [0.0, 0.25]);
    assert_eq!(outcome.frequency, [0.5, 1.0]);
    assert_eq!(outcome.active, [false, true]);
    let stage = |stage, rejection, gravity, active, loss| Stage {
        stage,
        steps: 2 * (stage + 1),
        burst: 1,
        rejection,
        gravity,
        active,
        nonzeros: active,
        loss,
    };
    let losses = [(1.0 + 0.6875) / 2.0, (0.375 + 0.4375) / 2.0, 0.5];
    assert_eq!(
        outcome.history,
        [stage(0, 0.0, 0.0, 2, losses[0]), stage(1, 1.0, 0.125, 2 - 1, losses[1]), stage(2, 0.5, 0.125, 1, losses[2])]
    );
    assert_eq!((outcome.examples, outcome.bias, outcome.converged), (6, 0.0, false));
}

#[test]
fn evidence_is_carried_until_it_is_enough() {
    // As above, but κ must exceed 2: stage 1 has b/κ = 1/2, which is not enough evidence. Stage 2 has g₀ = 1/8 again (β
    // = 1) and begins at (0, 1/4): f = 1/2, (1/16, 3/8) → (0, 1/4), twice: b/κ = 1/4.
    let rows = batch(&[(&[0, 1], &[1.0, 2.0], 1.0)]);
    let outcome = run(&rows, hinge(), &PublishedParams { evidence: 2, ..small() }, 0, &Threads::new(1)).unwrap();
    assert_eq!(outcome.history.iter().map(|stage| stage.active).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(outcome.history.iter().map(|stage| stage.nonzeros).collect::<Vec<_>>(), [2, 1, 1]);
    assert_eq!(outcome.frequency, [0.25, 1.0]);
    assert_eq!(outcome.weights, [0.0, 0.25]);
}

#[test]
fn bursts_grow_when_features_are_purged() {
    // Stage 1 leaves d = 1/2; with α = 1/4 that is ⌈ln 8⌉ = 3 rows a burst, and before it ⌈ln 4⌉ = 2.
    let rows = batch(&[(&[0, 1], &[1.0, 2.0], 1.0)]);
    let settings = PublishedParams { growth: Some(0.25), passes: 20, cutoff: 1.0, ..small() };
    let outcome = run(&rows, hinge(), &settings, 0, &Threads::new(1)).unwrap();
    let bursts: Vec<_> = outcome.history.iter().take(2).map(|stage| stage.burst).collect();
    assert_eq!(bursts, [1, 2]);
    let halved = outcome.history.iter().position(|stage| stage.active == 1).expect("one feature is purged");
    assert_eq!(outcome.history[halved + 1].burst, 3);
}

#[test]
fn threads_change_no_bit_and_the_seed_does() {
    let rows = planted(200, 400);
    let settings =
        PublishedParams { passes: 20, n_paths: 8, intercept: true, burst: 200, ..PublishedParams::default() };
    let one = run(&rows, hinge(), &settings, 7, &Threads::new(1)).unwrap();
    for threads in [2, 3, 8] {
        assert_eq!(run(&rows, hinge(), &settings, 7, &Threads::new(threads)).unwrap(), one);
    }
    assert!(one.history[0].steps * 8 * 4 > 20_000, "the first stage is large enough to be shared");
    assert_ne!(run(&rows, hinge(), &settings, 8, &Threads::new(1)).unwrap().weights, one.weights);
}

#[test]
fn relevant_features_stay_and_most_noise_is_purged() {
    let rows = planted(400, 200);
    for kind in [LossKind::Hinge, LossKind::Logistic] {
        let outcome = run(&rows, kind.build(1.0), &PublishedParams::default(), 1, &Threads::new(2)).unwrap();
        assert!(outcome.weights[0] < -0.1 && outcome.weights[1] > 0.1, "{kind:?} {:?}", &outcome.weights[..2]);
        assert!(outcome.active[0] && outcome.active[1]);
        let last = outcome.history.last().unwrap();
        assert!(last.active < 40, "{kind:?}: {} of 200 remain", last.active);
        assert!(outcome.history.iter().zip(&outcome.history[1..]).all(|(a, b)| a.active >= b.active), "permanently");
        assert_eq!(outcome.weights.iter().filter(|weight| **weight != 0.0).count(), last.nonzeros);
    }
}

#[test]
fn the_printed_curve_rejects_nothing_while_nothing_is_purged() {
    let rows = planted(100, 50);
    let settings = PublishedParams { cutoff: 0.0, passes: 4, ..PublishedParams::default() };
    let rates = |curve| {
        let outcome =
            run(&rows, hinge(), &PublishedParams { annealing_curve: curve, ..settings.clone() }, 1, &Threads::new(1))
                .unwrap();
        assert!(outcome.history.iter().all(|stage| stage.active == 50));
        outcome.history[1..].iter().map(|stage| (stage.rejection, stage.gravity)).collect::<Vec<_>>()
    };
    let [corrected, printed] = [rates(Curve::Corrected), rates(Curve::Printed)];
    assert!(corrected.iter().all(|&(rejection, gravity)| rejection == 0.7 && gravity > 0.0));
    assert_eq!(printed[0], corrected[0], "the first stage begins at β₀");
    assert!(printed[1..].iter().all(|&(rejection, gravity)| rejection == 0.0 && gravity == 0.0));
}

#[test]
fn counting_presence_with_hinge_loss_purges_relevant_features() {
    // The pilot moves both weights to the margin, ±1, in its first burst; its second has no slope. g₀ = ½.
    let rows = batch(&[(&[0], &[1.0], 1.0), (&[1], &[1.0], -1.0)]);
    let settings = PublishedParams { learning_rate: 0.5, burst: 4, passes: 40, ..small() };
    let ours = run(&rows, hinge(), &settings, 0, &Threads::new(1)).unwrap();
    assert_eq!((ours.weights, ours.active), (vec![1.0, -1.0], vec![true, true]), "no slope, no shrinkage");
    // The printed form shrinks by 2·½ after two rows that changed nothing, and again what the next burst has learned
    // (E6).
    let printed =
        run(&rows, hinge(), &PublishedParams { count: Count::Present, ..settings }, 0, &Threads::new(1)).unwrap();
    assert_eq!((printed.weights, printed.active), (vec![0.0, 0.0], vec![false, false]));
    assert_eq!(printed.frequency, [0.0, 0.0]);
}

#[test]
fn counting_updates_purges_features_of_every_row() {
    // Π ≤ 1/5 for a feature updated five times a burst: below any cutoff of the paper.
    let rows = batch(&[(&[0], &[1.0], 1.0)]);
    let settings = PublishedParams { learning_rate: 0.001, rejection: 0.0, passes: 50, ..PublishedParams::default() };
    assert!(run(&rows, hinge(), &settings, 0, &Threads::new(1)).unwrap().active[0]);
    let printed = PublishedParams { evidence_in: Evidence::Updates, ..settings };
    assert!(!run(&rows, hinge(), &printed, 0, &Threads::new(1)).unwrap().active[0]);
}

#[test]
fn absent_columns_keep_the_rejection_rate_up() {
    let rows = planted(400, 200);
    let settings = PublishedParams { annealing: 0.0, ..PublishedParams::default() };
    let printed = PublishedParams { total_columns: Some(1000), ..settings.clone() };
    let rate = |settings| run(&rows, hinge(), settings, 1, &Threads::new(1)).unwrap().history.last().unwrap().rejection;
    assert!(rate(&printed) > 0.7 * 0.8 && rate(&settings) < 0.35);
}

#[test]
fn no_rows_give_an_empty_outcome() {
    assert_eq!(
        run(&Batch::new(), hinge(), &PublishedParams::default(), 0, &Threads::new(2)).unwrap(),
        Outcome::default()
    );
    let error =
        run(&Batch::new(), hinge(), &PublishedParams { n_paths: 0, ..PublishedParams::default() }, 0, &Threads::new(2))
            .unwrap_err();
    assert_eq!(error.to_string(), "`n-paths` must be a whole number of at least 1 and at most 4096, got 0");
}

#[test]
fn empty_rows_teach_the_intercept_alone() {
    let rows = batch(&[(&[], &[], 1.0), (&[], &[], 1.0)]);
    let outcome =
        run(&rows, hinge(), &PublishedParams { intercept: true, ..PublishedParams::default() }, 0, &Threads::new(1))
            .unwrap();
    assert!(outcome.weights.is_empty() && outcome.bias >= 1.0 && outcome.bias < 1.2);
}

#[test]
fn fewer_rows_than_paths_and_one_class_are_learned() {
    let rows = batch(&[(&[0, 3], &[1.0, 1.0], 1.0)]);
    let settings = PublishedParams { passes: 1, intercept: true, ..PublishedParams::default() };
    let outcome = run(&rows, hinge(), &settings, 0, &Threads::new(3)).unwrap();
    assert_eq!(outcome.history.len(), 2, "the pilot and one stage, though the pilot alone is 25 passes");
    assert_eq!(outcome.examples, 2 * 25 * 16);
    assert!(outcome.weights[0] + outcome.weights[3] + outcome.bias > 0.5);
    assert_eq!(
        (outcome.active[1], outcome.frequency[1], outcome.weights[1]),
        (false, 1.0, 0.0),
        "an id that never occurs"
    );
}

#[test]
fn all_features_may_be_purged() {
    // The two rows contradict each other: all updates are rejected.
    let rows = batch(&[(&[0, 1], &[1.0, 1.0], 1.0), (&[0, 1], &[1.0, 1.0], -1.0)]);
    let settings =
        PublishedParams { rejection: 1.0, cutoff: 1.0, passes: 50, intercept: true, ..PublishedParams::default() };
    let outcome = run(&rows, hinge(), &settings, 0, &Threads::new(1)).unwrap();
    assert_eq!(outcome.weights, [0.0, 0.0]);
    let last = outcome.history.last().unwrap();
    assert_eq!((last.active, last.nonzeros, last.gravity), (0, 0, 0.0));
    assert!(last.rejection.abs() < 1e-15 && outcome.bias.is_finite() && last.loss.is_finite());
}

#[test]
fn a_constant_column_is_a_column_like_any_other() {
    let mut rows = Batch::new();
    for example in planted(300, 50).examples() {
        let ids: Vec<u32> = example.row.ids.iter().copied().chain([50]).collect();
        let values: Vec<f64> = example.row.values.iter().copied().chain([1.0]).collect();
        rows.push(Example { row: Row { ids: &ids, values: &values }, ..example });
    }
    let outcome = run(&rows, hinge(), &PublishedParams::default(), 2, &Threads::new(1)).unwrap();
    assert!(outcome.weights.iter().all(|weight| weight.is_finite()) && outcome.frequency[50] <= 1.0);
    assert!(outcome.weights[0] < 0.0 && outcome.weights[1] > 0.0);
}

#[test]
fn rows_of_zero_weight_change_nothing() {
    let mut rows = Batch::new();
    rows.push(Example { row: Row { ids: &[0], values: &[1.0] }, target: 1.0, weight: 0.0 });
    let outcome = run(&rows, hinge(), &PublishedParams::default(), 0, &Threads::new(1)).unwrap();
    assert_eq!((outcome.weights[0], outcome.frequency[0], outcome.active[0]), (0.0, 1.0, true));
    assert!(outcome.history.iter().all(|stage| stage.loss == 0.0));
}

#[test]
fn a_rate_that_is_too_high_is_an_error() {
    let rows = batch(&[(&[0], &[100.0], 1.0)]);
    let error = run(&rows, LossKind::Squared.build(1.0), &PublishedParams::default(), 0, &Threads::new(1)).unwrap_err();
    assert!(matches!(error, PublishedError::Diverged { rate: 0.1, .. }));
    assert!(
        error
            .to_string()
            .ends_with("the weights are no longer finite; lower `learning-rate` (now 0.1) or scale the data")
    );
}

#[test]
fn a_tolerance_ends_the_run_when_weights_converge() {
    // Once the margin is reached nothing moves, and nothing is counted or shrunk.
    let rows = batch(&[(&[0], &[1.0], 1.0)]);
    let settings = PublishedParams { tolerance: 1e-6, rejection: 0.0, passes: 1000, ..PublishedParams::default() };
    let outcome = run(&rows, hinge(), &settings, 0, &Threads::new(1)).unwrap();
    assert!(outcome.converged && outcome.history.len() < 10, "{}", outcome.history.len());
    assert!(
        !run(&rows, hinge(), &PublishedParams { tolerance: 0.0, ..settings }, 0, &Threads::new(1)).unwrap().converged
    );
}

#[test]
fn a_run_can_be_observed_and_ended() {
    let rows = planted(100, 30);
    let mut snapshots = Vec::new();
    let outcome = run_watched(&rows, hinge(), &PublishedParams::default(), 3, &Threads::new(1), &mut |snapshot| {
        let (weights, bias) = snapshot.model();
        snapshots.push((snapshot.stage, weights, bias));
        if snapshots.len() == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let outcome = outcome.unwrap();
    assert_eq!(outcome.history, snapshots.iter().map(|(stage, ..)| *stage).collect::<Vec<_>>());
    let (_, weights, bias) = snapshots.pop().unwrap();
    assert_eq!((outcome.weights, outcome.bias), (weights, bias));
}
