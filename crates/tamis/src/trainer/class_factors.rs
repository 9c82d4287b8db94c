//! The factors by which the weights of rows are multiplied, for each class.

use super::error::TrainError;
use super::training_data::TrainingData;
use crate::data::{Label, TargetEncoder};
use crate::param::names;
use crate::recipe::Recipe;

/// The factor of each class; empty if the recipe gives none. `rows` counts the rows of a class.
pub(crate) fn class_factors(
    recipe: &Recipe,
    targets: &TargetEncoder,
    rows: impl Fn(&Label) -> u64,
) -> Result<Vec<f64>, TrainError> {
    let Some(weights) = &recipe.class_weight else { return Ok(Vec::new()) };
    if targets.is_numbers() {
        return Err(TrainError::ClassWeightOfNumbers { param: names::CLASS_WEIGHT.into() });
    }
    let classes = targets.classes();
    let names = || classes.iter().take(20).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    weights.factors(classes, rows).map_err(|name| TrainError::NoSuchClass { name, classes: names() })
}

impl TrainingData {
    /// The factor of a class. A class that appears late has the given one.
    pub(crate) fn class_factor(&mut self, class: f64) -> f64 {
        if self.recipe.class_weight.is_none() {
            return 1.0;
        }
        if class as usize >= self.class_factors.len() {
            self.class_factors = class_factors(&self.recipe, &self.targets, |_| 0).unwrap_or_default();
        }
        self.class_factors.get(class as usize).copied().unwrap_or(1.0)
    }
}
