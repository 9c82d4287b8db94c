//! The ensemble of the stabilized learner compared with its literal version, and properties that hold to the last bit.

use tamis::data::State;
use tamis::data::{Batch, Example, OutputCoding, Row};
use tamis::loss::{AnyLoss, LossKind};
use tamis::rng::splitmix64;
use tamis::stabilized::{ClassCoding, Ensemble, HashedRows, PathMeans, Settings, Subsamples};
use tamis_testkit::generators::{HUBER, Shape, stream};
use tamis_testkit::naive::stabilized::{Known, LiteralMeans, Stabilized};

const FEATURES: usize = 40;
/// The sizes after the first stage.
const SIZES: [usize; 4] = [25, 12, 5, 1];

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: LossKind,
    outputs: usize,
    settings: Settings,
    seed: u64,
}

impl Case {
    fn loss(&self) -> AnyLoss {
        self.kind.build(HUBER)
    }

    /// One output for regression and two classes, three for three classes; classes of unequal weight.
    fn codings(&self) -> Vec<ClassCoding> {
        let class_weights = |class: usize| [0.75 + 0.25 * class as f64, 1.5];
        match (self.kind.needs_classes(), self.outputs) {
            (false, _) => {
                vec![ClassCoding { output: OutputCoding { class: None, codes: [-1.0, 1.0] }, class_weights: [1.0; 2] }]
            }
            (true, 1) => vec![ClassCoding {
                output: OutputCoding { class: Some(1.0), codes: [-1.0, 1.0] },
                class_weights: class_weights(0),
            }],
            (true, outputs) => (0..outputs)
                .map(|class| ClassCoding {
                    output: OutputCoding { class: Some(class as f64), codes: [-1.0, 1.0] },
                    class_weights: class_weights(class),
                })
                .collect(),
        }
    }

    /// Rows with their importance; with three classes, the negative ones are split by the parity of their length.
    fn batch(&self) -> Batch {
        let source = stream(Shape { rows: 90, features: FEATURES, longest: 9, seed: self.seed }, self.kind);
        let mut batch = Batch::new();
        for example in source.examples() {
            let negative = self.kind.needs_classes() && example.target < 0.0;
            let target = match negative && self.outputs == 3 {
                true if example.row.len() % 2 == 0 => 2.0,
                true => 0.0,
                false => example.target,
            };
            batch.push(Example { target, ..example });
        }
        batch
    }

    fn subsamples(&self) -> Subsamples {
        match self.seed.is_multiple_of(3) {
            true => Subsamples::excluding_fold(self.settings.share, 1, 4),
            false => Subsamples::new(self.settings.share),
        }
    }

    fn ensemble(&self) -> Ensemble {
        let active = (0..FEATURES as u32).collect();
        Ensemble::new(self.settings, self.loss(), self.codings(), active, self.subsamples())
    }
}

fn cases() -> Vec<Case> {
    use LossKind::{Hinge, Huber, Logistic, Squared, SquaredHinge};
    let mut cases = Vec::new();
    for (seed, paths) in (1..).zip([1, 5, 8, 13, 32]) {
        for (kind, outputs) in [(Hinge, 1), (Hinge, 3), (Logistic, 1), (Logistic, 3), (Squared, 1), (Huber, 1)] {
            let settings =
                Settings { paths, intercept: (seed + outputs as u64).is_multiple_of(2), ..Settings::default() };
            cases.push(Case { kind, outputs, settings, seed: 10 * seed + outputs as u64 });
            cases.push(Case {
                settings: Settings { intercept: !settings.intercept, ..settings },
                ..cases[cases.len() - 1]
            });
        }
    }
    let odd = |change: fn(&mut Settings)| {
        let mut case =
            Case { kind: Hinge, outputs: 1, settings: Settings { paths: 6, ..Settings::default() }, seed: 7 };
        change(&mut case.settings);
        case
    };
    cases.push(odd(|settings| settings.tallies = 1));
    cases.push(odd(|settings| settings.tallies = 7));
    cases.push(odd(|settings| settings.share = 0.2));
    cases.push(odd(|settings| settings.share = 1.0));
    cases.push(odd(|settings| settings.alpha = 30.0));
    cases.push(Case { kind: SquaredHinge, ..odd(|_| ()) });
    cases
}

/// Rows over the features `0..FEATURES`, each with its hash.
fn rows(batch: &Batch) -> HashedRows {
    let mut rows = HashedRows::default();
    batch.examples().enumerate().for_each(|(number, example)| rows.push(example, splitmix64(number as u64)));
    rows
}

/// The rows of a stage by number: pass after pass, each in its own order.
fn visits(rows: usize, length: usize, stage: u64) -> Vec<usize> {
    (0..length).map(|visit| (splitmix64(stage + 100 * (visit / rows) as u64) as usize + visit * 7) % rows).collect()
}

/// The mean ℓ₁ norm of a row over the active features.
fn row_size(batch: &Batch, counts: impl Fn(u32) -> bool) -> f64 {
    let sum = |row: Row<'_>| row.iter().filter(|&(id, _)| counts(id)).map(|(_, value)| value.abs()).sum::<f64>();
    batch.examples().map(|example| sum(example.row)).sum::<f64>() / batch.len() as f64
}

/// Gives the ensemble the rows of a stage in pieces of any size it allows.
fn run_stage(ensemble: &mut Ensemble, rows: &HashedRows, visits: &[usize], cuts: u64) {
    let (mut at, mut turn) = (0, 0);
    while at < visits.len() {
        let most = ensemble.rows_wanted() as usize;
        turn += 1;
        let piece = if cuts == 0 { most } else { most.min((splitmix64(cuts + turn) % 40) as usize) };
        let mut part = HashedRows::default();
        visits[at..at + piece].iter().for_each(|&row| part.push(rows.batch.example(row), rows.row_hashes[row]));
        ensemble.learn(&part);
        at += piece;
    }
    assert!(ensemble.stage_is_over());
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + b.abs())
}

fn same_means(what: &str, active: &[u32], fast: &PathMeans, slow: &LiteralMeans) {
    assert!(near(fast.bias, slow.bias), "{what}: intercepts {} and {}", fast.bias, slow.bias);
    assert_eq!(fast.evidence.len(), active.len());
    for (position, &id) in active.iter().enumerate() {
        let j = id as usize;
        let variance = fast.spread[position].powi(2);
        let pairs = [
            ("w", fast.weights[position], slow.weights[j]),
            ("u", fast.evidence[position], slow.evidence[j]),
            ("variance", variance, slow.variance[j]),
            ("frequency", fast.frequency[position], slow.frequency[j]),
        ];
        for (name, fast, slow) in pairs {
            assert!(near(fast, slow), "{what}, feature {id}: {name} is {fast}, literally {slow}");
        }
    }
}

/// Runs both over five stages; returns how many features had a weight on some paths and none on others.
fn follow(case: Case) -> usize {
    let batch = case.batch();
    let mut now = rows(&batch);
    let all: Vec<Known<'_>> =
        batch.examples().enumerate().map(|(number, row)| (row, splitmix64(number as u64))).collect();
    let mut ensemble = case.ensemble();
    let mut literal = Stabilized::new(case.settings, case.loss(), &case.codings(), case.subsamples(), FEATURES);
    let mut divided = 0;
    for stage in 0..=SIZES.len() {
        let length = [240, 101, 90, 7, 2][stage];
        let visits = visits(batch.len(), length, stage as u64);
        let size = row_size(&batch, |id| literal.active[id as usize]);
        ensemble.begin(length as u64, batch.len() as u64, size);
        run_stage(&mut ensemble, &now, &visits, case.seed + stage as u64);
        literal.stage(&visits.iter().map(|&row| all[row]).collect::<Vec<_>>(), size);
        let (fast, slow) = (ensemble.means(), literal.means());
        assert_eq!((fast.len(), slow.len()), (case.codings().len(), case.codings().len()));
        for (output, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
            divided += fast.frequency.iter().filter(|&&frequency| frequency > 0.0 && frequency < 1.0).count();
            same_means(&format!("{case:?}, stage {stage}, output {output}"), ensemble.active(), fast, slow);
        }
        let scores = ensemble.scores(&now);
        for (number, &row) in all.iter().enumerate() {
            for (fast, slow) in scores.iter().zip(literal.scores(row)) {
                assert!(near(fast[number], slow), "{case:?}, stage {stage}: score {} and {slow}", fast[number]);
            }
        }
        if let Some(&size) = SIZES.get(stage) {
            now = now.restricted_to(&ensemble.shrink_to(&fast, size));
            literal.shrink_to(&slow, size);
            let ids = (0..FEATURES as u32).filter(|&id| literal.active[id as usize]);
            assert_eq!(ensemble.active(), ids.collect::<Vec<_>>(), "{case:?}, after stage {stage}");
            assert_eq!(ensemble.active().len(), size);
            assert!(near(ensemble.gravity(), literal.gravity), "{case:?}, after stage {stage}");
        }
    }
    divided
}

#[test]
fn the_fast_version_equals_the_literal_one() {
    let divided: Vec<usize> = cases().into_iter().map(follow).collect();
    assert!(divided.iter().sum::<usize>() > 20 * divided.len(), "paths select different features: {divided:?}");
}

/// All numbers of a run over three stages, as bits.
fn bits(case: Case, batch: &Batch, cuts: u64) -> Vec<u64> {
    let (mut ensemble, mut now) = (case.ensemble(), rows(batch));
    let mut bits = Vec::new();
    for stage in 0..3 {
        ensemble.begin(150, batch.len() as u64, 2.5);
        run_stage(&mut ensemble, &now, &visits(batch.len(), 150, stage), cuts);
        let means = ensemble.means();
        bits.extend(bits_of(&means));
        bits.extend(ensemble.scores(&now).concat().iter().map(|score| score.to_bits()));
        now = now.restricted_to(&ensemble.shrink_to(&means, SIZES[stage as usize]));
        bits.extend(ensemble.active().iter().map(|&id| u64::from(id)));
    }
    bits
}

fn bits_of(means: &[PathMeans]) -> Vec<u64> {
    let numbers = |means: &PathMeans| {
        let lists = [&means.weights, &means.evidence, &means.spread, &means.frequency];
        lists.into_iter().flatten().copied().chain([means.bias]).map(f64::to_bits).collect::<Vec<_>>()
    };
    means.iter().flat_map(numbers).collect()
}

#[test]
fn the_split_into_pieces_does_not_matter() {
    for case in cases() {
        let batch = case.batch();
        let whole = bits(case, &batch, 0);
        assert!((1..4).all(|cuts| bits(case, &batch, cuts) == whole), "{case:?}");
    }
}

#[test]
fn only_ratios_of_importance_matter() {
    for case in cases() {
        let batch = case.batch();
        let mut heavier = Batch::new();
        // A power of two, so that not even rounding differs.
        batch.examples().for_each(|example| heavier.push(Example { weight: 8.0 * example.weight, ..example }));
        assert!(bits(case, &batch, 0) == bits(case, &heavier, 0), "{case:?}");
    }
}

#[test]
fn the_order_of_features_matters_for_ties_only() {
    for case in cases() {
        let batch = case.batch();
        let reversed = tamis_testkit::generators::relabelled(&batch, FEATURES);
        let [ahead, back] = [&batch, &reversed].map(|batch| {
            let mut ensemble = case.ensemble();
            ensemble.begin(180, batch.len() as u64, 2.0);
            run_stage(&mut ensemble, &rows(batch), &visits(batch.len(), 180, 1), 0);
            ensemble.means()
        });
        for (ahead, back) in ahead.iter().zip(&back) {
            for j in 0..FEATURES {
                let mirrored = FEATURES - 1 - j;
                assert!(near(ahead.evidence[j], back.evidence[mirrored]), "{case:?}, feature {j}");
                assert!(near(ahead.weights[j], back.weights[mirrored]), "{case:?}, feature {j}");
            }
        }
    }
}

#[test]
fn a_stage_may_be_interrupted_anywhere() {
    for case in cases().into_iter().step_by(7) {
        let batch = case.batch();
        let (all, visits) = (rows(&batch), visits(batch.len(), 120, 0));
        for cut in [0, 1, 59, 60, 75, 119] {
            let mut ensemble = case.ensemble();
            let mut restored = case.ensemble();
            ensemble.begin(120, batch.len() as u64, 2.0);
            for (number, &row) in visits.iter().enumerate() {
                if number == cut {
                    let mut state = State::default();
                    ensemble.save(&mut state);
                    restored.load(&mut state).unwrap();
                }
                let mut one = HashedRows::default();
                one.push(all.batch.example(row), all.row_hashes[row]);
                ensemble.learn(&one);
                if number >= cut {
                    restored.learn(&one);
                }
            }
            if cut < 120 {
                assert!(bits_of(&ensemble.means()) == bits_of(&restored.means()), "{case:?}, cut {cut}");
                assert_eq!(ensemble.scores(&all), restored.scores(&all));
            }
        }
    }
}

#[test]
fn a_warm_start_without_decay_copies_the_ensemble() {
    for case in cases().into_iter().step_by(5) {
        let batch = case.batch();
        let all = rows(&batch);
        let mut old = case.ensemble();
        old.begin(100, batch.len() as u64, 2.0);
        run_stage(&mut old, &all, &visits(batch.len(), 100, 0), 0);
        let mut new = case.ensemble();
        new.warm_start_from(&old, 1.0);
        let mut nothing = case.ensemble();
        nothing.warm_start_from(&old, 0.0);
        for ensemble in [&mut old, &mut new, &mut nothing] {
            ensemble.begin(100, batch.len() as u64, 2.0);
        }
        assert_eq!(old.scores(&all), new.scores(&all), "{case:?}");
        // Only the intercept of each path is left.
        let empty = all.restricted_to(&[None; FEATURES]);
        let flat: Vec<Vec<f64>> = old.with_outputs(case.codings().len()).scores(&empty);
        assert!(flat.concat().iter().all(|&score| score == 0.0));
        assert_eq!(nothing.scores(&all), nothing.scores(&empty), "{case:?}");
    }
}

#[test]
fn rows_of_zero_weight_change_nothing() {
    for case in cases() {
        let batch = case.batch();
        let mut weightless = Batch::new();
        batch.examples().for_each(|example| weightless.push(Example { weight: 0.0, ..example }));
        let mut ensemble = case.ensemble();
        ensemble.begin(100, batch.len() as u64, 2.0);
        run_stage(&mut ensemble, &rows(&weightless), &visits(batch.len(), 100, 0), 0);
        for means in ensemble.means() {
            assert!(means.evidence.iter().chain(&means.weights).chain([&means.bias]).all(|&number| number == 0.0));
        }
    }
}

/// Rows with all features, whose class follows from the first one: the paths soon classify all of them.
fn dense_and_separable() -> Batch {
    let mut batch = Batch::new();
    let ids: Vec<u32> = (0..FEATURES as u32).collect();
    for row in 0..60_u64 {
        let noise = |id: &u32| (splitmix64(row * 1000 + u64::from(*id)) % 1000) as f64 / 1000.0 - 0.5;
        let mut values: Vec<f64> = ids.iter().map(noise).collect();
        values[0] = if row % 2 == 0 { 3.0 } else { -3.0 };
        batch.push(Example { row: Row { ids: &ids, values: &values }, target: f64::from(row % 2 == 0), weight: 1.0 });
    }
    batch
}

#[test]
fn dense_rows_and_rows_that_change_nothing_are_only_faster() {
    let batch = dense_and_separable();
    let case = Case { kind: LossKind::Hinge, outputs: 1, settings: Settings::default(), seed: 1 };
    let (all, visits) = (rows(&batch), visits(batch.len(), 900, 0));
    let [mut one_by_one, mut in_chunks, mut stopped] = [0; 3].map(|_| case.ensemble());
    for ensemble in [&mut one_by_one, &mut in_chunks, &mut stopped] {
        ensemble.begin(900, batch.len() as u64, row_size(&batch, |_| true));
    }
    let mut skipped = 0;
    for &row in &visits {
        let mut one = HashedRows::default();
        one.push(all.batch.example(row), all.row_hashes[row]);
        one_by_one.learn(&one);
        match stopped.has_converged() {
            false => stopped.learn(&one),
            true => {
                stopped.visit(1);
                skipped += 1;
            }
        }
    }
    run_stage(&mut in_chunks, &all, &visits, 3);
    assert!(skipped > 100, "{skipped} of {} rows could be skipped", visits.len());
    let expected = bits_of(&one_by_one.means());
    assert_eq!(bits_of(&in_chunks.means()), expected, "weights that are kept give the same margins");
    assert_eq!(bits_of(&stopped.means()), expected, "nothing changes after a pass without a change");
}
