//! Runs are killed at random moments. A training is resumed until it is complete: the model must be that of a training
//! that nobody killed. Of the other commands, the output must be the old file or the new one.

use std::time::Duration;

use super::common::{Folder, Random, rows, svm};
use super::watch::{Outcome, finish, run, signal, start};
use super::{Campaign, pick};

/// Trainings: data and options.
const TRAININGS: [&str; 22] = [
    "two.svm --method ftrl --passes 1",
    "two.svm --method ftrl --passes 3 --average",
    "two.svm --method ftrl --k 8 --refit",
    "two.svm --method ftrl --passes 2 --memory 20K",
    "two.svm --method sgd --passes 3",
    "two.svm --method sgd --passes 1 --no-shuffle",
    "two.svm --method truncated-gradient --passes 3",
    "two.svm --method rounding --passes 2",
    "two.svm --method fobos --l1 0.005",
    "two.svm --method rda --passes 1",
    "two.svm --method tsgd --k 9",
    "two.svm --method fofs --k 9",
    "two.svm --method sofs --k 9",
    "two.svm --method sadmm --passes 2",
    "two.svm --method single-stage --radius 3",
    "two.svm --method two-stage --passes 3",
    "two.svm --method stabilized",
    "two.svm --method stabilized --k 6 --memory 30K",
    "three.svm --method ftrl --passes 2",
    "three.svm --method stabilized",
    "numbers.svm --method ftrl --hash-bits 5 --passes 2",
    "numbers.svm --method sgd --scale unit-variance",
];

/// Commands with an output, which may be there before.
const OTHERS: [(&str, &str); 8] = [
    ("moments two.svm --folds 3 -q -o m.moments", "m.moments"),
    ("moments merge a.moments b.moments -q -o m.moments", "m.moments"),
    ("solve a.moments -q -o m.json", "m.json"),
    ("tune two.svm --method ftrl --l1 1,3 --folds 2 -q -o m.json", "m.json"),
    ("stability two.svm --method ftrl --runs 2 -q --report m.html", "m.html"),
    ("metric fit small.svm -q --candidate order-1 --max-iter 5 -o m.metric", "m.metric"),
    ("convert two.svm m.parquet", "m.parquet"),
    ("report f.json --data two.svm -q -o m.html", "m.html"),
];

fn data(folder: &Folder) {
    folder.write("two.svm", svm(&rows(2400, 60, 8, 2, 1))).write("three.svm", svm(&rows(2000, 60, 8, 3, 2)));
    folder.write("small.svm", svm(&rows(120, 8, 4, 2, 3)));
    let row = |at: usize| format!("{}.5 {}:1 {}:0.{}\n", at * 7 % 23, 1 + at % 20, 30 + at % 17, 1 + at % 9);
    folder.write("numbers.svm", (0..2400).map(row).collect::<String>());
    for (name, seed) in [("a", 4), ("b", 5)] {
        folder.write(&format!("{name}.svm"), svm(&rows(300, 40, 8, 2, seed)));
        folder.ok(&format!("moments {name}.svm -q -o {name}.moments"));
    }
    folder.ok("fit a.svm --method ftrl -q -o f.json");
}

fn wait(random: &mut Random, longest: Duration) {
    std::thread::sleep(longest.mul_f64(random.unit()));
}

#[test]
fn kills() {
    let mut campaign = Campaign::new("kills");
    let folder = Folder::new();
    data(&folder);
    let mut references = std::collections::BTreeMap::new();
    while let Some((case, mut random)) = campaign.next() {
        if random.uniform_below(4) == 0 {
            killed_command(&folder, &mut random, &case, &mut campaign);
            continue;
        }
        let training = pick(&mut random, &TRAININGS);
        let (model, time) = references.entry(training).or_insert_with(|| {
            let started = std::time::Instant::now();
            run(&folder, &format!("fit {training} -q -o whole.json"), &case);
            (folder.read("whole.json"), started.elapsed())
        });
        let found = killed_training(&folder, &mut random, training, *time, &case, &mut campaign);
        assert!(found == *model, "{case}: {training}: another model after kills");
        campaign.count("resumed trainings");
    }
    campaign.report();
}

/// The model of a training that is killed a few times and resumed.
fn killed_training(
    folder: &Folder,
    random: &mut Random,
    training: &str,
    time: Duration,
    case: &str,
    campaign: &mut Campaign,
) -> Vec<u8> {
    for name in ["k.st", "k.json"] {
        std::fs::remove_file(folder.path(name)).ok();
    }
    let every = [100, 777, 2000][random.uniform_below(3) as usize];
    let data = training.split(' ').next().unwrap();
    for kills_left in (0..1 + random.uniform_below(4)).rev() {
        let line = if folder.path("k.st").exists() {
            format!("fit {data} -q -o k.json --checkpoint k.st --checkpoint-every {every} --resume k.st")
        } else {
            format!("fit {training} -q -o k.json --checkpoint k.st --checkpoint-every {every}")
        };
        let child = start(folder, &line);
        if kills_left > 0 {
            wait(random, time.mul_f64(1.3));
            signal(&child, pick(random, &["KILL", "KILL", "TERM", "INT"]));
        }
        let outcome = finish(folder, child, &line, case);
        count_kill(&outcome, campaign);
        let is_over = outcome.err.contains("the training is complete, and the data begin with the same");
        if outcome.is_ok() || is_over {
            break;
        }
        let was_stopped = matches!(outcome.code, None | Some(130));
        assert!(kills_left > 0 && was_stopped, "{case}: tamis {line}\n{:?} {}", outcome.code, outcome.err);
    }
    folder.read("k.json")
}

/// A command killed while it replaces its output.
fn killed_command(folder: &Folder, random: &mut Random, case: &str, campaign: &mut Campaign) {
    let (line, output) = OTHERS[random.uniform_below(OTHERS.len() as u64) as usize];
    let started = std::time::Instant::now();
    run(folder, line, case);
    let (whole, time) = (folder.read(output), started.elapsed());
    let old = b"the old file".to_vec();
    folder.write(output, &old);
    let child = start(folder, line);
    wait(random, time.mul_f64(1.2));
    signal(&child, pick(random, &["KILL", "KILL", "TERM", "INT"]));
    count_kill(&finish(folder, child, line, case), campaign);
    let found = folder.read(output);
    let is_page = output.ends_with(".html") && found.ends_with(&whole[whole.len() - 20..]);
    assert!(found == old || found == whole || is_page, "{case}: tamis {line}: a file that is neither old nor new");
    std::fs::remove_file(folder.path(output)).ok();
    campaign.count("commands");
}

/// Counts a run that a signal ended; one that was over before it is none.
fn count_kill(outcome: &Outcome, campaign: &mut Campaign) {
    match outcome.code {
        None => campaign.count("kills"),
        Some(130) => campaign.count("interrupts"),
        Some(_) => campaign.count("signals too late, or none"),
    }
}
