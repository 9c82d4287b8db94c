//! A server of the program in a process of its own, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Folder;

/// A server in a process of its own, on a free port of this machine. It is killed when it is dropped.
pub struct Served {
    pub child: Child,
    pub address: String,
}

impl Served {
    /// Starts `tamis serve` and waits until it is ready.
    pub fn start(folder: &Folder, arguments: &str) -> Served {
        let mut process = folder.process(&format!("serve {arguments} --listen 127.0.0.1:0 --json"));
        let mut child = process.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let address = told["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/').to_string();
        let served = Served { child, address };
        let started = Instant::now();
        while served.get("/readyz").is_none_or(|(status, _)| status != 200) {
            assert!(started.elapsed() < Duration::from_secs(60), "the server is not ready");
            std::thread::sleep(Duration::from_millis(5));
        }
        served
    }

    pub fn get(&self, path: &str) -> Option<(u16, Vec<u8>)> {
        request(&self.address, "GET", path, "", b"")
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -s {name} {id}");
    }

    /// Waits for the end; returns the exit code.
    pub fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request; `None` if the server went away before its answer was complete.
pub fn request(address: &str, method: &str, path: &str, headers: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?.to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse::<usize>().ok()?;
    let body = bytes[end + 4..].to_vec();
    (body.len() == length).then_some((head.split(' ').nth(1)?.parse().ok()?, body))
}

/// Sends rows to learn with a key; `None` if there is no answer.
pub fn learn(address: &str, key: &str, rows: &str) -> Option<(u16, Value)> {
    let headers = format!("Content-Type: text/x-svmlight\r\nIdempotency-Key: {key}\r\n");
    let (status, body) = request(address, "POST", "/v1/learn", &headers, rows.as_bytes())?;
    Some((status, serde_json::from_slice(&body).ok()?))
}
