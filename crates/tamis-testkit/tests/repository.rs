//! Consistency of the repository: citations and links have targets, and retired words do not come back.
//!
//! Each check walks the tree and lists every place that breaks its rule. To add one, write a test that collects such
//! places from [`files`] or [`comments`] and passes them to [`none`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders with build products, installed packages or generated data.
const SKIPPED: [&str; 6] = ["target", "node_modules", "__pycache__", "dist", "work", "demo"];

/// A text file of the repository.
struct File {
    /// The path from the root of the repository, with `/`.
    path: String,
    text: String,
}

/// A line of prose: its place, as `path:line`, and its text.
struct Line<'a> {
    place: String,
    text: &'a str,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the crate lies in the repository")
}

/// All files with one of these extensions, ordered by path. Hidden folders are left out.
fn files(extensions: &[&str]) -> Vec<File> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository can be read") {
            let entry = entry.expect("an entry can be read");
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().expect("an entry has a type");
            if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                folders.push(entry.path());
            } else if kind.is_file() && extensions.iter().any(|extension| name.ends_with(&format!(".{extension}"))) {
                let path =
                    entry.path().strip_prefix(&root).expect("inside the root").to_string_lossy().replace('\\', "/");
                let text = fs::read_to_string(entry.path()).unwrap_or_else(|error| panic!("{path}: {error}"));
                found.push(File { path, text });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The comments of a Rust or Python file, all lines of any other file.
fn comments(file: &File) -> Vec<Line<'_>> {
    let mark = match file.path.rsplit('.').next() {
        Some("rs") => "//",
        Some("py") => "#",
        _ => "",
    };
    let numbered = file.text.lines().enumerate();
    let marked = numbered.filter_map(|(at, line)| Some((at, &line[comment_start(line, mark)?..])));
    marked.map(|(at, text)| Line { place: format!("{}:{}", file.path, at + 1), text }).collect()
}

/// Where the comment of a line begins: at the first marker outside of a string.
fn comment_start(line: &str, mark: &str) -> Option<usize> {
    line.match_indices(mark).map(|(at, _)| at).find(|&at| line[..at].matches('"').count().is_multiple_of(2))
}

/// Fails with the list of places that break a rule.
fn none(rule: &str, places: Vec<String>) {
    assert!(places.is_empty(), "{rule}:\n{}", places.join("\n"));
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The numbers of the errata a text cites, as in "(E20)" or "E1–E6".
fn cited_errata(text: &str) -> Vec<u32> {
    let cited = text.match_indices('E').filter_map(|(at, _)| {
        let digits: String = text[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        let before = text[..at].chars().next_back();
        let after = text[at + 1 + digits.len()..].chars().next();
        let apart =
            !before.is_some_and(|letter| is_word(letter) || "{%\\".contains(letter)) && !after.is_some_and(is_word);
        if apart && (1..=2).contains(&digits.len()) { digits.parse().ok() } else { None }
    });
    cited.collect()
}

/// Whether a text cites a paper by one of the codes 0, 1, … 4 with two zeros before it, and not as part of a number.
fn cites_a_code(text: &str) -> bool {
    (0..=4).map(|code| format!("00{code}")).any(|code| {
        text.match_indices(&code).any(|(at, _)| {
            let mut before = text[..at].chars().rev();
            let mut after = text[at + 3..].chars();
            let part_of_number = match before.next() {
                Some(' ' | '\u{2009}' | '\u{a0}') => before.next().is_some_and(|letter| letter.is_ascii_digit()),
                Some(letter) => is_word(letter) || ".,'-+{".contains(letter),
                None => false,
            };
            let goes_on = match after.next() {
                Some('.' | ',' | ' ' | '\u{2009}') => after.next().is_some_and(|letter| letter.is_ascii_digit()),
                Some(letter) => is_word(letter),
                None => false,
            };
            !part_of_number && !goes_on
        })
    })
}

/// The files of the repository that a text names by their path from the root, as in "see docs/papers.md".
fn named_files(text: &str) -> Vec<&str> {
    let words = text.split(|letter: char| letter.is_whitespace() || "`()[]\"',;".contains(letter));
    let paths = words.map(|word| word.trim_end_matches(['.', ':']));
    let from_root =
        paths.filter(|path| ["crates/", "docs/", "experiments/"].iter().any(|folder| path.starts_with(folder)));
    from_root.filter(|path| !path.contains(['<', '*', '{']) && Path::new(path).extension().is_some()).collect()
}

/// The targets of the links of a Markdown text, with their line numbers. Code is left out.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let inline =
            line.match_indices("](").filter(|(start, _)| line[..*start].matches('`').count().is_multiple_of(2));
        let targets = inline.filter_map(|(start, _)| line[start + 2..].split(')').next());
        let defined = line.starts_with('[').then(|| line.split_once("]: ").map(|(_, target)| target)).flatten();
        found.extend(targets.chain(defined).filter_map(|target| Some((at + 1, target.split_whitespace().next()?))));
    }
    found
}

/// The anchor of a heading on the usual hosts.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|&letter| is_word(letter) || letter == '-').collect()
}

/// Why a link of a file is broken, if it is.
fn broken(file: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = target.split_once('#').map_or((target, None), |(path, fragment)| (path, Some(fragment)));
    let from = root().join(&file.path);
    let to = if path.is_empty() { from } else { from.parent().expect("a file lies in a folder").join(path) };
    if !to.exists() {
        return Some(format!("there is no {path}"));
    }
    let fragment = fragment.filter(|_| to.extension().is_some_and(|extension| extension == "md"))?;
    let text = fs::read_to_string(&to).expect("Markdown can be read");
    let mut headings =
        text.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#')));
    if headings.any(|heading| heading == fragment) { None } else { Some(format!("there is no heading #{fragment}")) }
}

#[test]
fn scanners_find_citations_and_leave_numbers_alone() {
    assert_eq!(cited_errata("Departures (E20, E21): as E1–E6 say; E9."), [20, 21, 1, 6, 9]);
    assert_eq!(cited_errata("1E5, 0xE9, E2006, \\u{E9}, %E9, E[w], PE1, E1a"), []);
    for cited in ["Source: 002, (2.15)", "(000 eq. 5)", "| 004 Figure 1 |", "as in 001.", "003: shown"] {
        assert!(cites_a_code(cited), "{cited}");
    }
    for number in ["1,000 rows", "0.001", "20_000", "10 000", "100\u{2009}000", "0001", "1e-003", "000123", "'000"] {
        assert!(!cites_a_code(number), "{number}");
    }
    assert_eq!(
        links("[a](b.md) `[c](d)` ![e](f.svg)\n```\n[g](h)\n```\n[i]: j.md#k"),
        [(1, "b.md"), (1, "f.svg"), (5, "j.md#k")]
    );
    assert_eq!(
        named_files("see `docs/a.md`, crates/b/src/c.rs: docs/<x>.md, crates/d/"),
        ["docs/a.md", "crates/b/src/c.rs"]
    );
    assert_eq!(anchor(" Ma & Zheng 2016"), "ma--zheng-2016");
    assert_eq!(comment_start("let url = \"a//b\"; // why", "//"), Some(18));
}

#[test]
fn every_erratum_cited_is_listed() {
    let errata = fs::read_to_string(root().join("docs/errata.md")).expect("docs/errata.md");
    let titles: Vec<&str> = errata.lines().filter_map(|line| line.strip_prefix("### E")).collect();
    let listed: BTreeSet<u32> =
        titles.iter().flat_map(|title| cited_errata(&format!("E{title}")).into_iter().take(1)).collect();
    assert_eq!(listed.len(), titles.len(), "every entry of docs/errata.md has a number of its own");
    assert_eq!(listed, (1..=titles.len() as u32).collect(), "numbers of docs/errata.md leave no gap");

    let files = files(&["rs", "py", "md", "toml"]);
    let lines: Vec<Line<'_>> = files.iter().flat_map(comments).collect();
    let cited: Vec<(&Line<'_>, u32)> =
        lines.iter().flat_map(|line| cited_errata(line.text).into_iter().map(move |number| (line, number))).collect();
    assert!(
        cited.iter().any(|(line, _)| line.place.starts_with("crates/tamis/src/")),
        "comments of the library are read"
    );
    let unknown = cited.iter().filter(|(_, number)| !listed.contains(number));
    none(
        "cited, but not in docs/errata.md",
        unknown.map(|(line, number)| format!("{}: E{number}", line.place)).collect(),
    );
}

#[test]
fn papers_are_cited_by_author_and_year() {
    let files = files(&["rs", "py", "md", "toml"]);
    let coded = files.iter().flat_map(comments).filter(|line| cites_a_code(line.text));
    none(
        "cite papers by the keys of docs/papers.md",
        coded.map(|line| format!("{}: {}", line.place, line.text)).collect(),
    );
}

#[test]
fn links_of_documents_have_targets() {
    let files = files(&["md"]);
    let count: usize = files.iter().map(|file| links(&file.text).len()).sum();
    assert!(count > 10, "only {count} links were found");
    let dead = files.iter().flat_map(|file| {
        let links = links(&file.text).into_iter();
        links.filter_map(|(line, target)| Some(format!("{}:{line}: {}", file.path, broken(file, target)?)))
    });
    none("broken links", dead.collect());
}

#[test]
fn files_named_in_comments_exist() {
    let files = files(&["rs", "py", "md", "toml"]);
    let lines: Vec<Line<'_>> = files.iter().flat_map(comments).collect();
    let named: Vec<(&Line<'_>, &str)> =
        lines.iter().flat_map(|line| named_files(line.text).into_iter().map(move |path| (line, path))).collect();
    assert!(named.len() > 5, "only {} files are named", named.len());
    let missing = named.iter().filter(|(_, path)| !root().join(path).exists());
    none("files that do not exist", missing.map(|(line, path)| format!("{}: {path}", line.place)).collect());
}

/// Words that have been replaced by the terms of the field, and these terms. `*` stands for any ending.
const RETIRED: [(&str, &str); 29] = [
    ("rung*", "size, step of the size path"),
    ("ladder*", "size path"),
    ("court", "candidate table"),
    ("strain", "scale and restrict"),
    ("strained", "scaled and restricted"),
    ("shadows", "cross-fitted ensembles"),
    ("polish*", "refine, refinement"),
    ("recut*", "resize"),
    ("judge*", "evaluate"),
    ("verdict*", "score"),
    ("duel*", "final selection"),
    ("crew", "learner state"),
    ("errand*", "command"),
    ("urn*", "feature sampler"),
    ("ballot*", "selection frequency"),
    ("surest", "of the largest selection frequency"),
    ("strangers", "unknown classes"),
    ("call_home", "wait"),
    ("so many rows", "N rows"),
    ("so many features", "N features"),
    ("so many steps", "N steps"),
    ("so many draws", "N draws"),
    ("whose truth", "with known coefficients"),
    ("beyond all bounds", "diverged"),
    ("make no sense", "are invalid"),
    ("false alarms", "ROC curve"),
    ("who is taken for whom", "confusion matrix"),
    ("one against the rest", "one-vs-rest"),
    ("known holes", "known vulnerabilities"),
];

/// Whether a retired word stands in a text, as a whole word and in lower case.
fn mentions(text: &str, word: &str) -> bool {
    let stem = word.trim_end_matches('*');
    text.match_indices(stem).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + stem.len()..].chars().next());
        let ends = word.ends_with('*') || !after.is_some_and(|letter| is_word(letter) || letter == '_');
        !before.is_some_and(|letter| is_word(letter) || letter == '_' || letter == '-') && ends
    })
}

#[test]
fn retired_words_are_found() {
    assert!(mentions("two rungs of it", "rung*") && mentions("(rung)", "rung*") && !mentions("wrung", "rung*"));
    assert!(mentions("so many rows", "so many rows") && !mentions("in court-like", "curt"));
    assert!(!mentions("box-shadows", "shadows") && !mentions("return", "urn*"));
}

#[test]
fn retired_words_are_gone() {
    let is_exempt = |path: &str| {
        path.ends_with("tests/repository.rs") || path == "CHANGELOG.md" || path.starts_with("docs/results/")
    };
    let mut places = Vec::new();
    for file in files(&["rs", "py", "md", "toml", "js"]).iter().filter(|file| !is_exempt(&file.path)) {
        for (at, line) in file.text.lines().enumerate() {
            let line = line.to_lowercase();
            let found = RETIRED.iter().filter(|(word, _)| mentions(&line, word));
            places.extend(found.map(|(word, term)| format!("{}:{}: {word:?}, say {term:?}", file.path, at + 1)));
        }
    }
    none("words that have been replaced", places);
}
