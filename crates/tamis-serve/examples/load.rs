//! Measures a server on this machine: how long single rows take to be scored while rows are learned, how many rows a second
//! are learned through the log, and how many `fit` learns from a file. Every part ends after a stated time, and a request
//! that is not answered with 200 is counted and makes the run fail.
//!
//! ```console
//! $ cargo run --release --package tamis-serve --example load
//! $ cargo run --release --package tamis-serve --example load score
//! ```
//! The second form measures single rows and batches that are scored, and leaves out how fast a server learns.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
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
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Requests that were refused because the server was busy, and those that failed in another way.
static BUSY: AtomicUsize = AtomicUsize::new(0);
static FAILED: AtomicUsize = AtomicUsize::new(0);

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

/// A client that keeps its connection, and opens another one when the server ends it.
struct Client {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    fn new(address: SocketAddr) -> Client {
        Client { address, stream: None }
    }

    /// Sends a request; whether it was answered with 200.
    fn post(&mut self, path: &str, body: &str) -> bool {
        // A server ends connections that are idle for too long: as usual, the request is then sent on another one.
        let is_kept = self.stream.is_some();
        let answered = self.exchange(path, body).or_else(|error| {
            self.stream = None;
            if is_kept { self.exchange(path, body) } else { Err(error) }
        });
        match &answered {
            Ok(200) => return true,
            Ok(429) => BUSY.fetch_add(1, Ordering::Relaxed),
            Ok(status) => {
                eprintln!("{path}: answered with {status}");
                FAILED.fetch_add(1, Ordering::Relaxed)
            }
            Err(error) => {
                eprintln!("{path}: {error}");
                self.stream = None;
                FAILED.fetch_add(1, Ordering::Relaxed)
            }
        };
        false
    }

    fn exchange(&mut self, path: &str, body: &str) -> io::Result<u16> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                none.insert(BufReader::new(stream))
            }
        };
        let length = body.len();
        let kind = "Host: localhost\r\nContent-Type: text/x-svmlight";
        let request = format!("POST {path} HTTP/1.1\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length, mut ends, mut line) = (0, 0, false, String::new());
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended before the answer"));
            }
            let small = line.to_ascii_lowercase();
            if small.starts_with("http/") {
                status = small.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
            } else if let Some(text) = small.strip_prefix("content-length:") {
                length = text.trim().parse().unwrap_or(0);
            } else if small.starts_with("connection:") {
                ends = small.contains("close");
            }
        }
        stream.read_exact(&mut vec![0; length])?;
        if ends {
            self.stream = None;
        }
        Ok(status)
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

/// Sends rows to learn until the time is over, with a pause after each request; returns rows a second.
fn learn(address: SocketAddr, batches: &[String], pause: Duration) -> f64 {
    let (mut client, started, mut learned) = (Client::new(address), Instant::now(), 0);
    for batch in batches.iter().cycle() {
        if started.elapsed().as_secs_f64() >= SECONDS {
            break;
        }
        match client.post("/v1/learn", batch) {
            true => learned += BATCH,
            false => std::thread::sleep(Duration::from_millis(50)),
        }
        std::thread::sleep(pause);
    }
    learned as f64 / started.elapsed().as_secs_f64()
}

/// Sends single rows at a fixed rate, whether or not earlier ones are answered in time; returns times from when each was
/// due to when its answer was there. A server that cannot keep up is left after twice the time.
fn score(address: SocketAddr, rows: &[&str], rate: f64) -> Vec<f64> {
    let (mut client, started, mut times) = (Client::new(address), Instant::now(), Vec::new());
    for number in 0..(rate * SECONDS) as usize {
        if started.elapsed().as_secs_f64() > 2.0 * SECONDS {
            eprintln!("{number} of {} requests were sent in {} s", rate * SECONDS, 2.0 * SECONDS);
            FAILED.fetch_add(1, Ordering::Relaxed);
            break;
        }
        let due = started + Duration::from_secs_f64(number as f64 / rate);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        client.post("/v1/score", rows[number % rows.len()]);
        times.push(due.elapsed().as_secs_f64());
    }
    times
}

fn percentile(times: &[f64], share: f64) -> f64 {
    times[((times.len() - 1) as f64 * share) as usize] * 1e3
}

fn report(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let [half, most, all] = [0.5, 0.99, 1.0].map(|share| percentile(&times, share));
    println!("{what}: p50 {half:.2} ms, p99 {most:.2} ms, longest {all:.2} ms ({} requests)", times.len());
}

fn measure_learning(address: SocketAddr, batches: &[String]) {
    println!("learned, one client: {:.0} rows/s", learn(address, batches, Duration::ZERO));
    let several: f64 = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3).map(|_| scope.spawn(|| learn(address, batches, Duration::ZERO))).collect();
        clients.into_iter().map(|client| client.join().expect("no panic")).sum()
    });
    println!("learned, three clients: {several:.0} rows/s");
}

fn measure_scoring(address: SocketAddr, batches: &[String]) {
    let single = rows(200, 7);
    let single: Vec<&str> = single.split_inclusive('\n').collect();
    let pauses = [None, Some(Duration::from_millis(100)), Some(Duration::from_millis(10))];
    for pause in pauses {
        let (times, learned) = std::thread::scope(|scope| {
            let learner = pause.map(|pause| scope.spawn(move || learn(address, batches, pause)));
            let scorers: Vec<_> =
                (0..SCORERS).map(|_| scope.spawn(|| score(address, &single, RATE / SCORERS as f64))).collect();
            let times = scorers.into_iter().flat_map(|scorer| scorer.join().expect("no panic")).collect();
            (times, learner.map(|learner| learner.join().expect("no panic")))
        });
        let what = learned.map_or("scored alone".into(), |rate| format!("scored while {rate:.0} rows/s are learned"));
        report(&format!("{what}, {RATE} requests/s"), times);
    }
    let (mut client, batch, started, mut scored) = (Client::new(address), rows(BATCH, 9), Instant::now(), 0);
    while started.elapsed().as_secs_f64() < SECONDS / 2.0 {
        scored += if client.post("/v1/score", &batch) { BATCH } else { 0 };
    }
    println!("scored in batches of {BATCH}: {:.0} rows/s", scored as f64 / started.elapsed().as_secs_f64());
}

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (first, many) = (folder.path().join("first.svm"), folder.path().join("many.svm"));
    std::fs::write(&first, rows(5000, 1)).expect("room for rows");
    std::fs::write(&many, rows(100_000, 2)).expect("room for rows");
    let state = folder.path().join("state.st");
    fit_file(folder.path(), &first, Some(&state));
    println!("fit from a file: {:.0} rows/s", fit_file(folder.path(), &many, None));
    let log = Some(folder.path().join("log"));
    let options = Options { log, listen: "127.0.0.1:0".into(), ..Options::new(&state) };
    let server = Server::start(options, |text| eprintln!("server: {text}")).expect("the server starts");
    let (address, started) = (server.address(), Instant::now());
    while Client::new(address).exchange("/v1/score", "0 1:1\n").ok() != Some(200) {
        assert!(started.elapsed() < PATIENCE, "the server is not ready");
        std::thread::sleep(Duration::from_millis(10));
    }
    let batches: Vec<String> = (0..20).map(|seed| rows(BATCH, 100 + seed)).collect();
    if std::env::args().nth(1).as_deref() != Some("score") {
        measure_learning(address, &batches);
    }
    measure_scoring(address, &batches);
    server.stop();
    server.wait().expect("it stops in good order");
    let (busy, failed) = (BUSY.load(Ordering::Relaxed), FAILED.load(Ordering::Relaxed));
    println!("refused as busy: {busy}, failed: {failed}");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
