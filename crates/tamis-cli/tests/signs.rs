//! Signs that weights must have (`--sign`), in online learners and in solvers.

mod common;

use std::fmt::Write as _;

use common::{Folder, Random};

/// The message of a run that must fail.
fn complaint(folder: &Folder, line: &str) -> String {
    folder.run(line).complaint().into()
}

/// 600 rows of the columns `a`, `b`, `c` and `town`: y rises with a, and falls with b and in Rome.
fn rising_and_falling() -> String {
    let mut random = Random::new(9);
    let mut text = String::from("a,b,c,town,y\n");
    for _ in 0..600 {
        let [a, b, c] = [random.unit(), random.unit(), random.unit()];
        let town = ["Rome", "Oslo"][random.uniform_below(2) as usize];
        let y = 2.0 * a - b - if town == "Rome" { 0.5 } else { 0.0 } + 0.2 * random.unit();
        writeln!(text, "{a:.4},{b:.4},{c:.4},{town},{y:.4}").unwrap();
    }
    text
}

#[test]
fn weights_keep_the_signs_they_must_have() {
    let folder = Folder::new();
    folder.write("d.csv", rising_and_falling());
    for method in ["sgd", "truncated-gradient", "rounding", "fobos", "rda", "ftrl", "ftrl --average", "ftrl --k 3"] {
        let fit = |flags: &str| {
            let run = folder.run(&format!("fit d.csv --target y --method {method} --out m.json {flags}"));
            assert_eq!(run.code, Some(0), "{}", run.err);
            (folder.weights("m.json"), run.err)
        };
        let (free, _) = fit("");
        assert!(free["a"] > 0.0 && free["b"] < 0.0, "{method}: {free:?}");
        let (positive, _) = fit("--sign +");
        assert!(positive["a"] > 0.0 && positive.values().all(|&weight| weight >= 0.0), "{method}: {positive:?}");
        let (negative, _) = fit("--sign -");
        assert!(negative["b"] < 0.0 && negative.values().all(|&weight| weight <= 0.0), "{method}: {negative:?}");
        let (given, notes) = fit("--sign a=-,town=Rome=+,elsewhere=-");
        assert!(given.get("a").is_none_or(|&weight| weight <= 0.0), "{method}: {given:?}");
        assert!(given.get("town=Rome").is_none_or(|&weight| weight >= 0.0), "{method}: {given:?}");
        assert!(given["b"] < 0.0, "{method}: a column without a sign is free: {given:?}");
        let note = "a sign is given for \"elsewhere\", but no row has such a feature";
        assert!(notes.contains(note) && !notes.contains("for \"a\""), "{method}: {notes}");
    }
}

#[test]
fn signs_survive_a_checkpoint() {
    let folder = Folder::new();
    folder.write("d.csv", rising_and_falling());
    let fit = "fit d.csv --target y --method ftrl --passes 1 --sign a=-,b=+ --quiet";
    folder.ok(&format!("{fit} --out whole.json --checkpoint s.st"));
    let more = rising_and_falling().replace("0,", "1,");
    folder.write("more.csv", more);
    folder.ok("fit more.csv --target y --resume s.st --out m.json --quiet");
    let weights = folder.weights("m.json");
    assert!(weights.get("a").is_none_or(|&weight| weight <= 0.0), "{weights:?}");
    assert!(weights.get("b").is_none_or(|&weight| weight >= 0.0), "{weights:?}");
}

#[test]
fn signs_that_cannot_be_kept_are_refused() {
    let folder = Folder::new();
    folder.write("d.csv", rising_and_falling());
    folder.write("three.csv", "x,y\n1,a\n2,b\n3,c\n4,a\n5,b\n6,c\n7,a\n8,b\n9,c\n1,a\n2,b\n3,c\n");
    let message = complaint(&folder, "fit d.csv --target y --sign +");
    let owners = "sgd, truncated-gradient, rounding, fobos, rda, ftrl have";
    assert!(message.contains(&format!("stabilized has no parameter --sign; {owners}")), "{message}");
    let message = complaint(&folder, "fit d.csv --target y --method ftrl --sign a=up");
    assert!(message.contains("--sign must be + or - for all features, or pairs such as age=+,debt=-"), "{message}");
    let message = complaint(&folder, "fit d.csv --target y --method ftrl --sign a=+ --hash-bits 10");
    assert!(message.contains("hashing keeps no names to find the features by"), "{message}");
    let message = complaint(&folder, "fit three.csv --target y --method ftrl --sign +");
    assert!(message.contains("with more than two classes, each has weights of its own"), "{message}");
}

#[test]
fn solvers_keep_signs() {
    let folder = Folder::new();
    folder.write("d.csv", rising_and_falling());
    folder.ok("moments d.csv --target y --folds 4 --out d.moments --quiet");
    for method in ["lasso", "elastic-net", "mcp", "scad"] {
        folder.ok(&format!("solve d.moments --method {method} --sign + --out m.json --quiet"));
        let weights = folder.weights("m.json");
        assert!(weights["a"] > 0.0 && weights.values().all(|&weight| weight > 0.0), "{method}: {weights:?}");
        folder.ok(&format!("solve d.moments --method {method} --sign a=- --out m.json --quiet"));
        let weights = folder.weights("m.json");
        assert!(!weights.contains_key("a") && weights["b"] < 0.0, "{method}: {weights:?}");
    }
    let message = complaint(&folder, "solve d.moments --method ols --sign +");
    assert!(message.contains("ols has no parameter --sign; lasso, elastic-net, mcp, scad have"), "{message}");
    let message = complaint(&folder, "solve d.moments --sign x=+");
    assert!(message.contains("--sign names \"x\", but the moments have no such feature"), "{message}");
}
