//! Methods that need many rows at once: rows are logged as they come and learned in batches, and the log gives the model
//! byte for byte.

mod common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Running, fitted, learn, learning, options, replayed, served, svmlight};
use tamis::io::expand;
use tamis::recipe::{Method, Recipe};
use tamis::train::{Checkpoint, CheckpointPlan, FitOptions, fit};
use tamis_serve::{Limits, Options};

fn in_batches(checkpoint: &Path, log: &Path, batch: u64) -> Options {
    let limits = Limits { batch, ..options(checkpoint).limits };
    Options { limits, ..learning(checkpoint, log) }
}

fn rows_of(model: &str) -> u64 {
    let whole: serde_json::Value = serde_json::from_str(model).unwrap();
    whole["body"]["seen"]["rows"].as_u64().unwrap()
}

/// The model when it has learned this many rows.
fn wait_for(server: &Running, rows: u64) -> String {
    let started = Instant::now();
    loop {
        let model = served(server);
        if rows_of(&model) == rows {
            return model;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{} rows are learned", rows_of(&model));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The model of `fit` with a checkpoint and a file of new rows, and the new checkpoint.
fn continued(folder: &Path, checkpoint: &Path, rows: &str, number: usize) -> (String, std::path::PathBuf) {
    let (file, next) = (folder.join(format!("batch{number}.svm")), folder.join(format!("next{number}.st")));
    fs::write(&file, rows).unwrap();
    let saved = Checkpoint::load(checkpoint).unwrap();
    let options = FitOptions {
        sources: expand(&[file.display().to_string()], None).unwrap(),
        memory: 1 << 28,
        checkpoint: Some(CheckpointPlan { path: next.clone(), every: None }),
        ..FitOptions::default()
    };
    let model = fit(&saved.recipe().clone(), &options, Some(saved), &mut ()).unwrap().model.to_text();
    (model, next)
}

#[test]
fn the_log_gives_the_served_model_byte_for_byte_in_batches() {
    for method in [Method::Stabilized, Method::TwoStage] {
        let folder = tempfile::tempdir().unwrap();
        let files = fitted(folder.path(), &svmlight(600, 1), "svm", &Recipe::new(method));
        let log = folder.path().join("log");
        let server = Running::start(in_batches(&files.checkpoint, &log, 300));
        assert_eq!(
            served(&server),
            fs::read_to_string(&files.model).unwrap(),
            "{method:?}: the model of the checkpoint"
        );
        let requests: Vec<String> = (2..8).map(|seed| svmlight(100, seed)).collect();
        for (number, rows) in requests[..3].iter().enumerate() {
            assert_eq!(learn(&server, rows, &format!("key {number}")).json()["accepted"], 100, "{method:?}");
        }
        let first = wait_for(&server, 900);
        let (expected, next) = continued(folder.path(), &files.checkpoint, &requests[..3].concat(), 1);
        assert_eq!(first, expected, "{method:?}: a file fit of the first batch");
        assert_eq!(learn(&server, &requests[0], "key 0").json()["repeated"], true);
        requests[3..5].iter().for_each(|rows| assert_eq!(learn(&server, rows, "").status, 200));
        assert_eq!(served(&server), first, "{method:?}: too few rows wait");
        assert!(server.get("/metrics").text().contains("tamis_waiting_rows 200\n"));
        assert_eq!(replayed(&log.join("000001")), first, "{method:?}: nor does a replay learn them");
        server.stop();
        let server = Running::start(in_batches(&files.checkpoint, &log, 300));
        assert_eq!(served(&server), first, "{method:?}: a restart");
        let saved = server.request("POST", "/v1/checkpoint", &[], b"");
        assert_eq!(saved.json()["rows"], 1100, "{method:?}: a checkpoint learns what waits: {}", saved.text());
        let second = served(&server);
        assert_eq!(
            second,
            continued(folder.path(), &next, &requests[3..5].concat(), 2).0,
            "{method:?}: the second batch"
        );
        assert_eq!(learn(&server, &requests[5], "").status, 200);
        server.stop();
        assert_eq!(replayed(&log.join("000001")), second, "{method:?}: the log");
        // Without the checkpoint, all batches are learned again.
        fs::remove_file(log.join("000001/checkpoint.st")).unwrap();
        let server = Running::start(in_batches(&files.checkpoint, &log, 300));
        assert_eq!(served(&server), second, "{method:?}: a restart from the start");
        assert!(server.get("/metrics").text().contains("tamis_waiting_rows 100\n"));
    }
}

#[test]
fn rows_of_batches_are_checked_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &Recipe::new(Method::Stabilized));
    let server = Running::start(in_batches(&files.checkpoint, &folder.path().join("log"), 1));
    let third = learn(&server, "1 1:1\n7 1:1\n", "");
    assert!(third.error().2.starts_with("request:2: a third label 7"), "{}", third.text());
    // Batches of one row cannot keep up with clients: these are told to come back.
    let mut refused = None;
    let mut accepted = 0;
    for seed in 0..200 {
        let answer = learn(&server, &svmlight(4, seed), "");
        match answer.status {
            200 => accepted += 4,
            _ => refused = refused.or(Some(answer)),
        }
        if refused.is_some() {
            break;
        }
    }
    let refused = refused.expect("rows are refused when many wait");
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{}", refused.text());
    assert!(refused.error().2.contains("rows wait to be learned; send these later"), "{}", refused.text());
    let saved = server.request("POST", "/v1/checkpoint", &[], b"");
    assert_eq!(saved.json()["rows"], 600 + accepted, "{}", saved.text());
    let model = served(&server);
    server.stop();
    assert_eq!(replayed(&folder.path().join("log/000001")), model);
}

#[test]
fn a_checkpoint_of_batches_is_put_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &common::one_pass(Method::Ftrl));
    let staged = folder.path().join("staged");
    fs::create_dir(&staged).unwrap();
    let other = fitted(&staged, &svmlight(700, 5), "svm", &Recipe::new(Method::Stabilized));
    let log = folder.path().join("log");
    let server = Running::start(in_batches(&files.checkpoint, &log, 50));
    assert_eq!(server.request("PUT", "/v1/model", &[], &fs::read(&other.checkpoint).unwrap()).status, 200);
    assert_eq!(served(&server), fs::read_to_string(&other.model).unwrap());
    assert_eq!(learn(&server, &svmlight(60, 9), "").status, 200);
    let model = wait_for(&server, 760);
    server.stop();
    assert_eq!(replayed(&log.join("000002")), model);
    let alone = Running::start(options(&other.checkpoint));
    assert_eq!(served(&alone), fs::read_to_string(&other.model).unwrap(), "the checkpoint holds its model");
}

#[test]
fn features_of_other_sizes_and_confirmed_ones_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(2000, 1), "svm", &Recipe::new(Method::Stabilized));
    let server = Running::start(options(&files.model));
    let names = |query: &str| -> Vec<String> {
        let answer = server.get(&format!("/v1/features{query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        let features = answer.json()["outputs"][0]["features"].clone();
        features.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_string()).collect()
    };
    let mut confirmed = names("?fdr=0.1");
    confirmed.sort();
    assert_eq!(confirmed, ["1", "2"], "the label depends on these");
    assert_eq!((names("?k=1").len(), names("?k=2&top=1").len()), (1, 1));
    let model = tamis::model::Model::load(&files.model).unwrap();
    let answer = server.get("/v1/features?fdr=0.1").json();
    let one = &answer["outputs"][0]["features"][0];
    let test = model.test(one["name"].as_str().unwrap()).unwrap();
    assert_eq!(one["q"].as_f64(), Some(test.q));
    let resized = model.resize(tamis::model::Resize::Fdr(0.1)).unwrap();
    assert_eq!(one["weight"].as_f64(), Some(resized.outputs[0].features[0].weight), "as `tamis resize --fdr`");
    for (query, status, text) in [
        ("?k=0", 409, "at least one feature must stay"),
        ("?k=many", 400, "k=many: expected a whole number"),
        ("?fdr=2", 409, "the false discovery rate must lie between 0 and 0.5"),
        ("?fdr=x", 400, "fdr=x: expected a number from 0 to 0.5"),
        ("?k=1&fdr=0.1", 400, "k and fdr cannot be given both"),
        ("?size=1", 400, "size=1: a query has top=N, and k=N or fdr=Q"),
    ] {
        let (found, _, message) = server.get(&format!("/v1/features{query}")).error();
        assert!(found == status && message.contains(text), "{query}: {found} {message}");
    }
    let online = fitted(folder.path(), &svmlight(600, 1), "svm", &common::one_pass(Method::Ftrl));
    let (status, code, message) = Running::start(options(&online.model)).get("/v1/features?fdr=0.1").error();
    assert_eq!((status, code.as_str()), (409, "no_such_size"));
    assert!(message.starts_with("the model has no size path"), "{message}");
}
