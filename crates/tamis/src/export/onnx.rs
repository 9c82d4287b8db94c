//! A linear model as an ONNX graph over its columns: numbers are doubles and categories strings, one input of shape (rows, 1)
//! each, as the converters of scikit-learn have it.
//!
//! Outputs are `margins`, and `prediction` for numbers, or `label` and `probabilities` for classes. Doubles keep the digits of
//! inputs that are far from zero, such as years. A missing number is NaN, a missing category the empty string.

use std::collections::BTreeSet;

use super::ExportError;
use super::linear_form::{Answer, Input, InputKind, LevelTable, LinearForm};
use super::protobuf::Message;
use super::values::Value;
use crate::data::Label;

const OPSET: i64 = 15;
const ML_OPSET: i64 = 2;
const IR_VERSION: i64 = 8;

/// Types of elements.
const INT64: i64 = 7;
const STRING: i64 = 8;
const DOUBLE: i64 = 11;

/// The file of a model.
pub(super) fn write(form: &LinearForm) -> Result<Vec<u8>, ExportError> {
    if form.inputs.is_empty() {
        return Err(ExportError::NoFeatures { target: "ONNX" });
    }
    if let Some(input) = form.inputs.iter().find(|input| input.name.is_empty()) {
        return Err(ExportError::Name { name: input.name.clone(), target: "ONNX" });
    }
    let mut graph = Graph { taken: form.inputs.iter().map(|input| input.name.clone()).collect(), ..Graph::default() };
    let margins = margins(form, &mut graph)?;
    let margins = graph.output("margins", &margins, DOUBLE, Some(form.intercepts.len()));
    answer(form, &margins, &mut graph);
    let inputs: Vec<Message> =
        form.inputs.iter().map(|input| tensor_info(&input.name, element(input), Some(1))).collect();
    let message = Message::default()
        .messages(1, &graph.nodes)
        .text(2, "tamis")
        .messages(5, &graph.constants)
        .messages(11, &inputs)
        .messages(12, &graph.outputs);
    let opset = |domain: &str, version: i64| Message::default().text(1, domain).number(2, version);
    Ok(Message::default()
        .number(1, IR_VERSION)
        .text(2, "tamis")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(7, &message)
        .messages(8, &[opset("", OPSET), opset("ai.onnx.ml", ML_OPSET)])
        .finish())
}

/// The tensor of the margins, of shape (rows, outputs).
fn margins(form: &LinearForm, graph: &mut Graph) -> Result<String, ExportError> {
    let outputs = form.intercepts.len();
    let mut total = graph.doubles(&[1, outputs], &form.intercepts);
    if !form.terms.is_empty() {
        let mut columns = Vec::new();
        for term in &form.terms {
            columns.push(value(form, &term.feature, &term.value, graph)?);
        }
        let values = graph.node("Concat", &columns, vec![integer("axis", 1)]);
        let weights: Vec<f64> = form.terms.iter().flat_map(|term| term.weights.iter().copied()).collect();
        let weights = graph.doubles(&[form.terms.len(), outputs], &weights);
        let product = graph.node("MatMul", &[values, weights], vec![]);
        total = graph.node("Add", &[product, total], vec![]);
    }
    for table in &form.tables {
        let column = &form.inputs[table.input];
        let found = lookup(column, table, graph);
        total = graph.node("Add", &[found, total], vec![]);
    }
    Ok(total)
}

/// The weights of the level of each row, of shape (rows, outputs).
fn lookup(column: &Input, table: &LevelTable, graph: &mut Graph) -> String {
    let outputs = table.unlisted.len();
    let missing = table.missing.clone().unwrap_or_else(|| vec![f64::NAN; outputs]);
    let mut keys: Vec<&str> = table.levels.iter().map(|(level, _)| level.as_str()).collect();
    let mut places: Vec<i64> = (0..keys.len() as i64).collect();
    for marker in column.markers.iter().map(String::as_str).chain([""]) {
        if !keys.contains(&marker) {
            keys.push(marker);
            places.push(table.levels.len() as i64);
        }
    }
    let mut rows: Vec<f64> = table.levels.iter().flat_map(|(_, weights)| weights.iter().copied()).collect();
    rows.extend(missing.iter().chain(&table.unlisted));
    let default = table.levels.len() as i64 + 1;
    let place = graph.encode(&column.name, &keys, &places, default);
    let rows = graph.doubles(&[table.levels.len() + 2, outputs], &rows);
    let found = graph.node("Gather", &[rows, place], vec![integer("axis", 0)]);
    let shape = graph.integers(&[2], &[-1, outputs as i64]);
    graph.node("Reshape", &[found, shape], vec![])
}

/// The value of a feature, of shape (rows, 1).
fn value(form: &LinearForm, feature: &str, of: &Value, graph: &mut Graph) -> Result<String, ExportError> {
    let column = |input: usize| &form.inputs[input];
    match of {
        Value::Number(input) => {
            let cell = number(column(*input), graph);
            let is_missing = graph.node("IsNaN", std::slice::from_ref(&cell), vec![]);
            let fill = graph.doubles(&[1, 1], &[of.when_missing(column(*input)).unwrap_or(f64::NAN)]);
            Ok(graph.node("Where", &[is_missing, fill, cell], vec![]))
        }
        Value::IsMissing(input) => {
            let cell = number(column(*input), graph);
            let is_missing = graph.node("IsNaN", &[cell], vec![]);
            Ok(graph.node("Cast", &[is_missing], vec![integer("to", DOUBLE)]))
        }
        Value::Level { input, level, or_unlisted, or_missing } => {
            let column = column(*input);
            let levels = match or_unlisted {
                true => column.levels_beside(level).map(|one| (one.clone(), vec![0.0])).collect(),
                false => vec![(level.clone(), vec![1.0])],
            };
            let flag = |is: bool| vec![f64::from(u8::from(is))];
            let missing = column.missing.fill().map(|_| flag(*or_missing));
            let table = LevelTable { input: *input, levels, unlisted: flag(*or_unlisted), missing };
            Ok(lookup(column, &table, graph))
        }
        Value::DatePart(..) | Value::DatePartIs(..) => Err(ExportError::Feature {
            feature: feature.into(),
            what: "a part of a date",
            target: "ONNX",
            instead: "export SQL, C or Python",
        }),
        Value::Product(pair) => {
            let [a, b] = [value(form, feature, &pair[0], graph)?, value(form, feature, &pair[1], graph)?];
            Ok(graph.node("Mul", &[a, b], vec![]))
        }
    }
}

/// The number of a cell; NaN if it is a marker of a missing value.
fn number(column: &Input, graph: &mut Graph) -> String {
    let mut cell = column.name.clone();
    for marker in column.numeric_markers() {
        let [marker, nan] = [marker, f64::NAN].map(|one| graph.doubles(&[1, 1], &[one]));
        let is_marker = graph.node("Equal", &[cell.clone(), marker], vec![]);
        cell = graph.node("Where", &[is_marker, nan, cell], vec![]);
    }
    cell
}

/// The outputs of the prediction.
fn answer(form: &LinearForm, margins: &str, graph: &mut Graph) {
    let margins = margins.to_string();
    match &form.answer {
        Answer::Number => {
            let copy = graph.node("Identity", &[margins], vec![]);
            graph.output("prediction", &copy, DOUBLE, Some(1));
        }
        Answer::Exponential => {
            let power = graph.node("Exp", &[margins], vec![]);
            graph.output("prediction", &power, DOUBLE, Some(1));
        }
        Answer::TwoClasses { boundary, has_probabilities, .. } => {
            let boundary = graph.doubles(&[1, 1], &[*boundary]);
            let is_second = graph.node("Greater", &[margins.clone(), boundary], vec![]);
            let number = graph.node("Cast", &[is_second], vec![integer("to", INT64)]);
            label(form, &number, graph);
            if *has_probabilities {
                let second = graph.node("Sigmoid", &[margins], vec![]);
                let one = graph.doubles(&[1, 1], &[1.0]);
                let first = graph.node("Sub", &[one, second.clone()], vec![]);
                let both = graph.node("Concat", &[first, second], vec![integer("axis", 1)]);
                graph.output("probabilities", &both, DOUBLE, Some(2));
            }
        }
        Answer::Classes { classes, has_probabilities } => {
            let best =
                graph.node("ArgMax", std::slice::from_ref(&margins), vec![integer("axis", 1), integer("keepdims", 1)]);
            label(form, &best, graph);
            if *has_probabilities {
                let logs = half_log_parts(&margins, graph);
                let shares = graph.node("Softmax", &[logs], vec![integer("axis", 1)]);
                graph.output("probabilities", &shares, DOUBLE, Some(classes.len()));
            }
        }
    }
}

/// (m + ln σ(m)) / 2, without overflow: ln σ(m) = min(m, 0) − ln(1 + e^−|m|).
fn half_log_parts(margins: &str, graph: &mut Graph) -> String {
    let [zero, one, half] = [0.0, 1.0, 0.5].map(|number| graph.doubles(&[1, 1], &[number]));
    let margins = margins.to_string();
    let size = graph.node("Abs", std::slice::from_ref(&margins), vec![]);
    let negative = graph.node("Neg", &[size], vec![]);
    let power = graph.node("Exp", &[negative], vec![]);
    let total = graph.node("Add", &[power, one], vec![]);
    let log = graph.node("Log", &[total], vec![]);
    let is_negative = graph.node("Less", &[margins.clone(), zero.clone()], vec![]);
    let lower = graph.node("Where", &[is_negative, margins.clone(), zero], vec![]);
    let log = graph.node("Sub", &[lower, log], vec![]);
    let sum = graph.node("Add", &[margins, log], vec![]);
    graph.node("Mul", &[sum, half], vec![])
}

/// The label of each row: whole numbers, or texts.
fn label(form: &LinearForm, number: &str, graph: &mut Graph) {
    let (classes, kind) = match form.answer.whole_classes() {
        Some(numbers) => (graph.integers(&[numbers.len()], &numbers), INT64),
        None => (graph.strings(&form.answer.classes().iter().map(Label::to_string).collect::<Vec<_>>()), STRING),
    };
    let found = graph.node("Gather", &[classes, number.into()], vec![integer("axis", 0)]);
    let shape = graph.integers(&[1], &[-1]);
    let found = graph.node("Reshape", &[found, shape], vec![]);
    graph.output("label", &found, kind, None);
}

fn element(input: &Input) -> i64 {
    if matches!(input.kind, InputKind::Category { .. }) { STRING } else { DOUBLE }
}

/// A graph in the making: nodes in the order in which they are computed.
#[derive(Default)]
struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    outputs: Vec<Message>,
    /// Names of tensors.
    taken: BTreeSet<String>,
    made: usize,
}

impl Graph {
    /// A name that no other tensor has.
    fn name(&mut self, wish: &str) -> String {
        let mut name = wish.to_string();
        while !self.taken.insert(name.clone()) {
            name = format!("tamis_{name}");
        }
        name
    }

    fn fresh(&mut self) -> String {
        self.made += 1;
        self.name(&format!("tamis_{}", self.made))
    }

    /// Adds a node with one output.
    fn node(&mut self, operator: &str, inputs: &[String], attributes: Vec<Message>) -> String {
        self.node_in("", operator, inputs, attributes)
    }

    fn node_in(&mut self, domain: &str, operator: &str, inputs: &[String], attributes: Vec<Message>) -> String {
        let output = self.fresh();
        let node = inputs.iter().fold(Message::default(), |node, input| node.text(1, input));
        let node = node.text(2, &output).text(4, operator).messages(5, &attributes);
        self.nodes.push(if domain.is_empty() { node } else { node.text(7, domain) });
        output
    }

    /// Numbers for texts.
    fn encode(&mut self, input: &str, keys: &[&str], values: &[i64], default: i64) -> String {
        let attribute = |name: &str, kind: i64| Message::default().text(1, name).number(20, kind);
        let keys = keys.iter().fold(attribute("keys_strings", 8), |all, key| all.text(9, key));
        let values = values.iter().fold(attribute("values_int64s", 7), |all, value| all.number(8, *value));
        let attributes = vec![keys, values, integer("default_int64", default)];
        self.node_in("ai.onnx.ml", "LabelEncoder", &[input.to_string()], attributes)
    }

    fn constant(&mut self, dims: &[usize], kind: i64) -> (String, Message) {
        let name = self.fresh();
        let tensor = dims.iter().fold(Message::default(), |tensor, size| tensor.number(1, *size as i64));
        (name.clone(), tensor.number(2, kind).text(8, &name))
    }

    fn doubles(&mut self, dims: &[usize], numbers: &[f64]) -> String {
        let (name, tensor) = self.constant(dims, DOUBLE);
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.constants.push(tensor.bytes(9, &bytes));
        name
    }

    fn integers(&mut self, dims: &[usize], numbers: &[i64]) -> String {
        let (name, tensor) = self.constant(dims, INT64);
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.constants.push(tensor.bytes(9, &bytes));
        name
    }

    fn strings(&mut self, texts: &[String]) -> String {
        let (name, tensor) = self.constant(&[texts.len()], STRING);
        self.constants.push(texts.iter().fold(tensor, |tensor, text| tensor.text(6, text)));
        name
    }

    /// Makes a tensor an output of the graph; without columns it has one dimension.
    fn output(&mut self, wish: &str, tensor: &str, kind: i64, columns: Option<usize>) -> String {
        let name = self.name(wish);
        let node = Message::default().text(1, tensor).text(2, &name).text(4, "Identity");
        self.nodes.push(node);
        self.outputs.push(tensor_info(&name, kind, columns));
        name
    }
}

fn integer(name: &str, number: i64) -> Message {
    Message::default().text(1, name).number(3, number).number(20, 2)
}

/// The name, type and shape of a tensor with any number of rows.
fn tensor_info(name: &str, kind: i64, columns: Option<usize>) -> Message {
    let rows = Message::default().text(2, "rows");
    let shape = Message::default().message(1, &rows);
    let shape = columns.iter().fold(shape, |shape, size| shape.message(1, &Message::default().number(1, *size as i64)));
    let tensor = Message::default().number(1, kind).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}
