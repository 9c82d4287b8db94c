//! Any learner of the library, so that one contract suite covers all of them: the online learners, and the first stage
//! of `two-stage`.

use tamis::data::{Example, FeatureId, Row, State, StateError};
use tamis::learners::{AnyLearner, Learner, Step};
use tamis::loss::AnyLoss;
use tamis::recipe::{Method, Recipe};
use tamis::two_stage::EpochSgd;

/// A learner under test.
#[derive(Clone, Debug)]
pub enum TestLearner {
    /// An online learner.
    Online(AnyLearner),
    /// The first stage of `two-stage`.
    Epochs(EpochSgd),
}

impl TestLearner {
    /// The learner of a recipe.
    pub fn new(recipe: &Recipe, loss: AnyLoss) -> Self {
        match recipe.method.kind() {
            Method::TwoStage => TestLearner::Epochs(EpochSgd::for_recipe(recipe, loss)),
            _ => TestLearner::Online(AnyLearner::new(recipe, loss)),
        }
    }
}

macro_rules! each {
    ($self:ident, $learner:ident => $call:expr) => {
        match $self {
            TestLearner::Online($learner) => $call,
            TestLearner::Epochs($learner) => $call,
        }
    };
}

impl Learner for TestLearner {
    fn margin(&self, row: Row<'_>) -> f64 {
        each!(self, learner => learner.margin(row))
    }
    fn learn(&mut self, example: Example<'_>) -> Step {
        each!(self, learner => learner.learn(example))
    }
    fn learn_all<'a>(&mut self, examples: impl Iterator<Item = Example<'a>>, seen: impl FnMut(Example<'a>, Step)) {
        each!(self, learner => learner.learn_all(examples, seen))
    }
    fn fetch(&self, ids: &[FeatureId]) {
        each!(self, learner => learner.fetch(ids))
    }
    fn weight(&self, id: FeatureId) -> f64 {
        each!(self, learner => learner.weight(id))
    }
    fn bias(&self) -> f64 {
        each!(self, learner => learner.bias())
    }
    fn span(&self) -> usize {
        each!(self, learner => learner.span())
    }
    fn is_idle(&self, id: FeatureId) -> bool {
        each!(self, learner => learner.is_idle(id))
    }
    fn forget(&mut self, id: FeatureId) {
        each!(self, learner => learner.forget(id))
    }
    fn bytes(&self) -> usize {
        each!(self, learner => learner.bytes())
    }
    fn save(&self, state: &mut State) {
        each!(self, learner => learner.save(state))
    }
    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        each!(self, learner => learner.load(state))
    }
}
