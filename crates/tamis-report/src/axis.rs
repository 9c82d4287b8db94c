//! An axis: tick marks at round numbers, and the position of a number.

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisKind {
    /// Equal differences have equal distances.
    #[default]
    Linear,
    /// Equal ratios have equal distances. Only positive numbers have a position.
    Logarithmic,
}

/// An axis with its range.
#[derive(Clone, Debug)]
pub struct Axis {
    kind: AxisKind,
    low: f64,
    high: f64,
    /// The tick marks.
    pub marks: Vec<f64>,
}

/// The approximate number of tick marks.
const TICKS: f64 = 6.0;

impl Axis {
    /// An axis that contains all of these numbers. It ignores numbers that are not finite and, if it is logarithmic, numbers
    /// that are not positive. With `exact` it ends at the extreme numbers instead of at round ones.
    pub fn over(kind: AxisKind, numbers: impl Iterator<Item = f64>, exact: bool) -> Self {
        let counts = |value: &f64| value.is_finite() && (kind == AxisKind::Linear || *value > 0.0);
        let range = numbers.filter(counts).fold(None, |range: Option<(f64, f64)>, value| {
            Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
        match kind {
            AxisKind::Linear => Self::linear(range.unwrap_or((0.0, 1.0)), exact),
            AxisKind::Logarithmic => Self::logarithmic(range.unwrap_or((1.0, 10.0)), exact),
        }
    }

    fn linear((low, high): (f64, f64), exact: bool) -> Self {
        let (low, high) = if high > low { (low, high) } else { widened(low) };
        let step = round_step((high - low) / TICKS);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let (low, high) = if exact { (low, high) } else { (first * step, last * step) };
        let count = (last - first).clamp(0.0, 50.0) as usize;
        let marks = (0..=count).map(|index| (first + index as f64) * step);
        let within = |mark: &f64| *mark >= low - 1e-9 * step && *mark <= high + 1e-9 * step;
        Self { kind: AxisKind::Linear, low, high, marks: marks.filter(within).collect() }
    }

    fn logarithmic((low, high): (f64, f64), exact: bool) -> Self {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let last = last.max(first + 1);
        // Powers of ten alone are too few marks for one or two decades, and too many for many decades.
        let digits: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = ((last - first) as f64 / 8.0).ceil().max(1.0) as usize;
        let powers = (first..=last).step_by(every);
        let marks = powers.flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
        let (bottom, top) = if exact && high > low { (low, high) } else { (10f64.powi(first), 10f64.powi(last)) };
        let within = |mark: &f64| *mark >= bottom * (1.0 - 1e-9) && *mark <= top * (1.0 + 1e-9);
        Self { kind: AxisKind::Logarithmic, low: bottom, high: top, marks: marks.filter(within).collect() }
    }

    /// The position of a number, from 0 at the low end to 1 at the high end.
    pub fn place(&self, value: f64) -> Option<f64> {
        let share = match self.kind {
            AxisKind::Linear => (value - self.low) / (self.high - self.low),
            AxisKind::Logarithmic if value <= 0.0 => return None,
            AxisKind::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        share.is_finite().then_some(share)
    }
}

/// A range around a single number.
fn widened(value: f64) -> (f64, f64) {
    let room = if value == 0.0 { 1.0 } else { value.abs() * 0.1 };
    (value - room, value + room)
}

/// The smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let found = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= least * (1.0 - 1e-9));
    found.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_hold_all_numbers() {
        let axis = Axis::over(AxisKind::Linear, [3.2, 17.9].into_iter(), false);
        assert_eq!(axis.marks, [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(axis.place(0.0), Some(0.0));
        assert_eq!(axis.place(20.0), Some(1.0));
    }

    #[test]
    fn an_exact_axis_ends_at_its_numbers() {
        let axis = Axis::over(AxisKind::Linear, [3.0, 18.0].into_iter(), true);
        assert_eq!(axis.marks, [5.0, 10.0, 15.0]);
        assert_eq!((axis.place(3.0), axis.place(18.0)), (Some(0.0), Some(1.0)));
    }

    #[test]
    fn decades_are_equally_far_apart() {
        let axis = Axis::over(AxisKind::Logarithmic, [1.0, 1e6, -4.0, 0.0].into_iter(), false);
        let first = axis.place(10.0).unwrap() - axis.place(1.0).unwrap();
        let last = axis.place(1e6).unwrap() - axis.place(1e5).unwrap();
        assert!((first - last).abs() < 1e-12);
        assert_eq!(axis.place(0.0), None);
    }

    #[test]
    fn nothing_one_number_and_odd_numbers_still_give_an_axis() {
        for kind in [AxisKind::Linear, AxisKind::Logarithmic] {
            for numbers in
                [vec![], vec![0.0], vec![7.0], vec![f64::NAN, f64::INFINITY], vec![1e-300, 1e300], vec![-5.0]]
            {
                for exact in [false, true] {
                    let axis = Axis::over(kind, numbers.iter().copied(), exact);
                    assert!(
                        axis.marks.len() <= 60 && axis.marks.iter().all(|mark| mark.is_finite()),
                        "{kind:?} {numbers:?}"
                    );
                }
            }
        }
    }
}
