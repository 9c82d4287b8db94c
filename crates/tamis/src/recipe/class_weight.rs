//! Weights of classes, by which the weights of their rows are multiplied.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::table::{Kind, Value};
use crate::data::Label;

/// Weights of classes. As text: `balanced`, pairs such as `yes=5,no=1`, or a JSON object of such pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ClassWeight {
    /// Each class has the same total weight: n / (classes · rows of the class).
    Balanced,
    /// By the text of the label; other classes have 1.
    Given(BTreeMap<String, f64>),
}

impl ClassWeight {
    /// The factor of each class. `rows` counts the rows of a class. `Err` holds a name that is no class.
    pub fn factors(&self, classes: &[Label], rows: impl Fn(&Label) -> u64) -> Result<Vec<f64>, String> {
        match self {
            ClassWeight::Balanced => {
                let counts: Vec<u64> = classes.iter().map(rows).collect();
                let present = counts.iter().filter(|&&count| count > 0).count() as f64;
                let all = counts.iter().sum::<u64>() as f64;
                let factor = |&count: &u64| if count > 0 { all / (present * count as f64) } else { 1.0 };
                Ok(counts.iter().map(factor).collect())
            }
            ClassWeight::Given(weights) => {
                let of =
                    |label: &Label| weights.iter().find(|(name, _)| is_named(label, name)).map(|(_, weight)| *weight);
                let factors: Vec<Option<f64>> = classes.iter().map(of).collect();
                // As in scikit-learn, further names do no harm if every class is named.
                let strange = weights.keys().find(|name| !classes.iter().any(|label| is_named(label, name)));
                match strange.filter(|_| factors.contains(&None)) {
                    Some(name) => Err(name.clone()),
                    None => Ok(factors.into_iter().map(|factor| factor.unwrap_or(1.0)).collect()),
                }
            }
        }
    }
}

/// Whether a text names a label; 1.0 also names the number 1.
fn is_named(label: &Label, name: &str) -> bool {
    match label {
        Label::Number(number) => name.parse() == Ok(*number),
        Label::Text(text) => **text == *name,
        Label::Absent => false,
    }
}

impl Value for ClassWeight {
    const KIND: Kind = Kind::Written { name: "WEIGHTS", expected: "balanced, or weights above 0 such as yes=5,no=1" };

    fn parse(text: &str) -> Option<Self> {
        if text == "balanced" {
            return Some(ClassWeight::Balanced);
        }
        let pair = |pair: &str| -> Option<(String, f64)> {
            let (name, weight) = pair.rsplit_once('=')?;
            Some((name.trim().into(), weight.trim().parse().ok()?))
        };
        let weights: BTreeMap<String, f64> = match text.starts_with('{') {
            true => serde_json::from_str(text).ok()?,
            false => text.split(',').map(pair).collect::<Option<_>>()?,
        };
        let are_valid = weights.values().all(|weight| *weight > 0.0 && weight.is_finite());
        (are_valid && !weights.is_empty()).then_some(ClassWeight::Given(weights))
    }

    fn show(&self) -> Option<String> {
        Some(self.clone().into())
    }
}

impl From<ClassWeight> for String {
    fn from(weight: ClassWeight) -> String {
        match weight {
            ClassWeight::Balanced => "balanced".into(),
            ClassWeight::Given(weights) => {
                let is_plain = |name: &String| !name.contains(',') && !name.starts_with('{') && name.trim() == name;
                let pair = |(name, weight): (&String, &f64)| format!("{name}={weight}");
                match weights.keys().all(is_plain) {
                    true => weights.iter().map(pair).collect::<Vec<_>>().join(","),
                    false => serde_json::to_string(&weights).expect("plain data becomes JSON"),
                }
            }
        }
    }
}

impl TryFrom<String> for ClassWeight {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        ClassWeight::parse(&text).ok_or_else(|| format!("{text:?} are no weights of classes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Vec<Label> {
        vec![Label::Number(1.0), Label::Text("no, never".into()), Label::Text("yes".into())]
    }

    #[test]
    fn balanced_classes_have_the_same_total() {
        let counts = |label: &Label| if *label == Label::Number(1.0) { 0 } else { label.to_string().len() as u64 };
        // 9 and 3 rows of two classes: 12/(2·9) and 12/(2·3); the absent class is no class.
        assert_eq!(ClassWeight::Balanced.factors(&labels(), counts), Ok(vec![1.0, 12.0 / 18.0, 2.0]));
    }

    #[test]
    fn weights_are_given_by_name() {
        let factors = |text: &str| ClassWeight::parse(text).unwrap().factors(&labels(), |_| 1);
        assert_eq!(factors("yes=5"), Ok(vec![1.0, 1.0, 5.0]));
        assert_eq!(factors("1.0=2, yes=0.5"), Ok(vec![2.0, 1.0, 0.5]));
        assert_eq!(factors("{\"no, never\": 3}"), Ok(vec![1.0, 3.0, 1.0]));
        assert_eq!(factors("yse=5"), Err("yse".into()));
        assert_eq!(factors("{\"no, never\": 3, \"1\": 2, \"yes\": 4, \"more\": 9}"), Ok(vec![2.0, 3.0, 4.0]));
    }

    #[test]
    fn texts_round_trip_and_bad_ones_are_refused() {
        for text in ["balanced", "no=1,yes=5", "{\"a,b\":2.5}"] {
            assert_eq!(ClassWeight::parse(text).unwrap().show().unwrap(), text);
        }
        for text in ["", "yes", "yes=", "yes=-1", "yes=0", "yes=inf", "{\"a\":\"b\"}", "Balanced"] {
            assert_eq!(ClassWeight::parse(text), None, "{text}");
        }
    }
}
