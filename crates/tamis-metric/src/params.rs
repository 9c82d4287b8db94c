//! Parameters of the learner, as plain data: every number of the algorithm, its default and the reason for it.
//!
//! | symbol | field | default | reason |
//! |---|---|---|---|
//! | M | `max_iter` | 100 | errors of most data are flat from 50 steps on, later steps add noise variables (but see `cross_validate`) |
//! | k | `metric_neighbors` | 5 | 3 and 5 are alike, 1 is bad |
//! | κ | `max_terms` | 3, 10 | both are candidates in cross-validation |
//! | ρ | `max_terms_share` | – | thesis: κ as a fraction of the terms |
//! | ν | `learning_rate` | 0.05 | 0.02 to 0.1 are alike, 0.3 is worse |
//! | η | `subsample` | 1 | subsampling improves neither error nor time |
//! | – | `subsample_terms` | no | thesis: √p terms a step; three times the variables and a larger error |
//! | – | `update_every` | 5 | the parameter that matters most (thesis: 50) |
//! | b | `burn_in` | 10 | interactions of variables found in Euclidean neighbourhoods are noise |
//! | T | `interaction_pool` | 32 | all pairs fill the candidates and are no better |
//! | – | `max_order` | 1, 2 | both are candidates; the thesis allows 4 |
//! | – | `squares` | no | a candidate of its own: rings show in squares, which no step selects before it selected their variables |
//! | – | `scale_interactions` | yes | interactions of heavy-tailed variables dominate all others |
//! | c | `class_balance` | yes | all classes have the same total weight |
//! | ξ₀ | `uniform_start` | no | thesis: 1/√p everywhere, a poor local optimum |
//! | λ | `psd_shift` | no | thesis: A + λI is made positive semi-definite before the first iteration |

use serde::{Deserialize, Serialize};

use super::MetricError;
use super::param::Param;

/// Everything that decides which metric is learned from given rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Params {
    /// M: number of boosting steps.
    pub max_iter: usize,
    /// k: neighbours of the same class and of other classes in the margin of a row.
    pub metric_neighbors: usize,
    /// κ: maximum number of terms in one rank-one update.
    pub max_terms: usize,
    /// ρ: κ as a fraction of the terms, in place of `max_terms`.
    pub max_terms_share: Option<f64>,
    /// ν: shrinkage of each step.
    pub learning_rate: f64,
    /// η: fraction of rows used in each step.
    pub subsample: f64,
    /// Whether a step uses a random sample of √p terms.
    pub subsample_terms: bool,
    /// Steps between two neighbour searches.
    pub update_every: usize,
    /// b: steps before interactions are added.
    pub burn_in: usize,
    /// T: number of terms of largest weight that interactions are formed with; `None` takes all terms in use.
    pub interaction_pool: Option<usize>,
    /// Maximum number of variables in an interaction.
    pub max_order: usize,
    /// Whether the squares of all variables are terms from the start, whatever `max_order` is.
    #[serde(default)]
    pub squares: bool,
    /// Whether an interaction is divided by its standard deviation.
    pub scale_interactions: bool,
    /// Whether all classes have the same total weight.
    pub class_balance: bool,
    /// Whether the power method starts at 1/√p and not at the largest diagonal entry.
    pub uniform_start: bool,
    /// Whether A is shifted until it is positive semi-definite.
    pub psd_shift: bool,
    /// Whether a direction is the leading eigenvector of A on its support.
    pub refit: bool,
    /// How the support of a direction is found.
    pub support_search: SupportSearch,
}

/// How the support of a direction is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SupportSearch {
    /// By the truncated power method.
    #[default]
    TruncatedPower,
    /// By the stabilized learner on weighted rows: for very wide, sparse data.
    Stabilized,
}

impl Default for Params {
    /// Parameters that are safe on all data sets that were compared.
    fn default() -> Self {
        Params {
            max_iter: 100,
            metric_neighbors: 5,
            max_terms: 3,
            max_terms_share: None,
            learning_rate: 0.05,
            subsample: 1.0,
            subsample_terms: false,
            update_every: 5,
            burn_in: 10,
            interaction_pool: Some(32),
            max_order: 2,
            squares: false,
            scale_interactions: true,
            class_balance: true,
            uniform_start: false,
            psd_shift: false,
            refit: true,
            support_search: SupportSearch::TruncatedPower,
        }
    }
}

impl Params {
    /// Subsampled rows, a larger learning rate and unscaled interactions: a candidate, never a default (it is worse on
    /// heavy-tailed data).
    pub fn free() -> Self {
        Params {
            subsample: 0.5,
            learning_rate: 0.1,
            update_every: 10,
            burn_in: 0,
            interaction_pool: None,
            scale_interactions: false,
            max_terms: 10,
            ..Params::default()
        }
    }

    /// The algorithm as published in the thesis: √p terms and half of the rows a step, neighbours every 50 steps,
    /// interactions of up to four variables. It is here to check the published results; it is slower than the defaults, uses
    /// more variables and has a larger error, so it is not a default candidate.
    pub fn thesis() -> Self {
        Params {
            max_iter: 500,
            max_terms_share: Some(0.1),
            learning_rate: 0.1,
            subsample: 0.5,
            subsample_terms: true,
            update_every: 50,
            burn_in: 0,
            interaction_pool: None,
            max_order: 4,
            class_balance: false,
            uniform_start: true,
            psd_shift: true,
            refit: false,
            ..Params::default()
        }
    }

    /// Variables and their squares, all from the first step, and no other interactions.
    pub fn squares() -> Self {
        Params { max_order: 1, squares: true, ..Params::default() }
    }

    /// Few directions, whose variables the stabilized learner selects: for very wide, sparse rows.
    pub fn wide() -> Self {
        Params {
            max_iter: 30,
            learning_rate: 0.1,
            max_terms: 10,
            max_order: 1,
            support_search: SupportSearch::Stabilized,
            ..Params::default()
        }
    }

    /// Checks every number.
    pub fn check(&self) -> Result<(), MetricError> {
        let share = |number: f64| number > 0.0 && number <= 1.0;
        check_range(Param::MaxIter, (1..=100_000).contains(&self.max_iter))?;
        check_range(Param::MetricNeighbors, (1..=1000).contains(&self.metric_neighbors))?;
        check_range(Param::MaxTerms, self.max_terms >= 1)?;
        check_range(Param::MaxTermsShare, self.max_terms_share.is_none_or(share))?;
        check_range(Param::LearningRate, share(self.learning_rate))?;
        check_range(Param::Subsample, share(self.subsample))?;
        check_range(Param::UpdateEvery, self.update_every >= 1)?;
        check_range(Param::MaxOrder, (1..=8).contains(&self.max_order))?;
        if self.psd_shift && !self.subsample_terms {
            return Err(MetricError::Invalid(
                "psd_shift needs subsample_terms: it forms the matrix A of all terms of a step".into(),
            ));
        }
        if self.support_search == SupportSearch::Stabilized && (self.max_order > 1 || self.squares) {
            return Err(MetricError::Invalid("the candidate wide takes no interactions: max_order must be 1".into()));
        }
        Ok(())
    }

    /// κ for this many terms.
    pub(super) fn max_terms_of(&self, terms: usize) -> usize {
        let share = |share: f64| (share * terms as f64).round() as usize;
        self.max_terms_share.map_or(self.max_terms, share).clamp(1, terms.max(1))
    }
}

/// An error that names the parameter, unless it is in range.
pub(super) fn check_range(param: Param, in_range: bool) -> Result<(), MetricError> {
    if in_range { Ok(()) } else { Err(MetricError::OutOfRange(param)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_in_range_and_survive_json() {
        for params in [Params::default(), Params::squares(), Params::free(), Params::thesis(), Params::wide()] {
            assert!(params.check().is_ok());
            let text = serde_json::to_string(&params).unwrap();
            assert_eq!(serde_json::from_str::<Params>(&text).unwrap(), params, "{text}");
        }
    }

    #[test]
    fn errors_name_the_parameter_and_its_range() {
        let error = |params: Params| params.check().unwrap_err().to_string();
        let base = Params::default;
        assert_eq!(error(Params { max_iter: 0, ..base() }), "max_iter must be from 1 to 100000");
        assert_eq!(error(Params { metric_neighbors: 0, ..base() }), "metric_neighbors must be from 1 to 1000");
        assert_eq!(error(Params { max_terms: 0, ..base() }), "max_terms must be at least 1");
        assert!(error(Params { max_terms_share: Some(2.0), ..base() }).starts_with("max_terms_share must be above 0"));
        assert!(error(Params { learning_rate: f64::NAN, ..base() }).starts_with("learning_rate must be above 0"));
        assert!(error(Params { subsample: 0.0, ..base() }).starts_with("subsample must be above 0"));
        assert_eq!(error(Params { update_every: 0, ..base() }), "update_every must be at least 1");
        assert_eq!(error(Params { max_order: 9, ..base() }), "max_order must be from 1 to 8");
        assert!(error(Params { subsample_terms: false, ..Params::thesis() }).contains("needs subsample_terms"));
        assert!(error(Params { max_order: 2, ..Params::wide() }).contains("max_order must be 1"));
        assert!(error(Params { squares: true, ..Params::wide() }).contains("no interactions"));
    }

    #[test]
    fn a_share_of_the_terms_is_at_least_one() {
        assert_eq!(Params::thesis().max_terms_of(500), 50);
        assert_eq!(Params::thesis().max_terms_of(3), 1);
        assert_eq!(Params::default().max_terms_of(2), 2);
    }
}
