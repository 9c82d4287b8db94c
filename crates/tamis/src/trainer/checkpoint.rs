//! Checkpoints: everything that is needed to continue a training, bit for bit, in one checksummed safetensors file.
//!
//! The arrays are the state of the learner, the scaling and the names; the rest (recipe, task, position) is JSON in the
//! header. Files are replaced atomically: after `kill -9` at any moment there is one complete checkpoint, the old or
//! the new one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize, Serializer as _};

use super::error::TrainError;
use super::fingerprint::FirstRows;
use super::observer::ProgressiveValidation;
use super::training_data::TrainingData;
use crate::data::f64_codec::doubles;
use crate::data::tensor_file::{ArrayContent, TensorFile, TensorFileError};
use crate::data::{ColumnScaler, ScaleKind, State, TargetEncoder, TargetKind, Vocabulary, replace_file_with};
use crate::loss::LossKind;
use crate::param::{ParamName, names};
use crate::parse::schema::ModelSchema;
use crate::recipe::{Recipe, RecipeError};

const FORMAT: TensorFile = TensorFile { name: "tamis-checkpoint", version: 1 };
/// The arrays of the column scaling. A trainer that centres columns by itself has their means in its state.
const DIVISORS: &str = "scaling.divisors";
const CENTRES: &str = "scaling.centres";
const CENTRES_OF_TRAINER: &str = "centres";

/// The text of the model.
const FINISHED: &str = "model";

/// The position of a trainer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Position {
    /// Rows learned, all passes counted.
    pub(crate) done: u64,
    pub(crate) progressive: ProgressiveValidation,
    /// The number of features at which idle ones are freed next.
    pub(crate) next_sweep: usize,
    /// The largest squared norm of the first rows, or 0 if the initial step does not depend on it.
    pub(crate) max_squared_norm: f64,
}

/// The part of a checkpoint that is not an array.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) recipe: Recipe,
    pub(crate) loss: LossKind,
    pub(crate) kind: TargetKind,
    pub(crate) columns: Option<ModelSchema>,
    pub(crate) is_complete: bool,
    pub(crate) buffered_rows: u64,
    pub(crate) passes: u32,
    /// The mean weight of the buffered rows.
    pub(crate) weight_unit: f64,
    /// The kind of column scaling in force.
    scale: ScaleKind,
    /// Rows covered by the fingerprint, and the fingerprint.
    pub(crate) fingerprint: (u64, u64),
    /// The first rows of each complete training so far, and of this one.
    #[serde(default)]
    pub(crate) first_rows: Vec<FirstRows>,
    /// Rows of the trainings that this one continues.
    pub(crate) rows_before: u64,
    pub(crate) position: Position,
    /// Ids without a feature.
    free: Vec<u32>,
}

/// More rows than any training can have: sums of a few such counts do not overflow.
const MOST_ROWS: u64 = 1 << 53;

impl Header {
    /// Whether all counts can be those of a training. A file may say anything.
    fn counts_are_possible(&self) -> bool {
        let Position { done, progressive, next_sweep, max_squared_norm } = &self.position;
        let counts = [self.buffered_rows, self.fingerprint.0, self.rows_before, *done, *next_sweep as u64];
        let firsts = self.first_rows.iter().map(|first| first.0);
        let mut all = counts.into_iter().chain(firsts).chain(progressive.counts());
        all.all(|count| count <= MOST_ROWS) && max_squared_norm.is_finite()
    }
}

/// A loaded checkpoint.
#[derive(Clone)]
pub struct Checkpoint {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    pub(crate) vocabulary: Vocabulary,
    divisors: Vec<f64>,
    centres: Vec<f64>,
    pub(crate) state: State,
    /// The text of the model of a complete training, where its state does not give the model.
    pub(crate) finished: Option<Vec<u8>>,
}

impl Checkpoint {
    /// The recipe of the training.
    pub fn recipe(&self) -> &Recipe {
        &self.header.recipe
    }

    /// Parameters that a training of new rows may change ([`Checkpoint::set`]).
    pub const CHANGEABLE: [ParamName; 2] = [names::K, names::WARM_START_DECAY];

    /// Changes a parameter for the new rows that a complete training is continued with: the number of features, or the
    /// decay of the warm start. All others are part of the state.
    pub fn set(&mut self, param: ParamName, text: &str) -> Result<(), RecipeError> {
        if !self.header.is_complete || !Self::CHANGEABLE.contains(&param) {
            let (method, reason) = (self.header.recipe.method.name(), "the checkpoint has begun with another value");
            return Err(RecipeError::Unsupported { method, param: param.into(), reason });
        }
        self.header.recipe.set(param.name, text)
    }

    /// The columns of the input table.
    pub fn columns(&self) -> Option<&ModelSchema> {
        self.header.columns.as_ref()
    }

    /// Whether the training was complete: then it continues with new data.
    pub fn is_complete(&self) -> bool {
        self.header.is_complete
    }

    /// Rows learned in the interrupted training.
    pub fn rows(&self) -> u64 {
        self.header.position.done
    }

    /// Rows before the first row that is read next: an interrupted training reads its own rows again.
    pub(crate) fn rows_before(&self) -> u64 {
        let own = if self.header.is_complete { self.header.fingerprint.0 } else { 0 };
        self.header.rows_before + own
    }

    /// The first rows of the complete trainings so far.
    pub(crate) fn complete_trainings(&self) -> &[FirstRows] {
        let all = &self.header.first_rows;
        let own = usize::from(!self.header.is_complete).min(all.len());
        &all[..all.len() - own]
    }

    /// The encoder of labels.
    pub(crate) fn targets(&self) -> TargetEncoder {
        let Header { recipe, loss, kind, .. } = &self.header;
        TargetEncoder::new(*loss, recipe.target_options().shape, kind.clone())
    }

    /// The column scaling.
    pub(crate) fn scale(&self) -> ColumnScaler {
        let Header { recipe, scale: kind, .. } = &self.header;
        let mut scale = ColumnScaler::new(*kind).centring(recipe.may_centre());
        scale.restore(*kind, self.divisors.clone(), self.centres.clone());
        scale
    }

    /// The error of a state that does not match.
    pub(crate) fn invalid_state(&self) -> impl Fn(crate::data::StateError) -> TrainError + use<> {
        let path = self.path.clone();
        move |source| TrainError::CheckpointState { path: path.clone(), source }
    }

    /// Loads a checkpoint.
    pub fn load(path: &Path) -> Result<Checkpoint, TrainError> {
        let failed = |source| TrainError::CheckpointRead { path: path.to_path_buf(), source };
        let bytes = std::fs::read(path).map_err(failed)?;
        Checkpoint::from_bytes(&bytes, path)
    }

    /// A checkpoint from the bytes of its file; `path` is for error messages.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Checkpoint, TrainError> {
        let path = path.to_path_buf();
        let broken = |source| TrainError::CheckpointFile { path: path.clone(), source };
        let invalid = |reason| broken(TensorFileError::NotThisKind { name: FORMAT.name, reason });
        let (header, arrays) = FORMAT.read(bytes).map_err(broken)?;
        let header: Header = serde_json::from_str(&header).map_err(|error| invalid(error.to_string()))?;
        if !header.counts_are_possible() {
            return Err(invalid("a number of rows or features is too large".into()));
        }
        if !header.kind.is_possible() {
            return Err(invalid("its classes or the scale of its targets are impossible".into()));
        }
        let mut numbers = BTreeMap::new();
        let (mut names, mut finished) = (String::new(), None);
        for (name, view) in &arrays {
            match (view.dtype(), name.as_str()) {
                (Dtype::U8, "names") => {
                    names = String::from_utf8(view.data().to_vec()).map_err(|error| invalid(error.to_string()))?
                }
                (Dtype::U8, FINISHED) => finished = Some(view.data().to_vec()),
                (Dtype::F64, _) => drop(numbers.insert(name.clone(), doubles(view.data()))),
                _ => return Err(invalid(format!("array {name:?} has an unknown type"))),
            }
        }
        let lines: Vec<String> = serde_json::from_str(&names).map_err(|error| invalid(error.to_string()))?;
        let lines = lines.iter().map(String::as_str);
        let vocabulary = Vocabulary::import(header.recipe.hash_bits, lines, header.free.clone())
            .ok_or_else(|| invalid("invalid feature names".into()))?;
        let divisors = numbers.remove(DIVISORS).ok_or_else(|| invalid("it has no divisors".into()))?;
        let centres = numbers.remove(CENTRES).unwrap_or_default();
        let state = State::from_arrays(numbers);
        Ok(Checkpoint { path, header, vocabulary, divisors, centres, state, finished })
    }
}

/// Writes a checkpoint.
pub(crate) fn write_checkpoint(
    path: &Path,
    data: &TrainingData,
    position: Position,
    is_complete: bool,
    state: &State,
) -> Result<(), TrainError> {
    let header = header(data, position, is_complete);
    // JSON cannot hold a number that is not finite: what could not be read again is not written.
    if serde_json::from_str::<Header>(&header).is_err() {
        return Err(TrainError::CheckpointNotFinite { path: path.to_path_buf() });
    }
    let names = names_as_json(data);
    replace_file_with(path, |out| FORMAT.write_to(out, &header, &arrays(data, state, &names)))
        .map_err(|source| TrainError::CheckpointWrite { path: path.to_path_buf(), source })
}

/// Writes the bytes of a checkpoint that is complete.
pub(crate) fn write_complete(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    let failed = |source| TrainError::CheckpointWrite { path: path.to_path_buf(), source };
    replace_file_with(path, |out| out.write_all(bytes)).map_err(failed)
}

/// The bytes of a checkpoint file.
pub(crate) fn to_bytes(data: &TrainingData, position: Position, is_complete: bool, state: &State) -> Vec<u8> {
    let (mut bytes, names) = (Vec::new(), names_as_json(data));
    FORMAT
        .write_to(&mut bytes, &header(data, position, is_complete), &arrays(data, state, &names))
        .expect("memory takes all bytes");
    bytes
}

/// The part of a checkpoint that is not an array, as JSON.
fn header(data: &TrainingData, position: Position, is_complete: bool) -> String {
    let header = Header {
        recipe: data.recipe.clone(),
        loss: data.targets.loss,
        kind: data.targets.kind.clone(),
        columns: data.columns.clone(),
        is_complete,
        buffered_rows: data.buffered_rows,
        passes: data.passes,
        weight_unit: data.weight_unit,
        scale: data.scale.kind(),
        fingerprint: data.fingerprint,
        first_rows: data.first_rows.clone(),
        rows_before: data.rows_before,
        position,
        free: data.vocabulary.free_ids(),
    };
    serde_json::to_string(&header).expect("plain data becomes JSON")
}

/// The names of the features, as JSON. One line is made at a time: a list of them would take more memory than the names.
fn names_as_json(data: &TrainingData) -> Vec<u8> {
    let mut json = Vec::new();
    (&mut serde_json::Serializer::new(&mut json))
        .collect_seq(data.vocabulary.export())
        .expect("plain data becomes JSON");
    json
}

/// The state of the learner, the scaling and the names.
fn arrays<'a>(data: &'a TrainingData, state: &'a State, names: &'a [u8]) -> BTreeMap<&'a str, ArrayContent<'a>> {
    let numbers = state.arrays().iter().map(|(name, numbers)| (name.as_str(), ArrayContent::Numbers(numbers)));
    let mut arrays: BTreeMap<&str, ArrayContent<'_>> = numbers.collect();
    arrays.insert(DIVISORS, ArrayContent::Numbers(data.scale.divisors()));
    if !arrays.contains_key(CENTRES_OF_TRAINER) {
        arrays.insert(CENTRES, ArrayContent::Numbers(data.scale.centres()));
    }
    arrays.insert("names", ArrayContent::Bytes(Dtype::U8, names));
    if let Some(text) = &data.finished {
        arrays.insert(FINISHED, ArrayContent::Bytes(Dtype::U8, text.as_bytes()));
    }
    arrays
}
