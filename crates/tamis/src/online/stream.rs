//! Rows after the buffered ones: they are learned once, as they arrive, and not stored.

use super::learner_trainer::LearnerTrainer;
use super::stream_position::{SWEEP_EVERY, StreamPosition};
use crate::data::Example;
use crate::io::Block;
use crate::learners::Learner;
use crate::trainer::{Session, TrainError, fingerprints};

impl<L: Learner + Clone + Send + Sync + 'static> LearnerTrainer<L> {
    /// Learns the rows of a block, except those that were learned before an interruption.
    pub(crate) fn learn_block(&mut self, session: &mut Session<'_>, mut block: Block) -> Result<(), TrainError> {
        while !block.rows.is_empty() {
            let now = (SWEEP_EVERY - self.stream.rows % SWEEP_EVERY) as usize;
            let is_cut = now < block.rows.len() && self.may_sweep(session, block.rows.most_features());
            let later = is_cut.then(|| block.split_off(now));
            self.learn_piece(session, block)?;
            if self.stream.is_at_sweep() {
                self.free_idle_features(session)?;
                self.check_memory(session)?;
            }
            let Some(later) = later else { break };
            block = later;
        }
        Ok(())
    }

    fn learn_piece(&mut self, session: &mut Session<'_>, mut block: Block) -> Result<(), TrainError> {
        let stream = &mut self.stream;
        let prints = if stream.needs_fingerprint {
            fingerprints(&block.rows, stream.fingerprint)
        } else {
            vec![stream.fingerprint; block.rows.len()]
        };
        let length = prints.len() as u64;
        let passed = (stream.learned - stream.learned.min(stream.rows)).min(length);
        let (saved_rows, saved_print) = stream.saved;
        if passed > 0
            && stream.buffered_rows + stream.rows + passed == saved_rows
            && prints[passed as usize - 1] != saved_print
        {
            return Err(stream.other_data(saved_rows));
        }
        stream.fingerprint = prints.last().copied().unwrap_or(stream.fingerprint);
        stream.rows += length;
        if passed < length {
            let block = if passed > 0 { block.split_off(passed as usize) } else { block };
            self.learn_rows(session, block, &prints[passed as usize..])?;
        }
        Ok(())
    }

    fn learn_rows(&mut self, session: &mut Session<'_>, block: Block, prints: &[u64]) -> Result<(), TrainError> {
        let (mut batch, labels, place) = block.intern(&mut session.data.vocabulary)?;
        if self.takes_whole(session, &batch)
            && let Some(targets) = session.data.targets.encode_known(&labels)
        {
            match session.data.scaler().scale_in_place(batch) {
                Ok(scaled) => return self.take_whole(session, scaled.with_targets(targets), prints[prints.len() - 1]),
                Err(same) => batch = same,
            }
        }
        for (row, example) in batch.examples().enumerate() {
            let target = session.data.targets.encode(&labels[row], || place.of(row))?;
            if session.data.scale.is_active() {
                session.data.scale.observe(example.row);
            }
            session.data.fingerprint = (session.data.fingerprint.0 + 1, prints[row]);
            let weight = example.weight * session.data.class_factor(target) / session.data.weight_unit;
            self.take(session, Example { target, weight, ..example })?;
        }
        Ok(())
    }

    /// Ends the stream: a resumed training must have read all of its earlier rows again.
    pub(crate) fn end_stream(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        let StreamPosition { rows, learned, buffered_rows, .. } = self.stream;
        if rows < learned {
            return Err(self.stream.other_data(buffered_rows + rows + 1));
        }
        self.flush(session)
    }
}
