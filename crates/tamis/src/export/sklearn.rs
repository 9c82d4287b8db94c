//! A linear model as a Python file that builds a scikit-learn pipeline of stock parts, with the weights of the model. The
//! pipeline can be pickled, and neither the file nor Tamis is needed to load it again.
//!
//! A one-hot encoder gives zeros for levels that it does not know. So the weight of unlisted levels is part of the intercept
//! and is subtracted from the others. The probabilities of several classes, ∝ √(σ(m)·eᵐ), are those of a multinomial
//! logistic regression of the margins and the logarithms of their logistic function, with weights of one half.

use super::ExportError;
use super::linear_form::{Answer, Input, LinearForm};
use super::python::{label, list, string};
use super::values::Value;

/// The file of a model.
pub(super) fn write(form: &LinearForm) -> Result<String, ExportError> {
    let parts = Parts::new(form)?;
    let names = |inputs: &[usize]| {
        let names: Vec<String> = inputs.iter().map(|&input| string(&form.inputs[input].name)).collect();
        format!("[{}]", names.join(", "))
    };
    let fills: Vec<String> = parts.numbers.iter().map(|&input| fill(&form.inputs[input])).collect();
    let mut text = String::from(HEAD);
    text += &format!(
        "# Columns of numbers, and what stands for a missing one; NaN if nothing does.\nNUMBERS = {}\n",
        names(&parts.numbers)
    );
    text += &format!("FILLS = [{}]\n", fills.join(", "));
    text += &format!(
        "# Columns of numbers whose missing cells have a weight.\nINDICATORS = {}\n",
        names(&parts.indicators)
    );
    text += "# Columns of categories with their levels.\nCATEGORIES = {\n";
    for (input, levels, _) in &parts.categories {
        text += &format!("    {}: [{}],\n", string(&form.inputs[*input].name), levels.join(", "));
    }
    text += "}\n# Columns of categories without a prediction where a cell is missing, and texts that mean so.\nSTRICT = {\n";
    for (input, markers) in &parts.strict {
        text += &format!("    {}: [{}],\n", string(&form.inputs[*input].name), markers.join(", "));
    }
    text += "}\n# One row an output: numbers, indicators, then levels.\nWEIGHTS = np.array([\n";
    for row in &parts.weights() {
        text += &format!("    {},\n", list(row));
    }
    text += &format!("]).reshape({}, -1)\nINTERCEPTS = np.array({})\n", parts.outputs, list(&parts.intercepts));
    let classes: Vec<String> = form.answer.classes().iter().map(label).collect();
    if !classes.is_empty() {
        text += &format!("CLASSES = np.array([{}])\n", classes.join(", "));
    }
    text += FEATURES;
    text += match &form.answer {
        Answer::Number => NUMBER,
        Answer::Exponential => EXPONENTIAL,
        Answer::TwoClasses { has_probabilities: true, .. } => TWO_CLASSES,
        Answer::Classes { has_probabilities: true, .. } => CLASSES,
        Answer::TwoClasses { .. } | Answer::Classes { .. } => SCORES,
    };
    Ok(text)
}

fn fill(input: &Input) -> String {
    input.missing.fill().map_or("np.nan".into(), |number| format!("{number:?}"))
}

/// The columns of the design matrix with their weights.
struct Parts {
    outputs: usize,
    numbers: Vec<usize>,
    number_weights: Vec<Vec<f64>>,
    indicators: Vec<usize>,
    indicator_weights: Vec<Vec<f64>>,
    /// Columns of categories: levels as literals, and their weights.
    categories: Vec<(usize, Vec<String>, Vec<Vec<f64>>)>,
    /// Those of them whose missing cells allow no prediction: what stands for a missing cell, as literals.
    strict: Vec<(usize, Vec<String>)>,
    intercepts: Vec<f64>,
}

impl Parts {
    fn new(form: &LinearForm) -> Result<Self, ExportError> {
        let mut parts = Parts {
            outputs: form.intercepts.len(),
            numbers: Vec::new(),
            number_weights: Vec::new(),
            indicators: Vec::new(),
            indicator_weights: Vec::new(),
            categories: Vec::new(),
            strict: Vec::new(),
            intercepts: form.intercepts.clone(),
        };
        if let Answer::TwoClasses { boundary, .. } = form.answer {
            parts.intercepts[0] -= boundary;
        }
        for term in &form.terms {
            let refused = |what: &'static str| ExportError::Feature {
                feature: term.feature.clone(),
                what,
                target: "a scikit-learn pipeline",
                instead: "export SQL, C or Python",
            };
            match &term.value {
                Value::Number(input)
                    if form.inputs[*input].own_markers.iter().any(|text| text.parse::<f64>().is_ok()) =>
                {
                    return Err(refused("a number with markers of missing values"));
                }
                Value::Number(input) => {
                    parts.numbers.push(*input);
                    parts.number_weights.push(term.weights.clone());
                }
                Value::IsMissing(input) => {
                    parts.indicators.push(*input);
                    parts.indicator_weights.push(term.weights.clone());
                }
                Value::Product(_) => return Err(refused("a product of two")),
                Value::DatePart(..) | Value::DatePartIs(..) => return Err(refused("a part of a date")),
                Value::Level { .. } => unreachable!("levels are in tables"),
            }
        }
        parts.add_categories(form);
        Ok(parts)
    }

    fn add_categories(&mut self, form: &LinearForm) {
        for table in &form.tables {
            let column = &form.inputs[table.input];
            let beyond = |weights: &[f64]| weights.iter().zip(&table.unlisted).map(|(own, all)| own - all).collect();
            self.intercepts.iter_mut().zip(&table.unlisted).for_each(|(intercept, all)| *intercept += all);
            let mut levels: Vec<String> = table.levels.iter().map(|(level, _)| string(level)).collect();
            let mut weights: Vec<Vec<f64>> = table.levels.iter().map(|(_, weights)| beyond(weights)).collect();
            let markers = column.markers.iter().filter(|text| table.levels.iter().all(|(level, _)| level != *text));
            let mut markers: Vec<String> = markers.map(|text| string(text)).collect();
            markers.sort_unstable();
            markers.dedup();
            match &table.missing {
                // The encoder wants NaN in the last place.
                Some(missing) => {
                    for text in markers.into_iter().chain(["None".into(), "np.nan".into()]) {
                        levels.push(text);
                        weights.push(beyond(missing));
                    }
                }
                None => self.strict.push((table.input, markers)),
            }
            self.categories.push((table.input, levels, weights));
        }
    }

    /// One row an output.
    fn weights(&self) -> Vec<Vec<f64>> {
        let levels = self.categories.iter().flat_map(|(_, _, weights)| weights);
        let columns: Vec<&Vec<f64>> = self.number_weights.iter().chain(&self.indicator_weights).chain(levels).collect();
        (0..self.outputs).map(|output| columns.iter().map(|weights| weights[output]).collect()).collect()
    }
}

const HEAD: &str = r#""""Builds a scikit-learn pipeline with the weights of a Tamis model. This needs numpy, pandas and scikit-learn.

    from FILE import estimator
    pipeline = estimator()

The pipeline takes data frames with the columns of the model, in any order and with others beside them. Texts are compared
as they are: blanks around them are not removed. It can be pickled, and used without this file.
"""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures
from sklearn.utils import check_array

"#;

const FEATURES: &str = r#"

def features():
    """The columns of the design matrix, from those of a data frame."""
    parts = []
    if NUMBERS and np.isnan(FILLS).any():
        parts.append(("numbers", "passthrough", NUMBERS))
    elif NUMBERS:
        parts.append(("numbers", SimpleImputer(), NUMBERS))
    if INDICATORS:
        parts.append(("missing", MissingIndicator(features="all"), INDICATORS))
    for number, (column, levels) in enumerate(CATEGORIES.items()):
        encoder = OneHotEncoder(categories=[levels], handle_unknown="ignore", sparse_output=False)
        if column in STRICT:
            missing = {"to_replace": [*STRICT[column], None], "value": np.nan}
            mark = FunctionTransformer(pd.DataFrame.replace, kw_args=missing)
            check = FunctionTransformer(check_array, kw_args={"dtype": object})
            encoder = Pipeline([("mark", mark), ("check", check), ("levels", encoder)])
        parts.append((f"levels_{number}", encoder, [column]))
    row = {name: pd.Series([0.0]) for name in [*NUMBERS, *INDICATORS]}
    row |= {name: pd.Series(["a level"], dtype=object) for name in CATEGORIES}
    made = ColumnTransformer(parts).fit(pd.DataFrame(row))
    if NUMBERS and not np.isnan(FILLS).any():
        made.named_transformers_["numbers"].statistics_ = np.array(FILLS)
    return made


def fitted(model, targets, weights, intercepts):
    """A linear model with these weights. It is fitted to zeros first, so that it is complete."""
    model.fit(np.zeros((len(targets), weights.shape[-1])), targets)
    model.coef_, model.intercept_ = weights, intercepts
    return model
"#;

const NUMBER: &str = r#"

def estimator():
    """The pipeline; `predict` gives numbers."""
    from sklearn.linear_model import LinearRegression

    return Pipeline([("features", features()), ("model", fitted(LinearRegression(), [0.0], WEIGHTS[0], INTERCEPTS[0]))])
"#;

const EXPONENTIAL: &str = r#"

def estimator():
    """The pipeline; `predict` gives numbers."""
    from sklearn.linear_model import PoissonRegressor

    return Pipeline([("features", features()), ("model", fitted(PoissonRegressor(), [1.0], WEIGHTS[0], INTERCEPTS[0]))])
"#;

const TWO_CLASSES: &str = r#"

def estimator():
    """The pipeline; `predict` gives classes and `predict_proba` their probabilities, in the order of CLASSES."""
    from sklearn.linear_model import LogisticRegression

    model = fitted(LogisticRegression(), [0, 1], WEIGHTS, INTERCEPTS)
    model.classes_ = CLASSES
    return Pipeline([("features", features()), ("model", model)])
"#;

const SCORES: &str = r#"

def estimator():
    """The pipeline; `predict` gives classes and `decision_function` their scores."""
    from sklearn.svm import LinearSVC

    model = fitted(LinearSVC(), list(range(len(CLASSES))), WEIGHTS, INTERCEPTS)
    model.classes_ = CLASSES
    return Pipeline([("features", features()), ("model", model)])
"#;

const CLASSES: &str = r#"

def estimator():
    """The pipeline; `predict` gives classes and `predict_proba` their probabilities, in the order of CLASSES."""
    from scipy.special import log_expit
    from sklearn.decomposition import TruncatedSVD
    from sklearn.linear_model import LogisticRegression

    bias = PolynomialFeatures(degree=1).fit(np.zeros((1, WEIGHTS.shape[1])))
    margins = TruncatedSVD(len(CLASSES))
    margins.components_ = np.column_stack([INTERCEPTS, WEIGHTS])
    margins.n_features_in_ = margins.components_.shape[1]
    both = FeatureUnion([("margins", "passthrough"), ("logs", FunctionTransformer(log_expit))])
    both.fit(np.zeros((1, len(CLASSES))))
    halves = np.hstack([np.eye(len(CLASSES)), np.eye(len(CLASSES))]) / 2
    model = fitted(LogisticRegression(), list(range(len(CLASSES))), halves, np.zeros(len(CLASSES)))
    model.classes_ = CLASSES
    steps = [("features", features()), ("bias", bias), ("margins", margins), ("both", both), ("model", model)]
    return Pipeline(steps)
"#;
