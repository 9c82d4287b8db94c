//! What a linear model computes, in terms that every language has.

use std::collections::{BTreeMap, BTreeSet};

use super::values::{Resolver, Value};
use super::{ExportError, Target, check};
use crate::data::Label;
use crate::loss::Loss;
use crate::model::{Model, Products, Task};
use crate::parse::Missing;
use crate::parse::date::DateForm;
use crate::parse::number_form::NumberForm;
use crate::parse::schema::ModelSchema;
use crate::parse::{MissingAmong, missing_texts};

/// A linear model: margins are intercepts and the sum of weights times values.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearForm {
    /// The columns of a row, in the order of their first use.
    pub inputs: Vec<Input>,
    /// Weighted values; levels of categories are in `tables`.
    pub terms: Vec<Term>,
    /// The weights of levels, one table a column.
    pub tables: Vec<LevelTable>,
    /// The intercept of each output.
    pub intercepts: Vec<f64>,
    /// What becomes of the margins.
    pub answer: Answer,
    /// Names of columns that the model knows, used or not: outputs of an export should not have them.
    pub known_columns: BTreeSet<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// What its cells are.
    pub kind: InputKind,
    /// What a missing cell is.
    pub missing: WhenMissing,
    /// Texts that stand for a missing cell.
    pub markers: Vec<String>,
    /// Those of them that the user added.
    pub own_markers: Vec<String>,
    /// Whether a cell that is no number or no date is missing, too.
    pub odd_is_missing: bool,
}

/// What the cells of a column are.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the comments say what the fields are")]
pub enum InputKind {
    /// Numbers in some form of writing.
    Number { form: NumberForm },
    /// Categories, and the levels with a feature of their own if others share one.
    Category { levels: Option<Vec<String>> },
    /// Dates in some form of writing.
    Date { form: DateForm },
}

/// What a missing cell is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WhenMissing {
    /// This number, or no level.
    Is(f64),
    /// The row has no prediction.
    NoPrediction,
}

impl WhenMissing {
    /// The number that stands for a missing cell.
    pub fn fill(self) -> Option<f64> {
        if let WhenMissing::Is(number) = self { Some(number) } else { None }
    }

    /// Whether it is exactly zero.
    pub fn is_zero(self) -> bool {
        self == WhenMissing::Is(0.0)
    }
}

/// A value with its weight for each output.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The name of the feature.
    pub feature: String,
    /// Its value.
    pub value: Value,
    /// Its weights.
    pub weights: Vec<f64>,
}

/// The weights of the levels of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelTable {
    /// The column.
    pub input: usize,
    /// Levels with their weights.
    pub levels: Vec<(String, Vec<f64>)>,
    /// The weights of all other levels.
    pub unlisted: Vec<f64>,
    /// The weights of a missing cell; `None` if the row then has no prediction.
    pub missing: Option<Vec<f64>>,
}

/// What becomes of the margins of a row.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the comments say what the fields are")]
pub enum Answer {
    /// The margin is the predicted number.
    Number,
    /// The predicted number is e to the margin.
    Exponential,
    /// Two classes and one margin: above the boundary it is the second. With probabilities, that of the second is σ(m).
    TwoClasses { classes: [Label; 2], boundary: f64, has_probabilities: bool },
    /// A margin for each class, of which the first largest wins. With probabilities, they are ∝ √(σ(m)·eᵐ).
    Classes { classes: Vec<Label>, has_probabilities: bool },
}

impl Answer {
    pub(super) fn new(model: &Model) -> Self {
        let has_probabilities = model.gives_probabilities();
        match (&model.task, model.outputs.len()) {
            (Task::Regression, _) if model.loss.needs_counts() => Answer::Exponential,
            (Task::Regression, _) => Answer::Number,
            (Task::Classes(classes), 1) => {
                let boundary = model.loss.build(model.recipe.loss_shape(model.loss)).boundary();
                let classes = [classes[0].clone(), classes[1].clone()];
                Answer::TwoClasses { classes, boundary, has_probabilities }
            }
            (Task::Classes(classes), _) => Answer::Classes { classes: classes.clone(), has_probabilities },
        }
    }

    /// The classes; empty for numbers.
    pub fn classes(&self) -> &[Label] {
        match self {
            Answer::Number | Answer::Exponential => &[],
            Answer::TwoClasses { classes, .. } => classes,
            Answer::Classes { classes, .. } => classes,
        }
    }

    /// Whether classes have probabilities.
    pub fn has_probabilities(&self) -> bool {
        matches!(
            self,
            Answer::TwoClasses { has_probabilities: true, .. } | Answer::Classes { has_probabilities: true, .. }
        )
    }

    /// The classes as whole numbers, if they are.
    pub fn whole_classes(&self) -> Option<Vec<i64>> {
        let whole = |label: &Label| match label {
            Label::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
            _ => None,
        };
        self.classes().iter().map(whole).collect()
    }
}

impl Input {
    /// A number of rows that list their features: what is not listed is zero.
    pub(super) fn sparse(name: &str) -> Self {
        Input {
            name: name.into(),
            kind: InputKind::Number { form: NumberForm::default() },
            missing: WhenMissing::Is(0.0),
            markers: Vec::new(),
            own_markers: Vec::new(),
            odd_is_missing: false,
        }
    }

    /// The markers of a missing cell that are numbers.
    pub(super) fn numeric_markers(&self) -> impl Iterator<Item = f64> {
        let numbers = self.own_markers.iter().filter_map(|text| text.parse::<f64>().ok());
        numbers.filter(|number| number.is_finite())
    }

    /// The levels with a feature of their own, if others share one.
    pub(super) fn own_levels(&self) -> &[String] {
        if let InputKind::Category { levels: Some(own) } = &self.kind { own } else { &[] }
    }

    /// The levels with a feature of their own, without one that stands for all others.
    pub(super) fn levels_beside(&self, level: &str) -> impl Iterator<Item = &String> {
        self.own_levels().iter().filter(move |one| *one != level)
    }

    /// A column of a table; `None` for texts and lists.
    pub(super) fn of_column(schema: &ModelSchema, name: &str) -> Option<Self> {
        let is_in = |names: &[String]| names.iter().any(|one| one == name);
        let (kind, among) = match schema.dates.get(name) {
            Some(column) => (InputKind::Date { form: column.form }, MissingAmong::Numbers),
            None if is_in(&schema.numeric) => {
                let form = schema.forms.get(name).cloned().unwrap_or_default();
                (InputKind::Number { form }, MissingAmong::Numbers)
            }
            None if is_in(&schema.categorical) => {
                (InputKind::Category { levels: schema.levels.get(name).cloned() }, MissingAmong::Categories)
            }
            None => return None,
        };
        let mean = match kind {
            InputKind::Category { .. } => Some(0.0),
            _ => schema.means.get(name).copied(),
        };
        let missing = match schema.missing {
            Missing::Error | Missing::SkipRow => WhenMissing::NoPrediction,
            Missing::Zero => WhenMissing::Is(0.0),
            Missing::Auto | Missing::Mean | Missing::Indicator => {
                mean.map_or(WhenMissing::NoPrediction, WhenMissing::Is)
            }
        };
        Some(Input {
            name: name.into(),
            kind,
            missing,
            markers: missing_texts(among, &schema.na),
            own_markers: schema.na.clone(),
            odd_is_missing: is_in(&schema.odd_is_missing),
        })
    }
}

impl LinearForm {
    /// The form of a model for a target.
    pub fn new(model: &Model, target: Target) -> Result<Self, ExportError> {
        check(model)?;
        let outputs = model.outputs.len();
        let mut resolver = Resolver::new(model, target);
        let mut terms = Vec::new();
        for (feature, weights) in weights_by_feature(model) {
            let value = match factors(model, feature) {
                Some([a, b]) => Value::Product(Box::new([resolver.value(&a)?, resolver.value(&b)?])),
                None => resolver.value(feature)?,
            };
            terms.push(Term { feature: feature.into(), value, weights });
        }
        if let Some(offset) = model.recipe.offset() {
            let (feature, value) = (offset.to_string(), resolver.value(offset)?);
            terms.push(Term { feature, value, weights: vec![1.0; outputs] });
        }
        let inputs = resolver.inputs;
        let (levels, terms) = terms.into_iter().partition(|term| matches!(term.value, Value::Level { .. }));
        Ok(LinearForm {
            tables: tables(&inputs, levels, outputs),
            inputs,
            terms,
            intercepts: model.outputs.iter().map(|output| output.intercept).collect(),
            answer: Answer::new(model),
            known_columns: model.columns.iter().flat_map(ModelSchema::columns).cloned().collect(),
        })
    }
}

/// The features of all outputs with their weights, in the order of the file.
pub(super) fn weights_by_feature(model: &Model) -> Vec<(&str, Vec<f64>)> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: Vec<(&str, Vec<f64>)> = Vec::new();
    for (number, output) in model.outputs.iter().enumerate() {
        for feature in &output.features {
            let place = *places.entry(&feature.name).or_insert_with(|| {
                found.push((&feature.name, vec![0.0; model.outputs.len()]));
                found.len() - 1
            });
            found[place].1[number] = feature.weight;
        }
    }
    found
}

/// The two features whose product a feature is.
pub(super) fn factors(model: &Model, feature: &str) -> Option<[String; 2]> {
    if let Some(pair) = model.recipe.factors(feature) {
        return Some(pair.clone());
    }
    let products = Products::new(model.recipe.interactions()?, model.columns.clone());
    products.split(feature).map(|(a, b)| [a.to_string(), b.to_string()])
}

/// A level with its weights, and whether it stands for unlisted levels and for missing cells, too.
struct LevelTerm {
    level: String,
    or_unlisted: bool,
    or_missing: bool,
    weights: Vec<f64>,
}

/// The tables of all columns of categories.
fn tables(inputs: &[Input], terms: Vec<Term>, outputs: usize) -> Vec<LevelTable> {
    let mut by_input: BTreeMap<usize, Vec<LevelTerm>> = BTreeMap::new();
    for Term { value, weights, .. } in terms {
        if let Value::Level { input, level, or_unlisted, or_missing } = value {
            by_input.entry(input).or_default().push(LevelTerm { level, or_unlisted, or_missing, weights });
        }
    }
    by_input.into_iter().map(|(input, levels)| table(input, &inputs[input], levels, outputs)).collect()
}

fn table(input: usize, column: &Input, terms: Vec<LevelTerm>, outputs: usize) -> LevelTable {
    let zero = || vec![0.0; outputs];
    let unlisted = terms.iter().find(|term| term.or_unlisted).map_or_else(zero, |term| term.weights.clone());
    let missing = terms.iter().find(|term| term.or_missing).map_or_else(zero, |term| term.weights.clone());
    let own = column.own_levels();
    // A level with a feature of its own and no weight is none of the others.
    let is_silent = |level: &&String| unlisted != zero() && terms.iter().all(|term| term.level != **level);
    let mut levels: Vec<(String, Vec<f64>)> =
        own.iter().filter(is_silent).map(|level| (level.clone(), zero())).collect();
    let listed = terms.into_iter().filter(|term| !term.or_unlisted || own.contains(&term.level));
    levels.extend(listed.map(|term| (term.level, term.weights)));
    LevelTable { input, levels, unlisted, missing: column.missing.fill().map(|_| missing) }
}
