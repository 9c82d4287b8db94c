//! Fits a model to rows whose features were narrowed elsewhere.

use super::training::Training;
use crate::data::{ColumnScaler, FeatureId, FeatureKey, RawRows, TargetEncoder, Vocabulary};
use crate::io::Block;
use crate::model::Model;
use crate::recipe::Recipe;
use crate::trainer::{BufferPlan, FitOptions, Narrowed, Observer, TrainError};

/// The columns that are left of data, the targets, and what is known about rows that are not here.
pub(crate) struct NarrowedColumns<'a> {
    /// The names of the columns.
    pub(crate) names: Vec<&'a str>,
    /// The scaling of the columns.
    pub(crate) scale: ColumnScaler,
    /// What is learned.
    pub(crate) targets: TargetEncoder,
    /// The columns of the ensemble that becomes the model, and of the ensemble of each fold, as places in `names`, with
    /// the gravity they begin with.
    pub(crate) ensembles: Vec<(Vec<FeatureId>, f64)>,
    /// The columns that entered.
    pub(crate) entered: usize,
    /// Rows and distinct columns of the data.
    pub(crate) rows: u64,
    pub(crate) features: u64,
    /// Whether rows of one identity belong together; if not, they are copies of a row.
    pub(crate) keyed: bool,
}

/// Fits a model to rows in the order of their identities, which decide about folds and subsamples as they did before.
pub(crate) fn fit_narrowed(
    recipe: &Recipe,
    options: &FitOptions,
    columns: NarrowedColumns<'_>,
    rows: RawRows,
    identities: Vec<u64>,
    observer: &mut dyn Observer,
) -> Result<Model, TrainError> {
    let mut training = Training::with_plan(recipe, options, BufferPlan::for_fit(recipe), None);
    let mut vocabulary = Vocabulary::new(None);
    for name in columns.names {
        vocabulary.intern(FeatureKey::from_name(name));
    }
    training.data.vocabulary = vocabulary;
    training.data.scale = columns.scale;
    training.declared = Some(columns.targets);
    training.rows.identities = Some(identities);
    let NarrowedColumns { ensembles, entered, rows: all_rows, features, keyed, .. } = columns;
    training.data.narrowed = Some(Narrowed { ensembles, entered, rows: all_rows, features, keyed });
    training.push(Block { rows, file: "rows".into(), first_line: 1 }, 0, observer)?;
    training.finish("rows", 0, observer)
}
