//! Runs the program under watch: a panic, a signal nobody sent or an endless run is a failure.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::common::Folder;

/// No case needs this much time of a processor. A loaded machine or disk makes a case wait, which is no fault of it.
const ENDLESS: Duration = Duration::from_secs(60);
/// A case that waits this long waits for ever.
const BLOCKED: Duration = Duration::from_secs(1200);

/// How a watched run ended.
pub struct Outcome {
    pub code: Option<i32>,
    pub err: String,
}

impl Outcome {
    pub fn is_ok(&self) -> bool {
        self.code == Some(0)
    }

    /// A word for the counts.
    pub fn word(&self) -> &'static str {
        match self.code {
            Some(0) => "answers",
            Some(130) => "interrupted",
            Some(_) => "errors",
            None => "killed",
        }
    }
}

/// Starts `tamis line`; its messages go to a file of the folder.
pub fn start(folder: &Folder, line: &str) -> Child {
    let err = File::create(folder.path("stderr.log")).unwrap();
    let mut command = folder.process(line);
    command.env("RUST_BACKTRACE", "0").stdin(Stdio::null()).stdout(Stdio::null()).stderr(err);
    command.spawn().expect("the program starts")
}

/// Runs `tamis line` to its end; it must answer (0) or complain (2).
pub fn run(folder: &Folder, line: &str, case: &str) -> Outcome {
    let outcome = finish(folder, start(folder, line), line, case);
    assert!(matches!(outcome.code, Some(0 | 2)), "{case}: tamis {line}\ncode {:?}\n{}", outcome.code, outcome.err);
    outcome
}

/// Runs a line of shell in which `$TAMIS` is the program.
pub fn shell(folder: &Folder, line: &str, case: &str) -> Outcome {
    let err = File::create(folder.path("stderr.log")).unwrap();
    let mut command = Command::new("bash");
    command.args(["-c", line]).env("TAMIS", env!("CARGO_BIN_EXE_tamis")).env("RUST_BACKTRACE", "0");
    command.current_dir(folder.path("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(err);
    finish(folder, command.spawn().unwrap(), line, case)
}

/// Waits for the end of a run.
pub fn finish(folder: &Folder, mut child: Child, line: &str, case: &str) -> Outcome {
    let started = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if processor_time(&child) > ENDLESS || started.elapsed() > BLOCKED => {
                child.kill().ok();
                child.wait().ok();
                panic!("{case}: tamis {line} does not end");
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let err = String::from_utf8_lossy(&folder.read("stderr.log")).into_owned();
    assert!(!err.contains("panicked at"), "{case}: tamis {line}\n{err}");
    if status.code() == Some(2) {
        assert!(err.contains("tamis: ") || err.contains("error:"), "{case}: no message of {line}: {err}");
    }
    Outcome { code: status.code(), err }
}

/// The time of processors that a run has used so far; zero where the system does not tell.
fn processor_time(child: &Child) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // The name of the program, in brackets, may contain blanks; the numbers come after it, in hundredths of a second.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// Sends a signal to a run.
pub fn signal(child: &Child, name: &str) {
    Command::new("kill").args([format!("-{name}"), child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}
