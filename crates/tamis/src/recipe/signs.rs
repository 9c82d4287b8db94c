//! Signs that weights must have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::table::{Kind, Value};

/// The sign of a weight; a weight may also be zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sign {
    /// At least 0.
    #[serde(rename = "+")]
    Plus,
    /// At most 0.
    #[serde(rename = "-")]
    Minus,
}

impl Sign {
    /// The interval of the weight.
    pub fn bounds(self) -> (f64, f64) {
        match self {
            Sign::Plus => (0.0, f64::INFINITY),
            Sign::Minus => (f64::NEG_INFINITY, 0.0),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Sign::Plus => "+",
            Sign::Minus => "-",
        }
    }

    fn of_text(text: &str) -> Option<Sign> {
        [Sign::Plus, Sign::Minus].into_iter().find(|sign| sign.text() == text)
    }
}

/// Signs of weights. As text: `+` or `-` for all features, pairs such as `age=+,debt=-`, or a JSON object of such pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Signs {
    /// The same for all features.
    All(Sign),
    /// By the name of the feature; other features are free.
    Given(BTreeMap<String, Sign>),
}

impl Signs {
    /// The named features in the order of their names, if not all features have the same sign.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let named = if let Signs::Given(signs) = self { Some(signs) } else { None };
        named.into_iter().flat_map(|signs| signs.keys().map(String::as_str))
    }

    /// The sign of a feature, if it must have one.
    pub fn of(&self, name: &str) -> Option<Sign> {
        match self {
            Signs::All(sign) => Some(*sign),
            Signs::Given(signs) => signs.get(name).copied(),
        }
    }
}

impl Value for Signs {
    const KIND: Kind =
        Kind::Written { name: "SIGNS", expected: "+ or - for all features, or pairs such as age=+,debt=-" };

    fn parse(text: &str) -> Option<Self> {
        if let Some(sign) = Sign::of_text(text) {
            return Some(Signs::All(sign));
        }
        let pair = |pair: &str| -> Option<(String, Sign)> {
            let (name, sign) = pair.rsplit_once('=')?;
            Some((name.trim().into(), Sign::of_text(sign.trim())?))
        };
        let pairs: Vec<(String, Sign)> = match text.starts_with('{') {
            true => serde_json::from_str::<BTreeMap<String, Sign>>(text).ok()?.into_iter().collect(),
            false => text.split(',').map(pair).collect::<Option<_>>()?,
        };
        let count = pairs.len();
        let signs: BTreeMap<String, Sign> = pairs.into_iter().collect();
        let is_valid = !signs.is_empty() && signs.len() == count && signs.keys().all(|name| !name.is_empty());
        is_valid.then_some(Signs::Given(signs))
    }

    fn show(&self) -> Option<String> {
        Some(self.clone().into())
    }
}

impl From<Signs> for String {
    fn from(signs: Signs) -> String {
        match signs {
            Signs::All(sign) => sign.text().into(),
            Signs::Given(signs) => {
                let is_plain = |name: &String| !name.contains(',') && !name.starts_with('{') && name.trim() == name;
                let pair = |(name, sign): (&String, &Sign)| format!("{name}={}", sign.text());
                match signs.keys().all(is_plain) {
                    true => signs.iter().map(pair).collect::<Vec<_>>().join(","),
                    false => serde_json::to_string(&signs).expect("plain data becomes JSON"),
                }
            }
        }
    }
}

impl TryFrom<String> for Signs {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Signs::parse(&text).ok_or_else(|| format!("{text:?} are no signs of weights"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip_and_bad_ones_are_refused() {
        for text in ["+", "-", "age=+,debt=-", "town=Rome=+", "{\"a,b\":\"-\"}"] {
            assert_eq!(Signs::parse(text).unwrap().show().unwrap(), text);
        }
        assert_eq!(Signs::parse(" b = - ,a=+").unwrap().show().unwrap(), "a=+,b=-");
        for text in ["", "positive", "age", "age=", "age=1", "=+", "age=+,age=-", "age=+,", "{\"a\":\"b\"}", "{}"] {
            assert_eq!(Signs::parse(text), None, "{text}");
        }
    }

    #[test]
    fn features_are_found_by_name() {
        let signs = Signs::parse("town=Rome=+,age=-").unwrap();
        assert_eq!(signs.names().collect::<Vec<_>>(), ["age", "town=Rome"]);
        assert_eq!(
            (signs.of("age"), signs.of("town=Rome"), signs.of("x")),
            (Some(Sign::Minus), Some(Sign::Plus), None)
        );
        assert_eq!(Signs::All(Sign::Plus).of("x"), Some(Sign::Plus));
        assert_eq!(Signs::All(Sign::Plus).names().count(), 0);
    }
}
