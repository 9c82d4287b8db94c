//! The sizes the active set walks down: p₀, p₀/2, p₀/4, …, k.

/// The smallest step when no size was asked for.
pub const SMALLEST: usize = 10;
/// A step that would land this close above the target goes to the target at once.
const CLOSE: f64 = 1.25;

/// Sizes from `features` down to `target`, halving, the last step not smaller than by a fifth.
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
