//! What to do with moments, as plain data; and where a model came from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Recipe, RecipeError};

/// How to make a model of moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// Least squares.
    Ols,
    /// Least squares with a ridge.
    Ridge,
    /// Least squares, the k largest kept and refitted.
    OlsTh,
    /// Feature selection with annealing.
    Ofsa,
    /// The lasso.
    Lasso,
    /// The elastic net.
    ElasticNet,
    /// The minimax concave penalty.
    Mcp,
    /// The smoothly clipped absolute deviation.
    Scad,
}

impl Solver {
    /// All solvers, in the order of the documentation.
    pub const ALL: [Solver; 8] = [
        Solver::Ols,
        Solver::Ridge,
        Solver::OlsTh,
        Solver::Ofsa,
        Solver::Lasso,
        Solver::ElasticNet,
        Solver::Mcp,
        Solver::Scad,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Solver::Ols => "ols",
            Solver::Ridge => "ridge",
            Solver::OlsTh => "ols-th",
            Solver::Ofsa => "ofsa",
            Solver::Lasso => "lasso",
            Solver::ElasticNet => "elastic-net",
            Solver::Mcp => "mcp",
            Solver::Scad => "scad",
        }
    }

    /// One line for the help.
    pub fn about(self) -> &'static str {
        match self {
            Solver::Ols => "least squares, all features",
            Solver::Ridge => "least squares with a ridge (--penalty)",
            Solver::OlsTh => "least squares, keep the k largest, refit",
            Solver::Ofsa => "features leave while weights are found (annealing), refit",
            Solver::Lasso => "soft threshold",
            Solver::ElasticNet => "lasso and ridge (--l1-share)",
            Solver::Mcp => "minimax concave: large weights are not shrunk (--concavity)",
            Solver::Scad => "smoothly clipped: large weights are not shrunk (--concavity)",
        }
    }

    /// Whether its sparsity comes from a penalty.
    pub fn is_penalised(self) -> bool {
        matches!(self, Solver::Lasso | Solver::ElasticNet | Solver::Mcp | Solver::Scad)
    }
}

/// How to choose among models of different sizes.
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

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Aic => "aic",
            Criterion::Bic => "bic",
            Criterion::Ebic => "ebic",
            Criterion::Cv => "cv",
        }
    }
}

/// Everything that decides which model is made of given moments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SolveRecipe {
    /// The solver.
    pub method: Solver,
    /// The column to predict, if it is not the label.
    #[serde(default)]
    pub target: Option<String>,
    /// Exactly this many features.
    pub k: Option<usize>,
    /// λ, in units of the target.
    pub penalty: Option<f64>,
    /// A criterion that chooses.
    pub choose: Option<Criterion>,
    /// Whether the chosen features are refitted without penalty.
    pub refit: bool,
    /// ρ of the elastic net.
    pub l1_share: f64,
    /// b of MCP, a of SCAD; `None` takes 3 and 3.7.
    pub concavity: Option<f64>,
    /// λ that was found, where it was not given.
    #[serde(default)]
    pub found_penalty: Option<f64>,
    /// The rate at which the moments forgot.
    #[serde(default)]
    pub forget: Option<f64>,
    /// Features of the model that are products, and what they are products of.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub products: BTreeMap<String, [String; 2]>,
}

impl SolveRecipe {
    /// A recipe for a solver, all else by default.
    pub fn new(method: Solver) -> Self {
        SolveRecipe {
            method,
            target: None,
            k: None,
            penalty: None,
            choose: None,
            refit: false,
            l1_share: 0.5,
            concavity: None,
            found_penalty: None,
            forget: None,
            products: BTreeMap::new(),
        }
    }

    /// b of MCP, a of SCAD.
    pub fn concavity(&self) -> f64 {
        self.concavity.unwrap_or(if self.method == Solver::Scad { 3.7 } else { 3.0 })
    }

    /// Looks at every number and every pair of choices once.
    pub fn check(&self) -> Result<(), RecipeError> {
        let clash = |text: String| Err(RecipeError::Clash(text));
        let range = |name, range: &str, value| Err(RecipeError::Range { name, range: range.into(), value });
        let method = self.method.name();
        if self.k == Some(0) {
            return clash("--k must be at least 1".into());
        }
        if let Some(value) = self.penalty.filter(|value| !(value.is_finite() && *value >= 0.0)) {
            return range("penalty", "of at least 0", value);
        }
        if !(self.l1_share > 0.0 && self.l1_share <= 1.0) {
            return range("l1-share", "above 0 and at most 1", self.l1_share);
        }
        let least = if self.method == Solver::Scad { 2.0 } else { 1.0 };
        if !(self.concavity() > least && self.concavity().is_finite()) {
            return range("concavity", if least == 2.0 { "above 2 for scad" } else { "above 1" }, self.concavity());
        }
        let given = [self.k.is_some(), self.penalty.is_some(), self.choose.is_some()];
        match (self.method, given) {
            (Solver::Ols, [_, false, false]) => Ok(()),
            (Solver::Ols, _) => clash("ols has no penalty and nothing to choose: give --k, or nothing".into()),
            (Solver::Ridge, [_, true, false] | [false, false, true]) => Ok(()),
            (Solver::Ridge, _) => clash("ridge needs --penalty (with --k to keep k features) or --choose".into()),
            (Solver::OlsTh | Solver::Ofsa, [true, false, false] | [false, false, true]) => Ok(()),
            (Solver::OlsTh | Solver::Ofsa, _) => {
                clash(format!("{method} needs either --k or --choose, and no --penalty"))
            }
            (_, [true, false, false] | [false, true, false] | [false, false, true]) => Ok(()),
            _ => clash(format!("how sparse? {method} needs one of --k, --penalty and --choose")),
        }
    }
}

/// How a model was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Origin {
    /// By a learner from a stream.
    Fit(Recipe),
    /// By a solver from moments.
    Solve(SolveRecipe),
}

impl Origin {
    /// The name of the learner or solver.
    pub fn method_name(&self) -> &'static str {
        match self {
            Origin::Fit(recipe) => recipe.method.name(),
            Origin::Solve(recipe) => recipe.method.name(),
        }
    }

    /// Bits of feature hashing.
    pub fn hash_bits(&self) -> Option<u32> {
        match self {
            Origin::Fit(recipe) => recipe.hash_bits,
            Origin::Solve(_) => None,
        }
    }

    /// The factors of a feature that is a product.
    pub fn factors(&self, name: &str) -> Option<&[String; 2]> {
        match self {
            Origin::Fit(_) => None,
            Origin::Solve(recipe) => recipe.products.get(name),
        }
    }

    /// Looks at every number and every pair of choices once.
    pub fn check(&self) -> Result<(), RecipeError> {
        match self {
            Origin::Fit(recipe) => recipe.check(),
            Origin::Solve(recipe) => recipe.check(),
        }
    }
}

impl From<Recipe> for Origin {
    fn from(recipe: Recipe) -> Self {
        Origin::Fit(recipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_that_do_not_fit_are_told() {
        let told = |recipe: SolveRecipe| recipe.check().unwrap_err().to_string();
        let new = SolveRecipe::new;
        assert!(told(new(Solver::Lasso)).contains("one of --k, --penalty and --choose"));
        assert!(told(SolveRecipe { k: Some(3), penalty: Some(1.0), ..new(Solver::Mcp) }).contains("one of --k"));
        assert!(told(SolveRecipe { penalty: Some(1.0), ..new(Solver::Ofsa) }).contains("no --penalty"));
        assert!(told(SolveRecipe { penalty: Some(-1.0), ..new(Solver::Lasso) }).contains("at least 0, got -1"));
        let concave = |concavity| SolveRecipe { k: Some(1), concavity: Some(concavity), ..new(Solver::Scad) };
        assert!(told(concave(2.0)).contains("above 2 for scad, got 2"));
        assert_eq!(concave(2.5).check(), Ok(()));
        assert!(told(SolveRecipe { k: Some(1), l1_share: 0.0, ..new(Solver::ElasticNet) }).contains("l1-share"));
    }

    #[test]
    fn both_origins_survive_json() {
        let solve = SolveRecipe { choose: Some(Criterion::Ebic), ..SolveRecipe::new(Solver::ElasticNet) };
        for origin in [Origin::Fit(Recipe::default()), Origin::Solve(solve)] {
            let text = serde_json::to_string(&origin).unwrap();
            assert_eq!(serde_json::from_str::<Origin>(&text).unwrap(), origin, "{text}");
        }
    }
}
