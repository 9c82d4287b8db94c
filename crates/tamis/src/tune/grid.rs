//! What is tried when a user names no values: a grid for each method.
//!
//! | method | axes | where the values come from |
//! |---|---|---|
//! | `ftrl` | penalty 0.1 … 100, learning rate 0.1, 0.5 | λ₁ is compared with sums of slopes: half-decades around 3 |
//! | `truncated-gradient` `fobos` `sadmm` | penalty 1e-5 … 0.1, learning rate a fifth and the whole default | λ is compared with mean slopes, which scaled columns keep below 1 |
//! | `rda` | penalty 1e-5 … 0.1, γ 2, 10 | as above |
//! | `sgd` | learning rate 1/25 … 5 of the default | nothing else to choose |
//! | `rounding` | threshold 0.001 … 0.3 | weights of scaled columns |
//! | `single-stage` | radius 0.3 … 1000 | ‖w‖₁ of scaled columns |
//! | `two-stage` | learning rate 0.001 … 10 | tuned as in Li et al. 2017, section 5; columns are scaled |
//! | all others | k: p, p/2, p/4, … | the halving ladder of the features seen |
//!
//! What the user fixed or listed is not tried again, `--k` takes the penalty's place, and a user who lists any number
//! gets no other numbers varied: three values mean three settings.

use super::Axis;
use crate::recipe::{Method, PARAMETERS, Recipe};

/// The axes to try beside those `given`, for data with so many features.
pub fn default_axes(recipe: &Recipe, given: &[Axis], features: u64) -> Vec<Axis> {
    let is_number = |axis: &&Axis| axis.name == "k" || PARAMETERS.iter().any(|one| one.name == axis.name);
    if given.iter().any(|axis| is_number(&axis)) {
        return Vec::new();
    }
    let mut axes = of_method(recipe, features);
    axes.retain(|axis| match axis.name.as_str() {
        "k" => recipe.k.is_none() && !recipe.numbers.contains_key("penalty"),
        "penalty" => recipe.k.is_none() && !recipe.numbers.contains_key("penalty"),
        name => !recipe.numbers.contains_key(name),
    });
    axes
}

fn of_method(recipe: &Recipe, features: u64) -> Vec<Axis> {
    let rate = recipe.number("learning-rate");
    let rates = Axis::new("learning-rate", [rate / 5.0, rate]);
    let strengths = || Axis::new("penalty", ["0.00001", "0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1"]);
    match recipe.method {
        Method::Sgd => vec![Axis::new("learning-rate", [rate / 25.0, rate / 5.0, rate, 5.0 * rate])],
        Method::Rounding => vec![Axis::new("threshold", [0.001, 0.003, 0.01, 0.03, 0.1, 0.3])],
        Method::SingleStage => vec![Axis::new("radius", [0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])],
        Method::TwoStage => vec![Axis::new("learning-rate", [1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0])],
        Method::Ftrl => vec![rates, Axis::new("penalty", [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])],
        Method::TruncatedGradient | Method::Fobos | Method::Sadmm => vec![rates, strengths()],
        Method::Rda => vec![Axis::new("gamma", [2.0, 10.0]), strengths()],
        _ => vec![Axis::new("k", ladder(features))],
    }
}

/// p, p/2, p/4, … down to eight (to one, if there are few features), at most thirteen rungs.
fn ladder(features: u64) -> Vec<u64> {
    let lowest = if features > 64 { 8 } else { 1 };
    let halves = std::iter::successors(Some(features.max(1)), |rung| Some(rung / 2));
    let rungs: Vec<u64> = halves.take_while(|&rung| rung >= lowest).collect();
    rungs[rungs.len().saturating_sub(13)..].to_vec()
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
        assert_eq!(names(&ftrl, &[]), ["learning-rate", "penalty"]);
        assert_eq!(names(&ftrl, &[Axis::new("loss", ["hinge"])]), ["learning-rate", "penalty"]);
        assert_eq!(names(&ftrl.clone().set("learning-rate", 1.0), &[]), ["penalty"]);
        assert_eq!(names(&Recipe { k: Some(9), ..ftrl.clone() }, &[]), ["learning-rate"]);
        assert!(names(&ftrl, &[Axis::new("penalty", [1.0, 2.0])]).is_empty());
        assert!(names(&ftrl, &[Axis::new("k", [10, 20])]).is_empty());
        assert!(names(&Recipe { k: Some(9), ..Recipe::new(Method::Fofs) }, &[]).is_empty());
    }

    #[test]
    fn the_ladder_halves() {
        assert_eq!(ladder(1000), [1000, 500, 250, 125, 62, 31, 15]);
        assert_eq!(ladder(10), [10, 5, 2, 1]);
        assert_eq!(ladder(1), [1]);
        let long = ladder(1 << 30);
        assert_eq!((long.len(), *long.last().unwrap()), (13, 8));
    }
}
