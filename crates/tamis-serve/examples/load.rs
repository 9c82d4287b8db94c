//! Measures a server on this machine: how long single rows take to be scored while rows are learned, how many rows a second
//! are learned through the log, and how many `fit` learns from a file.
//!
//! ```console
//! $ cargo run --release --package tamis-serve --example load
//! ```

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use tamis::io::expand;
use tamis::recipe::{Method, Recipe};
use tamis::train::{CheckpointPlan, FitOptions, fit};
use tamis_serve::{Options, Server};

const FEATURES: usize = 75;
const RATE: f64 = 1000.0;
const SECONDS: f64 = 8.0;
const SCORERS: usize = 4;
const BATCH: usize = 1000;

fn rows(count: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % 2000) as f64 / 1000.0 - 1.0
    };
    let mut text = String::new();
    for _ in 0..count {
        let cells: Vec<f64> = (0..FEATURES).map(|_| next()).collect();
        text += if cells[0] > cells[1] { "1" } else { "0" };
        cells.iter().enumerate().for_each(|(at, cell)| text += &format!(" {}:{cell}", at + 1));
        text.push('\n');
    }
    text
}

/// A connection that is kept open.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn open(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        Connection { stream: BufReader::new(stream) }
    }

    fn post(&mut self, path: &str, body: &str) -> (u16, Vec<u8>) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/x-svmlight\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(head.as_bytes()).expect("the server reads");
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("the server answers");
            if line.starts_with("HTTP/") {
                status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
            } else if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().unwrap_or(0);
            } else if line == "\r\n" {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).expect("the whole answer");
        (status, answer)
    }
}

/// Learns the rows of a file in one pass; returns rows a second.
fn fit_file(folder: &Path, file: &Path, checkpoint: Option<&Path>) -> f64 {
    let plan = checkpoint.map(|path| CheckpointPlan { path: path.to_path_buf(), every: None });
    let sources = expand(&[file.display().to_string()], None).expect("the file is there");
    let recipe = Recipe { passes: Some(1), ..Recipe::new(Method::Ftrl) };
    let model = Some(folder.join("model.json"));
    let options = FitOptions { sources, memory: 1 << 30, model, checkpoint: plan, ..FitOptions::default() };
    let started = Instant::now();
    let fitted = fit(&recipe, &options, None, &mut ()).expect("rows can be learned");
    fitted.rows_learned as f64 / started.elapsed().as_secs_f64()
}

/// Sends rows to learn until the time is over; returns rows a second.
fn learn(address: SocketAddr, batches: &[String], seconds: f64, pause: Duration) -> f64 {
    let (mut connection, started, mut learned) = (Connection::open(address), Instant::now(), 0);
    while started.elapsed().as_secs_f64() < seconds {
        for batch in batches {
            if connection.post("/v1/learn", batch).0 == 200 {
                learned += BATCH;
            }
            std::thread::sleep(pause);
        }
    }
    learned as f64 / started.elapsed().as_secs_f64()
}

/// Sends single rows at a fixed rate, whether or not earlier ones are answered in time; returns times from when each was
/// due to when its answer was there.
fn score(address: SocketAddr, rows: &[&str], rate: f64) -> Vec<f64> {
    let (mut connection, started) = (Connection::open(address), Instant::now());
    let count = (rate * SECONDS) as usize;
    (0..count)
        .map(|number| {
            let due = started + Duration::from_secs_f64(number as f64 / rate);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            assert_eq!(connection.post("/v1/score", rows[number % rows.len()]).0, 200);
            due.elapsed().as_secs_f64()
        })
        .collect()
}

fn percentile(times: &[f64], share: f64) -> f64 {
    times[((times.len() - 1) as f64 * share) as usize] * 1e3
}

fn report(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let [half, most, all] = [0.5, 0.99, 1.0].map(|share| percentile(&times, share));
    println!("{what}: p50 {half:.2} ms, p99 {most:.2} ms, longest {all:.2} ms ({} requests)", times.len());
}

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (first, many) = (folder.path().join("first.svm"), folder.path().join("many.svm"));
    std::fs::write(&first, rows(5000, 1)).expect("room for rows");
    std::fs::write(&many, rows(100_000, 2)).expect("room for rows");
    let state = folder.path().join("state.st");
    fit_file(folder.path(), &first, Some(&state));
    println!("fit from a file: {:.0} rows/s", fit_file(folder.path(), &many, None));
    let log = Some(folder.path().join("log"));
    let server = Server::start(Options { log, listen: "127.0.0.1:0".into(), ..Options::new(&state) }, |_| {});
    let server = server.expect("the server starts");
    let address = server.address();
    while Connection::open(address).post("/v1/score", "0 1:1\n").0 != 200 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let batches: Vec<String> = (0..20).map(|seed| rows(BATCH, 100 + seed)).collect();
    println!("learned, one client: {:.0} rows/s", learn(address, &batches, SECONDS, Duration::ZERO));
    let several: f64 = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..3).map(|_| scope.spawn(|| learn(address, &batches, SECONDS, Duration::ZERO))).collect();
        clients.into_iter().map(|client| client.join().expect("no panic")).sum()
    });
    println!("learned, three clients: {several:.0} rows/s");
    let single = rows(200, 7);
    let single: Vec<&str> = single.split_inclusive('\n').collect();
    for (what, pause) in [("scored alone", None), ("scored while rows are learned", Some(Duration::from_millis(100)))] {
        let times = std::thread::scope(|scope| {
            if let Some(pause) = pause {
                let batches = &batches;
                scope.spawn(move || learn(address, batches, SECONDS, pause));
            }
            let scorers: Vec<_> =
                (0..SCORERS).map(|_| scope.spawn(|| score(address, &single, RATE / SCORERS as f64))).collect();
            scorers.into_iter().flat_map(|scorer| scorer.join().expect("no panic")).collect()
        });
        report(&format!("{what}, {RATE} requests/s"), times);
    }
    let (mut connection, batch, started, mut scored) = (Connection::open(address), rows(BATCH, 9), Instant::now(), 0);
    while started.elapsed().as_secs_f64() < SECONDS / 2.0 {
        assert_eq!(connection.post("/v1/score", &batch).0, 200);
        scored += BATCH;
    }
    println!("scored in batches of {BATCH}: {:.0} rows/s", scored as f64 / started.elapsed().as_secs_f64());
    drop(connection);
    server.stop();
    server.wait().expect("it stops in good order");
}
