//! A server is killed at random moments while clients send rows, and started again. No acknowledged row may be lost, none
//! may be learned twice, and the model must be that of a fit of the log. Some rows are scored first and get their labels
//! later: one whose score was acknowledged must be there when its label comes.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use super::Campaign;
use super::common::served::{Served, learn, request};
use super::common::{Folder, rows, svm};

/// Requests of a case, their rows, and how many clients send them.
const REQUESTS: usize = 120;
const ROWS: usize = 5;
const CLIENTS: usize = 3;
/// One request in this many brings the label of a row that was scored before.
const LATE: usize = 4;
const FIRST_ROWS: u64 = 500;

#[test]
fn served_kills() {
    let mut campaign = Campaign::new("served_kills");
    let folder = Folder::new();
    folder.write("first.svm", svm(&rows(FIRST_ROWS as usize, 40, 8, 2, 1)));
    folder.ok("fit first.svm --method ftrl --passes 1 -q -o first.json --checkpoint state.st");
    while let Some((case, mut random)) = campaign.next() {
        let _ = std::fs::remove_dir_all(folder.path("log"));
        let open: Mutex<BTreeSet<usize>> = Mutex::new((0..REQUESTS).collect());
        let scored: Mutex<BTreeSet<usize>> = Mutex::default();
        for _ in 0..2 + random.uniform_below(3) {
            let server = Served::start(&folder, "state.st --log log");
            let pause = Duration::from_millis(5 + random.uniform_below(250));
            send_while(&server, (&open, &scored), &case, || {
                std::thread::sleep(pause);
                server.signal("KILL");
            });
            campaign.count("kills");
        }
        let server = Served::start(&folder, "state.st --log log");
        send_while(&server, (&open, &scored), &case, || {});
        assert!(open.lock().unwrap().is_empty(), "{case}: requests without an answer");
        check(&folder, server, &case);
        campaign.count("models equal to the file fit");
    }
    campaign.report();
}

/// Clients send the open requests while something happens, and stop at the first that is not answered. All must go on to be
/// answered in the end, with their first key.
fn send_while(
    server: &Served,
    (open, scored): (&Mutex<BTreeSet<usize>>, &Mutex<BTreeSet<usize>>),
    case: &str,
    meanwhile: impl FnOnce(),
) {
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mine: Vec<usize> =
                    open.lock().unwrap().iter().copied().filter(|number| number % CLIENTS == client).collect();
                for number in mine {
                    let is_late = number % LATE == LATE - 1;
                    if is_late && !scored.lock().unwrap().contains(&number) {
                        let Some(status) = score(server, number) else { return };
                        assert_eq!(status, 200, "{case}: row {number} is scored");
                        scored.lock().unwrap().insert(number);
                    }
                    let answer = loop {
                        match if is_late { label(server, number) } else { send(server, number) } {
                            Some((429, _)) => std::thread::sleep(Duration::from_millis(2)),
                            other => break other,
                        }
                    };
                    let Some((status, body)) = answer else { return };
                    let expected = if is_late { 1 } else { ROWS as u64 };
                    assert!(status == 200 && body["accepted"] == expected, "{case}: {number}: {status} {body}");
                    open.lock().unwrap().remove(&number);
                }
            });
        }
        meanwhile();
    });
}

fn send(server: &Served, number: usize) -> Option<(u16, Value)> {
    learn(&server.address, &format!("request {number}"), &svm(&rows(ROWS, 40, 8, 2, 1000 + number as u64)))
}

fn score(server: &Served, number: usize) -> Option<u16> {
    let row = svm(&rows(1, 40, 8, 2, 1000 + number as u64));
    let (path, kind) = (format!("/v1/score?id=row{number}"), "Content-Type: text/x-svmlight\r\n");
    request(&server.address, "POST", &path, kind, row.as_bytes()).map(|(status, _)| status)
}

fn label(server: &Served, number: usize) -> Option<(u16, Value)> {
    let headers = format!("Content-Type: application/x-ndjson\r\nIdempotency-Key: request {number}\r\n");
    let text = format!("{{\"id\": \"row{number}\", \"y\": 1}}\n");
    let (status, body) = request(&server.address, "POST", "/v1/label", &headers, text.as_bytes())?;
    Some((status, serde_json::from_slice(&body).ok()?))
}

fn check(folder: &Folder, server: Served, case: &str) {
    let (status, model) = server.get("/v1/model").expect("an answer");
    assert_eq!(status, 200, "{case}");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0), "{case}: it stops in good order");
    let whole: Value = serde_json::from_slice(&model).unwrap();
    let late = (0..REQUESTS).filter(|number| number % LATE == LATE - 1).count();
    let expected = FIRST_ROWS + ((REQUESTS - late) * ROWS + late) as u64;
    assert_eq!(whole["body"]["seen"]["rows"].as_u64(), Some(expected), "{case}: every row once");
    folder.ok("fit log/000001 --resume log/000001/start.st -q -o replayed.json");
    assert!(folder.read("replayed.json") == model, "{case}: another model than that of the log");
}
