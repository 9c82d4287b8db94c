//! Whether numbers used as labels are names of classes or quantities.

/// The largest number of whole numbers that may be names of classes.
const MOST_CODES: usize = 30;
/// Fewer different values are names of classes, whatever their shares.
const FEWEST_QUANTITIES: usize = 5;
/// At the rare end of a quantity, a value has at most this share of the rows of the most frequent one, and one row more.
const TAIL: f64 = 0.04;
/// With fewer rows at the peak, no number of rows at an end is rare but none.
const FEWEST_AT_PEAK: f64 = 10.0;

/// The average number of rows of a value up to which rows are few: a single value then says little, and the outer quarter of
/// the values is counted as a whole.
const FEW_ROWS: f64 = 7.0;
/// Fewer values have no quarter to look at.
const FEWEST_IN_QUARTERS: usize = 8;
/// Of few rows, the outer quarter of a quantity has at most this share of the rows of the fullest quarter; of more rows,
/// proportionally less.
const QUARTER_TAIL: f64 = 0.3;

/// What labels that are numbers stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LabelNature {
    /// At most two values: two classes.
    Two,
    /// Names of classes.
    Codes,
    /// Whole numbers that are counts, ages or the like.
    Counts,
    /// Other numbers.
    Decimals,
}

impl LabelNature {
    pub(super) fn is_quantity(self) -> bool {
        matches!(self, LabelNature::Counts | LabelNature::Decimals)
    }
}

/// Decides by the values, in ascending order, and how often each occurs in `rows` rows.
///
/// People number classes from 0 or 1 without large gaps, and each class has its share of the rows. A quantity has many
/// values, or begins elsewhere, or its shares rise to a peak and fall to a tail.
pub(super) fn label_nature(values: &[(f64, u64)], rows: u64) -> LabelNature {
    let (Some(&(low, _)), Some(&(high, _))) = (values.first(), values.last()) else { return LabelNature::Two };
    let count = values.len();
    if count <= 2 {
        return LabelNature::Two;
    }
    let whole = values.iter().all(|(value, _)| value.fract() == 0.0);
    let close = high - low + 1.0 <= 2.0 * count as f64;
    if !whole || (!close && count <= MOST_CODES) {
        return LabelNature::Decimals;
    }
    let from_start = low == 0.0 || low == 1.0 || low == -1.0;
    let is_code = close
        && count <= MOST_CODES
        && rows >= 2 * count as u64
        && (from_start || count <= FEWEST_QUANTITIES)
        && !has_peak_and_tail(values);
    if is_code { LabelNature::Codes } else { LabelNature::Counts }
}

/// Whether counts rise to a peak and fall, up to chance, and one end is rare.
fn has_peak_and_tail(values: &[(f64, u64)]) -> bool {
    if values.len() < FEWEST_QUANTITIES {
        return false;
    }
    let counts: Vec<f64> = values.iter().map(|(_, count)| *count as f64).collect();
    let peak = (0..counts.len()).max_by(|&a, &b| counts[a].total_cmp(&counts[b])).unwrap_or(0);
    // Three standard deviations of a difference of two counts.
    let rises = |a: f64, b: f64| b >= a - 3.0 * (a + b).sqrt();
    let up = counts[..=peak].windows(2).all(|pair| rises(pair[0], pair[1]));
    let down = counts[peak..].windows(2).all(|pair| rises(pair[1], pair[0]));
    // Few rows cannot show a smaller share than that of one row.
    let most = if counts[peak] >= FEWEST_AT_PEAK { 1.0 + TAIL * counts[peak] } else { 0.0 };
    let rare = counts[0].min(counts[counts.len() - 1]) <= most;
    up && down && (rare || has_rare_quarter(&counts))
}

/// Whether one end is rare by a quarter of the values, since a single one may have too few rows.
fn has_rare_quarter(counts: &[f64]) -> bool {
    if counts.len() < FEWEST_IN_QUARTERS {
        return false;
    }
    let rows_a_value = counts.iter().sum::<f64>() / counts.len() as f64;
    let share = QUARTER_TAIL * FEW_ROWS / rows_a_value.max(FEW_ROWS);
    let quarters: Vec<f64> = counts.windows(counts.len() / 4).map(|quarter| quarter.iter().sum()).collect();
    let outer = quarters[0].min(quarters[quarters.len() - 1]);
    outer <= share * quarters.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nature(low: i32, counts: &[u64]) -> LabelNature {
        let values: Vec<(f64, u64)> =
            counts.iter().zip(low..).map(|(&count, value)| (f64::from(value), count)).collect();
        label_nature(&values, counts.iter().sum())
    }

    #[test]
    fn classes_of_known_data_are_codes() {
        assert_eq!(nature(0, &[990; 10]), LabelNature::Codes, "digits");
        assert_eq!(nature(1, &[211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]), LabelNature::Codes, "covtype");
        assert_eq!(nature(0, &[164, 55, 36, 35, 13]), LabelNature::Codes, "heart disease");
        assert_eq!(nature(1, &[166, 368, 6666]), LabelNature::Codes, "thyroid");
        assert_eq!(nature(1, &[45_586, 50, 171, 8_903, 3_267, 10, 13]), LabelNature::Codes, "shuttle");
        assert_eq!(nature(1, &[800; 20]), LabelNature::Codes, "20 newsgroups");
        assert_eq!(nature(1, &[770; 26]), LabelNature::Codes, "letters");
        assert_eq!(nature(0, &[4, 2, 3, 5, 2, 1]), LabelNature::Codes, "too few rows for a peak");
        assert_eq!(nature(0, &[9, 12, 7, 10, 14, 6, 11, 13, 8, 10]), LabelNature::Codes, "a hundred digits");
        assert_eq!(nature(0, &[5, 7, 3, 4, 6, 8, 5, 3, 4, 5]), LabelNature::Codes, "fifty digits");
        let by_frequency = [400, 300, 220, 160, 120, 90, 70, 50, 40, 30];
        assert_eq!(nature(0, &by_frequency), LabelNature::Codes, "classes numbered by their frequency");
        assert_eq!(nature(0, &[3, 5]), LabelNature::Two);
    }

    #[test]
    fn quantities_are_no_classes() {
        let poisson = [37, 147, 293, 391, 391, 313, 208, 119, 60, 26, 11, 4, 1];
        assert_eq!(nature(0, &poisson), LabelNature::Counts, "Poisson counts with mean 4");
        assert_eq!(nature(0, &[1213, 606, 152, 25, 3, 1]), LabelNature::Counts, "Poisson counts with mean 0.5");
        assert_eq!(nature(0, &[13, 32, 32, 27, 18, 14, 7, 4, 2, 1]), LabelNature::Counts, "150 Poisson counts");
        assert_eq!(nature(0, &[41, 81, 80, 55, 27, 12, 4]), LabelNature::Counts, "300 Poisson counts with mean 2");
        let few = [10, 9, 12, 8, 9, 7, 5, 3, 3, 4, 2, 3, 3, 2];
        assert_eq!(nature(0, &few), LabelNature::Counts, "80 counts");
        let ends_late = [28, 37, 32, 20, 7, 10, 3, 2, 3, 4, 2, 2];
        assert_eq!(nature(0, &ends_late), LabelNature::Counts, "150 counts, two of them at the end");
        let gaps =
            [(0, 20), (1, 33), (2, 26), (3, 24), (4, 15), (5, 11), (6, 6), (7, 2), (8, 3), (9, 2), (10, 2), (12, 2)];
        let gaps: Vec<(f64, u64)> = gaps.iter().chain(&[(14, 1), (15, 3)]).map(|&(v, n)| (f64::from(v), n)).collect();
        assert_eq!(label_nature(&gaps, 150), LabelNature::Counts, "150 counts, three of them at the end");
        let bell = [1, 6, 27, 92, 240, 442, 576, 442, 240, 92, 27, 6, 1];
        assert_eq!(nature(-6, &bell), LabelNature::Counts, "rounded normal numbers");
        assert_eq!(nature(19, &[30; 60]), LabelNature::Counts, "ages");
        assert_eq!(nature(3, &[20, 163, 1457, 2198, 880, 175, 5]), LabelNature::Counts, "quality of wine");
        assert_eq!(nature(0, &[20; 50]), LabelNature::Counts, "scores");
        let spaced: Vec<(f64, u64)> = [0.0, 10.0, 20.0, 100.0].map(|value| (value, 40)).to_vec();
        assert_eq!(label_nature(&spaced, 160), LabelNature::Decimals);
        assert_eq!(label_nature(&[(0.5, 40), (1.0, 40), (2.0, 40)], 120), LabelNature::Decimals);
    }
}
