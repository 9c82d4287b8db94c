//! The library knows no front end: its texts hold no flags. Parameters are named through `tamis::param`.

use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.unwrap().path());
    let is_source = |path: &PathBuf| path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs");
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    folders.iter().flat_map(|folder| sources(folder)).chain(files.into_iter().filter(is_source)).collect()
}

/// Whether a line of code writes a flag: two dashes and a letter within quotes.
fn writes_a_flag(line: &str) -> bool {
    let is_flag = |(at, _): (usize, &str)| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase());
    let quoted = line.contains('"') || line.trim_end().ends_with('\\');
    !line.trim_start().starts_with("//") && quoted && line.match_indices("--").any(is_flag)
}

#[test]
fn no_text_of_the_library_holds_a_flag() {
    assert!(writes_a_flag("    \"use --k\"") && !writes_a_flag("// \"--k\"") && !writes_a_flag("a --b"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    // Reports propose commands of the program.
    let files = sources(&root).into_iter().filter(|path| !path.starts_with(root.join("report")));
    let mut found = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a source");
        let code = text.lines().take_while(|line| !line.contains("#[cfg(test)]"));
        let lines = code.enumerate().filter(|(_, line)| writes_a_flag(line));
        found.extend(lines.map(|(at, line)| format!("{}:{}: {line}", path.display(), at + 1)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
