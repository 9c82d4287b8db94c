//! How tables are read with nothing set: kinds of columns, labels, dates, missing and odd cells; and with the flags.

mod common;

use std::fmt::Write as _;

use common::{Folder, table};
use serde_json::Value;

/// The output of a fit as JSON, and the notes in one text.
fn fitted(folder: &Folder, line: &str) -> (Value, String) {
    let said = folder.json(&format!("fit {line} --json --quiet --out m.json"));
    let notes = said["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect::<Vec<_>>();
    let text = notes.join("\n");
    (said, text)
}

fn columns(folder: &Folder) -> Value {
    let model: Value = serde_json::from_slice(&folder.read("m.json")).unwrap();
    model["body"]["columns"].clone()
}

#[test]
fn a_missing_or_odd_cell_makes_no_categories() {
    let folder = Folder::new();
    folder.write("plain.csv", table("a,b,y", |_, _| {}));
    let (plain, notes) = fitted(&folder, "plain.csv --method ftrl");
    assert_eq!((plain["n_features"].as_u64(), notes.as_str()), (Some(2), ""));
    for cell in ["?", "-", "NA", "N/A", "null", "None", "", "oops", "\"1,5\"", "$12.50"] {
        folder.write(
            "t.csv",
            table("a,b,y", |row, cells| {
                if row == 9 {
                    cells[0] = cell.to_string();
                }
            }),
        );
        let (said, notes) = fitted(&folder, "t.csv --method ftrl");
        assert_eq!(said["n_features"], 2, "{cell}: {notes}");
        let is_odd = ["oops", "\"1,5\""].contains(&cell);
        assert_eq!(notes.contains("t.csv:11:1"), is_odd, "the place of {cell} is said: {notes}");
    }
    folder.write(
        "t.csv",
        table("a,b,y", |row, cells| {
            if row == 9 {
                cells[0] = "oops".to_string();
            }
        }),
    );
    let run = folder.run("fit t.csv --out m.json");
    assert!(run.err.contains("warning: column \"a\": most cells are numbers, but \"oops\" (t.csv:11:1) is not"));
    folder.write("new.csv", "a,b\noops,1\n2,1\n");
    assert_eq!(folder.ok("predict m.json new.csv").lines().count(), 2, "read as the training data was");
}

#[test]
fn numbers_are_recognised_in_the_forms_of_people() {
    let folder = Folder::new();
    folder.write("plain.csv", table("a,b,y", |_, _| {}));
    let expected = folder.model("plain.csv --method ftrl --passes 3");
    let predictions = |data: &str| folder.ok(&format!("predict fitted.json {data} --output margin"));
    type Edit = (&'static str, fn(&mut String));
    let edits: [Edit; 6] = [
        ("comma", |text| *text = format!("\"{}\"", text.replace('.', ","))),
        ("money", |text| *text = format!("${text}")),
        ("share", |text| *text = format!("{text} %")),
        ("quoted", |text| *text = format!("\"{text}\"")),
        ("unit", |text| *text = format!("{text} kg")),
        ("blank", |text| *text = format!("  {text} ")),
    ];
    let margins = predictions("plain.csv");
    for (name, edit) in edits {
        let file = format!("{name}.csv");
        folder.write(&file, table("a,b,y", |_, cells| cells[..2].iter_mut().for_each(edit)));
        let weights = |model: Vec<u8>| {
            let model: Value = serde_json::from_slice(&model).unwrap();
            model["body"]["outputs"].clone()
        };
        assert_eq!(
            weights(folder.model(&format!("{file} --method ftrl --passes 3"))),
            weights(expected.clone()),
            "{name}"
        );
        assert_eq!(predictions(&file), margins, "{name}");
        if name == "comma" {
            continue;
        }
        // A decimal point is one, whatever separates the fields.
        for (kind, delimiter) in [("semicolon", ";"), ("tab", "\t")] {
            let file = format!("{name}-{kind}.csv");
            folder
                .write(&file, String::from_utf8(folder.read(&format!("{name}.csv"))).unwrap().replace(',', delimiter));
            let found = weights(folder.model(&format!("{file} --method ftrl --passes 3")));
            assert_eq!(found, weights(expected.clone()), "{file}");
        }
    }
}

#[test]
fn a_quotation_mark_that_nothing_closes_is_told_with_its_place() {
    let folder = Folder::new();
    let mut text = table("a,b,y", |_, _| {});
    text += "1,2,\"0\n3,4,1\n";
    folder.write("open.csv", &text);
    let line = text.lines().count() - 1;
    let run = folder.run("fit open.csv --out m.json");
    let expected = format!("open.csv:{line}:5: a quotation mark opens this field, and none closes it");
    assert!(run.complaint().contains(&expected), "{}", run.err);
}

#[test]
fn fields_may_be_separated_by_other_characters() {
    let folder = Folder::new();
    let plain = table("a,b,y", |_, _| {});
    folder.write("plain.csv", &plain);
    let expected = folder.model("plain.csv --method ftrl");
    folder.write("semicolon.csv", plain.replace(',', ";")).write("bar.csv", plain.replace(',', "|"));
    folder.write("tab.csv", plain.replace(',', "\t")).write("colon.csv", plain.replace(',', ":"));
    folder.write("bare.csv", plain.split_once('\n').unwrap().1);
    for line in ["semicolon.csv", "bar.csv", "tab.csv", "colon.csv --delimiter :"] {
        assert_eq!(folder.model(&format!("{line} --method ftrl")), expected, "{line}");
    }
    let refused = folder.run("fit bare.csv --target 3");
    assert!(refused.complaint().contains("no column \"3\""), "{}", refused.err);
    folder.ok("fit bare.csv --no-header --target 3 --method ftrl --quiet --out m.json");
    assert_eq!(folder.weights("m.json").keys().collect::<Vec<_>>(), ["1", "2"]);
    folder.write("numbers.csv", "1,2,3\n4,5,6\n");
    assert!(folder.run("fit numbers.csv").complaint().contains("use --no-header"), "a header of numbers is data");
}

#[test]
fn dates_become_numbers_and_ids_are_left_out() {
    let folder = Folder::new();
    let date = |row: usize| format!("20{:02}-{:02}-{:02}", 10 + row % 13, 1 + row % 12, 1 + row % 28);
    let with = |form: fn(&str) -> String| {
        table("id,when,a,b,y", move |row, cells| {
            cells.insert(0, format!("C{row:05}"));
            cells.insert(1, form(&date(row)));
        })
    };
    folder.write("iso.csv", with(str::to_string));
    folder.write("dots.csv", with(|iso| iso.split('-').rev().collect::<Vec<_>>().join(".")));
    let (said, notes) = fitted(&folder, "iso.csv --method ftrl --l1 0");
    assert_eq!(said["n_features"], 5, "{notes}");
    assert!(
        notes.contains("column \"id\": 600 different values in 600 rows look like ids and are left out"),
        "{notes}"
    );
    assert!(notes.contains("column \"when\": dates, as in 2023-01-31, become days, month, weekday"), "{notes}");
    let names: Vec<String> = folder.weights("m.json").into_keys().collect();
    assert_eq!(names, ["a", "b", "when", "when.month", "when.weekday"]);
    let expected = folder.weights("m.json");
    fitted(&folder, "dots.csv --method ftrl --l1 0");
    assert_eq!(folder.weights("m.json"), expected, "another form of the same dates");
    fitted(&folder, "iso.csv --method ftrl --l1 0 --dates year,months");
    let names: Vec<String> = folder.weights("m.json").into_keys().collect();
    assert_eq!(names.len(), 2 + 1 + 12, "{names:?}");
    let (said, _) = fitted(&folder, "iso.csv --method ftrl --categorical id --min-count 1");
    assert_eq!(said["n_features"], 605, "ids that are asked for");
}

#[test]
fn a_column_that_repeats_another_is_left_out() {
    let folder = Folder::new();
    let copied = |_: usize, cells: &mut Vec<String>| cells.insert(0, cells[0].clone());
    folder.write("plain.csv", table("a,b,y", |_, _| {})).write("copy.csv", table("z,a,b,y", copied));
    folder.ok("fit plain.csv --quiet --out plain.json");
    let (said, notes) = fitted(&folder, "copy.csv");
    assert_eq!(said["n_features"], 2);
    assert!(
        notes.contains("column \"z\": it has the same cells as \"a\" and is left out; --categorical z or"),
        "{notes}"
    );
    assert_eq!(folder.weights("m.json"), folder.weights("plain.json"));
    folder.ok("predict m.json plain.csv");
    assert_eq!(fitted(&folder, "copy.csv --numeric z").0["n_features"], 3);
    // Few cells that differ say little: the columns stay.
    folder.write(
        "rare.csv",
        table("a,b,y,c,d", |row, cells| {
            let cell = u8::from(row % 100 == 1).to_string();
            cells.extend([cell.clone(), cell]);
        }),
    );
    assert_eq!(fitted(&folder, "rare.csv").0["n_features"], 4);
}

#[test]
fn months_are_dates() {
    let folder = Folder::new();
    for (file, form) in [("iso", "Y-M"), ("slash", "M/Y"), ("name", "N Y")] {
        let mut text = String::from("when,y\n");
        for row in 0..400 {
            let (year, month) = (2010 + row * 7 % 11, row * 5 % 12);
            let name = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month];
            let cell =
                form.replace('Y', &year.to_string()).replace('M', &format!("{:02}", month + 1)).replace('N', name);
            let _ = writeln!(text, "{cell},{}", u8::from(year > 2014));
        }
        folder.write(&format!("{file}.csv"), text);
        let (said, notes) = fitted(&folder, &format!("{file}.csv"));
        assert!(notes.contains("become days, month; --dates chooses"), "{file}: {notes}");
        assert_eq!(said["n_features"], 2, "{file}");
        assert!(said["heldout_error"].as_f64().unwrap() < 0.05, "{file}: {said}");
    }
}

#[test]
fn rare_categories_share_a_feature_here_and_at_prediction() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        table("town,a,b,y", |row, cells| {
            let town = if row % 20 == 0 { format!("hamlet{row}") } else { ["Oslo", "Rome"][row % 2].to_string() };
            cells.insert(0, town);
        }),
    );
    let (said, notes) = fitted(&folder, "t.csv --method ftrl --l1 0");
    assert_eq!(said["n_features"], 5, "{notes}");
    assert!(notes.contains("column \"town\": 30 of 32 levels have fewer than 5 rows and share one feature"), "{notes}");
    assert_eq!(columns(&folder)["levels"]["town"], serde_json::json!(["Oslo", "Rome"]));
    folder.write("new.csv", "town,a,b\nParis,1,2\nhamlet20,1,2\nOslo,1,2\n");
    let margins = folder.ok("predict m.json new.csv --output margin");
    let lines: Vec<&str> = margins.lines().collect();
    assert!(lines[0] == lines[1] && lines[0] != lines[2], "{margins}");
    let (said, _) = fitted(&folder, "t.csv --method ftrl --min-count 1");
    assert_eq!(said["n_features"], 34);
}

#[test]
fn the_rule_for_missing_values_is_remembered() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        table("a,b,y", |row, cells| {
            if row % 10 == 3 {
                cells[0].clear();
            }
        }),
    );
    let (said, notes) = fitted(&folder, "t.csv --method ftrl --l1 0");
    assert_eq!(said["n_features"], 2);
    assert!(notes.contains("column \"a\": 60 of the first 600 cells are missing: see --missing"), "{notes}");
    let mean = columns(&folder)["means"]["a"].as_f64().unwrap();
    assert!((4.0..6.0).contains(&mean), "{mean}");
    folder.write("new.csv", format!("a,b\n,1\n{mean},1\n0,1\n"));
    let margins = |flags: &str| folder.ok(&format!("predict m.json new.csv --output margin {flags}"));
    let lines: Vec<String> = margins("").lines().map(str::to_string).collect();
    assert!(lines[0] == lines[1] && lines[1] != lines[2], "the mean stands for the missing cell: {lines:?}");
    let zero: Vec<String> = margins("--missing zero").lines().map(str::to_string).collect();
    assert_eq!(zero[0], lines[2]);
    assert!(
        folder.run("predict m.json new.csv --missing error").complaint().contains("new.csv:2:1: column \"a\" is empty")
    );
    let (said, _) = fitted(&folder, "t.csv --method ftrl --l1 0 --missing indicator");
    assert_eq!(said["n_features"], 3);
    assert!(folder.weights("m.json").contains_key("a=missing"));
    let lines: Vec<String> = margins("").lines().map(str::to_string).collect();
    assert_ne!(lines[0], lines[1], "the indicator has a weight of its own");
}

#[test]
fn flat_json_lines_are_a_table() {
    let folder = Folder::new();
    let csv = table("a,b,y", |_, _| {});
    let line = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        format!("{{\"a\":{},\"b\":{},\"y\":\"{}\"}}\n", cells[0], cells[1], cells[2])
    };
    folder.write("t.jsonl", csv.lines().skip(1).map(line).collect::<String>()).write("t.csv", csv);
    assert_eq!(folder.model("t.jsonl --method ftrl"), folder.model("t.csv --method ftrl"));
    folder.write(
        "logs.jsonl",
        "{\"level\":\"error\",\"tags\":[\"x\",\"y\"],\"ok\":true,\"y\":1}\n".repeat(20)
            + &"{\"level\":\"info\",\"tags\":[],\"ok\":false,\"y\":0}\n".repeat(20),
    );
    let (said, _) = fitted(&folder, "logs.jsonl --method ftrl --l1 0");
    let names: Vec<String> = folder.weights("m.json").into_keys().collect();
    assert_eq!(names, ["level=error", "level=info", "ok", "tags=x", "tags=y"], "{said}");
    assert_eq!(folder.ok("predict m.json logs.jsonl").lines().count(), 40);
}

#[test]
fn other_encodings_and_folders_of_parts() {
    let folder = Folder::new();
    let text = table("town,a,b,y", |row, cells| cells.insert(0, ["Zürich", "Málaga"][row % 2].to_string()));
    folder.write("t.csv", &text);
    let expected = folder.model("t.csv --method ftrl --l1 0");
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let utf16: Vec<u8> = "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    folder.write("latin.csv", latin).write("utf16.csv", utf16);
    assert!(folder.run("fit latin.csv").complaint().contains("not valid UTF-8; use --encoding"));
    assert_eq!(folder.model("latin.csv --encoding latin1 --method ftrl --l1 0"), expected);
    assert_eq!(folder.model("utf16.csv --method ftrl --l1 0"), expected, "its mark tells");
    let (header, rows) = text.split_once('\n').unwrap();
    let lines: Vec<&str> = rows.lines().collect();
    for (part, chunk) in lines.chunks(200).enumerate() {
        folder.write(&format!("parts/year={}/part.csv", 2020 + part), format!("{header}\n{}\n", chunk.join("\n")));
    }
    assert_eq!(folder.model("parts --method ftrl --l1 0"), expected, "the survey and the rows are those of one file");
}

#[test]
fn words_of_a_text_are_features() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        table("review,a,b,y", |row, cells| {
            let word = if cells[2] == "yes" { "really good" } else { "not good" };
            cells.insert(0, format!("\"Order {row}, {word}!\""));
        }),
    );
    let (_, notes) = fitted(&folder, "t.csv --method ftrl");
    assert!(
        notes.contains("column \"review\": 600 different texts in 600 rows are left out; --text review"),
        "{notes}"
    );
    fitted(&folder, "t.csv --text review --ignore a,b --k 4");
    let names: Vec<String> = folder.weights("m.json").into_keys().collect();
    assert!(names.contains(&"review:not good".to_string()) || names.contains(&"review:not".to_string()), "{names:?}");
    folder.write("new.csv", "review\nnot good\nreally good\n");
    assert_eq!(folder.ok("predict m.json new.csv").lines().count(), 2);
}

#[test]
fn tables_are_numbered_for_svmlight_and_named_again() {
    let folder = Folder::new();
    folder.write("t.csv", table("town,a,b,y", |row, cells| cells.insert(0, ["Oslo", "Rome"][row % 2].to_string())));
    let run = folder.run("convert t.csv t.svm --map names.txt");
    assert!(run.err.contains("labels: 0 = "), "{}", run.err);
    assert_eq!(folder.text("names.txt"), "town=Oslo\na\nb\ntown=Rome\n");
    folder.ok("fit t.svm --vocabulary names.txt --method ftrl --l1 0 --quiet --out named.json");
    folder.ok("fit t.csv --method ftrl --l1 0 --quiet --out table.json");
    let names = |model: &str| folder.weights(model).into_keys().collect::<Vec<_>>();
    assert_eq!(names("named.json"), names("table.json"));
    assert_eq!(folder.ok("predict named.json t.svm --vocabulary names.txt").lines().count(), 600);
    folder.write("twice.txt", "a\nb\na\n");
    let refused = folder.run("fit t.svm --vocabulary twice.txt");
    assert!(refused.err.contains("twice.txt:3: the name \"a\" is already in line 1"), "{}", refused.err);
    assert!(
        folder.run("convert t.csv t.vw --map names.txt").complaint().contains("--map numbers features for svmlight")
    );
}

/// All commands that read a table say what became of its columns.
#[test]
fn tune_moments_and_metric_say_what_became_of_columns() {
    let folder = Folder::new();
    let text = table("a,b,y", |row, cells| {
        cells.insert(0, format!("c{row:05}"));
        cells.insert(0, format!("2024-{:02}-{:02}", 1 + row % 12, 1 + row % 28));
        if row == 9 {
            cells[2] = "oops".into();
        }
    });
    folder.write("d.csv", text.replacen("a,b,y", "day,customer,a,b,y", 1));
    let (_, expected) = fitted(&folder, "d.csv --method ftrl");
    assert!(["\"day\"", "\"customer\"", "d.csv:11:"].iter().all(|part| expected.contains(part)), "{expected}");
    for line in [
        "tune d.csv --method ftrl --l1 0.1,1 --out t.json",
        "moments d.csv -o d.moments",
        "metric fit d.csv --candidate plain -o d.metric",
    ] {
        let said = folder.json(&format!("{line} --json --quiet"));
        let notes: Vec<&str> = said["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
        expected.lines().for_each(|note| assert!(notes.contains(&note), "{line}: {note}\n{notes:?}"));
        let run = folder.run(line);
        assert!(run.code == Some(0) && run.err.contains("warning: column \"a\""), "{line}: {}", run.err);
        assert!(run.err.contains("note: column \"day\"") && run.err.contains("column \"customer\""), "{}", run.err);
        assert!(!folder.run(&format!("{line} --quiet")).err.contains("column"), "{line}");
    }
}
