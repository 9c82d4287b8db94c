//! What every parser and loader promises about any bytes at all. The fuzz targets and the ordinary tests share this.

use std::io::{Seek, Write};
use std::path::Path;

use tamis::columnar::{ColumnarKind, ColumnarReader};
use tamis::data::{RawRows, Vocabulary};
use tamis::model::Model;
use tamis::moments::Moments;
use tamis::parse::csv::{Table, header, survey};
use tamis::parse::json_table::{self, JsonTable};
use tamis::parse::jsonl::JsonLines;
use tamis::parse::row_log::{Found, next_frame, records};
use tamis::parse::schema::{Schema, SchemaOptions};
use tamis::parse::survey::Survey;
use tamis::parse::svmlight::Svmlight;
use tamis::parse::vw::VowpalWabbit;
use tamis::parse::{LineParser, Missing, parse_lines};
use tamis::train::Checkpoint;

/// Rows hold finite numbers that are not zero, weights are not negative, and what was parsed can be given ids.
fn rows_are_sound(rows: RawRows, lines: u32) {
    assert!(rows.len() <= lines as usize, "no more rows than lines");
    for row in 0..rows.len() {
        assert!(rows.entries(row).all(|(_, value)| value.is_finite() && value != 0.0));
        assert!(rows.weight(row) >= 0.0);
        assert!(rows.lines[row] < lines);
    }
    let mut vocabulary = Vocabulary::new(None);
    if let Ok((batch, _)) = rows.clone().intern(&mut vocabulary) {
        assert_eq!(batch.len(), rows.len());
        assert_eq!(rows.lookup(&vocabulary).len(), rows.len());
    }
    rows.intern(&mut Vocabulary::new(Some(4))).expect("buckets add up");
}

fn lines_are_sound(bytes: &[u8], parser: &impl LineParser, mut rows: RawRows) {
    let mut errors = Vec::new();
    let lines = parse_lines(bytes, parser, &mut rows, &mut errors);
    assert!(errors.iter().all(|error| error.line < lines && !error.problem.to_string().is_empty()));
    rows_are_sound(rows, lines);
}

/// The log of a server: its frames, and the same bytes as the body of a frame.
pub fn row_log(bytes: &[u8]) {
    let check = |body: &[u8]| {
        for record in records(body, 0).into_iter().flatten() {
            let lines = record.rows.len() as u32;
            rows_are_sound(record.rows, lines);
        }
    };
    check(bytes);
    let mut at = 0;
    while let Ok(Found::Frame(body, end)) = next_frame(bytes, at) {
        assert!(end > at && end <= bytes.len());
        check(body);
        at = end;
    }
}

/// svmlight text.
pub fn svmlight(bytes: &[u8]) {
    lines_are_sound(bytes, &Svmlight { zero_based: false }, RawRows::by_index());
    lines_are_sound(bytes, &Svmlight { zero_based: true }, RawRows::by_index());
}

/// Vowpal Wabbit text.
pub fn vowpal_wabbit(bytes: &[u8]) {
    lines_are_sound(bytes, &VowpalWabbit, RawRows::by_name());
}

/// JSON lines.
pub fn json_lines(bytes: &[u8]) {
    for missing in [Missing::Error, Missing::Zero, Missing::SkipRow] {
        lines_are_sound(bytes, &JsonLines { missing }, RawRows::by_name());
    }
    let (mut seen, options) = (Survey::default(), SchemaOptions::default());
    json_table::survey(bytes, "fuzz", 1, &mut seen);
    let names = seen.names();
    let Ok((known, _)) = seen.decide(&options, b',') else { return };
    let Ok(schema) = Schema::resolve(names, known, &options) else { return };
    lines_are_sound(bytes, &JsonTable::new(schema, false), RawRows::by_name());
}

/// Tables.
pub fn csv(bytes: &[u8]) {
    let Ok((names, start)) = header(bytes, b',') else { return };
    for missing in Missing::ALL {
        let options = SchemaOptions { missing, ..SchemaOptions::default() };
        let mut seen = Survey::default();
        seen.begin(&names);
        let numbers = survey(&bytes[start..], b',', "fuzz", 2, &mut seen);
        let Ok((known, _)) = seen.decide(&options, b',') else { return };
        let Ok(columns) = Schema::resolve(names.clone(), known, &options) else { return };
        let (table, mut errors, mut known_errors) = (Table::new(columns, b',', false), Vec::new(), Vec::new());
        let (rows, lines) = table.parse(&bytes[start..], &mut errors);
        let (known_rows, _) = table.parse_known(&bytes[start..], numbers.as_deref(), &mut known_errors);
        assert!(rows == known_rows && errors == known_errors, "numbers of the survey are those of the table");
        rows_are_sound(rows, lines);
    }
}

/// Model files: refused, or whole and equal to what they write.
pub fn model(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes, Path::new("fuzz")) {
        let again = Model::from_bytes(model.to_text().as_bytes(), Path::new("fuzz")).expect("our own text");
        assert_eq!(again, model);
    }
}

/// Checkpoints: refused or loaded, never a panic.
pub fn checkpoint(bytes: &[u8]) {
    if let Ok(saved) = Checkpoint::from_bytes(bytes, Path::new("fuzz")) {
        saved.recipe().check().ok();
    }
}

/// Files of moments: refused, or whole; then they write what they read.
pub fn moments(bytes: &[u8]) {
    if let Ok(moments) = Moments::from_bytes(bytes, Path::new("fuzz")) {
        let again = Moments::from_bytes(&moments.to_bytes(), Path::new("fuzz")).expect("our own bytes");
        assert_eq!(again.to_bytes(), moments.to_bytes());
    }
}

/// Columnar files of every kind.
pub fn columnar(bytes: &[u8]) {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("it can be written");
    for kind in [ColumnarKind::Parquet, ColumnarKind::Ipc, ColumnarKind::Npz] {
        file.rewind().expect("it can be rewound");
        let copy = file.try_clone().expect("it can be shared");
        let Ok(reader) = ColumnarReader::open(copy, kind, &SchemaOptions::default(), Default::default()) else {
            continue;
        };
        for rows in reader.take(1000).map_while(Result::ok) {
            let lines = rows.lines.iter().max().map_or(0, |line| line + 1);
            rows_are_sound(rows, lines);
        }
    }
}
