//! Labels as written in the input, before they are encoded as targets.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A label as it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// A finite number.
    Number(f64),
    /// Any other text.
    Text(Box<str>),
    /// The row has no label (allowed when predicting).
    Absent,
}

impl Label {
    /// A label from text: a number if it reads as one. `None` if that number is not finite: taken for the name of a
    /// class, one such label would turn a regression into a classification.
    pub fn parse(text: &str) -> Option<Label> {
        match fast_float2::parse::<f64, _>(text) {
            Ok(number) => number.is_finite().then_some(Label::Number(number)),
            Err(_) => Some(Label::Text(text.into())),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Number(number) => write!(f, "{number}"),
            Label::Text(text) => f.write_str(text),
            Label::Absent => f.write_str("(none)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_words_and_what_is_neither() {
        assert_eq!(Label::parse("-1.5e3"), Some(Label::Number(-1500.0)));
        assert_eq!(Label::parse("1 apple"), Some(Label::Text("1 apple".into())));
        for text in ["inf", "-inf", "1e400", "NaN", "Infinity"] {
            assert_eq!(Label::parse(text), None, "{text}");
        }
    }
}
