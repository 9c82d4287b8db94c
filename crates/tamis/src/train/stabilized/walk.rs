//! The walk down the ladder: rows go to the engines, stages end, rungs are judged.
//!
//! Beside the engine that makes the model walk a few *shadows*, each of which never sees one fold of the rows and
//! chooses its own features. Only they can tell what a rung is worth: the model's own paths leave out half of the rows
//! each, but its features were chosen with all of them.

use rayon::prelude::*;

use super::sieve::Sieve;
use crate::data::{Example, Row};
use crate::learn::stabilized::{Coding, Engine, Means, Owners, Rows, Rung, judge};
use crate::learn::{State, StateError};
use crate::loss::AnyLoss;

/// Rows that go to the engines at a time.
pub(super) const CHUNK: u64 = 1024;
/// Rows of these that are scaled together.
const PIECE: usize = 128;
/// Shadows, and their paths.
pub(super) const FOLDS: u64 = 4;
pub(super) const SHADOW_PATHS: usize = 8;

/// An engine and its view of the rows.
pub(super) struct Runner {
    pub(super) engine: Engine,
    pub(super) sieve: Sieve,
    /// Rows that judge it: no path of its owns them.
    judges: Rows,
    /// The fold that no path of its owns.
    spared: Option<u64>,
    pressed: Rows,
}

impl Runner {
    pub(super) fn new(engine: Engine, mut sieve: Sieve, spared: Option<u64>) -> Self {
        sieve.set_active(engine.active());
        Runner { engine, sieve, judges: Rows::default(), spared, pressed: Rows::default() }
    }

    pub(super) fn begin(&mut self, length: u64) {
        let row_size = self.sieve.row_size(self.engine.active());
        self.engine.begin(length, row_size);
    }

    pub(super) fn judges(&self) -> &Rows {
        &self.judges
    }

    /// Whether its paths may learn from a row at all.
    pub(super) fn may_see(&self, identity: u64) -> bool {
        self.spared.is_none_or(|fold| fold != Owners::fold(identity, FOLDS))
    }

    fn learn(&mut self, rows: &[Rows]) {
        self.pressed.clear();
        for (example, identity) in rows.iter().flat_map(Rows::iter) {
            // Rows that nobody owns are counted, and not looked at.
            let nothing = Row { ids: &[], values: &[] };
            match self.may_see(identity) {
                true => self.sieve.press(example, identity, &mut self.pressed),
                false => self.pressed.push(Example { row: nothing, ..example }, identity),
            }
        }
        self.engine.learn(&self.pressed);
    }

    /// Keeps the `size` features of most evidence, by the means its stage has led to.
    fn descend(&mut self, means: &[Means], size: usize) {
        let places = self.engine.descend(means, size);
        self.judges = self.judges.narrowed(&places);
        self.sieve.set_active(self.engine.active());
    }

    /// Puts the engine where it stood when the state was written.
    pub(super) fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        let before = self.engine.active().to_vec();
        self.engine.load(state)?;
        let active = self.engine.active();
        let place = |id| active.binary_search(id).ok().map(|place| place as u32);
        let places: Vec<Option<u32>> = before.iter().map(place).collect();
        self.judges = self.judges.narrowed(&places);
        self.sieve.set_active(active);
        Ok(())
    }

    /// Takes over what an engine with so many outputs knew when the state was written.
    pub(super) fn remember(&mut self, state: &mut State, outputs: usize, kept: f64) -> Result<(), StateError> {
        let mut old = self.engine.with_outputs(outputs);
        old.load(state)?;
        self.engine.remember(&old, kept);
        Ok(())
    }
}

/// Where the walk stands.
pub(super) struct Walk {
    pub(super) main: Runner,
    pub(super) shadows: Vec<Runner>,
    pub(super) codings: Vec<Coding>,
    pub(super) loss: AnyLoss,
    /// The sizes of the active set.
    pub(super) sizes: Vec<usize>,
    /// Rows visited in each stage.
    pub(super) lengths: Vec<u64>,
    pub(super) rungs: Vec<Rung>,
    /// Rows visited.
    pub(super) done: u64,
    pub(super) threads: rayon::ThreadPool,
    /// The most bytes that all paths took.
    pub(super) most_bytes: usize,
    /// Rows that weights are fitted by, scaled, with all of their features.
    pub(super) sample: Rows,
    /// What each row is known by, whatever the order of the rows.
    pub(super) identities: Vec<u64>,
    /// The rows on their way to the engines.
    pub(super) scaled: Vec<Rows>,
}

impl Walk {
    /// Adds a row that judges the shadow whose fold it is of.
    pub(super) fn add_judge(&mut self, example: Example<'_>, identity: u64) {
        let fold = Owners::fold(identity, FOLDS);
        if let Some(Runner { sieve, judges, .. }) = self.shadows.get_mut(fold as usize) {
            sieve.strain(example, identity, judges);
        }
    }

    /// Begins the stage whose turn it is.
    pub(super) fn begin(&mut self) {
        let length = self.lengths[self.rungs.len()];
        self.runners().for_each(|runner| runner.begin(length));
    }

    fn runners(&mut self) -> impl Iterator<Item = &mut Runner> {
        std::iter::once(&mut self.main).chain(&mut self.shadows)
    }

    /// Whether every stage is behind.
    pub(super) fn is_over(&self) -> bool {
        self.rungs.len() == self.sizes.len()
    }

    /// How many rows to give at a time.
    pub(super) fn rows_wanted(&self) -> usize {
        self.main.engine.rows_wanted().min(CHUNK) as usize
    }

    /// Learns rows, at most as many as are wanted; tells whether the stage's last one was among them.
    pub(super) fn learn(&mut self, rows: &[(Example<'_>, u64)]) -> bool {
        self.done += rows.len() as u64;
        let Walk { main, shadows, scaled, .. } = self;
        scaled.resize(rows.len().div_ceil(PIECE), Rows::default());
        self.threads.install(|| {
            scaled.par_iter_mut().zip(rows.par_chunks(PIECE)).for_each(|(scaled, rows)| {
                scaled.clear();
                rows.iter().for_each(|&(example, identity)| main.sieve.scale(example, identity, scaled));
            });
            let rows = &scaled[..];
            rayon::join(|| main.learn(rows), || shadows.par_iter_mut().for_each(|shadow| shadow.learn(rows)))
        });
        self.main.engine.stage_is_over()
    }

    /// Bytes of all paths now, and of what is known of the rows.
    fn bytes(&self) -> usize {
        let rows = size_of_val(&self.identities[..]) + self.sample.batch.bytes();
        rows + self.main.engine.bytes() + self.shadows.iter().map(|shadow| shadow.engine.bytes()).sum::<usize>()
    }

    /// Ends a stage with its rung, and begins the next one with fewer features.
    pub(super) fn end_stage(&mut self, rung: Rung) {
        self.most_bytes = self.most_bytes.max(self.bytes());
        if let Some(&size) = self.sizes.get(self.rungs.len() + 1) {
            self.main.descend(&rung.outputs, size);
            for shadow in &mut self.shadows {
                let means = shadow.engine.means();
                shadow.descend(&means, size);
            }
        }
        self.rungs.push(rung);
        if !self.is_over() {
            self.begin();
        }
    }

    /// The rung the stage has led to: the model of the main engine, judged by the shadows.
    pub(super) fn rung(&self) -> Rung {
        let mut scores: Vec<Vec<f64>> = vec![Vec::new(); self.codings.len()];
        let mut targets = Vec::new();
        for shadow in &self.shadows {
            let new = self.threads.install(|| shadow.engine.scores(&shadow.judges));
            scores.iter_mut().zip(new).for_each(|(all, new)| all.extend(new));
            targets.extend(shadow.judges.batch.examples().map(|example| (example.target, example.weight)));
        }
        let engine = &self.main.engine;
        let outputs = engine.means();
        for (scores, means) in scores.iter_mut().zip(&outputs) {
            // A model without weights says the same of every row; what the shadows' intercepts say beyond that is chance.
            if means.weights.iter().all(|&weight| weight == 0.0) {
                scores.fill(0.0);
            }
        }
        let verdict = judge(&scores, &self.codings, &targets, self.loss);
        Rung { active: engine.active().to_vec(), gravity: engine.gravity(), outputs, verdict, unmoved: None }
    }
}
