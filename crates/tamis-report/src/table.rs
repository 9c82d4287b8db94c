//! A table that can be searched, sorted, copied and saved as CSV by the page's script; without the script it is a plain table.

use tamis::model::summary::count;

use super::html::{Html, clipped, plain, tag};
use super::svg::{place, short};

/// The longest name in a table, in characters: a page must stay small whatever the names of features.
pub const LONGEST_NAME: usize = 200;

/// Rows that are printed; the style sheet has the same number.
const PRINTED_ROWS: usize = 60;

/// A cell.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Nothing.
    Empty,
    /// Text.
    Text(String),
    /// A number, shown with few digits; sorted and exported with all of them.
    Number(f64),
    /// A number and its text.
    Shown(f64, String),
    /// A share, shown in per cent with a meter.
    Share(f64),
    /// A number with a bar: its length from −1 to 1 and its opacity from 0 to 1.
    Bar(f64, f64, f64),
    /// A command to copy.
    Command(String),
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// The title, and the name of the exported file.
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
    search: bool,
    note: Html,
}

impl Table {
    /// A table with these columns. A column is a name, or `name|term` for another term of the glossary.
    pub fn new(name: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| column.to_string()).collect();
        Table { name: name.into(), columns, rows: Vec::new(), search: false, note: Html::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// With a search field.
    pub fn searchable(mut self) -> Self {
        self.search = true;
        self
    }

    /// With a note below.
    pub fn with_note(mut self, note: Html) -> Self {
        self.note = note;
        self
    }

    /// The markup.
    pub fn html(&self) -> Html {
        let head = self.columns.iter().enumerate().map(|(at, name)| self.heading(at, name)).collect::<Html>();
        let body: Html = self.rows.iter().map(|row| plain("tr", row.iter().map(cell).collect::<Html>())).collect();
        let table = plain("table", plain("thead", plain("tr", head)).with(plain("tbody", body)));
        let scroll = tag(
            "div",
            &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", &self.name)],
            table,
        );
        let file = self.name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-") + ".csv";
        let note = if self.note.is_empty() { Html::new() } else { tag("p", &[("class", "note")], self.note.clone()) };
        let printed = if self.rows.len() > PRINTED_ROWS {
            let text = format!("The first {PRINTED_ROWS} of {} rows are printed.", count(self.rows.len() as u64));
            tag("p", &[("class", "note paper")], text)
        } else {
            Html::new()
        };
        let block = self.tools().with(scroll).with(note).with(printed);
        tag("div", &[("class", "table"), ("data-file", &file)], block)
    }

    fn tools(&self) -> Html {
        let button = |act: &str, text: &str| {
            let label = format!("{text}: {}", self.name);
            tag("button", &[("type", "button"), ("data-act", act), ("aria-label", &label)], text)
        };
        let search = if self.search {
            let label = format!("Search in {}", self.name);
            tag("input", &[("type", "search"), ("placeholder", "Search…"), ("aria-label", &label)], "")
        } else {
            Html::new()
        };
        let status = tag("span", &[("class", "status"), ("role", "status")], "");
        let tools = search.with(button("copy", "Copy")).with(button("csv", "Download CSV")).with(status);
        tag("div", &[("class", "tools"), ("hidden", "")], tools)
    }

    fn heading(&self, at: usize, name: &str) -> Html {
        let shown = name.split('|').next().unwrap_or(name);
        let numbers = self.rows.iter().any(|row| row.get(at).is_some_and(is_number));
        let class = if numbers { ("class", "n") } else { ("", "") };
        let title = super::glossary::meaning(name.rsplit('|').next().unwrap_or(name));
        let hint = title.map_or(("", ""), |text| ("title", text));
        let button = tag("button", &[("type", "button"), hint], shown);
        tag("th", &[("scope", "col"), class], button)
    }
}

fn is_number(cell: &Cell) -> bool {
    !matches!(cell, Cell::Empty | Cell::Text(_) | Cell::Command(_))
}

fn cell(cell: &Cell) -> Html {
    let number = |value: f64, class: &str, shown: Html| {
        let digits = if value.is_finite() { value.to_string() } else { String::new() };
        tag("td", &[("class", class), ("data-v", &digits)], shown)
    };
    match cell {
        Cell::Empty => plain("td", ""),
        Cell::Text(text) => tag("td", &[("class", "t")], plain("bdi", clipped(text, LONGEST_NAME))),
        Cell::Number(value) => number(*value, "n", short_number(*value).into()),
        Cell::Shown(value, shown) => number(*value, "n", shown.as_str().into()),
        Cell::Share(share) => {
            let shown = plain("span", per_cent(*share)).with(meter(*share));
            number(*share, "n b", shown)
        }
        Cell::Bar(value, length, opacity) => {
            number(*value, "n b", plain("span", short_number(*value)).with(bar(*length, *opacity)))
        }
        Cell::Command(text) => tag("td", &[("class", "c")], super::html::command(text)),
    }
}

/// A bar to the right for positive numbers, to the left for negative ones.
fn bar(length: f64, opacity: f64) -> Html {
    let length = if length.is_finite() { length.clamp(-1.0, 1.0) } else { 0.0 };
    let (left, width) = (50.0 + 48.0 * length.min(0.0), 48.0 * length.abs());
    let class = if length < 0.0 { "minus" } else { "plus" };
    Html::raw(format!(
        "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <path class=\"zero\" d=\"M50 0V10\"/><rect class=\"{class}\" x=\"{}\" y=\"1\" width=\"{}\" height=\"8\" \
         fill-opacity=\"{:.2}\"/></svg>",
        place(left),
        place(width.max(0.8)),
        0.35 + 0.65 * if opacity.is_finite() { opacity.clamp(0.0, 1.0) } else { 0.0 }
    ))
}

fn meter(share: f64) -> Html {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    Html::raw(format!(
        "<svg class=\"bar meter\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"rail\" y=\"2\" width=\"100\" height=\"6\"/><rect class=\"frequency\" y=\"2\" width=\"{}\" height=\"6\"/></svg>",
        place(100.0 * share)
    ))
}

/// A number with four or five significant digits.
pub fn short_number(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    let digits = match size {
        _ if size == 0.0 || !(1e-4..1e7).contains(&size) => return short(value),
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        size if size >= 0.1 => 4,
        _ => 5,
    };
    let power = 10f64.powi(digits);
    short((value * power).round() / power)
}

/// A share in per cent with about three significant digits; a no-break space keeps the sign with the number.
pub fn per_cent(share: f64) -> String {
    let value = 100.0 * share;
    let text = match value.abs() {
        _ if !value.is_finite() => return "–".into(),
        _ if (value - value.round()).abs() < 1e-9 => format!("{value:.0}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    };
    text + "\u{a0}%"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_all_digits_and_no_markup() {
        let mut table = Table::new("All features", &["features", "weight"]).searchable();
        table.row(vec![Cell::Text("<script>".into()), Cell::Number(1.0 / 3.0)]);
        let html = table.html();
        let text = html.as_str();
        assert!(text.contains("data-v=\"0.3333333333333333\"") && text.contains(">0.3333<"), "{text}");
        assert!(text.contains("&lt;script&gt;") && !text.contains("<script>"));
        assert!(text.contains("data-file=\"all-features.csv\"") && text.contains("type=\"search\""));
    }

    #[test]
    fn numbers_are_written_for_people() {
        let numbers = [
            (1234.56, "1235"),
            (0.123456, "0.1235"),
            (-2.0, "−2"),
            (0.0, "0"),
            (3.0e-9, "3e-9"),
            (-3_556_728.91, "−3\u{2009}556\u{2009}729"),
        ];
        numbers.iter().for_each(|&(value, text)| assert_eq!(short_number(value), text));
        assert_eq!(short_number(f64::NAN), "–");
        let shares = [(0.0213, "2.13"), (1.0, "100"), (0.0, "0"), (0.756, "75.6"), (0.75, "75"), (0.19001, "19.0")];
        shares.iter().for_each(|&(value, text)| assert_eq!(per_cent(value), format!("{text}\u{a0}%")));
    }

    #[test]
    fn bars_stay_inside_whatever_the_number() {
        for length in [f64::NAN, f64::INFINITY, -7.0, 0.0] {
            assert!(!bar(length, f64::NAN).as_str().contains("inf"));
        }
    }
}
