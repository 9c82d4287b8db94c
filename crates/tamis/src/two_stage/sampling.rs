//! Feature sampling, the second stage of `two-stage`: few features, their weights raised so that the expected model is
//! the dense one.
//!
//! Source: Li et al. 2017, *A Two-Stage Approach for Learning a Sparse Model with Sharp Excess Risk Analysis* (AAAI
//! 2017), Algorithm 2, Theorems 2 and 3; Theorem 2 after Shalev-Shwartz, Srebro & Zhang (SIAM J. Optim. 20, 2010).
//!
//! ```text
//! score      s_j = |w_j|·√(E x_j²)  (distribution)   or   |w_j|  (magnitude);   p_j = s_j/Σs
//! K draws    feature j is drawn m_j times:       w̃_j = w_j · m_j/(K p_j)                  at most K features
//!            draw i falls into the i-th of K equal parts of [0, 1], on which the p_j lie end to end, those of w_j > 0 first
//! exactly k  feature j has inclusion probability π_j: w̃_j = w_j/π_j,  π_j = min(1, λs_j),  Σπ = k
//! K of ε, δ  K = ⌈h (Σs)²/(εδ)⌉:  P[L(w̃) > L(w) + ε] ≤ δ
//! ```
//!
//! | symbol | here | from |
//! |---|---|---|
//! | K | [`Size::Draws`] | Algorithm 2 |
//! | k | [`Size::Exactly`] | ours |
//! | p_j | `scores`, up to sign and sum | Theorems 2 and 3 |
//! | ε, δ | [`draws_for`] | Theorems 2 and 3 |
//! | h | [`half_curvature`] | half of the largest ℓ'': 1 for (f − y)², ⅛ for logistic; the paper has squared loss only (E54) |
//!
//! Departures: the paper's draws are independent. Ours are stratified, one in each K-th of the probability: E[w̃] = w
//! still, and no linear function of w̃ varies more than with independent draws (the textbook inequality of
//! stratification), so that the theorems still hold; a feature of p_j ≥ 2/K is always drawn, and m_j differs from K p_j
//! by less than 2. Features in the same stratum mostly have weights of the same sign and, in the order of their first
//! occurrence, about the same frequency, so that it matters less which of them is drawn. The paper cannot sample
//! *exactly* k features. Ours samples without replacement by systematic sampling (Madow, Ann. Math. Stat. 20, 1949, on
//! a shuffled list): exactly k features, E[w̃] = w still, and features of large score are certain and keep their
//! weight, so that the variance is below that of k draws. If at most K features have a weight, all are kept as they
//! are: at most K features, and nothing is added to the loss. With several outputs a feature is sampled for all of
//! them; its score is the Euclidean norm of theirs.
//!
//! The sampled weights are unbiased. `sampled_model.rs` then moves them towards the fit on the rows unless `refine` is
//! 0.
//!
//! Cost: O(features log features) to prepare, O(features + K log features) for each sample.

use rand_pcg::Pcg64;

use crate::rng::{shuffle, uniform};

/// The number of features to sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Exactly this many features.
    Exactly(usize),
    /// This many draws with replacement: at most this many features.
    Draws(u64),
}

/// A sampled feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledFeature {
    /// Its place among the scores.
    pub place: usize,
    /// The factor of its weight.
    pub factor: f64,
}

/// Samples features by their scores, ascending by place. Scores are finite and signed as the weights; 0 is never
/// sampled.
pub fn draw(scores: &[f64], size: Size, random: &mut Pcg64) -> Vec<SampledFeature> {
    FeatureSampler::new(scores, size).draw(random)
}

/// Features prepared for many samples of one size.
#[derive(Clone, Debug)]
pub struct FeatureSampler {
    scores: Vec<f64>,
    /// The features that may be sampled.
    places: Vec<usize>,
    scheme: Scheme,
}

#[derive(Clone, Debug)]
enum Scheme {
    /// All features are kept.
    All,
    /// Exactly this many, with their inclusion probabilities, one for each score.
    Exactly(usize, Vec<f64>),
    /// This many draws, from the cumulative sums of the scores.
    Draws(u64, Vec<f64>),
}

impl FeatureSampler {
    /// A sampler for features with these scores, as [`draw`] takes them.
    pub fn new(signed_scores: &[f64], size: Size) -> Self {
        let scores: Vec<f64> = signed_scores.iter().map(|score| score.abs()).collect();
        let places = order_by_sign(signed_scores);
        let scheme = match size {
            Size::Exactly(k) if k < places.len() => Scheme::Exactly(k, inclusion_probabilities(&scores, &places, k)),
            Size::Draws(draws) if draws < places.len() as u64 => Scheme::Draws(draws, sums(&scores, &places)),
            _ => Scheme::All,
        };
        FeatureSampler { scores, places, scheme }
    }

    /// Whether every sample is the same: all features with their weights.
    pub fn keeps_all(&self) -> bool {
        matches!(self.scheme, Scheme::All)
    }

    /// One sample, ascending by place.
    pub fn draw(&self, random: &mut Pcg64) -> Vec<SampledFeature> {
        let mut drawn = match &self.scheme {
            Scheme::All => self.places.iter().map(|&place| SampledFeature { place, factor: 1.0 }).collect(),
            Scheme::Exactly(k, inclusion_probabilities) => {
                systematic_sample(inclusion_probabilities, self.places.clone(), *k, random)
            }
            Scheme::Draws(draws, sums) => with_replacement(&self.scores, &self.places, sums, *draws, random),
        };
        drawn.sort_unstable_by_key(|feature| feature.place);
        drawn
    }
}

/// The places of features that may be sampled, those of positive score first.
fn order_by_sign(scores: &[f64]) -> Vec<usize> {
    let of_sign = |sign: f64| (0..scores.len()).filter(move |&place| scores[place] * sign > 0.0);
    of_sign(1.0).chain(of_sign(-1.0)).collect()
}

/// The cumulative sums of the scores in this order.
fn sums(scores: &[f64], places: &[usize]) -> Vec<f64> {
    let mut total = 0.0;
    let up_to = |&place: &usize| {
        total += scores[place];
        total
    };
    places.iter().map(up_to).collect()
}

/// Algorithm 2, one draw in each K-th of the probability.
fn with_replacement(
    scores: &[f64],
    places: &[usize],
    sums: &[f64],
    draws: u64,
    random: &mut Pcg64,
) -> Vec<SampledFeature> {
    let total = sums.last().copied().unwrap_or(0.0);
    let mut counts = vec![0u64; places.len()];
    for stratum in 0..draws {
        let at = (stratum as f64 + uniform(random)) / draws as f64 * total;
        counts[sums.partition_point(|&sum| sum <= at).min(places.len() - 1)] += 1;
    }
    let factor = |place: usize, count: u64| count as f64 * total / (draws as f64 * scores[place]);
    let drawn = places.iter().zip(counts).filter(|(_, count)| *count > 0);
    drawn.map(|(&place, count)| SampledFeature { place, factor: factor(place, count) }).collect()
}

/// Systematic sampling: inclusion probabilities lie end to end in random order, and each point u, u + 1, … takes a
/// feature.
fn systematic_sample(
    inclusion_probabilities: &[f64],
    mut places: Vec<usize>,
    k: usize,
    random: &mut Pcg64,
) -> Vec<SampledFeature> {
    shuffle(random, &mut places);
    let start = uniform(random);
    let (mut drawn, mut sum) = (Vec::with_capacity(k), 0.0);
    let mut spare = None;
    for place in places {
        let chance = inclusion_probabilities[place];
        sum += chance;
        let feature = SampledFeature { place, factor: 1.0 / chance };
        if drawn.len() < k && sum > start + drawn.len() as f64 {
            drawn.push(feature);
        } else {
            spare = Some(feature);
        }
    }
    // By rounding, the sum may be slightly below the last point.
    drawn.extend(spare.filter(|_| drawn.len() < k));
    drawn
}

/// π by place: proportional to the scores, at most 1, Σπ = k < number of places.
fn inclusion_probabilities(scores: &[f64], places: &[usize], k: usize) -> Vec<f64> {
    let mut order = places.to_vec();
    order.sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let mut rest: f64 = order.iter().rev().map(|&place| scores[place]).sum();
    let mut certain = 0;
    while certain < k && scores[order[certain]] * (k - certain) as f64 >= rest {
        rest -= scores[order[certain]];
        certain += 1;
    }
    // Summed again: the certain features may have been nearly all of the sum.
    let rest: f64 = order[certain..].iter().rev().map(|&place| scores[place]).sum();
    let mut inclusion_probabilities = vec![0.0; scores.len()];
    for (rank, &place) in order.iter().enumerate() {
        inclusion_probabilities[place] = if rank < certain { 1.0 } else { (k - certain) as f64 * scores[place] / rest };
    }
    inclusion_probabilities
}

/// The expected number of sampled features.
pub fn expected_support(scores: &[f64], size: Size) -> f64 {
    let places = order_by_sign(scores);
    match size {
        Size::Exactly(k) => k.min(places.len()) as f64,
        Size::Draws(draws) if draws >= places.len() as u64 => places.len() as f64,
        Size::Draws(draws) => {
            let total: f64 = places.iter().map(|&place| scores[place].abs()).sum();
            let mut sum = 0.0;
            let chance = |&place: &usize| {
                let from = sum / total * draws as f64;
                sum += scores[place].abs();
                draw_probability(from, sum / total * draws as f64)
            };
            places.iter().map(chance).sum()
        }
    }
}

/// The probability that a draw falls between two points, in units of the strata.
fn draw_probability(from: f64, to: f64) -> f64 {
    let (first, last) = (from.floor(), to.floor());
    if first == last {
        return to - from;
    }
    let missed_whole = if last - first > 1.0 { 0.0 } else { 1.0 };
    1.0 - (from - first) * missed_whole * (1.0 - (to - last))
}

/// K such that the loss grows by more than `epsilon` with a probability of at most `delta`; `spread` is h·(Σs)².
pub fn draws_for(spread: f64, epsilon: f64, delta: f64) -> u64 {
    (spread / (epsilon * delta)).ceil().clamp(1.0, u64::MAX as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{RngStream, generator};

    const SCORES: [f64; 7] = [5.0, 0.0, -0.5, 1.0, 0.02, -2.0, 0.3];

    /// Mean and variance of each factor, and the mean number of features, over many samples.
    fn moments(size: Size, times: u64) -> (Vec<[f64; 2]>, f64) {
        let (mut sums, mut support) = (vec![[0.0; 2]; SCORES.len()], 0.0);
        for number in 0..times {
            let drawn = draw(&SCORES, size, &mut generator(4, RngStream::SampleFeatures, number));
            support += drawn.len() as f64 / times as f64;
            for SampledFeature { place, factor } in drawn {
                sums[place][0] += factor / times as f64;
                sums[place][1] += factor * factor / times as f64;
            }
        }
        (sums.iter().map(|[mean, square]| [*mean, square - mean * mean]).collect(), support)
    }

    fn is_unbiased(size: Size) {
        let times = 20_000;
        let (moments, support) = moments(size, times);
        for (place, [mean, variance]) in moments.into_iter().enumerate() {
            let expected = if SCORES[place] != 0.0 { 1.0 } else { 0.0 };
            let error = (variance / times as f64).sqrt();
            assert!((mean - expected).abs() <= 4.5 * error + 1e-12, "{size:?}: factor {place}: {mean} ± {error}");
        }
        assert!((support - expected_support(&SCORES, size)).abs() < 0.03, "{size:?}: {support} features");
    }

    #[test]
    fn both_schemes_are_unbiased_and_have_the_expected_size() {
        for size in [1, 2, 3, 5] {
            is_unbiased(Size::Exactly(size));
            is_unbiased(Size::Draws(size as u64));
        }
    }

    #[test]
    fn exactly_k_features_are_sampled() {
        for number in 0..2000 {
            let mut random = generator(9, RngStream::SampleFeatures, number);
            let k = 1 + number as usize % 8;
            let drawn = draw(&SCORES, Size::Exactly(k), &mut random);
            assert_eq!(drawn.len(), k.min(6));
            assert!(drawn.windows(2).all(|pair| pair[0].place < pair[1].place), "different, ascending");
            assert!(drawn.iter().all(|one| SCORES[one.place] != 0.0 && one.factor >= 1.0 - 1e-12));
        }
    }

    #[test]
    fn exactly_k_varies_less_than_k_draws_and_these_less_than_independent_ones() {
        // The variance of w̃·x for independent columns is Σ s²·var(factor); for K independent draws it is ((Σs)² −
        // Σs²)/K.
        let spread = |size| {
            let (moments, _) = moments(size, 20_000);
            SCORES.iter().zip(moments).map(|(score, [_, variance])| score * score * variance).sum::<f64>()
        };
        for draws in [2, 3, 5] {
            let (systematic_sample, ours) = (spread(Size::Exactly(draws)), spread(Size::Draws(draws as u64)));
            let squares = SCORES.iter().map(|score| score * score).sum::<f64>();
            let independent = (SCORES.iter().map(|score| score.abs()).sum::<f64>().powi(2) - squares) / draws as f64;
            assert!(
                systematic_sample < ours && ours < 0.8 * independent,
                "{draws}: {systematic_sample} {ours} {independent}"
            );
        }
    }

    #[test]
    fn probabilities_of_draws_by_hand() {
        assert_eq!(draw_probability(0.25, 0.75), 0.5, "inside one stratum");
        assert_eq!(draw_probability(0.5, 1.5), 0.75, "half of two");
        assert_eq!(draw_probability(0.5, 2.5), 1.0, "a whole stratum");
        assert_eq!(draw_probability(1.0, 2.0), 1.0);
    }

    #[test]
    fn inclusion_probabilities_by_hand() {
        // 5 is certain; of the rest 2, 1, 0.5, 0.3, 0.02 two are taken: 2·2 > 3.82, so that 2 is certain as well.
        let inclusion_probabilities = inclusion_probabilities(&SCORES.map(f64::abs), &[0, 2, 3, 4, 5, 6], 3);
        assert_eq!(
            [inclusion_probabilities[0], inclusion_probabilities[1], inclusion_probabilities[5]],
            [1.0, 0.0, 1.0]
        );
        assert!(
            (inclusion_probabilities[3] - 1.0 / 1.82).abs() < 1e-12
                && (inclusion_probabilities.iter().sum::<f64>() - 3.0).abs() < 1e-12
        );
    }

    #[test]
    fn more_draws_than_features_keep_all() {
        let drawn = draw(&SCORES, Size::Draws(6), &mut generator(0, RngStream::SampleFeatures, 0));
        assert!(drawn.len() == 6 && drawn.iter().all(|one| one.factor == 1.0));
        assert_eq!(expected_support(&SCORES, Size::Draws(100)), 6.0);
        assert!(draw(&[0.0], Size::Exactly(1), &mut generator(0, RngStream::SampleFeatures, 0)).is_empty());
    }

    #[test]
    fn a_sampler_can_be_used_repeatedly() {
        for size in [Size::Exactly(3), Size::Draws(3), Size::Draws(6)] {
            let sampler = FeatureSampler::new(&SCORES, size);
            for number in 0..20 {
                let random = || generator(5, RngStream::SampleFeatures, number);
                assert_eq!(sampler.draw(&mut random()), draw(&SCORES, size, &mut random()));
            }
            assert_eq!(sampler.keeps_all(), size == Size::Draws(6));
        }
    }

    #[test]
    fn draws_of_the_theorems_by_hand() {
        assert_eq!(draws_for(4.0, 0.1, 0.5), 80);
        assert_eq!(draws_for(4.0, 0.0, 0.5), u64::MAX, "with no tolerance all are kept");
        assert_eq!(draws_for(1e-9, 1.0, 1.0), 1);
    }

    #[test]
    fn scores_may_be_of_any_magnitude() {
        for scores in [[1e-300, 2e-300, 3e-300], [1e300, 2e300, 3e300], [1e-300, 1.0, 1e300]] {
            for size in [Size::Exactly(2), Size::Draws(2)] {
                let drawn = draw(&scores, size, &mut generator(1, RngStream::SampleFeatures, 7));
                assert!(drawn.len() <= 2 && drawn.iter().all(|one| one.factor.is_finite()), "{drawn:?}");
                assert!(size == Size::Draws(2) || drawn.len() == 2, "{drawn:?}");
            }
        }
    }
}
