//! Rules that choose a setting from cross-validation results.
//!
//! Sources: Breiman, Friedman, Olshen & Stone, *Classification and Regression Trees*, 1984, section 3.4.3 (the
//! one-standard-error rule); Ma & Zheng 2016 tune by the least error.
//!
//! The least error is an estimate, and so are its neighbours: settings within one standard error of it cannot be
//! distinguished from the best by these folds. Of those, `one-se` takes the one with the fewest features; `min` takes
//! the setting of least error. Ties go to the sparser setting, then to the lower error, then to the earlier one.

use serde::Serialize;

use super::{Curve, Point};
use crate::select::{Estimate, smallest_below, smallest_within_se};

/// How a setting is chosen from a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The sparsest within one standard error of the best.
    #[default]
    OneSe,
    /// The least error.
    Min,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 2] = [Rule::OneSe, Rule::Min];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Rule::OneSe => "one-se",
            Rule::Min => "min",
        }
    }
}

/// The number of the point that the rule takes; `None` if no setting could be fitted.
pub fn choose(curve: &Curve, rule: Rule) -> Option<usize> {
    curve.best()?;
    let n_se = match rule {
        Rule::OneSe => 1.0,
        Rule::Min => 0.0,
    };
    smallest_within_se(&estimates(curve), n_se)
}

fn estimates(curve: &Curve) -> Vec<(Estimate, f64)> {
    let estimate = |point: &Point| Estimate { mean: point.mean, standard_error: point.standard_error };
    curve.points.iter().map(|point| (estimate(point), point.size)).collect()
}

impl Curve {
    /// The point of least error, if any setting could be fitted.
    pub fn best(&self) -> Option<&Point> {
        self.points.iter().filter(|point| point.mean.is_finite()).min_by(|a, b| a.mean.total_cmp(&b.mean))
    }

    /// The number of the sparsest point whose mean is at most `limit`, if there is one.
    pub fn sparsest_within(&self, limit: f64) -> Option<usize> {
        smallest_below(&estimates(self), limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;
    use crate::tune::{GridPoint, Measure};

    fn curve(points: &[(f64, f64, f64)]) -> Curve {
        let point = |&(mean, standard_error, size): &(f64, f64, f64)| Point {
            setting: GridPoint { values: Vec::new(), recipe: Recipe::default() },
            mean,
            standard_error,
            size,
            folds: Vec::new(),
        };
        Curve { measure: Measure::Error, points: points.iter().map(point).collect(), rows: 0, features: 0 }
    }

    #[test]
    fn one_standard_error_by_hand() {
        let curve = curve(&[(0.10, 0.02, 900.0), (0.12, 0.03, 40.0), (0.121, 0.001, 7.0), (0.3, 0.1, 1.0)]);
        assert_eq!(choose(&curve, Rule::OneSe), Some(1), "0.12 is within 0.10 + 0.02, 0.121 is not");
        assert_eq!(choose(&curve, Rule::Min), Some(0));
        assert_eq!(curve.sparsest_within(0.2), Some(2));
        assert_eq!(curve.best().map(|point| point.size), Some(900.0));
    }

    #[test]
    fn equals_go_to_the_sparser_then_to_the_better_then_to_the_earlier() {
        assert_eq!(choose(&curve(&[(0.1, 0.0, 9.0), (0.1, 0.0, 8.0)]), Rule::Min), Some(1));
        assert_eq!(choose(&curve(&[(0.11, 0.0, 9.0), (0.1, 0.1, 9.0)]), Rule::OneSe), Some(1));
        assert_eq!(choose(&curve(&[(0.1, 0.0, 9.0), (0.1, 0.0, 9.0)]), Rule::OneSe), Some(0));
    }

    #[test]
    fn settings_that_failed_are_never_taken() {
        assert_eq!(choose(&curve(&[(f64::INFINITY, 0.0, 1.0), (0.4, 0.0, 5.0)]), Rule::OneSe), Some(1));
        assert_eq!(choose(&curve(&[(f64::INFINITY, 0.0, 1.0)]), Rule::OneSe), None);
    }
}
