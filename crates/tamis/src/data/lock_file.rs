//! A lock that one process holds while it writes a file again and again.
//!
//! The file itself is replaced with every write, so the lock is on a file beside it. The system releases it when its
//! holder ends, however it ends; the name is removed when the holder ends in the usual way.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A lock, released when dropped.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    /// `None` on a disk without locks.
    _file: Option<File>,
}

impl LockFile {
    /// Locks the file `path` for this process; `None` if another one has it.
    pub fn of(path: &Path) -> io::Result<Option<LockFile>> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let lock = path.with_file_name(format!(".{name}.lock"));
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&lock)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &lock) => return Ok(Some(LockFile { path: lock, _file: Some(file) })),
                // Its former holder removed the name between our two calls.
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(_)) => return Ok(Some(LockFile { path: lock, _file: None })),
            }
        }
    }
}

/// Whether an open file still has this name.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let found = fs::symlink_metadata(path).map(identity).ok();
    found.is_some() && found == file.metadata().map(identity).ok()
}

#[cfg(not(unix))]
pub(super) fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

impl Drop for LockFile {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.st");
        let held = LockFile::of(&path).unwrap().expect("nobody has it");
        assert!(LockFile::of(&path).unwrap().is_none());
        assert!(LockFile::of(&folder.path().join("other.st")).unwrap().is_some());
        drop(held);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no file remains");
        assert!(LockFile::of(&path).unwrap().is_some());
    }

    #[test]
    fn a_file_that_a_killed_process_left_does_not_lock() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".state.st.lock"), "").unwrap();
        assert!(LockFile::of(&folder.path().join("state.st")).unwrap().is_some());
    }
}
