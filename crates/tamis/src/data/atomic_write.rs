//! Atomic replacement of files: a reader finds the complete old or the complete new content.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::temporary_file::{folder_of, temporary_file};

/// Writes `content` to a new temporary file beside `path`, brings it to disk, then renames it to `path`.
///
/// Each call has its own temporary file, so that two writers do not damage each other's file. After
/// an error the old file is untouched and no temporary file remains. A symbolic link stays one: the file it leads to is
/// replaced.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_file_with(path, |out| out.write_all(content))
}

/// As [`replace_file`], with content that is written piece by piece.
pub fn replace_file_with(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        // A device or a pipe: there is no old file to keep, and a rename would remove it.
        return write(&mut File::options().write(true).open(path)?);
    }
    let path = &destination(path)?;
    let mut file = temporary_file(path)?;
    write(&mut file)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder_of(path))
}

/// The file that a symbolic link leads to; any other path is its own destination.
fn destination(path: &Path) -> io::Result<PathBuf> {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
        return Ok(path.to_path_buf());
    }
    let no_file = |error: io::Error| {
        let text = "it is a symbolic link to a file that does not exist; remove the link or create that file";
        if error.kind() == io::ErrorKind::NotFound { io::Error::new(error.kind(), text) } else { error }
    };
    fs::canonicalize(path).map_err(no_file)
}

/// Brings the rename to disk. Some network disks cannot sync a folder; that is no error.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).or_else(|error| match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    })
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_no_other_remains() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        replace_file(&path, b"one").unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(files(folder.path()), ["model.json"]);
    }

    #[test]
    fn of_concurrent_writers_each_leaves_a_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("model.json");
        let content = |writer: usize| vec![b'a' + writer as u8; 300_000 + writer];
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || (0..10).for_each(|_| replace_file(path, &content(writer)).unwrap()));
            }
            for _ in 0..200 {
                let Ok(found) = fs::read(path) else { continue };
                assert_eq!(found, content(usize::from(found[0] - b'a')), "a mixed file");
            }
        });
        let found = fs::read(path).unwrap();
        assert_eq!(found, content(usize::from(found[0] - b'a')));
        assert_eq!(files(folder.path()), ["model.json"]);
    }

    #[test]
    fn a_failed_rename_leaves_the_old_file_and_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        replace_file(&path, b"one").unwrap();
        let file = temporary_file(&path).unwrap();
        assert_eq!(files(folder.path()).len(), 2);
        assert!(file.persist(folder.path().join("no/such/folder")).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(files(folder.path()), ["model.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_cannot_be_renamed_to_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let [longest, too_long] = [255, 256].map(|length| folder.path().join("n".repeat(length)));
        assert!(replace_file(&too_long, b"one").is_err());
        assert!(files(folder.path()).is_empty());
        replace_file(&longest, b"one").unwrap();
        assert_eq!(files(folder.path()).len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_a_plain_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [plain, path] = ["plain", "model.json"].map(|name| folder.path().join(name));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        fs::write(&plain, b"one").unwrap();
        replace_file(&path, b"one").unwrap();
        assert_eq!(mode(&path), mode(&plain));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(mode(&path) & 0o777, 0o640, "a file that is replaced keeps its permissions");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["model.json", "latest.json"].map(|name| folder.path().join(name));
        replace_file(&path, b"one").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace_file(&link, b"two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        fs::remove_file(&path).unwrap();
        let error = replace_file(&link, b"three").unwrap_err().to_string();
        assert!(error.starts_with("it is a symbolic link to a file that does not exist"), "{error}");
        assert_eq!(files(folder.path()), ["latest.json"]);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error() {
        assert!(replace_file(Path::new("/nowhere/at/all/model.json"), b"x").is_err());
    }
}
