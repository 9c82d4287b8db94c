//! Writing a file so that at every moment either the old or the new one is there, whole.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes `content` beside `path`, brings it to disk, then renames. On any error the old file is untouched.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        // A device or pipe: there is nothing to keep and nothing to rename.
        return File::options().write(true).open(path)?.write_all(content);
    }
    // A link stays a link: what it leads to is replaced.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // One name for each file: what a killed run leaves behind is overwritten by the next and does not pile up.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = folder.join(format!(".{name}.partial"));
    let written = write_whole(&partial, path, content).and_then(|()| std::fs::rename(&partial, path));
    if let Err(error) = written {
        std::fs::remove_file(&partial).ok();
        return Err(error);
    }
    // The rename itself must reach the disk; folders that cannot be synced (some network disks) are let off.
    File::open(folder).and_then(|folder| folder.sync_all()).or_else(|error| match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    })
}

fn write_whole(partial: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(partial)?;
    file.write_all(content)?;
    set_usual_permissions(&file, path)?;
    file.sync_all()
}

/// The result should be as readable as the file it replaces, or as any new file.
#[cfg(unix)]
fn set_usual_permissions(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map_or(0o644, |metadata| metadata.permissions().mode());
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_usual_permissions(_file: &File, _path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        replace_file(&path, b"one").unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_run_left_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        std::fs::write(folder.path().join(".model.json.partial"), "half a mod").unwrap();
        replace_file(&path, b"one").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["model.json", "latest.json"].map(|name| folder.path().join(name));
        replace_file(&path, b"one").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace_file(&link, b"two").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        assert!(replace_file(Path::new("/nowhere/at/all/model.json"), b"x").is_err());
    }
}
