//! Checkpoints: everything needed to go on, bit for bit, in one safetensors file.
//!
//! Arrays are the learner's state, the scaling and the names; the rest (recipe, task, position) is JSON in the header.
//! The header also carries a checksum over all arrays. Files are written beside, synced and renamed: after `kill -9` at
//! any moment there is one whole checkpoint, the old or the new.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};

use super::TrainError;
use super::progress::Progressive;
use super::task::Kind;
use crate::data::Dictionary;
use crate::data::bytes::{bytes_of, checksum, doubles};
use crate::learn::State;
use crate::loss::LossKind;
use crate::model::replace_file;
use crate::parse::columns::KnownColumns;
use crate::recipe::Recipe;

/// The version this build writes, and the newest it reads.
const VERSION: u32 = 1;

/// Where and how often to save.
#[derive(Clone, Debug)]
pub struct CheckpointPlan {
    /// The file.
    pub path: PathBuf,
    /// Rows between two saves; `None` saves at the end and on Ctrl-C only.
    pub every: Option<u64>,
}

/// The part of a checkpoint that is not arrays.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    pub(super) version: u32,
    pub(super) recipe: Recipe,
    pub(super) loss: LossKind,
    pub(super) kind: Kind,
    pub(super) columns: Option<KnownColumns>,
    /// Whether the training was over.
    pub(super) complete: bool,
    /// Rows learned in the run that was interrupted.
    pub(super) done: u64,
    /// Rows read before learning began.
    pub(super) head_rows: u64,
    /// Rows covered by the fingerprint, and the fingerprint.
    pub(super) fingerprint: (u64, u64),
    /// Rows seen in this and all earlier runs.
    pub(super) rows_before: u64,
    pub(super) progressive: Progressive,
    /// Features at which idle ones are given back next.
    pub(super) next_sweep: usize,
    /// R² of the first rows, or 0 if nothing hangs on it.
    #[serde(default)]
    pub(super) longest: f64,
    pub(super) free: Vec<u32>,
}

/// A checkpoint loaded.
pub struct Saved {
    pub(super) path: PathBuf,
    pub(super) position: Position,
    pub(super) dictionary: Dictionary,
    pub(super) divisors: Vec<f64>,
    pub(super) state: State,
}

impl Saved {
    /// The recipe it was made with.
    pub fn recipe(&self) -> &Recipe {
        &self.position.recipe
    }

    /// Whether the training was over: then new data goes on from here.
    pub fn is_complete(&self) -> bool {
        self.position.complete
    }

    /// Rows seen before the first of those that come next: an interrupted run begins with its own rows again.
    pub(super) fn rows_before(&self) -> u64 {
        let own = if self.position.complete { self.position.fingerprint.0 } else { 0 };
        self.position.rows_before + own
    }

    /// Rows learned in the run that was interrupted.
    pub fn rows(&self) -> u64 {
        self.position.done
    }

    /// Loads a checkpoint.
    pub fn load(path: &Path) -> Result<Saved, TrainError> {
        let failed = |source| TrainError::CheckpointRead { path: path.to_path_buf(), source };
        let bytes = std::fs::read(path).map_err(failed)?;
        Saved::from_bytes(&bytes, path)
    }

    /// A checkpoint from the bytes of its file; `path` is for messages.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Saved, TrainError> {
        let path = path.to_path_buf();
        let not_one = |reason: String| TrainError::NotACheckpoint { path: path.clone(), reason };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| not_one(error.to_string()))?;
        let empty = HashMap::new();
        let fields = header.metadata().as_ref().unwrap_or(&empty);
        let field = |name: &str| fields.get(name).ok_or_else(|| not_one(format!("it has no {name}")));
        let version: u32 = field("version")?.parse().map_err(|_| not_one("its version is not a number".into()))?;
        if version > VERSION {
            return Err(TrainError::CheckpointNewer { path, version, newest: VERSION });
        }
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| not_one(error.to_string()))?;
        let position = field("position")?;
        let arrays: BTreeMap<String, TensorView<'_>> = tensors.tensors().into_iter().collect();
        let sum = checksum(position, arrays.iter().map(|(name, view)| (name.as_str(), view.data())));
        if sum != *field("checksum")? {
            return Err(TrainError::CheckpointDamaged { path });
        }
        let position: Position = serde_json::from_str(position).map_err(|error| not_one(error.to_string()))?;
        let mut numbers = BTreeMap::new();
        let mut names = String::new();
        for (name, view) in &arrays {
            match (view.dtype(), name.as_str()) {
                (Dtype::U8, "names") => {
                    names = String::from_utf8(view.data().to_vec()).map_err(|e| not_one(e.to_string()))?
                }
                (Dtype::F64, _) => drop(numbers.insert(name.clone(), doubles(view.data()))),
                _ => return Err(not_one(format!("array {name:?} is of an unknown kind"))),
            }
        }
        let lines: Vec<String> = serde_json::from_str(&names).map_err(|error| not_one(error.to_string()))?;
        let lines = lines.iter().map(String::as_str);
        let dictionary = Dictionary::import(position.recipe.hash_bits, lines, position.free.clone())
            .ok_or_else(|| not_one("its names make no sense".into()))?;
        let divisors = numbers.remove("divisors").ok_or_else(|| not_one("it has no divisors".into()))?;
        Ok(Saved { path, position, dictionary, divisors, state: State::from_arrays(numbers) })
    }
}

/// Writes a checkpoint.
pub(super) fn write(
    path: &Path,
    position: &Position,
    dictionary: &Dictionary,
    divisors: &[f64],
    state: &State,
) -> Result<(), TrainError> {
    let bytes = to_bytes(position, dictionary, divisors, state);
    replace_file(path, &bytes).map_err(|source| TrainError::CheckpointWrite { path: path.to_path_buf(), source })
}

/// The bytes of a checkpoint's file.
pub(super) fn to_bytes(position: &Position, dictionary: &Dictionary, divisors: &[f64], state: &State) -> Vec<u8> {
    let (lines, free) = dictionary.export();
    let position = Position { free, ..position.clone() };
    let position = serde_json::to_string(&position).expect("plain data becomes JSON");
    let names = serde_json::to_string(&lines).expect("plain data becomes JSON");
    let divisors = bytes_of(divisors.iter().copied());
    let arrays: BTreeMap<&str, Vec<u8>> =
        state.arrays().iter().map(|(name, numbers)| (name.as_str(), bytes_of(numbers.iter().copied()))).collect();
    let mut all: BTreeMap<&str, (Dtype, &[u8])> =
        arrays.iter().map(|(name, bytes)| (*name, (Dtype::F64, bytes.as_slice()))).collect();
    all.insert("divisors", (Dtype::F64, &divisors));
    all.insert("names", (Dtype::U8, names.as_bytes()));
    let sum = checksum(&position, all.iter().map(|(name, (_, bytes))| (*name, *bytes)));
    let fields = [("version", VERSION.to_string()), ("checksum", sum), ("position", position)];
    let fields = fields.into_iter().map(|(name, text)| (name.to_string(), text)).collect::<HashMap<_, _>>();
    let view = |(name, &(kind, bytes)): (&&str, &(Dtype, &'_ [u8]))| -> (String, usize, Dtype) {
        (name.to_string(), if kind == Dtype::F64 { bytes.len() / 8 } else { bytes.len() }, kind)
    };
    let views = all.iter().map(|part| {
        let (name, length, kind) = view(part);
        (name, TensorView::new(kind, vec![length], part.1.1).expect("the shape is the length"))
    });
    serialize(views, Some(fields)).expect("arrays of known kinds can be written")
}
