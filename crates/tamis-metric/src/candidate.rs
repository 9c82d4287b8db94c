//! Candidates of cross-validation: families of parameters, and plain k-NN.

use serde::{Deserialize, Serialize};

use super::MetricError;
use super::params::Params;

/// A metric that cross-validation may select.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The parameters of the learner; `None` for plain k-NN.
    pub params: Option<Params>,
}

impl Candidate {
    /// A candidate, named after its family and the numbers that differ within the family.
    pub fn new(family: &str, params: Params) -> Self {
        let terms = match params.max_terms_share {
            Some(share) => format!("{share} of the terms a direction"),
            None => format!("{} terms a direction", params.max_terms),
        };
        let name = format!("{family}, {terms}, {} neighbours", params.metric_neighbors);
        Candidate { name, params: Some(params) }
    }

    /// Plain k-NN on standardized variables.
    pub fn plain() -> Self {
        Candidate { name: "plain".into(), params: None }
    }

    /// The candidates of a family; the first is the one to use without cross-validation.
    pub fn family(name: &str) -> Option<Vec<Candidate>> {
        let all = |list: &[Params]| list.iter().map(|one| Candidate::new(name, one.clone())).collect();
        let order = |max_order: usize| [3, 10].map(|max_terms| Params { max_order, max_terms, ..Params::default() });
        let free = |(max_terms, metric_neighbors)| Params { max_terms, metric_neighbors, ..Params::free() };
        Some(match name {
            "plain" => vec![Candidate::plain()],
            "order-1" => all(&order(1)),
            "squares" => all(&[3, 10].map(|max_terms| Params { max_terms, ..Params::squares() })),
            "order-2" => all(&order(2)),
            "free" => all(&[(10, 3), (10, 5), (20, 3), (20, 5)].map(free)),
            "thesis" => all(&[0.05, 0.1, 0.2].map(|share| Params { max_terms_share: Some(share), ..Params::thesis() })),
            "wide" => all(&[5, 20].map(|max_terms| Params { max_terms, ..Params::wide() })),
            _ => return None,
        })
    }

    /// The candidates of families with their parameters changed, without duplicates.
    pub fn changed(
        families: &[String],
        change: impl Fn(Params) -> Result<Params, MetricError>,
    ) -> Result<Vec<Candidate>, MetricError> {
        let mut candidates = Vec::new();
        for family in families {
            let unknown = || MetricError::UnknownCandidate { name: family.clone(), known: &Candidate::FAMILIES };
            for candidate in Candidate::family(family).ok_or_else(unknown)? {
                let candidate = match candidate.params {
                    Some(params) => Candidate::new(family, change(params)?),
                    None => candidate,
                };
                if !candidates.contains(&candidate) {
                    candidates.push(candidate);
                }
            }
        }
        Ok(candidates)
    }

    /// All families; the default ones come first.
    pub const FAMILIES: [&'static str; 7] = ["plain", "order-1", "squares", "order-2", "free", "thesis", "wide"];

    /// The default families.
    pub const DEFAULT_FAMILIES: &'static [&'static str] = Self::FAMILIES.split_at(5).0;

    /// The candidates of the default families.
    pub fn defaults() -> Vec<Candidate> {
        Self::DEFAULT_FAMILIES.iter().filter_map(|name| Candidate::family(name)).flatten().collect()
    }
}
