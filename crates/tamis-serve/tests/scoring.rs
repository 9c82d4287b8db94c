//! Scoring: every format gives the same answers as the library, and bad rows are told with line and column.

mod common;

use common::{Running, fitted, one_pass, options, svmlight, table};
use serde_json::{Value, json};
use tamis::model::{Model, Predictor};
use tamis::recipe::{Method, Recipe};
use tamis_serve::Limits;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn every_text_format_gives_the_predictions_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let (model, server) = (Model::load(&files.model).unwrap(), Running::start(options(&files.model)));
    let mut rows = tamis::data::RawRows::by_index();
    rows.push_index(1, 0.5);
    rows.push_index(2, -0.25);
    rows.push_index(99, 4.0);
    rows.end_row(tamis::data::Label::Absent, 1.0, 0);
    let predictor = Predictor::new(&model);
    let expected = predictor.predict(&rows).remove(0);
    for (kind, body) in [
        ("text/x-svmlight", "0 1:0.5 2:-0.25 99:4\n"),
        ("text/x-vw", "| 1:0.5 2:-0.25 99:4\n"),
        ("application/x-ndjson; charset=utf-8", "{\"x\": {\"1\": 0.5, \"2\": -0.25, \"99\": 4}}\n"),
        ("application/json", "{\"x\":\n {\"1\": 0.5, \"2\": -0.25, \"99\": 4}\n}"),
        ("application/json", "[{\"x\": {\"2\": -0.25, \"1\": 0.5, \"99\": 4}}]"),
    ] {
        let lines = server.post("/v1/score", kind, body).lines();
        assert_eq!(lines.len(), 1, "{kind}");
        assert_eq!(number(&lines[0]["margin"]), expected.margins[0], "{kind}");
        assert_eq!(number(&lines[0]["probabilities"]["1"]), expected.response, "{kind}");
        assert_eq!(lines[0]["prediction"], json!(model.classes()[expected.class.unwrap()]), "{kind}");
        assert_eq!(lines[0]["unknown_features"], 1, "{kind}");
        assert!(lines[0].get("explanation").is_none());
    }
}

#[test]
fn an_explanation_adds_up_to_the_margin() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let server = Running::start(options(&files.model));
    let line = &server.post("/v1/score?explain=1", "text/x-svmlight", "1 1:0.5 2:-0.25 5:1\n").lines()[0];
    let parts = line["explanation"]["contributions"].as_array().unwrap();
    assert!(parts.len() >= 2);
    let sum: f64 = parts.iter().map(|part| number(&part["contribution"])).sum();
    let margin = number(&line["explanation"]["intercept"]) + sum;
    assert!((margin - number(&line["margin"])).abs() < 1e-12, "{line}");
    assert_eq!(parts[0]["feature"], "1", "the largest first: {line}");
}

#[test]
fn a_kernel_model_is_scored_and_has_no_contributions() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(200, 1), "svm", &Recipe::new(Method::Kernel));
    let (model, server) = (Model::load(&files.model).unwrap(), Running::start(options(&files.model)));
    assert!(model.kernel.is_some());
    let mut rows = tamis::data::RawRows::by_index();
    rows.push_index(1, 0.5);
    rows.push_index(2, -0.25);
    rows.push_index(99, 4.0);
    rows.end_row(tamis::data::Label::Absent, 1.0, 0);
    let expected = Predictor::new(&model).predict(&rows).remove(0);
    let body = "0 1:0.5 2:-0.25 99:4\n";
    let line = &server.post("/v1/score", "text/x-svmlight", body).lines()[0];
    assert_eq!(number(&line["margin"]), expected.margins[0]);
    assert_eq!(line["unknown_features"], 1, "{line}");
    let refused = server.post("/v1/score?explain=1", "text/x-svmlight", body);
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("explain=1 is for linear models"), "{}", refused.text());
}

#[test]
fn tables_are_read_with_the_columns_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &table(500, 2), "csv", &one_pass(Method::Ftrl));
    let server = Running::start(options(&files.model));
    let csv = server.post("/v1/score", "text/csv", "colour,size\nred,9\nblue,0.5\n").lines();
    assert_eq!([&csv[0]["prediction"], &csv[1]["prediction"]], ["yes", "no"]);
    let tsv = server.post("/v1/score", "text/tab-separated-values", "size\tcolour\n9\tred\n0.5\tblue\n").lines();
    let flat = "{\"size\": 9, \"colour\": \"red\"}\n{\"colour\": \"blue\", \"size\": 0.5}\n";
    let flat = server.post("/v1/score", "application/x-ndjson", flat).lines();
    assert_eq!((&csv, &csv), (&tsv, &flat));
    let single = server.post("/v1/score", "application/json", "{\"size\": 9, \"colour\": \"red\"}").lines();
    assert_eq!(single[0], csv[0], "one row alone is read as it is among others");
    let (status, code, message) = server.post("/v1/score", "text/csv", "size\n3\n").error();
    assert_eq!((status, code.as_str()), (400, "bad_rows"));
    assert!(message.contains("colour"), "{message}");
    assert_eq!(server.post("/v1/score?missing_columns=zero", "text/csv", "size\n3\n").status, 200);
    let ids = server.post("/v1/score?id_column=who", "text/csv", "who,size,colour\nann,9,red\n").lines();
    assert_eq!(ids[0]["id"], "ann");
}

#[test]
fn an_arrow_stream_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &table(500, 2), "csv", &one_pass(Method::Ftrl));
    let server = Running::start(options(&files.model));
    let rows = server.post("/v1/score", "text/csv", "size,colour\n9,red\n0.5,blue\n").lines();
    let stream = arrow_stream();
    let kind = "application/vnd.apache.arrow.stream";
    let found = server.request("POST", "/v1/score", &[("Content-Type", kind)], &stream).lines();
    assert_eq!(found, rows);
    for cut in [0, 10, stream.len() / 2] {
        let answer = server.request("POST", "/v1/score", &[("Content-Type", kind)], &stream[..cut]);
        assert_eq!(answer.status, 400, "cut at {cut}: {}", answer.text());
    }
}

fn arrow_stream() -> Vec<u8> {
    use arrow_array::{Float64Array, RecordBatch, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    let fields = vec![Field::new("size", DataType::Float64, false), Field::new("colour", DataType::Utf8, false)];
    let schema = std::sync::Arc::new(Schema::new(fields));
    let (sizes, colours) = (Float64Array::from(vec![9.0, 0.5]), StringArray::from(vec!["red", "blue"]));
    let batch = RecordBatch::try_new(schema.clone(), vec![std::sync::Arc::new(sizes), std::sync::Arc::new(colours)]);
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch.unwrap()).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn bad_rows_are_told_with_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let server = Running::start(options(&files.model));
    let answer = server.post("/v1/score", "text/x-svmlight", "1 1:2\n1 1:1 2:0.3x\n");
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["line"], &error["column"]), (400, &json!(2), &json!(9)), "{error}");
    assert_eq!(error["message"], "request:2:9: feature value \"0.3x\" is not a number");
    let answer = server.post("/v1/score", "application/x-ndjson", "{\"x\": {\"1\": 2}}\n{\"x\": {\"1\": oops}}\n");
    let error = &answer.json()["error"];
    assert_eq!(
        (&error["code"], &error["line"], &error["column"]),
        (&json!("bad_row"), &json!(2), &json!(13)),
        "{error}"
    );
    let answer = server.post("/v1/score", "application/json", "{\"x\":\n {,}}");
    let error = &answer.json()["error"];
    assert_eq!(
        (&error["code"], &error["line"], &error["column"]),
        (&json!("bad_json"), &json!(2), &json!(3)),
        "{error}"
    );
    let far = format!("{}1 7:1e999\n", "1 1:2\n".repeat(50_000));
    assert_eq!(server.post("/v1/score", "text/x-svmlight", &far).json()["error"]["line"], 50_001);
    let huge = server.post("/v1/score", "text/x-svmlight", "1 1:1e308 2:-1e308\n");
    assert_eq!((huge.status, &huge.json()["error"]["line"]), (400, &json!(1)), "{}", huge.text());
}

#[test]
fn requests_that_make_no_sense_are_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let limits = Limits { body: 2000, rows: 5, features: 3, ..options(&files.model).limits };
    let server = Running::start(tamis_serve::Options { limits, ..options(&files.model) });
    let score = |kind: &str, body: &str| server.post("/v1/score", kind, body).error();
    let (status, code, message) = score("text/html", "1 1:1\n");
    assert_eq!((status, code.as_str()), (415, "unsupported_type"));
    assert!(message.contains("text/x-svmlight") && message.contains("application/x-ndjson"), "{message}");
    assert_eq!(score("text/x-svmlight", "").1, "no_rows");
    let (status, code, message) = score("text/x-svmlight", &"1 1:1\n".repeat(6));
    assert_eq!(
        (status, code.as_str(), message.as_str()),
        (413, "too_large", "a request may have 5 rows; send fewer at once")
    );
    let (status, _, message) = score("text/x-svmlight", "1 1:1 2:1 3:1 4:1\n");
    assert_eq!((status, message.as_str()), (413, "a row may have 3 features"));
    let (status, code, _) = score("text/csv", "a,b\n1,2\n");
    assert_eq!((status, code.as_str()), (400, "not_a_table_model"));
    let (status, _, message) = server.post("/v1/score?explane=1", "text/x-svmlight", "1 1:1\n").error();
    assert_eq!(status, 400);
    assert!(message.starts_with("explane=1 is not known; a query has explain=1"), "{message}");
    let (status, _, message) = score("text/x-svmlight", &" ".repeat(2001));
    assert_eq!((status, message.as_str()), (413, "the body may have 2000 bytes; send fewer rows at once"));
    let gzip = [("Content-Type", "text/x-svmlight"), ("Content-Encoding", "gzip")];
    assert_eq!(server.request("POST", "/v1/score", &gzip, b"\x1f\x8b").error().1, "unsupported_encoding");
    let packed = server.request("POST", "/v1/score", &gzip[..1], b"\x1f\x8b\x08\0\0");
    assert_eq!(packed.status, 400, "compressed bytes are not decompressed: {}", packed.text());
    assert_eq!(server.get("/v1/score").error().0, 405);
    assert_eq!(server.get("/no/such/path").error().1, "no_route");
    let (status, code, message) = server.post("/v1/learn", "text/x-svmlight", "1 1:1\n").error();
    assert_eq!((status, code.as_str()), (409, "does_not_learn"));
    assert!(message.contains("--log"), "{message}");
}

#[test]
fn several_classes_have_a_margin_each() {
    let folder = tempfile::tempdir().unwrap();
    let data =
        svmlight(600, 1).lines().zip(0..).map(|(line, at)| format!("{}{}\n", at % 3, &line[1..])).collect::<String>();
    let files = fitted(folder.path(), &data, "svm", &one_pass(Method::Ftrl));
    let server = Running::start(options(&files.model));
    let line = &server.post("/v1/score?explain=1", "text/x-svmlight", "0 1:1 2:1\n").lines()[0];
    let classes = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(classes(&line["margin"]), ["0", "1", "2"]);
    let sum: f64 = line["probabilities"].as_object().unwrap().values().map(number).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    assert_eq!(classes(&line["explanation"]["intercept"]), ["0", "1", "2"]);
}
