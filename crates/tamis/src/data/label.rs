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
    /// A label from text: a number if it reads as one.
    pub fn parse(text: &str) -> Label {
        match fast_float2::parse::<f64, _>(text) {
            Ok(number) if number.is_finite() => Label::Number(number),
            _ => Label::Text(text.into()),
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
