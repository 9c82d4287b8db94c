//! Extreme numbers through every method and loss: a model that can be read and used, or an error and the old file.

use super::common::{Folder, Random};
use super::watch::run;
use super::{Campaign, pick};

const METHODS: [&str; 14] = [
    "sgd",
    "truncated-gradient",
    "rounding",
    "fobos",
    "rda",
    "ftrl",
    "tsgd",
    "fofs",
    "sofs",
    "sadmm",
    "single-stage",
    "two-stage",
    "stabilized",
    "stabilized-published",
];
const LOSSES: [&str; 7] = [
    "",
    "--loss logistic",
    "--loss hinge",
    "--loss squared-hinge",
    "--loss squared",
    "--loss huber",
    "--loss clipped-squared",
];
const OPTIONS: [&str; 9] = [
    "",
    "--scale none",
    "--scale max-abs",
    "--scale unit-variance",
    "--k 2",
    "--average",
    "--passes 1",
    "--hash-bits 2",
    "--refit",
];
const VALUES: [&str; 16] = [
    "1",
    "0.5",
    "-3",
    "1e-320",
    "5e-324",
    "1e-160",
    "1e-20",
    "1e20",
    "1e100",
    "1e154",
    "1e160",
    "1e300",
    "1.7976931348623157e308",
    "-1e300",
    "123456789012345678",
    "1e-308",
];
const LABELS: [&str; 8] = ["0", "1", "2.5", "-7", "1e10", "1e150", "1e155", "-1e300"];

/// Rows of mostly harmless numbers with a few wild ones: two values and a label, or any of the lists.
fn data(random: &mut Random) -> String {
    let chosen = [pick(random, &VALUES), pick(random, &VALUES), pick(random, &LABELS)];
    let is_any = random.uniform_below(4) == 0;
    let wild = |random: &mut Random, list: &[&'static str], chosen: &[&'static str]| -> &'static str {
        match random.uniform_below(3) {
            0 if is_any => pick(random, list),
            0 => pick(random, chosen),
            _ => list[random.uniform_below(3) as usize],
        }
    };
    let classes = random.uniform_below(2) == 0;
    let rows = 20 + random.uniform_below(200);
    (0..rows)
        .map(|row| {
            let label = if classes { ["0", "1"][(row % 2) as usize] } else { wild(random, &LABELS, &chosen[2..]) };
            let features: String = (1..=4).map(|id| format!(" {id}:{}", wild(random, &VALUES, &chosen[..2]))).collect();
            format!("{label}{features}\n")
        })
        .collect()
}

#[test]
fn extremes() {
    let mut campaign = Campaign::new("extremes");
    let folder = Folder::new();
    folder.write("plain.svm", "1 1:1 2:3\n0 2:1\n".repeat(30));
    folder.ok("fit plain.svm --method ftrl -q -o old.json");
    folder.ok("moments plain.svm -q -o old.moments");
    while let Some((case, mut random)) = campaign.next() {
        folder.write("x.svm", data(&mut random));
        if random.uniform_below(4) == 0 {
            moments(&folder, &mut random, &case, &mut campaign);
            continue;
        }
        folder.write("m.json", folder.read("old.json"));
        let [loss, option] = [pick(&mut random, &LOSSES), pick(&mut random, &OPTIONS)];
        let line = format!("fit x.svm -q -o m.json --method {} {loss} {option}", pick(&mut random, &METHODS));
        let outcome = run(&folder, &line, &case);
        if outcome.is_ok() {
            for use_of in ["inspect m.json", "report m.json -q -o r.html"] {
                let used = run(&folder, use_of, &case);
                assert!(used.is_ok(), "{case}: {line}: {use_of}: {}", used.err);
            }
            run(&folder, "predict m.json x.svm", &case);
            run(&folder, "eval m.json x.svm", &case);
        } else {
            assert!(folder.read("m.json") == folder.read("old.json"), "{case}: {line}: the old model is gone");
        }
        campaign.count(outcome.word());
    }
    campaign.report();
}

fn moments(folder: &Folder, random: &mut Random, case: &str, campaign: &mut Campaign) {
    folder.write("m.moments", folder.read("old.moments"));
    let folds = pick(random, &["", "--folds 3", "--decay 0.1", "--interactions"]);
    let outcome = run(folder, &format!("moments x.svm -q --task regression -o m.moments {folds}"), case);
    if outcome.is_ok() {
        assert!(run(folder, "moments info m.moments", case).is_ok(), "{case}: unreadable moments");
        let method = pick(
            random,
            &["ols", "ridge --lambda 0.1", "ols-th --k 2", "ofsa --k 2", "lasso", "elastic-net", "mcp", "scad"],
        );
        let solved = run(folder, &format!("solve m.moments --method {method} -q -o s.json"), case);
        if solved.is_ok() {
            assert!(run(folder, "inspect s.json", case).is_ok(), "{case}: unreadable model");
        }
    } else {
        assert!(folder.read("m.moments") == folder.read("old.moments"), "{case}: the old moments are gone");
    }
    campaign.count(format!("moments {}", outcome.word()));
}
