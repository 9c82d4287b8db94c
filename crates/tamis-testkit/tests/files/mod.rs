//! Input files of tests, and their models.

#![allow(dead_code, reason = "each file of tests uses a part of this")]

use std::fmt::Write;
use std::path::PathBuf;

use tamis::data::{Batch, FeatureId};
use tamis::io::{ReadOptions, Source, expand};
use tamis::model::Model;
use tamis::recipe::Recipe;
use tamis::train::{FitOptions, fit};

/// A folder that is removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder; names must differ between tests.
    pub fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a new folder");
        Folder(path)
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).expect("a file");
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The files as sources.
pub fn sources(paths: &[PathBuf]) -> Vec<Source> {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    expand(&names, None).expect("files of known formats")
}

/// Reading options of tests: one thread, rows in memory.
pub fn options(paths: &[PathBuf]) -> FitOptions {
    let read = ReadOptions { threads: 1, ..ReadOptions::default() };
    FitOptions { sources: sources(paths), read, memory: 1 << 30, ..FitOptions::default() }
}

/// The model of a recipe.
pub fn fitted(recipe: &Recipe, options: &FitOptions) -> Model {
    match fit(recipe, options, None, &mut ()) {
        Ok(fitted) => fitted.model,
        Err(error) => panic!("{error}"),
    }
}

/// The error message of a recipe that cannot be fitted.
pub fn refused(recipe: &Recipe, options: &FitOptions) -> String {
    fit(recipe, options, None, &mut ()).expect_err("a refusal").to_string()
}

/// The text of a model file: equal texts are equal to the last bit.
pub fn text(model: &Model) -> String {
    model.to_text()
}

/// Rows as svmlight lines, columns from 1.
pub fn svmlight(batch: &Batch) -> String {
    let mut text = String::new();
    for example in batch.examples() {
        write!(text, "{}", example.target).expect("memory");
        example.row.iter().for_each(|(id, value)| write!(text, " {}:{value}", id + 1).expect("memory"));
        text.push('\n');
    }
    text
}

/// Rows as Vowpal Wabbit lines, in the order of their entries; these features have an explicit zero where they are
/// absent.
pub fn vowpal(batch: &Batch, zeros: &[FeatureId]) -> String {
    let mut text = String::new();
    for example in batch.examples() {
        write!(text, "{} |", example.target).expect("memory");
        zeros
            .iter()
            .filter(|id| !example.row.ids.contains(id))
            .for_each(|id| write!(text, " f{id}:0").expect("memory"));
        example.row.iter().for_each(|(id, value)| write!(text, " f{id}:{value}").expect("memory"));
        text.push('\n');
    }
    text
}

/// Rows as Vowpal Wabbit lines with their importance multiplied by a factor.
pub fn weighted_vowpal(batch: &Batch, factor: f64) -> String {
    let mut text = String::new();
    for example in batch.examples() {
        write!(text, "{} {} |", example.target, factor * example.weight).expect("memory");
        example.row.iter().for_each(|(id, value)| write!(text, " f{id}:{value}").expect("memory"));
        text.push('\n');
    }
    text
}
