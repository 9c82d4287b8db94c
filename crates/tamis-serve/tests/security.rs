//! Who may do what, and what clients cannot do to a server: tokens, origins, TLS, limits of size and time.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Answer, Fitted, KeptOpen, Running, fitted, one_pass, options, send, svmlight};
use tamis::recipe::Method;
use tamis_serve::{Limits, Options, ROUTES, Server};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto};

fn files(folder: &Path) -> Fitted {
    fitted(folder, &svmlight(600, 1), "svm", &one_pass(Method::Ftrl))
}

fn refusal(options: Options) -> String {
    Server::start(options, |_| {}).err().expect("it does not start").to_string()
}

const SCORER: &str = "scorer-0123456789abcdef";
const LEARNER: &str = "learner-0123456789abcdef";
const ADMIN: &str = "admin-0123456789abcdef";

fn token_file(folder: &Path) -> PathBuf {
    let path = folder.join("tokens");
    fs::write(&path, format!("# tokens\n{SCORER} score\n{LEARNER} learn\n{ADMIN} admin\n")).unwrap();
    path
}

#[test]
fn every_route_needs_its_scope() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let tokens = Some(token_file(folder.path()));
    let log = Some(folder.path().join("log"));
    let server = Running::start(Options { tokens, log, ..options(&files.checkpoint) });
    let status = |method: &str, path: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        server.request(method, path, &[("Authorization", &bearer)], b"")
    };
    for route in ROUTES.iter().filter(|route| route.path != "/v1/events") {
        let (method, path) = (route.method.to_uppercase(), route.path.replace("{name}", "state"));
        let without = server.request(&method, &path, &[], b"");
        let Some(scope) = route.scope else {
            assert_eq!(without.status, 200, "{path} is open");
            continue;
        };
        assert_eq!((without.status, without.error().1.as_str()), (401, "no_token"), "{path}");
        assert_eq!(without.header("www-authenticate"), Some("Bearer"));
        let wrong = status(&method, &path, "admin-0123456789abcdeF");
        assert_eq!(wrong.error().2, "send a token of this server: `Authorization: Bearer TOKEN`", "{path}");
        for (token, name) in [(SCORER, "score"), (LEARNER, "learn"), (ADMIN, "admin")] {
            let found = status(&method, &path, token);
            let is_allowed = name == "admin" || name == scope.name();
            assert_eq!(found.status == 403, !is_allowed, "{path} with {name}: {}", found.text());
            if !is_allowed {
                assert_eq!(found.error().2, format!("the token lacks the scope {}", scope.name()));
            }
        }
    }
}

#[test]
fn bad_starts_have_their_own_messages() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let open = |listen: &str| Options { listen: listen.into(), ..options(&files.model) };
    let message = refusal(open("0.0.0.0:0"));
    assert!(message.starts_with("0.0.0.0:0: without tokens, the server listens on this machine only"), "{message}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = refusal(open(&address));
    assert!(message.starts_with(&format!("{address}: cannot listen: Address already in use")), "{message}");
    assert!(refusal(open("nonsense")).starts_with("nonsense: cannot listen: "));
    let tokens = Some(folder.path().join("short"));
    fs::write(tokens.as_ref().unwrap(), "short score\n").unwrap();
    let message = refusal(Options { tokens, ..options(&files.model) });
    assert!(message.contains("line 1: expected a token of 16 to 256 characters"), "{message}");
    let [chain, key] = certificate();
    let none = folder.path().join("none.pem");
    let message = refusal(Options { tls: Some((none.clone(), key.clone())), ..options(&files.model) });
    assert!(message.starts_with(&format!("{}: not usable for TLS: ", none.display())), "{message}");
    let message = refusal(Options { tls: Some((key.clone(), key)), ..options(&files.model) });
    assert!(message.ends_with("there is no certificate in this file"), "{message}");
    let message = refusal(Options { tls: Some((chain.clone(), chain)), ..options(&files.model) });
    assert!(message.contains("server.pem: not usable for TLS: "), "{message}");
}

fn certificate() -> [PathBuf; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates");
    ["server.pem", "server.key"].map(|name| folder.join(name))
}

#[test]
fn tls_is_spoken_and_plain_text_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let [chain, key] = certificate();
    let server = Server::start(Options { tls: Some((chain, key)), ..options(&files.model) }, |_| {}).unwrap();
    let mut roots = RootCertStore::empty();
    let authority = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates/ca.pem");
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let stream = StreamOwned::new(connection, TcpStream::connect(server.address()).unwrap());
    let headers = [("Content-Type", "text/x-svmlight")];
    let answer = send(stream, "localhost", "POST", "/v1/score", &headers, b"1 1:0.5\n");
    assert_eq!(answer.lines().len(), 1);
    let mut plain = TcpStream::connect(server.address()).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let _ = plain.read_to_end(&mut bytes);
    assert!(!bytes.starts_with(b"HTTP"), "{:?}", String::from_utf8_lossy(&bytes));
    server.stop();
    server.wait().unwrap();
}

#[test]
fn pages_of_other_sites_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(options(&files(folder.path()).model));
    let kind = ("Content-Type", "text/x-svmlight");
    let score = |header| server.request("POST", "/v1/score", &[kind, header], b"1 1:1\n");
    assert_eq!(score(("Origin", "https://example.org")).error().1, "other_origin");
    assert_eq!(score(("Origin", "null")).error().1, "other_origin");
    assert_eq!(score(("Host", "example.org")).error().1, "other_host");
    let own = format!("http://127.0.0.1:{}", server.address.port());
    assert_eq!(score(("Origin", &own)).status, 200);
    assert!(score(("Origin", &own)).header("access-control-allow-origin").is_none());
}

#[test]
fn slow_clients_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(options(&files(folder.path()).model));
    let mut body = TcpStream::connect(server.address).unwrap();
    let head =
        "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/x-svmlight\r\nContent-Length: 100\r\n\r\n1 1";
    body.write_all(head.as_bytes()).unwrap();
    let mut header = TcpStream::connect(server.address).unwrap();
    header.write_all(b"GET /healthz HTT").unwrap();
    let started = Instant::now();
    let answer = Answer::read(&mut body);
    assert_eq!((answer.status, answer.error().1.as_str()), (408, "slow"));
    assert_eq!(answer.error().2, "the body did not arrive within 1.5 seconds");
    let mut rest = Vec::new();
    header.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let ended = header.read_to_end(&mut rest);
    assert!(ended.is_ok() && !rest.starts_with(b"HTTP/1.1 200"), "{ended:?} {:?}", String::from_utf8_lossy(&rest));
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    let mut idle = KeptOpen::to(&server);
    assert_eq!(idle.request("GET /healthz HTTP/1.1", b"").status, 200);
    assert!(idle.is_ended(), "a connection that is idle for as long is ended");
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn a_body_is_refused_by_its_length_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(options(&files(folder.path()).model));
    let head = |rest: &str| {
        format!(
            "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/csv\r\n{rest}\r\n\r\n"
        )
    };
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(head("Content-Length: 1073741824").as_bytes()).unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!(
        (answer.status, answer.error().2.as_str()),
        (413, "the body may have 67108864 bytes; send fewer rows at once")
    );
    // A body in pieces has no length; it is refused when it has become too long.
    let limits = Limits { body: 1000, ..options(Path::new("")).limits };
    let small = Running::start(Options { limits, ..options(&files(folder.path()).model) });
    let mut stream = TcpStream::connect(small.address).unwrap();
    let piece = format!("190\r\n{}\r\n", "x".repeat(0x190));
    stream.write_all((head("Transfer-Encoding: chunked") + &piece.repeat(3) + "0\r\n\r\n").as_bytes()).unwrap();
    assert_eq!(Answer::read(&mut stream).status, 413);
}

#[test]
fn too_many_connections_and_bodies_are_told_to_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { connections: 2, bodies: 150, ..options(Path::new("")).limits };
    let server = Running::start(Options { limits, ..options(&files(folder.path()).model) });
    let head =
        "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/x-svmlight\r\nContent-Length: 100\r\n\r\n1 1";
    let mut waiting = TcpStream::connect(server.address).unwrap();
    waiting.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let answer = server.post("/v1/score", "text/x-svmlight", &"1 1:1\n".repeat(10));
    assert_eq!((answer.error().0, answer.header("retry-after")), (429, Some("1")), "{}", answer.text());
    let _second = TcpStream::connect(server.address).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let answer = server.get("/healthz");
    assert_eq!(
        (answer.error().0, answer.error().1.as_str(), answer.header("retry-after")),
        (503, "connections", Some("1"))
    );
}

#[test]
fn a_server_that_stops_answers_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let limits = Limits { receive: Duration::from_secs(20), ..options(&files.model).limits };
    let server = Server::start(Options { limits, ..options(&files.model) }, |_| {}).unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head =
        "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/x-svmlight\r\nContent-Length: 8\r\n\r\n1 1";
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let address = server.address();
    server.stop();
    std::thread::sleep(Duration::from_millis(300));
    assert!(TcpStream::connect(address).is_err(), "no new connections");
    stream.write_all(b":0.5\n").unwrap();
    assert_eq!(Answer::read(&mut stream).lines().len(), 1);
    let started = Instant::now();
    server.wait().unwrap();
    assert!(started.elapsed() < Duration::from_secs(5));
    // A request that does not end is given up after the stated time.
    let limits =
        Limits { receive: Duration::from_secs(60), stop: Duration::from_secs(1), ..options(&files.model).limits };
    let server = Server::start(Options { limits, ..options(&files.model) }, |_| {}).unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let started = Instant::now();
    server.stop();
    server.wait().unwrap();
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[test]
fn a_client_that_sends_first_gets_its_answer_and_keeps_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let tokens = Some(token_file(folder.path()));
    let limits = Limits { bodies: 100_000, ..options(&files.model).limits };
    let server = Running::start(Options { tokens, limits, ..options(&files.model) });
    let mut client = KeptOpen::to(&server);
    let rows = "1 1:0.5 2:0.25\n".repeat(300_000);
    let score = format!("POST /v1/score HTTP/1.1\r\nContent-Type: text/x-svmlight\r\nAuthorization: Bearer {SCORER}");
    let refused = [
        (score.clone(), 429, "busy"),
        (score.replace(SCORER, "another-0123456789abcdef"), 401, "no_token"),
        (score.replace("/v1/score", "/v1/learn"), 403, "no_scope"),
        (score.replace("/v1/score", "/v1/score?explain=maybe"), 400, "bad_query"),
        (score.replace("/v1/score", "/v1/nothing"), 404, "no_route"),
        (score.replace("POST", "PUT"), 405, "no_method"),
        (score.replace(SCORER, &format!("{SCORER}\r\nContent-Encoding: gzip")), 415, "unsupported_encoding"),
        (score.replace(SCORER, &format!("{SCORER}\r\nOrigin: http://example.org")), 403, "other_origin"),
    ];
    for (head, status, code) in refused {
        let answer = client.request(&head, rows.as_bytes());
        assert_eq!((answer.status, answer.error().1.as_str()), (status, code), "{}", answer.text());
        assert_eq!(answer.header("connection"), None, "{code}: the connection is kept");
        assert_eq!(client.request(&score, b"1 1:0.5\n").lines().len(), 1, "after {code}");
    }
}

#[test]
fn a_body_that_is_much_too_long_is_answered_before_the_connection_ends() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { body: 100_000, ..options(Path::new("")).limits };
    let server = Running::start(Options { limits, ..options(&files(folder.path()).model) });
    let head = "POST /v1/score HTTP/1.1\r\nContent-Type: text/x-svmlight";
    let mut client = KeptOpen::to(&server);
    let answer = client.request(head, &vec![b'1'; 30 << 20]);
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    assert!(client.is_ended());
    // A client that asks first is answered at once, and sends nothing.
    let mut stream = TcpStream::connect(server.address).unwrap();
    let asks = format!("{head}\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 200000\r\n\r\n");
    stream.write_all(asks.as_bytes()).unwrap();
    let started = Instant::now();
    assert_eq!(Answer::read(&mut stream).status, 413);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}
