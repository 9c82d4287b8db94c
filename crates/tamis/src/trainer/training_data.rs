//! Facts about the data of a training that do not depend on the method.

use super::build_model::assemble;
use super::fingerprint::FirstRows;
use crate::data::{ColumnScaler, FeatureId, RowScaler, TargetEncoder, Vocabulary};
use crate::model::{Model, Output, TrainingSummary};
use crate::parse::schema::ModelSchema;
use crate::recipe::Recipe;

/// What was done with the data before this training: its features are those that are left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Narrowed {
    /// The features of the ensemble that becomes the model, and of the ensemble of each fold (ascending), with the gravity
    /// they begin with.
    pub(crate) ensembles: Vec<(Vec<FeatureId>, f64)>,
    /// The features that entered.
    pub(crate) entered: usize,
    /// Rows and distinct features of the data.
    pub(crate) rows: u64,
    pub(crate) features: u64,
    /// Whether rows of one identity belong together; if not, they are copies of a row.
    pub(crate) keyed: bool,
}

/// Facts about the data of a training that do not depend on the method.
#[derive(Clone, Debug)]
pub(crate) struct TrainingData {
    pub(crate) recipe: Recipe,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) scale: ColumnScaler,
    pub(crate) targets: TargetEncoder,
    /// The columns of the input table.
    pub(crate) columns: Option<ModelSchema>,
    /// Rows of the trainings that this one continues.
    pub(crate) rows_before: u64,
    /// Rows that were buffered before learning began.
    pub(crate) buffered_rows: u64,
    /// Passes over the buffered rows.
    pub(crate) passes: u32,
    /// The factors of the weights of each class; empty if there are none.
    pub(crate) class_factors: Vec<f64>,
    /// The mean weight of the buffered rows, by which weights are divided: only their ratios matter.
    pub(crate) weight_unit: f64,
    /// Rows of this training so far, and their fingerprint.
    pub(crate) fingerprint: (u64, u64),
    /// The first rows of each training that this one continues, and of this one.
    pub(crate) first_rows: Vec<FirstRows>,
    /// Bad rows that were skipped.
    pub(crate) skipped: u64,
    /// The text of the model of a complete training, where its state does not give the model.
    pub(crate) finished: Option<String>,
    /// What was done with the data before, elsewhere.
    pub(crate) narrowed: Option<Narrowed>,
}

impl TrainingData {
    /// The scaling of rows before they are learned.
    pub(crate) fn scaler(&self) -> RowScaler<'_> {
        RowScaler { rows: self.recipe.row_scaling(), columns: &self.scale }
    }

    /// A model with these outputs. `summary` has its progressive validation; rows and features are filled in here.
    pub(crate) fn model(&self, outputs: Vec<Output>, summary: TrainingSummary) -> Model {
        let here = (self.rows_before + self.fingerprint.0, self.vocabulary.len() as u64);
        let (rows, features) = self.narrowed.as_ref().map_or(here, |before| (before.rows, before.features));
        let summary = TrainingSummary { rows, features, skipped: self.skipped, ..summary };
        assemble(&self.recipe, &self.targets, self.columns.clone(), summary, outputs)
    }
}
