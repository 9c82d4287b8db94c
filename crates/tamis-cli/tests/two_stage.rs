//! `--method two-stage`: number of features, output, and data that cannot be learned.

mod common;

use common::{Folder, line_csv, one_json_line, rows, svm};

fn text() -> Folder {
    let folder = Folder::new();
    folder.ok("synth text-regression -o t --n 2000 --p 3000 --nonzeros 60 --test-rows 500 --k 20");
    folder
}

#[test]
fn k_is_exact_and_draws_are_a_bound() {
    let folder = text();
    for k in [1, 7, 300] {
        let output = folder.json(&format!("fit t.svm --method two-stage --k {k} --json --quiet --out m.json"));
        assert_eq!(output["nonzeros"], k);
        assert_eq!(output["sampling"]["expected"], k as f64);
    }
    let output = folder.json("fit t.svm --method two-stage --n-draws 200 --json --quiet --out m.json");
    let (kept, expected) = (output["nonzeros"].as_f64().unwrap(), output["sampling"]["expected"].as_f64().unwrap());
    assert!(kept <= 200.0 && (kept - expected).abs() < 5.0 * expected.sqrt(), "{kept} kept, {expected} expected");
    assert_eq!(output["sampling"]["draws"], 200);
    assert_eq!(output["sampling"]["law"], "contribution");
}

#[test]
fn epsilon_and_delta_decide_how_many_draws_there_are() {
    let folder = text();
    let draws = |flags: &str| {
        let line = format!("fit t.svm --method two-stage --epsilon 0.2 {flags} --json --quiet --out m.json");
        folder.json(&line)["sampling"]["draws"].as_f64().unwrap()
    };
    let plain = draws("");
    assert!((draws("--delta 0.25") / plain - 2.0).abs() < 0.01, "half the chance takes twice the draws");
    assert!(draws("--sampling weight") > plain, "Theorem 3 asks for fewer than Theorem 2");
}

#[test]
fn the_seed_draws_and_nothing_else_does() {
    let folder = text();
    let model = |flags: &str| folder.model(&format!("t.svm --method two-stage --no-shuffle --k 30 {flags}"));
    assert_eq!(model("--threads 1"), model("--threads 3"));
    assert_ne!(model("--seed 1"), model("--seed 2"));
}

#[test]
fn what_was_expected_is_told_before_and_kept_in_the_model() {
    let folder = text();
    let run = folder.run("fit t.svm --method two-stage --n-draws 50 --out m.json");
    assert!(run.err.contains("50 draws by contribution from "), "{}", run.err);
    let shown = folder.ok("inspect m.json").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("50 draws by contribution from "), "{shown}");
    assert_eq!(folder.json("inspect m.json --json")["sampling"]["draws"], 50);
    let test = folder.json("eval m.json t.test.svm --json");
    assert_eq!((test["n"].as_u64(), test["nonzeros"].as_u64().is_some_and(|kept| kept <= 50)), (Some(500), true));
    assert_eq!(folder.ok("predict m.json t.test.svm").lines().count(), 500);
}

#[test]
fn a_line_is_found_and_classes_are_too() {
    let folder = Folder::new();
    folder.write("line.csv", line_csv(800)).write("four.svm", svm(&rows(1500, 60, 8, 4, 3)));
    let r2 = folder.json("fit line.csv --method two-stage --json --quiet --validate line.csv --out m.json");
    assert!(r2["validation"]["r2"].as_f64().unwrap() > 0.98, "{r2}");
    let four = folder.json("fit four.svm --method two-stage --k 12 --json --quiet --out m.json");
    assert_eq!((four["task"].as_str(), four["nonzeros"].as_u64()), (Some("multiclass"), Some(12)));
    let loss = |flags: &str| {
        let line = format!("fit four.svm --method two-stage --loss logistic {flags} --json --quiet --out m.json");
        folder.json(&line)["progressive_error"].as_f64().unwrap()
    };
    assert!(loss("") < 0.7, "better than chance");
}

#[test]
fn it_can_be_tuned_and_repeated() {
    let folder = text();
    let tuned = folder.json("tune t.svm --method two-stage --folds 2 --passes 1 --k 40 --json --quiet --no-fit");
    assert_eq!(tuned["chosen"]["nonzeros"], 40.0, "{tuned}");
    let stable = folder.json("stability t.svm --method two-stage --runs 2 --passes 1 --k 40 --json --quiet");
    assert_eq!(stable["mean_nonzeros"], 40.0);
}

#[test]
fn what_cannot_be_learned_is_told_with_what_to_do() {
    let folder = Folder::new();
    folder.write("line.csv", line_csv(50)).write("empty.svm", "").write("flat.svm", "1.5\n2.5\n3.25\n1.25\n");
    for (line, expected) in [
        ("line.csv --radius 0", "--radius must be a number above 0, got 0"),
        ("line.csv --radius -1", "radius must be a number above 0, got -1"),
        ("line.csv --radius 0.5", "and two-stage needs --radius to be as much; it is 0.5. Leave it out"),
        ("line.csv --passes 1 --first-epoch-steps 51", "50 rows are fewer than the first epoch of two-stage, 51; give"),
        ("empty.svm", "no rows"),
        ("flat.svm", "all weights are zero: there is nothing to draw features from"),
        ("line.csv --l1 1", "two-stage has no parameter --l1; "),
        ("line.csv --k 3 --n-draws 5", "--k and --n-draws are exclusive: each determines the number of features"),
        ("line.csv --k 2 --schedule constant", "two-stage has no parameter --schedule; "),
        ("line.csv --delta 0", "--delta must be a number above 0 and at most 1, got 0"),
        ("line.csv --refine -1", "--refine must be a number of at least 0, got -1"),
    ] {
        let run = folder.run(&format!("fit {line} --method two-stage --task regression --out m.json"));
        assert!(run.complaint().contains(expected), "{line}: {}", run.complaint());
    }
    let run = folder.run("fit line.csv --method sgd --sampling weight --out m.json");
    assert!(run.complaint().contains("sgd has no parameter --sampling; two-stage has"), "{}", run.complaint());
    let run = folder.run("fit line.csv --method sgd --refine 1 --out m.json");
    assert!(run.complaint().contains("sgd has no parameter --refine; two-stage has"), "{}", run.complaint());
    assert_eq!(
        one_json_line(&folder.ok("fit line.csv --method two-stage --radius 1e6 --json --quiet"))["nonzeros"],
        3,
        "more draws than features are needed: all stay"
    );
}

#[test]
fn with_nothing_said_rows_held_out_say_how_many() {
    let folder = text();
    let output = folder.json("fit t.svm --method two-stage --json --quiet --validate t.test.svm --out m.json");
    let [kept, candidates] = ["expected", "candidates"].map(|name| output["sampling"][name].as_f64().unwrap());
    assert!(output["nonzeros"].as_f64() == Some(kept) && kept < candidates, "{output}");
    assert!(kept.log2().fract() == 0.0 && kept >= 8.0, "{kept} is none of 8, 16, 32, …");
    let all =
        folder.json("fit t.svm --method two-stage --n-draws 1e9 --json --quiet --validate t.test.svm --out m.json");
    let [few, all] = [output, all].map(|output| output["validation"]["rmse"].as_f64().unwrap());
    assert!(few < 1.1 * all, "{few} with {kept} features, {all} with all");
}

#[test]
fn drawn_weights_are_moved_as_far_as_rows_held_out_gain() {
    let folder = text();
    let fit = |flags: &str| {
        let line =
            format!("fit t.svm --method two-stage --k 100 {flags} --json --quiet --validate t.test.svm --out m.json");
        let output = folder.json(&line);
        (output["validation"]["rmse"].as_f64().unwrap(), output["sampling"]["settings"]["refine"].as_f64().unwrap())
    };
    let ((drawn, none), (refined, some)) = (fit("--refine 0"), fit(""));
    assert!(none == 0.0 && some > 0.0 && refined < 0.97 * drawn, "{drawn} as drawn, {refined} with --refine {some}");
    assert_eq!(fit("--refit").1, 0.0, "a refit needs no refinement");
}

#[test]
fn of_a_long_stream_the_first_rows_are_fitted() {
    let folder = Folder::new();
    folder.write("long.svm", svm(&rows(201_000, 40, 3, 2, 3)));
    let model = |flags: &str| folder.model(&format!("long.svm --method two-stage --passes 1 --k 9 {flags}"));
    let long = model("--threads 1");
    assert!(long == model("--threads 2 --memory 0"), "held on disk or not");
    let output = folder.json("inspect fitted.json --json");
    assert!(output["sampling"]["settings"]["refine"].as_f64().is_some_and(|refine| refine > 0.0), "{output}");
}

#[test]
fn numbers_that_were_found_can_be_given() {
    let folder = text();
    let output = folder.json("fit t.svm --method two-stage --k 30 --json --quiet --out found.json");
    let settings = output["sampling"]["settings"].as_object().unwrap();
    let flags: String = settings.iter().map(|(name, number)| format!(" --{name} {number}")).collect();
    folder.ok(&format!("fit t.svm --method two-stage --k 30 --quiet --out given.json{flags}"));
    let [found, given] = ["found", "given"].map(|name| folder.json(&format!("inspect {name}.json --json")));
    assert_eq!(settings.len(), 4, "{output}");
    assert_eq!((&found["outputs"], &found["sampling"]), (&given["outputs"], &given["sampling"]));
    let shown = folder.ok("inspect found.json").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("; hyper-parameters --first-epoch-steps "), "{shown}");
}
