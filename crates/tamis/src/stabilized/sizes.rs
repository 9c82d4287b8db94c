//! The sizes of the active set: p₀, p₀/2, p₀/4, …, k.

/// The smallest size if no size is given.
pub const SMALLEST: usize = 10;
/// If half of a size is less than this multiple of the target, the target is the next size.
const CLOSE: f64 = 1.25;

/// The sizes from `features` down to `target`, each half of the one before; the last one is smaller by a fifth at
/// least.
pub fn size_path(features: usize, target: usize) -> Vec<usize> {
    let target = target.clamp(1, features.max(1));
    let mut sizes = vec![features.max(1)];
    while let Some(&size) = sizes.last().filter(|&&size| size > target) {
        let next = size / 2;
        sizes.push(if next as f64 <= CLOSE * target as f64 { target } else { next });
    }
    sizes
}

/// Up to this size, all sizes are evaluated.
const ALL_UP_TO: usize = 12;
/// Above it, each is this share of the one before: four for each halving.
const SHARE: f64 = 0.840_896_415_253_714_6;
/// Sizes that people ask for are evaluated, too.
const ROUND: [usize; 12] = [15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 400];

/// The sizes below `size` and above `next` that are evaluated beside those that the paths learn, descending.
pub fn sizes_between(size: usize, next: usize) -> Vec<usize> {
    let smaller = |&size: &usize| {
        let smaller = if size <= ALL_UP_TO { size - 1 } else { ((size as f64 * SHARE) as usize).max(ALL_UP_TO) };
        (smaller > next).then_some(smaller)
    };
    let round = ROUND.into_iter().filter(|&round| next < round && round < size);
    let mut sizes: Vec<usize> = std::iter::successors(Some(size.max(1)), smaller).skip(1).chain(round).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_ends_at_the_target() {
        assert_eq!(size_path(1000, 100), [1000, 500, 250, 100]);
        assert_eq!(size_path(1000, 110), [1000, 500, 250, 110]);
        assert_eq!(size_path(7, 10), [7]);
        assert_eq!(size_path(10, 10), [10]);
        assert_eq!(size_path(3, 1), [3, 1]);
        assert_eq!(size_path(0, 5), [1]);
    }

    #[test]
    fn few_sizes_lie_between_large_ones_and_all_between_small_ones() {
        assert_eq!(sizes_between(400, 200), [336, 300, 282, 237]);
        assert_eq!(sizes_between(40, 10), [33, 30, 27, 25, 22, 20, 18, 15, 12, 11]);
        assert_eq!(sizes_between(4, 0), [3, 2, 1]);
        assert_eq!(sizes_between(1, 0), [0; 0]);
        assert_eq!(sizes_between(0, 0), [0; 0]);
        assert_eq!(sizes_between(10, 9), [0; 0]);
    }
}
