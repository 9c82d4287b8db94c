//! Recipes of solvers, as plain data; and the provenance of a model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::table::{Params, Range, choices, params};
use super::{Interactions, Recipe, RecipeError, Signs};
use crate::loss::LossKind;
use crate::param::{ParamName, names};

/// The algorithm of a solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverKind {
    /// Least squares of all features.
    LeastSquares,
    /// Least squares of all features with a ridge penalty.
    Ridge,
    /// Least squares, the k largest kept and refitted.
    Thresholded,
    /// Features are removed while the model is fitted.
    Annealed,
    /// Coordinate descent with a penalty that makes weights zero.
    Penalized,
}

/// Makes [`Solver`] of a table: one row per solver.
macro_rules! solvers {
    ($($(#[$doc:meta])* $Solver:ident = $name:literal, $kind:ident, $about:literal;)*) => {
        /// A solver of moments.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Solver { $($(#[$doc])* $Solver,)* }

        impl Solver {
            /// All solvers, in the order of the documentation.
            pub const ALL: [Solver; [$($name),*].len()] = [$(Solver::$Solver),*];

            /// The name in files and front ends.
            pub fn name(self) -> &'static str {
                match self { $(Solver::$Solver => $name,)* }
            }

            /// One line for the help.
            pub fn about(self) -> &'static str {
                match self { $(Solver::$Solver => $about,)* }
            }

            /// The algorithm.
            pub fn kind(self) -> SolverKind {
                match self { $(Solver::$Solver => SolverKind::$kind,)* }
            }
        }
    };
}

solvers! {
    /// Least squares.
    Ols = "ols", LeastSquares, "least squares, all features";
    /// Least squares with a ridge.
    Ridge = "ridge", Ridge, "ridge regression";
    /// Least squares, the k largest kept and refitted.
    OlsTh = "ols-th", Thresholded, "least squares, keep the k largest, refit";
    /// Feature selection with annealing.
    Ofsa = "ofsa", Annealed, "feature selection with annealing, refit";
    /// The lasso.
    Lasso = "lasso", Penalized, "lasso: an L1 penalty";
    /// The elastic net.
    ElasticNet = "elastic-net", Penalized, "elastic net: lasso and ridge";
    /// The minimax concave penalty.
    Mcp = "mcp", Penalized, "minimax concave penalty: large weights are not shrunk; the default";
    /// The smoothly clipped absolute deviation.
    Scad = "scad", Penalized, "smoothly clipped absolute deviation: large weights are not shrunk";
}

impl Solver {
    /// Whether it has a penalty λ.
    pub fn has_lambda(self) -> bool {
        self.is_penalised() || self.kind() == SolverKind::Ridge
    }

    /// Whether its sparsity comes from a penalty.
    pub fn is_penalised(self) -> bool {
        self.kind() == SolverKind::Penalized
    }
}

/// A criterion for the size of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// Akaike's.
    Aic,
    /// Schwarz's.
    Bic,
    /// Chen & Chen's extension of it to many features, γ = 1.
    Ebic,
    /// The error in cross-validation over the folds of the moments.
    Cv,
}

impl Criterion {
    /// All criteria, in the order of the documentation.
    pub const ALL: [Criterion; 4] = [Criterion::Bic, Criterion::Aic, Criterion::Ebic, Criterion::Cv];

    /// The name in files and front ends.
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Aic => "aic",
            Criterion::Bic => "bic",
            Criterion::Ebic => "ebic",
            Criterion::Cv => "cv",
        }
    }
}

choices!(Solver, Criterion);

params! {
    /// Everything that decides which model is made of given moments.
    pub struct SolveRecipe {
        also
        /// λ that was found, where it was not given.
        found_lambda: Option<f64> = None;
        also
        /// The decay rate of the moments.
        decay: Option<f64> = None;
        also
        /// Features of the model that are products, and what they are products of.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        products: BTreeMap<String, [String; 2]> = BTreeMap::new();
        /// The solver.
        method: Solver = Solver::Mcp, METHOD;
        /// The column to predict, if moments have several targets.
        target: Option<String> = None, TARGET;
        /// Exactly this many features.
        k: Option<usize> = None, K, Range::at_least(1.0);
        /// λ: strength of the penalty, in units of the target, on standardized columns.
        lambda: Option<f64> = None, LAMBDA, Range::at_least(0.0);
        /// Criterion that selects the size: bic, aic, ebic or cv [default: cv if the moments have folds, else ebic].
        criterion: Option<Criterion> = None, CRITERION;
        /// Refit the selected features without penalty; ols-th and ofsa always do.
        refit: bool = false, REFIT;
        /// ρ: the L1 share of the elastic net [default: 0.5].
        l1_ratio: Option<f64> = None, L1_RATIO, Range::above(0.0).at_most(1.0);
        /// γ of MCP (above 1) or a of SCAD (above 2) [default: 3 and 3.7].
        concavity: Option<f64> = None, CONCAVITY, Range::above(1.0);
        /// Sign that weights must have, so that the prediction rises or falls with the feature (a monotone constraint): + or -
        /// for all features, or pairs such as age=+,debt=-. With two classes, it is that of the second. For lasso,
        /// elastic-net, mcp and scad; a lasso of lambda 0 is least squares with signs.
        sign: Option<Signs> = None, SIGN;
    }
}

impl SolveRecipe {
    /// A recipe for a solver with default parameters.
    pub fn new(method: Solver) -> Self {
        SolveRecipe { method, ..SolveRecipe::default() }
    }

    /// Sets a parameter from text.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), RecipeError> {
        if self.assign(name, text)? { Ok(()) } else { Err(RecipeError::Unknown { name: name.into() }) }
    }

    /// ρ of the elastic net in force.
    pub fn l1_ratio(&self) -> f64 {
        self.l1_ratio.unwrap_or(0.5)
    }

    /// γ of MCP, a of SCAD in force.
    pub fn concavity(&self) -> f64 {
        self.concavity.unwrap_or(if self.method == Solver::Scad { 3.7 } else { 3.0 })
    }

    /// The recipe with the criterion in force. Where nothing determines the size, cross-validation does if there are
    /// folds, and the extended BIC if there are none.
    pub fn resolved(&self, folds: usize) -> Self {
        let is_given = self.k.is_some() || self.lambda.is_some() || self.criterion.is_some();
        let by_default = if folds > 1 { Criterion::Cv } else { Criterion::Ebic };
        let criterion = if is_given || self.method == Solver::Ols { self.criterion } else { Some(by_default) };
        SolveRecipe { criterion, ..self.clone() }
    }

    /// Validates every parameter and their combinations.
    pub fn check(&self) -> Result<(), RecipeError> {
        self.check_ranges()?;
        self.check_owner(names::L1_RATIO, self.l1_ratio.is_some(), |solver| solver == Solver::ElasticNet)?;
        let is_concave = |solver| matches!(solver, Solver::Mcp | Solver::Scad);
        self.check_owner(names::CONCAVITY, self.concavity.is_some(), is_concave)?;
        self.check_owner(names::SIGN, self.sign.is_some(), Solver::is_penalised)?;
        if self.sign.is_some() && self.refit {
            let params = vec![names::SIGN, names::REFIT];
            return Err(RecipeError::Exclusive { params, reason: "a refit without penalty does not keep the signs" });
        }
        if self.method == Solver::Scad && self.concavity() <= 2.0 {
            let (expected, found) = ("a number above 2 for scad".into(), self.concavity().to_string());
            return Err(RecipeError::Value { param: names::CONCAVITY, expected, found });
        }
        let [k, lambda, criterion] = [self.k.is_some(), self.lambda.is_some(), self.criterion.is_some()];
        let unsupported = |param: ParamName, reason| {
            Err(RecipeError::Unsupported { method: self.method.name(), param: param.into(), reason })
        };
        if lambda && !self.method.has_lambda() {
            return unsupported(names::LAMBDA, "it has no penalty");
        }
        match self.method {
            Solver::Ols if criterion => unsupported(names::CRITERION, "it keeps all features, or k of them"),
            Solver::Ridge if k && !lambda => {
                let (what, params) = (names::K.with("N for ridge"), vec![names::LAMBDA]);
                Err(RecipeError::Missing { what, params, note: "" })
            }
            Solver::Ridge if k && !criterion => Ok(()),
            _ if u8::from(k) + u8::from(lambda) + u8::from(criterion) > 1 => {
                let params = [(names::K, k), (names::LAMBDA, lambda), (names::CRITERION, criterion)];
                let params = params.into_iter().filter_map(|(name, given)| given.then_some(name)).collect();
                Err(RecipeError::Exclusive { params, reason: "each determines the size of the model" })
            }
            _ => Ok(()),
        }
    }

    fn check_owner(&self, param: ParamName, is_given: bool, owns: impl Fn(Solver) -> bool) -> Result<(), RecipeError> {
        if !is_given || owns(self.method) {
            return Ok(());
        }
        let owners = Solver::ALL.into_iter().filter(|&owner| owns(owner)).map(Solver::name).collect();
        Err(RecipeError::NotOfMethod { method: self.method.name(), param, owners })
    }
}

/// How a model was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Provenance {
    /// By a learner from a stream.
    Fit(Recipe),
    /// By a solver from moments.
    Solve(SolveRecipe),
}

impl Provenance {
    /// The name of the learner or solver.
    pub fn method_name(&self) -> &'static str {
        match self {
            Provenance::Fit(recipe) => recipe.method.name(),
            Provenance::Solve(recipe) => recipe.method.name(),
        }
    }

    /// Bits of feature hashing.
    pub fn hash_bits(&self) -> Option<u32> {
        match self {
            Provenance::Fit(recipe) => recipe.hash_bits,
            Provenance::Solve(_) => None,
        }
    }

    /// The parameter of a loss; 1 if it has none.
    pub fn loss_shape(&self, loss: LossKind) -> f64 {
        match self {
            Provenance::Fit(recipe) => recipe.loss_shape(loss),
            Provenance::Solve(_) => 1.0,
        }
    }

    /// Pairs of columns whose products are features.
    pub fn interactions(&self) -> Option<&Interactions> {
        match self {
            Provenance::Fit(recipe) => recipe.interactions.as_ref(),
            Provenance::Solve(_) => None,
        }
    }

    /// The column of the offset.
    pub fn offset(&self) -> Option<&str> {
        match self {
            Provenance::Fit(recipe) => recipe.offset.as_deref(),
            Provenance::Solve(_) => None,
        }
    }

    /// The factors of a feature that is a product.
    pub fn factors(&self, name: &str) -> Option<&[String; 2]> {
        match self {
            Provenance::Fit(_) => None,
            Provenance::Solve(recipe) => recipe.products.get(name),
        }
    }

    /// Validates the recipe.
    pub fn check(&self) -> Result<(), RecipeError> {
        match self {
            Provenance::Fit(recipe) => recipe.check(),
            Provenance::Solve(recipe) => recipe.check(),
        }
    }
}

impl From<Recipe> for Provenance {
    fn from(recipe: Recipe) -> Self {
        Provenance::Fit(recipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_that_do_not_fit_are_told() {
        let message = |recipe: SolveRecipe| recipe.check().unwrap_err().to_string();
        let new = SolveRecipe::new;
        let exclusive = "`k` and `lambda` are exclusive: each determines the size of the model";
        assert_eq!(message(SolveRecipe { k: Some(3), lambda: Some(1.0), ..new(Solver::Mcp) }), exclusive);
        let none = "ofsa does not support `lambda`: it has no penalty";
        assert_eq!(message(SolveRecipe { lambda: Some(1.0), ..new(Solver::Ofsa) }), none);
        let negative = "`lambda` must be a number of at least 0, got -1";
        assert_eq!(message(SolveRecipe { lambda: Some(-1.0), ..new(Solver::Lasso) }), negative);
        let concave = |concavity| SolveRecipe { k: Some(1), concavity: Some(concavity), ..new(Solver::Scad) };
        assert_eq!(message(concave(2.0)), "`concavity` must be a number above 2 for scad, got 2");
        assert_eq!(concave(2.5).check(), Ok(()));
        let ratio = |method| SolveRecipe { k: Some(1), l1_ratio: Some(0.3), ..new(method) };
        assert_eq!(message(ratio(Solver::Lasso)), "lasso has no parameter `l1-ratio`; elastic-net has");
        assert_eq!(ratio(Solver::ElasticNet).check(), Ok(()));
        let ridge = |k, lambda| SolveRecipe { k, lambda, ..new(Solver::Ridge) };
        assert_eq!(ridge(Some(3), Some(1.0)).check(), Ok(()));
        assert!(message(ridge(Some(3), None)).ends_with("needs `lambda`"), "{}", message(ridge(Some(3), None)));
    }

    #[test]
    fn names_are_those_of_files() {
        for solver in Solver::ALL {
            assert_eq!(serde_json::to_string(&solver).unwrap(), format!("\"{}\"", solver.name()));
        }
    }

    #[test]
    fn a_size_is_determined_by_default() {
        let criterion = |recipe: SolveRecipe, folds| recipe.resolved(folds).criterion;
        assert_eq!(criterion(SolveRecipe::default(), 0), Some(Criterion::Ebic));
        assert_eq!(criterion(SolveRecipe::default(), 5), Some(Criterion::Cv));
        assert_eq!(criterion(SolveRecipe { k: Some(3), ..SolveRecipe::default() }, 5), None);
        assert_eq!(criterion(SolveRecipe::new(Solver::Ols), 5), None);
        for method in Solver::ALL {
            assert_eq!(SolveRecipe::new(method).check(), Ok(()), "{method:?}");
            assert_eq!(SolveRecipe::new(method).resolved(5).check(), Ok(()), "{method:?}");
        }
    }

    #[test]
    fn both_origins_survive_json() {
        let solve = SolveRecipe { criterion: Some(Criterion::Ebic), ..SolveRecipe::new(Solver::ElasticNet) };
        for origin in [Provenance::Fit(Recipe::default()), Provenance::Solve(solve)] {
            let text = serde_json::to_string(&origin).unwrap();
            assert_eq!(serde_json::from_str::<Provenance>(&text).unwrap(), origin, "{text}");
        }
    }
}
