//! Files that commands write: checked before the work starts, complete when they take their name.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tamis::data::temporary_file;
use tamis::io::Source;

use crate::error::CliError;

/// Checks the files of a command before it starts: each output can be written, no two outputs are the same file, and
/// none of them is an input, which would be destroyed. `-` is standard output.
pub fn check_files<'a>(
    outputs: impl IntoIterator<Item = &'a PathBuf>,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), CliError> {
    let outputs: Vec<&PathBuf> = outputs.into_iter().filter(|path| path.as_os_str() != "-").collect();
    outputs.iter().try_for_each(|path| check_writable(path))?;
    for (number, output) in outputs.iter().enumerate() {
        if outputs[..number].iter().any(|other| is_same_file(other, output)) {
            return Err(CliError::of_file(output.display(), "two outputs would be written to this file; name another"));
        }
    }
    for input in inputs {
        if let Some(output) = outputs.iter().find(|output| is_same_file(output, input)) {
            let text = format!("cannot be written: it is the input {}; name another file", input.display());
            return Err(CliError::of_file(output.display(), text));
        }
    }
    Ok(())
}

/// The files among sources.
pub fn paths(sources: &[Source]) -> impl Iterator<Item = &Path> {
    sources.iter().filter_map(|source| source.path.as_deref())
}

/// Whether two names lead to one file. Devices and pipes hold nothing that could be lost.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |metadata: Metadata| (metadata.is_file(), metadata.dev(), metadata.ino());
    match (fs::metadata(one).map(identity), fs::metadata(other).map(identity)) {
        (Ok(one), Ok(other)) => one.0 && one == other,
        (Err(_), Err(_)) => {
            let full = |path: &Path| Some((fs::canonicalize(folder_of(path)).ok()?, path.file_name()?.to_owned()));
            full(one).is_some() && full(one) == full(other)
        }
        _ => false,
    }
}

/// Refuses standard output where binary files are written.
pub fn check_not_stdout(path: &Path) -> Result<(), CliError> {
    let text = "this output needs a file; standard output holds the result";
    if path == Path::new("-") { Err(CliError::of_file("-", text)) } else { Ok(()) }
}

/// Checks that a file can be created at a path, so that a long training does not fail at its end.
fn check_writable(path: &Path) -> Result<(), CliError> {
    let folder = folder_of(path);
    if path.is_dir() {
        return Err(CliError::of_file(path.display(), "cannot be written: it is a directory"));
    }
    if !folder.is_dir() {
        let text = format!("cannot be written: there is no directory {}", folder.display());
        return Err(CliError::of_file(path.display(), text));
    }
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(());
    }
    // Only an attempt tells whether a folder, its disk and the quota take one more file.
    let attempt = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let failed = |error| CliError::of_file(path.display(), format!("cannot be written: {error}"));
    temporary_file(&attempt).map(drop).map_err(failed)
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
    /// Starts to write `name`; `-` is standard output. The file is as accessible as the one it replaces, or as the umask
    /// lets a new file be.
    pub fn create(name: &str) -> Result<Self, CliError> {
        if name == "-" {
            return Ok(OutputFile::Stdout);
        }
        // A symbolic link stays: the file that it points to is replaced.
        let path = fs::canonicalize(name).unwrap_or_else(|_| name.into());
        if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Ok(OutputFile::Device(path));
        }
        let failed = |error: io::Error| CliError::of_file(path.display(), error);
        Ok(OutputFile::Temporary(temporary_file(&path).map_err(failed)?, path))
    }

    /// The file to write to.
    pub fn file(&self) -> Result<File, CliError> {
        Ok(match self {
            OutputFile::Temporary(file, _) => file.as_file().try_clone()?,
            OutputFile::Device(path) => File::options().write(true).open(path)?,
            OutputFile::Stdout => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        })
    }

    /// Brings the complete file to disk and gives it its name.
    pub fn persist(self) -> Result<(), CliError> {
        if let OutputFile::Temporary(file, path) = self {
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
        }
        Ok(())
    }
}
