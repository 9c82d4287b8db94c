//! How a raw value becomes the input of a kernel model: a clipped z-score or a rank.

use serde::{Deserialize, Serialize};

/// z-scores beyond this are clipped: a cosine of an outlier is noise.
const CLIP: f64 = 4.0;

/// The map of one variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum InputMap {
    /// (x − mean)/deviation, clipped at ±4.
    #[allow(missing_docs, reason = "named for what they are")]
    ZScore { mean: f64, deviation: f64 },
    /// The rank, scaled to mean 0 and deviation 1: linear between knots (value, scaled rank), constant beyond them.
    #[allow(missing_docs, reason = "named for what they are")]
    Rank { knots: Vec<[f64; 2]> },
}

impl InputMap {
    /// The input for a raw value.
    pub fn apply(&self, value: f64) -> f64 {
        match self {
            InputMap::ZScore { mean, deviation } => ((value - mean) / deviation).clamp(-CLIP, CLIP),
            InputMap::Rank { knots } => {
                let next = knots.partition_point(|knot| knot[0] <= value);
                match (next, knots.get(next)) {
                    (0, _) => knots.first().map_or(0.0, |knot| knot[1]),
                    (_, None) => knots[next - 1][1],
                    (_, Some([right, above])) => {
                        let [left, below] = knots[next - 1];
                        below + (above - below) * ((value - left) / (right - left))
                    }
                }
            }
        }
    }

    /// Why the map cannot be used.
    pub(super) fn problem(&self) -> Option<&'static str> {
        match self {
            InputMap::ZScore { mean, deviation } => {
                let is_valid = mean.is_finite() && deviation.is_finite() && *deviation > 0.0;
                (!is_valid).then_some("has no valid mean and deviation")
            }
            InputMap::Rank { knots } => {
                let is_finite = knots.iter().flatten().all(|number| number.is_finite());
                let ascends = knots.windows(2).all(|pair| pair[0][0] < pair[1][0] && pair[0][1] <= pair[1][1]);
                (knots.is_empty() || !is_finite || !ascends).then_some("has knots that do not ascend")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_clipped_and_ranks_interpolated() {
        let score = InputMap::ZScore { mean: 1.0, deviation: 2.0 };
        assert_eq!([1.0, 5.0, 100.0, -100.0].map(|value| score.apply(value)), [0.0, 2.0, 4.0, -4.0]);
        let rank = InputMap::Rank { knots: vec![[0.0, -1.0], [1.0, 0.0], [3.0, 2.0]] };
        assert_eq!(
            [-5.0, 0.0, 0.5, 1.0, 2.0, 3.0, 9.0].map(|value| rank.apply(value)),
            [-1.0, -1.0, -0.5, 0.0, 1.0, 2.0, 2.0]
        );
        assert_eq!((score.problem(), rank.problem()), (None, None));
    }

    #[test]
    fn maps_from_a_file_are_checked() {
        assert!(InputMap::ZScore { mean: 0.0, deviation: 0.0 }.problem().is_some());
        assert!(InputMap::Rank { knots: vec![] }.problem().is_some());
        assert!(InputMap::Rank { knots: vec![[1.0, 0.0], [1.0, 1.0]] }.problem().is_some());
    }
}
