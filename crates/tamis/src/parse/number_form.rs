//! Numbers as people write them in tables: `1,5`, `1,234.50`, `$12.50`, `12 %`, `80 kg`, `(300)`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::number;

/// How the numbers of a column are written, beyond the plain `-12.5e3`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberForm {
    /// Whether a comma stands before the decimals, and points group thousands.
    #[serde(default, skip_serializing_if = "is_false")]
    pub decimal_comma: bool,
    /// The unit that numbers may have: a currency, `%`, or a word after the number such as `kg`; empty if none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

pub(super) fn is_false(flag: &bool) -> bool {
    !flag
}

/// Units that may stand before or after a number.
const UNITS: [&str; 11] = ["%", "$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY"];
/// The longest word that is a unit, in characters.
const LONGEST_UNIT: usize = 8;

impl NumberForm {
    /// Whether numbers are written plainly: `-12.5e3`.
    pub fn is_plain(&self) -> bool {
        !self.decimal_comma && self.unit.is_empty()
    }

    /// Whether the unit is a word, as in `80 kg`: a label of this form may as well be the name of a class.
    pub(super) fn has_word(&self) -> bool {
        !self.unit.is_empty() && !UNITS.contains(&self.unit.as_str())
    }

    /// The number that the whole text writes in this form. A unit may be left out, but may not be another one.
    pub fn parse(&self, text: &str) -> Option<f64> {
        if !self.decimal_comma
            && let Some(value) = number::whole(text.as_bytes())
        {
            return Some(value);
        }
        let parts = Parts::of(text)?;
        if !parts.unit.is_empty() && parts.unit != self.unit {
            return None;
        }
        let (decimal, group) = if self.decimal_comma { (',', '.') } else { ('.', ',') };
        let value = number::whole(ungrouped(parts.digits, decimal, group)?.as_bytes())?;
        Some(if parts.is_negative { -value } else { value })
    }

    /// The form of most of these texts, and the number of cells in it. `comma` says what a comma means in texts that
    /// leave it open, such as `1,234`.
    pub fn of<'a>(texts: impl Iterator<Item = (&'a str, u64)> + Clone, comma: CommaRule) -> (NumberForm, u64) {
        let mut units: BTreeMap<&str, u64> = BTreeMap::new();
        for (unit, count) in texts.clone().filter_map(|(text, count)| Some((Parts::of(text)?.unit, count))) {
            *units.entry(unit).or_default() += if unit.is_empty() { 0 } else { count };
        }
        let unit = units.into_iter().max_by_key(|(_, count)| *count).map_or("", |(unit, _)| unit);
        let decimal_comma = match comma {
            CommaRule::Given(decimal_comma) => decimal_comma,
            CommaRule::Open { if_unclear } => {
                let signs: Vec<_> = texts.clone().filter_map(|(text, _)| comma_sign(Parts::of(text)?.digits)).collect();
                let (yes, no) =
                    (signs.iter().filter(|sign| **sign).count(), signs.iter().filter(|sign| !**sign).count());
                yes > no || (yes + no == 0 && if_unclear)
            }
        };
        let form = NumberForm { decimal_comma, unit: unit.to_string() };
        let fits = texts.filter(|(text, _)| form.parse(text).is_some()).map(|(_, count)| count).sum();
        (form, fits)
    }
}

/// What is known about commas before the cells are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommaRule {
    /// Whether a comma stands before the decimals.
    Given(bool),
    /// The cells decide; `if_unclear` is taken where none of them does.
    #[allow(missing_docs, reason = "the comment above says it")]
    Open { if_unclear: bool },
}

/// A number taken apart.
struct Parts<'a> {
    is_negative: bool,
    unit: &'a str,
    digits: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Parts<'a>> {
        let mut rest = text.trim();
        let mut is_negative = false;
        if let Some(inner) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            (rest, is_negative) = (inner.trim(), true);
        }
        let mut unit = "";
        // The sign may stand before or after the currency.
        for _ in 0..2 {
            if let Some(after) = rest.strip_prefix(['-', '−']) {
                (rest, is_negative) = (after.trim_start(), true);
            }
            for one in UNITS {
                let stripped = rest.strip_prefix(one).or_else(|| rest.strip_suffix(one));
                if let Some(inner) = stripped.filter(|_| unit.is_empty()) {
                    (rest, unit) = (inner.trim(), one);
                }
            }
        }
        if unit.is_empty() {
            (rest, unit) = without_word(rest);
        }
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',')
            && rest.ends_with(|c: char| c.is_ascii_digit())
            && rest.chars().all(|c| c.is_ascii_digit() || is_group(c) || c == '.' || c == ',');
        is_number.then_some(Parts { is_negative, unit, digits: rest })
    }
}

/// A number and the word after it, if the word is short enough for a unit.
fn without_word(text: &str) -> (&str, &str) {
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '°' | '²' | '³' | '/');
    let number = text.trim_end_matches(is_letter);
    let word = &text[number.len()..];
    if word.chars().count() <= LONGEST_UNIT { (number.trim_end(), word) } else { (text, "") }
}

/// Blanks and apostrophes that group thousands.
fn is_group(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'' | '’')
}

/// The number with a decimal point and without separators of thousands.
fn ungrouped(digits: &str, decimal: char, group: char) -> Option<String> {
    let (whole, decimals) = match digits.split_once(decimal) {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (digits, None),
    };
    if decimals.is_some_and(|decimals| !decimals.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let groups: Vec<&str> = whole.split(|c| c == group || is_group(c)).collect();
    let later = groups[1..].iter().all(|one| one.len() == 3);
    let first = groups.len() == 1 || (1..=3).contains(&groups[0].len());
    let plain = groups.iter().all(|one| one.bytes().all(|byte| byte.is_ascii_digit()));
    (later && first && plain).then(|| format!("{}.{}", groups.concat(), decimals.unwrap_or("0")))
}

/// Whether the digits show that a comma is the decimal sign; `None` if they leave it open.
fn comma_sign(digits: &str) -> Option<bool> {
    // A sign that occurs once and may as well group thousands leaves it open; one that occurs twice groups them.
    let shows = |sign: char, at: usize| {
        let may_group = digits.len() - at == 4 && (1..=3).contains(&at) && !digits.starts_with('0');
        if digits.matches(sign).count() > 1 { Some(false) } else { (!may_group).then_some(true) }
    };
    match (digits.rfind(','), digits.rfind('.')) {
        (Some(comma), Some(point)) => Some(comma > point),
        (Some(comma), None) => shows(',', comma),
        (None, Some(point)) => shows('.', point).map(|is_decimal| !is_decimal),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(texts: &[&str]) -> (NumberForm, u64) {
        NumberForm::of(texts.iter().map(|text| (*text, 1)), CommaRule::Open { if_unclear: false })
    }

    #[test]
    fn cells_tell_the_form_of_their_column() {
        let plain = |decimal_comma, unit: &str| NumberForm { decimal_comma, unit: unit.into() };
        assert_eq!(form(&["1,5", "-2,25", "1.234,5"]), (plain(true, ""), 3));
        assert_eq!(form(&["1,234.50", "12"]), (plain(false, ""), 2));
        assert_eq!(form(&["1,234", "1,234,567", "950"]), (plain(false, ""), 3), "groups of three are thousands");
        assert_eq!(form(&["$12.50", "-$3", "$1,000", "7"]), (plain(false, "$"), 4));
        assert_eq!(form(&["12%", "7 %", "$3"]), (plain(false, "%"), 2), "another unit does not fit");
        assert_eq!(form(&["0,125", "1,250"]), (plain(true, ""), 2), "a leading zero tells");
        assert_eq!(form(&["80 kg", "7kg", "-3.5 kg", "4 m"]), (plain(false, "kg"), 3), "the most frequent word");
        assert_eq!(form(&["21 °C", "12"]), (plain(false, "°C"), 2));
        assert_eq!(form(&["1.234.567", "1.234"]), (plain(true, ""), 2), "points that group thousands");
    }

    #[test]
    fn a_decimal_point_says_that_a_comma_is_none() {
        let open = CommaRule::Open { if_unclear: true };
        let form = |texts: &[&str]| NumberForm::of(texts.iter().map(|text| (*text, 1)), open);
        assert_eq!(form(&["€1890.70", "€1,234", "€5"]).1, 3);
        assert_eq!(form(&["$0.125", "$1.250"]), (NumberForm { decimal_comma: false, unit: "$".into() }, 2));
        assert!(form(&["€1.234", "€5"]).0.decimal_comma, "left open, the rule of the table decides");
    }

    #[test]
    fn values_are_what_people_mean() {
        let comma = NumberForm { decimal_comma: true, unit: "€".into() };
        assert_eq!(comma.parse("1.234,5 €"), Some(1234.5));
        assert_eq!(comma.parse("−0,5"), Some(-0.5));
        assert_eq!(comma.parse("12.50"), None, "a point groups thousands here");
        let point = NumberForm { decimal_comma: false, unit: "$".into() };
        assert_eq!(point.parse("($1,200.25)"), Some(-1200.25));
        assert_eq!(point.parse("1 234 567"), Some(1_234_567.0));
        assert_eq!(point.parse("1e3"), Some(1000.0));
        for text in ["", "$", "12,34", "1,2,3", "twelve", "1.2.3", "10:30", "5 apples", "A-1"] {
            assert_eq!(point.parse(text), None, "{text}");
        }
    }
}
