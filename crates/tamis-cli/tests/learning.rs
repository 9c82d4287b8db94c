//! What is learned beside weights of columns: weights of classes, products of columns, counts, quantiles and offsets.

mod common;

use std::fmt::Write as _;

use common::{Folder, Random};
use serde_json::Value;

/// 800 rows of the columns `a`, `b`, `plan`, one in eight of class `yes`; the last column is the weight that balances them.
fn unbalanced() -> String {
    let mut random = Random::new(3);
    let mut rows = Vec::new();
    for row in 0..800 {
        let is_yes = row % 8 == 0;
        let a = random.unit() + if is_yes { 0.4 } else { 0.0 };
        let plan = ["basic", "plus", "pro"][random.uniform_below(3) as usize];
        rows.push((format!("{a:.4},{:.4},{plan}", random.unit()), is_yes));
    }
    let count = |wanted: bool| rows.iter().filter(|(_, is_yes)| *is_yes == wanted).count() as f64;
    let mut text = String::from("a,b,plan,y,w\n");
    for (cells, is_yes) in &rows {
        let weight = rows.len() as f64 / (2.0 * count(*is_yes));
        writeln!(text, "{cells},{},{weight}", if *is_yes { "yes" } else { "no" }).unwrap();
    }
    text
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

/// The recall of the class `yes` on the rows themselves.
fn recall(folder: &Folder, model: &str, data: &str) -> f64 {
    let classes = folder.json(&format!("eval {model} {data} --json"))["classes"].clone();
    let yes = classes["classes"].as_array().or(classes.as_array()).expect("metrics of classes").clone();
    number(&yes.iter().find(|class| class["class"] == "yes").expect("the class yes")["recall"])
}

#[test]
fn classes_may_be_balanced() {
    let folder = Folder::new();
    folder.write("d.csv", unbalanced());
    for method in ["ftrl", "truncated-gradient", "stabilized", "two-stage"] {
        let fit = |flags: &str, out: &str| {
            folder.ok(&format!("fit d.csv --target y --method {method} --quiet --out {out} {flags}"));
            folder.weights(out)
        };
        let balanced = fit("--ignore w --class-weight balanced", "b.json");
        let by_hand = fit("--weight-column w", "w.json");
        assert_eq!(balanced.keys().collect::<Vec<_>>(), by_hand.keys().collect::<Vec<_>>(), "{method}");
        for (name, weight) in &balanced {
            assert!((weight - by_hand[name]).abs() <= 1e-9 * (1.0 + weight.abs()), "{method} {name}");
        }
        let given = fit("--ignore w --class-weight yes=7,no=1", "g.json");
        for (name, weight) in &balanced {
            assert!((weight - given[name]).abs() <= 1e-9 * (1.0 + weight.abs()), "7 to 1 is balanced: {method} {name}");
        }
        fit("--ignore w", "plain.json");
        let [plain, weighted] = ["plain.json", "b.json"].map(|model| recall(&folder, model, "d.csv"));
        assert!(weighted > plain + 0.2, "{method}: {plain} {weighted}");
    }
}

#[test]
fn weights_of_classes_are_checked_and_remembered() {
    let folder = Folder::new();
    folder.write("d.csv", unbalanced()).write("line.csv", common::line_csv(100));
    let refused = |line: &str| folder.run(line).complaint().to_string();
    let strange = refused("fit d.csv --target y --method ftrl --class-weight yse=3");
    assert_eq!(strange, "--class-weight names \"yse\", which is no class; the classes are no, yes");
    assert!(refused("fit line.csv --class-weight balanced").contains("--class-weight needs classes"));
    let form = refused("fit d.csv --target y --class-weight yes:3");
    assert_eq!(form, "--class-weight must be balanced, or weights above 0 such as yes=5,no=1, got \"yes:3\"");
    folder.ok("fit d.csv --target y --method ftrl --class-weight yes=3 --quiet --out m.json");
    let model: Value = serde_json::from_slice(&folder.read("m.json")).unwrap();
    assert!(model["body"]["recipe"].to_string().contains("\"class-weight\":\"yes=3\""), "{}", model["body"]["recipe"]);
    let tuned =
        "tune d.csv --target y --ignore w --method ftrl --l1 0.1,1 --class-weight balanced --quiet --out t.json";
    folder.ok(tuned);
    assert!(recall(&folder, "t.json", "d.csv") > 0.5);
}

/// A stream that is resumed has the same weights of classes, also for rows after those that are stored.
#[test]
fn weights_of_classes_hold_for_streams() {
    let folder = Folder::new();
    let rows = common::rows(9000, 30, 4, 3, 5);
    folder.write("d.svm", common::svm(&rows));
    let weighted: String = rows
        .iter()
        .map(|row| {
            format!("{} {} |", row.label, if row.label == 2 { 5 } else { 1 })
                + &row.features.iter().map(|(id, value)| format!(" {id}:{value}")).collect::<String>()
                + "\n"
        })
        .collect();
    folder.write("d.vw", weighted);
    let line = "--method ftrl --passes 1 --task multiclass";
    folder.ok(&format!("fit d.svm {line} --class-weight 2=5 --quiet --out a.json"));
    folder.ok(&format!("fit d.vw {line} --quiet --out b.json"));
    let [one, other] = ["a.json", "b.json"].map(|model| folder.json(&format!("inspect {model} --top 0 --json")));
    let weights = |value: &Value| -> Vec<(String, f64)> {
        let pair = |one: &Value| (format!("{}{}", one["class"], one["name"]), number(&one["weight"]));
        let mut all: Vec<(String, f64)> = value["features"].as_array().unwrap().iter().map(pair).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    let (one, other) = (weights(&one), weights(&other));
    assert!(one.len() > 30 && one.len() == other.len());
    for (a, b) in one.iter().zip(&other) {
        assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-9, "{a:?} {b:?}");
    }
}

/// 600 rows where the product of two columns decides, and where only one town with one plan does.
fn products() -> [String; 2] {
    let mut random = Random::new(11);
    let (mut numbers, mut towns) = (String::from("a,b,c,y\n"), String::from("town,plan,x,y\n"));
    for _ in 0..600 {
        let [a, b, c] = [(); 3].map(|()| random.unit() - 0.5);
        writeln!(numbers, "{a:.4},{b:.4},{c:.4},{}", if a * b > 0.0 { "in" } else { "out" }).unwrap();
        let town = ["Rome", "Oslo"][random.uniform_below(2) as usize];
        let plan = ["basic", "plus"][random.uniform_below(2) as usize];
        let label = if (town == "Rome") == (plan == "basic") { "in" } else { "out" };
        writeln!(towns, "{town},{plan},{:.4},{label}", random.unit()).unwrap();
    }
    [numbers, towns]
}

#[test]
fn products_of_columns_are_features() {
    let folder = Folder::new();
    let [numbers, towns] = products();
    folder.write("n.csv", numbers).write("t.csv", towns);
    for (data, pairs, expected) in [("n.csv", "a*b", "a*b"), ("t.csv", "town*plan", "town=Rome*plan=basic")] {
        for method in ["ftrl", "stabilized"] {
            let error = |flags: &str| {
                folder.ok(&format!("fit {data} --method {method} --quiet --out m.json {flags}"));
                number(&folder.json(&format!("eval m.json {data} --json"))["error"])
            };
            assert!(error("") > 0.3, "{data} {method}: no column alone helps");
            assert!(error(&format!("--interactions {pairs}")) < 0.1, "{data} {method}");
            assert!(folder.weights("m.json").contains_key(expected), "{:?}", folder.weights("m.json"));
        }
    }
    folder.write("lacks.csv", "plan,x\nbasic,0.5\n");
    let complaint = folder.run("predict m.json lacks.csv").complaint().to_string();
    assert!(complaint.contains("the column \"town\""), "{complaint}");
    folder.write("new.csv", "town,plan,x\nRome,basic,0.5\nRome,plus,0.5\nOslo,plus,0.1\nNew York,plus,0.1\n");
    assert!(folder.ok("predict m.json new.csv").starts_with("in\nout\nin\n"));
    assert!(
        folder.ok("fit t.csv --interactions town*plan --method ftrl --report r.html --out m.json").contains("r.html")
    );
}

#[test]
fn products_of_namespaces_and_indices_are_features() {
    let folder = Folder::new();
    let (mut vw, mut svm, mut random) = (String::new(), String::new(), Random::new(5));
    for _ in 0..600 {
        let [user, ad] = [random.uniform_below(3), random.uniform_below(3)];
        let label = u64::from(user == ad);
        writeln!(vw, "{label} |user u{user} |ad d{ad}").unwrap();
        let [x, z] = [random.unit() - 0.5, random.unit() - 0.5];
        writeln!(svm, "{} 3:{x:.4} 7:{z:.4}", u64::from(x * z > 0.0)).unwrap();
    }
    folder.write("d.vw", vw).write("d.svm", svm);
    for (data, pairs, name) in [("d.vw", "user*ad", "user^u1*ad^d1"), ("d.svm", "3*7", "3*7")] {
        folder.ok(&format!("fit {data} --method ftrl --interactions {pairs} --quiet --out m.json"));
        assert!(folder.weights("m.json").contains_key(name), "{:?}", folder.weights("m.json").keys());
        assert!(number(&folder.json(&format!("eval m.json {data} --json"))["error"]) < 0.05, "{data}");
        let once = folder.read("m.json");
        folder.ok(&format!("fit {data} --method ftrl --interactions {pairs} --threads 1 --quiet --out m.json"));
        assert_eq!(folder.read("m.json"), once, "the same bits on any number of threads");
    }
}

#[test]
fn products_are_bounded_and_checked() {
    let folder = Folder::new();
    let words: String = (0..400).map(|word| format!(" w{word}")).collect();
    folder.write("d.vw", format!("1 |a{words}\n0 |a x\n")).write("t.csv", &products()[1]);
    let refused = |line: &str| folder.run(line).complaint().to_string();
    let many = refused("fit d.vw --method ftrl --interactions a*a");
    assert_eq!(many, "d.vw:1: 160000 products in a row are more than 100000; name other columns in --interactions");
    let unknown = refused("fit t.csv --method ftrl --interactions town*city");
    assert!(unknown.starts_with("t.csv: --interactions names \"city\", which is no column that is used"), "{unknown}");
    assert!(refused("fit t.csv --interactions town").contains("--interactions must be up to 1000 pairs of columns"));
    let scaled = refused("fit t.csv --method ftrl --interactions town*plan --row-scale sqrt-count");
    assert!(scaled.contains("--interactions and --row-scale are exclusive"), "{scaled}");
}

/// A standard normal number.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// A Poisson number.
fn poisson(random: &mut Random, mean: f64) -> u64 {
    let (limit, mut product, mut count) = ((-mean).exp(), random.unit(), 0);
    while product > limit {
        product *= random.unit();
        count += 1;
    }
    count
}

/// Counts with mean days·exp(1 + 0.6·a − 0.4·b).
fn counts(rows: usize) -> String {
    let mut random = Random::new(17);
    let mut text = String::from("a,b,c,days,log_days,y\n");
    for _ in 0..rows {
        let [a, b, c] = [(); 3].map(|()| normal(&mut random));
        let days = 1 + random.uniform_below(9);
        let mean = days as f64 * (1.0 + 0.6 * a - 0.4 * b).exp();
        let y = poisson(&mut random, mean.min(300.0));
        writeln!(text, "{a:.4},{b:.4},{c:.4},{days},{:.8},{y}", (days as f64).ln()).unwrap();
    }
    text
}

#[test]
fn counts_have_a_loss_and_an_offset() {
    let folder = Folder::new();
    folder.write("d.csv", counts(6000));
    for method in ["ftrl", "truncated-gradient", "sgd"] {
        let line = "fit d.csv --ignore days --loss poisson --offset log_days --quiet --out m.json --passes 20";
        folder.ok(&format!("{line} --method {method}"));
        let inspected = folder.json("inspect m.json --top 0 --json");
        let weights = common::weights_of(&inspected);
        assert!(!weights.contains_key("log_days"), "an offset is no feature: {weights:?}");
        let near = |found: f64, truth: f64| assert!((found - truth).abs() < 0.05, "{method}: {inspected}");
        near(weights["a"], 0.6);
        near(weights["b"], -0.4);
        near(number(&inspected["intercept"]), 1.0);
    }
    // A prediction is the expected count, with the offset.
    folder.write("new.csv", "a,b,c,log_days\n0,0,0,0\n0,0,0,1\n");
    let text = folder.ok("predict m.json new.csv");
    let [one, e_times]: [f64; 2] =
        text.lines().map(|line| line.parse().unwrap()).collect::<Vec<_>>().try_into().unwrap();
    assert!((e_times / one - 1f64.exp()).abs() < 1e-6 && (one - 1f64.exp()).abs() < 0.2, "{one} {e_times}");
    folder.write("lacks.csv", "a,b,c\n0,0,0\n");
    assert!(folder.run("predict m.json lacks.csv").complaint().contains("the column \"log_days\""));
    let found = folder.json("eval m.json d.csv --json");
    // Half of the deviance of Poisson numbers is about ½ a row.
    assert!((number(&found["loss"]) - 0.5).abs() < 0.1 && number(&found["r2"]) > 0.5, "{found}");
    assert!(folder.ok("eval m.json d.csv").contains("mean loss 0."));
}

#[test]
fn counts_are_checked() {
    let folder = Folder::new();
    folder.write("line.csv", common::line_csv(50)).write("d.csv", "a,b,y\n1,1,3\n2,1,-4\n3,2,1\n");
    let refused = |line: &str| folder.run(line).complaint().to_string();
    let negative = refused("fit d.csv --loss poisson --method ftrl");
    assert_eq!(negative, "d.csv:3: label -4 is below 0, and poisson loss is for counts; use --loss squared");
    let method = refused("fit line.csv --loss poisson");
    let cure = "use an online learner such as ftrl or truncated-gradient";
    assert_eq!(method, format!("stabilized does not support --loss poisson: {cure}"));
    assert!(refused("fit line.csv --loss quantile --method two-stage").contains(cure));
    let loss = refused("fit line.csv --offset a --method ftrl");
    assert_eq!(loss, "--offset needs --loss of numbers: squared, huber, quantile or poisson");
    assert!(refused("fit line.csv --offset z --loss squared --method ftrl").contains("no column \"z\""));
}

#[test]
fn an_offset_shifts_a_line() {
    let folder = Folder::new();
    folder.write("d.csv", common::line_csv(500));
    for method in ["ftrl", "stabilized"] {
        folder.ok(&format!("fit d.csv --loss squared --offset a --method {method} --quiet --out m.json"));
        let weights = folder.weights("m.json");
        // y = 3 + 2a − b: with a given, 1·a is left.
        assert!(!weights.contains_key("a") && (weights["b"] + 1.0).abs() < 0.2, "{method}: {weights:?}");
        let found = folder.json("eval m.json d.csv --json");
        assert!((number(&found["rmse"]) - (1.0f64 / 12.0).sqrt()).abs() < 0.03, "the rest of a is left: {found}");
    }
}

#[test]
fn quantiles_cover_their_share() {
    let folder = Folder::new();
    let mut random = Random::new(23);
    let mut text = String::from("a,b,y\n");
    for _ in 0..4000 {
        let [a, b, noise] = [(); 3].map(|()| normal(&mut random));
        writeln!(text, "{a:.4},{b:.4},{:.5}", 5.0 + 3.0 * a + (0.2 * noise).exp() * noise.abs() * 10.0).unwrap();
    }
    folder.write("d.csv", &text);
    let labels: Vec<f64> = text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    for share in [0.1, 0.5, 0.9] {
        folder.ok(&format!(
            "fit d.csv --loss quantile --quantile {share} --method ftrl --quiet --out m.json --passes 20"
        ));
        let predictions = folder.ok("predict m.json d.csv");
        let below = predictions.lines().zip(&labels).filter(|(line, label)| **label <= line.parse::<f64>().unwrap());
        let found = below.count() as f64 / labels.len() as f64;
        assert!((found - share).abs() < 0.03, "{share}: {found}");
    }
    let tuned = folder
        .json("tune d.csv --loss quantile --quantile 0.9 --method ftrl --l1 0.1,10000000 --json --quiet --out t.json");
    assert_eq!((tuned["measure"].as_str(), tuned["chosen"]["setting"]["l1"].as_f64()), (Some("loss"), Some(0.1)));
    let refused = folder.run("fit d.csv --loss quantile --quantile 1 --method ftrl");
    assert_eq!(refused.complaint(), "--quantile must be a number above 0 and below 1, got 1");
}

/// Weights that are cut to k are wrong without the others: they are fitted again where rows are stored.
#[test]
fn cut_weights_are_fitted_again_where_rows_are_stored() {
    let folder = Folder::new();
    let mut random = Random::new(29);
    let mut text = String::from("a,b,c,y\n");
    for _ in 0..800 {
        let a = random.unit();
        let [b, c] = [a + 0.1 * random.unit(), random.unit()];
        writeln!(text, "{a:.4},{b:.4},{c:.4},{:.5}", 3.0 * a + b - c).unwrap();
    }
    folder.write("d.csv", text);
    let model = |flags: &str| folder.model(&format!("d.csv --method ftrl --k 2 {flags}"));
    let outputs = |model: Vec<u8>| serde_json::from_slice::<Value>(&model).unwrap()["body"]["outputs"].clone();
    let default = outputs(model(""));
    assert_eq!(default, outputs(model("--refit")));
    assert_ne!(default, outputs(model("--no-refit")));
    assert_eq!(outputs(model("--passes 1")), outputs(model("--passes 1 --no-refit")), "rows are not stored");
    let kept = |flags: &str| outputs(folder.model(&format!("d.csv --method tsgd --k 2 {flags}")));
    assert_eq!(kept(""), kept("--no-refit"), "it keeps k features while it learns");
    // A training that is continued has not all rows any more.
    folder.ok("fit d.csv --method ftrl --k 2 --checkpoint c.st --quiet --out m.json");
    folder.write("more.csv", "a,b,c,y\n0.1,0.2,0.3,4\n0.5,0.2,0.9,1\n0.3,0.7,0.1,2\n");
    folder.ok("fit more.csv --resume c.st --quiet --out more.json");
    let more: Value = serde_json::from_slice(&folder.read("more.json")).unwrap();
    assert_eq!(
        more["body"]["recipe"]["fit"]["refit"].as_bool().or(more["body"]["recipe"]["refit"].as_bool()),
        Some(false)
    );
}

/// The mean probability of a rare class is its share in the training rows.
#[test]
fn rare_classes_are_calibrated() {
    let folder = Folder::new();
    for (seed, shift) in [(1, 4.5), (2, 5.5), (3, 3.5), (4, 7.0)] {
        let mut random = Random::new(seed);
        let (mut text, mut positives) = (String::from("a,b,c,kind,y\n"), 0.0);
        for _ in 0..4000 {
            let [a, b, c] = [(); 3].map(|()| normal(&mut random));
            let kind = random.uniform_below(12);
            let margin = 1.5 * a - b - shift + if kind == 3 { 2.0 } else { 0.0 };
            let is_rare = random.unit() < 1.0 / (1.0 + f64::exp(-margin));
            positives += f64::from(u8::from(is_rare));
            writeln!(text, "{a:.4},{b:.4},{c:.4},k{kind},{}", if is_rare { "yes" } else { "no" }).unwrap();
        }
        folder.write("d.csv", text);
        for method in ["ftrl", "truncated-gradient", "fobos --l1 0.001", "sgd", "ftrl --k 3", "rda --l1 0.001"] {
            folder.ok(&format!("fit d.csv --method {method} --quiet --out m.json"));
            let found = folder.ok("predict m.json d.csv --output probability");
            let mean: f64 = found.lines().map(|line| line.parse::<f64>().unwrap()).sum();
            assert!((mean / positives - 1.0).abs() < 0.01, "{method}, {positives} rows: {}", mean / positives);
        }
    }
}

#[test]
fn the_error_of_several_passes_is_called_optimistic() {
    let folder = Folder::new();
    // Labels by chance: a model that has seen each row often predicts them better than chance.
    let line = |row: u64| format!("{} {}:1\n", (row * row / 7 + row / 3) % 2, 1 + row % 97);
    folder.write("noise.svm", (0..400).map(line).collect::<String>().as_bytes());
    for (passes, told) in [(1, false), (9, true)] {
        folder.ok(&format!("fit noise.svm --method sgd --passes {passes} -q -o m.json"));
        let text = folder.ok("inspect m.json").replace('\n', " ");
        assert!(text.contains("progressive validation error"), "{text}");
        assert_eq!(
            text.contains("over 9 passes, optimistic: the later ones predict rows that were learned"),
            told,
            "{text}"
        );
        let page = folder.path("r.html");
        folder.ok("report m.json -o r.html");
        let page = std::fs::read_to_string(page).unwrap();
        assert_eq!(page.contains("over 9 passes, which is optimistic"), told);
    }
}
