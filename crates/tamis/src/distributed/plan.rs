//! The plan of a stage: everything that a worker needs to know beside its rows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::DistributedError;
use super::packet::{Opened, Packet, open};
use super::rows::{KeyedRows, MAX_BUCKETS};
use crate::data::{FeatureId, RowScale, ScaleKind, TargetEncoder, TargetKind, TaskKind};
use crate::loss::LossKind;
use crate::param::names;
use crate::recipe::{Method, Recipe};

/// What is to be fitted, and the limits of a distributed fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FitSettings {
    /// What is learned; the method is `stabilized`.
    pub recipe: Recipe,
    /// The kind of the labels.
    pub task: TaskKind,
    /// Buckets of the rows: a power of two.
    pub buckets: u32,
    /// Columns are narrowed until each ensemble has this many. `None` narrows only if the rows do not fit into
    /// `entries`, to 2¹⁴ columns.
    pub columns: Option<u64>,
    /// Non-zeros of the rows that are collected, at most.
    pub entries: u64,
    /// Whether the identity of a row is that of a key, so that rows of one key belong together.
    pub keyed: bool,
}

impl FitSettings {
    /// The usual limits: 64 buckets, 2²⁵ non-zeros.
    pub fn new(recipe: Recipe) -> Self {
        FitSettings { recipe, task: TaskKind::Auto, buckets: 64, columns: None, entries: 1 << 25, keyed: false }
    }

    fn check(&self) -> Result<(), DistributedError> {
        let recipe = &self.recipe;
        recipe.check().map_err(crate::train::TrainError::from)?;
        if recipe.method.kind() != Method::Stabilized {
            return Err(DistributedError::Method { method: recipe.method.name() });
        }
        let whole_rows = "rows are learned with a part of their columns";
        let refused = [
            (recipe.hash_bits.is_some(), names::HASH_BITS, "hash the names where the rows are made"),
            (recipe.interactions.is_some(), names::INTERACTIONS, "add the products where the rows are made"),
            (recipe.offset.is_some(), names::OFFSET, whole_rows),
            (recipe.row_scaling() != RowScale::None, names::ROW_SCALE, whole_rows),
            (recipe.row_id().is_some(), names::ROW_ID, "give the rows a key"),
        ];
        if let Some((_, param, reason)) = refused.into_iter().find(|(is_set, ..)| *is_set) {
            return Err(DistributedError::Unsupported { param: param.into(), reason });
        }
        if !self.buckets.is_power_of_two() || self.buckets > MAX_BUCKETS {
            return Err(DistributedError::Buckets { found: self.buckets });
        }
        let limits = [("columns", self.columns.unwrap_or(2), 2), ("entries", self.entries, 1000)];
        match limits.into_iter().find(|(_, found, least)| found < least) {
            Some((what, found, least)) => Err(DistributedError::TooSmall { what, least, found }),
            None => Ok(()),
        }
    }
}

/// The kind of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Rows, labels and columns are counted.
    Survey,
    /// Evidence for each column is gathered.
    Narrow,
    /// The rows with the columns that are left are collected; the model is fitted to them.
    Collect,
}

impl Stage {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Survey => "survey",
            Stage::Narrow => "narrow",
            Stage::Collect => "collect",
        }
    }
}

/// What the survey has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) rows: u64,
    /// Distinct columns, and those that entered.
    pub(super) features: u64,
    pub(super) entered: u64,
    pub(super) scale: ScaleKind,
    pub(super) loss: LossKind,
    pub(super) targets: TargetKind,
    /// The factors of the weights of each class, and the sums of their weights.
    pub(super) class_factors: Vec<f64>,
    pub(super) classes: Vec<f64>,
    pub(super) weight_unit: f64,
}

/// The columns that are left, in the order of the hashes of their names.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub(super) names: Vec<Box<str>>,
    /// Divisor and mean of each.
    pub(super) scaling: Vec<(f64, f64)>,
    /// The mean absolute value of each, scaled.
    pub(super) sizes: Vec<f64>,
    /// The rows of each.
    pub(super) rows: Vec<u32>,
}

impl Columns {
    /// Non-zeros of all columns.
    pub(super) fn entries(&self) -> u64 {
        self.rows.iter().map(|&rows| u64::from(rows)).sum()
    }
}

/// The plan of a stage.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) settings: FitSettings,
    pub(super) stage: Stage,
    /// The number of the stage, from 0.
    pub(super) number: u32,
    /// Buckets of this stage.
    pub(super) buckets: u32,
    pub(super) facts: Option<Facts>,
    pub(super) columns: Columns,
    /// The active columns and the gravity of each ensemble.
    pub(super) ensembles: Vec<(Vec<FeatureId>, f64)>,
    /// Rows whose hash is above this are not collected.
    pub(super) sample: u64,
}

#[derive(Serialize, Deserialize)]
struct Header {
    settings: FitSettings,
    stage: Stage,
    number: u32,
    buckets: u32,
    facts: Option<Facts>,
    gravities: Vec<f64>,
    sample: u64,
}

impl Plan {
    /// The plan of the first stage.
    pub fn first(settings: FitSettings) -> Result<Self, DistributedError> {
        settings.check()?;
        Ok(Plan {
            buckets: settings.buckets,
            settings,
            stage: Stage::Survey,
            number: 0,
            facts: None,
            columns: Columns::default(),
            ensembles: Vec::new(),
            sample: u64::MAX,
        })
    }

    /// The kind of the stage.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The number of the stage, from 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The number of buckets of the stage.
    pub fn buckets(&self) -> u32 {
        self.buckets
    }

    /// Rows of the data, distinct columns, and columns that are left; `None` before the survey.
    pub fn counts(&self) -> Option<(u64, u64, usize)> {
        self.facts.as_ref().map(|facts| (facts.rows, facts.features, self.columns.names.len()))
    }

    /// The share of the rows that are collected.
    pub fn share(&self) -> f64 {
        if self.sample == u64::MAX { 1.0 } else { self.sample as f64 / u64::MAX as f64 }
    }

    pub(super) fn facts(&self) -> Result<&Facts, DistributedError> {
        self.facts.as_ref().ok_or(DistributedError::WrongStage { kind: self.stage.name(), wanted: "facts" })
    }

    /// What is learned.
    pub(super) fn targets(&self) -> Result<TargetEncoder, DistributedError> {
        let facts = self.facts()?;
        Ok(TargetEncoder::new(facts.loss, self.settings.recipe.loss_shape(facts.loss), facts.targets.clone()))
    }

    /// The targets of rows.
    pub(super) fn encoded(&self, rows: &KeyedRows) -> Result<Vec<f64>, DistributedError> {
        let unknown = || DistributedError::OtherTallies { reason: "a label was not there in the survey".into() };
        self.targets()?.encode_known(&rows.rows.labels).ok_or_else(unknown)
    }

    pub(super) fn scaling(&self) -> Arc<[(f64, f64)]> {
        self.columns.scaling.iter().copied().collect()
    }

    /// The bytes of the plan.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = Header {
            settings: self.settings.clone(),
            stage: self.stage,
            number: self.number,
            buckets: self.buckets,
            facts: self.facts.clone(),
            gravities: self.ensembles.iter().map(|(_, gravity)| *gravity).collect(),
            sample: self.sample,
        };
        let columns = &self.columns;
        let mut packet = Packet::default()
            .put_texts("names", columns.names.iter().map(|name| &**name))
            .put("divisors", columns.scaling.iter().map(|(divisor, _)| *divisor))
            .put("centres", columns.scaling.iter().map(|(_, centre)| *centre))
            .put("sizes", columns.sizes.iter().copied())
            .put_ids("rows", columns.rows.iter().copied());
        for (number, (active, _)) in self.ensembles.iter().enumerate() {
            // All columns are active in the first stage.
            let is_all = active.len() == columns.names.len();
            packet = packet.put_ids(&format!("active{number}"), active.iter().copied().filter(|_| !is_all));
        }
        packet.bytes(&header)
    }

    /// Reads the bytes of [`Plan::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DistributedError> {
        let opened: Opened<Header> = open(bytes)?;
        let scaling = opened.numbers("divisors")?.into_iter().zip(opened.numbers("centres")?).collect();
        let (names, sizes, rows) = (opened.texts("names")?, opened.numbers("sizes")?, opened.ids("rows")?);
        let columns = Columns { names, scaling, sizes, rows };
        let mut ensembles = Vec::new();
        for (number, &gravity) in opened.header.gravities.iter().enumerate() {
            let mut active = opened.ids(&format!("active{number}"))?;
            if active.is_empty() {
                active = (0..columns.names.len() as FeatureId).collect();
            }
            ensembles.push((active, gravity));
        }
        let Header { settings, stage, number, buckets, facts, sample, .. } = opened.header;
        Ok(Plan { settings, stage, number, buckets, facts, columns, ensembles, sample })
    }
}
