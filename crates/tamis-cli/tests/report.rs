//! `tamis report` and `--report`: one page of everything, with the user's own names and numbers.

mod common;

use common::{Folder, line_csv, rows, svm};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(800, 60, 6, 2, 3))).write("t.svm", svm(&rows(300, 60, 6, 2, 4)));
    folder
}

/// What every page must be: whole, alone, small, and without leftovers.
fn checked(folder: &Folder, name: &str) -> String {
    let page = folder.text(name);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{name}");
    assert_eq!(page.matches("<script").count(), 1, "{name}: only its own script");
    let output = page.split("<script>").next().unwrap().replace("http://www.w3.org/2000/svg", "");
    for text in ["http://", "https://", "NaN", "Infinity", "inf\""] {
        assert!(!output.contains(text), "{name} contains {text}");
    }
    assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
    assert!(page.len() < 2_000_000);
    page
}

fn titles(page: &str) -> Vec<&str> {
    let titles = page.split("<h2 id=").skip(1).map(|rest| rest.split('>').nth(1).unwrap());
    titles.map(|title| title.trim_end_matches("</h2")).collect()
}

#[test]
fn a_fit_can_end_with_a_page() {
    let folder = folder();
    let said = folder.ok("fit d.svm --out m.json --validate t.svm --report r.html");
    assert!(said.contains("report: r.html ("), "{said}");
    let page = checked(&folder, "r.html");
    let found = titles(&page);
    for title in ["Selected features", "Selection frequency", "Error against model size", "Evaluation"] {
        assert!(found.contains(&title), "{title}: {found:?}");
    }
    assert!(page.contains("tamis resize m.json --k ") && page.contains("tamis resize m.json --frequency 0.9"));
    assert!(page.contains("on the 300 rows of <code>t.svm</code>"), "the lead names the data");
    let again = folder.ok("report m.json --data t.svm -o again.html");
    assert!(again.contains("report: again.html"));
    let other = checked(&folder, "again.html");
    assert_eq!(titles(&other)[..3], found[..3], "the same from the model's file");
}

#[test]
fn the_same_input_gives_the_same_page() {
    let folder = folder();
    folder.ok("fit d.svm --out m.json --quiet");
    let [one, two] = ["a.html", "b.html"].map(|name| {
        folder.ok(&format!("report m.json -o {name} --quiet"));
        folder.read(name)
    });
    assert!(one == two);
}

#[test]
fn a_stream_remembers_how_it_went() {
    let folder = folder();
    folder.ok("fit d.svm --method ftrl --passes 1 --out m.json --report r.html --quiet");
    let page = checked(&folder, "r.html");
    assert!(titles(&page).contains(&"Learning curve"), "{:?}", titles(&page));
    let output = folder.json("inspect m.json --json");
    let history = output["seen"]["history"].as_array().unwrap();
    let rows: Vec<u64> = history.iter().map(|moment| moment["rows"].as_u64().unwrap()).collect();
    assert!(rows.is_sorted() && rows.len() < 40 && rows.last() > Some(&600), "{rows:?}");
    assert!(folder.ok("inspect m.json").contains("learning curve"));
}

#[test]
fn history_is_the_same_however_the_stream_is_cut() {
    let folder = folder();
    let whole = folder.model("d.svm --method fobos --passes 3");
    folder.ok(
        "fit d.svm --method fobos --passes 3 --quiet --out x.json --checkpoint s.st --checkpoint-every 700 --threads 1",
    );
    assert!(whole == folder.read("x.json"), "saves and threads leave no trace");
}

#[test]
fn a_checkpoint_shows_where_the_training_stands() {
    let folder = folder();
    folder.write("more.svm", svm(&rows(5000, 60, 6, 2, 3)) + "broken line\n");
    // A bad line ends the stream: what was saved before it is what there is.
    folder.run("fit more.svm --method ftrl --passes 1 --checkpoint s.st --checkpoint-every 1000 --quiet --threads 1");
    folder.ok("report s.st -o r.html");
    let page = checked(&folder, "r.html");
    assert!(page.contains("Unfinished training: s.st") && page.contains("--resume s.st"), "{:?}", titles(&page));
    folder.ok("fit d.svm --checkpoint over.st --quiet --out m.json");
    folder.ok("report over.st -o over.html");
    let page = checked(&folder, "over.html");
    assert!(!page.contains("Unfinished training"), "a complete training holds its model: {:?}", titles(&page));
}

#[test]
fn moments_show_their_path_and_what_changed_over_time() {
    let folder = Folder::new();
    folder.write("a.csv", line_csv(300)).write("b.csv", line_csv(500));
    for name in ["a", "b"] {
        folder.ok(&format!("moments {name}.csv --target y --folds 4 -o {name}.moments --quiet"));
    }
    folder.ok("solve a.moments --method lasso --criterion cv --out m.json --report r.html --quiet");
    let page = checked(&folder, "r.html");
    assert!(page.contains("Weights along the path") && page.contains("tamis solve a.moments --method lasso --k"));
    folder.ok("report a.moments -o one.html");
    let page = checked(&folder, "one.html");
    assert!(page.contains("Moments report: a.moments") && page.contains("Save this model."));
    folder.ok("report a.moments b.moments -o two.html");
    assert!(checked(&folder, "two.html").contains("Coefficients over time"));
}

#[test]
fn repeated_runs_have_a_page() {
    let folder = folder();
    folder.ok("stability d.svm --method fobos --runs 4 --report r.html --quiet");
    let page = checked(&folder, "r.html");
    assert!(page.contains("selected in all 4 runs") && titles(&page).contains(&"Selection frequency"));
}

#[test]
fn numbers_are_judged_by_their_distance() {
    let folder = Folder::new();
    folder.write("a.csv", line_csv(300)).write("b.csv", line_csv(200));
    folder.ok("fit a.csv --target y --out m.json --validate b.csv --report r.html --quiet");
    let page = checked(&folder, "r.html");
    assert!(page.contains("predict the label") && page.contains(">RMSE</a>"));
    assert!(page.contains("tamis report m.json") || page.contains("--target y"), "flags are told again");
}

#[test]
fn many_classes_and_pixels() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(600, 36, 6, 3, 5)));
    folder.ok("fit d.svm --task multiclass --out m.json --quiet");
    folder.ok("report m.json --image-width 6 --data d.svm -o r.html");
    let page = checked(&folder, "r.html");
    assert!(page.contains("separate 3 classes") && page.contains("on a grid of 6 by 6"));
    assert!(page.contains("Confusion matrix"));
}

#[test]
fn names_are_text_wherever_they_come() {
    let folder = Folder::new();
    let evil = "<script>alert(1)</script>";
    let mut text = String::new();
    for row in rows(300, 8, 4, 2, 9) {
        let cells: Vec<String> =
            row.features.iter().map(|(id, value)| format!("\"{evil}{id}\\\" onload=x\": {value}")).collect();
        text += &format!("{{\"y\": \"{evil}{}\", \"x\": {{{}}}}}\n", row.label, cells.join(", "));
    }
    folder.write("d.jsonl", text);
    folder.ok("fit d.jsonl --out m.json --validate d.jsonl --report r.html --quiet");
    let page = checked(&folder, "r.html");
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains(evil));
}

#[test]
fn complaints_say_what_a_report_needs() {
    let folder = folder();
    folder.ok("fit d.svm --out m.json --quiet");
    assert!(
        folder
            .run("report d.svm")
            .complaint()
            .starts_with("d.svm: not a model, moments, metric or checkpoint file of tamis")
    );
    assert!(folder.run("report none.json").complaint().starts_with("none.json: No such file"));
    assert!(folder.run("report m.json m.json").complaint().contains("a report of several files takes only moments"));
    let output = folder.run("fit d.svm --out m2.json --report no/where.html");
    assert_eq!(output.complaint(), "no/where.html: cannot be written: there is no directory no");
    assert!(!folder.path("m2.json").exists(), "said before the work, not after it");
    assert!(folder.run("report m.json --data none.svm").complaint().contains("none.svm"));
}

#[test]
fn a_metric_has_a_page_too() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(200, 9, 4, 2, 5)));
    folder
        .ok("metric fit d.svm --candidate order-1 --max-iter 5 --out m.metric --report r.html --image-width 3 --quiet");
    let page = checked(&folder, "r.html");
    assert!(page.contains("Metric report: m.metric") && page.contains("Selected variables"), "{:?}", titles(&page));
    assert!(page.contains("on a grid of 3 by 3") && page.contains("tamis metric eval m.metric TEST"));
    folder.ok("report m.metric --image-width 3 -o again.html");
    assert_eq!(titles(&checked(&folder, "again.html")), titles(&page));
    assert!(folder.run("report m.metric --data d.svm").complaint().contains("tamis metric eval"));
}
