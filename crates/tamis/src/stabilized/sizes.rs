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
}
