//! What may be chosen: families of settings, and plain nearest neighbours.

use serde::{Deserialize, Serialize};

use super::MetricError;
use super::settings::Settings;

/// A way to measure distances that may be chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// What it is called.
    pub name: String,
    /// How it is learned; nothing for plain k-NN.
    pub settings: Option<Settings>,
}

impl Candidate {
    /// A candidate, called by its family and the numbers that tell it from others.
    pub fn new(family: &str, settings: Settings) -> Self {
        let entries = match settings.entries_share {
            Some(share) => format!("{share} of the terms a direction"),
            None => format!("{} terms a direction", settings.entries),
        };
        let name = format!("{family}, {entries}, {} neighbours", settings.neighbours);
        Candidate { name, settings: Some(settings) }
    }

    /// Plain k-NN on scaled variables.
    pub fn plain() -> Self {
        Candidate { name: "plain".into(), settings: None }
    }

    /// The candidates of a family; the first is the one to take if there is nothing to choose by.
    pub fn family(name: &str) -> Option<Vec<Candidate>> {
        let all = |list: &[Settings]| list.iter().map(|one| Candidate::new(name, one.clone())).collect();
        let order = |order: usize| [3, 10].map(|entries| Settings { order, entries, ..Settings::default() });
        let free = |(entries, neighbours)| Settings { entries, neighbours, ..Settings::free() };
        Some(match name {
            "plain" => vec![Candidate::plain()],
            "order-1" => all(&order(1)),
            "squares" => all(&[3, 10].map(|entries| Settings { entries, ..Settings::squares() })),
            "order-2" => all(&order(2)),
            "free" => all(&[(10, 3), (10, 5), (20, 3), (20, 5)].map(free)),
            "thesis" => {
                all(&[0.05, 0.1, 0.2].map(|share| Settings { entries_share: Some(share), ..Settings::thesis() }))
            }
            "wide" => all(&[5, 20].map(|entries| Settings { entries, ..Settings::wide() })),
            _ => return None,
        })
    }

    /// The candidates of families with their settings changed; those that became alike once.
    pub fn changed(
        families: &[String],
        change: impl Fn(Settings) -> Result<Settings, MetricError>,
    ) -> Result<Vec<Candidate>, MetricError> {
        let mut candidates = Vec::new();
        for family in families {
            let unknown = || format!("unknown candidate {family:?}; there are {:?}", Candidate::FAMILIES);
            for candidate in Candidate::family(family).ok_or_else(|| MetricError::Choice(unknown().into()))? {
                let candidate = match candidate.settings {
                    Some(settings) => Candidate::new(family, change(settings)?),
                    None => candidate,
                };
                if !candidates.contains(&candidate) {
                    candidates.push(candidate);
                }
            }
        }
        Ok(candidates)
    }

    /// All families; those that compete if nothing is said come first.
    pub const FAMILIES: [&'static str; 7] = ["plain", "order-1", "squares", "order-2", "free", "thesis", "wide"];

    /// The candidates that compete if nothing is said.
    pub fn usual() -> Vec<Candidate> {
        Self::FAMILIES[..5].iter().filter_map(|name| Candidate::family(name)).flatten().collect()
    }
}
