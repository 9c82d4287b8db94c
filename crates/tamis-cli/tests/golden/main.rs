//! The program's results, recorded bit for bit.
//!
//! This test guards the numbers that users get: weights and intercepts of models, arrays in checkpoints, moments and
//! metrics, numbers in `--json` output, and predictions. A change of the code that is not meant to change results must
//! leave all of them as they are in `recorded.json`. The record does not depend on the names of flags, of JSON keys or
//! of arrays, nor on the layout of files: `fingerprint.rs` says what is taken from each output.
//!
//! Each case in `cases.rs` has a name and command lines. If a flag is renamed, edit the command lines there; the
//! record stays. If a change is meant to alter results, or a case is added, record again and review the difference:
//!
//! ```sh
//! TAMIS_RECORD_GOLDEN=1 cargo test --release -p tamis-cli --test golden
//! ```
//!
//! The last bits of a number may depend on the processor, because the mathematical library and the matrix products
//! choose their code by it. The record says which instructions its processor had. On a processor with others, an
//! output whose bits differ passes if its recorded numbers agree to a relative difference of 1e-9; a warning says so.

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod data;
mod fingerprint;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use cases::Case;
use common::Folder;
use fingerprint::Fingerprint;
use serde::{Deserialize, Serialize};

/// Fingerprints of the outputs of a case, by output.
type Outputs = BTreeMap<String, Fingerprint>;

/// The content of `recorded.json`.
#[derive(Serialize, Deserialize)]
struct Record {
    processor: String,
    cases: BTreeMap<String, Outputs>,
}

impl Record {
    fn path() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/recorded.json")
    }

    fn load() -> Record {
        let text = std::fs::read_to_string(Record::path()).expect("tests/golden/recorded.json");
        serde_json::from_str(&text).expect("a record of golden bits")
    }

    /// Writes one output a line, so that differences are easy to read.
    fn save(&self) {
        let text = |text: &String| serde_json::to_string(text).unwrap();
        let case = |(name, outputs): (&String, &Outputs)| {
            let lines = outputs
                .iter()
                .map(|(output, found)| format!("{}: {}", text(output), serde_json::to_string(found).unwrap()));
            format!("{}: {{\n{}\n}}", text(name), lines.collect::<Vec<_>>().join(",\n"))
        };
        let cases = self.cases.iter().map(case).collect::<Vec<_>>().join(",\n");
        let whole = format!("{{\"processor\": {}, \"cases\": {{\n{cases}\n}}}}\n", text(&self.processor));
        std::fs::write(Record::path(), whole).unwrap();
    }
}

/// The instructions of this processor that results may depend on.
fn processor() -> String {
    #[cfg(target_arch = "x86_64")]
    let found = [
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("fma", std::is_x86_feature_detected!("fma")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let found: [(&str, bool); 0] = [];
    let names = found.iter().filter(|(_, there)| *there).map(|(name, _)| *name);
    std::iter::once(std::env::consts::ARCH).chain(names).collect::<Vec<_>>().join(" ")
}

/// Prints a warning that is visible even if the test passes.
fn warn(text: &str) {
    writeln!(std::io::stderr(), "WARNING: golden: {text}").ok();
}

/// Runs the command lines of a case in a new folder, each with `more` flags, and takes fingerprints of all outputs.
/// If a line does not end as it must, its message is returned.
fn outputs(case: &Case, more: &str) -> Result<Outputs, String> {
    let folder = Folder::new();
    data::write(&folder, &case.lines);
    let inputs = folder.names();
    let mut outputs = Outputs::new();
    for (at, line) in case.lines.iter().enumerate() {
        let (line, code) = line.strip_prefix(cases::FAILS).map_or((line.as_str(), 0), |line| (line, 2));
        let run = folder.run(&format!("{line} {more}"));
        if run.code != Some(code) {
            return Err(format!("{}: tamis {line}: exit code {:?}, not {code}\n{}", case.name, run.code, run.err));
        }
        if !run.out.is_empty() {
            outputs.insert(format!("output of line {}", at + 1), Fingerprint::of_text(&run.out));
        }
    }
    for name in folder.names().into_iter().filter(|name| !inputs.contains(name)) {
        if name.ends_with(".json") {
            let inspected = folder.json(&format!("{} {name}", cases::INSPECT));
            outputs.insert(name.clone(), Fingerprint::of_model(&inspected));
            outputs.insert(format!("{name}, other numbers"), Fingerprint::of_json_beside_weights(&inspected));
        } else {
            outputs.insert(name.clone(), Fingerprint::of_arrays(&folder.read(&name)));
        }
    }
    Ok(outputs)
}

/// Runs all cases on two threads, since most of the time the program is starting or reading.
fn run_all(cases: &[Case]) -> BTreeMap<String, Result<Outputs, String>> {
    let (queue, done) = (Mutex::new(cases.iter()), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let Some(case) = queue.lock().unwrap().next() else { return };
            let outputs = outputs(case, "");
            done.lock().unwrap().insert(case.name.to_string(), outputs);
        }
    };
    std::thread::scope(|scope| [0, 1].map(|_| scope.spawn(work)).map(|thread| thread.join().expect("cases run")));
    done.into_inner().unwrap()
}

/// Describes how the outputs of a case differ from the recorded ones.
fn differences(name: &str, recorded: &Outputs, found: &Outputs, same_processor: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (output, fingerprint) in recorded {
        let Some(now) = found.get(output) else {
            lines.push(format!("{name}: {output}: is missing"));
            continue;
        };
        if now == fingerprint {
            continue;
        }
        if same_processor || !fingerprint.agrees(now) {
            lines.push(format!("{name}: {output}: {}", fingerprint.difference(now)));
        } else {
            warn(&format!("{name}: {output}: bits differ on this processor; numbers agree to 1e-9"));
        }
    }
    let new = found.keys().filter(|output| !recorded.contains_key(*output));
    lines.extend(new.map(|output| format!("{name}: {output}: is not in the record")));
    lines
}

#[test]
fn results_have_the_recorded_bits() {
    let cases = cases::all();
    let (mut found, mut failures) = (BTreeMap::new(), Vec::new());
    for (name, outputs) in run_all(&cases) {
        outputs.map(|outputs| found.insert(name, outputs)).err().into_iter().for_each(|failure| failures.push(failure));
    }
    assert_eq!(found.len() + failures.len(), cases.len(), "each case has a name of its own");
    if std::env::var_os("TAMIS_RECORD_GOLDEN").is_some() {
        assert!(failures.is_empty(), "nothing was recorded:\n{}", failures.join("\n"));
        Record { processor: processor(), cases: found }.save();
        warn("the results were recorded, not compared");
        return;
    }
    let record = Record::load();
    let same_processor = record.processor == processor();
    if !same_processor {
        warn(&format!(
            "recorded on `{}`, this is `{}`: results whose bits differ are compared to 1e-9 only",
            record.processor,
            processor()
        ));
    }
    for (name, outputs) in &found {
        let Some(recorded) = record.cases.get(name) else {
            failures.push(format!("{name}: is not in the record"));
            continue;
        };
        failures.extend(differences(name, recorded, outputs, same_processor));
    }
    let (count, lines) = (failures.len(), failures.join("\n"));
    assert!(failures.is_empty(), "{count} results differ from tests/golden/recorded.json:\n{lines}");
    assert_eq!(found.len(), record.cases.len(), "the record has cases that cases.rs does not have");
}

#[test]
fn the_number_of_threads_changes_no_recorded_bit() {
    let cases = cases::all();
    for name in cases::ON_THREADS {
        let case = cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"));
        let [one, two] = ["--threads 1", "--threads 2"].map(|threads| outputs(case, threads).expect(name));
        assert!(!one.is_empty(), "{name} has outputs");
        assert_eq!(differences(name, &one, &two, true), [] as [&str; 0], "{name}");
    }
}

#[test]
fn a_difference_in_the_last_bit_is_found() {
    let model = |weight: f64| {
        let feature = serde_json::json!({"name": "a", "weight": weight, "scale": 2.0});
        Fingerprint::of_model(&serde_json::json!({"intercept": 0.5, "features": [feature]}))
    };
    let (one, next) = (model(1.0), model(1.0_f64.next_up()));
    assert!(one == model(1.0) && one != next, "one unit in the last place is seen");
    assert!(one.agrees(&next) && !one.agrees(&model(1.0 + 1e-6)), "another processor may differ by 1e-9");
    let message = |number: f64| Fingerprint::of_text(&format!("{{\"seconds\":7,\"error\":{number}}}\n"));
    assert!(message(0.1) == message(0.1) && message(0.1) != message(0.1_f64.next_up()));
}
