//! Imports inside a crate have one direction: no two files import each other, directly or through others.
//!
//! The files of a crate and their imports are read as text: paths that begin with `crate`, `super` or `self`, and uses
//! of a module where it is declared. Unit tests inside a file are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The path of a module from the root of its crate; the root itself is empty.
type ModulePath = Vec<String>;

/// A source file: its path, its code without re-exports of its own modules, and these re-exports.
struct Source {
    file: String,
    code: String,
    /// The modules that items are re-exported from, by item.
    reexports: BTreeMap<String, ModulePath>,
}

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
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
                let module = if ["main", "lib", "mod"].contains(&name.as_str()) { parent.clone() } else { child() };
                let file = path.strip_prefix(&root).expect("inside the root").to_string_lossy().replace('\\', "/");
                let code = code(&fs::read_to_string(&path).expect("a source file"));
                let (code, reexports) = split_reexports(&code, &module);
                found.insert(module, Source { file, code, reexports });
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

/// The code without statements such as `pub use child::Item`, and the module that each such item comes from.
fn split_reexports(code: &str, module: &ModulePath) -> (String, BTreeMap<String, ModulePath>) {
    let declared: BTreeSet<&str> = code.lines().filter_map(declared_module).collect();
    let (mut rest, mut found) = (String::new(), BTreeMap::new());
    for statement in code.split_inclusive(';') {
        let text = statement.trim_start();
        let public =
            ["pub use ", "pub(crate) use ", "pub(super) use "].iter().find_map(|start| text.strip_prefix(start));
        let paths = public.map(paths).unwrap_or_default();
        if paths.is_empty() || !paths.iter().all(|path| declared.contains(path[0].as_str())) {
            rest.push_str(statement);
            continue;
        }
        for path in paths {
            let child = module.iter().cloned().chain(path[..path.len() - 1].iter().cloned()).collect();
            found.insert(path[path.len() - 1].clone(), child);
        }
    }
    (rest, found)
}

/// The module that a line declares.
fn declared_module(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = ["pub(crate) ", "pub(super) ", "pub "].iter().find_map(|start| line.strip_prefix(start)).unwrap_or(line);
    line.strip_prefix("mod ")?.strip_suffix(';')
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
    for child in code.lines().filter_map(declared_module) {
        if words(code, child).any(|at| code[at + child.len()..].starts_with("::")) {
            found.push(module.iter().cloned().chain([child.to_string()]).collect());
        }
    }
    found
}

/// The file that a path leads to: that of the longest part that is a module, or of the module that re-exports the rest.
fn file_of<'a>(sources: &'a BTreeMap<ModulePath, Source>, path: &ModulePath) -> Option<&'a Source> {
    let (length, source) = (0..=path.len()).rev().find_map(|length| Some((length, sources.get(&path[..length])?)))?;
    let origin = path.get(length).and_then(|item| Some((source.reexports.get(item)?, item)));
    origin.map_or(Some(source), |(module, item)| {
        file_of(sources, &module.iter().cloned().chain([item.clone()]).collect::<ModulePath>())
    })
}

/// The files that each file imports.
fn imports(sources: &BTreeMap<ModulePath, Source>) -> BTreeMap<&str, BTreeSet<&str>> {
    let file_of = |path: &ModulePath| file_of(sources, path);
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
    let knot = cycles(&imports);
    assert!(knot.is_empty(), "files that need each other:\n{}", knot.join("\n"));
}

/// The imports of the library between files of these folders.
fn imports_within<'a>(
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    folders: &[&str],
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let is_inside = |file: &str| folders.iter().any(|folder| file.starts_with(&format!("{folder}/")));
    let inside = imports.iter().filter(|(file, _)| is_inside(file));
    inside.map(|(file, needs)| (*file, needs.iter().copied().filter(|one| is_inside(one)).collect())).collect()
}

#[test]
fn files_of_the_training_folders_import_each_other_in_one_direction() {
    let sources = sources("tamis");
    let imports = imports(&sources);
    let folders = ["trainer", "online", "stabilized", "two_stage", "train"];
    let within = imports_within(&imports, &folders);
    assert!(within.len() > 40 && within["train/fit.rs"].contains("train/training.rs"), "{within:?}");
    let knot = cycles(&within);
    assert!(knot.is_empty(), "files that need each other:\n{}", knot.join("\n"));
}

/// The folder of a file of the library, or the file itself.
fn folder_of(file: &str) -> &str {
    file.split_once('/').map_or(file.trim_end_matches(".rs"), |(folder, _)| folder)
}

/// What each folder of the library imports.
fn folder_imports<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, needs) in imports.iter().filter(|(file, _)| **file != "lib.rs") {
        let folder = folder_of(file);
        let others = needs.iter().map(|one| folder_of(one)).filter(|one| *one != folder && *one != "lib");
        found.entry(folder).or_default().extend(others);
    }
    found
}

/// The table of folders in ARCHITECTURE.md: each folder with the folders it may use.
fn folder_table(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let names = |cell: &str| -> BTreeSet<String> {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(|name| name.trim_end_matches(['/']).trim_end_matches(".rs").into())
            .collect()
    };
    let rows = text.lines().skip_while(|line| !line.starts_with("| folder of `crates/tamis/src`")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let mut table = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let used = names(cells.last().expect("a last cell"));
        names(cells[0]).into_iter().for_each(|folder| drop(table.insert(folder, used.clone())));
    }
    table
}

#[test]
fn folders_of_the_library_import_what_the_architecture_says() {
    let sources = sources("tamis");
    let imports = imports(&sources);
    let found = folder_imports(&imports);
    let knot = cycles(&found);
    assert!(knot.is_empty(), "folders that need each other:\n{}", knot.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let table = folder_table(&fs::read_to_string(path).expect("ARCHITECTURE.md"));
    let found: BTreeMap<String, BTreeSet<String>> = found
        .iter()
        .map(|(folder, needs)| (folder.to_string(), needs.iter().map(ToString::to_string).collect()))
        .collect();
    let folders: BTreeSet<&String> = found.keys().chain(table.keys()).collect();
    let differs = folders.into_iter().filter(|folder| found.get(*folder) != table.get(*folder));
    let lines: Vec<String> = differs
        .map(|folder| format!("{folder}: code {:?}, table {:?}", found.get(folder), table.get(folder)))
        .collect();
    assert!(lines.is_empty(), "ARCHITECTURE.md and the imports differ:\n{}", lines.join("\n"));
}
