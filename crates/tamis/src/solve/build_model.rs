//! The targets and features of a problem, and the finished model.

use super::SolveError;
use super::path::Fit;
use super::standardized::{Output, Standardized};
use crate::data::Label;
use crate::data::RowScale;
use crate::loss::LossKind;
use crate::model::{self, Feature, Model, TrainingSummary};
use crate::moments::{Column, Comoments, Moments};
use crate::parse::schema::ModelSchema;
use crate::prox::FREE;
use crate::recipe::{Provenance, Sign, Signs, SolveRecipe};

/// Targets and features.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Columns that may be used.
    pub(super) features: Vec<usize>,
    /// The interval of the weight of each feature.
    bounds: Vec<(f64, f64)>,
    pub(super) outputs: Vec<Output>,
    kind: model::Task,
    /// The target column, if it is not the label of the data.
    target: Option<String>,
}

impl Task {
    /// Finds the target, and the signs of the weights.
    pub(super) fn of(moments: &Moments, total: &Comoments, recipe: &SolveRecipe) -> Result<Task, SolveError> {
        match total.rows {
            0 => return Err(SolveError::NoRows),
            1 => return Err(SolveError::OneRow),
            _ if total.weight <= 0.0 => return Err(SolveError::NoRows),
            _ => {}
        }
        let mut classes: Vec<(Label, usize)> = Vec::new();
        let mut numbers = Vec::new();
        for (at, column) in moments.columns.iter().enumerate() {
            match column {
                Column::Class(label) => classes.push((label.clone(), at)),
                Column::Target(name) => numbers.push((name.clone(), at)),
                _ => {}
            }
        }
        let features = (0..moments.columns.len()).filter(|&at| moments.columns[at].is_feature()).collect();
        let task = match recipe.target.as_deref() {
            None if !classes.is_empty() => Task::classes(classes, features)?,
            None if numbers.len() == 1 => Task::number(None, numbers[0].1, features),
            None => return Err(SolveError::WhichTarget { targets: list(&numbers) }),
            Some(name) => {
                let place = numbers.iter().position(|(other, _)| other == name);
                let place = place.ok_or_else(|| SolveError::NoTarget { name: name.into(), targets: list(&numbers) })?;
                Task::number((place > 0 || !classes.is_empty()).then(|| name.into()), numbers[place].1, features)
            }
        };
        let still = |output: &&Output| total.covariance(output.column, output.column) <= 0.0;
        match task.outputs.iter().find(still) {
            Some(output) => Err(SolveError::ConstantTarget { name: moments.columns[output.column].name() }),
            None => task.with_signs(moments, recipe.sign.as_ref()),
        }
    }

    fn with_signs(self, moments: &Moments, signs: Option<&Signs>) -> Result<Task, SolveError> {
        let Some(signs) = signs else { return Ok(self) };
        if self.outputs.len() > 1 {
            return Err(SolveError::SignsOfClasses);
        }
        let features: Vec<String> = self.features.iter().map(|&at| moments.columns[at].name()).collect();
        if let Some(name) = signs.names().find(|name| !features.iter().any(|feature| feature == name)) {
            return Err(SolveError::NoSuchFeature { name: name.into() });
        }
        let bounds = features.iter().map(|name| signs.of(name).map_or(FREE, Sign::bounds)).collect();
        Ok(Task { bounds, ..self })
    }

    /// The problem on the rows of these sums.
    pub(super) fn problem(&self, sums: &Comoments) -> Standardized {
        Standardized::bounded(sums, &self.features, &self.bounds, &self.outputs)
    }

    fn number(target: Option<String>, column: usize, features: Vec<usize>) -> Task {
        let outputs = vec![Output { column, factor: 1.0, shift: 0.0 }];
        Task { bounds: vec![FREE; features.len()], features, outputs, kind: model::Task::Regression, target }
    }

    /// Two classes have one output, for the second; more have one each. Numbers come before texts.
    fn classes(mut classes: Vec<(Label, usize)>, features: Vec<usize>) -> Result<Task, SolveError> {
        classes.sort_by(|(a, _), (b, _)| match (a, b) {
            (Label::Number(a), Label::Number(b)) => a.total_cmp(b),
            (Label::Number(_), _) => std::cmp::Ordering::Less,
            (_, Label::Number(_)) => std::cmp::Ordering::Greater,
            _ => a.to_string().cmp(&b.to_string()),
        });
        let spoken = match &classes[..] {
            [(label, _)] => return Err(SolveError::OneClass { label: label.to_string() }),
            [_, second] => std::slice::from_ref(second),
            all => all,
        };
        let outputs = spoken.iter().map(|&(_, column)| Output { column, factor: 2.0, shift: -1.0 }).collect();
        let labels = classes.iter().map(|(label, _)| label.clone()).collect();
        let bounds = vec![FREE; features.len()];
        Ok(Task { features, bounds, outputs, kind: model::Task::Classes(labels), target: None })
    }

    /// The model of one fit.
    pub(super) fn model(
        &self,
        moments: &Moments,
        problem: &Standardized,
        fit: &Fit,
        recipe: &SolveRecipe,
        error: f64,
    ) -> Model {
        let mut recipe = SolveRecipe { decay: moments.decay, ..recipe.clone() };
        for column in fit.support().iter().map(|&feature| &moments.columns[problem.columns[feature]]) {
            if let Column::Product(a, b) = column {
                recipe.products.insert(column.name(), [a.clone(), b.clone()]);
            }
        }
        if recipe.lambda.is_none() {
            recipe.found_lambda = fit.penalty;
        }
        let outputs = (0..self.outputs.len()).map(|output| self.output(moments, problem, fit, output)).collect();
        Model {
            recipe: Provenance::Solve(recipe),
            loss: LossKind::Squared,
            row_scale: RowScale::None,
            task: self.kind.clone(),
            columns: self.table(moments),
            matrix: None,
            seen: TrainingSummary {
                rows: moments.rows(),
                passes: 1,
                features: self.features.len() as u64,
                skipped: moments.skipped,
                progressive_loss: error,
                progressive_error: None,
                ..TrainingSummary::default()
            },
            outputs,
            size_path: None,
            tests: None,
            sampling: None,
            kernel: None,
        }
    }

    /// The schema of the model. A target other than the label takes its role.
    fn table(&self, moments: &Moments) -> Option<ModelSchema> {
        let mut table = moments.table.clone()?;
        if let Some(name) = &self.target {
            table.numeric.retain(|other| other != name);
            table.target = Some(name.clone());
        }
        Some(table)
    }

    fn output(&self, moments: &Moments, problem: &Standardized, fit: &Fit, output: usize) -> model::Output {
        let coefficients = &fit.coefficients[output];
        let line = problem.linear(output, coefficients);
        let feature = |(&(at, _), &(column, weight)): (&(usize, f64), &(usize, f64))| Feature {
            name: moments.columns[column].name(),
            weight,
            scale: problem.scales[at],
            frequency: None,
            centre: 0.0,
            evidence: None,
            bucket: None,
        };
        let mut features: Vec<Feature> = coefficients.iter().zip(&line.weights).map(feature).collect();
        let effect = |feature: &Feature| (feature.weight * feature.scale).abs();
        features.sort_by(|a, b| effect(b).total_cmp(&effect(a)).then_with(|| a.name.cmp(&b.name)));
        let class = match &self.kind {
            model::Task::Classes(classes) if classes.len() > 2 => Some(classes[output].clone()),
            _ => None,
        };
        model::Output { class, intercept: line.intercept, features }
    }
}

fn list(targets: &[(String, usize)]) -> String {
    let names: Vec<String> = targets.iter().map(|(name, _)| format!("{name:?}")).collect();
    if names.is_empty() { "classes only".into() } else { names.join(", ") }
}
