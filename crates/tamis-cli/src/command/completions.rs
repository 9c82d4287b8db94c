//! `tamis completions`: prints what a shell needs to complete the command line.

use std::io::stdout;

use clap::Args;
use clap_complete::Shell;

use crate::error::CliError;

#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

pub fn run(args: CompletionsArgs, mut command: clap::Command) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "tamis", &mut script);
    Ok(std::io::Write::write_all(&mut stdout(), &script)?)
}
