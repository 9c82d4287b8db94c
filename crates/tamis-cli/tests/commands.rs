//! The commands of the program: a small table, every command, every method.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use common::{Folder, Random, line_csv, one_json_line, rows, svm, vw, weights_of};
use serde_json::Value;

const METHODS: [&str; 12] = [
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
];

/// Customers: who buys is young or lives in Rome; income and day are noise.
fn customers() -> String {
    let mut random = Random::new(11);
    let mut text = String::from("age,town,income,day,buys\n");
    for _ in 0..1500 {
        let (age, town) =
            (18 + random.uniform_below(60), ["Rome", "Oslo", "St. John's, NL"][random.uniform_below(3) as usize]);
        let wish = (40.0 - age as f64) / 10.0 + if town == "Rome" { 3.0 } else { -1.0 } + random.unit() - 0.5;
        let buys = if wish > 0.0 { "yes" } else { "no" };
        let (income, day) = (1000 + random.uniform_below(4000), ["Mon", "Tue"][random.uniform_below(2) as usize]);
        writeln!(text, "{age},\"{town}\",{income},{day},{buys}").unwrap();
    }
    text
}

fn shop() -> Folder {
    let folder = Folder::new();
    let text = customers();
    let cut = text.match_indices('\n').nth(1000).unwrap().0 + 1;
    let header = text.lines().next().unwrap();
    folder.write("train.csv", &text[..cut]).write("test.csv", format!("{header}\n{}", &text[cut..]));
    folder
}

#[test]
fn a_table_is_learned_by_column_names() {
    let folder = shop();
    let output = folder.ok("fit train.csv --target buys --out shop.json");
    assert!(
        output.contains("1,000 rows") && output.contains("features seen") && output.contains("model: shop.json"),
        "{output}"
    );
    let weights = folder.weights("shop.json");
    assert!(weights["town=Rome"] > 0.0 && weights["age"] < 0.0, "{weights:?}");
    assert!(weights.keys().all(|name| ["age", "income"].contains(&name.as_str()) || name.contains('=')));
    let measured = folder.json("eval shop.json test.csv --json");
    assert_eq!(measured["n"], 500);
    assert!(measured["error"].as_f64().unwrap() < 0.1, "{measured}");
    assert!(measured["auc"].as_f64().unwrap() > 0.95 && measured["log_loss"].as_f64().unwrap() < 0.3, "{measured}");
    assert_eq!(measured["nonzeros"], weights.len());
    assert!(folder.ok("eval shop.json test.csv").contains("500 rows, error "));
}

#[test]
fn new_data_may_lack_the_label_and_have_its_columns_in_any_order() {
    let folder = shop();
    folder.ok("fit train.csv --target buys --quiet --out shop.json");
    folder.write("new.csv", "town,age,more\nRome,20,x\nOslo,70,y\nParis,70,z\n");
    assert_eq!(folder.ok("predict shop.json new.csv --missing-columns zero"), "yes\nno\nno\n");
    let probabilities = folder.ok("predict shop.json new.csv --missing-columns zero --output probability");
    let numbers: Vec<f64> = probabilities.lines().map(|line| line.parse().unwrap()).collect();
    assert!(numbers[0] > 0.9 && numbers[1] < 0.1, "{numbers:?}");
    let margins = folder.ok("predict shop.json new.csv --missing-columns zero --output margin");
    let margin: f64 = margins.lines().next().unwrap().parse().unwrap();
    assert!((1.0 / (1.0 + (-margin).exp()) - numbers[0]).abs() < 1e-12);
    let all = folder.ok("predict shop.json new.csv --missing-columns zero --output all");
    assert_eq!(all.lines().next().unwrap(), format!("yes {} {margin}", numbers[0]));
}

#[test]
fn inspect_shows_the_same_features_in_three_formats() {
    let folder = shop();
    folder.ok("fit train.csv --target buys --method ftrl --quiet --out shop.json");
    let json = folder.json("inspect shop.json --top 0 --json");
    let weights = weights_of(&json);
    for key in ["name", "weight", "frequency"] {
        assert!(json["features"][0].get(key).is_some(), "{key}");
    }
    assert!(json["intercept"].is_f64());
    assert_eq!((&json["method"], &json["task"], &json["loss"]), (&"ftrl".into(), &"binary".into(), &"logistic".into()));
    assert_eq!(json["classes"], serde_json::json!(["no", "yes"]));
    let csv = folder.ok("inspect shop.json --top 0 --csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines[0], lines.len()), ("name,weight,scale,q,z,frequency,evidence,evidence_sd", weights.len() + 2));
    if weights.contains_key("town=St. John's, NL") {
        assert!(csv.contains("\"town=St. John's, NL\","), "quoted: {csv}");
    }
    let table = folder.ok("inspect shop.json");
    assert!(table.starts_with("2 classes (no, yes), method ftrl, logistic loss\n1,000 rows, "), "{table}");
    assert!(weights.keys().all(|name| table.contains(name.as_str())), "{table}");
    assert_eq!(folder.ok("inspect shop.json --top 1 --csv").lines().count(), 3, "head, intercept, feature");
    folder.ok("convert shop.json features.csv");
    assert_eq!(folder.text("features.csv"), csv);
}

#[test]
fn fit_prints_the_documented_json() {
    let folder = shop();
    let output = folder.json("fit train.csv --target buys --quiet --json --validate test.csv --out shop.json");
    for key in ["model", "method", "n_examples", "n_features", "nonzeros", "seconds", "progressive_loss", "skipped"] {
        assert!(output.get(key).is_some(), "{key}: {output}");
    }
    let [error, loss] = ["error", "log_loss"].map(|key| &output["validation"][key]);
    assert!(error.is_f64() && loss.is_f64(), "{output}");
    assert_eq!((&output["heldout_error"], &output["heldout_loss"]), (error, loss), "those of --validate");
    assert_eq!(
        (&output["model"], &output["n_examples"], &output["method"]),
        (&"shop.json".into(), &1000.into(), &"stabilized".into())
    );
    assert_eq!(output["validation"]["n"], 500);
    let mut measured = folder.json("eval shop.json test.csv --json");
    measured.as_object_mut().unwrap().remove("nonzeros");
    assert_eq!(output["validation"], measured, "validating is evaluating");
    assert!(folder.ok("fit train.csv --target buys --validate test.csv").contains("test.csv: 500 rows, error"));
}

#[test]
fn a_file_holds_exactly_the_features_that_are_printed() {
    let folder = Folder::new();
    folder.ok("synth zipf -o z --n 3000 --p 5000 --nonzeros 30");
    folder.write("five.svm", svm(&rows(2000, 300, 8, 5, 3)));
    for line in [
        "z.svm",
        "five.svm",
        "z.svm --method fobos",
        "z.svm --method ftrl --l1 20",
        "z.svm --method ftrl --l1 1e9",
        "five.svm --method ftrl --l1 3",
    ] {
        let printed = folder.json(&format!("fit {line} --quiet --json --out m.json"));
        let body: Value = serde_json::from_slice::<Value>(&folder.read("m.json")).unwrap()["body"].take();
        let outputs = body["outputs"].as_array().unwrap();
        let features = || outputs.iter().flat_map(|output| output["features"].as_array().unwrap());
        let names: BTreeSet<&str> = features().map(|feature| feature["name"].as_str().unwrap()).collect();
        assert!(features().all(|feature| feature["weight"].as_f64().unwrap() != 0.0), "{line}");
        assert_eq!(printed["nonzeros"], names.len(), "{line}");
        assert_eq!(folder.json("inspect m.json --json")["nonzeros"], names.len(), "{line}");
        assert!(!line.ends_with("1e9") || names.is_empty(), "a strong penalty selects no feature");
    }
}

#[test]
fn k_gives_exactly_k_features_with_every_method() {
    let folder = Folder::new();
    folder.write("two.svm", svm(&rows(1500, 200, 10, 2, 3))).write("four.svm", svm(&rows(1500, 200, 10, 4, 3)));
    folder.write("line.csv", line_csv(400));
    for method in METHODS {
        for (data, k) in [("two.svm", 1), ("two.svm", 17), ("four.svm", 17), ("line.csv", 2)] {
            let line = format!("fit {data} --method {method} --k {k} --passes 2 --json --out m.json");
            let run = folder.run(&line);
            assert!(!run.err.contains("note:"), "{line}: {}", run.err);
            assert_eq!(one_json_line(&run.ok(&line))["nonzeros"], k, "{line}");
        }
    }
}

#[test]
fn fewer_features_than_requested_are_reported() {
    let folder = Folder::new();
    folder.write("d.svm", "1 1:1 2:1\n0 3:1\n1 2:1\n0 3:1 1:0\n".replace(" 1:0", ""));
    for method in METHODS {
        let run = folder.run(&format!("fit d.svm --method {method} --k 9 --json --out m.json"));
        let note = "note: 9 features were asked for, but only 3 of the 3 features seen have a non-zero weight";
        assert!(run.err.lines().any(|line| line == note), "{method}: {}", run.err);
        assert_eq!(one_json_line(&run.ok(method))["nonzeros"], 3, "{method}");
    }
}

#[test]
fn a_refit_keeps_the_features_and_removes_the_shrinkage() {
    let folder = Folder::new();
    folder.write("line.csv", line_csv(500));
    folder.ok("fit line.csv --method rda --l1 0.1 --quiet --out shrunk.json");
    folder.ok("fit line.csv --method rda --l1 0.1 --refit --quiet --out free.json");
    let [shrunk, free] = ["shrunk.json", "free.json"].map(|model| folder.weights(model));
    assert!(shrunk.keys().eq(free.keys()) && !shrunk.contains_key("c"), "{shrunk:?} {free:?}");
    assert!(shrunk["a"] < 1.9 && (free["a"] - 2.0).abs() < 0.05, "{shrunk:?} {free:?}");
    let r2 = |model: &str| folder.json(&format!("eval {model} line.csv --json"))["r2"].as_f64().unwrap();
    assert!(r2("free.json") > r2("shrunk.json") && r2("free.json") > 0.99);
}

#[test]
fn regression_works_with_default_parameters() {
    let folder = Folder::new();
    folder.ok("synth correlated -o c --n 3000 --test-rows 1000 --p 100 --k 10");
    folder.ok("fit c.svm --quiet --out c.json");
    let measured = folder.json("eval c.json c.test.svm --json");
    assert!(measured["r2"].as_f64().unwrap() > 0.9, "{measured}");
    assert!(measured["rmse"].is_f64() && measured.get("error").is_none() && measured.get("auc").is_none());
    let output = folder.json("fit c.svm --k 10 --quiet --json --out k.json");
    assert_eq!(output["task"], "regression");
    let truth: Value = serde_json::from_slice(&folder.read("c.truth.json")).unwrap();
    let planted: BTreeSet<String> =
        truth["features"].as_array().unwrap().iter().map(|feature| feature["id"].to_string()).collect();
    let found: BTreeSet<String> = folder.weights("k.json").into_keys().collect();
    assert!(planted.intersection(&found).count() >= 8, "{planted:?} {found:?}");
}

#[test]
fn multiclass_models_have_one_output_per_class() {
    let folder = Folder::new();
    let text = svm(&rows(3000, 60, 12, 4, 3));
    let cut = text.match_indices('\n').nth(2000).unwrap().0 + 1;
    folder.write("a.svm", &text[..cut]).write("b.svm", &text[cut..]);
    assert_eq!(folder.json("fit a.svm --quiet --json --out m.json")["task"], "multiclass");
    let measured = folder.json("eval m.json b.svm --json");
    assert!(measured["error"].as_f64().unwrap() < 0.5, "four classes guessed would be wrong on 75 %: {measured}");
    let shown = folder.json("inspect m.json --json");
    let mut classes: Vec<&Value> = shown["features"].as_array().unwrap().iter().map(|one| &one["class"]).collect();
    classes.dedup();
    assert_eq!(classes, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(shown["intercept"].as_array().unwrap().len(), 4);
    let labels: BTreeSet<String> = folder.ok("predict m.json b.svm").lines().map(String::from).collect();
    assert_eq!(labels, ["0", "1", "2", "3"].map(String::from).into());
    assert!(
        folder.ok("inspect m.json --csv").starts_with("class,name,weight,scale,q,z,frequency,evidence,evidence_sd\n0,")
    );
    let two =
        folder.write("two.svm", svm(&rows(500, 60, 12, 2, 3))).json("fit two.svm --task multiclass --quiet --json");
    assert_eq!((&two["n_examples"], &two["progressive_error"].is_f64()), (&500.into(), &true));
}

#[test]
fn tags_come_back_with_predictions() {
    let folder = Folder::new();
    folder.write("d.vw", vw(&rows(300, 20, 4, 2, 3))).ok("fit d.vw --quiet --out m.json");
    folder.write("new.vw", "'first| w2\n| w3\n1 2.0 third| w4:2\n");
    let lines = folder.ok("predict m.json new.vw");
    let tags: Vec<Option<&str>> = lines.lines().map(|line| line.split_once(' ').map(|(_, tag)| tag)).collect();
    assert_eq!(tags, [Some("first"), None, Some("third")]);
}

#[test]
fn a_weight_of_zero_skips_a_row_and_only_ratios_of_weights_matter() {
    let folder = Folder::new();
    let lines: Vec<String> = vw(&rows(200, 20, 4, 2, 3)).lines().map(String::from).collect();
    let with = |weight: &dyn Fn(usize) -> &'static str, times: usize| {
        let line = |(at, line): (usize, &String)| line.replacen(" |", &format!(" {} |", weight(at)), 1) + "\n";
        lines.iter().enumerate().map(|pair| line(pair).repeat(times)).collect::<String>()
    };
    let every_third = |at: usize| if at.is_multiple_of(3) { "0" } else { "1" };
    let kept: String = lines.iter().enumerate().filter(|(at, _)| at % 3 != 0).map(|(_, l)| format!("{l}\n")).collect();
    folder.write("zero.vw", with(&every_third, 1)).write("kept.vw", kept);
    folder.write("double.vw", with(&|_| "2", 1)).write("single.vw", with(&|_| "1", 1));
    let fit = |file: &str, flags: &str| {
        folder.ok(&format!("fit {file} --passes 1 --scale none {flags} --quiet --out m.json"));
        folder.weights("m.json")
    };
    let plain = "--method sgd --schedule constant";
    // Names of rows without weight are numbered too, so sums may round otherwise.
    let close = |one: &BTreeMap<String, f64>, other: &BTreeMap<String, f64>| {
        one.len() == other.len() && one.iter().all(|(name, weight)| (weight - other[name]).abs() < 1e-12)
    };
    assert!(close(&fit("zero.vw", plain), &fit("kept.vw", plain)));
    let [once, twice] = [("single.vw", "0.02"), ("double.vw", "0.02")]
        .map(|(file, rate)| fit(file, &format!("{plain} --learning-rate {rate}")));
    assert!(close(&once, &twice), "{once:?} {twice:?}");
}

#[test]
fn hashing_bounds_the_features_and_keeps_names() {
    let folder = Folder::new();
    folder.write("d.vw", vw(&rows(2000, 5000, 8, 2, 3)));
    let output = folder.json("fit d.vw --hash-bits 8 --quiet --json --out h.json");
    assert_eq!(output["n_features"], 256);
    let weights = folder.weights("h.json");
    assert!(weights.len() <= 256 && weights.keys().all(|name| name.starts_with('w')), "{weights:?}");
    folder.ok("fit d.vw --hash-bits 24 --quiet --out wide.json");
    folder.ok("fit d.vw --quiet --out plain.json");
    let error = |model: &str| folder.json(&format!("eval {model} d.vw --json"))["error"].as_f64().unwrap();
    assert!((error("wide.json") - error("plain.json")).abs() < 0.02);
    assert!(error("h.json") < 0.5, "buckets are found again when predicting: {}", error("h.json"));
}

#[test]
fn quiet_prints_nothing_and_progress_has_its_column() {
    let folder = shop();
    let run = folder.run("fit train.csv --target buys --quiet --out m.json");
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", ""));
    let run = folder.run("fit train.csv --target buys --method ftrl --json --out m.json");
    one_json_line(&run.out);
    let table: Vec<&str> = run.err.lines().collect();
    assert!(table[0].contains("non-") && table[1].contains("zeros"), "{}", run.err);
    let at = table[1].find("zeros").unwrap();
    let rows: Vec<u64> = table[2..].iter().map(|line| line[at..].split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(rows.len() >= 10 && rows.iter().any(|nonzeros| *nonzeros > 0), "{}", run.err);
    assert!(!run.err.contains('\u{1b}'), "no colour off a terminal");
}

#[test]
fn standard_input_and_output_make_pipes() {
    let folder = shop();
    let run = folder.shell(
        "$TAMIS fit - --format csv --target buys -q -o m.json < train.csv && \
         cut -d, -f1-4 < train.csv > /dev/null && cat test.csv | $TAMIS predict m.json - --format csv | sort | uniq -c",
    );
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.out.lines().count(), 2, "two labels: {}", run.out);
    folder.write("d.svm", svm(&rows(50, 20, 4, 2, 3)));
    let run = folder.shell("$TAMIS convert d.svm - --to vw | $TAMIS fit - --format vw -q -o v.json");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(folder.json("inspect v.json --json")["seen"]["rows"], 50);
}

#[test]
fn synthetic_data_have_known_coefficients() {
    let folder = Folder::new();
    for kind in ["zipf", "correlated", "drift", "double-ring", "xor"] {
        folder.ok(&format!("synth {kind} -o {kind} --n 500 --test-rows 100"));
        assert_eq!(folder.text(&format!("{kind}.svm")).lines().count(), 500, "{kind}");
        assert_eq!(folder.text(&format!("{kind}.test.svm")).lines().count(), 100, "{kind}");
        let truth: Value = serde_json::from_slice(&folder.read(&format!("{kind}.truth.json"))).unwrap();
        assert_eq!((&truth["kind"], &truth["n"]), (&kind.into(), &500.into()));
        folder.ok(&format!("fit {kind}.svm --quiet --out m.json"));
        folder.ok(&format!("eval m.json {kind}.test.svm"));
    }
}

#[test]
fn predictions_go_to_a_file_or_are_json_lines() {
    let folder = shop();
    folder.ok("fit train.csv --target buys --quiet --out shop.json");
    let lines = folder.ok("predict shop.json test.csv --output all");
    folder.ok("predict shop.json test.csv --output all -o p.txt");
    assert_eq!(folder.text("p.txt"), lines);
    let json = folder.ok("predict shop.json test.csv --json");
    assert_eq!(json.lines().count(), 500);
    for (line, json) in lines.lines().zip(json.lines()) {
        let value: Value = serde_json::from_str(json).unwrap();
        let [probability, margin] = [&value["probability"], &value["margins"][0]].map(|one| one.as_f64().unwrap());
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<f64>().unwrap();
        assert_eq!((words.len(), words[0]), (3, value["label"].as_str().unwrap()), "{line}");
        assert_eq!((number(1), number(2)), (probability, margin), "{line}");
    }
}

#[test]
fn every_result_can_be_json() {
    let folder = Folder::new();
    let output = folder.json("synth zipf -o z --n 300 --test-rows 100 --p 50 --nonzeros 5 --k 30 --json");
    assert_eq!((&output["data"], &output["n_examples"]), (&"z.svm".into(), &300.into()));
    assert_eq!((&output["test_data"], &output["relevant_features"]), (&"z.test.svm".into(), &30.into()));
    folder.ok("fit z.svm --method ftrl --quiet --out m.json");
    let weights = folder.json("inspect m.json --json")["features"].as_array().unwrap().len();
    assert!(weights > 20 && folder.json("inspect m.json --json")["nonzeros"] == weights, "all of them: {weights}");
    assert_eq!(folder.ok("inspect m.json --csv").lines().count(), weights + 2, "head and intercept");
    let output = folder.json("convert z.svm z.vw --json");
    assert_eq!((&output["file"], &output["format"], &output["skipped"]), (&"z.vw".into(), &"vw".into(), &0.into()));
    let run = folder.run("convert z.svm - --to vw --json");
    assert_eq!(run.complaint(), "--json needs an output file: standard output holds the data");
    assert_eq!(folder.json("report m.json -o r.html --json")["report"], "r.html");
    for line in
        ["synth zipf -o q --n 100 --p 200 --quiet", "convert z.svm q.vw --quiet", "report m.json -o q.html --quiet"]
    {
        let run = folder.run(line);
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", ""), "{line}");
    }
}
