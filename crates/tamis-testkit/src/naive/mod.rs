//! Literal versions of all learners: the weights are in one plain vector, and every step processes all of them.
//!
//! They are written from the formulas of the papers and share only the losses with the fast learners, so that an error
//! in an optimisation cannot be in both. They are slow on purpose: O(p) for each step, or worse.

pub mod distributed;
pub mod entry_order;
mod fobos;
mod fofs;
mod ftrl;
pub mod kernel;
mod linear_system;
mod mean;
pub mod moments;
mod published;
mod rates;
mod rda;
pub mod refine;
mod rounding;
mod sadmm;
pub mod score_test;
mod sgd;
mod single_stage;
mod sofs;
pub mod stabilized;
pub mod stepwise;
mod truncated_gradient;
mod tsgd;
mod two_stage;
mod unpenalised;

pub use published::{PublishedRun, PublishedStage, published};
pub use two_stage::project_l1_l2;
pub use unpenalised::unpenalised;

use tamis::data::{Example, Row};
use tamis::loss::{AnyLoss, Loss};
use tamis::recipe::{MethodParams, Recipe, Sign, Signs};

/// A learner that is slow and obviously correct.
pub trait Oracle {
    /// Predicts, then learns; returns the margin before the update.
    fn learn(&mut self, example: Example<'_>) -> f64;

    /// All weights of the current model.
    fn weights(&self) -> Vec<f64>;

    /// The intercept of the current model.
    fn bias(&self) -> f64;
}

/// The literal version of the learner of a recipe, over the features `0..p`.
pub fn oracle(recipe: &Recipe, loss: AnyLoss, p: usize) -> Box<dyn Oracle> {
    let signs = Signed::of(recipe.method.signs());
    let task = Task { loss, intercept: recipe.intercept, p, k: recipe.k, signs };
    let plain: Box<dyn Oracle> = match &recipe.method {
        MethodParams::Sgd(params) => Box::new(sgd::Sgd::new(task, params.steps())),
        MethodParams::TruncatedGradient(params) => Box::new(truncated_gradient::TruncatedGradient::new(task, params)),
        MethodParams::Rounding(params) => Box::new(rounding::Rounding::new(task, params)),
        MethodParams::Fobos(params) => Box::new(fobos::Fobos::new(task, params)),
        MethodParams::Rda(params) => Box::new(rda::Rda::new(task, params)),
        MethodParams::Ftrl(params) => Box::new(ftrl::Ftrl::new(task, params)),
        MethodParams::Tsgd(params) => Box::new(tsgd::Tsgd::new(task, params)),
        MethodParams::Fofs(params) => Box::new(fofs::Fofs::new(task, params)),
        MethodParams::Sofs(params) => Box::new(sofs::Sofs::new(task, params)),
        MethodParams::Sadmm(params) => Box::new(sadmm::Sadmm::new(task, params)),
        MethodParams::SingleStage(params) => Box::new(single_stage::SingleStage::new(task, params)),
        MethodParams::TwoStage(params) => Box::new(two_stage::TwoStage::new(task, params)),
        MethodParams::Kernel(_) => panic!("kernel is not learned row by row: its literal version is `naive::kernel`"),
        MethodParams::Stabilized(_) | MethodParams::StabilizedPublished(_) => {
            panic!("stabilized is not learned row by row: its literal version is `naive::stabilized`")
        }
    };
    if recipe.method.is_averaged() { Box::new(mean::Averaged::new(plain, p)) } else { plain }
}

/// The parameters of all learners: the loss, whether there is an intercept, the number of features and of those to
/// keep.
#[derive(Clone, Copy)]
struct Task {
    loss: AnyLoss,
    intercept: bool,
    p: usize,
    k: Option<usize>,
    signs: Signed,
}

/// The signs of the first features, and that of all others.
#[derive(Clone, Copy)]
struct Signed {
    first: [Option<Sign>; 3],
    others: Option<Sign>,
}

impl Signed {
    /// Up to three named features: they have the ids 0, 1 and 2.
    fn of(signs: Option<&Signs>) -> Signed {
        let mut signed = Signed { first: [None; 3], others: None };
        match signs {
            None => {}
            Some(Signs::All(sign)) => signed = Signed { first: [Some(*sign); 3], others: Some(*sign) },
            Some(Signs::Given(given)) => {
                assert!(given.len() <= 3, "the tests name three features");
                signed.first.iter_mut().zip(given.values()).for_each(|(place, sign)| *place = Some(*sign));
            }
        }
        signed
    }

    /// The point nearest to `w` that weight `j` may have.
    fn project(&self, j: usize, w: f64) -> f64 {
        match self.first.get(j).unwrap_or(&self.others) {
            Some(Sign::Plus) if w < 0.0 => 0.0,
            Some(Sign::Minus) if w > 0.0 => 0.0,
            _ => w,
        }
    }
}

impl Task {
    /// c·ℓ'(f, y).
    fn slope(&self, margin: f64, example: Example<'_>) -> f64 {
        self.loss.slope(margin, example.target) * example.weight
    }
}

/// The row as a dense vector.
fn dense(row: Row<'_>, p: usize) -> Vec<f64> {
    let mut x = vec![0.0; p];
    row.iter().for_each(|(id, value)| x[id as usize] = value);
    x
}

/// b + w·x.
fn margin(weights: &[f64], bias: f64, x: &[f64]) -> f64 {
    bias + weights.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()
}

/// sign(v)·max(|v| − a, 0).
fn soft(v: f64, a: f64) -> f64 {
    v.signum() * (v.abs() - a).max(0.0)
}

/// Sets all but the k largest |w| to zero; the smaller id stays if there are ties.
fn keep_largest(weights: &mut [f64], k: usize) {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| weights[b].abs().total_cmp(&weights[a].abs()).then(a.cmp(&b)));
    order.iter().skip(k).for_each(|&j| weights[j] = 0.0);
}
