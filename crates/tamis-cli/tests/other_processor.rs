//! What another processor may change. The mathematical library of the system and the matrix products choose their code
//! by the features of the processor. Here the features are hidden: from the system's library by its own switch, and from
//! the program by a debugger that clears what it found out about the processor. docs/reliability.md has the promise that
//! these tests check.

mod common;

use std::process::Command;

use common::{Folder, Random, rows, svm};
use serde_json::Value;

const HIDDEN: &str = "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-FMA4,-AVX";

/// Runs the program as if the processor had no vector instructions beyond the oldest.
struct OtherProcessor {
    /// The commands for gdb that clear the program's knowledge of the processor; `None` without a debugger.
    debugger: Option<String>,
}

impl OtherProcessor {
    fn new() -> Self {
        let program = env!("CARGO_BIN_EXE_tamis");
        let listed = Command::new("gdb")
            .args(["-batch", "-nx", "-ex", "set print demangle off", "-ex", "set print asm-demangle off"])
            .args(["-ex", "info variables std_detect.*CACHE", program])
            .output();
        let text = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let symbol = text.split_whitespace().find(|word| word.contains("std_detect") && word.starts_with("_R"));
        if symbol.is_none() {
            use std::io::Write as _;
            // Not eprintln!, which is kept from sight when a test passes.
            writeln!(std::io::stderr(), "NOT CHECKED: matrix products of another processor; gdb is not installed").ok();
        }
        // The highest bit says that the features are known; that none of the others is set, that there are none.
        let none = "0x8000000000000000";
        let clear = |symbol: &str| format!("set {{unsigned long[3]}}&{symbol} = {{{none}, {none}, {none}}}");
        OtherProcessor { debugger: symbol.map(clear) }
    }

    fn run(&self, folder: &Folder, line: &str) {
        let status = match &self.debugger {
            None => folder.process(line).env("GLIBC_TUNABLES", HIDDEN).status().unwrap(),
            Some(clear) => {
                let mut gdb = Command::new("gdb");
                gdb.args(["-batch", "-nx", "-return-child-result", "-ex", "set startup-with-shell off"]);
                gdb.args([
                    "-ex",
                    &format!("set environment GLIBC_TUNABLES={HIDDEN}"),
                    "-ex",
                    "break main",
                    "-ex",
                    "run",
                ]);
                gdb.args(["-ex", clear, "-ex", "delete", "-ex", "continue", "--args", env!("CARGO_BIN_EXE_tamis")]);
                gdb.args(line.split_whitespace()).current_dir(folder.path(""));
                gdb.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status().unwrap()
            }
        };
        assert!(status.success(), "{line}");
    }
}

fn data(folder: &Folder) {
    folder.write("two.svm", svm(&rows(800, 60, 8, 2, 9))).write("small.svm", svm(&rows(120, 8, 4, 2, 3)));
    let row = |at: usize| format!("{}.5 {}:1.25 {}:0.{}\n", at * 7 % 23, 1 + at % 20, 30 + at % 17, 1 + at % 9);
    folder.write("numbers.svm", (0..800).map(row).collect::<String>());
    let mut random = Random::new(5);
    let dense = |_| {
        let values: Vec<f64> = (0..30).map(|_| 0.1 + random.unit()).collect();
        let label = 2.0 * values[0] - values[3] + 0.1 * values[5] + random.unit();
        let entries: String = values.iter().zip(1..).map(|(value, id)| format!(" {id}:{value}")).collect();
        format!("{label}{entries}\n")
    };
    folder.write("dense.svm", (0..300).map(dense).collect::<String>());
}

/// Without exponentials, logarithms, powers and matrix products, results are the same bit for bit.
#[test]
fn what_is_promised_bit_for_bit_is_the_same() {
    let (folder, other) = (Folder::new(), OtherProcessor::new());
    data(&folder);
    folder.ok("fit two.svm -q --method ftrl -o model.json");
    let methods = [
        "sgd",
        "truncated-gradient",
        "rounding",
        "fobos",
        "rda",
        "ftrl --average",
        "tsgd --k 9",
        "fofs --k 9",
        "sofs --k 9",
        "sadmm",
        "single-stage --radius 3",
    ];
    let losses = ["hinge", "squared-hinge", "squared", "huber", "clipped-squared"];
    let fit = |(at, method): (usize, &&str)| format!("fit two.svm -q --method {method} --loss {}", losses[at % 5]);
    let fits = methods.iter().enumerate().map(fit).chain(["fit numbers.svm -q --method ftrl --hash-bits 4".into()]);
    let others = ["convert two.svm", "predict model.json two.svm --output margin", "predict model.json two.svm"];
    for line in fits.chain(others.map(String::from)) {
        let out = |name: &str| match &line[..4] {
            "conv" => format!("{line} {name}.jsonl"),
            _ => format!("{line} -o {name}.jsonl"),
        };
        folder.ok(&out("own"));
        other.run(&folder, &out("other"));
        assert!(folder.read("own.jsonl") == folder.read("other.jsonl"), "{line}");
    }
}

/// All numbers of a JSON document, and everything else of it.
fn numbers(value: &Value, found: &mut Vec<f64>, rest: &mut Vec<String>) {
    match value {
        Value::Number(number) => found.push(number.as_f64().unwrap()),
        Value::Array(list) => list.iter().for_each(|one| numbers(one, found, rest)),
        Value::Object(map) => map.iter().for_each(|(name, one)| {
            rest.push(name.clone());
            numbers(one, found, rest);
        }),
        other => rest.push(other.to_string()),
    }
}

/// The others agree to a relative difference of 1e-9, and have the same features and folds.
#[test]
fn the_others_agree_to_nine_digits() {
    let (folder, other) = (Folder::new(), OtherProcessor::new());
    data(&folder);
    let both = |line: &str, show: &str| {
        let of = |name: &str| (line.replace("OUT", name), show.replace("OUT", name));
        let ((own, show_own), (hidden, show_hidden)) = (of("own"), of("other"));
        folder.ok(&own);
        other.run(&folder, &hidden);
        let parts = |shown: Value| {
            let (mut found, mut rest) = (Vec::new(), Vec::new());
            numbers(&shown, &mut found, &mut rest);
            (found, rest)
        };
        let (own, own_rest) = parts(folder.json(&show_own));
        let (hidden, hidden_rest) = parts(folder.json(&show_hidden));
        let unnamed =
            |rest: Vec<String>| rest.into_iter().filter(|text| !text.contains("own") && !text.contains("other"));
        assert!(unnamed(own_rest).eq(unnamed(hidden_rest)), "{line}: other features");
        assert_eq!(own.len(), hidden.len(), "{line}");
        let largest = own.iter().fold(0.0_f64, |most, number| most.max(number.abs()));
        for (one, two) in own.iter().zip(&hidden) {
            // Numbers that cancel are small against the others of the same result.
            assert!((one - two).abs() <= 1e-9 * one.abs().max(1e-3 * largest), "{line}: {one} {two}");
        }
    };
    for method in ["ftrl", "truncated-gradient", "sgd", "two-stage --k 12", "stabilized --k 12"] {
        both(&format!("fit two.svm -q --method {method} -o OUT.json"), "inspect OUT.json --top 0 --json");
    }
    both("moments dense.svm -q --folds 3 -o OUT.moments", "moments info OUT.moments --json");
    #[cfg(target_arch = "x86_64")]
    if other.debugger.is_some() && is_x86_feature_detected!("fma") {
        assert!(folder.read("own.moments") != folder.read("other.moments"), "the features are hidden");
    }
    for method in ["ols", "ridge --lambda 0.1", "ols-th --k 5", "ofsa --k 5", "lasso --k 5", "mcp --k 5"] {
        folder.ok("moments dense.svm -q -o own.moments");
        other.run(&folder, "moments dense.svm -q -o other.moments");
        both(&format!("solve OUT.moments -q --method {method} -o OUT.json"), "inspect OUT.json --top 0 --json");
    }
    both("metric fit small.svm -q --candidate order-1 --max-iter 5 -o OUT.metric", "metric show OUT.metric --json");
}
