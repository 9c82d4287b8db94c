//! Selection frequencies Π, by which features are purged.
//!
//! Source: Ma & Zheng 2016, eq. (8) and (16), in the reading of E4.
//! ```text
//! κ_j ← κ_j + 1,  b_j ← b_j + 1(w_j ≠ 0 after the burst)       every burst with a counted update of j
//! κ_j > δ_K       Π_j = b_j/κ_j; purged if Π_j < π₀; κ_j, b_j ← 0       at the end of a stage
//! κ_j ≤ δ_K       Π_j is not updated (initially 1); evidence is carried over
//! ```
//! With δ_K = 0 this is eq. (8). κ may count updates in place of bursts ([`Evidence::Updates`]), as section 5 prints.
//! Resetting evidence when it is used is the paper's 1(κ̃ < δ_K), without visiting features that no burst has updated.
//!
//! Cost: O(updates of bursts) for each stage.

use super::path::BurstUpdate;
use crate::data::FeatureId;
use crate::recipe::Evidence;

/// Evidence that is not used yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    /// κ.
    total: u64,
    /// b.
    nonzero: u64,
}

/// The evidence and the last Π of all features.
#[derive(Clone, Debug)]
pub(super) struct SelectionFrequency {
    tallies: Vec<Tally>,
    frequency: Vec<f64>,
    unit: Evidence,
}

impl SelectionFrequency {
    pub fn new(span: usize, unit: Evidence) -> Self {
        SelectionFrequency { tallies: vec![Tally::default(); span], frequency: vec![1.0; span], unit }
    }

    /// Counts the effect of one burst on a feature.
    pub fn count(&mut self, update: &BurstUpdate) {
        let tally = &mut self.tallies[update.id as usize];
        tally.total += match self.unit {
            Evidence::Bursts => 1,
            Evidence::Updates => u64::from(update.updates),
        };
        tally.nonzero += u64::from(update.after);
    }

    /// Updates Π of a feature if there is enough evidence, which is then used up.
    pub fn update(&mut self, id: FeatureId, needed: u32) -> Option<f64> {
        let tally = &mut self.tallies[id as usize];
        if tally.total <= u64::from(needed) {
            return None;
        }
        let frequency = tally.nonzero as f64 / tally.total as f64;
        *tally = Tally::default();
        self.frequency[id as usize] = frequency;
        Some(frequency)
    }

    /// The last Π of each feature; 1 if there never was enough evidence.
    pub fn into_frequency(self) -> Vec<f64> {
        self.frequency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst_update(id: FeatureId, updates: u32, after: bool) -> BurstUpdate {
        BurstUpdate { id, updates, mean_change: 0.0, before: false, after }
    }

    fn count(frequency: &mut SelectionFrequency, id: FeatureId, updates: u32, afters: &[bool]) {
        afters.iter().for_each(|&after| frequency.count(&burst_update(id, updates, after)));
    }

    #[test]
    fn eq_8_by_hand() {
        let mut frequency = SelectionFrequency::new(3, Evidence::Bursts);
        count(&mut frequency, 0, 3, &[true, true, false, true]);
        count(&mut frequency, 1, 1, &[false]);
        assert_eq!([0, 1, 2].map(|id| frequency.update(id, 0)), [Some(0.75), Some(0.0), None]);
        assert_eq!(frequency.into_frequency(), [0.75, 0.0, 1.0], "a feature without updates has Π = 1");
    }

    #[test]
    fn eq_16_needs_more_than_delta_and_then_resets() {
        let mut frequency = SelectionFrequency::new(1, Evidence::Bursts);
        count(&mut frequency, 0, 1, &[true, true]);
        assert_eq!(frequency.update(0, 3), None);
        // κ̃ = 3 = δ_K: not used, and not lost.
        count(&mut frequency, 0, 1, &[false]);
        assert_eq!(frequency.update(0, 3), None);
        count(&mut frequency, 0, 1, &[false]);
        assert_eq!(frequency.update(0, 3), Some(0.5));
        // Evidence that was used is not used again.
        count(&mut frequency, 0, 1, &[true; 4]);
        assert_eq!(frequency.update(0, 3), Some(1.0));
        assert_eq!(frequency.into_frequency(), [1.0]);
    }

    #[test]
    fn section_5_as_printed_divides_bursts_by_updates() {
        let mut frequency = SelectionFrequency::new(1, Evidence::Updates);
        count(&mut frequency, 0, 5, &[true, true]);
        assert_eq!(frequency.update(0, 9), Some(0.2));
    }

    #[test]
    fn a_second_update_changes_nothing() {
        let mut frequency = SelectionFrequency::new(1, Evidence::Bursts);
        count(&mut frequency, 0, 1, &[true, false]);
        assert_eq!(frequency.update(0, 0), Some(0.5));
        assert_eq!(frequency.update(0, 0), None);
        assert_eq!(frequency.into_frequency(), [0.5]);
    }
}
