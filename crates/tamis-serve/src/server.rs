//! The server: listens, accepts connections, restores the training, and stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tamis::model::Model;
use tamis::train::Checkpoint;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use crate::app::App;
use crate::auth::Tokens;
use crate::error::ServeError;
use crate::learner::Learner;
use crate::leftover::{Lingering, Unread};
use crate::log::LogFolder;
use crate::options::Options;
use crate::routes::router;
use crate::served::Served;
use crate::tls;

/// A server that runs on threads of its own.
pub struct Server {
    address: SocketAddr,
    app: Arc<App>,
    thread: JoinHandle<Result<(), ServeError>>,
}

impl Server {
    /// Starts a server. It listens when this returns; it is ready when the log is replayed. `notes` gets messages for its
    /// operator.
    pub fn start(options: Options, notes: impl Fn(&str) + Send + Sync + 'static) -> Result<Server, ServeError> {
        let tokens = options.tokens.as_deref().map(Tokens::load).transpose()?.unwrap_or_default();
        let acceptor = options.tls.as_ref().map(|(chain, key)| tls::acceptor(chain, key)).transpose()?;
        let source = SourceFile::load(&options)?;
        let listener = listen(&options.listen)?;
        let address = listener.local_addr().map_err(|source| ServeError::Runtime { source })?;
        let is_local = tokens.is_empty();
        if is_local && !address.ip().is_loopback() {
            return Err(ServeError::NoTokens { listen: options.listen });
        }
        let app = Arc::new(App::new(options, tokens, is_local, Box::new(notes)));
        let shared = app.clone();
        let thread = std::thread::spawn(move || run(shared, listener, acceptor, source));
        Ok(Server { address, app, thread })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks the server to stop: it accepts no more connections, and answers the requests that it has.
    pub fn stop(&self) {
        self.app.stop();
    }

    /// Waits until the server has stopped: after [`Server::stop`], SIGTERM or Ctrl-C.
    pub fn wait(self) -> Result<(), ServeError> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Opens the port at once, so that a port in use is told before anything else is done.
fn listen(address: &str) -> Result<std::net::TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { listen: address.into(), source };
    let listener = std::net::TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// What the server was given to serve.
enum SourceFile {
    Model(Box<Model>),
    Checkpoint(Vec<u8>),
}

impl SourceFile {
    fn load(options: &Options) -> Result<SourceFile, ServeError> {
        let path = &options.source;
        let bytes = std::fs::read(path).map_err(|source| ServeError::File { path: path.clone(), source })?;
        let learns = options.log.is_some() && !options.read_only;
        let unusable = |reason: String| ServeError::Source { path: path.clone(), reason };
        if bytes.trim_ascii_start().starts_with(b"{") {
            if learns {
                return Err(ServeError::ModelCannotLearn { path: path.clone() });
            }
            let model = Model::from_bytes(&bytes, path).map_err(|error| unusable(error.to_string()))?;
            return Ok(SourceFile::Model(Box::new(model)));
        }
        let training = |source| ServeError::Training { path: path.clone(), source: Box::new(source) };
        let checkpoint = Checkpoint::from_bytes(&bytes, path).map_err(|error| unusable(error.to_string()))?;
        if learns {
            return Ok(SourceFile::Checkpoint(bytes));
        }
        let none = || unusable("this checkpoint holds no model; serve the model file".into());
        let model = checkpoint.model().map_err(training)?.ok_or_else(none)?;
        Ok(SourceFile::Model(Box::new(model)))
    }
}

fn run(
    app: Arc<App>,
    listener: std::net::TcpListener,
    tls: Option<TlsAcceptor>,
    source: SourceFile,
) -> Result<(), ServeError> {
    let threads = match app.options.threads {
        0 => std::thread::available_parallelism().map_or(2, usize::from),
        given => given,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let runtime = runtime.map_err(|source| ServeError::Runtime { source })?;
    let learner = match source {
        SourceFile::Model(model) => {
            app.publish(Arc::new(Served::new(*model, 0)));
            None
        }
        SourceFile::Checkpoint(bytes) => {
            let shared = app.clone();
            Some(std::thread::spawn(move || learn(shared, &bytes)))
        }
    };
    let shared = app.clone();
    let listened = runtime.block_on(async move {
        let listener = TcpListener::from_std(listener).map_err(|source| ServeError::Runtime { source })?;
        accept(shared, listener, tls).await
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    app.end_learner();
    let learned =
        learner.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    learned.and(listened)
}

/// Restores the training and learns until the server stops.
fn learn(app: Arc<App>, checkpoint: &[u8]) -> Result<(), ServeError> {
    let (commands, inbox) = sync_channel(app.options.limits.queue);
    let folder = app.options.log.clone().expect("a server that learns has a log");
    let given = (app.options.source.clone(), checkpoint);
    let start = |log| Learner::start(app.clone(), log, (&given.0, given.1), commands.clone());
    let started = LogFolder::open(&folder).and_then(start);
    let learner = started.inspect_err(|_| app.stop())?;
    app.set_learner(commands);
    if *app.stopping().borrow() {
        return Ok(());
    }
    app.note(&format!("ready: the log ends with record {}", app.served().map_or(0, |served| served.sequence)));
    learner.run(inbox);
    Ok(())
}

/// Accepts connections until the server stops, then waits for those that are open.
async fn accept(app: Arc<App>, listener: TcpListener, tls: Option<TlsAcceptor>) -> Result<(), ServeError> {
    let failed = |source| ServeError::Runtime { source };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let (router, graceful, mut stop) = (router(app.clone()), GracefulShutdown::new(), app.stopping());
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Too many open files, for example: those that are open go on.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            _ = terminate.recv() => break,
            _ = tokio::signal::ctrl_c() => break,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let (router, app, tls, watcher) = (router.clone(), app.clone(), tls.clone(), graceful.watcher());
        tokio::spawn(async move {
            let open = app.connections.fetch_add(1, Ordering::Relaxed);
            if open < app.options.limits.connections {
                connection(&app, stream, router, tls, watcher).await;
            } else {
                refuse(stream, tls.is_some()).await;
            }
            app.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
    app.stop();
    drop(listener);
    let _ = tokio::time::timeout(app.options.limits.stop, graceful.shutdown()).await;
    Ok(())
}

/// Answers a connection above the limit, whatever it asks.
async fn refuse(stream: TcpStream, is_tls: bool) {
    let mut stream = Lingering::new(stream, Unread::certain());
    if !is_tls {
        let body = r#"{"error":{"code":"connections","message":"too many connections are open"}}"#;
        let head =
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close";
        let _ = stream.write_all(format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await;
    }
    let _ = stream.shutdown().await;
}

async fn connection(app: &App, stream: TcpStream, router: Router, tls: Option<TlsAcceptor>, watcher: Watcher) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => serve(app, stream, router, watcher).await,
        Some(acceptor) => {
            let shaken = tokio::time::timeout(app.options.limits.receive, acceptor.accept(stream)).await;
            if let Ok(Ok(stream)) = shaken {
                serve(app, stream, router, watcher).await;
            }
        }
    }
}

/// Serves the requests of a connection. A client that is slow to send the head of a request is left.
async fn serve(
    app: &App,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    watcher: Watcher,
) {
    let (unread, router) = (Unread::default(), TowerToHyperService::new(router));
    let stream = Lingering::new(stream, unread.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(unread.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.options.limits.receive)
        .max_buf_size(1 << 16)
        .serve_connection(TokioIo::new(stream), service);
    // Errors here are those of the client: it went away, was too slow, or does not speak HTTP.
    let _ = watcher.watch(connection).await;
}
