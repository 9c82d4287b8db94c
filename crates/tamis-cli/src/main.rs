//! `tamis`: learn sparse models from streams of wide data.

mod args;
mod cli;
mod command;
mod error;
mod flag;
mod memory;
mod metric_error;
mod model_input;
mod model_output;
mod output;
mod output_file;
mod report_file;
mod signals;
mod temporary_folder;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // Decoders of columnar files panic where a file is damaged; the error that follows says so in words.
    let print_panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !tamis::columnar::is_decoding() {
            print_panic(panic);
        }
    }));
    let parsed = cli::Cli::try_parse().unwrap_or_else(|error| cli::with_suggestion(error).exit());
    match cli::run(parsed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::note!("tamis: {}", error.text());
            ExitCode::from(error.exit_code())
        }
    }
}
