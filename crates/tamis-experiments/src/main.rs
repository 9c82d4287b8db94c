//! `tamis-experiments`: computes the tables and figures of a paper and shows the results beside the printed values.
//!
//! `experiments/<paper>/expected.toml` describes what to run ([`spec`]); [`run`] reads it, measures every cell of a
//! table ([`table_cell`]) or draws a figure ([`figure`]), and writes the pages under `docs/results` ([`render`]).

mod args;
mod detection;
mod drift;
mod error;
mod figure;
mod generate;
mod load;
mod metric;
mod output;
mod regret;
mod render;
mod run;
mod sampling_tables;
mod simulate;
mod spec;
mod splits;
mod table_cell;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match run::run(&args::Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::note!("tamis-experiments: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
