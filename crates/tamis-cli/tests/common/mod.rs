//! What the whole-program tests share: a folder to work in, the program run in it, data, and what came out.

#![allow(dead_code, reason = "each file of tests uses a part of this")]

pub mod served;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A temporary folder in which the program runs, so that messages name files without their path.
pub struct Folder(tempfile::TempDir);

/// What a run left: exit code (none if a signal ended it), standard output and standard error.
pub struct Run {
    pub code: Option<i32>,
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

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("text")
    }

    /// The names in this folder, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        names_in(self.0.path())
    }

    /// The program with arguments given as one line; blanks separate them.
    pub fn command(&self, line: &str) -> assert_cmd::Command {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).env_remove("COLUMNS");
        command
    }

    /// The program to be started and watched.
    pub fn process(&self, line: &str) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tamis"));
        command.args(line.split_whitespace()).current_dir(self.0.path());
        command
    }

    /// Runs `tamis line`.
    pub fn run(&self, line: &str) -> Run {
        Run::of(&mut self.command(line))
    }

    /// Runs `tamis line` with something on standard input.
    pub fn run_with(&self, line: &str, input: impl Into<Vec<u8>>) -> Run {
        Run::of(self.command(line).write_stdin(input))
    }

    /// Runs a line of shell in the folder; `$TAMIS` is the program.
    pub fn shell(&self, line: &str) -> Run {
        let mut command = assert_cmd::Command::new("bash");
        command.args(["-c", line]).env("TAMIS", env!("CARGO_BIN_EXE_tamis")).current_dir(self.0.path());
        Run::of(&mut command)
    }

    /// Runs `tamis line`, which must succeed; returns standard output.
    pub fn ok(&self, line: &str) -> String {
        self.run(line).ok(line)
    }

    /// Runs `tamis line`, which must succeed and print one line of JSON.
    pub fn json(&self, line: &str) -> Value {
        one_json_line(&self.ok(line))
    }

    /// Fits with `line` and returns the bytes of the model.
    pub fn model(&self, line: &str) -> Vec<u8> {
        self.ok(&format!("fit {line} --quiet --out fitted.json"));
        self.read("fitted.json")
    }

    /// Weights by name of a model with one output.
    pub fn weights(&self, model: &str) -> BTreeMap<String, f64> {
        weights_of(&self.json(&format!("inspect {model} --top 0 --json")))
    }
}

impl Run {
    fn of(command: &mut assert_cmd::Command) -> Run {
        let output = command.output().expect("the program starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Standard output of a run that must have succeeded.
    pub fn ok(self, line: &str) -> String {
        assert_eq!(self.code, Some(0), "tamis {line}\n{}", self.err);
        self.out
    }

    /// The complaint of a run that must have failed with exit code 2: the last line, without the program's name.
    pub fn complaint(&self) -> &str {
        assert_eq!(self.code, Some(2), "stdout: {}\nstderr: {}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        let last = self.err.lines().last().expect("a complaint on standard error");
        last.strip_prefix("tamis: ").unwrap_or(last)
    }
}

/// A table of 600 rows with the columns `a` (decides), `b` and `y`; `edit` gets row and cells, and may change them.
pub fn table(header: &str, edit: impl Fn(usize, &mut Vec<String>)) -> String {
    let mut random = Random::new(7);
    let mut text = format!("{header}\n");
    for row in 0..600 {
        let (a, b) = (random.unit() * 10.0, random.unit() * 10.0);
        let label = if a + random.unit() > 5.5 { "yes" } else { "no" };
        let mut cells = vec![format!("{a:.3}"), format!("{b:.3}"), label.to_string()];
        edit(row, &mut cells);
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

/// The names in a folder, sorted, hidden ones too.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().expect("UTF-8 names")).collect();
    names.sort();
    names
}

/// Exactly one line, and it is JSON.
pub fn one_json_line(text: &str) -> Value {
    assert_eq!(text.lines().count(), 1, "one line: {text}");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Weights by name from the output of `inspect --json`.
pub fn weights_of(inspected: &Value) -> BTreeMap<String, f64> {
    let features = inspected["features"].as_array().expect("a model with one output");
    let pair = |feature: &Value| (feature["name"].as_str().unwrap().to_string(), feature["weight"].as_f64().unwrap());
    features.iter().map(pair).collect()
}

/// A small generator of random numbers: the tests' data are the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn uniform_below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Between 0 and 1, with few digits, so that text formats keep it.
    pub fn unit(&mut self) -> f64 {
        self.uniform_below(10_000) as f64 / 10_000.0
    }
}

/// One row of [`rows`].
pub struct DataRow {
    pub label: u64,
    pub features: Vec<(u64, f64)>,
}

/// Rows of `nonzeros` features out of 1..=`span`. The label is the class (0, 1, …) that owns most of the features,
/// where class c owns those whose number leaves remainder c: a line tells classes apart, if not perfectly.
pub fn rows(count: usize, span: u64, nonzeros: usize, classes: u64, seed: u64) -> Vec<DataRow> {
    let mut random = Random::new(seed);
    let row = |_| {
        let favourite = random.uniform_below(classes);
        let mut features = BTreeMap::new();
        while features.len() < nonzeros {
            let mut id = 1 + random.uniform_below(span);
            if random.uniform_below(4) == 0 && id > classes {
                id = id - id % classes + favourite;
            }
            features.insert(id.clamp(1, span), 0.25 + random.unit());
        }
        DataRow { label: favourite, features: features.into_iter().collect() }
    };
    (0..count).map(row).collect()
}

/// Rows as svmlight text.
pub fn svm(rows: &[DataRow]) -> String {
    let mut text = String::new();
    for row in rows {
        write!(text, "{}", row.label).unwrap();
        row.features.iter().for_each(|(id, value)| write!(text, " {id}:{value}").unwrap());
        text.push('\n');
    }
    text
}

/// Rows as Vowpal Wabbit text with features called `w<id>`.
pub fn vw(rows: &[DataRow]) -> String {
    let mut text = String::new();
    for row in rows {
        write!(text, "{} |", row.label).unwrap();
        row.features.iter().for_each(|(id, value)| write!(text, " w{id}:{value}").unwrap());
        text.push('\n');
    }
    text
}

/// Rows as a table with columns `c1` … `c<span>`.
pub fn csv(rows: &[DataRow], span: u64) -> String {
    let mut text = String::from("label");
    (1..=span).for_each(|id| write!(text, ",c{id}").unwrap());
    text.push('\n');
    for row in rows {
        let values: BTreeMap<u64, f64> = row.features.iter().copied().collect();
        write!(text, "{}", row.label).unwrap();
        (1..=span).for_each(|id| write!(text, ",{}", values.get(&id).copied().unwrap_or(0.0)).unwrap());
        text.push('\n');
    }
    text
}

/// A line y = 3 + 2·a − b + small noise, as a table.
pub fn line_csv(count: usize) -> String {
    let mut random = Random::new(7);
    let mut text = String::from("a,b,c,y\n");
    for _ in 0..count {
        let [a, b, c] = [random.unit(), random.unit(), random.unit()];
        let y = 3.0 + 2.0 * a - b + 0.02 * (random.unit() - 0.5);
        writeln!(text, "{a},{b},{c},{y:.6}").unwrap();
    }
    text
}

/// The path of a data set, or a loud word that it is missing.
pub fn data(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("TAMIS_DATA").map_or_else(beside, PathBuf::from);
    let path = folder.join(format!("{name}.svm.zst"));
    if !path.exists() {
        use std::io::Write as _;
        // Not eprintln!, which is kept from sight when a test passes.
        let mut loud = std::io::stderr();
        writeln!(loud, "SKIPPED: {} is not there; set TAMIS_DATA to the folder with the data sets", path.display())
            .ok();
        return None;
    }
    Some(path.canonicalize().expect("it exists"))
}

/// The rows of a data set, each with the end of its line.
pub fn real_rows(name: &str) -> Option<Vec<String>> {
    let text = String::from_utf8(zstd::decode_all(std::fs::File::open(data(name)?).unwrap()).unwrap()).unwrap();
    Some(text.split_inclusive('\n').filter(|line| !line.starts_with('#')).map(String::from).collect())
}

/// One row in this many is a test row, the others are training rows.
pub fn parted(rows: &[String], every: usize) -> [String; 2] {
    [false, true].map(|test| {
        let part = rows.iter().enumerate().filter(|(row, _)| row.is_multiple_of(every) == test);
        part.map(|(_, row)| row.as_str()).collect()
    })
}
