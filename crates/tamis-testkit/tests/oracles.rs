//! The oracles on steps small enough to be computed by hand.
//!
//! Most use the rows (1, 0) → 1 and (1, 2) → 0 with squared loss, rate 0.1 and no intercept: the first gradient is
//! −2·(1, 0) and moves plain SGD to (0.2, 0); the second is 0.4·(1, 2) and moves it to (0.16, −0.08).

use tamis::data::{Example, Row};
use tamis::loss::LossKind;
use tamis::recipe::{Method, Recipe, ScheduleKind};
use tamis_testkit::naive::{Oracle, oracle, unpenalised};

type Sample = ([f64; 2], f64);

const ROWS: [Sample; 2] = [([1.0, 0.0], 1.0), ([1.0, 2.0], 0.0)];

fn recipe(method: Method, rate: ScheduleKind, start: f64) -> Recipe {
    Recipe { intercept: false, ..Recipe::new(method) }.with("schedule", rate.name()).with("learning-rate", start)
}

fn constant(method: Method) -> Recipe {
    recipe(method, ScheduleKind::Constant, 0.1)
}

fn run(mut oracle: Box<dyn Oracle>, rows: &[Sample]) -> (Vec<f64>, Box<dyn Oracle>) {
    let mut margins = Vec::new();
    for (x, target) in rows {
        let row = Row { ids: &[0, 1], values: x };
        margins.push(oracle.learn(Example { row, target: *target, weight: 1.0 }));
    }
    (margins, oracle)
}

fn ends_at(recipe: Recipe, kind: LossKind, rows: &[Sample], expected: [f64; 2]) {
    let (_, oracle) = run(oracle(&recipe, kind.build(1.0), 2), rows);
    close(&oracle.weights(), &expected);
}

fn close(got: &[f64], expected: &[f64]) {
    let near = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-14);
    assert!(got.len() == expected.len() && near, "got {got:?}, expected {expected:?}");
}

#[test]
fn sgd_with_an_intercept() {
    let recipe = Recipe { intercept: true, ..constant(Method::Sgd) };
    let (margins, oracle) = run(oracle(&recipe, LossKind::Squared.build(1.0), 2), &ROWS);
    close(&margins, &[0.0, 0.4]);
    close(&oracle.weights(), &[0.12, -0.16]);
    close(&[oracle.bias()], &[0.12]);
}

#[test]
fn importance_multiplies_the_gradient() {
    let mut oracle = oracle(&constant(Method::Sgd), LossKind::Squared.build(1.0), 2);
    let row = Row { ids: &[1], values: &[1.0] };
    oracle.learn(Example { row, target: 1.0, weight: 3.0 });
    close(&oracle.weights(), &[0.0, 0.6]);
}

#[test]
fn rates() {
    let at = |rate, start, expected| ends_at(recipe(Method::Sgd, rate, start), LossKind::Squared, &ROWS, expected);
    at(ScheduleKind::Constant, 0.1, [0.16, -0.08]);
    let root = 2f64.sqrt();
    at(ScheduleKind::InverseSqrt, 0.1, [0.2 - 0.04 / root, -0.08 / root]);
    at(ScheduleKind::Inverse, 0.1, [0.18, -0.04]);
    let eta = 0.1 / 2f64.powf(0.3);
    let power = recipe(Method::Sgd, ScheduleKind::Power, 0.1).with("power", 0.3);
    ends_at(power, LossKind::Squared, &ROWS, [0.2 - 0.4 * eta, -0.8 * eta]);
    // Σg² = 4, then 4 + 1 and 2².
    at(ScheduleKind::Adagrad, 0.5, [0.5 - 0.5 / 5f64.sqrt(), -0.5]);
    // ‖x/s‖² = 1 + 1, then 1 + 1 + 1 (the intercept's 1 always counts); s = (1, 2).
    let first = 1.0 / 8f64.sqrt();
    at(ScheduleKind::Auto, 0.5, [first - 0.5 / 9.5f64.sqrt() * 2.0 * first, -1.0 / 48f64.sqrt()]);
}

#[test]
fn means_count_the_zero_model() {
    let recipe = constant(Method::Sgd).with("average", true);
    let (margins, oracle) = run(oracle(&recipe, LossKind::Squared.build(1.0), 2), &ROWS);
    close(&margins, &[0.0, 0.1]);
    close(&oracle.weights(), &[0.12, -0.08 / 3.0]);
}

#[test]
fn truncated_gradient() {
    let pulled = constant(Method::TruncatedGradient).with("l1", 0.5);
    ends_at(pulled.clone(), LossKind::Squared, &ROWS, [0.07, -0.01]);
    // One event after both steps: 0.5·(0.1 + 0.1); 0.16 is beyond the threshold.
    let late = pulled.with("period", 2.0).with("threshold", 0.15);
    ends_at(late, LossKind::Squared, &ROWS, [0.16, 0.0]);
    // Rates 0.5/√5 and 0.5/2 at the event, each counted twice.
    let own = recipe(Method::TruncatedGradient, ScheduleKind::Adagrad, 0.5).with("l1", 0.5).with("period", 2.0);
    ends_at(own, LossKind::Squared, &ROWS, [0.5 - 1.0 / 5f64.sqrt(), -0.25]);
}

#[test]
fn rounding() {
    let every_second = constant(Method::Rounding).with("threshold", 0.1).with("period", 2.0);
    ends_at(every_second, LossKind::Squared, &ROWS, [0.16, 0.0]);
}

#[test]
fn fobos_as_an_elastic_net() {
    // (0.2 − 0.05)/2 = 0.075, then (0.06 − 0.05)/2 and a shrinkage of 0.05 on −0.03.
    let net = constant(Method::Fobos).with("l1", 0.5).with("l2", 10.0);
    ends_at(net, LossKind::Squared, &ROWS, [0.005, 0.0]);
}

#[test]
fn rda_as_an_elastic_net() {
    let net = Recipe { intercept: false, ..Recipe::new(Method::Rda) };
    let net = net.with("l1", 0.1).with("rda-rho", 0.05).with("gamma", 2.0).with("l2", 0.5);
    ends_at(net.clone(), LossKind::Hinge, &[([1.0, 0.0], 1.0)], [0.8 / 2.5, 0.0]);
    // The mean gradient is then (0, 1).
    let root = 2f64.sqrt();
    let rows = [([1.0, 0.0], 1.0), ([1.0, 2.0], -1.0)];
    ends_at(net, LossKind::Hinge, &rows, [0.0, -(0.9 - 0.05 * root) / (0.5 + root)]);
}

#[test]
fn ftrl() {
    let recipe = Recipe { intercept: false, ..Recipe::new(Method::Ftrl) };
    let recipe = recipe.with("learning-rate", 0.5).with("l1", 0.25).with("l2", 1.0);
    ends_at(recipe.clone(), LossKind::Hinge, &[([2.0, 0.0], 1.0)], [0.25, 0.0]);
    // z = −2 + 1 − (√5 − 2)/0.5·0.25 = −√5/2, n = 5; and z = n = 1.
    let root = 5f64.sqrt();
    let rows = [([2.0, 0.0], 1.0), ([1.0, 1.0], -1.0)];
    ends_at(recipe, LossKind::Hinge, &rows, [(0.5 * root - 0.25) / (3.0 + 2.0 * root), -0.15]);
}

#[test]
fn tsgd_keeps_the_largest_and_the_first_of_ties() {
    let one = Recipe { k: Some(1), ..constant(Method::Tsgd) };
    ends_at(one.clone(), LossKind::Squared, &ROWS, [0.16, 0.0]);
    ends_at(one, LossKind::Squared, &[([-1.0, 1.0], 1.0)], [-0.2, 0.0]);
}

#[test]
fn fofs() {
    let recipe = Recipe { k: Some(1), ..recipe(Method::Fofs, ScheduleKind::Constant, 0.5) }.with("fofs-lambda", 0.25);
    // 3 is projected to the radius 2; a correct prediction changes nothing, not even by decay.
    let mut rows = vec![([6.0, 0.0], 1.0), ([1.0, 1.0], 1.0)];
    ends_at(recipe.clone(), LossKind::Hinge, &rows, [2.0, 0.0]);
    // (0.875·2 − 0.5, −2) = (1.25, −2), scaled to length 2, then the larger.
    rows.push(([1.0, 4.0], -1.0));
    ends_at(recipe, LossKind::Hinge, &rows, [0.0, -4.0 / 5.5625f64.sqrt()]);
}

#[test]
fn sofs() {
    let recipe = Recipe { k: Some(1), intercept: false, ..Recipe::new(Method::Sofs) };
    let rows = [([1.0, 0.0], 1.0), ([1.0, 2.0], 1.0)];
    ends_at(recipe.clone(), LossKind::Hinge, &rows[..1], [0.5, 0.0]);
    // ℓ = ½, xᵀΣx = ½ + 4; Σ becomes (⅓, ⅕): the second weight is more confident.
    ends_at(recipe.clone(), LossKind::Hinge, &rows, [0.0, 1.0 / 5.5]);
    let both = Recipe { k: Some(2), ..recipe };
    ends_at(both, LossKind::Hinge, &rows, [0.5 + 0.25 / 5.5, 1.0 / 5.5]);
}

#[test]
fn sadmm() {
    let recipe = recipe(Method::Sadmm, ScheduleKind::Constant, 0.5).with("l1", 0.1).with("admm-rho", 1.0);
    let rows = [([1.0, 0.0], 1.0), ([0.0, 1.0], 1.0)];
    ends_at(recipe.clone(), LossKind::Squared, &rows[..1], [2.0 / 3.0 - 0.1, 0.0]);
    // w = ((⅔ − 0.2) + 4/3)/3 = 0.6 and u = 0.1, so z = 0.6.
    ends_at(recipe, LossKind::Squared, &rows, [0.6, 2.0 / 3.0 - 0.1]);
}

#[test]
fn single_stage() {
    let recipe = recipe(Method::SingleStage, ScheduleKind::Constant, 0.5).with("radius", 2.0);
    // (3, −2) with τ = 1.5; then no error; then (1.5, 0.5), on the surface of the ball.
    let rows = [([3.0, -2.0], 1.0), ([1.0, 1.0], 1.0), ([0.0, 1.0], 0.5)];
    ends_at(recipe.clone(), LossKind::Squared, &rows[..1], [1.5, -0.5]);
    ends_at(recipe, LossKind::Squared, &rows, [1.5, 0.5]);
}

#[test]
fn two_stage() {
    let recipe = Recipe { intercept: false, ..Recipe::new(Method::TwoStage) };
    let recipe = recipe.with("learning-rate", 0.5).with("first-epoch-steps", 2.0).with("radius", 2.0);
    // w₁ = 0; w₂ = (3, −2) shrunk by 1.5; no error, so that the mean of the epoch is half of w₂.
    let rows = [([3.0, -2.0], 1.0), ([1.0, 1.0], 1.0), ([0.0, 4.0], 1.0), ([0.0, 0.0], 0.0)];
    ends_at(recipe.clone(), LossKind::Squared, &rows[..2], [0.75, -0.25]);
    // Epoch 2, η = ¼, ρ = √2: the slope −4 moves −0.25 to 3.75, and the projection gives −0.25 + √2. The mean of the
    // centre, of that, and of two later steps at the centre.
    ends_at(recipe.clone(), LossKind::Squared, &rows, [0.75, -0.25 + 2f64.sqrt() / 4.0]);
    // Epoch 2 begins at (1, 0). Its step ends where both balls bind: (2 − s, s) with (1 − s)² + s² = 2.
    let rows = [([3.0, 1.0], 1.0), ([0.0, 0.0], 0.0), ([0.0, 4.0], 3.5), ([0.0, 0.0], 0.0)];
    let s = (1.0 + 3f64.sqrt()) / 2.0;
    ends_at(recipe, LossKind::Squared, &rows, [(3.0 + 2.0 - s) / 4.0, s / 4.0]);
}

#[test]
fn closed_forms_without_penalty() {
    let ends = |recipe: Recipe, kind: LossKind, rows: &[Sample], expected: [f64; 2]| {
        let form = unpenalised(&recipe, kind.build(1.0), 2).expect("a closed form");
        close(&run(form, rows).1.weights(), &expected);
    };
    let plain = |method| Recipe { intercept: false, ..Recipe::new(method) };
    let root = 2f64.sqrt();
    ends(plain(Method::Rda), LossKind::Hinge, &[([1.0, 0.0], 1.0), ([1.0, 2.0], -1.0)], [0.0, -1.0 / root]);
    let descent = [1.0 / 3.0 - 0.5 / (1.0 + 5f64.sqrt()), -0.25];
    let ftrl = plain(Method::Ftrl).with("learning-rate", 0.5);
    ends(ftrl, LossKind::Hinge, &[([2.0, 0.0], 1.0), ([1.0, 1.0], -1.0)], descent);
    let sadmm = recipe(Method::Sadmm, ScheduleKind::Constant, 0.5);
    ends(sadmm, LossKind::Squared, &[([1.0, 0.0], 1.0), ([0.0, 1.0], 1.0)], [2.0 / 3.0, 2.0 / 3.0]);
    let free = plain(Method::TwoStage).with("learning-rate", 0.1).with("first-epoch-steps", 2.0);
    ends(free.clone(), LossKind::Squared, &ROWS, [0.1, 0.0]);
    let arow = [0.5 + 0.25 / 5.5, 1.0 / 5.5];
    ends(plain(Method::Sofs), LossKind::Hinge, &[([1.0, 0.0], 1.0), ([1.0, 2.0], 1.0)], arow);
    assert!(unpenalised(&plain(Method::Fobos), LossKind::Hinge.build(1.0), 2).is_none(), "it is plain SGD");
}
