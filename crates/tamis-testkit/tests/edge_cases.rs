//! Inputs at the limits of floating-point numbers, where an optimisation may fail.

use tamis::data::{Example, Row};
use tamis::learners::Learner;
use tamis::loss::LossKind;
use tamis::recipe::{Family, Method, Recipe, ScheduleKind};
use tamis_testkit::contract::fresh;
use tamis_testkit::learner::TestLearner;

fn learn(learner: &mut TestLearner, ids: &[u32], values: &[f64], target: f64) {
    learner.learn(Example { row: Row { ids, values }, target, weight: 1.0 });
}

fn without_intercept(method: Method, rate: ScheduleKind) -> Recipe {
    Recipe { intercept: false, ..Recipe::new(method) }.with("schedule", rate.name())
}

fn counted(learner: &TestLearner) -> usize {
    (0..learner.span() as u32).filter(|&id| learner.weight(id) != 0.0).count()
}

#[test]
fn a_weight_below_the_rounding_of_the_threshold_is_not_counted() {
    let recipe = without_intercept(Method::SingleStage, ScheduleKind::Constant);
    let mut ball = fresh(&recipe.with("radius", 1.0).with("learning-rate", 0.5), LossKind::Squared);
    // The threshold of the ball rises to 3, then the large weight leaves the surface while a tiny one is added.
    learn(&mut ball, &[0], &[1.0], 4.0);
    learn(&mut ball, &[0, 1], &[1.0, 1e-20], 0.5);
    assert_eq!((ball.nonzeros(), counted(&ball)), (1, 1));
}

#[test]
fn a_feature_with_a_weight_is_not_idle() {
    // The squares of the tiny values vanish beside 1; the weights do not.
    for method in Method::ALL.into_iter().filter(|method| method.info().family != Family::Staged) {
        let recipe = Recipe { k: method.info().keeps_k.then_some(5), ..Recipe::new(method) };
        let recipe = if method.has("l1") { recipe.with("l1", 0.0) } else { recipe };
        let mut learner = fresh(&recipe, LossKind::Hinge);
        for _ in 0..3 {
            learn(&mut learner, &[0, 1], &[0.1, 1e-10], 1.0);
        }
        assert!(learner.weight(1) != 0.0, "{}", method.name());
        assert!(!learner.is_idle(1), "{} would forget a weight", method.name());
    }
}

#[test]
fn a_mean_survives_a_huge_step_size() {
    // Feature 1 first occurs in a row whose slope is nearly zero: the factor of adagrad is then nearly infinite, and
    // the mean of the weight until the next truncation must not be affected.
    let recipe = without_intercept(Method::TruncatedGradient, ScheduleKind::Adagrad).with("average", true);
    let recipe = recipe.with("l1", 0.01).with("period", 7.0).with("learning-rate", 1.0);
    let mut learner = fresh(&recipe, LossKind::Logistic);
    for _ in 0..40 {
        learn(&mut learner, &[0], &[1.0], 1.0);
    }
    learn(&mut learner, &[0, 1], &[40.0, 1.0], 1.0);
    let sum = learner.weight(1) * 42.0;
    assert!((sum - 1.0).abs() < 1e-12, "the first step of adagrad is its rate, 1; got {sum}");
    learn(&mut learner, &[0], &[1.0], 1.0);
    let sum = learner.weight(1) * 43.0;
    assert!((sum - 1.0).abs() < 1e-12, "the truncation after step 42 adds a zero; got {sum}");
}
