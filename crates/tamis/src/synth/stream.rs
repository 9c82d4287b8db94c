//! Random numbers by counter: one PCG stream (XSL RR 128/64) for each (seed, kind, row).
//!
//! A row's stream is found from the row's number alone, so a row never depends on how many others are asked for or on
//! the order in which they are made.

use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

use super::Plan;
use crate::rng::splitmix64;

/// The place of the stream that plants the truth, far from any row.
const SETUP: u64 = u64::MAX;

/// The random numbers of one row.
pub(super) struct Stream(Pcg64);

impl Stream {
    /// The stream of row `row`, counted from 0.
    pub(super) fn of_row(plan: &Plan, row: u64) -> Self {
        // For one seed and kind the key is a bijection of the row: two rows never share a stream.
        let key = splitmix64(splitmix64(splitmix64(plan.seed).wrapping_add(plan.kind as u64)).wrapping_add(row));
        let [high, low, stream] = [1, 2, 3].map(|part| u128::from(splitmix64(key.wrapping_add(part))));
        Stream(Pcg64::new(high << 64 | low, stream))
    }

    /// The stream of everything chosen once for all rows.
    pub(super) fn of_setup(plan: &Plan) -> Self {
        Stream::of_row(plan, SETUP)
    }

    /// 64 random bits.
    #[inline]
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1).
    #[inline]
    pub(super) fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (0.5f64).powi(53)
    }

    /// −1 or 1, each with probability ½.
    pub(super) fn sign(&mut self) -> f64 {
        if self.bits() >> 63 == 0 { -1.0 } else { 1.0 }
    }

    /// Normal with mean 0 and variance 1.
    #[inline]
    pub(super) fn normal(&mut self) -> f64 {
        self.draw(&StandardNormal)
    }

    /// One of `0..count`, and a uniform fraction of 64 bits that goes with it: both from one product.
    #[inline]
    pub(super) fn cell(&mut self, count: usize) -> (usize, u64) {
        let product = u128::from(self.bits()) * count as u128;
        ((product >> 64) as usize, product as u64)
    }

    /// A draw from any distribution.
    #[inline]
    pub(super) fn draw<D: Distribution<f64>>(&mut self, distribution: &D) -> f64 {
        distribution.sample(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::Kind;

    #[test]
    fn seed_kind_and_row_each_choose_another_stream() {
        let first = |kind, seed, row| Stream::of_row(&Plan { seed, ..Plan::new(kind) }, row).bits();
        let one = first(Kind::Zipf, 0, 0);
        assert_eq!(one, first(Kind::Zipf, 0, 0));
        assert_ne!(one, first(Kind::Zipf, 1, 0));
        assert_ne!(one, first(Kind::Drift, 0, 0));
        assert_ne!(one, first(Kind::Zipf, 0, 1));
    }

    #[test]
    fn neighbouring_rows_are_not_correlated() {
        let plan = Plan::new(Kind::Xor);
        let firsts: Vec<f64> = (0..50_000).map(|row| Stream::of_row(&plan, row).normal()).collect();
        let mean = firsts.iter().sum::<f64>() / firsts.len() as f64;
        let lag = firsts.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / firsts.len() as f64;
        // Both have standard error 0.0045.
        assert!(mean.abs() < 0.018 && lag.abs() < 0.018, "mean {mean}, lag {lag}");
    }

    #[test]
    fn mix_of_zero_is_the_published_first_number() {
        // SplitMix64 seeded with 0 starts with this number.
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn cells_are_uniform() {
        let mut stream = Stream::of_setup(&Plan::new(Kind::Zipf));
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[stream.cell(7).0] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 400), "{counts:?}");
    }
}
