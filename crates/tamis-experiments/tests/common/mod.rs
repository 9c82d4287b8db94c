//! What the tests share: a temporary repository in which the program runs, random data, and what the program printed.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A temporary folder that serves as the repository: `experiments/` is read, `docs/results` is written.
pub struct Folder(tempfile::TempDir);

/// Exit code, standard output and standard error of a run.
pub struct Run {
    code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).unwrap();
        std::fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs the program with arguments separated by blanks, with this folder as the repository unless `--root` is given.
    pub fn run(&self, line: &str) -> Run {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_tamis-experiments"));
        command.args(line.split_whitespace()).current_dir(self.0.path());
        if !line.contains("--root") {
            command.args(["--root", "."]);
        }
        let output = command.output().expect("the program starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs the program, which must succeed; returns standard output.
    pub fn ok(&self, line: &str) -> String {
        let run = self.run(line);
        assert_eq!(run.code, Some(0), "{line}\n{}", run.err);
        run.out
    }

    /// Runs the program, which must succeed and print one line of JSON.
    pub fn json(&self, line: &str) -> Value {
        let text = self.ok(line);
        assert_eq!(text.lines().count(), 1, "one line: {text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

impl Run {
    /// The error message of a run that must have failed with exit code 2.
    pub fn complaint(&self) -> &str {
        assert_eq!(self.code, Some(2), "stdout: {}\nstderr: {}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        let last = self.err.lines().last().expect("a message on standard error");
        last.strip_prefix("tamis-experiments: ").unwrap_or(last)
    }
}

/// The names in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().expect("UTF-8 names")).collect();
    names.sort();
    names
}

/// A small random number generator, so that the data are the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn uniform_below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// A number between 0 and 1 with four digits.
    pub fn unit(&mut self) -> f64 {
        self.uniform_below(10_000) as f64 / 10_000.0
    }
}

/// svmlight rows of two classes with six features out of 1..=40; odd features are frequent in one class, even ones in the
/// other.
pub fn svm(count: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::new();
    for _ in 0..count {
        let class = random.uniform_below(2);
        let mut features = BTreeMap::new();
        while features.len() < 6 {
            let mut id = 1 + random.uniform_below(40);
            if random.uniform_below(4) == 0 && id > 2 {
                id = id - id % 2 + class;
            }
            features.insert(id.clamp(1, 40), 0.25 + random.unit());
        }
        write!(text, "{class}").unwrap();
        features.iter().for_each(|(id, value)| write!(text, " {id}:{value}").unwrap());
        text.push('\n');
    }
    text
}
