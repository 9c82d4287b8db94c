//! Rows written as text: svmlight, Vowpal Wabbit, JSON lines, CSV and TSV.

use std::collections::BTreeMap;
use std::io::{self, Write};

use tamis::data::{FeatureKey, Label, RawRows};
use tamis::io::Format;

/// Why rows cannot be written in a format.
#[derive(Debug)]
pub enum WriteError {
    Io(io::Error),
    /// The format cannot represent the rows.
    NotPossible(String),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}

impl From<csv::Error> for WriteError {
    fn from(error: csv::Error) -> Self {
        WriteError::Io(error.into())
    }
}

/// Writes rows in a text format.
pub struct RowWriter<W: Write> {
    out: W,
    format: Format,
    /// Rows of a table are stored until all columns are known.
    table: Table,
}

#[derive(Default)]
struct Table {
    columns: BTreeMap<String, usize>,
    rows: Vec<TableRow>,
}

struct TableRow {
    label: Label,
    weight: f64,
    /// Column and value.
    cells: Vec<(usize, f64)>,
}

impl<W: Write> RowWriter<W> {
    pub fn new(out: W, format: Format) -> Self {
        RowWriter { out, format, table: Table::default() }
    }

    pub fn write(&mut self, rows: &RawRows) -> Result<(), WriteError> {
        for row in 0..rows.len() {
            match self.format {
                Format::Svmlight => self.svmlight(rows, row)?,
                Format::VowpalWabbit => self.vowpal_wabbit(rows, row)?,
                Format::JsonLines => self.json_line(rows, row)?,
                _ => self.table_row(rows, row),
            }
        }
        Ok(())
    }

    fn svmlight(&mut self, rows: &RawRows, row: usize) -> Result<(), WriteError> {
        let Label::Number(label) = rows.labels[row] else {
            let text = format!("svmlight needs numeric labels, found {}; write vw, jsonl or csv", rows.labels[row]);
            return Err(WriteError::NotPossible(text));
        };
        if rows.weight(row) != 1.0 {
            let text = "svmlight cannot store example weights; write vw, jsonl or parquet";
            return Err(WriteError::NotPossible(text.into()));
        }
        let mut entries = Vec::new();
        for (key, value) in rows.entries(row) {
            match key {
                FeatureKey::Index(index) => entries.push((index, value)),
                FeatureKey::Name(name) => {
                    let text =
                        format!("svmlight needs feature indices, found the name {name:?}; write vw, jsonl or csv");
                    return Err(WriteError::NotPossible(text));
                }
            }
        }
        entries.sort_by_key(|(index, _)| *index);
        // In Vowpal Wabbit the values of a repeated name add up; an svmlight row may hold each index once, from 1 on.
        entries.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0 && rows.adds_duplicates;
            kept.1 += if is_same { next.1 } else { 0.0 };
            is_same
        });
        if entries.first().is_some_and(|entry| entry.0 == 0) {
            let text = "svmlight indices start at 1, found the index 0; write vw, jsonl or csv";
            return Err(WriteError::NotPossible(text.into()));
        }
        write!(self.out, "{label}")?;
        for (index, value) in entries {
            write!(self.out, " {index}:{value}")?;
        }
        Ok(writeln!(self.out)?)
    }

    fn vowpal_wabbit(&mut self, rows: &RawRows, row: usize) -> Result<(), WriteError> {
        match &rows.labels[row] {
            Label::Number(label) => write!(self.out, "{label} ")?,
            Label::Absent => {}
            Label::Text(text) => {
                let text = format!("Vowpal Wabbit needs numeric labels, found {text:?}; write jsonl or csv");
                return Err(WriteError::NotPossible(text));
            }
        }
        if rows.weight(row) != 1.0 {
            write!(self.out, "{} ", rows.weight(row))?;
        }
        match rows.tags.get(row) {
            Some(tag) if !tag.is_empty() => write!(self.out, "'{tag}|")?,
            _ => write!(self.out, "|")?,
        }
        for (key, value) in rows.entries(row) {
            let name = name_of(key);
            if name.contains([' ', '\t', ':', '|', '\n']) || name.is_empty() {
                let text =
                    format!("Vowpal Wabbit names cannot hold spaces, ':' or '|', found {name:?}; write jsonl or csv");
                return Err(WriteError::NotPossible(text));
            }
            match value {
                1.0 => write!(self.out, " {name}")?,
                value => write!(self.out, " {name}:{value}")?,
            }
        }
        Ok(writeln!(self.out)?)
    }

    fn json_line(&mut self, rows: &RawRows, row: usize) -> Result<(), WriteError> {
        let json = |text: &str| serde_json::Value::from(text).to_string();
        write!(self.out, "{{")?;
        match &rows.labels[row] {
            Label::Number(label) => write!(self.out, "\"y\":{label},")?,
            Label::Text(text) => write!(self.out, "\"y\":{},", json(text))?,
            Label::Absent => {}
        }
        if rows.weight(row) != 1.0 {
            write!(self.out, "\"weight\":{},", rows.weight(row))?;
        }
        if let Some(tag) = rows.tags.get(row).filter(|tag| !tag.is_empty()) {
            write!(self.out, "\"tag\":{},", json(tag))?;
        }
        write!(self.out, "\"x\":{{")?;
        for (at, (key, value)) in rows.entries(row).enumerate() {
            write!(self.out, "{}{}:{value}", if at > 0 { "," } else { "" }, json(&name_of(key)))?;
        }
        Ok(writeln!(self.out, "}}}}")?)
    }

    fn table_row(&mut self, rows: &RawRows, row: usize) {
        let table = &mut self.table;
        let entries = rows.entries(row).map(|(key, value)| {
            let fresh = table.columns.len();
            (*table.columns.entry(name_of(key)).or_insert(fresh), value)
        });
        let cells = entries.collect();
        table.rows.push(TableRow { label: rows.labels[row].clone(), weight: rows.weight(row), cells });
    }

    /// Writes the stored rows of a table and returns the inner writer.
    pub fn finish(mut self) -> Result<W, WriteError> {
        if matches!(self.format, Format::Csv | Format::Tsv) {
            self.write_table()?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_table(&mut self) -> Result<(), WriteError> {
        let delimiter = if self.format == Format::Tsv { b'\t' } else { b',' };
        let table = std::mem::take(&mut self.table);
        let is_weighted = table.rows.iter().any(|row| row.weight != 1.0);
        let mut names: Vec<(&String, usize)> = table.columns.iter().map(|(name, &at)| (name, at)).collect();
        names.sort_by_key(|(name, _)| match FeatureKey::from_name(name) {
            FeatureKey::Index(index) => (index, String::new()),
            FeatureKey::Name(name) => (u32::MAX, name.to_string()),
        });
        let mut out = csv::WriterBuilder::new().delimiter(delimiter).from_writer(&mut self.out);
        let head = std::iter::once("y").chain(is_weighted.then_some("weight"));
        out.write_record(head.chain(names.iter().map(|(name, _)| name.as_str())))?;
        for TableRow { label, weight, cells } in &table.rows {
            let label = if *label == Label::Absent { String::new() } else { label.to_string() };
            let cells: BTreeMap<usize, f64> = cells.iter().copied().collect();
            let weight = is_weighted.then(|| weight.to_string());
            let values = names.iter().map(|(_, at)| cells.get(at).copied().unwrap_or(0.0).to_string());
            out.write_record(std::iter::once(label).chain(weight).chain(values))?;
        }
        Ok(out.flush()?)
    }
}

fn name_of(key: FeatureKey<'_>) -> String {
    match key {
        FeatureKey::Index(index) => index.to_string(),
        FeatureKey::Name(name) => name.to_string(),
    }
}
