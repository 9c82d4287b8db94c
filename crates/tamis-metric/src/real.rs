//! The two floating-point types of the learner: `f32` in use, `f64` in tests against the naive version.
//!
//! Long sums are kept in `f64`; within runs of [`RUN`] numbers each of sixteen lanes sums by itself, so that the sum is
//! fast, and the same on any number of threads and with vectors of any width.

use std::ops::{Add, AddAssign, Mul, Sub};

use faer::traits::{ComplexField, SimdArch};

/// A floating-point type.
pub(super) trait Real:
    Copy
    + Default
    + Send
    + Sync
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + AddAssign
    + Into<f64>
    + faer::traits::RealField
    + 'static
{
    /// The nearest number of this type.
    fn of(number: f64) -> Self;
    /// Infinity.
    const MOST: Self;
    /// The next larger number.
    fn next(self) -> Self;
}

impl Real for f32 {
    fn of(number: f64) -> Self {
        number as f32
    }
    const MOST: f32 = f32::INFINITY;
    fn next(self) -> Self {
        self.next_up()
    }
}

impl Real for f64 {
    fn of(number: f64) -> Self {
        number
    }
    const MOST: f64 = f64::INFINITY;
    fn next(self) -> Self {
        self.next_up()
    }
}

/// Numbers processed together.
pub(super) const LANES: usize = 16;
/// Numbers summed in their own type before the sum continues in `f64`.
const RUN: usize = 1024;

/// Runs `work` with the widest vector instructions of this machine. Nothing is fused or reordered, so no bit depends on the
/// machine; `work` and the functions it calls must be inlined to gain by it.
#[inline]
pub(super) fn vectorized<T: Real, R>(work: impl FnOnce() -> R) -> R {
    <T as ComplexField>::Arch::default().dispatch(work)
}

/// Σ aᵢbᵢ, in a fixed order.
pub(super) fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    vectorized::<T, f64>(
        #[inline(always)]
        || {
            let mut sum = 0.0;
            for (a, b) in a.chunks(RUN).zip(b.chunks(RUN)) {
                sum += short_dot(a, b);
            }
            sum
        },
    )
}

#[inline(always)]
fn short_dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(&a, &b)| double(a) * double(b)).sum();
    let mut lanes = [T::default(); LANES];
    for (a, b) in a.zip(b) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.into_iter().map(double).sum::<f64>() + rest
}

/// A number as `f64`.
pub(super) fn double<T: Real>(number: T) -> f64 {
    number.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_products_are_right_at_any_length() {
        for length in [0, 1, 15, 16, 17, 1023, 1024, 1041, 3000] {
            let a: Vec<f64> = (0..length).map(|i| (i % 7) as f64 - 2.5).collect();
            let b: Vec<f64> = (0..length).map(|i| (i % 5) as f64 + 0.25).collect();
            let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            assert!((dot(&a, &b) - plain).abs() < 1e-9, "{length}");
            let short = |list: &[f64]| list.iter().map(|&x| x as f32).collect::<Vec<_>>();
            assert!((dot(&short(&a), &short(&b)) - plain).abs() < 1e-2, "{length}");
        }
    }
}
