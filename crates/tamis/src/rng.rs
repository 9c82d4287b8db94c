//! The one source of randomness: PCG XSL RR 128/64, a stream of its own for every (seed, purpose, number).
//!
//! No two parts share a stream, so the draws of one part never change those of another, on any number of threads.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// The purpose of a random stream.
#[derive(Clone, Copy, Debug)]
pub enum RngStream {
    /// Assigning rows to blocks.
    ShardRows,
    /// The order of rows in a pass.
    PassOrder,
    /// The order of rows on a path.
    PathOrder,
    /// The sampled features of a two-stage model.
    SampleFeatures,
    /// The rows of a boosting step of a metric.
    Subsample,
    /// Folds of a metric's rows.
    Folds,
    /// The sampled features of candidate models.
    TrialSample,
    /// The random Fourier features of a kernel model.
    Frequencies,
}

/// A generator for one purpose and number (of a pass, a path, …).
pub fn generator(seed: u64, purpose: RngStream, number: u64) -> Pcg64 {
    // PCG streams of neighbouring states are correlated at their start: every part is mixed first.
    let key = splitmix64(splitmix64(splitmix64(seed).wrapping_add(purpose as u64)).wrapping_add(number));
    let [high, low, stream] = [1, 2, 3].map(|part| u128::from(splitmix64(key.wrapping_add(part))));
    Pcg64::new(high << 64 | low, stream)
}

/// The finaliser of SplitMix64 (Steele, Lea & Flood 2014): a bijection that spreads every bit.
pub fn splitmix64(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A whole number below `limit`, without noticeable bias for limits that fit memory.
pub fn uniform_below(random: &mut Pcg64, limit: usize) -> usize {
    ((u128::from(random.next_u64()) * limit as u128) >> 64) as usize
}

/// A number from 0 up to 1, uniform, of 53 bits.
pub fn uniform(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 * 0.5f64.powi(53)
}

/// Puts a slice in random order.
pub fn shuffle<T>(random: &mut Pcg64, slice: &mut [T]) {
    for last in (1..slice.len()).rev() {
        slice.swap(last, uniform_below(random, last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_apart() {
        let draw = |seed, number| generator(seed, RngStream::PassOrder, number).next_u64();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn shuffling_keeps_every_element_and_is_even() {
        let mut firsts = [0; 5];
        for number in 0..5000 {
            let mut slice = [0, 1, 2, 3, 4];
            shuffle(&mut generator(3, RngStream::ShardRows, number), &mut slice);
            firsts[slice[0]] += 1;
            slice.sort_unstable();
            assert_eq!(slice, [0, 1, 2, 3, 4]);
        }
        assert!(firsts.iter().all(|&count| (850..1150).contains(&count)), "{firsts:?}");
    }
}
