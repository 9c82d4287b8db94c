//! `tamis man`: writes the manual pages.

use std::path::PathBuf;

use clap::Args;

use crate::error::CliError;

#[derive(Args)]
pub struct ManArgs {
    /// Folder for the pages tamis.1, tamis-fit.1, …; it must exist
    pub folder: PathBuf,
}

pub fn run(args: ManArgs, command: clap::Command) -> Result<(), CliError> {
    let failed = |error| CliError::of_file(args.folder.display(), error);
    clap_mangen::generate_to(command, &args.folder).map_err(failed)
}
