//! The full evaluation of a model: metrics with confidence intervals, ROC curve, calibration, confusion matrix.
//!
//! | what | how |
//! |---|---|
//! | error | Wilson's interval of a share |
//! | AUC | Hanley & McNeil (1982): A ± z·√((A(1−A) + (n₁−1)(A/(2−A) − A²) + (n₀−1)(2A²/(1+A) − A²))/(n₀n₁)) |
//! | log loss, RMSE | mean ± z standard errors; of the RMSE, the root of both ends |
//!
//! z = 1.96, for a confidence of 95 %. With importance weights, n is (Σw)²/Σw².

use super::evaluate::score_rows;
use super::mean_loss::MeanLoss;
use super::metrics::log_loss_of;
use super::per_class::ClassTally;
use super::{ClassReport, EvalError, FeatureFrequencies, Metrics, Scored, UnknownClasses};
use crate::io::RowSource;
use crate::model::{Model, Predictor};

/// A measure with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The measure.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A bin of rows with similar predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The mean prediction: a probability, or a number.
    pub predicted: f64,
    /// The share of rows of the second class, or the mean of the true numbers, with its interval.
    pub observed: Interval,
    /// Rows.
    pub rows: u64,
}

/// The evaluation of a model on labelled rows.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The measures.
    pub measures: Metrics,
    /// Share of wrong classes.
    pub error: Option<Interval>,
    /// Area under the ROC curve.
    pub auc: Option<Interval>,
    /// Mean −ln(probability of the true class).
    pub log_loss: Option<Interval>,
    /// Root mean squared error.
    pub rmse: Option<Interval>,
    /// False and true positive rate, from (0, 0) to (1, 1).
    pub roc: Vec<(f64, f64)>,
    /// Calibration: mean prediction and observed mean, in bins of equal size.
    pub calibration: Vec<Bin>,
    /// The metrics of each class and the confusion matrix, if the model predicts classes.
    pub classes: Option<ClassReport>,
    /// How often each feature occurs in these rows.
    pub densities: FeatureFrequencies,
}

const Z: f64 = 1.959_963_984_540_054;
/// The number of calibration bins, and the smallest number of rows in each.
const BINS: usize = 10;
const ROWS_IN_BIN: usize = 10;
/// Points of the ROC curve at most.
const CORNERS: usize = 200;

/// Evaluates a model on a stream of labelled rows.
pub fn evaluate(model: &Model, stream: &mut dyn RowSource) -> Result<Evaluation, EvalError> {
    let (mut scored, mut densities) = (Vec::new(), FeatureFrequencies::default());
    let (mut tally, predictor) = (ClassTally::new(model.classes().len()), Predictor::new(model));
    let mut loss = MeanLoss::new(model, &predictor);
    score_rows(&predictor, model, stream, UnknownClasses::Refused, |row| {
        loss.add(row.prediction, row.scored, row.weight);
        densities.observe(row.row.0, row.row.1);
        tally.add(&predictor, row.prediction, row.truth, row.weight);
        scored.push((row.scored, row.weight));
    })?;
    let found = of_scored(&scored);
    let measures = Metrics { loss: loss.value(), ..found.measures.clone() };
    Ok(Evaluation { classes: tally.report(model), densities, measures, ..found })
}

fn of_scored(scored: &[(Scored, f64)]) -> Evaluation {
    let measures = Metrics::of(scored);
    let rows = effective(scored.iter().map(|row| row.1));
    let ranked: Vec<(bool, f64, f64)> = scored
        .iter()
        .filter_map(|&(one, weight)| match one {
            Scored::Class { binary: Some((truth, score, _)), .. } => Some((truth, score, weight)),
            _ => None,
        })
        .collect();
    let losses = scored.iter().filter_map(|&(one, weight)| match one {
        Scored::Class { true_probability: Some(probability), .. } => Some((log_loss_of(probability), weight)),
        _ => None,
    });
    let squares = scored.iter().filter_map(|&(one, weight)| match one {
        Scored::Number(truth, guess) => Some(((truth - guess).powi(2), weight)),
        Scored::Class { .. } => None,
    });
    let root =
        |mean: Interval| Interval { value: mean.value.sqrt(), low: mean.low.max(0.0).sqrt(), high: mean.high.sqrt() };
    Evaluation {
        error: measures.error.map(|error| share(error, rows)),
        auc: measures.auc.map(|auc| area(auc, &ranked)),
        log_loss: measures.log_loss.and_then(|_| mean(losses)),
        rmse: measures.rmse.and_then(|_| mean(squares)).map(root),
        roc: roc(&ranked),
        calibration: calibration(scored),
        classes: None,
        densities: FeatureFrequencies::default(),
        measures,
    }
}

/// The effective number of rows.
fn effective(weights: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), one| (sum + one, squares + one * one));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// Wilson's interval of a share of n rows.
fn share(value: f64, n: f64) -> Interval {
    if n <= 0.0 {
        return Interval { value, low: 0.0, high: 1.0 };
    }
    let square = Z * Z / n;
    let middle = (value + square / 2.0) / (1.0 + square);
    let half = Z / (1.0 + square) * (value * (1.0 - value) / n + square / (4.0 * n)).max(0.0).sqrt();
    Interval { value, low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
}

/// The weighted mean with its interval; `None` without values.
fn mean(numbers: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Interval> {
    let n = effective(numbers.clone().map(|one| one.1));
    let weight: f64 = numbers.clone().map(|one| one.1).sum();
    if weight <= 0.0 {
        return None;
    }
    let value = numbers.clone().map(|(number, weight)| number * weight).sum::<f64>() / weight;
    let variance = numbers.map(|(number, weight)| weight * (number - value).powi(2)).sum::<f64>() / weight;
    let half = Z * (variance / n).sqrt();
    Some(Interval { value, low: value - half, high: value + half })
}

fn area(value: f64, ranked: &[(bool, f64, f64)]) -> Interval {
    let count = |class: bool| effective(ranked.iter().filter(|row| row.0 == class).map(|row| row.2));
    let (first, second) = (count(false), count(true));
    let positive = value / (2.0 - value) - value * value;
    let negative = 2.0 * value * value / (1.0 + value) - value * value;
    let sum = value * (1.0 - value) + (second - 1.0) * positive + (first - 1.0) * negative;
    let half = Z * (sum / (first * second)).max(0.0).sqrt();
    Interval { value, low: (value - half).max(0.0), high: (value + half).min(1.0) }
}

/// The corners of the ROC curve, thinned out.
fn roc(ranked: &[(bool, f64, f64)]) -> Vec<(f64, f64)> {
    let total = |class: bool| ranked.iter().filter(|row| row.0 == class).map(|row| row.2).sum::<f64>();
    let (negatives, positives) = (total(false), total(true));
    if negatives <= 0.0 || positives <= 0.0 {
        return Vec::new();
    }
    let mut sorted = ranked.to_vec();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (mut points, mut sums) = (vec![(0.0, 0.0)], (0.0, 0.0));
    for (at, row) in sorted.iter().enumerate() {
        if row.0 {
            sums.1 += row.2;
        } else {
            sums.0 += row.2;
        }
        if sorted.get(at + 1).is_none_or(|next| next.1 != row.1) {
            points.push((sums.0 / negatives, sums.1 / positives));
        }
    }
    thinned(points)
}

fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let last = points.len() - 1;
    let step = points.len().div_ceil(CORNERS).max(1);
    points.into_iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last).map(|(_, point)| point).collect()
}

/// Calibration in bins of equal size. It needs probabilities or numbers.
fn calibration(scored: &[(Scored, f64)]) -> Vec<Bin> {
    let mut pairs: Vec<(f64, f64, f64)> = scored
        .iter()
        .filter_map(|&(one, weight)| match one {
            Scored::Number(truth, guess) => Some((guess, truth, weight)),
            Scored::Class { binary: Some((truth, _, Some(probability))), .. } => {
                Some((probability, f64::from(u8::from(truth)), weight))
            }
            Scored::Class { .. } => None,
        })
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let numbers = matches!(scored.first(), Some((Scored::Number(..), _)));
    let size = pairs.len().div_ceil(BINS).max(ROWS_IN_BIN);
    pairs.chunks(size).filter_map(|bin| of_bin(bin, numbers)).collect()
}

fn of_bin(bin: &[(f64, f64, f64)], numbers: bool) -> Option<Bin> {
    let predicted = mean(bin.iter().map(|row| (row.0, row.2)))?.value;
    let observed = mean(bin.iter().map(|row| (row.1, row.2)))?;
    let rows = effective(bin.iter().map(|row| row.2));
    let observed = if numbers { observed } else { share(observed.value, rows) };
    Some(Bin { predicted, observed, rows: bin.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{RngStream, generator, uniform};

    fn row(truth: bool, probability: f64) -> (Scored, f64) {
        let right = truth == (probability > 0.5);
        let true_probability = Some(if truth { probability } else { 1.0 - probability });
        (Scored::Class { right, true_probability, binary: Some((truth, probability, Some(probability))) }, 1.0)
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-4
    }

    #[test]
    fn intervals_of_shares_by_hand() {
        // Wilson for 10 of 100: (0.1 + 0.0192)/(1.0384) ± 1.96/1.0384·√(0.0009 + 0.000096).
        let found = share(0.1, 100.0);
        assert!(near(found.low, 0.05523) && near(found.high, 0.17437), "{found:?}");
        let none = share(0.0, 50.0);
        assert!(none.low < 1e-12 && near(none.high, 0.07135), "no error seen is not no error: {none:?}");
    }

    #[test]
    fn the_interval_of_an_area_by_hand() {
        // A = 0.9, 50 against 50: Q₁ − A² = 0.81818 − 0.81, Q₂ − A² = 0.85263 − 0.81.
        let rows: Vec<(bool, f64, f64)> = (0..100).map(|at| (at < 50, 0.0, 1.0)).collect();
        let found = area(0.9, &rows);
        let se = ((0.09 + 49.0 * (0.9 / 1.1 - 0.81) + 49.0 * (1.62 / 1.9 - 0.81)) / 2500.0f64).sqrt();
        assert!(near(found.high - 0.9, (1.96 * se).min(0.1)) && near(0.9 - found.low, 1.96 * se));
    }

    /// Rows of two classes whose probabilities are true, and rows with normal errors.
    fn planted(rows: usize, number: u64) -> Evaluation {
        let mut random = generator(3, RngStream::ShardRows, number);
        let classes = |random: &mut _| {
            let probability = (1.0 + (-4.0 * (uniform(random) - 0.6)).exp()).recip();
            row(uniform(random) < probability, probability)
        };
        let normal = |random: &mut _| (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0;
        let of_classes = of_scored(&(0..rows).map(|_| classes(&mut random)).collect::<Vec<_>>());
        let numbers: Vec<_> = (0..rows).map(|_| (Scored::Number(0.0, normal(&mut random)), 1.0)).collect();
        Evaluation { rmse: of_scored(&numbers).rmse, ..of_classes }
    }

    #[test]
    fn intervals_cover_the_truth_in_95_of_100_samples() {
        let truth = planted(400_000, 0);
        let samples: Vec<Evaluation> = (1..=500).map(|number| planted(150, number)).collect();
        let intervals = |one: &Evaluation| [one.error, one.auc, one.log_loss, one.rmse].map(Option::unwrap);
        for (number, name) in ["error", "AUC", "log loss", "RMSE"].into_iter().enumerate() {
            let truth = intervals(&truth)[number].value;
            let covers = |one: &&Evaluation| {
                let interval = intervals(one)[number];
                interval.low <= truth && truth <= interval.high
            };
            let share = samples.iter().filter(covers).count() as f64 / samples.len() as f64;
            // Three standard errors of a share of 95 % over 500 samples.
            assert!((share - 0.95).abs() <= 0.029, "{name}: {share} of the intervals contain {truth}");
        }
    }

    #[test]
    fn the_roc_curve_by_hand() {
        let rows = [(true, 0.9, 1.0), (false, 0.8, 1.0), (true, 0.7, 1.0), (false, 0.1, 1.0)];
        assert_eq!(roc(&rows), [(0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0)]);
        assert_eq!(roc(&[(true, 0.5, 1.0), (false, 0.5, 1.0)]), [(0.0, 0.0), (1.0, 1.0)], "ties are one step");
        assert!(roc(&rows[..1]).is_empty(), "one class has no curve");
        let many: Vec<_> = (0..10_000).map(|at| (at % 3 == 0, at as f64, 1.0)).collect();
        let thin = roc(&many);
        assert!(thin.len() <= CORNERS + 1 && thin.last() == Some(&(1.0, 1.0)));
    }

    #[test]
    fn calibration_by_hand() {
        let rows: Vec<(Scored, f64)> =
            (0..20).map(|at| row(at % 5 == 0, 0.2)).chain((0..20).map(|at| row(at % 5 != 0, 0.8))).collect();
        let bins = of_scored(&rows).calibration;
        assert_eq!(bins.len(), 4, "ten rows at least in each");
        assert!(near(bins[0].predicted, 0.2) && near(bins[0].observed.value, 0.2) && bins[0].rows == 10);
        assert!(near(bins[3].observed.value, 0.8));
    }

    #[test]
    fn numbers_have_an_interval_too() {
        let rows: Vec<(Scored, f64)> = (0..30).map(|at| (Scored::Number(at as f64, at as f64 + 2.0), 1.0)).collect();
        let found = of_scored(&rows);
        let rmse = found.rmse.unwrap();
        assert!(near(rmse.value, 2.0) && near(rmse.low, 2.0), "all errors are the same: {rmse:?}");
        assert!(found.error.is_none() && found.roc.is_empty());
        assert!(near(found.calibration[0].predicted, found.calibration[0].observed.value + 2.0));
    }

    #[test]
    fn a_row_of_weight_two_is_more_but_not_two_rows() {
        assert_eq!(effective([2.0, 2.0].into_iter()), 2.0);
        assert_eq!(effective([1.0, 0.0].into_iter()), 1.0);
        assert_eq!(effective(std::iter::empty()), 0.0);
    }
}
