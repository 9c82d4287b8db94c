//! A linear model as SQL for tables in long form: an id, a feature and a value in each row, absent features being zero.

use super::linear_form::{Answer, factors, weights_by_feature};
use super::sql::{Dialect, bounded_exp, check_name, class_part, literal};
use super::{ExportError, ExportOptions, check};
use crate::data::Label;
use crate::model::Model;

/// The query of a model. Features have the names that the model gives them.
pub(super) fn write(model: &Model, options: &ExportOptions) -> Result<String, ExportError> {
    check(model)?;
    let dialect = options.dialect;
    let mut weights = Vec::new();
    for (feature, by_output) in weights_by_feature(model) {
        check_name(feature)?;
        if factors(model, feature).is_some() {
            return Err(ExportError::Feature {
                feature: feature.into(),
                what: "a product of two",
                target: "SQL in long form",
                instead: "export it in wide form",
            });
        }
        for (output, weight) in by_output.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            weights.push(vec![dialect.string(feature), output.to_string(), literal(*weight)]);
        }
    }
    if let Some(offset) = model.recipe.offset() {
        (0..model.outputs.len())
            .for_each(|output| weights.push(vec![dialect.string(offset), output.to_string(), literal(1.0)]));
    }
    if weights.is_empty() {
        // A list of values may not be empty; no feature has an empty name.
        weights.push(vec![dialect.string(""), "0".into(), literal(0.0)]);
    }
    let answer = Answer::new(model);
    let labels = match &answer {
        Answer::Classes { classes, .. } => classes.clone(),
        _ => vec![Label::Absent],
    };
    let intercepts: Vec<Vec<String>> = model
        .outputs
        .iter()
        .zip(&labels)
        .enumerate()
        .map(|(number, (output, label))| vec![number.to_string(), dialect.label(label), literal(output.intercept)])
        .collect();
    Ok(query(&answer, &weights, &intercepts, options))
}

fn query(answer: &Answer, weights: &[Vec<String>], intercepts: &[Vec<String>], options: &ExportOptions) -> String {
    let dialect = options.dialect;
    let (id, table) = (dialect.identifier(&options.id), dialect.table(&options.table));
    let [feature, value] = ["feature", "value"].map(|name| dialect.identifier(name));
    format!(
        "-- The predictions of a Tamis model for a table in long form, in {} SQL: one row for each feature of a row that is\n\
         -- not zero. A row without any feature is not in such a table, and has no prediction.\n\
         WITH {},\n{},\n\
         tamis_ids AS (SELECT DISTINCT d.{id} AS id FROM {table} AS d),\n\
         tamis_sums AS (\n  SELECT d.{id} AS id, w.output AS output, SUM(w.weight * d.{value}) AS total\n  \
         FROM {table} AS d JOIN tamis_weights AS w ON w.feature = d.{feature}\n  GROUP BY d.{id}, w.output\n),\n\
         tamis_margins AS (\n  SELECT i.id AS id, b.output AS output, b.class AS class, b.intercept + COALESCE(s.total, 0e0) AS margin\n  \
         FROM tamis_ids AS i CROSS JOIN tamis_intercepts AS b\n  \
         LEFT JOIN tamis_sums AS s ON s.id = i.id AND s.output = b.output\n)\n\
         SELECT id AS {id},\n{}\nFROM tamis_margins\nORDER BY id, output\n",
        dialect.name(),
        values(dialect, "tamis_weights", &["feature", "output", "weight"], weights),
        values(dialect, "tamis_intercepts", &["output", "class", "intercept"], intercepts),
        columns(answer, dialect),
    )
}

/// The columns of the prediction: of several classes, a row for each class.
fn columns(answer: &Answer, dialect: Dialect) -> String {
    match answer {
        Answer::Number => "  margin AS prediction".into(),
        Answer::Exponential => format!("  margin,\n  {} AS prediction", bounded_exp("margin")),
        Answer::TwoClasses { classes, boundary, has_probabilities } => {
            let [first, second] = classes.each_ref().map(|class| dialect.label(class));
            let label = format!("CASE WHEN margin > {} THEN {second} ELSE {first} END", literal(*boundary));
            let probability = format!("1e0 / (1e0 + {})", bounded_exp("(-margin)"));
            let name = dialect.identifier(&format!("probability_{}", classes[1]));
            let probability = if *has_probabilities { format!(",\n  {probability} AS {name}") } else { String::new() };
            format!("  margin,\n  {label} AS label{probability}")
        }
        Answer::Classes { has_probabilities, .. } => {
            let label = "FIRST_VALUE(class) OVER (PARTITION BY id ORDER BY margin DESC, output)";
            let part = class_part("margin");
            let probability = format!(",\n  {part} / SUM({part}) OVER (PARTITION BY id) AS probability");
            let probability = if *has_probabilities { probability } else { String::new() };
            format!("  class,\n  margin,\n  {label} AS label{probability}")
        }
    }
}

/// A table of literals.
fn values(dialect: Dialect, name: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    if dialect == Dialect::BigQuery {
        let named = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().zip(columns).map(|(cell, name)| format!("{cell} AS {name}")).collect();
            format!("  STRUCT({})", cells.join(", "))
        };
        let rows: Vec<String> = rows.iter().map(named).collect();
        return format!("{name} AS (SELECT * FROM UNNEST([\n{}\n]))", rows.join(",\n"));
    }
    let rows: Vec<String> = rows.iter().map(|row| format!("  ({})", row.join(", "))).collect();
    format!("{name} ({}) AS (VALUES\n{}\n)", columns.join(", "), rows.join(",\n"))
}
