//! Any learner, made from a recipe: one choice at the door, static calls inside.

use super::{Admm, Ball, Descent, DualAveraging, Ftrl, KeepLargest, Learner, SecondOrder, Step};
use crate::data::{Example, FeatureId, Row, State, StateError};
use crate::loss::AnyLoss;
use crate::rate::{Adaptive, Schedule};
use crate::recipe::{Method, RateKind, Recipe};
use crate::shrink::{Elastic, Gravity, Nothing, Rounding};

/// One of the learners.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each arm is named for the learner it holds")]
pub enum AnyLearner {
    Sgd(Descent<Nothing, Schedule>),
    SgdAdaptive(Descent<Nothing, Adaptive>),
    Gravity(Descent<Gravity, Schedule>),
    GravityAdaptive(Descent<Gravity, Adaptive>),
    Rounding(Descent<Rounding, Schedule>),
    RoundingAdaptive(Descent<Rounding, Adaptive>),
    Elastic(Descent<Elastic, Schedule>),
    ElasticAdaptive(Descent<Elastic, Adaptive>),
    DualAveraging(DualAveraging),
    Ftrl(Ftrl),
    KeepLargest(KeepLargest),
    SecondOrder(SecondOrder),
    Admm(Admm),
    Ball(Ball),
}

/// Either kind of rate.
enum AnyRate {
    Schedule(Schedule),
    Adaptive(Adaptive),
}

impl AnyLearner {
    /// The learner a recipe asks for. The recipe must have passed [`Recipe::check`].
    pub fn new(recipe: &Recipe, loss: AnyLoss) -> Self {
        let number = |name| recipe.number(name);
        let (penalty, l2, rho) = (number("penalty"), number("l2"), number("rho"));
        let k = recipe.k.unwrap_or(usize::MAX);
        let intercept = recipe.intercept;
        match recipe.method {
            Method::Stabilized | Method::TwoStage => panic!("not an online learner"),
            Method::Sgd | Method::TruncatedGradient | Method::Rounding | Method::Fobos => Self::descent(recipe, loss),
            Method::Rda => Self::DualAveraging(DualAveraging::new(loss, penalty, l2, number("gamma"), rho, intercept)),
            Method::Ftrl => {
                let (alpha, beta) = (number("learning-rate"), number("beta"));
                Self::Ftrl(Ftrl::new(loss, alpha, beta, penalty, l2, intercept, recipe.average))
            }
            Method::Tsgd => Self::KeepLargest(KeepLargest::new(loss, schedule(recipe), None, k, intercept)),
            Method::Fofs => {
                let decay = Some(number("decay"));
                Self::KeepLargest(KeepLargest::new(loss, schedule(recipe), decay, k, intercept))
            }
            Method::Sofs => Self::SecondOrder(SecondOrder::new(loss, number("spread"), k, intercept)),
            Method::Sadmm => Self::Admm(Admm::new(loss, schedule(recipe), penalty, rho, intercept)),
            Method::SingleStage => Self::Ball(Ball::new(loss, schedule(recipe), number("radius"), intercept)),
        }
    }

    fn descent(recipe: &Recipe, loss: AnyLoss) -> Self {
        let (intercept, average) = (recipe.intercept, recipe.average);
        let (penalty, l2) = (recipe.number("penalty"), recipe.number("l2"));
        let (threshold, period) = (recipe.number("threshold"), recipe.number("period") as u64);
        match (recipe.method, any_rate(recipe)) {
            (Method::Sgd, AnyRate::Schedule(rate)) => Self::Sgd(Descent::new(loss, rate, Nothing, intercept, average)),
            (Method::Sgd, AnyRate::Adaptive(rate)) => {
                Self::SgdAdaptive(Descent::new(loss, rate, Nothing, intercept, average))
            }
            (Method::Rounding, AnyRate::Schedule(rate)) => {
                Self::Rounding(Descent::new(loss, rate, Rounding::new(threshold, period), intercept, average))
            }
            (Method::Rounding, AnyRate::Adaptive(rate)) => {
                Self::RoundingAdaptive(Descent::new(loss, rate, Rounding::new(threshold, period), intercept, average))
            }
            (Method::Fobos, AnyRate::Schedule(rate)) if l2 > 0.0 => {
                Self::Elastic(Descent::new(loss, rate, Elastic::new(penalty, l2, false), intercept, average))
            }
            (Method::Fobos, AnyRate::Adaptive(rate)) if l2 > 0.0 => {
                Self::ElasticAdaptive(Descent::new(loss, rate, Elastic::new(penalty, l2, true), intercept, average))
            }
            (Method::Fobos, AnyRate::Schedule(rate)) => {
                Self::Gravity(Descent::new(loss, rate, Gravity::new(penalty, f64::INFINITY, 1), intercept, average))
            }
            (Method::Fobos, AnyRate::Adaptive(rate)) => {
                let gravity = Gravity::new(penalty, f64::INFINITY, 1);
                Self::GravityAdaptive(Descent::new(loss, rate, gravity, intercept, average))
            }
            (_, AnyRate::Schedule(rate)) => {
                Self::Gravity(Descent::new(loss, rate, Gravity::new(penalty, threshold, period), intercept, average))
            }
            (_, AnyRate::Adaptive(rate)) => {
                let gravity = Gravity::new(penalty, threshold, period);
                Self::GravityAdaptive(Descent::new(loss, rate, gravity, intercept, average))
            }
        }
    }
}

fn any_rate(recipe: &Recipe) -> AnyRate {
    match recipe.rate_kind() {
        RateKind::Auto => AnyRate::Adaptive(Adaptive { start: recipe.number("learning-rate"), scale_free: true }),
        RateKind::Adagrad => AnyRate::Adaptive(Adaptive { start: recipe.number("learning-rate"), scale_free: false }),
        _ => AnyRate::Schedule(schedule(recipe)),
    }
}

fn schedule(recipe: &Recipe) -> Schedule {
    let power = match recipe.rate_kind() {
        RateKind::Constant => 0.0,
        RateKind::Inverse => 1.0,
        RateKind::Power => recipe.number("power"),
        _ => 0.5,
    };
    Schedule { start: recipe.number("learning-rate"), power }
}

macro_rules! each_learner {
    ($self:ident, $learner:ident => $call:expr) => {
        match $self {
            AnyLearner::Sgd($learner) => $call,
            AnyLearner::SgdAdaptive($learner) => $call,
            AnyLearner::Gravity($learner) => $call,
            AnyLearner::GravityAdaptive($learner) => $call,
            AnyLearner::Rounding($learner) => $call,
            AnyLearner::RoundingAdaptive($learner) => $call,
            AnyLearner::Elastic($learner) => $call,
            AnyLearner::ElasticAdaptive($learner) => $call,
            AnyLearner::DualAveraging($learner) => $call,
            AnyLearner::Ftrl($learner) => $call,
            AnyLearner::KeepLargest($learner) => $call,
            AnyLearner::SecondOrder($learner) => $call,
            AnyLearner::Admm($learner) => $call,
            AnyLearner::Ball($learner) => $call,
        }
    };
}

impl Learner for AnyLearner {
    fn margin(&self, row: Row<'_>) -> f64 {
        each_learner!(self, learner => learner.margin(row))
    }
    fn learn(&mut self, example: Example<'_>) -> Step {
        each_learner!(self, learner => learner.learn(example))
    }
    /// One choice of learner for many examples: the loop itself is static.
    fn learn_all<'a>(&mut self, examples: impl Iterator<Item = Example<'a>>, seen: impl FnMut(Example<'a>, Step)) {
        each_learner!(self, learner => learner.learn_all(examples, seen))
    }
    fn weight(&self, id: FeatureId) -> f64 {
        each_learner!(self, learner => learner.weight(id))
    }
    fn bias(&self) -> f64 {
        each_learner!(self, learner => learner.bias())
    }
    fn span(&self) -> usize {
        each_learner!(self, learner => learner.span())
    }
    fn is_idle(&self, id: FeatureId) -> bool {
        each_learner!(self, learner => learner.is_idle(id))
    }
    fn forget(&mut self, id: FeatureId) {
        each_learner!(self, learner => learner.forget(id))
    }
    fn bytes(&self) -> usize {
        each_learner!(self, learner => learner.bytes())
    }
    fn save(&self, state: &mut State) {
        each_learner!(self, learner => learner.save(state))
    }
    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        each_learner!(self, learner => learner.load(state))
    }
    fn each_weight(&self, show: impl FnMut(FeatureId, f64)) {
        each_learner!(self, learner => learner.each_weight(show))
    }
    fn nonzeros(&self) -> usize {
        each_learner!(self, learner => learner.nonzeros())
    }
}
