//! Imports inside a crate run in one direction: no two files need each other, directly or through others.
//!
//! The files of a crate and their imports are read as text: paths that begin with `crate`, `super` or `self`, and the
//! use of a module where it is declared. Tests inside a file are left out, for they may use anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The path of a module from the root of its crate; the root itself is empty.
type ModulePath = Vec<String>;

/// A source file: the path of its module and its code.
struct Source {
    file: String,
    code: String,
}

/// Folders of the program whose files still need each other: the first gets its arguments beside each subcommand, the
/// second becomes a crate.
const LEAVING: [&str; 2] = ["command/metric/", "command/reproduce/"];

/// The source files of a crate by module path.
fn sources(krate: &str) -> BTreeMap<ModulePath, Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate).join("src");
    let mut found = BTreeMap::new();
    let mut folders: Vec<(PathBuf, ModulePath)> = vec![(root.clone(), Vec::new())];
    while let Some((folder, parent)) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a source folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let child = || parent.iter().cloned().chain([name.clone()]).collect::<ModulePath>();
            if path.is_dir() {
                folders.push((path, child()));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let module = if ["main", "lib", "mod"].contains(&name.as_str()) { parent.clone() } else { child() };
                let file = path.strip_prefix(&root).expect("inside the root").to_string_lossy().replace('\\', "/");
                let code = code(&fs::read_to_string(&path).expect("a source file"));
                found.insert(module, Source { file, code });
            }
        }
    }
    found
}

/// The text of a file without comments and without the module of its tests.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests").next().expect("a first part");
    let line = |line: &str| line.split("//").next().unwrap_or_default().to_string() + "\n";
    text.lines().map(line).collect()
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Where a word stands in a text, not as a part of a longer word or at the end of a path.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(|letter| is_word(letter) || letter == ':') && !after.is_some_and(is_word)
    })
}

/// The paths of a use-tree, such as `a::{b, c::d}`, each with all its segments.
fn paths(text: &str) -> Vec<ModulePath> {
    fn read(rest: &mut &str, prefix: &ModulePath, found: &mut Vec<ModulePath>) {
        let mut path = prefix.clone();
        loop {
            *rest = rest.trim_start();
            if let Some(group) = rest.strip_prefix('{') {
                *rest = group;
                while !rest.trim_start().starts_with('}') && !rest.trim_start().is_empty() {
                    read(rest, &path, found);
                    *rest = rest.trim_start();
                    *rest = rest.strip_prefix(',').unwrap_or(rest);
                }
                *rest = rest.trim_start().strip_prefix('}').unwrap_or("");
                return;
            }
            let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let (segment, after) = rest.split_at(length);
            if segment.is_empty() {
                *rest = rest.get(1..).unwrap_or("");
                break;
            }
            path.push(segment.to_string());
            *rest = after;
            match after.strip_prefix("::") {
                Some(after) => *rest = after,
                None => break,
            }
        }
        found.push(path);
        if let Some(renamed) = rest.trim_start().strip_prefix("as ") {
            *rest = renamed.trim_start().trim_start_matches(is_word);
        }
    }
    let (mut rest, mut found) = (text, Vec::new());
    read(&mut rest, &Vec::new(), &mut found);
    found
}

/// The modules that a module names.
fn named(module: &ModulePath, source: &Source) -> Vec<ModulePath> {
    let code = &source.code;
    let mut found = Vec::new();
    for start in ["crate", "super", "self"] {
        for at in words(code, start).filter(|at| code[at + start.len()..].starts_with("::")) {
            for path in paths(&code[at..]) {
                let mut base = if start == "crate" { Vec::new() } else { module.clone() };
                for segment in path {
                    match segment.as_str() {
                        "crate" | "self" => {}
                        "super" => drop(base.pop()),
                        _ => base.push(segment),
                    }
                }
                found.push(base);
            }
        }
    }
    let declared = code.lines().filter_map(|line| line.trim().trim_start_matches("pub ").strip_prefix("mod "));
    for child in declared.filter_map(|line| line.strip_suffix(';')) {
        if words(code, child).any(|at| code[at + child.len()..].starts_with("::")) {
            found.push(module.iter().cloned().chain([child.to_string()]).collect());
        }
    }
    found
}

/// The files that each file imports. A path leads to the file of the longest part that is a module.
fn imports(sources: &BTreeMap<ModulePath, Source>) -> BTreeMap<&str, BTreeSet<&str>> {
    let file_of = |path: &ModulePath| (0..=path.len()).rev().find_map(|length| sources.get(&path[..length]));
    let of_one = |(module, source): (&ModulePath, &'_ Source)| {
        let files =
            named(module, source).iter().filter_map(file_of).map(|found| found.file.clone()).collect::<Vec<_>>();
        let names = sources.values().map(|one| one.file.as_str());
        names.filter(|name| *name != source.file && files.iter().any(|file| file == name)).collect()
    };
    sources.iter().map(|(module, source)| (source.file.as_str(), of_one((module, source)))).collect()
}

/// The files on cycles: what remains after files that import none of the rest, or are imported by none, are removed.
fn cycles(imports: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let mut left: BTreeSet<&str> = imports.keys().copied().collect();
    loop {
        let ends = |file: &&str| {
            let needs = imports[file].iter().any(|one| left.contains(one));
            let is_needed = left.iter().any(|one| imports[one].contains(file));
            !needs || !is_needed
        };
        let removed: Vec<&str> = left.iter().copied().filter(ends).collect();
        if removed.is_empty() {
            break;
        }
        left.retain(|file| !removed.contains(file));
    }
    let line = |file: &&str| {
        let needs: Vec<&str> = imports[file].iter().copied().filter(|one| left.contains(one)).collect();
        format!("{file} imports {}", needs.join(", "))
    };
    left.iter().map(line).collect()
}

#[test]
fn paths_are_read_with_their_groups() {
    let found: Vec<String> = paths("crate::a::{self, b::{c as d, E}, f};").iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["crate::a::self", "crate::a::b::c", "crate::a::b::E", "crate::a::f"]);
    let inline: Vec<String> = paths("super::b::run(crate::c)").iter().map(|path| path.join("::")).collect();
    assert_eq!(inline, ["super::b::run"]);
}

#[test]
fn cycles_are_found() {
    let graph = |edges: &[(&'static str, &[&'static str])]| -> BTreeMap<&str, BTreeSet<&str>> {
        edges.iter().map(|(file, needs)| (*file, needs.iter().copied().collect())).collect()
    };
    assert!(cycles(&graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    let knot = graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b", "d"]), ("d", &[])]);
    assert_eq!(cycles(&knot), ["b imports c", "c imports b"]);
}

#[test]
fn files_of_the_program_import_each_other_in_one_direction() {
    let sources = sources("tamis-cli");
    let imports = imports(&sources);
    assert!(imports.len() > 20 && imports["main.rs"].contains("cli.rs"), "{imports:?}");
    assert!(imports["command/fit.rs"].contains("error.rs"), "{imports:?}");
    let of_main: Vec<&&str> =
        imports.iter().filter(|(_, needs)| needs.contains("main.rs")).map(|(file, _)| file).collect();
    assert!(of_main.is_empty(), "main.rs is imported by {of_main:?}");
    let knot: Vec<String> =
        cycles(&imports).into_iter().filter(|line| !LEAVING.iter().any(|folder| line.starts_with(folder))).collect();
    assert!(knot.is_empty(), "files that need each other:\n{}", knot.join("\n"));
}
