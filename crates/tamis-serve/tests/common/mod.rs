//! Models to serve, servers on free ports of this machine, and a client that shows everything it gets.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tamis::io::expand;
use tamis::recipe::{Method, Recipe};
use tamis::train::{Checkpoint, CheckpointPlan, FitOptions, fit};
use tamis_serve::{Limits, Options, Server};

/// Random whole numbers that are the same each time.
pub fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

/// Rows of svmlight: the label depends on features 1 and 2.
pub fn svmlight(rows: usize, seed: u64) -> String {
    let mut next = random(seed);
    let mut text = String::new();
    for _ in 0..rows {
        let cells: Vec<f64> = (0..8).map(|_| next(2000) as f64 / 1000.0 - 1.0).collect();
        let label = u8::from(cells[0] - cells[1] > 0.2);
        text += &label.to_string();
        cells.iter().enumerate().for_each(|(at, cell)| text += &format!(" {}:{cell}", at + 1));
        text.push('\n');
    }
    text
}

/// Rows of a table with numbers and categories.
pub fn table(rows: usize, seed: u64) -> String {
    let mut next = random(seed);
    let mut text = String::from("size,colour,y\n");
    for _ in 0..rows {
        let (size, colour) = (next(1000) as f64 / 100.0, ["red", "green", "blue"][next(3) as usize]);
        let label = if size > 5.0 || colour == "red" { "yes" } else { "no" };
        text += &format!("{size},{colour},{label}\n");
    }
    text
}

/// A model file and a checkpoint in a folder.
pub struct Fitted {
    pub model: PathBuf,
    pub checkpoint: PathBuf,
}

/// Fits rows in one pass.
pub fn fitted(folder: &Path, data: &str, extension: &str, recipe: &Recipe) -> Fitted {
    let file = folder.join(format!("first.{extension}"));
    std::fs::write(&file, data).unwrap();
    let found = Fitted { model: folder.join("model.json"), checkpoint: folder.join("state.st") };
    // A kernel model is learned in one piece.
    let has_checkpoint = recipe.method.kind() != Method::Kernel;
    let options = FitOptions {
        sources: expand(&[file.display().to_string()], None).unwrap(),
        memory: 1 << 28,
        model: Some(found.model.clone()),
        checkpoint: has_checkpoint.then(|| CheckpointPlan { path: found.checkpoint.clone(), every: None }),
        ..FitOptions::default()
    };
    let read = tamis::io::ReadOptions {
        columns: tamis::parse::schema::SchemaOptions { needs_target: true, ..Default::default() },
        ..Default::default()
    };
    fit(recipe, &FitOptions { read, ..options }, None, &mut ()).unwrap();
    found
}

/// A recipe of an online learner with one pass.
pub fn one_pass(method: Method) -> Recipe {
    Recipe { passes: Some(1), ..Recipe::new(method) }
}

/// Options with a log.
pub fn learning(source: &Path, log: &Path) -> Options {
    Options { log: Some(log.to_path_buf()), ..options(source) }
}

/// Sends rows to learn.
pub fn learn(server: &Running, rows: &str, key: &str) -> Answer {
    let mut headers = vec![("Content-Type", "text/x-svmlight")];
    if !key.is_empty() {
        headers.push(("Idempotency-Key", key));
    }
    server.request("POST", "/v1/learn", &headers, rows.as_bytes())
}

/// The model of a file fit of the log.
pub fn replayed(log: &Path) -> String {
    let checkpoint = Checkpoint::load(&log.join("start.st")).unwrap();
    let sources = expand(&[log.display().to_string()], None).unwrap();
    let options = FitOptions { sources, memory: 1 << 28, ..FitOptions::default() };
    fit(&checkpoint.recipe().clone(), &options, Some(checkpoint), &mut ()).unwrap().model.to_text()
}

/// The model that is served.
pub fn served(server: &Running) -> String {
    let answer = server.get("/v1/model");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text().to_string()
}

/// A server that stops when it is dropped.
pub struct Running {
    server: Option<Server>,
    pub address: SocketAddr,
}

/// Options for a free port, with short times so that tests are quick.
pub fn options(source: &Path) -> Options {
    let limits = Limits { receive: Duration::from_millis(1500), stop: Duration::from_secs(5), ..Limits::default() };
    Options { listen: "127.0.0.1:0".into(), limits, threads: 2, ..Options::new(source) }
}

impl Running {
    /// Starts a server and waits until it is ready.
    pub fn start(options: Options) -> Running {
        let server = Server::start(options, |_| {}).unwrap();
        let running = Running { address: server.address(), server: Some(server) };
        let started = Instant::now();
        while running.get("/readyz").status != 200 {
            assert!(started.elapsed() < Duration::from_secs(30), "the server is not ready");
            std::thread::sleep(Duration::from_millis(5));
        }
        running
    }

    /// Stops the server and waits for its end.
    pub fn stop(mut self) {
        let server = self.server.take().expect("it runs");
        server.stop();
        server.wait().unwrap();
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, kind: &str, body: &str) -> Answer {
        self.request("POST", path, &[("Content-Type", kind)], body.as_bytes())
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let stream = TcpStream::connect(self.address).unwrap();
        send(stream, &format!("127.0.0.1:{}", self.address.port()), method, path, headers, body)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
            let _ = server.wait();
        }
    }
}

/// Sends a request and reads the answer.
pub fn send(
    mut stream: impl Read + Write,
    host: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head += &format!("Host: {host}\r\n");
    }
    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    // A server that refuses a body by its length does not read it.
    let _ = stream.write_all(body);
    let _ = stream.flush();
    Answer::read(&mut stream)
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads an answer to the end of the connection.
    pub fn read(stream: &mut impl Read) -> Answer {
        let mut bytes = Vec::new();
        // A connection that is closed with unread bytes ends with an error after the answer.
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: bytes[end + 4..].to_vec() }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn lines(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.text());
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = |line: &&str| line.split(':').next().is_some_and(|key| key.eq_ignore_ascii_case(name));
        self.head.lines().find(found).and_then(|line| Some(line.split_once(':')?.1.trim()))
    }

    /// The status and the code and message of an error.
    pub fn error(&self) -> (u16, String, String) {
        let error = self.json()["error"].clone();
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_string();
        (self.status, text("code"), text("message"))
    }
}

/// A client that keeps its connection, and sends a whole request before it reads the answer.
pub struct KeptOpen {
    stream: std::io::BufReader<TcpStream>,
}

impl KeptOpen {
    pub fn to(server: &Running) -> KeptOpen {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        KeptOpen { stream: std::io::BufReader::new(stream) }
    }

    /// Sends a request and reads its answer. Every byte must be taken, and the whole answer must come.
    pub fn request(&mut self, head: &str, body: &[u8]) -> Answer {
        let head = format!("{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        self.stream.get_mut().write_all(head.as_bytes()).unwrap();
        self.stream.get_mut().write_all(body).unwrap_or_else(|error| panic!("the body is not taken: {error}"));
        self.answer()
    }

    pub fn answer(&mut self) -> Answer {
        use std::io::BufRead;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.stream.read_line(&mut head).unwrap_or_else(|error| panic!("no answer: {error}"));
            assert!(read > 0, "the connection ended before the answer: {head:?}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head: head.trim_end().to_string(), body: Vec::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        answer.body = vec![0; length];
        self.stream.read_exact(&mut answer.body).unwrap();
        answer
    }

    /// Whether the server has ended the connection.
    pub fn is_ended(&mut self) -> bool {
        self.stream.read(&mut [0]).is_ok_and(|read| read == 0)
    }
}
