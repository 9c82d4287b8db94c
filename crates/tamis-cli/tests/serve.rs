//! `tamis serve` as a process: what it says, how it stops, and the law that its log gives its model.

mod common;

use std::time::{Duration, Instant};

use common::served::{Served, learn, request};
use common::{Folder, rows, svm};

fn fitted() -> Folder {
    let folder = Folder::new();
    folder.write("first.svm", svm(&rows(500, 40, 8, 2, 1)));
    folder.ok("fit first.svm --method ftrl --passes 1 -q -o first.json --checkpoint state.st");
    folder
}

#[test]
fn the_log_is_a_data_set_and_gives_the_served_model() {
    let folder = fitted();
    let server = Served::start(&folder, "state.st --log log");
    let more = svm(&rows(60, 40, 8, 2, 9));
    let (status, answer) = learn(&server.address, "a key", &more).unwrap();
    assert_eq!((status, answer["accepted"].as_u64()), (200, Some(60)));
    let (_, model) = server.get("/v1/model").unwrap();
    let started = Instant::now();
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(started.elapsed() < Duration::from_secs(10));
    folder.ok("fit log/000001 --resume log/000001/start.st -q -o replayed.json");
    assert!(folder.read("replayed.json") == model, "byte for byte");
    folder.ok("fit log/000001 --resume log/000001/checkpoint.st -q -o again.json");
    assert!(folder.read("again.json") == model, "a checkpoint has its rows already");
    folder.write("all.svm", svm(&rows(500, 40, 8, 2, 1)) + &more);
    folder.ok("fit all.svm --method ftrl --passes 1 -q -o all.json");
    assert!(folder.read("all.json") == model, "one fit of all rows");
    folder.ok("convert log/000001 rows.jsonl");
    assert_eq!(folder.text("rows.jsonl").lines().count(), 60);
    let error = folder.run("convert first.svm rows.tamislog");
    assert_eq!(error.code, Some(2));
    assert!(error.err.contains("rows.tamislog: only a server writes its log"), "{}", error.err);
}

#[test]
fn rows_that_wait_for_labels_and_for_batches_survive_a_kill() {
    let folder = fitted();
    let score = |server: &Served, id: &str| {
        let kind = "Content-Type: text/x-svmlight\r\n";
        request(&server.address, "POST", &format!("/v1/score?id={id}"), kind, b"0 1:1 3:0.5\n")
            .map(|(status, _)| status)
    };
    let label = |server: &Served, id: &str| {
        let headers = format!("Content-Type: application/x-ndjson\r\nIdempotency-Key: {id}\r\n");
        let text = format!("{{\"id\": \"{id}\", \"y\": 1}}\n");
        let (status, body) = request(&server.address, "POST", "/v1/label", &headers, text.as_bytes()).unwrap();
        (status, String::from_utf8(body).unwrap())
    };
    let server = Served::start(&folder, "state.st --log log");
    assert_eq!([score(&server, "a"), score(&server, "b")], [Some(200); 2]);
    assert_eq!(label(&server, "a").0, 200);
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    let server = Served::start(&folder, "state.st --log log");
    let (status, answer) = label(&server, "a");
    assert!(status == 200 && answer.contains("\"repeated\":true"), "{answer}");
    assert!(label(&server, "b").1.contains("\"sequence\":2"), "it was on disk");
    let (_, model) = server.get("/v1/model").unwrap();
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    folder.ok("fit log/000001 --resume log/000001/start.st -q -o replayed.json");
    assert!(folder.read("replayed.json") == model, "byte for byte");
    // A method that learns in batches is killed while rows wait, and while they may be learned.
    folder.ok("fit first.svm --seed 1 -q -o staged.json --checkpoint staged.st");
    for number in 0..4 {
        let server = Served::start(&folder, "staged.st --log batches --batch 100");
        let key = format!("key {number}");
        assert_eq!(learn(&server.address, &key, &svm(&rows(60, 40, 8, 2, 50 + number))).unwrap().0, 200);
        server.signal("KILL");
        assert_eq!(server.wait(), None);
    }
    let server = Served::start(&folder, "staged.st --log batches --batch 100");
    let (status, saved) = request(&server.address, "POST", "/v1/checkpoint", "", b"").unwrap();
    let saved = String::from_utf8(saved).unwrap();
    assert!(status == 200 && saved.contains("\"rows\":740"), "{saved}");
    let (_, model) = server.get("/v1/model").unwrap();
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    folder.ok("fit batches/000001 --resume batches/000001/start.st -q -o replayed.json");
    assert!(folder.read("replayed.json") == model, "byte for byte, in the same batches");
}

#[test]
fn bad_starts_are_told_and_end_with_2() {
    let folder = fitted();
    let complaint = |line: &str| {
        let run = folder.run(line);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{line}: {}", run.err);
        run.err
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let in_use = complaint(&format!("serve first.json --listen {address}"));
    assert!(in_use.contains(&format!("{address}: cannot listen: Address already in use")), "{in_use}");
    assert!(
        complaint("serve first.json --listen 0.0.0.0:0")
            .contains("without tokens, the server listens on this machine only")
    );
    assert!(complaint("serve first.svm").contains("first.svm: neither a model nor a checkpoint"));
    assert!(complaint("serve first.json --log log").contains("a model file has no state to learn from"));
    assert!(complaint("serve first.json --tls no.pem no.key").contains("no.pem: not usable for TLS"));
    assert!(complaint("serve first.json --token-file none").contains("none: No such file"));
    assert!(complaint("serve first.json --stop-timeout 0").contains("expected a number of seconds"));
}
