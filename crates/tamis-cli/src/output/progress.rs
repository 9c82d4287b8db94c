//! Progress on standard error: the table Vowpal Wabbit users know, with non-zeros, and a bar on a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tamis::loss::LossKind;
use tamis::model::Sampling;
use tamis::read::Source;
use tamis::train::{Observer, Progress, SizeReport};

use super::table::count;

/// Shows a training while it runs.
pub struct Screen {
    quiet: bool,
    headed: bool,
    bar: ProgressBar,
    bytes: Option<u64>,
    /// Whether the loss of numbers is squared, so that its root is what people know.
    squared: bool,
}

const HEAD: &str = "\
average   since     rows     label        predicted    row       non-      wrong
loss      last      learned                            features  zeros     so far";

impl Screen {
    pub fn new(quiet: bool, sources: &[Source]) -> Self {
        let size = |source: &Source| Some(std::fs::metadata(source.path.as_ref()?).ok()?.len());
        let bytes = sources.iter().map(size).sum::<Option<u64>>();
        let bar = match !quiet && std::io::stderr().is_terminal() {
            true => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8)),
            false => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{bar:32} {percent:>3} % {msg} {elapsed}");
        bar.set_style(style.expect("the template is right").progress_chars("█▉▊▋▌▍▎▏ "));
        bar.enable_steady_tick(Duration::from_millis(250));
        Screen { quiet, headed: false, bar, bytes, squared: true }
    }

    /// Says which loss was asked for.
    pub fn with_loss(mut self, loss: Option<LossKind>) -> Self {
        self.squared = loss.is_none_or(|loss| loss == LossKind::Squared);
        self
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| tell!("{text}"));
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

impl Observer for Screen {
    fn report(&mut self, progress: &Progress) {
        if self.quiet {
            return;
        }
        if !self.headed {
            self.say(HEAD);
            self.headed = true;
        }
        let wrong = progress.error.map(|error| format!("{:.2} %", 100.0 * error)).unwrap_or_default();
        self.say(
            format!(
                "{:<9} {:<9} {:<8} {:<12} {:<12} {:<9} {:<9} {}",
                number(progress.loss),
                number(progress.recent_loss),
                progress.rows,
                short(&progress.label, 12),
                short(&progress.prediction, 12),
                progress.row_features,
                progress.nonzeros,
                wrong
            )
            .trim_end(),
        );
        self.bar.set_message(format!("loss {}, {} non-zeros", number(progress.loss), progress.nonzeros));
    }

    fn tick(&mut self, rows: u64, total: Option<u64>, bytes: u64) {
        match (total, self.bytes) {
            (Some(total), _) => {
                self.bar.set_length(total);
                self.bar.set_position(rows);
            }
            (None, Some(all)) => {
                self.bar.set_length(all);
                self.bar.set_position(bytes);
            }
            _ => {}
        }
    }

    fn size(&mut self, report: &SizeReport) {
        if self.quiet {
            return;
        }
        let (name, worth) = match report.error {
            Some(error) => ("error", format!("{:.2} %", 100.0 * error)),
            None if self.squared => ("RMSE", number(report.loss.max(0.0).sqrt())),
            None => ("", String::new()),
        };
        if !self.headed {
            self.say(&format!("features   {name:<10} loss       (on rows the features were chosen without)"));
            self.headed = true;
        }
        self.say(&format!("{:<10} {worth:<10} {}", count(report.size as u64), number(report.loss)));
        self.bar.set_message(format!("{} features, {name} {worth}", count(report.size as u64)));
    }

    fn drawing(&mut self, sampling: &Sampling) {
        self.say(&super::table::sampling(sampling));
    }

    fn note(&mut self, text: &str) {
        self.say(&format!("note: {text}"));
    }
}

/// Seven characters or so of a loss of any size.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e5 || (size < 1e-4 && size > 0.0) => format!("{value:.2e}"),
        size if size >= 100.0 => format!("{value:.2}"),
        _ => format!("{value:.6}"),
    }
}
