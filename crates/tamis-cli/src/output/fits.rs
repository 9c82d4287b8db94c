//! Progress of many fits on standard error: a bar on a terminal, a line at every tenth elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows how many fits are done.
pub struct Fits {
    what: String,
    bar: ProgressBar,
    lines: bool,
}

impl Fits {
    /// `what` is said in front of the counts.
    pub fn new(quiet: bool, what: &str) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = match !quiet && terminal {
            true => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8)),
            false => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{msg} {bar:32} {pos} of {len} fits {elapsed}");
        bar.set_style(style.expect("the template is right").progress_chars("█▉▊▋▌▍▎▏ "));
        bar.set_message(what.to_string());
        Fits { what: what.to_string(), bar, lines: !quiet && !terminal }
    }

    /// So many are done. May be called from any thread.
    pub fn watch(&self, done: usize, of: usize) {
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
        if self.lines && 10 * done / of > 10 * (done - 1) / of {
            tell!("{}: {done} of {of} fits", self.what);
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
