//! What an attacker, a full disk, a second process or a bad day must not do to files: destroy or tear them unnoticed.

mod common;

use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Folder, rows, svm};

/// 200 rows of two classes that one feature each tells apart.
fn two_classes() -> String {
    "1 1:0.01\n-1 2:0.01\n".repeat(200)
}

/// Whether the file of a command can be read again, and says what it should.
fn assert_readable(folder: &Folder, model: &str) {
    folder.ok(&format!("inspect {model} --json"));
}

fn signal(child: &std::process::Child, name: &str) {
    std::process::Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
}

#[test]
fn a_model_that_cannot_be_read_is_not_written_and_the_old_one_stays() {
    let folder = Folder::new();
    let plain: String = (1..=50).map(|i| format!("{}.5 1:{i} 2:{}\n", i % 7, i * i % 11)).collect();
    folder.write("plain.svm", &plain);
    folder.write("wild.svm", format!("{plain}1e155 1:3\n"));
    folder.write("tiny.svm", "1 1:5e-324 2:1\n-1 1:1e-310\n".repeat(100));
    for method in ["ftrl", "sgd", "truncated-gradient", "rda", "fobos", "stabilized", "two-stage"] {
        folder.ok(&format!("fit plain.svm -q -o m.json --method {method}"));
        let before = folder.read("m.json");
        for data in ["wild.svm", "tiny.svm"] {
            let run = folder.run(&format!("fit {data} -q -o m.json --method {method} --checkpoint m.st"));
            if run.code == Some(0) {
                assert_readable(&folder, "m.json");
                folder.ok("report m.json -o r.html");
            } else {
                assert!(run.complaint().len() > 20);
                assert!(folder.read("m.json") == before, "{method} {data}");
            }
            std::fs::write(folder.path("m.json"), &before).unwrap();
        }
    }
    let complaint = folder.run("fit wild.svm -q -o m.json --method ftrl");
    assert_eq!(
        complaint.complaint(),
        "wild.svm:51: label 1e155 is too large: its square is not a finite number. Is it a mark for a missing label?"
    );
}

#[test]
fn moments_that_overflow_are_refused_and_the_old_ones_stay() {
    let folder = Folder::new();
    let column = |value: &str| (0..5).map(|i| format!("{i} 1:{value} 2:{}\n", i + 1)).collect::<String>();
    folder.write("big.svm", column("1e155") + "3 2:1\n");
    let complaint = folder.run("moments big.svm -q -o big.moments");
    assert!(complaint.complaint().starts_with("the squares of \"1\" add up to more than"), "{}", complaint.err);
    assert!(!folder.path("big.moments").exists());
    folder.write("up.svm", column("1.2e154")).write("down.svm", column("-1.2e154"));
    folder.ok("moments up.svm -q -o up.moments --task regression");
    folder.ok("moments down.svm -q -o down.moments --task regression");
    let before = folder.read("up.moments");
    assert!(folder.run("moments merge up.moments down.moments -o up.moments").complaint().contains("add up to more"));
    assert_eq!(folder.read("up.moments"), before);
    folder.write("heavy.csv", "y,a,w\n1,2,1e308\n2,3,1e308\n3,5,1e308\n");
    assert!(folder.run("moments heavy.csv --weight-column w").complaint().contains("weights of the rows add up"));
}

#[test]
fn moments_of_fewer_rows_than_folds_can_be_read() {
    let folder = Folder::new();
    folder.write("two.svm", "1 1:1\n2 1:2 2:1\n");
    for folds in [3, 5, 100] {
        folder.ok(&format!("moments two.svm -q -o two.moments --task regression --folds {folds}"));
        assert_eq!(folder.json("moments info two.moments --json")["n_examples"], 2);
    }
}

#[test]
fn a_complete_training_does_not_learn_its_rows_again_by_accident() {
    let folder = Folder::new();
    folder.write("day1.svm", svm(&rows(600, 30, 5, 2, 1))).write("day2.svm", svm(&rows(600, 30, 5, 2, 2)));
    folder.write("both.svm", folder.text("day1.svm") + &folder.text("day2.svm"));
    for method in ["ftrl --passes 1", "ftrl --passes 2", "sgd", "stabilized", "two-stage"] {
        folder.ok(&format!("fit day1.svm -q -o m.json --method {method} --checkpoint m.st --checkpoint-every 100"));
        let (model, state) = (folder.read("m.json"), folder.read("m.st"));
        for data in ["day1.svm", "both.svm"] {
            let again = format!("fit {data} -q -o m.json --checkpoint m.st --checkpoint-every 100 --resume m.st");
            assert_eq!(
                folder.run(&again).complaint(),
                "the training is complete, and the data begin with the same 600 rows: they would be learned a second \
                 time; give new data, or --again to learn them again",
                "{method}"
            );
            assert!(folder.read("m.json") == model && folder.read("m.st") == state);
        }
        folder.ok("fit day1.svm -q -o twice.json --resume m.st --again");
        folder.ok("fit day2.svm -q -o m.json --checkpoint m.st --resume m.st");
        // The first day is remembered after the second.
        assert!(folder.run("fit day1.svm -q -o m.json --resume m.st").complaint().contains("--again"), "{method}");
    }
}

#[test]
fn the_same_moments_are_not_merged_twice_and_others_not_subtracted() {
    let folder = Folder::new();
    for (name, seed) in [("mon", 1), ("tue", 2), ("wed", 3)] {
        folder.write(&format!("{name}.svm"), svm(&rows(300, 12, 5, 2, seed)));
        folder.ok(&format!("moments {name}.svm -q -o {name}.moments --task regression"));
    }
    folder.ok("moments merge mon.moments tue.moments -q -o week.moments");
    let week = folder.read("week.moments");
    let twice = folder.run("moments merge week.moments mon.moments -q -o week.moments");
    assert_eq!(
        twice.complaint(),
        "mon.moments: these 300 rows are in the moments already: they would count twice; use --again if they should"
    );
    assert!(folder.run("moments merge mon.moments mon.moments -q -o x.moments").complaint().contains("count twice"));
    let wrong = folder.run("moments subtract week.moments wed.moments -q -o week.moments");
    assert!(wrong.complaint().contains("some of them were never added"), "{}", wrong.err);
    assert_eq!(folder.read("week.moments"), week);
    folder.ok("moments subtract week.moments tue.moments -q -o rest.moments");
    assert!(
        folder.run("moments subtract rest.moments tue.moments -q -o x.moments").complaint().contains("never added")
    );
    folder.ok("moments merge --again week.moments mon.moments -q -o double.moments");
    assert_eq!(folder.json("moments info double.moments --json")["n_examples"], 900);
    // Rows of a file that was never merged as such, but all of which were added.
    let text = folder.text("mon.svm");
    folder.write("part.svm", text.lines().take(100).map(|line| format!("{line}\n")).collect::<String>());
    folder.ok("moments part.svm -q -o part.moments --task regression");
    folder.ok("moments subtract week.moments part.moments -q -o less.moments");
    assert_eq!(folder.json("moments info less.moments --json")["n_examples"], 500);
}

#[test]
fn two_trainings_do_not_share_a_checkpoint() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(300, 30, 5, 2, 1)));
    let line = "fit - --format svm -q -o one.json --method ftrl --passes 1 --checkpoint s.st";
    let mut first = folder.process(line).stdin(Stdio::piped()).spawn().unwrap();
    let lock = folder.path(".s.st.lock");
    let started = Instant::now();
    while !lock.exists() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = folder.run("fit a.svm -q -o two.json --method ftrl --checkpoint s.st");
    assert_eq!(
        second.complaint(),
        "s.st: another training writes this checkpoint; wait for its end, or name another file"
    );
    std::io::Write::write_all(&mut first.stdin.take().unwrap(), folder.text("a.svm").as_bytes()).unwrap();
    assert!(first.wait().unwrap().success());
    assert!(!lock.exists(), "the lock ends with the training");
    folder.ok("fit a.svm -q -o two.json --method ftrl --checkpoint s.st");
}

#[test]
fn many_runs_with_one_output_all_succeed_and_leave_a_whole_file() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(200, 30, 5, 2, 1)));
    let start = || folder.process("fit a.svm -q -o same.json --method ftrl").spawn().unwrap();
    let runs: Vec<_> = (0..6).map(|_| start()).collect();
    for run in runs {
        assert!(run.wait_with_output().unwrap().status.success());
        assert_readable(&folder, "same.json");
    }
    assert_eq!(folder.names(), ["a.svm", "same.json"]);
}

#[test]
fn a_planted_link_is_not_followed() {
    let folder = Folder::new();
    folder.write("a.svm", two_classes()).write("victim.txt", "precious");
    for name in [".m.json.partial", ".m.json.tmp", ".tamis-m.json"] {
        std::os::unix::fs::symlink("victim.txt", folder.path(name)).unwrap();
    }
    folder.ok("fit a.svm -q -o m.json --method ftrl");
    assert_eq!(folder.text("victim.txt"), "precious");
    assert!(!std::fs::symlink_metadata(folder.path("m.json")).unwrap().is_symlink());
}

#[test]
fn files_are_as_private_as_the_umask_says() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("a.svm", two_classes()).write("old.csv", "x").write("old.json", "x");
    for name in ["old.csv", "old.json"] {
        std::fs::set_permissions(folder.path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let commands = [
        "fit a.svm -q -o m.json --method ftrl --checkpoint m.st --report m.html",
        "moments a.svm -q -o m.moments",
        "convert a.svm new.csv",
        "convert a.svm new.parquet",
        "predict m.json a.svm -o p.txt",
        "synth zipf -q -o s --n 100 --p 400 --k 5",
    ];
    let line = commands.map(|command| format!("$TAMIS {command}")).join(" && ");
    folder.shell(&format!("umask 077; {line}")).ok(&line);
    folder.shell("umask 022; $TAMIS convert a.svm old.csv && $TAMIS fit a.svm -q -o old.json --method ftrl").ok("");
    let files =
        ["m.json", "m.st", "m.html", "m.moments", "new.csv", "new.parquet", "p.txt", "s.svm", "old.csv", "old.json"];
    for name in files {
        let mode = std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}: {mode:o}");
    }
    folder.shell("umask 027; $TAMIS convert a.svm group.csv").ok("");
    assert_eq!(std::fs::metadata(folder.path("group.csv")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn no_command_writes_over_its_input() {
    let folder = Folder::new();
    folder.write("in.svm", svm(&rows(100, 9, 4, 2, 1))).write("in.csv", "y,a\n1,2\n0,3\n1,4\n0,1\n".repeat(20));
    folder.ok("fit in.svm -q -o m.json --method ftrl");
    folder.ok("fit in.svm -q -o s.json");
    folder.ok("moments in.svm -q -o m.moments");
    std::os::unix::fs::symlink("in.svm", folder.path("link.svm")).unwrap();
    std::fs::hard_link(folder.path("in.svm"), folder.path("hard.svm")).unwrap();
    let lines = [
        "fit in.svm -q --method ftrl -o in.svm",
        "fit in.svm -q --method ftrl -o link.svm",
        "fit in.svm -q --method ftrl -o ./hard.svm",
        "fit in.svm -q --method ftrl -o x.json --checkpoint in.svm",
        "fit in.svm -q --method ftrl -o x.json --report in.svm",
        "fit in.csv -q --method ftrl -o in.svm --validate in.svm",
        "fit in.svm -q --method ftrl -o x.json --checkpoint x.json",
        "fit in.svm -q --method ftrl -o x.json --report ./x.json",
        "moments in.svm -q -o in.svm",
        "moments merge m.moments m.moments -q --again -o m.moments",
        "solve m.moments -q -o m.moments",
        "solve m.moments -q -o x.json --report x.json",
        "resize s.json --k 2 -o s.json",
        "report m.json -o m.json",
        "report m.json --data in.svm -o in.svm",
        "predict m.json in.svm -o in.svm",
        "predict m.json in.svm -o m.json",
        "convert in.svm in.svm",
        "convert m.json m.json --to csv",
        "tune in.svm -q --method ftrl --l1 1,2 -o in.svm",
        "tune in.svm -q --method ftrl --l1 1,2 -o x.json --curve x.json",
        "stability in.svm -q --method ftrl --runs 2 --report in.svm",
        "metric fit in.csv -q -o in.csv",
    ];
    let names = folder.names();
    let before: Vec<Vec<u8>> = names.iter().map(|name| folder.read(name)).collect();
    for line in lines {
        let run = folder.run(line);
        let complaint = run.complaint();
        let is_told = ["it is the input", "two outputs would be written", "need two files"]
            .iter()
            .any(|reason| complaint.contains(reason));
        assert!(is_told, "{line}: {complaint}");
        assert_eq!(folder.names(), names, "{line}");
        assert!(names.iter().zip(&before).all(|(name, bytes)| folder.read(name) == *bytes), "{line}");
    }
    // A checkpoint may replace itself, and statistics may grow in place.
    folder.ok("fit in.svm -q --method ftrl -o x.json --checkpoint c.st");
    folder.write("new.svm", svm(&rows(100, 9, 4, 2, 2)));
    folder.ok("fit new.svm -q -o x.json --checkpoint c.st --resume c.st");
    folder.ok("moments new.svm -q -o new.moments");
    folder.ok("moments merge m.moments new.moments -q -o m.moments");
    folder.ok("fit in.svm -q --method ftrl -o /dev/null --report /dev/null");
}

#[test]
fn a_signal_is_heard_while_standard_input_is_silent() {
    let folder = Folder::new();
    let text = svm(&rows(9000, 40, 5, 2, 1));
    folder.write("all.svm", &text);
    let whole = folder.model("all.svm --method ftrl --passes 1");
    for name in ["TERM", "INT"] {
        let line = "fit - --format svm -q -o m.json --method ftrl --passes 1 --checkpoint m.st --checkpoint-every 5000";
        let mut child = folder.process(line).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, text.as_bytes()).unwrap();
        let waiting = Instant::now();
        while !folder.path("m.st").exists() && waiting.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(500));
        let due = folder.read("m.st");
        signal(&child, name);
        let started = Instant::now();
        let status = child.wait().unwrap();
        assert!(started.elapsed() < Duration::from_secs(5), "{name} was not heard");
        assert_eq!(status.code(), Some(130), "{name}");
        drop(input);
        assert!(folder.read("m.st") != due, "the rows so far are saved after {name}");
        folder.ok("fit all.svm -q -o m.json --resume m.st");
        assert!(folder.read("m.json") == whole);
        std::fs::remove_file(folder.path("m.st")).unwrap();
    }
}

#[test]
fn a_signal_is_heard_while_a_model_is_evaluated() {
    let folder = Folder::new();
    folder.write("a.svm", two_classes());
    let fifo = folder.path("pipe.svm");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let line = "fit a.svm -q -o m.json --method ftrl --validate pipe.svm";
    let mut child = folder.process(line).stderr(Stdio::null()).spawn().unwrap();
    let mut writer = std::fs::File::options().write(true).open(&fifo).unwrap();
    let stop = Instant::now() + Duration::from_millis(600);
    let (mut is_sent, block) = (false, two_classes());
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_secs(20) {
        std::io::Write::write_all(&mut writer, block.as_bytes()).ok();
        if !is_sent && Instant::now() > stop {
            signal(&child, "TERM");
            is_sent = true;
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn an_output_that_cannot_be_written_is_noticed_before_the_training() {
    let folder = Folder::new();
    folder.write("a.svm", two_classes());
    // Root may write anywhere, but not into the kernel's own files.
    for out in ["/proc/m.json", "/sys/m.json"] {
        let run = folder.run(&format!("fit missing-part.svm -q -o {out}"));
        assert!(!run.complaint().is_empty());
        let run = folder.run(&format!("fit a.svm -q --method ftrl -o {out}"));
        assert!(run.complaint().starts_with(&format!("{out}: cannot be written: ")), "{}", run.err);
    }
}

#[test]
fn a_checkpoint_keeps_its_task_and_windows_are_limited() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(300, 20, 5, 2, 1))).write("b.svm", svm(&rows(300, 20, 5, 2, 2)));
    folder.ok("fit a.svm -q --method ftrl --checkpoint s.st -o m.json");
    let run = folder.run("fit b.svm -q --resume s.st --task regression -o m.json");
    assert!(run.complaint().starts_with("--task cannot change what a checkpoint trains"), "{}", run.err);
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    std::io::Write::write_all(&mut encoder, folder.text("a.svm").as_bytes()).unwrap();
    folder.write("w.svm.zst", encoder.finish().unwrap());
    let run = folder.run("fit w.svm.zst -q --method ftrl -o m.json");
    assert!(run.complaint().contains("compressed with a window above 128 MiB"), "{}", run.err);
}
