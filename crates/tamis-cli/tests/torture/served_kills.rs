//! A server is killed at random moments while clients send rows, and started again. No acknowledged row may be lost, none
//! may be learned twice, and the model must be that of a fit of the log.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use super::Campaign;
use super::common::served::{Served, learn};
use super::common::{Folder, rows, svm};

/// Requests of a case, their rows, and how many clients send them.
const REQUESTS: usize = 120;
const ROWS: usize = 5;
const CLIENTS: usize = 3;
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
        for _ in 0..2 + random.uniform_below(3) {
            let server = Served::start(&folder, "state.st --log log");
            let pause = Duration::from_millis(5 + random.uniform_below(250));
            send_while(&server, &open, &case, || {
                std::thread::sleep(pause);
                server.signal("KILL");
            });
            campaign.count("kills");
        }
        let server = Served::start(&folder, "state.st --log log");
        send_while(&server, &open, &case, || {});
        assert!(open.lock().unwrap().is_empty(), "{case}: requests without an answer");
        check(&folder, server, &case);
        campaign.count("models equal to the file fit");
    }
    campaign.report();
}

/// Clients send the open requests while something happens, and stop at the first that is not answered. All must go on to be
/// answered in the end, with their first key.
fn send_while(server: &Served, open: &Mutex<BTreeSet<usize>>, case: &str, meanwhile: impl FnOnce()) {
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mine: Vec<usize> =
                    open.lock().unwrap().iter().copied().filter(|number| number % CLIENTS == client).collect();
                for number in mine {
                    let data = svm(&rows(ROWS, 40, 8, 2, 1000 + number as u64));
                    let answer = loop {
                        match learn(&server.address, &format!("request {number}"), &data) {
                            Some((429, _)) => std::thread::sleep(Duration::from_millis(2)),
                            other => break other,
                        }
                    };
                    let Some((status, body)) = answer else { return };
                    let accepted = body["accepted"].as_u64();
                    assert!(status == 200 && accepted == Some(ROWS as u64), "{case}: {status} {body}");
                    open.lock().unwrap().remove(&number);
                }
            });
        }
        meanwhile();
    });
}

fn check(folder: &Folder, server: Served, case: &str) {
    let (status, model) = server.get("/v1/model").expect("an answer");
    assert_eq!(status, 200, "{case}");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0), "{case}: it stops in good order");
    let whole: Value = serde_json::from_slice(&model).unwrap();
    let expected = FIRST_ROWS + (REQUESTS * ROWS) as u64;
    assert_eq!(whole["body"]["seen"]["rows"].as_u64(), Some(expected), "{case}: every row once");
    folder.ok("fit log/000001 --resume log/000001/start.st -q -o replayed.json");
    assert!(folder.read("replayed.json") == model, "{case}: another model than that of the log");
}
