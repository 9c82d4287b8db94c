//! Rows that were scored and wait for their labels: they survive restarts, and each is learned once.

mod common;

use std::fs;
use std::time::Duration;

use common::{Answer, Running, fitted, learning, one_pass, options, replayed, served, svmlight};
use serde_json::json;
use tamis::recipe::Method;
use tamis_serve::{Limits, Options, PendingLimits};

fn label(server: &Running, body: &str, key: &str) -> Answer {
    let mut headers = vec![("Content-Type", "application/x-ndjson")];
    if !key.is_empty() {
        headers.push(("Idempotency-Key", key));
    }
    server.request("POST", "/v1/label", &headers, body.as_bytes())
}

fn score(server: &Running, id: &str, row: &str) -> Answer {
    server.post(&format!("/v1/score?id={id}"), "text/x-svmlight", row)
}

fn waiting(server: &Running) -> u64 {
    let text = server.get("/metrics").text().to_string();
    let line = text.lines().find(|line| line.starts_with("tamis_pending_labels ")).unwrap().to_string();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn rows_wait_through_restarts_and_other_models() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = folder.path().join("log");
    let server = Running::start(learning(&files.checkpoint, &log));
    for id in ["a", "b", "c"] {
        assert_eq!(score(&server, id, "0 1:0.5 2:-0.25\n").lines()[0]["id"], id);
    }
    let first = label(&server, "{\"id\": \"a\", \"y\": 1}\n", "late");
    assert_eq!(first.json(), json!({ "accepted": 1, "sequence": 1, "repeated": false }));
    assert_eq!(score(&server, "a", "0 1:0.75\n").status, 200, "an id may come again");
    server.stop();
    let server = Running::start(learning(&files.checkpoint, &log));
    assert_eq!(waiting(&server), 3);
    let again = label(&server, "{\"id\": \"a\", \"y\": 1}\n", "late");
    assert_eq!(again.json(), json!({ "accepted": 1, "sequence": 1, "repeated": true }), "{}", again.text());
    assert_eq!(label(&server, "{\"id\": \"a\", \"y\": 0}\n", "late").error().1, "key_reused");
    assert_eq!(label(&server, "{\"id\": \"b\", \"y\": 0}\n", "").json()["sequence"], 2);
    let checkpoint = fs::read(&files.checkpoint).unwrap();
    assert_eq!(server.request("PUT", "/v1/model", &[], &checkpoint).status, 200);
    assert_eq!(waiting(&server), 2);
    server.stop();
    let server = Running::start(learning(&files.checkpoint, &log));
    assert_eq!(waiting(&server), 2, "rows go on waiting when the model is replaced");
    assert_eq!(label(&server, "{\"id\": \"b\", \"y\": 0}\n", "").error().1, "unknown_id");
    let both = "{\"id\": \"a\", \"y\": 0}\n\n{\"id\": \"c\", \"y\": 1, \"weight\": 2}\n";
    assert_eq!(label(&server, both, "").json()["accepted"], 2);
    assert_eq!(server.request("POST", "/v1/checkpoint", &[], b"").status, 200);
    assert_eq!(fs::metadata(log.join("000002/rows.waiting")).unwrap().len(), 0, "nothing waits");
    let model = served(&server);
    server.stop();
    assert_eq!(replayed(&log.join("000002")), model);
    let server = Running::start(learning(&files.checkpoint, &log));
    assert_eq!((waiting(&server), served(&server)), (0, model));
}

#[test]
fn one_row_is_learned_by_one_of_many_labels() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = folder.path().join("log");
    let server = Running::start(learning(&files.checkpoint, &log));
    for round in 0..10 {
        let id = format!("row {round}").replace(' ', "-");
        assert_eq!(score(&server, &id, "0 1:0.5\n").status, 200);
        let text = format!("{{\"id\": \"{id}\", \"y\": 1}}\n");
        let answers: Vec<u16> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..6).map(|_| scope.spawn(|| label(&server, &text, "").status)).collect();
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        assert_eq!(answers.iter().filter(|status| **status == 200).count(), 1, "{answers:?}");
        assert_eq!(answers.iter().filter(|status| **status == 404).count(), 5, "{answers:?}");
    }
    let model = served(&server);
    assert!(model.contains("\"rows\":610") || model.contains("\"rows\": 610"), "600 rows and 10 late ones");
    server.stop();
    assert_eq!(replayed(&log.join("000001")), model);
}

#[test]
fn rows_that_cannot_wait_are_told_why() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let limits = options(&files.checkpoint).limits;
    let pending = PendingLimits { rows: 2, time: Duration::from_secs(1), ..limits.pending };
    let given =
        Options { limits: Limits { pending, ..limits }, ..learning(&files.checkpoint, &folder.path().join("log")) };
    let server = Running::start(given);
    assert!(score(&server, &"x".repeat(256), "0 1:1\n").error().2.contains("an id has at most 255 bytes"));
    let weightless = "{\"x\": {\"1\": 1}, \"weight\": 0, \"tag\": \"w\"}\n";
    let answer = server.post("/v1/score?remember=1", "application/x-ndjson", weightless);
    assert!(answer.error().2.contains("has weight 0: it would not be learned"), "{}", answer.text());
    let twice = label(&server, "{\"id\": \"a\", \"y\": 1}\n{\"id\": \"a\", \"y\": 1}\n", "");
    assert!(twice.error().2.starts_with("request:2: the id \"a\" has two labels"), "{}", twice.text());
    ["a", "b", "c"].iter().for_each(|id| assert_eq!(score(&server, id, "0 1:1\n").status, 200));
    assert_eq!(label(&server, "{\"id\": \"a\", \"y\": 1}\n", "").error().1, "unknown_id", "two wait at most");
    assert_eq!(label(&server, "{\"id\": \"b\", \"y\": 1}\n", "").status, 200);
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(label(&server, "{\"id\": \"c\", \"y\": 1}\n", "").error().1, "unknown_id", "for a second");
    assert!(server.get("/metrics").text().contains("tamis_expired_labels_total 2\n"));
    server.stop();
    let server = Running::start(options(&files.model));
    assert_eq!(score(&server, "a", "0 1:1\n").error().1, "does_not_learn", "nobody would learn it");
}
