//! Progress on standard error: a bar on a terminal; lines elsewhere, and for the results of a training.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tamis::io::Source;
use tamis::loss::{EvalMetric, LossKind};
use tamis::model::Sampling;
use tamis::parse::survey::ColumnNote;
use tamis::train::{Observer, Progress, SizeReport};

use super::format::{count, loss, percent};
use super::model;

const ROWS: &str = "{prefix} {bar:32} {percent:>3} % {msg} {elapsed}, {eta} left";
const FITS: &str = "{msg} {bar:32} {pos} of {len} fits {elapsed}, {eta} left";
const STEPS: &str = "learning {bar:32} {percent:>3} % steps {pos}/{len} {elapsed}, {eta} left";

/// What a training does. A phase has a bar of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Reads rows, and learns them as they come if it stores none.
    Reading,
    /// Learns stored rows.
    Learning,
}

/// The phase, and how far it is.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    phase: Option<Phase>,
    done: u64,
}

impl Position {
    /// Moves on. Returns the name of the phase if it begins, or begins again.
    fn advance(&mut self, phase: Phase, done: u64) -> Option<&'static str> {
        let (is_new, is_again) = (self.phase != Some(phase), done < self.done);
        *self = Position { phase: Some(phase), done };
        match (phase, is_new, is_again) {
            (_, false, false) => None,
            (Phase::Reading, true, _) => Some("reading"),
            (Phase::Learning, true, _) => Some("learning"),
            (Phase::Reading, false, true) => Some("reading again"),
            (Phase::Learning, false, true) => Some("learning again"),
        }
    }
}

/// The table that users of Vowpal Wabbit know, with the number of non-zero weights.
const HEAD: &str = "\
average   since     rows     label        prediction   row       non-      error
loss      last      learned                            features  zeros     so far";

/// Shows the progress of a training, of many fits, or of the steps of an algorithm.
pub struct ProgressDisplay {
    quiet: bool,
    bar: ProgressBar,
    /// Where there is no terminal: the name of the work, printed at every tenth of it.
    lines: Option<String>,
    has_head: bool,
    position: Position,
    /// The size of all inputs, if known.
    bytes: Option<u64>,
    /// Whether the RMSE is shown for regression.
    squared: bool,
    /// What was found out about the columns of a table.
    pub notes: Vec<ColumnNote>,
}

impl ProgressDisplay {
    /// The progress of a training on these sources.
    pub fn of_rows(quiet: bool, sources: &[Source]) -> Self {
        let size = |source: &Source| Some(std::fs::metadata(source.path.as_ref()?).ok()?.len());
        let display = Self::new(quiet, ROWS);
        display.bar.enable_steady_tick(Duration::from_millis(250));
        ProgressDisplay { bytes: sources.iter().map(size).sum(), ..display }
    }

    /// The progress of many fits; `name` says what they are for.
    pub fn of_fits(quiet: bool, name: &str) -> Self {
        let display = Self::new(quiet, FITS);
        display.bar.set_message(name.to_string());
        let lines = !quiet && !std::io::stderr().is_terminal();
        ProgressDisplay { lines: lines.then(|| name.to_string()), ..display }
    }

    /// The progress of an algorithm's steps.
    pub fn of_steps(quiet: bool) -> Self {
        Self::new(quiet, STEPS)
    }

    fn new(quiet: bool, template: &str) -> Self {
        let bar = if !quiet && std::io::stderr().is_terminal() {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8))
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        ProgressDisplay {
            quiet,
            bar,
            lines: None,
            has_head: false,
            position: Position::default(),
            bytes: None,
            squared: true,
            notes: Vec::new(),
        }
    }

    /// Sets the loss of the training.
    pub fn with_loss(mut self, loss: Option<LossKind>) -> Self {
        self.squared = loss.is_none_or(|loss| loss.facts().metric == Some(EvalMetric::SquaredError));
        self
    }

    /// Shows that `done` of `total` parts are done. Any thread may call it.
    pub fn advance(&self, done: usize, total: usize) {
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
        if let Some(name) = &self.lines
            && done > 0
            && 10 * done / total > 10 * (done - 1) / total
        {
            note!("{name}: {done} of {total} fits");
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn print(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| note!("{text}"));
        }
    }

    fn print_head(&mut self, text: &str) {
        if !self.has_head {
            self.print(text);
            self.has_head = true;
        }
    }
}

/// At most `width` characters of a label.
fn short(text: &str, width: usize) -> String {
    match text.char_indices().nth(width - 1) {
        Some((end, _)) if text.chars().count() > width => format!("{}…", &text[..end]),
        _ => text.to_string(),
    }
}

impl Observer for ProgressDisplay {
    fn report(&mut self, progress: &Progress) {
        if self.quiet {
            return;
        }
        self.print_head(HEAD);
        let error = progress.error.map(percent).unwrap_or_default();
        let line = format!(
            "{:<9} {:<9} {:<8} {:<12} {:<12} {:<9} {:<9} {error}",
            loss(progress.loss),
            loss(progress.recent_loss),
            progress.rows,
            short(&progress.label, 12),
            short(&progress.prediction, 12),
            progress.row_features,
            progress.nonzeros,
        );
        self.print(line.trim_end());
        self.bar.set_message(format!("loss {}, {} non-zeros", loss(progress.loss), progress.nonzeros));
    }

    fn columns(&mut self, notes: Vec<ColumnNote>) {
        self.notes = notes;
    }

    fn tick(&mut self, rows: u64, total: Option<u64>, bytes: u64) {
        let (phase, done, all) = match (total, self.bytes) {
            (Some(total), _) => (Phase::Learning, rows, total),
            (None, Some(all)) => (Phase::Reading, bytes, all),
            (None, None) => return,
        };
        if let Some(name) = self.position.advance(phase, done) {
            self.bar.reset();
            self.bar.set_prefix(name);
        }
        self.bar.set_length(all);
        self.bar.set_position(done);
    }

    fn size(&mut self, report: &SizeReport) {
        if self.quiet {
            return;
        }
        let (name, value) = match report.error {
            Some(error) => ("error", percent(error)),
            None if self.squared => ("RMSE", loss(report.loss.max(0.0).sqrt())),
            None => ("", String::new()),
        };
        self.print_head(&format!("features   {name:<10} loss       (held-out estimates)"));
        self.print(&format!("{:<10} {value:<10} {}", count(report.size as u64), loss(report.loss)));
        self.bar.set_message(format!("{} features, {name} {value}", count(report.size as u64)));
    }

    fn before_sampling(&mut self, sampling: &Sampling) {
        self.print(&model::sampling(sampling));
    }

    fn note(&mut self, text: &str) {
        self.print(&format!("note: {text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_has_its_name_and_says_that_it_starts_again() {
        let mut position = Position::default();
        let mut names = Vec::new();
        for (phase, done) in [
            (Phase::Reading, 10),
            (Phase::Reading, 90),
            (Phase::Learning, 0),
            (Phase::Learning, 50),
            (Phase::Learning, 20),
            (Phase::Learning, 30),
        ] {
            names.push(position.advance(phase, done).unwrap_or("-"));
        }
        assert_eq!(names, ["reading", "-", "learning", "-", "learning again", "-"]);
    }

    #[test]
    fn every_bar_names_its_phase_and_the_time_left() {
        for template in [ROWS, FITS, STEPS] {
            assert!(template.contains("{eta} left"), "{template}");
            assert!(["{prefix}", "{msg}", "learning"].iter().any(|name| template.starts_with(name)), "{template}");
            ProgressStyle::with_template(template).expect("valid");
        }
    }
}
