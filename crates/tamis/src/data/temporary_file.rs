//! Temporary files beside the files that they will replace.
//!
//! A process that is killed cannot remove its temporary file. While a process writes one, it holds a lock on it, which
//! the system releases when the process ends. The next process that writes into the folder removes the files that
//! nobody holds, so that they do not pile up.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use super::lock_file::is_at;

const PREFIX: &str = ".tamis-";
const SUFFIX: &str = ".partial";

/// A new file in the folder of `path`, removed when dropped. It is as accessible as the file it will replace or, if
/// there is none, as the umask lets a new file be.
pub fn temporary_file(path: &Path) -> io::Result<NamedTempFile> {
    let folder = folder_of(path);
    remove_abandoned_once(folder);
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = loop {
        let file = builder.tempfile_in(folder)?;
        // Another process may take the new file for an abandoned one before the lock; then there is a next one. On a
        // disk without locks nothing is removed.
        if file.as_file().lock().is_err() || is_at(file.as_file(), file.path()) {
            break file;
        }
    };
    if let Ok(old) = fs::metadata(path) {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A folder may have many files, and a training may write many checkpoints: one look for each process is enough.
fn remove_abandoned_once(folder: &Path) {
    static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let Ok(folder) = fs::canonicalize(folder) else { return };
    let is_new = SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.clone());
    if is_new {
        remove_abandoned(&folder);
    }
}

/// Removes temporary files whose process is gone. What cannot be removed stays; that is no error.
fn remove_abandoned(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
            && is_at(&file, &path)
        {
            fs::remove_file(&path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_nobody_holds_are_removed_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let held = temporary_file(&folder.path().join("model.json")).unwrap();
        let [abandoned, others, ours] =
            [".tamis-abc.partial", ".tamis-abc", "x.partial"].map(|name| folder.path().join(name));
        for path in [&abandoned, &others, &ours] {
            fs::write(path, "x").unwrap();
        }
        remove_abandoned(folder.path());
        assert!(!abandoned.exists());
        assert!(others.exists() && ours.exists() && held.path().exists());
        drop(held);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_with_such_a_name_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, link] = ["victim", ".tamis-abc.partial"].map(|name| folder.path().join(name));
        fs::write(&victim, "x").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        remove_abandoned(folder.path());
        assert!(victim.exists() && fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    /// A file is never taken from its writer, however its creation and the removal meet.
    #[test]
    fn writers_keep_their_files_while_others_clean_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("model.json");
        std::thread::scope(|scope| {
            let cleaner = scope.spawn(|| (0..2000).for_each(|_| remove_abandoned(folder.path())));
            while !cleaner.is_finished() {
                let file = temporary_file(path).unwrap();
                assert!(file.path().exists());
                file.persist(path).unwrap();
            }
        });
    }
}
