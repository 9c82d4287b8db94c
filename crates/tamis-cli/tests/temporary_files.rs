//! What a killed process leaves behind: nothing that piles up.

mod common;

use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, names_in, rows, svm};

/// Starts a command that waits on standard input after some rows.
fn waiting(folder: &Folder, line: &str) -> Child {
    let mut child = folder.process(line).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(svm(&rows(20_000, 30, 5, 2, 1)).as_bytes()).unwrap();
    child
}

fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn left_in(folder: &Folder) -> Vec<String> {
    folder.names().into_iter().filter(|name| name.starts_with(".tamis-")).collect()
}

#[test]
fn the_file_of_a_killed_command_is_removed_by_the_next_one() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(50, 9, 4, 2, 1)));
    folder.ok("fit a.svm -q --method ftrl -o m.json");
    let next =
        ["convert a.svm next.jsonl", "fit a.svm -q --method ftrl -o next.json", "predict m.json a.svm -o next.csv"];
    for line in next {
        let child = waiting(&folder, "convert - out.jsonl --format svm");
        wait_until("a temporary file", || !left_in(&folder).is_empty());
        // The file of a running command is no business of others.
        folder.ok(line);
        assert_eq!(left_in(&folder).len(), 1, "{line}");
        kill(child);
        assert_eq!(left_in(&folder).len(), 1, "a killed process cannot clean up");
        folder.ok(line);
        assert!(left_in(&folder).is_empty(), "{line}: {:?}", left_in(&folder));
        assert!(!folder.path("out.jsonl").exists());
    }
}

#[test]
fn rows_on_disk_have_no_name() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("cache")).unwrap();
    let child = waiting(
        &folder,
        "fit - --format svm -q --method sgd --passes 3 --no-shuffle --memory 1K --cache-dir cache -o m.json",
    );
    // The system knows the file although the folder does not show it.
    let open_files = format!("/proc/{}/fd", child.id());
    let is_in_cache = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            std::fs::read_link(entry.path()).is_ok_and(|path| path.to_string_lossy().contains("/cache/"))
        })
    };
    wait_until("rows on disk", || std::fs::read_dir(&open_files).is_ok_and(|mut files| files.any(is_in_cache)));
    assert!(names_in(&folder.path("cache")).is_empty());
    kill(child);
    assert!(names_in(&folder.path("cache")).is_empty());
}

#[test]
fn the_folder_of_a_killed_demo_is_removed_by_the_next_one() {
    let folder = Folder::new();
    let temporary = folder.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let demo = |rows: usize| {
        let mut command = folder.process(&format!("demo --n {rows} --quiet --report r.html"));
        command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let child = demo(300_000).spawn().unwrap();
    wait_until("the demo writes its data", || {
        let names = names_in(&temporary);
        names.iter().any(|name| !names_in(&temporary.join(name)).is_empty())
    });
    kill(child);
    assert_eq!(names_in(&temporary).len(), 1, "the killed demo left its folder");
    assert!(demo(2000).status().unwrap().success());
    assert_eq!(names_in(&temporary), [""; 0]);
}
