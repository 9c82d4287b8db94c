//! `tamis`: press a stream of wide data through a sieve, keep the few features that matter.

mod args;
mod command;
mod output;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    match command::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::tell!("tamis: {}", failure.text());
            ExitCode::from(failure.exit_code())
        }
    }
}
