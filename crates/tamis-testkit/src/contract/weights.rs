//! Laws 8, 9 and 10: the values of the weights.

use crate::learner::TestLearner;
use tamis::data::{Example, FeatureId};
use tamis::learners::Learner;
use tamis::loss::{Loss, LossKind};
use tamis::recipe::{MethodParams, Recipe};

use super::{Case, CheckResult, LONG, SHORT, ensure, fresh, learn, loss, near, weights};
use crate::generators::{Shape, stream};
use crate::naive::{Oracle, oracle, unpenalised};

/// Law 10's tolerance, relative to 1 + |w|.
pub const TOLERANCE: f64 = 1e-9;

/// Two implementations of SGD may multiply in another order, no more.
const ROUNDING: f64 = 1e-12;

/// Law 8, first half: without a penalty a learner is plain SGD with the same schedule.
pub fn no_penalty(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(SHORT, kind);
    let (mut free, mut plain) = (fresh(&case.without_penalty(), kind), fresh(&case.plain_descent(), kind));
    let expected = learn(&mut plain, &batch, 0..batch.len());
    let got = learn(&mut free, &batch, 0..batch.len());
    for (i, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
        near(|| format!("margin of row {i}"), got, expected, ROUNDING)?;
    }
    let pairs = weights(&free, SHORT.features).into_iter().zip(weights(&plain, SHORT.features));
    pairs.enumerate().try_for_each(|(id, (got, expected))| near(|| format!("weight {id}"), got, expected, ROUNDING))
}

/// For learners that are not SGD: without a penalty they equal their closed form.
pub fn closed_form_without_penalty(case: &Case, kind: LossKind) -> CheckResult {
    let recipe = case.without_penalty();
    let recipe = if recipe.method.is_averaged() { recipe.with("average", false) } else { recipe };
    let naive = unpenalised(&recipe, loss(kind), SHORT.features).ok_or("there is no closed form to compare with")?;
    follow(fresh(&recipe, kind), naive, kind, SHORT)
}

/// Law 8, second half: a huge penalty makes all weights zero.
pub fn huge_penalty(case: &Case, kind: LossKind) -> CheckResult {
    let left = nonzeros_under_huge_penalty(case, kind);
    ensure(left == 0, || format!("{left} weights survive"))
}

/// For learners whose penalty is k: with k = 1 one feature has a weight.
pub fn exactly_one_feature(case: &Case, kind: LossKind) -> CheckResult {
    let left = nonzeros_under_huge_penalty(case, kind);
    ensure(left == 1, || format!("{left} weights with k = 1"))
}

/// For learners whose penalty is the radius of a ball: the weights are in the ball after every step, and their norm
/// reaches `share` of the radius.
pub fn stays_in_the_ball(case: &Case, kind: LossKind, share: f64) -> CheckResult {
    let batch = stream(SHORT, kind);
    let recipe = case.with_huge_penalty();
    let (mut learner, radius) = (fresh(&recipe, kind), radius_of(&recipe));
    let mut largest: f64 = 0.0;
    for (i, example) in batch.examples().enumerate() {
        learner.learn(example);
        let norm: f64 = weights(&learner, SHORT.features).iter().map(|weight| weight.abs()).sum();
        ensure(norm <= radius + ROUNDING, || format!("norm {norm:e} after row {i}, radius {radius:e}"))?;
        largest = largest.max(norm);
    }
    ensure(largest >= share * radius - ROUNDING, || format!("largest norm {largest:e}, radius {radius:e}"))
}

fn radius_of(recipe: &Recipe) -> f64 {
    match &recipe.method {
        MethodParams::SingleStage(params) => params.radius(),
        MethodParams::TwoStage(params) => params.radius(),
        other => panic!("{} has no radius", other.name()),
    }
}

fn nonzeros_under_huge_penalty(case: &Case, kind: LossKind) -> usize {
    let batch = stream(SHORT, kind);
    let mut learner = fresh(&case.with_huge_penalty(), kind);
    // A multiple of every period in the cases, so that the last step ends with a truncation.
    learn(&mut learner, &batch, 0..700);
    learner.nonzeros()
}

/// Law 9, first half: some weight that was not zero becomes exactly zero.
pub fn returns_to_zero(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(LONG, kind);
    let mut learner = fresh(&case.recipe, kind);
    let mut before = weights(&learner, LONG.features);
    let mut returned = 0;
    for example in batch.examples() {
        learner.learn(example);
        let now = weights(&learner, LONG.features);
        returned += before.iter().zip(&now).filter(|(before, now)| **before != 0.0 && **now == 0.0).count();
        before = now;
    }
    ensure(returned > 0, || "no weight ever returned to zero".into())
}

/// Law 9, second half: `nonzeros` is the number of features whose weight is not zero.
pub fn counts_nonzeros(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(SHORT, kind);
    let mut learner = fresh(&case.recipe, kind);
    let mut most = 0;
    for (i, example) in batch.examples().enumerate() {
        learner.learn(example);
        let counted = weights(&learner, SHORT.features).iter().filter(|weight| **weight != 0.0).count();
        let reported = learner.nonzeros();
        ensure(reported == counted, || format!("{reported} non-zeros reported, {counted} counted after row {i}"))?;
        most = most.max(reported);
    }
    ensure(most > 0, || "no weight ever left zero".into())
}

/// Law 10: weights, intercept and every margin equal those of the oracle.
pub fn fast_equals_naive(case: &Case, kind: LossKind) -> CheckResult {
    compare(&case.recipe, &case.recipe, kind, LONG)
}

/// Compares the learner of one recipe with the oracle of another. The recipes are the same for the law; they differ
/// when the check itself is tested.
pub fn compare(fast: &Recipe, naive: &Recipe, kind: LossKind, shape: Shape) -> CheckResult {
    follow(fresh(fast, kind), oracle(naive, loss(kind), shape.features), kind, shape)
}

fn follow(fast: TestLearner, naive: Box<dyn Oracle>, kind: LossKind, shape: Shape) -> CheckResult {
    let batch = stream(shape, kind);
    let mut pair = Pair { fast, naive, kind };
    for (i, example) in batch.examples().enumerate() {
        pair.learn(example).map_err(|problem| format!("row {i}: {problem}"))?;
        if i % 50 == 0 || i + 1 == batch.len() {
            pair.same_model().map_err(|problem| format!("after row {i}: {problem}"))?;
        }
    }
    Ok(())
}

/// A learner and its oracle on the same stream.
pub struct Pair {
    fast: TestLearner,
    naive: Box<dyn Oracle>,
    kind: LossKind,
}

impl Pair {
    /// The learner of a recipe and the oracle of the same recipe over `features` features.
    pub fn new(recipe: &Recipe, kind: LossKind, features: usize) -> Self {
        Pair { fast: fresh(recipe, kind), naive: oracle(recipe, loss(kind), features), kind }
    }

    /// Both learn an example; an error if their margins differ, or if the loss is not that of the margin.
    pub fn learn(&mut self, example: Example<'_>) -> CheckResult {
        let (step, expected) = (self.fast.learn(example), self.naive.learn(example));
        near(|| "margin".into(), step.margin, expected, TOLERANCE)?;
        let cost = loss(self.kind).value(step.margin, example.target) * example.weight;
        ensure(step.loss == cost, || format!("loss: reported {:e}, is {cost:e}", step.loss))
    }

    /// An error if the models differ.
    pub fn same_model(&self) -> CheckResult {
        near(|| "bias".into(), self.fast.bias(), self.naive.bias(), TOLERANCE)?;
        for (id, expected) in self.naive.weights().into_iter().enumerate() {
            near(|| format!("weight {id}"), self.fast.weight(id as FeatureId), expected, TOLERANCE)?;
        }
        Ok(())
    }
}
