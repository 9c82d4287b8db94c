//! What a run is asked for that does not change the model.

use std::path::PathBuf;

use clap::Args;
use tamis::data::TaskKind;

/// Everything about the run that does not change the model.
#[derive(Args)]
#[command(next_help_heading = "Running")]
pub struct RunningArgs {
    /// Where the model goes
    #[arg(long, short, value_name = "MODEL", default_value = "model.json")]
    pub out: PathBuf,
    /// Labelled data to measure the model on at the end
    #[arg(long, value_name = "FILE")]
    pub validate: Option<String>,
    /// Write a page to look at: features, how sure, what if fewer, and how good with --validate
    #[arg(long, value_name = "HTML")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub holding: HoldingArgs,
    /// Where rows go when memory is full [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub cache_dir: Option<PathBuf>,
    /// Save the state to this file, at the end, on Ctrl-C, and every N rows with --checkpoint-every
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Rows between two saves
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: Option<u64>,
    /// Go on from a checkpoint: same data if it was interrupted, new data if it was finished
    #[arg(long, value_name = "CHECKPOINT")]
    pub resume: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing but the result
    #[arg(long, short)]
    pub quiet: bool,
}

/// What every command that learns asks about the rows.
#[derive(Args)]
pub struct HoldingArgs {
    /// What the labels are: auto, binary, multiclass or regression
    #[arg(long, value_name = "TASK", default_value = "auto", value_parser = task_parser)]
    pub task: TaskKind,
    /// Memory for rows between passes, e.g. 500M or 2G [default: half of the machine's]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub memory: Option<u64>,
}

pub fn task_parser(text: &str) -> Result<TaskKind, String> {
    let found = TaskKind::ALL.into_iter().find(|task| task.name() == text);
    found.ok_or_else(|| format!("one of {}", TaskKind::ALL.map(TaskKind::name).join(", ")))
}

/// A count of bytes: a number, with K, M, G or T behind it.
pub fn bytes_parser(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't', 'B', 'b', 'i']);
    let shift = match text[digits.len()..].chars().next().map(|unit| unit.to_ascii_uppercase()) {
        None | Some('B') => 0,
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        _ => 40,
    };
    let number: f64 = digits.parse().map_err(|_| "a number of bytes like 500M or 2G".to_string())?;
    if !(0.0..1e15).contains(&number) {
        return Err("a number of bytes like 500M or 2G".into());
    }
    Ok((number * f64::from(2).powi(shift)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes_parser("500M"), Ok(500 << 20));
        assert_eq!(bytes_parser("1.5GiB"), Ok(3 << 29));
        assert_eq!(bytes_parser("77"), Ok(77));
        assert!(bytes_parser("much").is_err() && bytes_parser("-1G").is_err());
    }
}
