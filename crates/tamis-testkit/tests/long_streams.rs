//! Streams so long that clocks are reset, keys recomputed and means swept, compared with the oracles.

use tamis::data::Batch;
use tamis::learners::Learner;
use tamis::loss::LossKind;
use tamis::recipe::{Method, Recipe, ScheduleKind};
use tamis_testkit::contract::{CheckResult, Pair, bits, fresh, learn};
use tamis_testkit::generators::{Shape, stream};

/// Steps between two sweeps of the means.
const SWEEP: usize = 1 << 14;
/// Steps after which `single-stage` and `two-stage` recompute their keys.
const KEYS: usize = 1 << 16;
/// Steps after which the clocks of the truncated gradient and of the elastic net are reset.
const CLOCK: usize = 1 << 22;

fn recipe(method: Method, rate: ScheduleKind, start: f64) -> Recipe {
    Recipe::new(method).with("schedule", rate.name()).with("learning-rate", start)
}

fn averaged(recipe: Recipe) -> Recipe {
    recipe.with("average", true)
}

/// Learners with averaged weights, with parameters that cover different code paths.
fn with_means() -> Vec<Recipe> {
    use Method::{Fobos, Ftrl, Rounding, Sgd, TruncatedGradient};
    use ScheduleKind::{Adagrad, Auto, Constant, InverseSqrt};
    let gravity = |rate, start| recipe(TruncatedGradient, rate, start).with("l1", 0.02);
    let recipes = vec![
        recipe(Sgd, Constant, 0.03),
        recipe(Sgd, Auto, 0.3),
        gravity(Constant, 0.03),
        gravity(InverseSqrt, 0.1).with("period", 10.0).with("threshold", 0.4),
        gravity(Auto, 0.3),
        gravity(Adagrad, 0.3).with("period", 7.0),
        recipe(Rounding, Constant, 0.03).with("threshold", 0.05).with("period", 10.0),
        recipe(Rounding, Adagrad, 0.3).with("threshold", 0.05).with("period", 13.0),
        recipe(Fobos, InverseSqrt, 0.1).with("l1", 0.02),
        recipe(Fobos, Constant, 0.03).with("l1", 0.02).with("l2", 0.1),
        recipe(Fobos, InverseSqrt, 0.1).with("l1", 0.02).with("l2", 0.01),
        Recipe::new(Ftrl),
    ];
    recipes.into_iter().map(averaged).collect()
}

/// Compares learner and oracle over `rows` rows, repeating the batch as needed: margins at every row, models at some
/// rows and around each multiple of `event`.
fn follow(recipe: &Recipe, kind: LossKind, batch: &Batch, features: usize, rows: usize, event: usize) -> CheckResult {
    let mut pair = Pair::new(recipe, kind, features);
    for i in 0..rows {
        pair.learn(batch.example(i % batch.len())).map_err(|problem| format!("row {i}: {problem}"))?;
        let near_event = (i + 2) % event < 3;
        if near_event || i % 4099 == 0 || i + 1 == rows {
            pair.same_model().map_err(|problem| format!("after row {i}: {problem}"))?;
        }
    }
    Ok(())
}

fn all_follow(recipes: &[Recipe], kinds: &[LossKind], shape: Shape, rows: usize, event: usize) {
    for &kind in kinds {
        let batch = stream(shape, kind);
        for recipe in recipes {
            let result = follow(recipe, kind, &batch, shape.features, rows, event);
            assert_eq!(result, Ok(()), "{} loss, {recipe:?}", kind.name());
        }
    }
}

#[test]
fn means_are_exact_across_sweeps() {
    let shape = Shape { rows: 3 * SWEEP + 500, features: 20, longest: 4, seed: 21 };
    all_follow(&with_means(), &[LossKind::Logistic, LossKind::Squared], shape, shape.rows, SWEEP);
}

#[test]
fn means_continue_after_a_stop_at_a_sweep() {
    let shape = Shape { rows: SWEEP + 300, features: 20, longest: 4, seed: 22 };
    let batch = stream(shape, LossKind::Logistic);
    for recipe in with_means() {
        let mut whole = fresh(&recipe, LossKind::Logistic);
        learn(&mut whole, &batch, 0..shape.rows);
        for cut in [SWEEP - 1, SWEEP, SWEEP + 1] {
            let mut first = fresh(&recipe, LossKind::Logistic);
            learn(&mut first, &batch, 0..cut);
            let (mut state, mut second) = (Default::default(), fresh(&recipe, LossKind::Logistic));
            first.save(&mut state);
            second.load(&mut state).unwrap();
            learn(&mut second, &batch, cut..shape.rows);
            assert!(bits(&second) == bits(&whole), "split at {cut}: {recipe:?}");
        }
    }
}

#[test]
fn the_ball_is_exact_after_its_keys_are_recomputed() {
    let ball = |rate, start| recipe(Method::SingleStage, rate, start).with("radius", 1.0);
    let recipes = [ball(ScheduleKind::Constant, 0.05), ball(ScheduleKind::InverseSqrt, 0.3)];
    let shape = Shape { rows: 2 * KEYS + 1000, features: 20, longest: 4, seed: 23 };
    all_follow(&recipes, &[LossKind::Logistic, LossKind::Squared], shape, shape.rows, KEYS);
}

#[test]
fn epochs_are_exact_after_their_keys_are_recomputed() {
    let epochs = Recipe::new(Method::TwoStage).with("radius", 1.0).with("learning-rate", 0.05);
    // One epoch longer than the life of its keys, and one that ends at the very step.
    let recipes =
        [epochs.clone().with("first-epoch-steps", 2.5 * KEYS as f64), epochs.with("first-epoch-steps", KEYS as f64)];
    let shape = Shape { rows: 2 * KEYS + 1000, features: 20, longest: 4, seed: 26 };
    all_follow(&recipes, &[LossKind::Logistic, LossKind::Squared], shape, shape.rows, KEYS);
}

#[test]
fn gravity_is_exact_after_its_clock_is_reset() {
    let recipes = [
        recipe(Method::TruncatedGradient, ScheduleKind::Constant, 0.03).with("l1", 0.02),
        recipe(Method::TruncatedGradient, ScheduleKind::Adagrad, 0.3).with("l1", 0.02).with("period", 3.0),
    ];
    let shape = Shape { rows: 1 << 16, features: 5, longest: 2, seed: 24 };
    all_follow(&recipes, &[LossKind::Logistic], shape, CLOCK + 500, CLOCK);
}

#[test]
fn the_elastic_net_is_exact_after_its_clock_is_reset() {
    // With one rate for each weight, only the number of steps resets the clock.
    let recipes = [recipe(Method::Fobos, ScheduleKind::Adagrad, 0.3).with("l1", 0.02).with("l2", 0.01)];
    let shape = Shape { rows: 1 << 16, features: 5, longest: 2, seed: 25 };
    all_follow(&recipes, &[LossKind::Logistic], shape, CLOCK + 500, CLOCK);
}
