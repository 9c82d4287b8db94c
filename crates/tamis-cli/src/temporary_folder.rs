//! A temporary folder that does not stay if the process is killed: the next one removes it.
//!
//! While a process uses its folder, it holds a lock on a file in it, which the system releases when the process ends.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempDir;

const PREFIX: &str = "tamis-";
const LOCK: &str = ".in-use";

/// A folder that is removed when dropped.
pub struct TemporaryFolder {
    folder: TempDir,
    /// The lock; `None` on a disk without locks, where nothing is removed either.
    _lock: Option<File>,
}

impl TemporaryFolder {
    /// A new folder in the system's folder for temporary files. Those of killed processes are removed first.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> io::Result<Self> {
        remove_abandoned(parent);
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            // Another process may take the empty folder for an abandoned one before the lock; then there is a next one.
            match File::create_new(folder.path().join(LOCK)) {
                Ok(lock) => {
                    let lock = lock.try_lock().is_ok().then_some(lock);
                    return Ok(TemporaryFolder { folder, _lock: lock });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders whose process is gone: those with a lock that nobody holds, and empty ones. What cannot be removed
/// stays; that is no error. Links are not followed.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !is_named || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        match File::open(entry.path().join(LOCK)) {
            Ok(lock) if lock.try_lock().is_ok() => {
                fs::remove_dir_all(entry.path()).ok();
            }
            Ok(_) => {}
            // Only an empty folder can be removed in this way: one that was not locked yet.
            Err(_) => {
                fs::remove_dir(entry.path()).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_dead_processes_are_removed_and_others_stay() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        for name in ["tamis-dead", "tamis-other", "elsewhere"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("data"), "x").unwrap();
        }
        fs::create_dir(at("tamis-empty")).unwrap();
        fs::write(at("tamis-dead").join(LOCK), "").unwrap();
        fs::write(at("elsewhere").join(LOCK), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("elsewhere"), at("tamis-link")).unwrap();
        let first = TemporaryFolder::new_in(parent.path()).unwrap();
        let second = TemporaryFolder::new_in(parent.path()).unwrap();
        assert!(first.path().exists() && second.path().exists(), "a folder in use stays");
        assert!(!at("tamis-dead").exists() && !at("tamis-empty").exists());
        assert!(at("tamis-other/data").exists(), "a folder without our lock is not ours");
        assert!(at("elsewhere/data").exists(), "a link is not followed");
        let path = first.path().to_path_buf();
        drop(first);
        assert!(!path.exists());
    }
}
