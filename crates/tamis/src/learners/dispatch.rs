//! Dispatch from a recipe to a learner: one match at the outside, static calls inside.

use super::baselines::{ProjectedSgd, StochasticAdmm, TopKArow, TopKSgd};
use super::{DualAveraging, Ftrl, LazySgd, Learner, Step};
use crate::data::{Example, FeatureId, Row, State, StateError};
use crate::loss::AnyLoss;
use crate::prox::{ElasticNetProx, FREE, NoProx, Rounding, SignBounds, TruncatedL1};
use crate::recipe::{MethodParams, Recipe, ScheduleKind, Sign, Signs, Steps};
use crate::step_size::{AdaptiveStep, Schedule};

/// Declares [`AnyLearner`] from a list of learners.
macro_rules! learners {
    ($($Arm:ident($Learner:ty),)*) => {
        /// One of the learners.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "each arm is named for the learner it holds")]
        pub enum AnyLearner { $($Arm($Learner),)* }

        impl Learner for AnyLearner {
            fn margin(&self, row: Row<'_>) -> f64 {
                match self { $(AnyLearner::$Arm(learner) => learner.margin(row),)* }
            }
            fn learn(&mut self, example: Example<'_>) -> Step {
                match self { $(AnyLearner::$Arm(learner) => learner.learn(example),)* }
            }
            /// Dispatches once for many examples, so that the loop is static.
            fn learn_all<'a>(&mut self, examples: impl Iterator<Item = Example<'a>>, seen: impl FnMut(Example<'a>, Step)) {
                match self { $(AnyLearner::$Arm(learner) => learner.learn_all(examples, seen),)* }
            }
            fn reserve(&mut self, features: usize) {
                match self { $(AnyLearner::$Arm(learner) => learner.reserve(features),)* }
            }
            fn weight(&self, id: FeatureId) -> f64 {
                match self { $(AnyLearner::$Arm(learner) => learner.weight(id),)* }
            }
            fn bias(&self) -> f64 {
                match self { $(AnyLearner::$Arm(learner) => learner.bias(),)* }
            }
            fn span(&self) -> usize {
                match self { $(AnyLearner::$Arm(learner) => learner.span(),)* }
            }
            fn is_idle(&self, id: FeatureId) -> bool {
                match self { $(AnyLearner::$Arm(learner) => learner.is_idle(id),)* }
            }
            fn forget(&mut self, id: FeatureId) {
                match self { $(AnyLearner::$Arm(learner) => learner.forget(id),)* }
            }
            fn bytes(&self) -> usize {
                match self { $(AnyLearner::$Arm(learner) => learner.bytes(),)* }
            }
            fn save(&self, state: &mut State) {
                match self { $(AnyLearner::$Arm(learner) => learner.save(state),)* }
            }
            fn load(&mut self, state: &mut State) -> Result<(), StateError> {
                match self { $(AnyLearner::$Arm(learner) => learner.load(state),)* }
            }
            fn each_weight(&self, show: impl FnMut(FeatureId, f64)) {
                match self { $(AnyLearner::$Arm(learner) => learner.each_weight(show),)* }
            }
            fn each_nonzero(&self, show: impl FnMut(FeatureId, f64)) {
                match self { $(AnyLearner::$Arm(learner) => learner.each_nonzero(show),)* }
            }
            fn nonzeros(&self) -> usize {
                match self { $(AnyLearner::$Arm(learner) => learner.nonzeros(),)* }
            }
        }
    };
}

learners! {
    Sgd(LazySgd<NoProx, Schedule>),
    SgdAdaptive(LazySgd<NoProx, AdaptiveStep>),
    TruncatedL1(LazySgd<TruncatedL1, Schedule>),
    GravityAdaptive(LazySgd<TruncatedL1, AdaptiveStep>),
    Rounding(LazySgd<Rounding, Schedule>),
    RoundingAdaptive(LazySgd<Rounding, AdaptiveStep>),
    ElasticNetProx(LazySgd<ElasticNetProx, Schedule>),
    ElasticAdaptive(LazySgd<ElasticNetProx, AdaptiveStep>),
    DualAveraging(DualAveraging),
    Ftrl(Ftrl),
    TopKSgd(TopKSgd),
    TopKArow(TopKArow),
    StochasticAdmm(StochasticAdmm),
    ProjectedSgd(ProjectedSgd),
}

/// The proximal operator after each gradient step.
enum Shrinkage {
    NoProx,
    TruncatedL1(TruncatedL1),
    Rounding(Rounding),
    ElasticNetProx(ElasticNetProx),
}

impl AnyLearner {
    /// The learner of a recipe. The recipe must have passed [`Recipe::check`]. Features whose sign is given by name have the
    /// first ids, in the order of [`Signs::names`].
    pub fn new(recipe: &Recipe, loss: AnyLoss) -> Self {
        let k = recipe.k.unwrap_or(usize::MAX);
        let (intercept, signs) = (recipe.intercept, sign_bounds(recipe.method.signs()));
        match &recipe.method {
            MethodParams::Stabilized(_)
            | MethodParams::StabilizedPublished(_)
            | MethodParams::TwoStage(_)
            | MethodParams::Kernel(_) => {
                panic!("{} is not an online learner", recipe.method.name())
            }
            MethodParams::Sgd(params) => {
                Self::descent(loss, params.steps(), Shrinkage::NoProx, (intercept, params.average), signs)
            }
            MethodParams::TruncatedGradient(params) => {
                let gravity = TruncatedL1::new(params.l1(recipe.k), params.threshold(), params.period);
                Self::descent(loss, params.steps(), Shrinkage::TruncatedL1(gravity), (intercept, params.average), signs)
            }
            MethodParams::Rounding(params) => {
                let rounding = Rounding::new(params.threshold(), params.period);
                Self::descent(loss, params.steps(), Shrinkage::Rounding(rounding), (intercept, params.average), signs)
            }
            MethodParams::Fobos(params) => {
                let (l1, l2) = (params.l1(recipe.k), params.l2);
                let shrinkage = if l2 > 0.0 {
                    Shrinkage::ElasticNetProx(ElasticNetProx::new(l1, l2, params.steps().schedule.is_adaptive()))
                } else {
                    Shrinkage::TruncatedL1(TruncatedL1::new(l1, f64::INFINITY, 1))
                };
                Self::descent(loss, params.steps(), shrinkage, (intercept, params.average), signs)
            }
            MethodParams::Rda(params) => {
                let (l1, gamma) = (params.l1(recipe.k), params.gamma());
                let learner = DualAveraging::new(loss, l1, params.l2, gamma, params.rda_rho, intercept);
                Self::DualAveraging(learner.bounded(signs))
            }
            MethodParams::Ftrl(params) => {
                let (alpha, l1) = (params.learning_rate(), params.l1(recipe.k));
                let learner = Ftrl::new(loss, alpha, params.beta, l1, params.l2, intercept, params.average);
                Self::Ftrl(learner.bounded(signs))
            }
            MethodParams::Tsgd(params) => {
                Self::TopKSgd(TopKSgd::new(loss, schedule(params.steps()), None, k, intercept))
            }
            MethodParams::Fofs(params) => {
                let (schedule, lambda) = (schedule(params.steps()), Some(params.fofs_lambda));
                Self::TopKSgd(TopKSgd::new(loss, schedule, lambda, k, intercept))
            }
            MethodParams::Sofs(params) => Self::TopKArow(TopKArow::new(loss, params.sofs_r, k, intercept)),
            MethodParams::Sadmm(params) => {
                let (schedule, l1) = (schedule(params.steps()), params.l1(recipe.k));
                Self::StochasticAdmm(StochasticAdmm::new(loss, schedule, l1, params.admm_rho, intercept))
            }
            MethodParams::SingleStage(params) => {
                Self::ProjectedSgd(ProjectedSgd::new(loss, schedule(params.steps()), params.radius(), intercept))
            }
        }
    }

    fn descent(
        loss: AnyLoss,
        steps: Steps,
        shrinkage: Shrinkage,
        (intercept, average): (bool, bool),
        signs: SignBounds,
    ) -> Self {
        macro_rules! made {
            ($shrink:expr, $Scheduled:ident, $PerWeight:ident) => {
                if steps.schedule.is_adaptive() {
                    let scale_free = steps.schedule == ScheduleKind::Auto;
                    let rate = AdaptiveStep { start: steps.learning_rate, scale_free };
                    Self::$PerWeight(LazySgd::new(loss, rate, $shrink, intercept, average).bounded(signs))
                } else {
                    Self::$Scheduled(LazySgd::new(loss, schedule(steps), $shrink, intercept, average).bounded(signs))
                }
            };
        }
        match shrinkage {
            Shrinkage::NoProx => made!(NoProx, Sgd, SgdAdaptive),
            Shrinkage::TruncatedL1(gravity) => made!(gravity, TruncatedL1, GravityAdaptive),
            Shrinkage::Rounding(rounding) => made!(rounding, Rounding, RoundingAdaptive),
            Shrinkage::ElasticNetProx(elastic) => made!(elastic, ElasticNetProx, ElasticAdaptive),
        }
    }
}

/// The bounds of weights by id.
fn sign_bounds(signs: Option<&Signs>) -> SignBounds {
    match signs {
        None => SignBounds::default(),
        Some(Signs::All(sign)) => SignBounds::new(Vec::new(), sign.bounds()),
        Some(Signs::Given(signs)) => SignBounds::new(signs.values().copied().map(Sign::bounds).collect(), FREE),
    }
}

/// A step size that is the same for all weights.
fn schedule(steps: Steps) -> Schedule {
    let power = match steps.schedule {
        ScheduleKind::Constant => 0.0,
        ScheduleKind::Inverse => 1.0,
        ScheduleKind::Power => steps.power,
        _ => 0.5,
    };
    Schedule { start: steps.learning_rate, power }
}
