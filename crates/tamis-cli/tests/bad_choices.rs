//! Invalid parameters, damaged models, and files that cannot be written.

mod common;

use std::process::Stdio;

use common::{Folder, line_csv, rows, svm};

/// A folder with data and a good model.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(200, 30, 5, 2, 1)));
    folder.ok("fit d.svm --quiet --out model.json");
    folder
}

/// Fits with `line`; returns the error message, after checking that the model did not change.
fn refused(folder: &Folder, line: &str) -> String {
    let (names, model) = (folder.names(), folder.read("model.json"));
    let run = folder.run(&format!("fit d.svm --out model.json {line}"));
    assert_eq!(run.code, Some(2), "{line}: {}", run.err);
    assert_eq!((folder.names(), folder.read("model.json")), (names, model), "{line}");
    run.err
}

#[test]
fn more_threads_than_any_machine_has_are_refused() {
    let folder = folder();
    for line in ["--threads 100000", "--threads some"] {
        let output = refused(&folder, line);
        assert!(output.contains("--threads <N>") && output.contains("expected a whole number up to 1024"), "{output}");
    }
    folder.ok("fit d.svm --quiet --threads 100 --out many.json");
    assert_eq!(folder.read("many.json"), folder.read("model.json"));
}

#[test]
fn numbers_out_of_range_are_reported_with_their_interval() {
    let folder = folder();
    for (flags, complaint) in [
        ("--method ftrl --l1 -1", "--l1 must be a number of at least 0, got -1"),
        ("--method ftrl --l1 nan", "--l1 must be a number of at least 0, got NaN"),
        ("--method sgd --learning-rate 0", "--learning-rate must be a number above 0, got 0"),
        ("--method sgd --power 2", "--power must be a number of at least 0 and at most 1, got 2"),
        ("--method rounding --period 0.5", "--period must be a whole number of at least 1"),
        ("--k 0", "--k must be a whole number of at least 1, got 0"),
        ("--passes 0", "--passes must be a whole number of at least 1, got 0"),
        ("--hash-bits 40", "--hash-bits must be a whole number of at least 1 and at most 31, got 40"),
    ] {
        let output = refused(&folder, flags);
        assert!(output.starts_with(&format!("tamis: {complaint}")), "{flags}: {output}");
    }
}

#[test]
fn exclusive_parameters_are_reported_with_advice() {
    let folder = folder();
    for (flags, complaint) in [
        ("--method ftrl --k 5 --l1 1", "--k and --l1 are exclusive: both determine how sparse the model is"),
        ("--method rda --average", "rda has no parameter --average; sgd, "),
        ("--method rda --schedule constant", "rda has no parameter --schedule; sgd, "),
        (
            "--method tsgd --k 5 --schedule auto",
            "tsgd does not support --schedule auto: it needs one rate for all weights",
        ),
        ("--method sgd --l2 1", "sgd has no parameter --l2; fobos, rda, ftrl have"),
        ("--method sgd --refit", "--refit needs --k or --l1, to select features first"),
        ("--method sadmm --admm-rho 0", "--admm-rho must be a number above 0, got 0"),
        ("--l1 1", "stabilized has no parameter --l1; truncated-gradient, fobos, rda, ftrl, sadmm have"),
    ] {
        let output = refused(&folder, flags);
        assert!(output.starts_with(&format!("tamis: {complaint}")), "{flags}: {output}");
    }
}

#[test]
fn unknown_names_are_reported_with_the_known_ones() {
    let folder = folder();
    for (flags, complaint) in [
        ("--method magic", "truncated-gradient"),
        ("--loss magic", "squared-hinge"),
        ("--task magic", "one of auto, binary, multiclass, regression"),
        ("--format magic", "one of svm, vw, csv"),
        ("--missing magic", "one of auto, mean, indicator, zero, skip-row, error"),
        ("--memory much", "expected a number of bytes such as 500M or 2G"),
        ("--shuffle --no-shuffle", "cannot be used with"),
        ("--memory 5MG", "expected a number of bytes such as 500M or 2G"),
        ("--checkpoint-every 5", "--checkpoint-every requires --checkpoint FILE"),
        ("--no-such-flag", "--no-such-flag"),
    ] {
        let output = refused(&folder, flags);
        assert!(output.contains(complaint), "{flags}: {output}");
    }
    let output = folder.run("synth magic -o x");
    assert!(output.err.contains("unknown kind \"magic\"; expected one of") && output.err.contains("double-ring"));
}

#[test]
fn divergence_is_reported_with_row_and_advice() {
    let folder = folder();
    let names = folder.names();
    folder.write("line.csv", line_csv(500));
    for flags in [
        "--method sgd --schedule constant --learning-rate 50",
        "--method tsgd --k 2 --schedule constant --learning-rate 9",
    ] {
        let run = folder.run(&format!("fit line.csv {flags} --out new.json"));
        let message = run.complaint();
        assert!(message.starts_with("row ") && message.contains("is no longer a finite number"), "{message}");
        assert!(message.ends_with("; lower --learning-rate or scale the data"), "{message}");
    }
    assert_eq!(folder.names().len(), names.len() + 1, "no model was written");
}

#[test]
fn a_model_must_be_one() {
    let folder = folder();
    let text = folder.text("model.json");
    let message = |content: &str| {
        folder.write("m.json", content);
        let complaints = ["predict m.json d.svm", "eval m.json d.svm", "inspect m.json"].map(|line| folder.run(line));
        assert!(complaints.iter().all(|run| run.complaint() == complaints[0].complaint() && run.out.is_empty()));
        complaints[0].complaint().to_string()
    };
    assert_eq!(
        message(&text.replace("\"version\":2", "\"version\":9")),
        "m.json: written by format 9, this build reads up to 2; upgrade tamis"
    );
    assert!(message(&text.replace("\"rows\":200", "\"rows\":201")).starts_with("m.json: damaged: the checksum is"));
    assert!(message("1 1:1\n").starts_with("m.json: not a tamis model: "));
    assert!(message("").starts_with("m.json: not a tamis model: "));
    assert!(message("{\"weights\": [1]}").starts_with("m.json: not a tamis model: "));
    assert!(message(&text[..text.len() / 2]).starts_with("m.json: not a tamis model: "));
    let run = folder.run("predict none.json d.svm");
    assert!(run.complaint().starts_with("none.json: No such file"));
}

#[test]
fn no_flipped_bit_of_a_model_goes_unnoticed() {
    let folder = folder();
    let (bytes, expected) = (folder.read("model.json"), folder.ok("predict model.json d.svm --output margin"));
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut bad = bytes.clone();
        bad[at] ^= 4;
        folder.write("flipped.json", bad);
        let run = folder.run("predict flipped.json d.svm --output margin");
        assert!(run.code == Some(2) || run.out == expected, "byte {at}");
        assert!(at < 80 || run.complaint().starts_with("flipped.json: "), "byte {at}");
    }
}

#[test]
fn unknown_labels_are_reported_with_their_line() {
    let folder = folder();
    folder.write("new.svm", "0 1:1\n# more\n7 2:1\n");
    let output = folder.run("eval model.json new.svm");
    assert_eq!(output.complaint(), "new.svm:3: label 7 is not a class of the model (0, 1)");
    folder.write("none.vw", "| 1\n");
    assert_eq!(folder.run("eval model.json none.vw").complaint(), "none.vw:1: the row has no label");
    folder.write("line.csv", line_csv(100)).ok("fit line.csv --quiet --out line.json");
    folder.write("text.csv", "a,b,c,y\n1,2,3,high\n");
    assert!(folder.run("eval line.json text.csv").complaint().starts_with("text.csv:2: label high is not a number"));
}

#[test]
fn the_output_path_is_checked_before_training() {
    let folder = folder();
    folder.write("sub/x", "");
    for flags in ["--out none/model.json", "--out sub", "--checkpoint none/c.tamis"] {
        let run = folder.run(&format!("fit d.svm {flags}"));
        assert!(run.complaint().contains("cannot be written: "), "{flags}");
        assert_eq!(run.err.lines().count(), 1, "{flags}: nothing was learned first");
    }
}

/// A shell line under which files may grow to one block of 1024 bytes, as if the disk were full.
fn on_a_full_disk(line: &str) -> String {
    format!("ulimit -f 1; trap '' XFSZ; exec $TAMIS {line}")
}

#[test]
fn a_full_disk_leaves_the_old_model_and_no_temporary_file() {
    let folder = folder();
    let (names, model) = (folder.names(), folder.read("model.json"));
    assert!(model.len() > 1024);
    let run = folder.shell(&on_a_full_disk("fit d.svm --quiet --seed 1 --out model.json"));
    let message = run.complaint();
    assert!(message.starts_with("model.json: cannot be written: File too large"), "{message}");
    assert!(message.ends_with("the old file is unchanged"), "{message}");
    assert_eq!((folder.names(), folder.read("model.json")), (names, model));
    let run = folder.run("fit d.svm --quiet --out /dev/full");
    assert!(run.complaint().starts_with("/dev/full: cannot be written: No space left on device"));
}

#[test]
fn a_full_disk_leaves_the_old_checkpoint() {
    let folder = folder();
    folder.ok("fit d.svm --quiet --out m.json --checkpoint c.tamis");
    let (names, checkpoint) = (folder.names(), folder.read("c.tamis"));
    let run =
        folder.shell(&on_a_full_disk("fit d.svm --quiet --out m.json --checkpoint c.tamis --checkpoint-every 50"));
    // A checkpoint that fails on the way is no reason to stop; the model at the end is.
    assert!(run.complaint().starts_with("m.json: cannot be written: File too large"), "{}", run.err);
    assert_eq!((folder.names(), folder.read("c.tamis")), (names, checkpoint));
}

#[test]
fn a_full_disk_while_rows_are_stored_is_reported() {
    let folder = folder();
    let run = folder.shell(&on_a_full_disk("fit d.svm --quiet --passes 2 --memory 0 --cache-dir . --out model.json"));
    let message = run.complaint();
    assert!(message.starts_with("the temporary file for rows cannot be written: File too large"), "{message}");
    assert!(message.contains("choose another folder with --cache-dir"), "{message}");
    let run = folder.run("fit d.svm --quiet --passes 2 --memory 0 --cache-dir none --out model.json");
    assert!(run.complaint().starts_with("the temporary file for rows cannot be created: "));
}

#[test]
fn a_full_disk_is_reported_by_every_command_that_writes() {
    let folder = folder();
    for (line, complaint) in [
        ("predict model.json d.svm > /dev/full", "output: No space left on device"),
        ("eval model.json d.svm > /dev/full", "output: No space left on device"),
        ("inspect model.json > /dev/full", "output: No space left on device"),
        ("convert d.svm - --to vw > /dev/full", "output: No space left on device"),
    ] {
        let run = folder.shell(&format!("$TAMIS {line}"));
        assert!(run.complaint().starts_with(complaint), "{line}: {}", run.err);
    }
    let names = folder.names();
    for name in ["c.vw", "c.csv", "c.parquet", "c.npz"] {
        let run = folder.shell(&on_a_full_disk(&format!("convert d.svm {name}")));
        assert!(run.complaint().contains("File too large"), "{name}: {}", run.err);
    }
    assert_eq!(folder.names(), names, "no half a file remains");
}

/// A closed pipe for standard output or standard error.
fn nobody_reads() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = folder();
    for line in [
        "predict model.json d.svm",
        "eval model.json d.svm",
        "eval model.json d.svm --json",
        "inspect model.json",
        "inspect model.json --csv",
        "convert d.svm - --to vw",
        "fit d.svm --out n.json",
        "fit d.svm --out n.json --json",
        "synth xor -o x --n 10",
    ] {
        let mut process = folder.process(line);
        let output = process.stdout(nobody_reads()).stderr(Stdio::piped()).output().unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {printed}");
        assert!(!printed.contains("panicked") && !printed.contains("tamis:"), "{line}: {printed}");
    }
    let run = folder.shell("set -o pipefail; $TAMIS predict model.json d.svm | head -1");
    assert_eq!((run.code, run.out.lines().count()), (Some(0), 1));
}

#[test]
fn training_continues_if_nobody_reads_its_progress() {
    let folder = folder();
    let mut process = folder.process("fit d.svm --out unwatched.json");
    let status = process.stdout(nobody_reads()).stderr(nobody_reads()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(folder.read("unwatched.json"), folder.read("model.json"));
}

#[test]
fn standard_output_may_be_a_file() {
    let folder = folder();
    folder.ok("convert d.svm direct.vw");
    let run = folder.shell("echo first > out.vw; $TAMIS convert d.svm - --to vw >> out.vw");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(folder.text("out.vw"), format!("first\n{}", folder.text("direct.vw")));
}
