//! The tests of the features of a model: z-scores and q-values.

use serde::{Deserialize, Serialize};

use super::Model;

/// The q-value up to which a feature counts as confirmed if nothing else is asked for.
pub const DEFAULT_FDR: f64 = 0.1;

/// The tests of the features of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureTests {
    /// The number of features that entered the training: each counts as a hypothesis.
    pub entered: usize,
    /// The number of rows.
    pub rows: u64,
    /// The tested features, by falling evidence; empty if there were too few rows.
    pub tests: Vec<FeatureTest>,
}

/// The test of a feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureTest {
    /// Its name.
    pub name: String,
    /// The z-score; with several classes, that of the class with the least p-value.
    pub z: f64,
    /// The q-value: of features with this q or less, at most a share q is expected to be false discoveries.
    pub q: f64,
    /// Features that cannot be told apart from it: this one or one of them carries the information.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
}

/// What the tests say about the features of a training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Certainty {
    /// There were too few rows to test features.
    NotTested,
    /// No feature is confirmed. With few rows, only strong effects could have been.
    Nothing {
        /// Whether the rows are few for the number of features.
        few_rows: bool,
    },
    /// This many features are confirmed.
    Confirmed(usize),
}

/// Rows are few if a feature must explain more than this share of the variance to be confirmed alone.
const LARGE_EFFECT: f64 = 0.05;

impl FeatureTests {
    /// With fewer rows, features are not tested: the z-scores would not be normal enough.
    pub const FEWEST_ROWS: u64 = 100;

    /// What the tests say at a false discovery rate.
    pub fn certainty(&self, fdr: f64) -> Certainty {
        match self.confirmed(fdr).len() {
            _ if self.tests.is_empty() => Certainty::NotTested,
            0 => {
                // A single feature needs p ≤ fdr/entered: z² ≈ 2·ln(entered/fdr) of the rows.
                let squared = 2.0 * (self.entered.max(1) as f64 / fdr).ln();
                Certainty::Nothing { few_rows: squared > LARGE_EFFECT * self.rows as f64 }
            }
            confirmed => Certainty::Confirmed(confirmed),
        }
    }

    /// The test of a feature; `None` if it was not tested by itself.
    pub fn of(&self, name: &str) -> Option<&FeatureTest> {
        self.tests.iter().find(|test| test.name == name)
    }

    /// The confirmed features: those with a q-value of at most `fdr`, by increasing q-value.
    pub fn confirmed(&self, fdr: f64) -> Vec<&FeatureTest> {
        let mut confirmed: Vec<&FeatureTest> = self.tests.iter().filter(|test| test.q <= fdr).collect();
        confirmed.sort_by(|a, b| a.q.total_cmp(&b.q).then(b.z.abs().total_cmp(&a.z.abs())));
        confirmed
    }
}

impl Model {
    /// The test of a feature, if it was tested by itself.
    pub fn test(&self, name: &str) -> Option<&FeatureTest> {
        self.tests.as_ref()?.of(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(rows: u64, q_values: &[f64]) -> FeatureTests {
        let test = |(number, &q): (usize, &f64)| FeatureTest { name: number.to_string(), z: 3.0, q, with: Vec::new() };
        FeatureTests { entered: 20_000, rows, tests: q_values.iter().enumerate().map(test).collect() }
    }

    #[test]
    fn the_least_q_values_come_first() {
        let tests = tests(1000, &[0.2, 0.05, 0.01, 0.1]);
        let names = |fdr| tests.confirmed(fdr).iter().map(|test| test.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(0.1), ["2", "1", "3"], "a q-value at the rate itself counts");
        assert_eq!(names(0.001), [""; 0]);
        assert_eq!(tests.of("1").map(|test| test.q), Some(0.05));
    }

    #[test]
    fn nothing_confirmed_is_told_from_too_few_rows() {
        assert_eq!(tests(90, &[]).certainty(0.1), Certainty::NotTested);
        assert_eq!(tests(300, &[0.5]).certainty(0.1), Certainty::Nothing { few_rows: true });
        assert_eq!(tests(1000, &[0.5]).certainty(0.1), Certainty::Nothing { few_rows: false });
        assert_eq!(tests(1000, &[0.5, 0.02]).certainty(0.1), Certainty::Confirmed(1));
    }
}
