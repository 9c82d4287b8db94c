//! Files that commands write: checked before the work starts, complete when they take their name.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Checks that a file can be created at a path, so that a long training does not fail at its end.
pub fn check_writable(path: &Path) -> Result<(), CliError> {
    let folder = folder_of(path);
    if path == Path::new("-") {
        return Err(CliError::of_file("-", "this output needs a file; standard output holds the result"));
    }
    if path.is_dir() {
        return Err(CliError::of_file(path.display(), "cannot be written: it is a directory"));
    }
    if !folder.is_dir() {
        let text = format!("cannot be written: there is no directory {}", folder.display());
        return Err(CliError::of_file(path.display(), text));
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An output that gets its name when it is complete. Standard output and devices are written directly.
pub enum OutputFile {
    Temporary(tempfile::NamedTempFile, PathBuf),
    Device(PathBuf),
    Stdout,
}

impl OutputFile {
    /// Starts to write `name`; `-` is standard output.
    pub fn create(name: &str) -> Result<Self, CliError> {
        if name == "-" {
            return Ok(OutputFile::Stdout);
        }
        // A symbolic link stays: the file that it points to is replaced.
        let path = std::fs::canonicalize(name).unwrap_or_else(|_| name.into());
        if std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(OutputFile::Device(path));
        }
        let file = tempfile::Builder::new().prefix(".tamis-").tempfile_in(folder_of(&path));
        Ok(OutputFile::Temporary(file.map_err(|error| CliError::of_file(path.display(), error))?, path))
    }

    /// The file to write to.
    pub fn file(&self) -> Result<File, CliError> {
        Ok(match self {
            OutputFile::Temporary(file, _) => file.as_file().try_clone()?,
            OutputFile::Device(path) => File::options().write(true).open(path)?,
            OutputFile::Stdout => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        })
    }

    /// Gives the complete file its name.
    pub fn persist(self) -> Result<(), CliError> {
        if let OutputFile::Temporary(file, path) = self {
            file.as_file().set_permissions(Permissions::from_mode(0o644))?;
            file.persist(&path).map_err(|error| error.error)?;
        }
        Ok(())
    }
}
