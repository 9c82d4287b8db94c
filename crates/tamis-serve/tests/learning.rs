//! Learning: acknowledged rows are on disk, each is learned once, and the log gives the model byte for byte.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Answer, Running, fitted, learn, learning, one_pass, options, replayed, served, svmlight, table};
use serde_json::json;
use tamis::recipe::{Method, Recipe};
use tamis_serve::{Limits, Options, Server};

fn log_files(log: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "tamislog"));
    files.sort();
    files
}

#[test]
fn the_log_gives_the_served_model_byte_for_byte_for_every_online_learner() {
    let first = svmlight(5000, 1);
    let more: Vec<String> = (2..12).map(|seed| svmlight(137, seed)).collect();
    for method in Method::ALL.into_iter().filter(|method| method.info().partial_fit) {
        let folder = tempfile::tempdir().unwrap();
        let recipe = one_pass(method);
        let files = fitted(folder.path(), &first, "svm", &recipe);
        let log = folder.path().join("log");
        let server = Running::start(learning(&files.checkpoint, &log));
        let before = served(&server);
        for rows in &more {
            assert_eq!(learn(&server, rows, "").json()["accepted"], 137, "{method:?}");
        }
        let model = served(&server);
        assert_ne!(model, before);
        server.stop();
        assert_eq!(replayed(&log.join("000001")), model, "{method:?}: the log");
        let server = Running::start(learning(&files.checkpoint, &log));
        assert_eq!(served(&server), model, "{method:?}: a restart");
        server.stop();
        // The model is also that of one fit of all rows, in one pass.
        let whole = folder.path().join("whole");
        fs::create_dir(&whole).unwrap();
        let files = fitted(&whole, &(first.clone() + &more.concat()), "svm", &recipe);
        assert_eq!(fs::read_to_string(files.model).unwrap(), model, "{method:?}: one fit");
    }
}

#[test]
fn rows_of_a_table_and_late_labels_are_learned_too() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &table(5000, 2), "csv", &one_pass(Method::Ftrl));
    let log = folder.path().join("log");
    let server = Running::start(learning(&files.checkpoint, &log));
    assert_eq!(server.post("/v1/learn", "text/csv", &table(50, 9)).json()["accepted"], 50);
    let flat = "{\"size\": 3.5, \"colour\": \"red\", \"y\": \"yes\"}\n";
    assert_eq!(server.post("/v1/learn", "application/x-ndjson", flat).json()["sequence"], 2);
    let row = "size,colour\n1.5,blue\n";
    assert_eq!(server.post("/v1/score?id=a", "text/csv", row).lines()[0]["id"], "a");
    let two = "who,size,colour\nb,1.5,blue\nc,7,green\n";
    assert_eq!(server.post("/v1/score?remember=1&id_column=who", "text/csv", two).lines().len(), 2);
    assert!(server.get("/metrics").text().contains("tamis_pending_labels 3\n"));
    let label = |body: &str| server.post("/v1/label", "application/x-ndjson", body);
    let unknown = label("{\"id\": \"a\", \"y\": \"no\"}\n{\"id\": \"z\", \"y\": \"no\"}\n");
    assert_eq!((unknown.status, &unknown.json()["error"]["line"]), (404, &json!(2)), "{}", unknown.text());
    let bad = label("{\"id\": \"a\"}\n");
    assert_eq!((bad.status, &bad.json()["error"]["line"]), (400, &json!(1)), "{}", bad.text());
    assert_eq!(label("{\"id\": \"a\", \"y\": \"no\"}\n{\"id\": \"c\", \"y\": \"yes\"}\n").json()["accepted"], 2);
    assert_eq!(label("{\"id\": \"a\", \"y\": \"no\"}\n").error().1, "unknown_id", "a label is learned once");
    assert_eq!(server.post("/v1/score?remember=1", "text/csv", row).error().1, "no_id");
    let model = served(&server);
    server.stop();
    assert_eq!(replayed(&log.join("000001")), model);
    // A row with a late label is learned as if it had come with its label.
    let (other, again) = (folder.path().join("other"), folder.path().join("other-log"));
    fs::create_dir(&other).unwrap();
    let files = fitted(&other, &table(5000, 2), "csv", &one_pass(Method::Ftrl));
    let server = Running::start(learning(&files.checkpoint, &again));
    let rest = "size,colour,y\n3.5,red,yes\n1.5,blue,no\n7,green,yes\n";
    assert_eq!(server.post("/v1/learn", "text/csv", &table(50, 9)).json()["accepted"], 50);
    assert_eq!(server.post("/v1/learn", "text/csv", rest).json()["accepted"], 3);
    assert_eq!(served(&server), model);
}

#[test]
fn the_same_key_is_learned_once_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let (log, rows) = (folder.path().join("log"), svmlight(30, 5));
    let server = Running::start(learning(&files.checkpoint, &log));
    let first = learn(&server, &rows, "request 1").json();
    assert_eq!(first, json!({ "accepted": 30, "sequence": 1, "repeated": false }));
    let model = served(&server);
    assert_eq!(learn(&server, &rows, "request 1").json(), json!({ "accepted": 30, "sequence": 1, "repeated": true }));
    let (status, code, message) = learn(&server, &svmlight(30, 6), "request 1").error();
    assert_eq!((status, code.as_str()), (422, "key_reused"));
    assert!(message.contains("was used for other rows (record 1)"), "{message}");
    assert_eq!(learn(&server, &rows, &"k".repeat(256)).error().1, "bad_key");
    server.stop();
    let server = Running::start(learning(&files.checkpoint, &log));
    assert_eq!(learn(&server, &rows, "request 1").json()["repeated"], true);
    assert_eq!(served(&server), model);
}

#[test]
fn rows_that_cannot_be_learned_leave_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = folder.path().join("log");
    let server = Running::start(learning(&files.checkpoint, &log));
    learn(&server, &svmlight(20, 3), "");
    let before = served(&server);
    let third = learn(&server, "1 1:1\n7 1:1\n", "");
    assert_eq!((third.status, &third.json()["error"]["line"]), (422, &json!(2)), "{}", third.text());
    assert!(third.error().2.starts_with("request:2: a third label 7"), "{}", third.text());
    let twice = server.post("/v1/learn", "application/x-ndjson", "{\"y\": 1, \"x\": {\"a\": 1, \"a\": 2}}\n");
    assert!(twice.error().2.contains("\"a\" occurs twice"), "{}", twice.text());
    let bad = learn(&server, "1 1:1\n1 1:x\n", "");
    assert_eq!((bad.status, &bad.json()["error"]["line"], &bad.json()["error"]["column"]), (400, &json!(2), &json!(5)));
    let none = server.post("/v1/learn", "application/x-ndjson", "{\"x\": {\"a\": 1}}\n");
    assert_eq!((none.status, &none.json()["error"]["line"]), (400, &json!(1)), "{}", none.text());
    assert_eq!(served(&server), before);
    assert_eq!(learn(&server, "1 1:1\n", "").json()["sequence"], 2, "the next record follows");
    let model = served(&server);
    server.stop();
    assert_eq!(replayed(&log.join("000001")), model);
}

#[test]
fn rows_that_diverge_are_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = Recipe { scale: tamis::data::ScaleKind::None, ..one_pass(Method::Sgd) }.with("schedule", "constant");
    let label = |at: usize| (at * 37 % 101) as f64 / 10.0 + 0.05;
    let numbers =
        svmlight(600, 1).lines().enumerate().map(|(at, line)| format!("{}{}\n", label(at), &line[1..])).collect();
    let data: String = numbers;
    let files = fitted(folder.path(), &data, "svm", &recipe);
    let log = folder.path().join("log");
    let server = Running::start(learning(&files.checkpoint, &log));
    assert_eq!(learn(&server, "1.5 1:0.5\n", "good").json()["sequence"], 1);
    let before = served(&server);
    let wild = learn(&server, &"0.5 1:1e200 2:-1e200\n1.5 1:1e200\n".repeat(20), "wild");
    assert_eq!((wild.status, wild.error().1.as_str()), (422, "not_learned"), "{}", wild.text());
    assert_eq!(served(&server), before, "the state is that before the request");
    assert_eq!(
        learn(&server, "0.5 2:0.25\n", "next").json(),
        json!({ "accepted": 1, "sequence": 2, "repeated": false })
    );
    let model = served(&server);
    server.stop();
    assert_eq!(replayed(&log.join("000001")), model);
}

#[test]
fn a_torn_end_is_cut_and_a_damaged_middle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = folder.path().join("log");
    let server = Running::start(learning(&files.checkpoint, &log));
    (1..=4).for_each(|seed| assert_eq!(learn(&server, &svmlight(20, seed), "").status, 200));
    let model = served(&server);
    server.stop();
    fs::remove_file(log.join("000001/checkpoint.st")).unwrap();
    let path = log_files(&log.join("000001")).remove(0);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"TLF1\xff\xff\0\0half a frame"].concat()).unwrap();
    let server = Running::start(learning(&files.checkpoint, &log));
    assert_eq!(served(&server), model, "what was never acknowledged is cut");
    server.stop();
    assert_eq!(fs::read(&path).unwrap(), whole);
    assert!(path.with_extension("torn").exists(), "the cut bytes are kept");
    fs::remove_file(log.join("000001/checkpoint.st")).ok();
    let at = whole.len() / 3;
    let mut damaged = whole.clone();
    damaged[at] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let error = end_of(learning(&files.checkpoint, &log));
    let offset: usize = error.split("at byte ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
    assert!(error.starts_with(&format!("{}: damaged at byte", path.display())), "{error}");
    assert!(offset <= at && whole[offset..].starts_with(b"TLF1"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), damaged, "nothing is changed");
    let refused = std::panic::catch_unwind(|| replayed(&log.join("000001")));
    assert!(refused.is_err(), "fit refuses it, too");
}

/// Why a server cannot start or go on.
fn end_of(options: Options) -> String {
    match Server::start(options, |_| {}) {
        Err(error) => error.to_string(),
        Ok(server) => server.wait().expect_err("it cannot run").to_string(),
    }
}

#[test]
fn a_restart_goes_on_from_the_checkpoint_and_files_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(5000, 1), "svm", &one_pass(Method::Ftrl));
    let log = folder.path().join("log");
    let limits = Limits { segment: 10_000, ..options(&files.checkpoint).limits };
    let given = Options { limits, ..learning(&files.checkpoint, &log) };
    let server = Running::start(given.clone());
    (1..=12).for_each(|seed| assert_eq!(learn(&server, &svmlight(40, seed), &format!("key {seed}")).status, 200));
    let saved = server.request("POST", "/v1/checkpoint", &[], b"").json();
    assert_eq!((&saved["sequence"], &saved["rows"]), (&json!(12), &json!(5000 + 480)));
    (13..=14).for_each(|seed| assert_eq!(learn(&server, &svmlight(40, seed), "").status, 200));
    let model = served(&server);
    server.stop();
    let generation = log.join("000001");
    let segments = log_files(&generation);
    assert!(segments.len() >= 3, "{segments:?}");
    assert_eq!(replayed(&generation), model);
    // Rows before the checkpoint are not needed to go on.
    fs::remove_file(&segments[0]).unwrap();
    let server = Running::start(given.clone());
    assert_eq!(served(&server), model);
    assert_eq!(learn(&server, &svmlight(40, 12), "key 12").json()["repeated"], true);
    server.stop();
    fs::remove_file(&segments[1]).unwrap();
    fs::rename(&segments[2], segments[2].with_extension("elsewhere")).unwrap();
    fs::rename(segments[2].with_extension("elsewhere"), &segments[0]).unwrap();
    fs::remove_file(generation.join("checkpoint.st")).unwrap();
    let error = end_of(given);
    assert!(error.contains("rows are missing, or this is another log"), "{error}");
}

#[test]
fn a_full_log_stops_learning_and_scoring_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = folder.path().join("log");
    let limits = Limits { log: 5000, ..options(&files.checkpoint).limits };
    let server = Running::start(Options { limits, ..learning(&files.checkpoint, &log) });
    assert_eq!(learn(&server, &svmlight(20, 1), "").status, 200);
    let model = served(&server);
    let (status, code, message) = learn(&server, &svmlight(100, 2), "").error();
    assert_eq!((status, code.as_str()), (507, "log_not_written"));
    assert!(message.ends_with("nothing was learned"), "{message}");
    assert_eq!(server.post("/v1/score", "text/x-svmlight", "1 1:1\n").status, 200);
    assert_eq!(served(&server), model);
    assert_eq!(learn(&server, "1 1:1\n", "").json()["sequence"], 2, "what fits is learned");
    let model = served(&server);
    server.stop();
    assert_eq!(replayed(&log.join("000001")), model);
}

#[test]
fn many_clients_at_once_are_learned_in_the_order_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = folder.path().join("log");
    let server = Running::start(learning(&files.checkpoint, &log));
    let busy = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in 0..6 {
            let (server, busy) = (&server, &busy);
            scope.spawn(move || {
                for request in 0..15 {
                    let rows = svmlight(7, client * 100 + request);
                    let answer = learn(server, &rows, &format!("{client}/{request}"));
                    match answer.status {
                        200 => assert_eq!(answer.json()["accepted"], 7),
                        429 => drop(busy.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
                        other => panic!("{other}: {}", answer.text()),
                    }
                    assert_eq!(server.post("/v1/score", "text/x-svmlight", "1 1:1\n").status, 200);
                }
            });
        }
    });
    let learned = 90 - busy.into_inner();
    let answer = server.get("/v1/model");
    assert_eq!(answer.header("tamis-sequence"), Some(learned.to_string().as_str()));
    let model = answer.text().to_string();
    server.stop();
    assert_eq!(replayed(&log.join("000001")), model);
}

#[test]
fn a_full_queue_is_answered_with_a_time_to_try_again() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let limits = Limits { queue: 0, ..options(&files.checkpoint).limits };
    let given = Options { limits, ..learning(&files.checkpoint, &folder.path().join("log")) };
    let server = Running::start(given);
    let rows = svmlight(3000, 4);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(|| learn(&server, &rows, ""))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let refused: Vec<&Answer> = answers.iter().filter(|answer| answer.status != 200).collect();
    assert!(!refused.is_empty(), "a queue without room refuses some of eight requests at once");
    for answer in refused {
        assert_eq!(
            (answer.error().0, answer.error().1.as_str(), answer.header("retry-after")),
            (429, "busy", Some("1"))
        );
    }
}

#[test]
fn another_model_is_put_in_place_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let second = folder.path().join("second");
    fs::create_dir(&second).unwrap();
    let other = fitted(&second, &svmlight(900, 77), "svm", &one_pass(Method::Rda));
    let log = folder.path().join("log");
    let server = Running::start(learning(&files.checkpoint, &log));
    learn(&server, &svmlight(20, 3), "");
    let before = served(&server);
    let put = |headers: &[(&str, &str)], bytes: &[u8]| server.request("PUT", "/v1/model", headers, bytes);
    let checkpoint = fs::read(&other.checkpoint).unwrap();
    let (status, code, message) = put(&[], &checkpoint[..checkpoint.len() - 1]).error();
    assert_eq!((status, code.as_str()), (422, "bad_model"));
    assert!(message.ends_with("the model that is served stays"), "{message}");
    assert_eq!(put(&[], &fs::read(&other.model).unwrap()).error().1, "needs_checkpoint");
    assert_eq!(put(&[("If-Match", "\"0-0\"")], &checkpoint).error().0, 412);
    assert_eq!(served(&server), before);
    let tag = server.get("/v1/model").header("etag").unwrap().to_string();
    let answer = put(&[("If-Match", &tag)], &checkpoint);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(served(&server), fs::read_to_string(&other.model).unwrap());
    assert_eq!(learn(&server, &svmlight(20, 4), "").json()["sequence"], 1, "a new log");
    let model = served(&server);
    server.stop();
    assert_eq!(replayed(&log.join("000002")), model);
    let server = Running::start(learning(&files.checkpoint, &log));
    assert_eq!(served(&server), model, "a restart serves the last one");
    server.stop();
    let error = end_of(learning(&other.checkpoint, &log));
    assert!(error.contains("this log was begun with another checkpoint"), "{error}");
}

#[test]
fn a_model_file_is_replaced_too_and_has_a_tag() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let text = fs::read(&files.model).unwrap();
    let second = folder.path().join("second");
    fs::create_dir(&second).unwrap();
    let other = fs::read(fitted(&second, &svmlight(900, 77), "svm", &one_pass(Method::Rda)).model).unwrap();
    let server = Running::start(options(&files.model));
    let answer = server.get("/v1/model");
    assert_eq!(answer.body, text);
    let tag = answer.header("etag").unwrap().to_string();
    let again = server.request("GET", "/v1/model", &[("If-None-Match", &tag)], b"");
    assert_eq!((again.status, again.body.len(), again.header("content-type")), (304, 0, None));
    let mut damaged = other.clone();
    let at = damaged.len() / 2;
    damaged[at] ^= 1;
    assert_eq!(server.request("PUT", "/v1/model", &[], &damaged).error().1, "bad_model");
    assert_eq!(server.get("/v1/model").body, text);
    assert_eq!(server.request("PUT", "/v1/model", &[], &other).status, 200);
    assert_eq!(server.get("/v1/model").body, other);
    server.stop();
    let server = Running::start(Options { read_only: true, ..options(&files.checkpoint) });
    assert_eq!(server.request("PUT", "/v1/model", &[], &other).error().1, "read_only");
    assert_eq!(learn(&server, "1 1:1\n", "").error().1, "does_not_learn");
    assert_eq!(server.get("/v1/model").body, text, "the model of the checkpoint");
}

#[test]
fn what_cannot_learn_says_so_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = folder.path().join("log");
    let error = end_of(learning(&files.model, &log));
    assert!(error.contains("a model file has no state to learn from; serve the checkpoint"), "{error}");
    let error = end_of(learning(&folder.path().join("first.svm"), &log));
    assert!(error.contains("neither a model nor a checkpoint"), "{error}");
    let error = end_of(learning(&folder.path().join("none.st"), &log));
    assert!(error.contains("none.st: No such file"), "{error}");
    let refits = folder.path().join("refits");
    fs::create_dir(&refits).unwrap();
    let recipe = Recipe { k: Some(3), refit: Some(true), ..Recipe::new(Method::Ftrl) };
    let files = fitted(&refits, &svmlight(600, 1), "svm", &recipe);
    let error = end_of(learning(&files.checkpoint, &folder.path().join("other")));
    assert!(
        error.contains("needs all rows before learning: it cannot be used with rows that come one by one"),
        "{error}"
    );
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let server = Running::start(learning(&files.checkpoint, &log));
    let error = end_of(learning(&files.checkpoint, &log));
    assert!(error.contains("another server uses this log"), "{error}");
    server.stop();
}
