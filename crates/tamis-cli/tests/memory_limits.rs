//! Memory is bounded by what the user can set: each limit has a flag and an error that names it.

mod common;

use common::{Folder, rows, svm};

/// A line of 200 features is short as text; as a row of a columnar file it is limited by the same flag.
#[test]
fn a_long_row_of_a_columnar_file_is_refused_before_it_is_copied() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(40, 400, 200, 2, 1)));
    let message = "200 entries, and 166 are allowed; --max-line allows more";
    for (file, place) in
        [("a.npz", "row 1 has"), ("a.parquet", "row 1 has"), ("a.arrow", "row 1, column \"x\": the row has")]
    {
        folder.ok(&format!("convert a.svm {file}"));
        let run = folder.run(&format!("fit {file} -q --method ftrl --max-line 2000 -o m.json"));
        assert!(run.complaint().contains(&format!("{place} {message}")), "{}", run.err);
        assert!(!folder.path("m.json").exists());
        folder.ok(&format!("fit {file} -q --method ftrl --max-line 2400 -o m.json"));
        std::fs::remove_file(folder.path("m.json")).unwrap();
    }
}

/// A checkpoint is written piece by piece from the state and the names: it needs little more memory than the training.
#[test]
fn a_checkpoint_needs_little_memory() {
    let folder = Folder::new();
    let row = |at: usize| format!("{} |{}\n", at % 2, (0..10).map(|one| format!(" new{at}x{one}")).collect::<String>());
    folder.write("new.vw", (0..40_000).map(row).collect::<String>());
    // With one thread, no blocks wait for the learner: their number would depend on the moment.
    let peak = |options: &str| {
        let line = format!("fit new.vw --json --method ftrl --passes 1 --threads 1 -o m.json {options}");
        folder.json(&line)["peak_memory_bytes"].as_f64().unwrap()
    };
    let (without, with) = (peak(""), peak("--checkpoint m.st --checkpoint-every 10000"));
    assert!(with < 1.2 * without, "{with} bytes with checkpoints, {without} without");
}
