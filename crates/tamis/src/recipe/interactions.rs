//! Pairs of columns or namespaces whose products are features.

use serde::{Deserialize, Serialize};

use super::table::{Kind, Value};

/// The largest number of pairs.
const MOST_PAIRS: usize = 1000;

/// Pairs of columns or namespaces. As text: `a*b,a*c`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Interactions {
    pairs: Vec<[String; 2]>,
}

impl Interactions {
    /// The pairs, each once, in the order given.
    pub fn pairs(&self) -> &[[String; 2]] {
        &self.pairs
    }
}

impl Value for Interactions {
    const KIND: Kind = Kind::Written { name: "PAIRS", expected: "up to 1000 pairs of columns such as a*b,a*c" };

    fn parse(text: &str) -> Option<Self> {
        let mut pairs: Vec<[String; 2]> = Vec::new();
        for pair in text.split(',') {
            let names: Vec<&str> = pair.split('*').map(str::trim).collect();
            let [a, b] = names[..] else { return None };
            if a.is_empty() || b.is_empty() {
                return None;
            }
            // a*b and b*a are one product.
            if !pairs
                .iter()
                .any(|[one, other]| (one, other) == (&a.into(), &b.into()) || (one, other) == (&b.into(), &a.into()))
            {
                pairs.push([a.into(), b.into()]);
            }
        }
        (pairs.len() <= MOST_PAIRS).then_some(Interactions { pairs })
    }

    fn show(&self) -> Option<String> {
        Some(self.clone().into())
    }
}

impl From<Interactions> for String {
    fn from(interactions: Interactions) -> String {
        interactions.pairs.iter().map(|[a, b]| format!("{a}*{b}")).collect::<Vec<_>>().join(",")
    }
}

impl TryFrom<String> for Interactions {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Interactions::parse(&text).ok_or_else(|| format!("{text:?} are no pairs of columns"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_once() {
        let found = Interactions::parse("age*town, town*age,age*age").unwrap();
        assert_eq!(found.show().unwrap(), "age*town,age*age");
        for text in ["", "age", "a*b*c", "a*", "*b", "a*b,"] {
            assert_eq!(Interactions::parse(text), None, "{text}");
        }
        let many: Vec<String> = (0..=MOST_PAIRS).map(|number| format!("a*b{number}")).collect();
        assert_eq!(Interactions::parse(&many.join(",")), None);
    }
}
