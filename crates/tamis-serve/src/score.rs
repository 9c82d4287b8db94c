//! `POST /v1/score`: a prediction for each row, as JSON lines.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use tamis::data::{Label, RawRows};
use tamis::io::Block;
use tamis::model::{Explanation, Prediction};
use tamis::parse::row_log::LONGEST_KEY;

use crate::app::App;
use crate::body::{self, Received, RowOptions};
use crate::error::ApiError;
use crate::learner::{Command, RememberJob};
use crate::pending::NamedRows;
use crate::served::Served;

/// What a request may ask for in its query.
#[derive(Clone, Debug, Default)]
struct ScoreQuery {
    explain: bool,
    id: Option<String>,
    remember: bool,
    rows: RowOptions,
}

impl ScoreQuery {
    fn of(pairs: HashMap<String, String>) -> Result<Self, ApiError> {
        let mut query = ScoreQuery::default();
        for (name, value) in pairs {
            let flag = || match value.as_str() {
                "1" | "true" => Ok(true),
                "0" | "false" => Ok(false),
                _ => Err(ApiError::bad("bad_query", format!("{name}={value}: expected 1 or 0"))),
            };
            match (name.as_str(), value.as_str()) {
                ("explain", _) => query.explain = flag()?,
                ("remember", _) => query.remember = flag()?,
                ("id", _) => query.id = Some(value),
                ("id_column", _) => query.rows.id_column = Some(value),
                ("missing_columns", "zero" | "error") => query.rows.missing_columns_are_zero = value == "zero",
                _ => {
                    let text = format!(
                        "{name}={value} is not known; a query has explain=1, remember=1, id=ID, id_column=COLUMN or \
                         missing_columns=zero"
                    );
                    return Err(ApiError::bad("bad_query", text));
                }
            }
        }
        Ok(query)
    }

    /// Whether the rows are to wait for their labels.
    fn waits(&self) -> bool {
        self.remember || self.id.is_some()
    }
}

/// Scores the rows of a request.
pub async fn score(
    State(app): State<Arc<App>>,
    Query(query): Query<HashMap<String, String>>,
    request: Request,
) -> Result<Response, ApiError> {
    let query = ScoreQuery::of(query)?;
    if query.waits() {
        app.check_learns()?;
    }
    let work = move |received| answer(&query, received);
    let ((lines, rows), _held) = body::receive(app.clone(), request, work).await?;
    if !rows.is_empty() {
        app.ask(|reply| Command::Remember(RememberJob { rows, reply })).await?;
    }
    let mut response = Body::from(lines).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(response)
}

/// The lines of the answer, and the rows that are to wait for their labels.
fn answer(query: &ScoreQuery, received: Received) -> Result<(Vec<u8>, NamedRows), ApiError> {
    let Received { app, served, headers, bytes } = received;
    let (app, served) = (&*app, &*served);
    if query.explain && !served.predictor.is_linear() {
        let message = "explain=1 is for linear models: a kernel model has curves instead (tamis inspect, tamis report)";
        return Err(ApiError::bad("bad_query", message));
    }
    let mut block = body::rows(served, &headers, bytes, &query.rows, &app.options.limits)?;
    if let Some(id) = &query.id {
        if block.rows.len() != 1 {
            return Err(ApiError::bad(
                "bad_query",
                format!("id={id} is for one row, and there are {}", block.rows.len()),
            ));
        }
        block.rows.tags = vec![id.as_str().into()];
    }
    let scored = Scored::of(app, served, &block)?;
    let explanations = query.explain.then(|| served.predictor.explain(&block.rows));
    let mut lines = Vec::with_capacity(128 * block.rows.len());
    for row in 0..block.rows.len() {
        let mut line = scored.line(served, row);
        if let Some(tag) = block.rows.tags.get(row).filter(|tag| !tag.is_empty()) {
            line.insert("id".into(), json!(tag));
        }
        if let Some(explanations) = &explanations {
            line.insert("explanation".into(), explanation(served, &explanations[row]));
        }
        serde_json::to_writer(&mut lines, &line).expect("plain data becomes JSON");
        lines.push(b'\n');
    }
    let waiting = if query.waits() { named(block.rows)? } else { Vec::new() };
    Ok((lines, waiting))
}

/// The predictions of the rows of a request.
pub struct Scored {
    /// One for each row.
    pub predictions: Vec<Prediction>,
    unknown: Vec<usize>,
}

impl Scored {
    /// Predicts rows.
    pub fn of(app: &App, served: &Served, block: &Block) -> Result<Scored, ApiError> {
        let predictions = served.predictor.predict(&block.rows);
        if let Some(row) = predictions.iter().position(|prediction| !prediction.is_finite()) {
            let text = "the prediction is not a finite number: a value of the row is too large";
            return Err(ApiError::bad("bad_row", text).at_line(block.first_line + u64::from(block.rows.lines[row])));
        }
        let unknown = served.predictor.unknown_features(&block.rows);
        app.metrics.rows_scored.fetch_add(predictions.len() as u64, Ordering::Relaxed);
        app.metrics.unknown_features.fetch_add(unknown.iter().sum::<usize>() as u64, Ordering::Relaxed);
        Ok(Scored { predictions, unknown })
    }

    /// The predicted class or number of a row.
    pub fn label(&self, served: &Served, row: usize) -> Value {
        let prediction = &self.predictions[row];
        match prediction.class {
            Some(class) => json!(served.model.classes()[class]),
            None => json!(prediction.response),
        }
    }

    /// The probability of each class, if the model gives probabilities.
    pub fn probabilities(&self, served: &Served, row: usize) -> Option<Vec<f64>> {
        served.predictor.probabilities(&self.predictions[row].margins)
    }

    fn line(&self, served: &Served, row: usize) -> Map<String, Value> {
        let mut line = Map::new();
        line.insert("prediction".into(), self.label(served, row));
        if let Some(probabilities) = self.probabilities(served, row) {
            let classes = served.model.classes().iter().map(Label::to_string);
            line.insert("probabilities".into(), classes.zip(probabilities.iter().map(|one| json!(one))).collect());
        }
        line.insert("margin".into(), by_output(served, &self.predictions[row].margins));
        line.insert("unknown_features".into(), json!(self.unknown[row]));
        line
    }
}

/// A number for each output: alone if there is one, else by class.
fn by_output(served: &Served, numbers: &[f64]) -> Value {
    match numbers {
        [number] => json!(number),
        _ => {
            let class = |output: usize| served.model.outputs[output].class.as_ref().map(Label::to_string);
            let named = numbers
                .iter()
                .enumerate()
                .map(|(output, number)| (class(output).unwrap_or_else(|| output.to_string()), json!(number)));
            Value::Object(named.collect())
        }
    }
}

fn explanation(served: &Served, found: &Explanation) -> Value {
    let part = |one: &tamis::model::Contribution| json!({ "feature": one.feature, "value": one.value, "contribution": by_output(served, &one.parts) });
    json!({
        "intercept": by_output(served, &found.intercepts),
        "contributions": found.contributions.iter().map(part).collect::<Vec<_>>(),
    })
}

/// Rows that are to wait for their labels, with their ids.
fn named(mut rows: RawRows) -> Result<NamedRows, ApiError> {
    let mut named = Vec::with_capacity(rows.len());
    for row in (0..rows.len()).rev() {
        let mut one = rows.split_off(row);
        let id = one.tags.pop().unwrap_or_default();
        let bad = |text: String| ApiError::bad("no_id", text).at_line(row as u64 + 1);
        if id.is_empty() {
            let text = "remember=1 needs an id for each row: `tag` in JSON lines, the tag of Vowpal Wabbit, or \
                        id_column=COLUMN for tables";
            return Err(bad(text.into()));
        }
        if id.len() > LONGEST_KEY {
            return Err(bad(format!("an id has at most {LONGEST_KEY} bytes, and this one has {}", id.len())));
        }
        if one.weight(0) == 0.0 {
            return Err(bad(format!("the row {id:?} has weight 0: it would not be learned")));
        }
        one.tags.clear();
        named.push((id.into_string(), one));
    }
    named.reverse();
    Ok(named)
}
