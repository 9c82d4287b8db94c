//! The names of numbered features: a text file with a name a line.

use std::path::Path;

use super::ReadError;

/// Reads the names of features: the first line names the first feature. Names that come twice are refused.
pub fn read_vocabulary(path: &Path) -> Result<Vec<String>, ReadError> {
    let text = std::fs::read_to_string(path).map_err(|source| ReadError::Open { path: path.to_path_buf(), source })?;
    let names: Vec<String> = text.lines().map(|line| line.trim_end_matches('\r').to_string()).collect();
    let mut met = crate::data::TextMap::default();
    for (line, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        if let Some(first) = met.insert(name, line + 1) {
            let (file, line) = (path.display().to_string(), line + 1);
            return Err(ReadError::NameTwice { file, line, name: name.clone(), first });
        }
    }
    Ok(names)
}
