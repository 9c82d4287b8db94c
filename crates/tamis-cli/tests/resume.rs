//! A training that was killed, interrupted or finished resumes from its checkpoint with the same result.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, Run, names_in, rows, svm, vw};

/// Starts `tamis fit line`, its complaints kept.
fn start(folder: &Folder, line: &str) -> Child {
    let mut process = folder.process(&format!("fit {line}"));
    process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the checkpoint was written `times` more times. False if the process ended before.
fn wait_for_saves(folder: &Folder, child: &mut Child, times: usize) -> bool {
    let stamp = || std::fs::metadata(folder.path("c.tamis")).ok().map(|file| (file.ino(), file.mtime_nsec()));
    let (mut last, mut seen) = (stamp(), 0);
    let begun = Instant::now();
    while seen < times {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint for a minute");
        std::thread::sleep(Duration::from_micros(200));
        let now = stamp();
        seen += usize::from(now != last);
        last = now;
    }
    true
}

/// Runs a training, killing it with SIGKILL several times at different moments, each time resuming from the
/// checkpoint. Returns the model, and how often it was really killed.
fn killed_and_resumed(folder: &Folder, flags: &str, every: u64) -> (Vec<u8>, usize) {
    let _ = std::fs::remove_file(folder.path("c.tamis"));
    let mut kills = 0;
    for round in 0..3 {
        let resume = if folder.path("c.tamis").exists() { "--resume c.tamis" } else { "" };
        let line = format!("{flags} --quiet --out k.json --checkpoint c.tamis --checkpoint-every {every} {resume}");
        let mut child = start(folder, &line);
        let in_time = wait_for_saves(folder, &mut child, 1 + round);
        // Somewhere between two saves, or within one.
        std::thread::sleep(Duration::from_micros(700 * round as u64));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        kills += usize::from(in_time && status.code().is_none());
        assert!(status.code().is_none_or(|code| code == 0), "{line}: {status}");
        if folder.path("k.json").exists() {
            break;
        }
    }
    if !folder.path("k.json").exists() {
        folder.ok(&format!("fit {flags} --quiet --out k.json --resume c.tamis"));
    }
    let model = folder.read("k.json");
    std::fs::remove_file(folder.path("k.json")).unwrap();
    (model, kills)
}

/// A training killed again and again ends in the very model of the one left alone.
fn survives_kills(folder: &Folder, flags: &str) {
    let expected = folder.model(flags);
    let mut kills = 0;
    for every in [3000, 1000, 300, 100] {
        let (model, now) = killed_and_resumed(folder, flags, every);
        assert!(model == expected, "{flags}: another model after {now} kills, saving every {every} rows");
        kills += now;
        if kills >= 2 {
            return;
        }
    }
    assert!(kills > 0, "{flags}: always finished before it could be killed");
}

fn folder_with_stream() -> Folder {
    let folder = Folder::new();
    folder.ok("synth zipf -o z --n 20000 --p 20000 --nonzeros 30");
    folder
}

#[test]
fn one_pass_survives_kill_9_with_any_method() {
    let folder = folder_with_stream();
    for flags in [
        "--method ftrl",
        "--method truncated-gradient --schedule constant --l1 0.01 --period 3",
        "--method sofs --k 40",
        "--method sgd --average",
        "--method rda --scale none",
        "--method two-stage --k 40",
        "--method single-stage --radius 2",
    ] {
        survives_kills(&folder, &format!("z.svm --passes 1 {flags}"));
    }
}

#[test]
fn several_shuffled_passes_survive_kill_9() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(4000, 2000, 15, 2, 5)));
    std::fs::create_dir(folder.path("cache")).unwrap();
    survives_kills(&folder, "d.svm --passes 6 --method ftrl");
    survives_kills(&folder, "d.svm");
    survives_kills(&folder, "d.svm --k 7 --passes 4");
    survives_kills(&folder, "d.svm --passes 6 --method two-stage");
    survives_kills(&folder, "d.svm --passes 6 --method truncated-gradient --average --memory 0 --cache-dir cache");
    survives_kills(&folder, "d.svm --passes 4 --scale unit-variance --method fobos --k 30 --refit");
    assert_eq!(names_in(&folder.path("cache")), [] as [&str; 0], "killed or not, the pass cache is gone");
}

#[test]
fn many_classes_survive_kill_9() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(15_000, 1000, 12, 5, 5)));
    survives_kills(&folder, "d.svm --passes 1 --method ftrl");
    survives_kills(&folder, "d.svm --passes 3 --method fobos");
}

#[test]
fn classes_that_come_late_survive_kill_9() {
    let folder = Folder::new();
    let mut data = rows(12_000, 400, 10, 5, 5);
    for (at, row) in data.iter_mut().enumerate() {
        row.label = row.label.min(2 + at as u64 / 5000);
    }
    folder.write("d.svm", svm(&data));
    survives_kills(&folder, "d.svm --passes 1 --method ftrl");
    assert_eq!(folder.json("inspect fitted.json --json")["classes"].as_array().unwrap().len(), 5);
}

#[test]
fn tables_with_categories_and_text_labels_survive_kill_9() {
    let folder = Folder::new();
    let mut text = String::from("colour,size,kind\n");
    for row in rows(6000, 60, 2, 3, 5) {
        let [(colour, size), (other, _)] = row.features[..] else { panic!("two features") };
        let kind = ["cat", "dog", "hare"][row.label as usize];
        text.push_str(&format!("c{colour},{},{kind}\n", size * other as f64));
    }
    folder.write("d.csv", text);
    survives_kills(&folder, "d.csv --target kind --passes 3 --method ftrl");
    survives_kills(&folder, "d.csv --target kind --passes 1 --hash-bits 5 --method ftrl");
}

#[test]
fn names_and_features_given_back_survive_kill_9() {
    let folder = Folder::new();
    folder.write("d.vw", vw(&rows(20_000, 300_000, 12, 2, 5)));
    let flags =
        "d.vw --passes 1 --scale none --method truncated-gradient --schedule constant --learning-rate 0.05 --l1 0.1";
    let seen = folder.json(&format!("fit {flags} --quiet --json --out m.json"))["n_features"].as_u64().unwrap();
    assert!(seen < 150_000, "features that left no trace were given back, {seen} remain");
    survives_kills(&folder, flags);
}

#[test]
fn ctrl_c_and_a_polite_end_save_and_say_how_to_go_on() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(3000, 500, 10, 2, 5)));
    assert!(["INT", "TERM"].map(|signal| stops_and_goes_on(&folder, signal)).contains(&true), "always finished first");
}

/// Whether the training could be stopped with a signal; if so, it saved its state and went on to the same model.
fn stops_and_goes_on(folder: &Folder, signal: &str) -> bool {
    for passes in [40, 200, 1000] {
        let flags = format!("d.svm --method ftrl --passes {passes}");
        let _ = ["i.json", "c.tamis"].map(|name| std::fs::remove_file(folder.path(name)));
        let mut child =
            start(folder, &format!("{flags} --quiet --out i.json --checkpoint c.tamis --checkpoint-every 5000"));
        wait_for_saves(folder, &mut child, 1);
        folder.shell(&format!("kill -{signal} {}", child.id()));
        let output = child.wait_with_output().unwrap();
        if output.status.code() == Some(0) {
            continue;
        }
        assert_eq!(output.status.code(), Some(130));
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(
            printed.contains("\ntamis: stopped after ") && printed.ends_with("; continue with --resume c.tamis\n"),
            "{printed}"
        );
        assert!(!folder.path("i.json").exists(), "no model was written");
        folder.ok("fit d.svm --quiet --resume c.tamis --out i.json");
        assert!(folder.read("i.json") == folder.model(&flags), "going on ends in the same model");
        return true;
    }
    false
}

#[test]
fn ctrl_c_without_a_checkpoint_just_stops() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(3000, 500, 10, 2, 5))).write("old.json", "old");
    let mut child = start(&folder, "d.svm --method ftrl --passes 4000000 --out old.json");
    let mut output = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    output.read_line(&mut text).unwrap();
    assert!(text.starts_with("average"), "learning has begun: {text}");
    folder.shell(&format!("kill -INT {}", child.id()));
    output.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(text.contains("tamis: stopped after ") && !text.contains("--resume"), "{text}");
    assert_eq!(folder.text("old.json"), "old");
}

/// A folder with an interrupted training of `d.svm`, its checkpoint 6000 rows in.
fn interrupted(flags: &str) -> Folder {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(8000, 500, 10, 2, 5)));
    folder
        .write("cut.svm", folder.text("d.svm").lines().take(6400).map(|line| format!("{line}\n")).collect::<String>());
    let mut text = folder.text("cut.svm");
    text.push_str("1 broken\n");
    folder.write("cut.svm", text);
    let run =
        folder.run(&format!("fit cut.svm {flags} --quiet --out m.json --checkpoint c.tamis --checkpoint-every 1500"));
    assert!(run.complaint().starts_with("cut.svm:6401:3: "), "{}", run.err);
    folder
}

#[test]
fn a_bad_line_can_be_mended_and_the_training_resumed() {
    let folder = interrupted("--method ftrl --passes 1");
    let run = folder.run("fit d.svm --resume c.tamis --out m.json");
    assert!(run.err.starts_with("resuming from c.tamis after 6000 rows\n"), "{}", run.err);
    assert_eq!(folder.read("m.json"), folder.model("d.svm --method ftrl --passes 1"));
}

#[test]
fn rows_beyond_those_passed_over_twice_are_resumed_too() {
    let folder = Folder::new();
    let text = svm(&rows(270_000, 20, 2, 2, 5));
    let at = text.match_indices('\n').nth(265_000).unwrap().0 + 1;
    folder.write("d.svm", &text).write("cut.svm", format!("{}1 broken\n", &text[..at]));
    let run =
        folder.run("fit cut.svm --method ftrl --quiet --out m.json --checkpoint c.tamis --checkpoint-every 203000");
    assert!(run.complaint().starts_with("cut.svm:265002:3: "), "{}", run.err);
    folder.ok("fit d.svm --quiet --resume c.tamis --out m.json");
    assert_eq!(folder.read("m.json"), folder.model("d.svm --method ftrl"));
}

#[test]
fn other_data_are_refused() {
    let folder = interrupted("--method ftrl --passes 1");
    let text = folder.text("d.svm");
    let lines: Vec<&str> = text.lines().collect();
    let message = |lines: &[&str]| {
        folder.write("other.svm", lines.join("\n"));
        let run = folder.run("fit other.svm --quiet --resume c.tamis --out m.json");
        assert!(!folder.path("m.json").exists());
        run.complaint().to_string()
    };
    let complaint = "c.tamis: the data are not those the checkpoint saw: row ";
    assert_eq!(message(&lines[..3000]), format!("{complaint}3000, or one before it, differs or is missing"));
    assert_eq!(message(&lines[..5000]), format!("{complaint}5001, or one before it, differs or is missing"));
    assert_eq!(message(&lines[1..]), format!("{complaint}6000, or one before it, differs or is missing"));
    let mut changed = lines.clone();
    changed[5500] = "1 3:5";
    assert_eq!(message(&changed), format!("{complaint}6000, or one before it, differs or is missing"));
    let renamed = lines[5500].replacen(' ', " 1:0.25 ", usize::from(!lines[5500].contains(" 1:")));
    changed[5500] = &renamed;
    assert!(message(&changed).starts_with(complaint));
}

#[test]
fn the_recipe_may_not_change_half_way() {
    let folder = interrupted("--passes 1 --method fobos --l1 0.001");
    let message = |flags: &str| folder.run(&format!("fit d.svm --quiet --resume c.tamis --out m.json {flags}"));
    for flags in ["--l1 0.1", "--method ftrl", "--seed 5", "--no-intercept", "--k 5"] {
        let run = message(flags);
        let flag = flags.split(' ').next().unwrap();
        let expected =
            format!("{flag} cannot change what a checkpoint trains; omit it, or train anew without --resume");
        assert_eq!(run.complaint(), expected);
    }
    assert_eq!(message("--passes 1 --method fobos --l1 0.001").code, Some(0), "the same flags are fine");
    assert_eq!(folder.read("m.json"), folder.model("d.svm --passes 1 --method fobos --l1 0.001"));
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let folder = interrupted("--method ftrl --passes 1");
    let bytes = folder.read("c.tamis");
    let message = |content: &[u8]| {
        folder.write("bad.tamis", content);
        let run: Run = folder.run("fit d.svm --quiet --resume bad.tamis --out m.json");
        assert!(!folder.path("m.json").exists());
        run.complaint().to_string()
    };
    for length in [0, 7, 100, bytes.len() / 2, bytes.len() - 1] {
        assert!(message(&bytes[..length]).starts_with("bad.tamis: not a tamis-checkpoint file: "), "{length} bytes");
    }
    assert!(message(b"1 1:1\n-1 2:1\n").starts_with("bad.tamis: not a tamis-checkpoint file: "));
    for at in [bytes.len() - 1, bytes.len() / 2, bytes.len() - 2000] {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        assert_eq!(message(&flipped), "bad.tamis: damaged: checksum mismatch", "byte {at}");
    }
    for at in (0..400.min(bytes.len())).step_by(13) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 2;
        assert!(message(&flipped).starts_with("bad.tamis: "), "byte {at}");
    }
    assert!(folder.run("fit d.svm --resume none.tamis").complaint().starts_with("none.tamis: No such file"));
}

/// The part of a model that learning decides: the outputs.
fn outputs(model: &[u8]) -> String {
    let text = std::str::from_utf8(model).unwrap();
    text[text.find("\"outputs\"").unwrap()..].to_string()
}

#[test]
fn a_finished_training_goes_on_with_new_data() {
    let folder = Folder::new();
    let all = svm(&rows(9000, 800, 12, 2, 5));
    let cut = all.match_indices('\n').nth(4999).unwrap().0 + 1;
    folder.write("all.svm", &all).write("a.svm", &all[..cut]).write("b.svm", &all[cut..]);
    for method in ["ftrl", "ftrl --average", "truncated-gradient --schedule constant", "sofs --k 30", "rda"] {
        let flags = format!("--passes 1 --scale none --method {method}");
        folder.ok(&format!("fit a.svm {flags} --quiet --out a.json --checkpoint c.tamis"));
        let run = folder.run("fit b.svm --resume c.tamis --checkpoint c2.tamis --out b.json");
        assert!(run.err.starts_with("resuming from c.tamis with new data\n"), "{method}: {}", run.err);
        let whole = folder.model(&format!("all.svm {flags}"));
        assert_eq!(outputs(&folder.read("b.json")), outputs(&whole), "{method}");
        assert_eq!(folder.json("inspect b.json --json")["seen"]["rows"], 9000, "{method}");
        assert_eq!(folder.json("inspect b.json --json")["seen"]["features"], 800, "{method}");
    }
}

#[test]
fn new_data_may_bring_another_size_and_another_decay() {
    let folder = Folder::new();
    let all = svm(&rows(2400, 60, 10, 2, 5));
    let cut = all.match_indices('\n').nth(1199).unwrap().0 + 1;
    folder.write("a.svm", &all[..cut]).write("b.svm", &all[cut..]);
    folder.ok("fit a.svm --quiet --k 12 --out a.json --checkpoint c.tamis");
    let size = |flags: &str| {
        folder.ok(&format!("fit b.svm --quiet --resume c.tamis --out b.json {flags}"));
        folder.json("inspect b.json --json")["nonzeros"].as_u64().unwrap()
    };
    assert_eq!((size(""), size("--k 5")), (12, 5));
    let remembered = outputs(&folder.read("b.json"));
    assert_eq!(size("--k 5 --warm-start-decay 1"), 5);
    assert_ne!(outputs(&folder.read("b.json")), remembered, "the decay has an effect");
    let run = folder.run("fit b.svm --quiet --resume c.tamis --out b.json --k 5 --seed 9");
    assert!(run.complaint().starts_with("--seed cannot change what a checkpoint trains"), "{}", run.err);
}

#[test]
fn going_on_with_new_data_survives_kill_9_too() {
    let folder = Folder::new();
    let all = svm(&rows(12_000, 800, 12, 2, 5));
    let cut = all.match_indices('\n').nth(5999).unwrap().0 + 1;
    folder.write("a.svm", &all[..cut]).write("b.svm", &all[cut..]);
    for flags in [
        "--method ftrl --passes 1",
        "--method ftrl --passes 3 --scale unit-variance",
        "--passes 2 --method fobos --scale max-abs",
    ] {
        folder.ok(&format!("fit a.svm {flags} --quiet --out a.json --checkpoint first.tamis"));
        folder.ok("fit b.svm --quiet --resume first.tamis --out whole.json");
        let mut killed = false;
        for every in [1500, 400, 100] {
            let saving = format!("--quiet --out k.json --checkpoint c.tamis --checkpoint-every {every}");
            let _ = ["k.json", "c.tamis"].map(|name| std::fs::remove_file(folder.path(name)));
            let mut child = start(&folder, &format!("b.svm --resume first.tamis {saving}"));
            wait_for_saves(&folder, &mut child, 2);
            child.kill().unwrap();
            child.wait().unwrap();
            killed = !folder.path("k.json").exists();
            if killed {
                folder.ok("fit b.svm --quiet --resume c.tamis --out k.json");
                break;
            }
        }
        assert!(killed, "{flags}: always finished first");
        assert!(folder.read("k.json") == folder.read("whole.json"), "{flags}");
    }
}

#[test]
fn known_columns_keep_their_meaning_when_going_on() {
    let folder = Folder::new();
    folder.write("a.csv", "zip,age,y\n7001,30,no\n7002,40,yes\n7001,35,no\n7002,45,yes\n");
    folder.write("b.csv", "zip,age,y\n7003,20,no\n7002,60,yes\n");
    folder.ok("fit a.csv --categorical zip --quiet --method ftrl --l1 0 --out a.json --checkpoint c.tamis");
    folder.ok("fit b.csv --quiet --resume c.tamis --out b.json");
    let names: Vec<String> = folder.weights("b.json").into_keys().collect();
    assert_eq!(names, ["age", "zip=7001", "zip=7002", "zip=7003"]);
}
