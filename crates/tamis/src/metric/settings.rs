//! How a metric is learned, as plain data: every number of the algorithm, its default and where it is from.
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | M | `steps` | 100 | errors of most data are flat from 50 steps on, later ones add noise variables (but see `choose`) |
//! | k | `neighbours` | 5 | 3 and 5 are alike, 1 is bad |
//! | κ | `entries` | 3, 10 | both compete in cross-validation |
//! | ρ | `entries_share` | – | thesis: κ as a share of the candidates |
//! | ν | `shrinkage` | 0.05 | 0.02 to 0.1 are alike, 0.3 is worse |
//! | η | `bag` | 1 | bagging buys nothing, neither error nor time |
//! | – | `draw_columns` | no | thesis: √p candidates a step; three times the variables and worse |
//! | – | `update_every` | 5 | the ingredient that decides (thesis: 50) |
//! | b | `burn_in` | 10 | products of variables found in Euclidean neighbourhoods are noise |
//! | T | `pool` | 32 | all pairs fill the candidates and are no better |
//! | – | `order` | 1, 2 | both compete; the thesis allows 4 |
//! | – | `squares` | no | a family of its own: rings show in squares, which no step chooses before it chose their variables |
//! | – | `scale_products` | yes | products of heavy-tailed variables drown all others |
//! | c | `balanced` | yes | classes weigh alike |
//! | ξ₀ | `even_start` | no | thesis: 1/√p everywhere, a poor local optimum |
//! | λ | `definite_shift` | no | thesis: A + λI is made positive semi-definite before the first iteration |

use serde::{Deserialize, Serialize};

use super::MetricError;

/// Everything that decides which metric is learned from given rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// M: boosting steps.
    pub steps: usize,
    /// k: neighbours of each kind.
    pub neighbours: usize,
    /// κ: variables and products in one direction.
    pub entries: usize,
    /// ρ: κ as a share of the candidates, in place of `entries`.
    pub entries_share: Option<f64>,
    /// ν: the share of each step that is taken.
    pub shrinkage: f64,
    /// η: the share of rows a step looks at.
    pub bag: f64,
    /// Whether a step looks at √p candidates only.
    pub draw_columns: bool,
    /// Steps between two searches for neighbours.
    pub update_every: usize,
    /// b: steps before products are made.
    pub burn_in: usize,
    /// T: products are made among so many of the heaviest candidates; `None` takes all that were chosen.
    pub pool: Option<usize>,
    /// The most variables in a product.
    pub order: usize,
    /// Whether the squares of all variables are candidates from the start, whatever the order.
    #[serde(default)]
    pub squares: bool,
    /// Whether a product is divided by its deviation.
    pub scale_products: bool,
    /// Whether classes weigh alike.
    pub balanced: bool,
    /// Whether a direction starts evenly, not at the largest diagonal entry.
    pub even_start: bool,
    /// Whether A is shifted until it is positive semi-definite.
    pub definite_shift: bool,
    /// Whether a direction is solved exactly on its support.
    pub refit: bool,
    /// How the support of a direction is found.
    pub engine: Engine,
}

/// How the support of a direction is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The truncated power method.
    #[default]
    Power,
    /// The stabilized learner on weighted rows: for very wide, sparse data.
    Stabilized,
}

impl Default for Settings {
    /// The settings that are safe on all data sets that were compared.
    fn default() -> Self {
        Settings {
            steps: 100,
            neighbours: 5,
            entries: 3,
            entries_share: None,
            shrinkage: 0.05,
            bag: 1.0,
            draw_columns: false,
            update_every: 5,
            burn_in: 10,
            pool: Some(32),
            order: 2,
            squares: false,
            scale_products: true,
            balanced: true,
            even_start: false,
            definite_shift: false,
            refit: true,
            engine: Engine::Power,
        }
    }
}

impl Settings {
    /// Bags, faster steps and products that keep their scale: a candidate, never a default (it harms heavy-tailed data).
    pub fn free() -> Self {
        Settings {
            bag: 0.5,
            shrinkage: 0.1,
            update_every: 10,
            burn_in: 0,
            pool: None,
            scale_products: false,
            entries: 10,
            ..Settings::default()
        }
    }

    /// The thesis as it was published: √p candidates, half of the rows, updates every 50 steps, products of up to four.
    pub fn thesis() -> Self {
        Settings {
            steps: 500,
            entries_share: Some(0.1),
            shrinkage: 0.1,
            bag: 0.5,
            draw_columns: true,
            update_every: 50,
            burn_in: 0,
            pool: None,
            order: 4,
            balanced: false,
            even_start: true,
            definite_shift: true,
            refit: false,
            ..Settings::default()
        }
    }

    /// Variables and their squares, all there from the first step, and no other products.
    pub fn squares() -> Self {
        Settings { order: 1, squares: true, ..Settings::default() }
    }

    /// Few directions, their variables chosen by the stabilized learner: for very wide, sparse rows.
    pub fn wide() -> Self {
        Settings { steps: 30, shrinkage: 0.1, entries: 10, order: 1, engine: Engine::Stabilized, ..Settings::default() }
    }

    /// Looks at every number once.
    pub fn check(&self) -> Result<(), MetricError> {
        let wrong = |text: &str| Err(MetricError::Choice(text.into()));
        if self.steps == 0 || self.steps > 100_000 {
            return wrong("--steps must be from 1 to 100000");
        }
        if self.neighbours == 0 || self.neighbours > 1000 {
            return wrong("--neighbours must be from 1 to 1000");
        }
        if self.entries == 0 {
            return wrong("--entries must be at least 1: a direction needs a variable");
        }
        if self.entries_share.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return wrong("--entries-share must be above 0 and at most 1");
        }
        if !(self.shrinkage > 0.0 && self.shrinkage <= 1.0) {
            return wrong("--shrinkage must be above 0 and at most 1");
        }
        if !(self.bag > 0.0 && self.bag <= 1.0) {
            return wrong("--bag must be above 0 and at most 1");
        }
        if self.update_every == 0 {
            return wrong("--update-every must be at least 1");
        }
        if self.order == 0 || self.order > 8 {
            return wrong("--order must be from 1 to 8");
        }
        if self.definite_shift && !self.draw_columns {
            return wrong(
                "definite-shift needs draw-columns: A is made whole, of as many candidates as a step looks at",
            );
        }
        if self.engine == Engine::Stabilized && (self.order > 1 || self.squares) {
            return wrong("the stabilized engine looks at variables only: use --order 1, and no squares");
        }
        Ok(())
    }

    /// κ among so many candidates.
    pub(super) fn entries_of(&self, candidates: usize) -> usize {
        let share = |share: f64| (share * candidates as f64).round() as usize;
        self.entries_share.map_or(self.entries, share).clamp(1, candidates.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_in_range_and_survive_json() {
        for settings in
            [Settings::default(), Settings::squares(), Settings::free(), Settings::thesis(), Settings::wide()]
        {
            assert!(settings.check().is_ok());
            let text = serde_json::to_string(&settings).unwrap();
            assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings, "{text}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_told_by_their_flag() {
        let told = |settings: Settings| settings.check().unwrap_err().to_string();
        assert!(told(Settings { steps: 0, ..Settings::default() }).contains("--steps"));
        assert!(told(Settings { neighbours: 0, ..Settings::default() }).contains("--neighbours"));
        assert!(told(Settings { entries: 0, ..Settings::default() }).contains("--entries"));
        assert!(told(Settings { entries_share: Some(2.0), ..Settings::default() }).contains("--entries-share"));
        assert!(told(Settings { shrinkage: f64::NAN, ..Settings::default() }).contains("--shrinkage"));
        assert!(told(Settings { bag: 0.0, ..Settings::default() }).contains("--bag"));
        assert!(told(Settings { update_every: 0, ..Settings::default() }).contains("--update-every"));
        assert!(told(Settings { draw_columns: false, ..Settings::thesis() }).contains("draw-columns"));
        assert!(told(Settings { order: 2, ..Settings::wide() }).contains("--order 1"));
        assert!(told(Settings { squares: true, ..Settings::wide() }).contains("no squares"));
        assert!(told(Settings { order: 9, ..Settings::default() }).contains("--order"));
    }

    #[test]
    fn a_share_of_the_candidates_is_at_least_one() {
        assert_eq!(Settings::thesis().entries_of(500), 50);
        assert_eq!(Settings::thesis().entries_of(3), 1);
        assert_eq!(Settings::default().entries_of(2), 2);
    }
}
