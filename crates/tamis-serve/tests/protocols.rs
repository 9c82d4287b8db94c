//! The description of the routes, other protocols, events and counters.

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use common::{Answer, Running, fitted, one_pass, options, svmlight, table};
use serde_json::{Value, json};
use tamis::recipe::Method;
use tamis_serve::{Options, ROUTES};

/// Checks a value against the part of JSON Schema that the document uses.
fn check(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let path = name.strip_prefix('#').unwrap();
        return check(document, document.pointer(path).unwrap_or_else(|| panic!("{name}")), value, place);
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let fits = choices.iter().filter(|choice| check(document, choice, value, place).is_ok()).count();
        return if fits == 1 { Ok(()) } else { Err(format!("{place}: {value} fits {fits} of {choices:?}")) };
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return if values.contains(value) { Ok(()) } else { Err(format!("{place}: {value} is not in {values:?}")) };
    }
    let is_right = match schema.get("type").and_then(Value::as_str) {
        None => true,
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(other) => panic!("unknown type {other}"),
    };
    if !is_right {
        return Err(format!("{place}: {value} is not of {schema}"));
    }
    for item in value.as_array().into_iter().flatten() {
        check(document, schema.get("items").unwrap_or(&json!({})), item, place)?;
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        value.get(name.as_str().unwrap()).ok_or_else(|| format!("{place}: {name} is missing in {value}"))?;
    }
    for (name, part) in value.as_object().into_iter().flatten() {
        let own = schema.pointer(&format!("/properties/{name}"));
        match own.or_else(|| schema.get("additionalProperties")) {
            Some(Value::Bool(false)) => return Err(format!("{place}: {name} is not described")),
            Some(part_schema) => check(document, part_schema, part, &format!("{place}.{name}"))?,
            None => {}
        }
    }
    Ok(())
}

/// Checks an answer against the description of its route.
fn check_answer(document: &Value, method: &str, path: &str, answer: &Answer) {
    let responses = &document["paths"][path][method]["responses"];
    let key = if answer.status == 200 { "200" } else { "default" };
    let kind = answer.header("content-type").unwrap().split(';').next().unwrap().to_string();
    let content = responses[key]["content"].get(&kind).unwrap_or_else(|| panic!("{path}: {kind} is not described"));
    let values: Vec<Value> = match kind.as_str() {
        "application/json" => vec![answer.json()],
        "application/x-ndjson" => answer.lines(),
        _ => vec![json!(answer.text())],
    };
    for value in values {
        check(document, &content["schema"], &value, path).unwrap_or_else(|error| panic!("{method} {error}"));
    }
}

#[test]
fn the_document_lists_the_routes_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let server = Running::start(options(&files.model));
    let document = server.get("/v1/openapi.json").json();
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            described.insert((path.clone(), method.clone(), operation["x-scope"].as_str().map(String::from)));
        }
    }
    let scope = |route: &tamis_serve::Route| route.scope.map(|scope| scope.name().to_string());
    let served: BTreeSet<_> =
        ROUTES.iter().map(|route| (route.path.to_string(), route.method.to_string(), scope(route))).collect();
    assert_eq!(described, served);
}

#[test]
fn answers_are_as_the_document_says() {
    for is_table in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (data, kind) = if is_table { (table(500, 2), "csv") } else { (svmlight(600, 1), "svm") };
        let files = fitted(folder.path(), &data, kind, &one_pass(Method::Ftrl));
        let log = Some(folder.path().join("log"));
        let server = Running::start(Options { log, ..options(&files.checkpoint) });
        let document = server.get("/v1/openapi.json").json();
        let checkpoint = std::fs::read(&files.checkpoint).unwrap();
        let (score, learn) = match is_table {
            true => ("size,colour\n3,red\n", "size,colour,y\n3,red,yes\n"),
            false => ("1 1:0.5 9:1\n", "1 1:0.5 9:1\n"),
        };
        let rows = if is_table { "text/csv" } else { "text/x-svmlight" };
        let record = if is_table { json!({"size": 3, "colour": "red"}) } else { json!({"1": 0.5}) };
        let records = json!({ "dataframe_records": [record] }).to_string();
        let feature = server.get("/v1/features").json()["outputs"][0]["features"][0]["name"].clone();
        let tensor = json!({ "name": feature, "shape": [2], "datatype": "FP64", "data": [1, 0.5] });
        let infer = json!({ "id": "7", "inputs": [tensor] }).to_string();
        let label = "{\"id\": \"a\", \"y\": \"yes\"}\n".replace("yes", if is_table { "yes" } else { "1" });
        let label = if is_table { label } else { label.replace("\"1\"", "1") };
        let mut requests: Vec<(&str, &str, &str, &str, &[u8])> = vec![
            ("post", "/v1/score", "?explain=1&id=a", rows, score.as_bytes()),
            ("post", "/v1/label", "", "application/x-ndjson", label.as_bytes()),
            ("post", "/v1/learn", "", rows, learn.as_bytes()),
            ("put", "/v1/model", "", "application/octet-stream", &checkpoint),
            ("post", "/v1/checkpoint", "", "", b""),
            ("post", "/invocations", "", "application/json", records.as_bytes()),
            ("post", "/v2/models/{name}/infer", "", "application/json", infer.as_bytes()),
        ];
        let gets = ROUTES.iter().filter(|route| route.method == "get" && route.path != "/v1/events");
        requests.extend(gets.map(|route| ("get", route.path, "", "", &b""[..])));
        assert_eq!(requests.len(), ROUTES.len() - 1, "all but the events, which have a test of their own");
        for (method, path, query, kind, body) in requests {
            let target = path.replace("{name}", "state") + query;
            let answer = server.request(&method.to_uppercase(), &target, &[("Content-Type", kind)], body);
            assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
            check_answer(&document, method, path, &answer);
            if method != "get" {
                let bad = server.request(&method.to_uppercase(), &(target + "&no=1"), &[("Content-Type", "x")], b"?");
                if bad.status != 200 {
                    check_answer(&document, method, path, &bad);
                }
            }
        }
    }
}

#[test]
fn queries_have_the_values_of_the_document_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = Some(folder.path().join("log"));
    let server = Running::start(Options { log, ..options(&files.checkpoint) });
    let document = server.get("/v1/openapi.json").json();
    let status = |query: &str| server.post(&format!("/v1/score?{query}"), "text/x-vw", "1 a| 1:1\n").status;
    let parameters = document["paths"]["/v1/score"]["post"]["parameters"].as_array().unwrap();
    let mut tried = 0;
    for (name, values) in parameters.iter().filter_map(|one| Some((&one["name"], one["schema"].get("enum")?))) {
        let name = name.as_str().unwrap();
        for value in values.as_array().unwrap() {
            assert_eq!(status(&format!("{name}={}", value.as_str().unwrap())), 200, "{name}={value}");
            tried += 1;
        }
        assert_eq!([status(&format!("{name}=maybe")), status(&format!("{name}="))], [400; 2], "{name}");
    }
    assert_eq!((tried, status("id=")), (10, 400));
}

#[test]
fn a_schema_that_does_not_fit_is_found() {
    let document = json!({ "components": { "schemas": { "A": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"], "additionalProperties": false } } } });
    let schema = json!({ "$ref": "#/components/schemas/A" });
    assert!(check(&document, &schema, &json!({ "n": 1 }), "").is_ok());
    for wrong in [json!({}), json!({ "n": "1" }), json!({ "n": 1, "m": 2 }), json!([])] {
        assert!(check(&document, &schema, &wrong, "").is_err(), "{wrong}");
    }
}

#[test]
fn the_forms_of_mlflow_agree_with_ours() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &table(500, 2), "csv", &one_pass(Method::Ftrl));
    let server = Running::start(options(&files.model));
    let ours = server.post("/v1/score", "text/csv", "size,colour\n9,red\n0.5,blue\n").lines();
    let expected = json!({ "predictions": ours.iter().map(|line| line["prediction"].clone()).collect::<Vec<_>>() });
    for body in [
        json!({ "dataframe_split": { "columns": ["colour", "size"], "data": [["red", 9], ["blue", 0.5]] } }),
        json!({ "dataframe_records": [{ "size": 9, "colour": "red" }, { "size": 0.5, "colour": "blue" }] }),
        json!({ "instances": [{ "size": 9, "colour": "red" }, { "size": 0.5, "colour": "blue" }] }),
        json!({ "inputs": { "size": [9, 0.5], "colour": ["red", "blue"] }, "params": {} }),
    ] {
        assert_eq!(server.post("/invocations", "application/json", &body.to_string()).json(), expected, "{body}");
    }
    assert_eq!(server.post("/invocations", "text/csv", "size,colour\n9,red\n0.5,blue\n").json(), expected);
    for (body, text) in [
        ("{}", "expected dataframe_split"),
        ("[1]", "not a JSON object"),
        ("{\"dataframe_split\": {\"columns\": [\"size\"], \"data\": [[1, 2]]}}", "as long as it"),
        ("{\"inputs\": {\"size\": [1], \"colour\": []}}", "lists of one length"),
        ("{\"instances\": [3]}", "neither an object nor a list"),
        ("{\"instances\": [[3]]}", "row 1 has 1 numbers"),
    ] {
        let (status, _, message) = server.post("/invocations", "application/json", body).error();
        assert!(status == 400 && message.contains(text), "{body}: {message}");
    }
    assert_eq!(server.get("/ping").status, 200);
}

/// Requests of numbers only are read in a shorter way: it must not be seen.
#[test]
fn numbers_of_mlflow_are_read_as_other_rows_are() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let server = Running::start(options(&files.model));
    let invoke = |body: Value| server.post("/invocations", "application/json", &body.to_string());
    let rows: Vec<Vec<f64>> = svmlight(200, 8)
        .lines()
        .map(|line| line.split(' ').skip(1).map(|cell| cell.split_once(':').unwrap().1.parse().unwrap()).collect())
        .collect();
    let names: Vec<String> = (1..=8).map(|name| name.to_string()).collect();
    let ours = server.post("/v1/score", "text/x-svmlight", &svmlight(200, 8)).lines();
    let expected: Vec<Value> = ours.iter().map(|line| line["prediction"].clone()).collect();
    let counted = || -> u64 {
        let text = server.get("/metrics").text().to_string();
        let line = text.lines().find(|line| line.starts_with("tamis_unknown_features_total ")).unwrap();
        line.split(' ').nth(1).unwrap().parse().unwrap()
    };
    let start = counted();
    let split = json!({ "columns": names, "data": rows });
    let quick = invoke(json!({ "dataframe_split": split, "params": {} })).json();
    assert_eq!(quick["predictions"], json!(expected));
    // A cell that is text takes the long way, and a column more is a feature that the model does not know.
    let before = counted();
    let record = |row: &Vec<f64>| -> Value { names.iter().cloned().zip(row.iter().map(|cell| json!(cell))).collect() };
    let slow = invoke(json!({ "dataframe_records": rows.iter().map(record).collect::<Vec<_>>() })).json();
    assert_eq!((&slow, counted() - before), (&quick, before - start));
    assert_eq!(
        invoke(json!({ "dataframe_split": { "columns": ["1", "new"], "data": [[0.5, 1], [0.5, 0]] } })).status,
        200
    );
    assert_eq!(counted(), before + before - start + 1, "zeros are not counted");
    for (body, text) in [
        (json!({ "dataframe_split": { "columns": ["1", "1"], "data": [[1, 2]] } }), "twice"),
        (json!({ "dataframe_split": { "columns": ["1"], "data": [[1, 2]] } }), "as long as it"),
        (json!({ "dataframe_split": { "columns": ["1"], "data": [] } }), "no rows"),
        (json!({ "dataframe_split": { "columns": ["1"], "data": [[null]] } }), "is empty"),
        (json!({ "instances": [[1]] }), "row 1 has 1 numbers"),
        (json!({ "instances": [[1]], "inputs": [[1]] }), "expected dataframe_split"),
    ] {
        let (status, _, message) = invoke(body.clone()).error();
        assert!(status == 400 && message.contains(text), "{body}: {status} {message}");
    }
}

#[test]
fn tensors_are_in_the_order_of_the_features() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let server = Running::start(options(&files.model));
    let ours = server.post("/v1/score", "text/x-svmlight", "0 1:0.5 2:-1\n0 1:-0.25\n").lines();
    let names = server.get("/v2/models/model").json()["inputs"][0]["parameters"]["names"].clone();
    let names: Vec<&str> = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let cells = |row: &[(&str, f64)]| -> Vec<f64> {
        let cell = |name: &&str| row.iter().find(|(key, _)| key == name).map_or(0.0, |(_, value)| *value);
        names.iter().map(cell).collect()
    };
    let data = [cells(&[("1", 0.5), ("2", -1.0)]), cells(&[("1", -0.25)])].concat();
    let infer = |inputs: Value| {
        server.post("/v2/models/model/infer", "application/json", &json!({ "inputs": inputs }).to_string())
    };
    let shape = [2, names.len()];
    let whole = infer(json!([{ "name": "features", "shape": shape, "datatype": "FP64", "data": data }])).json();
    let by_name = infer(json!([
        { "name": "1", "shape": [2], "datatype": "FP32", "data": [0.5, -0.25] },
        { "name": "2", "shape": [2, 1], "datatype": "INT64", "data": [[-1], [0]] },
    ]));
    assert_eq!(whole["outputs"], by_name.json()["outputs"]);
    assert_eq!(whole["outputs"][1]["data"][1], ours[0]["probabilities"]["1"]);
    assert_eq!(whole["outputs"][1]["data"][3], ours[1]["probabilities"]["1"]);
    assert_eq!(whole["outputs"][0]["datatype"], "BYTES");
    let (status, code, _) = server.get("/v2/models/other").error();
    assert_eq!((status, code.as_str()), (404, "unknown_model"));
    for (inputs, text) in [
        (
            json!([{ "name": "features", "shape": [3, 3], "datatype": "FP64", "data": [1] }]),
            "the shape is not that of the data",
        ),
        (json!([{ "name": "features", "shape": [1, 1], "datatype": "BYTES", "data": ["a"] }]), "is not one of numbers"),
        (
            json!([{ "name": "features", "shape": [1, 1], "datatype": "FP64", "data": ["a"] }]),
            "the data are not numbers",
        ),
        (json!([{ "name": "features", "shape": [1, 2], "datatype": "FP64", "data": [1, 2] }]), "row 1 has 2 numbers"),
    ] {
        let (status, _, message) = infer(inputs).error();
        assert!(status == 400 && message.contains(text), "{message}");
    }
}

#[test]
fn events_tell_each_change_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = Some(folder.path().join("log"));
    let server = Running::start(Options { log, ..options(&files.checkpoint) });
    let document = server.get("/v1/openapi.json").json();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut next = || -> Value {
        let data = lines.find_map(|line| line.strip_prefix("data: ").map(String::from)).expect("an event");
        serde_json::from_str(&data).unwrap()
    };
    let first = next();
    assert_eq!((&first["sequence"], &first["rows"]), (&json!(0), &json!(600)));
    let names = || -> BTreeSet<String> {
        let features = server.get("/v1/features").json()["outputs"][0]["features"].clone();
        features.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_string()).collect()
    };
    let before = names();
    let rows = svmlight(200, 9).lines().map(|line| format!("{line} 77:1\n")).collect::<String>();
    assert_eq!(server.post("/v1/learn", "text/x-svmlight", &rows).status, 200);
    let second = next();
    assert_eq!((&second["sequence"], &second["rows"]), (&json!(1), &json!(800)));
    let after = names();
    assert_eq!(second["entered"], json!(after.difference(&before).collect::<Vec<_>>()), "{second}");
    assert_eq!(second["left"], json!(before.difference(&after).collect::<Vec<_>>()), "{second}");
    assert_ne!(before, after, "the test needs a change");
    let (old, new, recent) = (&first["loss"], &second["loss"], &second["recent_loss"]);
    let [old, new, recent] = [old, new, recent].map(|value| value.as_f64().unwrap());
    assert!((new * 800.0 - old * 600.0 - recent * 200.0).abs() < 1e-9, "{first} {second}");
    let schema = &document["paths"]["/v1/events"]["get"]["responses"]["200"]["content"]["text/event-stream"]["schema"];
    [&first, &second].into_iter().for_each(|event| check(&document, schema, event, "event").unwrap());
    server.stop();
    assert!(lines.all(|line| !line.starts_with("data:")), "the stream ends with the server");
}

#[test]
fn counters_count() {
    let folder = tempfile::tempdir().unwrap();
    let files = fitted(folder.path(), &svmlight(600, 1), "svm", &one_pass(Method::Ftrl));
    let log = Some(folder.path().join("log"));
    let server = Running::start(Options { log, ..options(&files.checkpoint) });
    assert_eq!(server.post("/v1/score", "text/x-svmlight", "1 1:1 50:1\n1 1:1\n").status, 200);
    assert_eq!(server.post("/v1/score", "text/x-svmlight", "1 1:z\n").status, 400);
    assert_eq!(server.post("/v1/learn", "text/x-svmlight", &svmlight(9, 2)).status, 200);
    assert_eq!(server.get("/v1/model").status, 200);
    let text = server.get("/metrics").text().to_string();
    for line in [
        "tamis_requests_total{route=\"/v1/score\",code=\"200\"} 1",
        "tamis_requests_total{route=\"/v1/score\",code=\"400\"} 1",
        "tamis_rows_scored_total 2",
        "tamis_rows_learned_total 9",
        "tamis_unknown_features_total 1",
        "tamis_model_sequence 1",
        "tamis_pending_labels 0",
        "tamis_log_sync_seconds_count 1",
        "# TYPE tamis_request_seconds histogram",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    let bytes = text.lines().find_map(|line| line.strip_prefix("tamis_log_bytes ")).unwrap().parse::<u64>().unwrap();
    let file = folder.path().join("log/000001/00000000000000000001.tamislog");
    assert_eq!(bytes, std::fs::metadata(file).unwrap().len());
}
