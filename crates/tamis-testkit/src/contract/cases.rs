//! The recipes that every law is checked on: every method, every schedule it allows, and extreme parameters.

use tamis::loss::{AnyLoss, LossKind};
use tamis::recipe::{Method, MethodParams, Recipe, ScheduleKind, SgdParams};

use crate::generators::HUBER;

/// A recipe with a name of several words: the method, the schedule, then the special parameters.
#[derive(Clone, Debug)]
pub struct Case {
    /// Unique among the cases.
    pub name: String,
    /// What is learned.
    pub recipe: Recipe,
}

impl Case {
    /// Whether the name has every word of `words`.
    pub fn has(&self, words: &str) -> bool {
        words.split_whitespace().all(|word| self.name.split_whitespace().any(|own| own == word))
    }

    /// The recipe without a penalty and without signs, whatever the penalty of its method is.
    pub fn without_penalty(&self) -> Recipe {
        let recipe = without_signs(Recipe { k: None, ..self.recipe.clone() });
        match recipe.method.kind() {
            Method::Sgd => recipe,
            Method::Rounding => recipe.with("threshold", 0.0),
            Method::Fobos | Method::Ftrl => recipe.with("l1", 0.0).with("l2", 0.0),
            Method::Rda => recipe.with("l1", 0.0).with("l2", 0.0).with("rda-rho", 0.0),
            Method::TruncatedGradient | Method::Sadmm => recipe.with("l1", 0.0),
            Method::Tsgd | Method::Sofs => recipe,
            // A decay so small that 1 − λη is 1 and the ball of radius 1/√λ is never left, and a rate that needs no
            // ball.
            Method::Fofs => {
                let start = first_step(recipe.method.steps().expect("a schedule").schedule);
                recipe.with("fofs-lambda", 1e-300).with("learning-rate", start)
            }
            Method::SingleStage | Method::TwoStage => recipe.with("radius", 1e300),
            Method::Stabilized | Method::StabilizedPublished | Method::Kernel => unreachable!("not an online learner"),
        }
    }

    /// The recipe with a penalty that makes all weights zero.
    pub fn with_huge_penalty(&self) -> Recipe {
        let recipe = self.recipe.clone();
        match recipe.method.kind() {
            Method::Sgd => recipe,
            Method::TruncatedGradient => recipe.with("l1", 1e9).with("threshold", f64::INFINITY),
            Method::Rounding => recipe.with("threshold", 1e9),
            Method::Fobos | Method::Rda | Method::Ftrl | Method::Sadmm => recipe.with("l1", 1e9),
            Method::Tsgd | Method::Fofs | Method::Sofs => Recipe { k: Some(1), ..recipe },
            Method::SingleStage | Method::TwoStage => recipe.with("radius", 1e-6),
            Method::Stabilized | Method::StabilizedPublished | Method::Kernel => unreachable!("not an online learner"),
        }
    }

    /// Plain SGD with the schedule of [`Case::without_penalty`].
    pub fn plain_descent(&self) -> Recipe {
        let recipe = self.without_penalty();
        // Methods with a schedule of their own are not plain SGD with any schedule.
        let steps = recipe.method.steps().unwrap_or_else(|| SgdParams::default().steps());
        let params = SgdParams {
            schedule: Some(steps.schedule),
            learning_rate: Some(steps.learning_rate),
            power: steps.power,
            average: recipe.method.is_averaged(),
            sign: None,
        };
        Recipe { method: params.into(), intercept: recipe.intercept, ..Recipe::default() }
    }
}

/// The recipe with free weights.
fn without_signs(mut recipe: Recipe) -> Recipe {
    match &mut recipe.method {
        MethodParams::Sgd(params) => params.sign = None,
        MethodParams::TruncatedGradient(params) => params.sign = None,
        MethodParams::Rounding(params) => params.sign = None,
        MethodParams::Fobos(params) => params.sign = None,
        MethodParams::Rda(params) => params.sign = None,
        MethodParams::Ftrl(params) => params.sign = None,
        _ => {}
    }
    recipe
}

/// The loss of a kind with the parameters that all tests use.
pub fn loss(kind: LossKind) -> AnyLoss {
    kind.build(HUBER)
}

const SCHEDULES: [ScheduleKind; 4] =
    [ScheduleKind::Constant, ScheduleKind::InverseSqrt, ScheduleKind::Inverse, ScheduleKind::Power];

/// A case from its method, its schedule if it has one, and changes by name: a parameter of the recipe, `k`, `average`,
/// `no-intercept`, `positive` (all weights), or `signs` (of the first three).
fn case(method: Method, rate: Option<ScheduleKind>, changes: &[(&str, f64)]) -> Case {
    let mut recipe = Recipe::new(method);
    let mut words = vec![method.name().to_string()];
    if let Some(rate) = rate {
        words.push(rate.name().into());
        recipe = recipe.with("schedule", rate.name()).with("learning-rate", first_step(rate)).with("power", 0.3);
    }
    for &(name, value) in changes {
        match name {
            "k" => recipe.k = Some(value as usize),
            "average" => recipe = recipe.with("average", true),
            "no-intercept" => recipe.intercept = false,
            "positive" => recipe = recipe.with("sign", "+"),
            "signs" => recipe = recipe.with("sign", "0=-,1=+,2=-"),
            _ => recipe = recipe.with(name, value),
        }
        words.push(if matches!(name, "average" | "no-intercept" | "positive" | "signs") {
            name.into()
        } else {
            format!("{name}={value}")
        });
    }
    Case { name: words.join(" "), recipe }
}

/// Initial steps small enough for the squared loss on rows of [`crate::generators`].
fn first_step(rate: ScheduleKind) -> f64 {
    match rate {
        ScheduleKind::Constant => 0.03,
        ScheduleKind::InverseSqrt | ScheduleKind::Power => 0.1,
        ScheduleKind::Inverse => 0.5,
        ScheduleKind::Auto | ScheduleKind::Adagrad => 0.3,
    }
}

/// Every case of the contract.
pub fn learners() -> Vec<Case> {
    let mut cases = Vec::new();
    descent(&mut cases);
    leaders(&mut cases);
    selectors(&mut cases);
    cases
}

/// `sgd`, `truncated-gradient`, `rounding`, `fobos`: a gradient step, then shrinkage.
fn descent(cases: &mut Vec<Case>) {
    use Method::{Fobos, Rounding, Sgd, TruncatedGradient};
    let mut add = |method, rate, changes: &[(&str, f64)]| cases.push(case(method, Some(rate), changes));
    let (penalty, average) = (("l1", 0.02), ("average", 1.0));
    let (late, within) = (("period", 10.0), ("threshold", 0.4));
    for rate in ScheduleKind::ALL {
        add(Sgd, rate, &[]);
        add(Sgd, rate, &[average]);
        add(TruncatedGradient, rate, &[penalty]);
        add(TruncatedGradient, rate, &[penalty, late, within]);
        add(TruncatedGradient, rate, &[penalty, average]);
        add(TruncatedGradient, rate, &[penalty, ("period", 7.0), within, average]);
        add(Rounding, rate, &[("threshold", 0.04), late]);
        add(Rounding, rate, &[("threshold", 0.04), late, average]);
        add(Fobos, rate, &[penalty]);
        add(Fobos, rate, &[penalty, average]);
        add(Fobos, rate, &[penalty, ("l2", 0.1)]);
        if SCHEDULES.contains(&rate) {
            add(Fobos, rate, &[penalty, ("l2", 0.1), average]);
        }
    }
    let (positive, signs) = (("positive", 1.0), ("signs", 1.0));
    for rate in [ScheduleKind::Auto, ScheduleKind::InverseSqrt] {
        add(Sgd, rate, &[average, positive]);
        add(TruncatedGradient, rate, &[penalty, signs]);
        add(TruncatedGradient, rate, &[penalty, ("period", 7.0), within, average, positive]);
        add(Rounding, rate, &[("threshold", 0.04), late, signs]);
        add(Fobos, rate, &[penalty, ("l2", 0.1), positive]);
    }
    add(Fobos, ScheduleKind::InverseSqrt, &[penalty, ("l2", 0.1), average, signs]);
    add(Sgd, ScheduleKind::Auto, &[("no-intercept", 1.0)]);
    add(TruncatedGradient, ScheduleKind::Constant, &[penalty, ("no-intercept", 1.0)]);
    add(Rounding, ScheduleKind::Adagrad, &[("threshold", 0.02)]);
    // A ridge so weak that 1/(1 + ηλ₂) is 1 to half of the digits.
    add(Fobos, ScheduleKind::Adagrad, &[penalty, ("l2", 1e-9)]);
    // A ridge so strong that the clock is reset every few dozen steps.
    add(Fobos, ScheduleKind::Constant, &[penalty, ("l2", 3.0)]);
    add(Fobos, ScheduleKind::Constant, &[penalty, ("l2", 3.0), average]);
}

/// `rda` and `ftrl`: weights are a function of gradient sums.
fn leaders(cases: &mut Vec<Case>) {
    let mut add = |method, changes: &[(&str, f64)]| cases.push(case(method, None, changes));
    let (small, average) = (("l1", 0.02), ("average", 1.0));
    add(Method::Rda, &[small]);
    add(Method::Rda, &[small, ("rda-rho", 0.05), ("gamma", 5.0)]);
    add(Method::Rda, &[small, ("l2", 0.1)]);
    add(Method::Rda, &[small, ("no-intercept", 1.0)]);
    add(Method::Ftrl, &[("l1", 1.0)]);
    add(Method::Ftrl, &[("l1", 2.0), ("l2", 1.0), ("learning-rate", 0.5)]);
    add(Method::Ftrl, &[("l1", 1.0), ("beta", 0.0), ("no-intercept", 1.0)]);
    add(Method::Ftrl, &[("l1", 1.0), average]);
    for sign in [("positive", 1.0), ("signs", 1.0)] {
        add(Method::Rda, &[small, ("l2", 0.1), sign]);
        add(Method::Ftrl, &[("l1", 1.0), sign]);
        add(Method::Ftrl, &[("l1", 1.0), average, sign]);
    }
}

/// `tsgd`, `fofs`, `sofs`, `sadmm`, `single-stage`, `two-stage`: select features, or project.
fn selectors(cases: &mut Vec<Case>) {
    for rate in SCHEDULES {
        cases.push(case(Method::Tsgd, Some(rate), &[("k", 8.0)]));
        cases.push(case(Method::Fofs, Some(rate), &[("k", 8.0)]));
        cases.push(case(Method::Sadmm, Some(rate), &[("l1", 0.02)]));
        cases.push(case(Method::SingleStage, Some(rate), &[("radius", 0.6)]));
    }
    cases.push(case(Method::Tsgd, Some(ScheduleKind::Constant), &[("k", 2.0), ("no-intercept", 1.0)]));
    // Decay and rate so large that the ball of radius 1/√λ is reached repeatedly.
    cases.push(case(
        Method::Fofs,
        Some(ScheduleKind::Constant),
        &[("k", 12.0), ("fofs-lambda", 0.9), ("learning-rate", 0.9)],
    ));
    cases.push(case(Method::Sadmm, Some(ScheduleKind::InverseSqrt), &[("l1", 0.05), ("admm-rho", 0.2)]));
    cases.push(case(Method::SingleStage, Some(ScheduleKind::Constant), &[("radius", 0.2), ("no-intercept", 1.0)]));
    // Epochs that end within the streams and are cut short at their end; the ℓ₁ ball binds.
    let steps = ("learning-rate", 0.2);
    cases.push(case(Method::TwoStage, None, &[("radius", 0.6), ("first-epoch-steps", 20.0), steps]));
    cases.push(case(
        Method::TwoStage,
        None,
        &[("radius", 0.3), ("first-epoch-steps", 100.0), steps, ("no-intercept", 1.0)],
    ));
    // Many short epochs with steps so large that the ℓ₂ ball binds, alone and with the other.
    cases.push(case(Method::TwoStage, None, &[("radius", 3.0), ("first-epoch-steps", 1.0), ("learning-rate", 2.0)]));
    cases.push(case(Method::Sofs, None, &[("k", 8.0)]));
    cases.push(case(Method::Sofs, None, &[("k", 3.0), ("sofs-r", 5.0), ("no-intercept", 1.0)]));
}
