//! The command line.

use std::path::{Path, PathBuf};

use clap::Parser;

/// Compute the tables and figures of a paper and show the results beside the printed values.
#[derive(Parser)]
#[command(name = "tamis-experiments", version, max_term_width = 100)]
pub struct Arguments {
    /// The paper (a folder of experiments; a unique prefix is enough) and one of its tables or figures, such as 2 or figure1
    #[arg(value_name = "PAPER[/TABLE|/FIGURE]")]
    pub what: String,
    /// The repository: experiments are read from ROOT/experiments, results are written to ROOT/docs/results [default: the
    /// repository this program was built from]
    #[arg(long, value_name = "ROOT")]
    root: Option<PathBuf>,
    /// The folder with the data sets [default: TAMIS_DATA, or else ROOT/../shared/data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Use only these data sets, and write no page
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Use N orderings, splits or generated data sets instead of the experiment's number, and write no page
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,
    /// Save the measured values in recorded.toml; later runs show them beside theirs
    #[arg(long)]
    pub record: bool,
    /// Number of threads [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print the tables as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

impl Arguments {
    /// The folder of the repository.
    fn root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))
    }

    /// The folder with one folder per paper.
    pub fn experiments(&self) -> PathBuf {
        self.root().join("experiments")
    }

    /// The folder the pages are written to.
    pub fn results(&self) -> PathBuf {
        self.root().join("docs/results")
    }

    /// The folder with the data sets.
    pub fn data(&self) -> PathBuf {
        let variable = std::env::var_os("TAMIS_DATA").map(PathBuf::from);
        self.data.clone().or(variable).unwrap_or_else(|| self.root().join("../shared/data"))
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(cores, usize::from)
    }

    /// Whether the whole experiment runs as described, so that its pages may be written.
    pub fn is_complete(&self) -> bool {
        self.only.is_empty() && self.runs.is_none()
    }

    /// Whether a data set takes part.
    pub fn includes(&self, data: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn folders_follow_the_root() {
        let arguments = Arguments::parse_from(["tamis-experiments", "ma2016", "--root", "here"]);
        assert_eq!(arguments.experiments(), Path::new("here/experiments"));
        assert_eq!(arguments.results(), Path::new("here/docs/results"));
        let default = Arguments::parse_from(["tamis-experiments", "ma2016"]);
        assert!(default.experiments().join("ma2016_stabilized/expected.toml").is_file());
    }
}
