//! Which setting of a curve to take.
//!
//! Sources: Breiman, Friedman, Olshen & Stone, *Classification and Regression Trees*, 1984, section 3.4.3 (the
//! one-standard-error rule); Ma & Zheng 2016 tune by the least error.
//!
//! The least error is an estimate, and so are its neighbours: settings within one standard error of it cannot be told
//! from the best by these folds. Of those, `one-se` takes the one with the fewest features, `min` insists on the least
//! error. Equals go to the sparser setting, then to the lower error, then to the earlier one.

use serde::Serialize;

use super::{Curve, Point};

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

/// The number of the point the rule takes; nothing if no point was learned.
pub fn choose(curve: &Curve, rule: Rule) -> Option<usize> {
    let best = best(curve)?;
    let limit = match rule {
        Rule::OneSe => best.mean + best.standard_error,
        Rule::Min => best.mean,
    };
    sparsest_below(curve, limit)
}

/// The number of the sparsest point whose mean is at most `limit`.
pub(super) fn sparsest_below(curve: &Curve, limit: f64) -> Option<usize> {
    let within = curve.points.iter().enumerate().filter(|(_, point)| point.mean <= limit);
    within.min_by(|(_, a), (_, b)| a.size.total_cmp(&b.size).then(a.mean.total_cmp(&b.mean))).map(|(number, _)| number)
}

/// The point of least error.
fn best(curve: &Curve) -> Option<&Point> {
    curve.points.iter().filter(|point| point.mean.is_finite()).min_by(|a, b| a.mean.total_cmp(&b.mean))
}

impl Curve {
    /// The point of least error, if any was learned.
    pub fn best(&self) -> Option<&Point> {
        best(self)
    }

    /// The number of the sparsest point whose mean is at most `limit`, if there is one.
    pub fn sparsest_within(&self, limit: f64) -> Option<usize> {
        sparsest_below(self, limit)
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
