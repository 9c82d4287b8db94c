//! Fits the input maps of variables: z-scores or ranks.

use crate::model::kernel::InputMap;
use crate::recipe::InputKind;

/// Quantiles that a rank is linear between.
const KNOTS: usize = 65;

/// The map of a variable, from its values and the weights of their rows. A constant becomes 0.
pub fn fit_map(values: &[f64], weights: &[f64], kind: InputKind) -> InputMap {
    let score = || {
        if is_constant(values) {
            // A computed mean may differ from the value in its last bit.
            return InputMap::ZScore { mean: values.first().copied().unwrap_or(0.0), deviation: 1.0 };
        }
        let (mean, deviation) = moments(values.iter().copied(), weights);
        InputMap::ZScore { mean, deviation: if deviation == 0.0 { 1.0 } else { deviation } }
    };
    match kind {
        InputKind::Rank if !is_constant(values) => rank_map(values, weights).unwrap_or_else(score),
        _ => score(),
    }
}

/// Whether all values are equal.
fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// The map of ranks; `None` if all quantiles are equal.
fn rank_map(values: &[f64], weights: &[f64]) -> Option<InputMap> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // Equal quantiles are one knot, at the mean of their ranks.
    let mut knots: Vec<([f64; 2], f64)> = Vec::new();
    for place in 0..KNOTS {
        let rank = place as f64 / (KNOTS - 1) as f64;
        let value = quantile(&sorted, rank);
        match knots.last_mut().filter(|(knot, _)| knot[0] >= value) {
            Some((knot, count)) => {
                knot[1] = (knot[1] * *count + rank) / (*count + 1.0);
                *count += 1.0;
            }
            None => knots.push(([value, rank], 1.0)),
        }
    }
    let knots: Vec<[f64; 2]> = knots.into_iter().map(|(knot, _)| knot).collect();
    let plain = InputMap::Rank { knots: knots.clone() };
    let (mean, deviation) = moments(values.iter().map(|&value| plain.apply(value)), weights);
    let scaled = knots.iter().map(|&[value, rank]| [value, (rank - mean) / deviation]).collect();
    (deviation > 1e-9).then_some(InputMap::Rank { knots: scaled })
}

/// A quantile of sorted values, linear between them.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(sorted.len() - 1);
    if part == 0.0 { sorted[low] } else { sorted[low] * (1.0 - part) + sorted[high] * part }
}

/// The weighted mean and deviation.
pub(super) fn moments(values: impl Iterator<Item = f64> + Clone, weights: &[f64]) -> (f64, f64) {
    let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = values.clone().zip(weights).map(|(value, weight)| weight / total * value).sum::<f64>();
    let variance = values.zip(weights).map(|(value, weight)| weight / total * (value - mean).powi(2)).sum::<f64>();
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_mean_zero_and_variance_one() {
        let values: Vec<f64> = (0..500).map(|row| f64::from(row * 37 % 500).powi(3)).collect();
        let weights: Vec<f64> = (0..500).map(|row| 0.5 + f64::from(row % 3)).collect();
        for kind in InputKind::ALL {
            let map = fit_map(&values, &weights, kind);
            let (mean, deviation) = moments(values.iter().map(|&value| map.apply(value)), &weights);
            assert!(mean.abs() < 0.02 && (deviation - 1.0).abs() < 0.02, "{kind:?}: {mean} {deviation}");
        }
    }

    #[test]
    fn ranks_ignore_the_scale_of_values() {
        let values: Vec<f64> = (0..200).map(f64::from).collect();
        let cubes: Vec<f64> = values.iter().map(|value| value.powi(3)).collect();
        let [one, other] = [&values, &cubes].map(|values| fit_map(values, &[1.0; 200], InputKind::Rank));
        for at in [0, 7, 100, 199] {
            assert!((one.apply(values[at]) - other.apply(cubes[at])).abs() < 0.01, "{at}");
        }
    }

    #[test]
    fn two_values_and_one() {
        let InputMap::Rank { knots } = fit_map(&[0.0, 1.0, 1.0, 0.0], &[1.0; 4], InputKind::Rank) else { panic!() };
        assert!(knots.len() >= 2 && knots[0][0] == 0.0 && knots.last().unwrap()[0] == 1.0);
        let constant = fit_map(&[3.0; 5], &[1.0; 5], InputKind::Rank);
        assert_eq!(constant.apply(3.0), 0.0);
    }
}
