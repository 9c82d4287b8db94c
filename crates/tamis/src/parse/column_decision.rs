//! The rules that decide how a column is read, by the cells of the first rows.

use super::column_survey::{ColumnSurvey, different};
use super::date::{DateForm, DatePart, calendar};
use super::missing_cells::Among;
use super::number_form::{CommaRule, NumberForm};
use super::schema::SchemaOptions;
use super::survey::CellPlace;
use super::{number, shown};
use crate::param::{Message, names};

/// The share of cells that may be neither numbers nor dates in a column of numbers or dates.
const ODD_SHARE: f64 = 0.1;
/// A column with fewer different numbers may hold categories.
const FEW_NUMBERS: usize = 20;
/// The share of cells that may be odd in a column of few different numbers.
const STRAY_SHARE: f64 = 0.01;
/// How a column is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    Numeric { form: NumberForm, mean: Option<f64>, odd_is_missing: bool },
    Date { form: DateForm, parts: Vec<DatePart>, mean: Option<f64>, odd_is_missing: bool },
    Category { levels: Option<Vec<String>> },
    Text,
    Ignored,
}

/// The decision about a column, and what to say: the text, and whether it is a warning.
pub(super) type Decided = (Decision, Option<(Message, bool)>);

/// What all columns share.
pub(super) struct Rules {
    rows: u64,
    pub(super) min_count: u64,
    comma: CommaRule,
    dates: Option<Vec<DatePart>>,
}

impl Rules {
    pub(super) fn new(options: &SchemaOptions, delimiter: u8, rows: u64) -> Self {
        let comma = match options.decimal_comma {
            Some(comma) => CommaRule::Given(comma),
            // Where a comma separates fields, people write decimals with a point.
            None => CommaRule::Open { if_unclear: delimiter != b',' },
        };
        let min_count = options.min_count.unwrap_or((rows / 20).clamp(1, 5));
        Rules { rows, min_count, comma, dates: options.dates.clone() }
    }

    /// The form of numbers where no text says otherwise.
    fn plain_form(&self) -> NumberForm {
        NumberForm { decimal_comma: self.comma == CommaRule::Given(true), ..NumberForm::default() }
    }

    /// The decision about a column whose cells are numbers, not all of them whole, with this mean: neither dates nor ids.
    pub(super) fn decide_fractions(&self, mean: Option<f64>) -> Decision {
        Decision::Numeric { form: self.plain_form(), mean, odd_is_missing: false }
    }
}

impl ColumnSurvey {
    /// What a comma means in this column: plain numbers with decimals say that it is not before them.
    fn comma(&self, rules: &Rules) -> CommaRule {
        let decimals = self.numbers.iter().filter(|value| value.fract() != 0.0).count() as u64;
        let others = self.texts.values().map(|cell| cell.count).sum::<u64>();
        if decimals > others { CommaRule::Given(matches!(rules.comma, CommaRule::Given(true))) } else { rules.comma }
    }

    /// The form of the numbers of a label, if it is not the plain one.
    pub(super) fn label_form(self, rules: &Rules) -> Option<NumberForm> {
        let (form, fits) = NumberForm::of(self.counts(), self.comma(rules));
        let is_form = fits > 0 && fits + self.numbers.len() as u64 >= self.present() - self.present() / 10;
        (is_form && !form.has_word()).then_some(form)
    }

    pub(super) fn decide(self, rules: &Rules, options: &SchemaOptions) -> Decided {
        let named = |list: &[String]| list.contains(&self.name);
        if named(&options.text) {
            return (Decision::Text, None);
        }
        if named(&options.keep) {
            let is_number = self.texts.is_empty();
            return if is_number { self.numeric(rules, options) } else { (Decision::Category { levels: None }, None) };
        }
        if named(&options.categorical) {
            return self.without_missing(Among::Categories, &options.na).category(rules);
        }
        if named(&options.numeric) {
            return self.numeric(rules, options);
        }
        self.guess(rules, options)
    }

    /// Decides by the cells alone.
    fn guess(self, rules: &Rules, options: &SchemaOptions) -> Decided {
        // Without texts there are no categories.
        let all = (!self.texts.is_empty()).then(|| self.clone());
        let strict = self.without_missing(Among::Numbers, &options.na);
        if strict.present() == 0 {
            let text = Message::from("it is empty, and left out");
            return (Decision::Ignored, Some((text, false)));
        }
        if let Some(decided) = strict.as_date(rules) {
            return decided;
        }
        match all {
            Some(all) if strict.is_codes() || !strict.is_mostly_numbers(rules) => {
                all.without_missing(Among::Categories, &options.na).category_or_id(rules)
            }
            _ => match strict.number_id() {
                Some(text) => (Decision::Ignored, Some((text, false))),
                None => strict.numeric(rules, options),
            },
        }
    }

    /// Dates, if nearly all cells are dates of one form.
    fn as_date(&self, rules: &Rules) -> Option<Decided> {
        if self.is_date {
            return Some(self.date(DateForm::Days, self.numbers.clone(), rules));
        }
        // Eight digits are a date only if all cells are, and some differ.
        let compact = |value: &f64| DateForm::Digits.parse(&value.to_string());
        if self.texts.is_empty() {
            let years = 19_000_101.0..=21_001_231.0;
            let parsed: Option<Vec<f64>> =
                self.numbers.iter().map(|v| years.contains(v).then(|| compact(v)).flatten()).collect();
            return parsed.filter(|days| different(days) > 2).map(|days| self.date(DateForm::Digits, days, rules));
        }
        if !self.numbers.is_empty() && self.numbers.len() as f64 > ODD_SHARE * self.present() as f64 {
            return None;
        }
        let fits =
            |form: DateForm| self.counts().filter(|(text, _)| form.parse(text).is_some()).map(|(_, n)| n).sum::<u64>();
        // The first form wins where several fit as well.
        let (form, count) =
            DateForm::WRITTEN.into_iter().map(|form| (form, fits(form))).rev().max_by_key(|(_, n)| *n)?;
        if (count as f64) < (1.0 - ODD_SHARE) * self.present() as f64 {
            return None;
        }
        let days = self.counts().filter_map(|(text, count)| Some((form.parse(text)?, count)));
        let days = days.flat_map(|(days, count)| std::iter::repeat_n(days, count as usize)).collect();
        Some(self.date(form, days, rules))
    }

    fn date(&self, form: DateForm, days: Vec<f64>, rules: &Rules) -> Decided {
        let parts = rules.dates.clone().unwrap_or_else(|| {
            let has_times = days.iter().any(|days| days.fract() != 0.0);
            // The weekdays of first days are chance.
            let has_weekdays = days.iter().any(|days| calendar(*days).2 != 1);
            let usual = DatePart::USUAL.into_iter().filter(|part| has_weekdays || *part != DatePart::Weekday);
            usual.chain(has_times.then_some(DatePart::Hour)).collect()
        });
        let odd = self.first_odd(|text| form.parse(text).is_some());
        let odd_is_missing = odd.is_some();
        let made = parts.iter().map(|part| part.name()).collect::<Vec<_>>().join(", ");
        let note = match odd {
            Some((place, found)) => (odd_note(&self.name, "dates", &place, &found), true),
            None => {
                let text = format!("dates, as in {}, become {made}; {{}} chooses", form.example());
                (Message::new(text, [names::DATES]), false)
            }
        };
        (Decision::Date { form, parts, mean: mean(days), odd_is_missing }, Some(note))
    }

    /// Whether the cells are codes of digits, of which some begin with a zero.
    fn is_codes(&self) -> bool {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        !self.texts.is_empty()
            && self.texts.keys().all(|text| digits(text))
            && self.numbers.iter().all(|value| value.fract() == 0.0)
    }

    /// Whether a few odd cells among many numbers are errors or missing values, and not categories.
    fn is_mostly_numbers(&self, rules: &Rules) -> bool {
        if self.texts.is_empty() {
            return true;
        }
        let (form, fits) = NumberForm::of(self.counts(), self.comma(rules));
        let numbers = fits + self.numbers.len() as u64;
        let odd = self.present() - numbers;
        if odd == 0 {
            return true;
        }
        let written = self.texts.keys().filter(|text| form.parse(text).is_some()).count();
        let odd_texts = self.texts.len() - written;
        let share = odd as f64 / self.present() as f64;
        let varied = different(&self.numbers) + written > FEW_NUMBERS;
        share <= STRAY_SHARE || (varied && (share <= ODD_SHARE || (odd_texts <= 2 && share <= 0.5)))
    }

    /// Numbers in the form of most cells. Columns that the user calls numeric may have odd cells, too.
    fn numeric(self, rules: &Rules, options: &SchemaOptions) -> Decided {
        let cells = self.without_missing(Among::Numbers, &options.na);
        let given = rules.plain_form();
        let form = match cells.texts.is_empty() {
            true => given,
            false => match NumberForm::of(cells.counts(), cells.comma(rules)) {
                (_, 0) => given,
                (form, _) => form,
            },
        };
        let odd = cells.first_odd(|text| form.parse(text).is_some());
        let note = match &odd {
            Some((place, found)) => Some((odd_note(&cells.name, "numbers", place, found), true)),
            None if form != NumberForm::default() => {
                let text = cells.counts().find(|(text, _)| number::whole(text.as_bytes()).is_none());
                let value = text.and_then(|(text, _)| Some(format!("{text:?} is the number {}", form.parse(text)?)));
                value.map(|text| (Message::from(text), false))
            }
            None if cells.empty > 0 => {
                let (empty, rows) = (cells.empty, rules.rows);
                Some((
                    Message::new(format!("{empty} of the first {rows} cells are missing: see {{}}"), [names::MISSING]),
                    false,
                ))
            }
            None => None,
        };
        let mean = if cells.texts.is_empty() && cells.mean.is_some() {
            cells.mean
        } else {
            let written = cells.counts().filter_map(|(text, count)| Some((form.parse(text)?, count)));
            let written = written.flat_map(|(value, count)| std::iter::repeat_n(value, count as usize));
            mean(cells.numbers.iter().copied().chain(written).filter(|value| value.is_finite()).collect())
        };
        (Decision::Numeric { form, mean, odd_is_missing: odd.is_some() }, note)
    }

    fn first_odd(&self, fits: impl Fn(&str) -> bool) -> Option<(CellPlace, String)> {
        let odd = self.texts.iter().filter(|(text, _)| !fits(text));
        let first = odd.min_by(|a, b| (a.1.place.line, a.0).cmp(&(b.1.place.line, b.0)))?;
        Some((first.1.place.clone(), shown(first.0.as_bytes())))
    }
}

fn odd_note(column: &str, what: &str, place: &CellPlace, found: &str) -> Message {
    // Braces of the data are no places for parameters.
    let cell = format!("{found:?} ({place})").replace(['{', '}'], "·");
    let cure = "is not: such cells are taken as missing; use {} if the column holds categories";
    Message::new(format!("most cells are {what}, but {cell} {cure}"), [names::CATEGORICAL.with(column)])
}

/// The mean, the same for every order of the values.
pub(super) fn mean(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::survey::Survey;

    /// The decision about a column `c` with these cells, and the note.
    fn decide(cells: impl IntoIterator<Item = impl AsRef<str>>, options: &SchemaOptions) -> (Decision, String) {
        let mut column = ColumnSurvey::new("c");
        let mut rows = 0;
        for cell in cells {
            rows += 1;
            let place = || CellPlace { file: "f.csv".into(), line: rows + 1, column: 1 };
            match number::whole(cell.as_ref().as_bytes()) {
                Some(value) if value.is_finite() && (cell.as_ref() == "0" || !cell.as_ref().starts_with('0')) => {
                    column.number(value);
                }
                _ => column.text(cell.as_ref(), None, place),
            }
        }
        let (decision, note) = column.decide(&Rules::new(options, b',', rows), options);
        (decision, note.map(|(text, _)| text.to_string()).unwrap_or_default())
    }

    fn guess(cells: impl IntoIterator<Item = impl AsRef<str>>) -> (Decision, String) {
        decide(cells, &SchemaOptions::default())
    }

    fn numbers(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("{}.25", 1 + i * 7 % 1000)).collect()
    }

    #[test]
    fn a_marker_of_a_missing_value_changes_no_type() {
        for marker in ["?", "-", "NA", "N/A", "null", "None", ""] {
            let cells = numbers(400).into_iter().chain([marker.to_string()]);
            let (decision, note) = guess(cells);
            assert!(matches!(decision, Decision::Numeric { odd_is_missing: false, .. }), "{marker}: {decision:?}");
            assert!(note.starts_with("1 of the first 401 cells are missing"), "{note}");
        }
    }

    #[test]
    fn an_odd_cell_is_said_with_its_place() {
        let mut cells = numbers(400);
        cells[10] = "oops{}".into();
        let (decision, note) = guess(&cells);
        assert!(matches!(decision, Decision::Numeric { odd_is_missing: true, .. }));
        assert!(note.starts_with("most cells are numbers, but \"oops··\" (f.csv:12:1) is not"), "{note}");
        cells[11] = "1,5".into();
        let (decision, _) = guess(&cells);
        let Decision::Numeric { form, .. } = decision else { panic!("{decision:?}") };
        assert_eq!(form, NumberForm::default(), "points in 399 cells say that the comma is odd");
    }

    #[test]
    fn few_different_numbers_beside_words_are_categories() {
        let sizes = ["8", "10", "12", "XL"].iter().cycle().take(100);
        assert_eq!(guess(sizes), (Decision::Category { levels: None }, String::new()));
        let zips = (0..200).map(|i| format!("{:05}", 1000 + 3000 * (i % 20)));
        assert!(matches!(guess(zips).0, Decision::Category { .. }), "a leading zero makes a code");
    }

    #[test]
    fn forms_of_numbers_are_recognised() {
        let (decision, note) = guess((0..300).map(|i| format!("{},{}", i * 37 % 101, i % 10)));
        let Decision::Numeric { form, mean, .. } = decision else { panic!("{decision:?}") };
        assert!(form.decimal_comma && mean.is_some_and(|mean| (mean - 50.0).abs() < 3.0), "{mean:?}");
        assert!(note.contains("is the number"), "{note}");
        let (decision, _) = guess((0..300).map(|i| format!("${}.50", i * 37 % 101)));
        assert!(matches!(decision, Decision::Numeric { form, .. } if form.unit == "$"));
        let (decision, note) = guess((0..300).map(|i| format!("{}.5 kg", i * 37 % 101)));
        assert!(matches!(decision, Decision::Numeric { form, .. } if form.unit == "kg"));
        assert!(note.contains("\"0.5 kg\" is the number 0.5"), "{note}");
        let sizes = ["10A", "12B", "14C", "9D"].into_iter().cycle().take(300);
        assert!(matches!(guess(sizes).0, Decision::Category { .. }), "no unit of most cells");
    }

    #[test]
    fn decimal_points_are_seen_where_fields_have_other_separators() {
        let mut column = ColumnSurvey::new("c");
        for i in 0..300 {
            column.text(&format!("€{}.70", i * 37 % 1013), None, || CellPlace {
                file: "f".into(),
                line: i,
                column: 1,
            });
        }
        let options = SchemaOptions::default();
        let (decision, _) = column.decide(&Rules::new(&options, b';', 300), &options);
        assert!(matches!(&decision, Decision::Numeric { form, .. } if form.unit == "€"), "{decision:?}");
    }

    #[test]
    fn a_word_after_a_number_is_no_unit_of_a_label() {
        let label = |cells: [&str; 2]| {
            let mut column = ColumnSurvey::new("y");
            for i in 0..100 {
                column.text(cells[i % 2], None, || CellPlace { file: "f".into(), line: 1, column: 1 });
            }
            column.label_form(&Rules::new(&SchemaOptions::default(), b',', 100))
        };
        assert_eq!(label(["2WD", "4WD"]), None);
        assert!(label(["$2", "$4"]).is_some());
    }

    #[test]
    fn dates_and_ids_are_seen() {
        let (decision, note) = guess((0..300).map(|i| format!("20{:02}-{:02}-{:02}", i % 20, 1 + i % 12, 1 + i % 28)));
        let usual = DatePart::USUAL.to_vec();
        assert!(matches!(decision, Decision::Date { form: DateForm::YearMonthDay, parts, .. } if parts == usual));
        assert!(note.contains("become days, month, weekday"), "{note}");
        let (decision, note) = guess((0..300).map(|i| format!("20{:02}-{:02}", i % 20, 1 + i % 12)));
        assert!(matches!(decision, Decision::Date { form: DateForm::YearMonthDay, .. }), "{decision:?}");
        assert!(note.contains("become days, month; "), "{note}");
        let (decision, note) = guess((1..300).map(|i| format!("{i}")));
        assert_eq!(decision, Decision::Ignored);
        assert!(note.starts_with("299 different values in 299 rows look like ids"), "{note}");
        assert_eq!(guess((0..300).map(|i| format!("C{i:04}"))).0, Decision::Ignored);
        let asked = SchemaOptions { numeric: vec!["c".into()], ..Default::default() };
        assert!(matches!(decide((1..300).map(|i| format!("{i}")), &asked).0, Decision::Numeric { .. }));
        let amounts = (0..300).map(|i| format!("{}", (i * 7919) % 100_003));
        let decision = guess(amounts).0;
        assert!(
            matches!(decision, Decision::Numeric { .. }),
            "different whole numbers are no ids by themselves: {decision:?}"
        );
    }

    #[test]
    fn rare_levels_share_a_feature() {
        let cells: Vec<String> =
            (0..400).map(|i| if i % 40 == 1 { format!("rare{i}") } else { format!("l{}", i % 4) }).collect();
        let (decision, note) = guess(&cells);
        assert_eq!(decision, Decision::Category { levels: Some(["l0", "l1", "l2", "l3"].map(String::from).to_vec()) });
        assert!(note.starts_with("10 of 14 levels have fewer than 5 rows"), "{note}");
        let all = SchemaOptions { min_count: Some(1), ..Default::default() };
        assert_eq!(decide(&cells, &all).0, Decision::Category { levels: None });
        let pairs = (0..400).map(|i| format!("p{}", i / 2));
        let (decision, note) = guess(pairs);
        assert!(decision == Decision::Ignored && note.contains("none of its 200 levels has 5 rows"), "{note}");
    }

    #[test]
    fn a_survey_ends_after_a_number_of_rows() {
        let mut survey = Survey::default();
        survey.begin(&["a".into(), "b".into()]);
        (0..19_999).for_each(|_| survey.count_row());
        assert!(!survey.is_full());
        survey.count_row();
        assert!(survey.is_full());
    }

    #[test]
    fn a_survey_ends_after_a_number_of_bytes() {
        let mut survey = Survey::default();
        survey.begin(&["a".into()]);
        let text = "x".repeat(1 << 22);
        for row in 0..64 {
            assert!(!survey.is_full(), "{row}");
            survey.count_row();
            survey.observe(0, crate::parse::column::Cell::Text(&text), CellPlace::default);
        }
        assert!(survey.is_full());
    }
}
