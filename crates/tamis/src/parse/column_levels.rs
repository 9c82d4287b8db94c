//! Columns of categories, and columns of ids, which look like them.

use super::column_decision::{Decided, Decision, Rules};
use super::column_survey::{ColumnSurvey, different};
use super::survey::advice_to_use;
use crate::data::TextMap;
use crate::param::{Message, names};

/// A column of text with this share of different cells holds ids, or sentences.
const ID_SHARE: f64 = 0.9;
/// The fewest rows of a table in which ids are looked for.
const ID_ROWS: u64 = 30;

impl ColumnSurvey {
    /// Why a column of numbers looks like an id, if it does.
    pub(super) fn number_id(&self) -> Option<Message> {
        let rows = self.numbers.len();
        let whole = self.texts.is_empty() && self.numbers.iter().all(|value| value.fract() == 0.0);
        if !whole || (rows as u64) < ID_ROWS {
            return None;
        }
        let (low, high) = self.numbers.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
        let (may_count, says_id) = (high - low + 1.0 == rows as f64, says_id(&self.name));
        if !may_count && !says_id {
            return None;
        }
        let distinct = different(&self.numbers);
        let is_count = may_count && distinct == rows;
        let is_named = says_id && 2 * distinct > rows;
        if !is_count && !is_named {
            return None;
        }
        Some(left_out(&self.name, "ids", distinct, rows))
    }

    /// Categories, unless nearly every cell is another.
    pub(super) fn category_or_id(self, rules: &Rules) -> Decided {
        let distinct = different(&self.numbers) + self.texts.len();
        let present = self.present();
        if present >= ID_ROWS && distinct as f64 >= ID_SHARE * present as f64 {
            let words = self.texts.keys().map(|text| text.split_whitespace().count()).sum::<usize>();
            let text = if words >= 3 * self.texts.len().max(1) {
                let text = format!("{distinct} different texts in {present} rows are left out; {{}} uses their words");
                Message::new(text, [names::TEXT.with(&self.name)])
            } else {
                left_out(&self.name, "ids", distinct, present as usize)
            };
            return (Decision::Ignored, Some((text, false)));
        }
        self.category(rules)
    }

    /// Categories; levels of few rows share a feature.
    pub(super) fn category(self, rules: &Rules) -> Decided {
        let mut counts: TextMap<String, u64> =
            self.texts.iter().map(|(text, cell)| (text.to_string(), cell.count)).collect();
        for value in &self.numbers {
            *counts.entry(value.to_string()).or_default() += 1;
        }
        let all = counts.len();
        let mut own: Vec<String> =
            counts.into_iter().filter(|(_, count)| *count >= rules.min_count).map(|(level, _)| level).collect();
        own.sort_unstable();
        if own.len() == all {
            return (Decision::Category { levels: None }, None);
        }
        let rare = all - own.len();
        if own.is_empty() {
            let text =
                format!("it is left out: none of its {all} levels has {} rows; {{}} or {{}} uses it", rules.min_count);
            let ways = [names::MIN_COUNT.with(1), names::TEXT.with(&self.name)];
            return (Decision::Ignored, Some((Message::new(text, ways), false)));
        }
        let text = format!(
            "{rare} of {all} levels have fewer than {} rows and share one feature; {{}} changes it",
            rules.min_count
        );
        (Decision::Category { levels: Some(own) }, Some((Message::new(text, [names::MIN_COUNT]), false)))
    }
}

fn left_out(column: &str, what: &str, distinct: usize, rows: usize) -> Message {
    let text =
        format!("{distinct} different values in {rows} rows look like {what} and are left out; {{}} or {{}} uses them");
    Message::new(text, advice_to_use(column))
}

/// Whether a column's name says that it holds ids.
fn says_id(name: &str) -> bool {
    let lower = name.to_lowercase();
    let ends = ["_id", "-id", " id", ".id", "uuid", "guid"].iter().any(|end| lower.ends_with(end));
    ends || name.ends_with("Id")
        || name.ends_with("ID")
        || ["id", "index", "key", "row", "rowid", "unnamed: 0", ""].contains(&lower.as_str())
}
