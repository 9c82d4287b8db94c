//! Metrics of real data with many classes against plain neighbours. The thresholds are floors, far from the best possible.

mod common;

use common::{Folder, parted, real_rows};

/// The errors of a metric and of plain neighbours on the test rows.
fn errors([train, test]: [String; 2]) -> (f64, f64) {
    let folder = Folder::new();
    folder.write("train.svm", train).write("test.svm", test);
    let error = |flags: &str| {
        folder.ok(&format!("metric fit train.svm {flags} --quiet -o m"));
        folder.json("metric eval m test.svm --json")["error"].as_f64().unwrap()
    };
    (error("--candidate order-1 --max-iter 60 --max-terms 10 --early-stopping off"), error("--candidate plain"))
}

#[test]
fn digits_of_eight_by_eight() {
    let Some(rows) = real_rows("digits8x8") else { return };
    let (metric, plain) = errors(parted(&rows, 3));
    assert!(metric < 0.05 && metric < plain + 0.015, "{metric} {plain}");
}

#[test]
fn digits_of_zip_codes() {
    let (Some(train), Some(test)) = (real_rows("usps_zip_train"), real_rows("usps_zip_test")) else { return };
    let (metric, plain) = errors([train.into_iter().step_by(4).collect(), test.into_iter().step_by(2).collect()]);
    assert!(metric < 0.12 && metric < plain + 0.03, "{metric} {plain}");
}

#[test]
fn spoken_letters() {
    let Some(rows) = real_rows("isolet5") else { return };
    let (metric, plain) = errors(parted(&rows, 3));
    assert!(metric < 0.15 && metric < plain, "{metric} {plain}");
}
