//! Offsets: a column that is part of the margin with the weight 1.
//!
//! With f = w·x + o, losses of numbers need no learner of their own: the label y − o is predicted by w·x. For counts,
//! e^(w·x + o) − y·(w·x + o) = eᵒ·(e^(w·x) − y·e⁻ᵒ·(w·x)) + constant: a row of weight eᵒ and label y·e⁻ᵒ.

use super::error::TrainError;
use crate::data::{FeatureKey, Label, RawRows};
use crate::loss::LossKind;

/// The largest offset of counts: e^700 is about the largest number.
const LARGEST: f64 = 700.0;

/// Rows without their offset: it is part of their label, and of their weight if they are counts. `place` tells where a row
/// stands.
pub(crate) fn without_offset(
    rows: &RawRows,
    column: &str,
    loss: LossKind,
    place: impl Fn(usize) -> String,
) -> Result<RawRows, TrainError> {
    let offset_key = FeatureKey::from_name(column);
    let mut kept = RawRows::by_name();
    kept.adds_duplicates = rows.adds_duplicates;
    (kept.tags, kept.left_out) = (rows.tags.clone(), rows.left_out.clone());
    for row in 0..rows.len() {
        let mut offset = 0.0;
        for (key, value) in rows.entries(row) {
            match key {
                key if key == offset_key => offset += value,
                FeatureKey::Index(index) => kept.push_name(&[&index.to_string()], value),
                FeatureKey::Name(name) => kept.push_name(&[name], value),
            }
        }
        let (label, weight) = (&rows.labels[row], rows.weight(row));
        let (label, weight) = match label {
            Label::Number(number) if loss.needs_counts() => {
                let exposure = offset.clamp(-LARGEST, LARGEST).exp();
                (Label::Number(number / exposure), weight * exposure)
            }
            Label::Number(number) => (Label::Number(number - offset), weight),
            other => (other.clone(), weight),
        };
        let is_finite = !matches!(label, Label::Number(number) if !number.is_finite()) && weight.is_finite();
        if !is_finite || offset.abs() > LARGEST && loss.needs_counts() {
            return Err(TrainError::LargeOffset { place: place(row), offset });
        }
        kept.end_row(label, weight, rows.lines[row]);
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(offset: f64, label: f64) -> RawRows {
        let mut rows = RawRows::by_name();
        rows.push_name(&["age"], 3.0);
        rows.push_name(&["log_days"], offset);
        rows.end_row(Label::Number(label), 2.0, 0);
        rows
    }

    #[test]
    fn labels_take_the_offset() {
        let plain = without_offset(&row(2.0, 5.0), "log_days", LossKind::Squared, |_| String::new()).unwrap();
        assert_eq!((plain.entries(0).count(), &plain.labels[0], plain.weight(0)), (1, &Label::Number(3.0), 2.0));
        let count = without_offset(&row(2f64.ln(), 6.0), "log_days", LossKind::Poisson, |_| String::new()).unwrap();
        let Label::Number(rate) = count.labels[0] else { panic!("a number") };
        assert!((rate - 3.0).abs() < 1e-12 && (count.weight(0) - 4.0).abs() < 1e-12);
        let error = without_offset(&row(800.0, 6.0), "log_days", LossKind::Poisson, |_| "f:1".into()).unwrap_err();
        assert!(error.to_string().starts_with("f:1: the offset 800 is too large"), "{error}");
    }
}
