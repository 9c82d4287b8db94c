//! `tamis serve`: scores rows over HTTP, and learns while it is served.

use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tamis_serve::{Limits, Options, ServeError, Server};

use crate::args::byte_size::bytes_parser;
use crate::args::input::threads_parser;
use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::output::{note, print_data, print_line};

#[derive(Args)]
pub struct ServeArgs {
    /// Model file, or the checkpoint of a complete training (`tamis fit --checkpoint FILE`)
    #[arg(value_name = "MODEL|CHECKPOINT")]
    pub source: PathBuf,
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub listen: String,
    /// Folder of the log; with it, and with a checkpoint, the server learns
    #[arg(long, value_name = "FOLDER")]
    pub log: Option<PathBuf>,
    /// File of tokens: a token and its scopes (score, learn, admin) a line, for example `TOKEN score,learn`. Without it
    /// the server listens on this machine only
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Files of the certificate chain and of its key, in PEM
    #[arg(long, num_args = 2, value_names = ["CERT", "KEY"])]
    pub tls: Vec<PathBuf>,
    /// Only score: learn nothing, and keep the model
    #[arg(long)]
    pub read_only: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Largest body of a request, e.g. 64M [default: 64M]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub max_body: Option<u64>,
    /// Most rows of a request
    #[arg(long, value_name = "ROWS", default_value_t = Limits::default().rows)]
    pub max_rows: usize,
    /// Most features of a row
    #[arg(long, value_name = "N", default_value_t = Limits::default().features)]
    pub max_features: usize,
    /// Most open connections
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    pub max_connections: usize,
    /// Largest size of the log, beyond which nothing is learned [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub max_log: Option<u64>,
    /// Memory for the learner and the names of features; rows that need more are refused
    /// [default: three quarters of the machine's memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub max_memory: Option<u64>,
    /// Rows that are learned together by methods that need many rows at once (stabilized, two-stage)
    #[arg(long, value_name = "ROWS", default_value_t = Limits::default().batch, value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: u64,
    /// Seconds in which a client must send a request
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().receive.as_secs_f64(), value_parser = seconds_parser)]
    pub receive_timeout: f64,
    /// Seconds that open requests may take to end after SIGTERM or Ctrl-C
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().stop.as_secs_f64(), value_parser = seconds_parser)]
    pub stop_timeout: f64,
    /// Number of threads [default: all cores]; the model does not depend on it
    #[arg(long, value_name = "N", value_parser = threads_parser)]
    pub threads: Option<usize>,
}

fn seconds_parser(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds from 0.01 to 86400".into())
}

impl LimitArgs {
    fn limits(&self) -> Limits {
        let usual = Limits::default();
        let body = self.max_body.map_or(usual.body, |bytes| bytes as usize);
        Limits {
            body,
            bodies: usual.bodies.max(2 * body),
            rows: self.max_rows,
            features: self.max_features,
            connections: self.max_connections,
            log: self.max_log.unwrap_or(usual.log),
            batch: self.batch,
            memory: Some(self.max_memory.unwrap_or_else(|| tamis::io::memory_of_this_machine() / 2 * 3)),
            receive: Duration::from_secs_f64(self.receive_timeout),
            stop: Duration::from_secs_f64(self.stop_timeout),
            ..usual
        }
    }
}

pub fn run(args: ServeArgs) -> Result<(), CliError> {
    let tls = match &args.tls[..] {
        [certificate, key] => Some((certificate.clone(), key.clone())),
        _ => None,
    };
    let options = Options {
        listen: args.listen.clone(),
        log: args.log.clone(),
        tokens: args.token_file.clone(),
        tls,
        read_only: args.read_only,
        threads: args.limits.threads.unwrap_or(0),
        limits: args.limits.limits(),
        ..Options::new(&args.source)
    };
    let quiet = args.output.quiet;
    let notes = move |text: &str| {
        if !quiet {
            note!("{text}");
        }
    };
    let server = Server::start(options, notes).map_err(failed)?;
    announce(&args, &server)?;
    server.wait().map_err(failed)?;
    if !quiet {
        note!("stopped");
    }
    Ok(())
}

/// Says where the server listens: programs that start it need to know the port.
fn announce(args: &ServeArgs, server: &Server) -> Result<(), CliError> {
    let scheme = if args.tls.is_empty() { "http" } else { "https" };
    let (url, learns) = (format!("{scheme}://{}/", server.address()), args.log.is_some() && !args.read_only);
    if args.output.json {
        print_data!("{}", json!({ "url": url, "learns": learns }))?;
    } else if !args.output.quiet {
        let sync = "rows are on disk before they are acknowledged (group commit, at most 5 ms)";
        let what = if learns { format!("scores and learns; {sync}") } else { "scores".into() };
        print_line!("{url} {what}")?;
    }
    Ok(stdout().flush()?)
}

fn failed(error: ServeError) -> CliError {
    CliError::Message(tamis::param::worded(&error, crate::flag::flag))
}
