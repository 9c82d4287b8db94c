//! What is recorded of an output: hashes of its numbers, bit for bit, and a few of the numbers, for people who compare
//! them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Keys of `--json` output that differ from run to run, or that hold settings instead of results.
const NOT_RESULTS: [&str; 7] = [
    "seconds",
    "learning_seconds",
    "memory_bytes",
    "peak_memory_bytes",
    "recipe",
    "heldout_error", // repeats a number of the model or of the validation
    "heldout_loss",
];

/// Keys of `inspect --json` that [`Fingerprint::of_model`] covers.
const WEIGHTS: [&str; 2] = ["intercept", "features"];

/// At most this many numbers are kept beside their hash.
const KEPT: usize = 24;

#[derive(Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Fingerprint {
    /// Weights by class and name with the intercepts, the other numbers of each feature, and the largest weights.
    Model { features: usize, weights: String, other: String, intercepts: Vec<f64>, largest: Vec<(String, f64)> },
    /// Numbers in ascending order.
    Numbers { count: usize, hash: String, first: Vec<f64> },
    /// Words and numbers in the order of the output.
    Words { count: usize, hash: String, first: Vec<f64> },
    /// Hashes of all arrays of numbers, sorted.
    Arrays { hashes: Vec<String> },
}

/// FNV-1a of 64 bits.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn number(&mut self, number: f64) {
        self.bytes(&number.to_bits().to_le_bytes());
    }

    fn word(&mut self, word: &str) {
        self.bytes(word.as_bytes());
        self.bytes(&[0]);
    }

    fn hex(&self) -> String {
        format!("{:016x}", self.0)
    }
}

impl Fingerprint {
    /// Takes names, weights and intercepts from `inspect --json`.
    pub fn of_model(inspected: &Value) -> Fingerprint {
        // The order is by class and name, so that a change of the order in the file does not matter.
        let mut features = BTreeMap::new();
        for feature in inspected["features"].as_array().expect("features") {
            let name = feature["name"].as_str().expect("a name");
            let class = feature.get("class").map(Value::to_string).unwrap_or_default();
            let weight = feature["weight"].as_f64().expect("a weight");
            let mut other = feature.clone();
            other.as_object_mut().unwrap().retain(|key, _| key != "weight" && key != "class");
            let before = features.insert((class, name.to_string()), (weight, numbers(&other, &[])));
            assert!(before.is_none(), "{name} occurs twice");
        }
        let intercepts = in_order(&inspected["intercept"]);
        let (mut weights, mut other) = (Hash::new(), Hash::new());
        intercepts.iter().for_each(|intercept| weights.number(*intercept));
        for ((class, name), (weight, rest)) in &features {
            weights.word(class);
            weights.word(name);
            weights.number(*weight);
            rest.iter().for_each(|number| other.number(*number));
        }
        let mut largest: Vec<(String, f64)> =
            features.iter().map(|((class, name), (weight, _))| (format!("{class}{name}"), *weight)).collect();
        largest.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        largest.truncate(3);
        Fingerprint::Model { features: features.len(), weights: weights.hex(), other: other.hex(), intercepts, largest }
    }

    /// Takes the numbers of `inspect --json` that [`Fingerprint::of_model`] leaves out.
    pub fn of_json_beside_weights(inspected: &Value) -> Fingerprint {
        Fingerprint::of_numbers(numbers(inspected, &WEIGHTS))
    }

    /// Takes the numbers of `--json` output, or the words and numbers of other output.
    pub fn of_text(text: &str) -> Fingerprint {
        if let Ok(value @ Value::Object(_)) = serde_json::from_str(text) {
            return Fingerprint::of_numbers(numbers(&value, &[]));
        }
        let (mut hash, mut first, mut count) = (Hash::new(), Vec::new(), 0);
        for word in text.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty()) {
            count += 1;
            if let Ok(number) = word.parse() {
                hash.number(number);
                first.push(number);
            } else {
                hash.word(word);
            }
        }
        first.truncate(KEPT);
        Fingerprint::Words { count, hash: hash.hex(), first }
    }

    fn of_numbers(mut numbers: Vec<f64>) -> Fingerprint {
        let mut hash = Hash::new();
        numbers.iter().for_each(|number| hash.number(*number));
        let count = numbers.len();
        numbers.truncate(KEPT);
        Fingerprint::Numbers { count, hash: hash.hex(), first: numbers }
    }

    /// Takes the arrays of a safetensors file but for bytes, which hold text.
    pub fn of_arrays(bytes: &[u8]) -> Fingerprint {
        let (length, rest) = bytes.split_first_chunk().expect("a safetensors file");
        let (header, body) = rest.split_at(u64::from_le_bytes(*length) as usize);
        let header: BTreeMap<String, Value> = serde_json::from_slice(header).expect("a header of JSON");
        let arrays = header.iter().filter(|(name, array)| *name != "__metadata__" && array["dtype"] != "U8");
        let hash = |(_, array): (&String, &Value)| {
            let [start, end] = [0, 1].map(|at| array["data_offsets"][at].as_u64().expect("an offset") as usize);
            let mut hash = Hash::new();
            hash.bytes(&body[start..end]);
            (start < end).then(|| hash.hex())
        };
        let mut hashes: Vec<String> = arrays.filter_map(hash).collect();
        assert!(!hashes.is_empty(), "a file with arrays");
        hashes.sort();
        Fingerprint::Arrays { hashes }
    }

    /// Whether the numbers kept agree to a relative difference of 1e-9, for results of different processors.
    pub fn agrees(&self, other: &Fingerprint) -> bool {
        use Fingerprint::{Arrays, Model, Numbers, Words};
        match (self, other) {
            (
                Model { features, intercepts, largest, .. },
                Model { features: features2, intercepts: intercepts2, largest: largest2, .. },
            ) => {
                let weights = |list: &[(String, f64)]| list.iter().map(|(_, weight)| *weight).collect::<Vec<_>>();
                features == features2 && close(intercepts, intercepts2) && close(&weights(largest), &weights(largest2))
            }
            (Numbers { count, first, .. }, Numbers { count: count2, first: first2, .. })
            | (Words { count, first, .. }, Words { count: count2, first: first2, .. }) => {
                count == count2 && close(first, first2)
            }
            (Arrays { hashes }, Arrays { hashes: hashes2 }) => hashes.len() == hashes2.len(),
            _ => false,
        }
    }

    /// Describes how another fingerprint differs from this one.
    pub fn difference(&self, now: &Fingerprint) -> String {
        match (self, now) {
            (Fingerprint::Arrays { hashes }, Fingerprint::Arrays { hashes: now }) => {
                let gone = hashes.iter().filter(|hash| !now.contains(hash)).count();
                format!("{gone} of {} arrays are not among the {} arrays found", hashes.len(), now.len())
            }
            (Fingerprint::Numbers { first, .. }, Fingerprint::Numbers { first: now_first, .. }) => {
                let without = |a: &[f64], b: &[f64]| a.iter().copied().filter(|x| !b.contains(x)).collect::<Vec<_>>();
                let (gone, new) = (without(first, now_first), without(now_first, first));
                format!("{} became {}; missing {gone:?}, new {new:?}", self.short(), now.short())
            }
            _ => format!("{} became {}", self.short(), now.short()),
        }
    }

    fn short(&self) -> String {
        match self {
            Fingerprint::Model { features, weights, other, intercepts, largest } => {
                format!("{features} features ({weights}, other {other}), intercepts {intercepts:?}, {largest:?}")
            }
            Fingerprint::Numbers { count, hash, .. } => format!("{count} numbers ({hash})"),
            Fingerprint::Words { count, hash, .. } => format!("{count} words ({hash})"),
            Fingerprint::Arrays { hashes } => format!("{} arrays", hashes.len()),
        }
    }
}

fn close(a: &[f64], b: &[f64]) -> bool {
    let one = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    a.len() == b.len() && a.iter().zip(b).all(one)
}

/// All numbers of a value, in ascending order, but for those under keys that are left out.
fn numbers(value: &Value, left_out: &[&str]) -> Vec<f64> {
    let mut found = match value {
        Value::Object(object) => {
            let kept = |key: &str| !NOT_RESULTS.contains(&key) && !left_out.contains(&key);
            object.iter().filter(|(key, _)| kept(key)).flat_map(|(_, value)| numbers(value, left_out)).collect()
        }
        Value::Array(list) => list.iter().flat_map(|value| numbers(value, left_out)).collect(),
        other => in_order(other),
    };
    found.sort_by(f64::total_cmp);
    found
}

/// A number, or a list of numbers in its order.
fn in_order(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().filter_map(Value::as_f64).collect(),
        other => other.as_f64().into_iter().collect(),
    }
}
