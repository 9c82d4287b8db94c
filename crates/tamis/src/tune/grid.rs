//! The default grid of each method, for parameters without given values.
//!
//! | method | axes | where the values come from |
//! |---|---|---|
//! | `ftrl` | λ₁ 0.1 … 100, learning rate 0.1, 0.5 | λ₁ is compared with sums of slopes: half-decades around 3 |
//! | `truncated-gradient` `fobos` `sadmm` | λ₁ 1e-5 … 0.1, learning rate a fifth of the default, and the default | λ is compared with mean slopes, which scaled columns keep below 1 |
//! | `rda` | λ₁ 1e-5 … 0.1, γ 2, 10 | as above |
//! | `sgd` | learning rate 1/25 … 5 of the default | nothing else to choose |
//! | `rounding` | threshold 0.001 … 0.3 | weights of scaled columns |
//! | `single-stage` | radius 0.3 … 1000 | ‖w‖₁ of scaled columns |
//! | `two-stage` | learning rate 0.001 … 10 | tuned as in Li et al. 2017, section 5; columns are scaled |
//! | `stabilized-published` | annealing, cutoff | the grid of Ma & Zheng 2016, section 6.2 |
//! | all others | k: p, p/2, p/4, … | the halving sizes of the features seen |
//!
//! `search.rs` extends a default axis if the choice lies at one of its ends (not k, whose ends are all features and few).
//!
//! Parameters with given values are not in the grid, `k` replaces λ₁, and if the user lists values of any number, no
//! other number is varied: three values mean three settings.

use super::Axis;
use crate::param::{ParamName, names};
use crate::recipe::table::{Kind, Params};
use crate::recipe::{Method, Recipe};

/// The default axes beside those `given`, for data with this number of features.
pub fn default_axes(recipe: &Recipe, given: &[Axis], features: u64) -> Vec<Axis> {
    if given.iter().any(|axis| is_number(&axis.name)) {
        return Vec::new();
    }
    let is_set = |name: &str| {
        let entries = recipe.entries().into_iter().chain(recipe.method.params().entries());
        entries.filter(|entry| entry.param.name.name == name).any(|entry| !entry.is_default)
    };
    let sizes = [names::K.name, names::L1.name];
    let is_free = |name: &str| if sizes.contains(&name) { !sizes.into_iter().any(is_set) } else { !is_set(name) };
    let mut axes = of_method(recipe, features);
    axes.retain(|axis| is_free(&axis.name));
    axes
}

/// Whether an axis varies a numeric parameter of the learner.
fn is_number(name: &str) -> bool {
    let params = Method::all_params().into_iter().filter(|param| matches!(param.kind, Kind::Number | Kind::Count));
    let learning = params.map(|param| param.name).filter(|param| *param != names::PASSES);
    learning.chain([names::K, names::HUBER_DELTA, names::QUANTILE]).any(|param| param.name == name)
}

/// The largest size of a kernel model if nothing is set.
const KERNEL_VARIABLES: u64 = 48;

fn of_method(recipe: &Recipe, features: u64) -> Vec<Axis> {
    let axis = |param: ParamName, values: &[f64]| Axis::new(param.name, values.iter().copied());
    let rate = recipe.method.steps().map_or(0.5, |steps| steps.learning_rate);
    let rates = axis(names::LEARNING_RATE, &[rate / 5.0, rate]);
    let strengths =
        || Axis::new(names::L1.name, ["0.00001", "0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1"]);
    match recipe.method.kind() {
        Method::Sgd => vec![axis(names::LEARNING_RATE, &[rate / 25.0, rate / 5.0, rate, 5.0 * rate])],
        Method::Rounding => vec![axis(names::THRESHOLD, &[0.001, 0.003, 0.01, 0.03, 0.1, 0.3])],
        Method::SingleStage => vec![axis(names::RADIUS, &[0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])],
        Method::TwoStage => vec![axis(names::LEARNING_RATE, &[1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0])],
        Method::Ftrl => vec![rates, axis(names::L1, &[0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])],
        Method::TruncatedGradient | Method::Fobos | Method::Sadmm => vec![rates, strengths()],
        Method::Rda => vec![axis(names::GAMMA, &[2.0, 10.0]), strengths()],
        Method::StabilizedPublished => {
            vec![axis(names::ANNEALING, &[-7.0, -3.0, -1.0, 0.0, 3.0]), axis(names::CUTOFF, &[0.5, 0.7, 0.9])]
        }
        Method::Stabilized | Method::Tsgd | Method::Fofs | Method::Sofs => {
            vec![Axis::new(names::K.name, sizes(features))]
        }
        Method::Kernel => vec![Axis::new(names::K.name, sizes(features.min(KERNEL_VARIABLES)))],
    }
}

/// p, p/2, p/4, … down to eight (to one, if there are few features), at most thirteen sizes.
fn sizes(features: u64) -> Vec<u64> {
    let lowest = if features > 64 { 8 } else { 1 };
    let halves = std::iter::successors(Some(features.max(1)), |size| Some(size / 2));
    let sizes: Vec<u64> = halves.take_while(|&size| size >= lowest).collect();
    sizes[sizes.len().saturating_sub(13)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::settings;

    #[test]
    fn every_method_has_a_grid_of_valid_settings() {
        for method in Method::ALL {
            let recipe = Recipe::new(method);
            let axes = default_axes(&recipe, &[], 1000);
            assert!(!axes.is_empty(), "{method:?}");
            let all = settings(&recipe, &axes).unwrap();
            assert!((4..=20).contains(&all.len()), "{method:?}: {}", all.len());
        }
    }

    #[test]
    fn what_the_user_said_is_not_varied() {
        let names = |recipe: &Recipe, given: &[Axis]| -> Vec<String> {
            default_axes(recipe, given, 1000).into_iter().map(|axis| axis.name).collect()
        };
        let ftrl = Recipe::new(Method::Ftrl);
        assert_eq!(names(&ftrl, &[]), ["learning-rate", "l1"]);
        assert_eq!(names(&ftrl, &[Axis::new("loss", ["hinge"])]), ["learning-rate", "l1"]);
        assert_eq!(names(&ftrl.clone().with("learning-rate", 1.0), &[]), ["l1"]);
        assert_eq!(names(&Recipe { k: Some(9), ..ftrl.clone() }, &[]), ["learning-rate"]);
        assert!(names(&ftrl, &[Axis::new("l1", [1.0, 2.0])]).is_empty());
        assert!(names(&ftrl, &[Axis::new("k", [10, 20])]).is_empty());
        assert!(names(&Recipe { k: Some(9), ..Recipe::new(Method::Fofs) }, &[]).is_empty());
    }

    #[test]
    fn the_ladder_halves() {
        assert_eq!(sizes(1000), [1000, 500, 250, 125, 62, 31, 15]);
        assert_eq!(sizes(10), [10, 5, 2, 1]);
        assert_eq!(sizes(1), [1]);
        let long = sizes(1 << 30);
        assert_eq!((long.len(), *long.last().unwrap()), (13, 8));
    }
}
