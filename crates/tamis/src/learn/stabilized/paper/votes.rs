//! Selection frequencies Π, and who falls below the cut.
//!
//! Source: Ma & Zheng 2016, eq. (8) and (16), in the reading of E4.
//! ```text
//! κ_j ← κ_j + 1,  b_j ← b_j + 1(w_j ≠ 0 after the burst)       every burst with a counted update of j
//! κ_j > δ_K       Π_j = b_j/κ_j; purged if Π_j < π₀; κ_j, b_j ← 0       at the end of a stage
//! κ_j ≤ δ_K       not judged (Π = 1); evidence is carried over
//! ```
//! With δ_K = 0 that is eq. (8). κ may count updates in place of bursts ([`Evidence::Updates`]), as section 5 prints.
//! Setting evidence back when it is used is the paper's 1(κ̃ < δ_K), without touching features no burst has seen.
//!
//! Cost: O(verdicts) a stage.

use super::path::Verdict;
use super::settings::Evidence;
use crate::data::FeatureId;

/// Evidence not used yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ballot {
    /// κ.
    seen: u64,
    /// b.
    kept: u64,
}

/// The ballots of all features and their last Π.
#[derive(Clone, Debug)]
pub(super) struct Votes {
    ballots: Vec<Ballot>,
    frequency: Vec<f64>,
    unit: Evidence,
}

impl Votes {
    pub fn new(span: usize, unit: Evidence) -> Self {
        Votes { ballots: vec![Ballot::default(); span], frequency: vec![1.0; span], unit }
    }

    /// Counts the vote of one burst.
    pub fn count(&mut self, verdict: &Verdict) {
        let ballot = &mut self.ballots[verdict.id as usize];
        ballot.seen += match self.unit {
            Evidence::Bursts => 1,
            Evidence::Updates => u64::from(verdict.updates),
        };
        ballot.kept += u64::from(verdict.after);
    }

    /// Π of a feature if there is enough evidence, which is then used up.
    pub fn judge(&mut self, id: FeatureId, needed: u32) -> Option<f64> {
        let ballot = &mut self.ballots[id as usize];
        if ballot.seen <= u64::from(needed) {
            return None;
        }
        let frequency = ballot.kept as f64 / ballot.seen as f64;
        *ballot = Ballot::default();
        self.frequency[id as usize] = frequency;
        Some(frequency)
    }

    /// The last Π of every feature, 1 where none was ever judged.
    pub fn into_frequency(self) -> Vec<f64> {
        self.frequency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(id: FeatureId, updates: u32, after: bool) -> Verdict {
        Verdict { id, updates, pull: 0.0, before: false, after }
    }

    fn count(votes: &mut Votes, id: FeatureId, updates: u32, afters: &[bool]) {
        afters.iter().for_each(|&after| votes.count(&verdict(id, updates, after)));
    }

    #[test]
    fn eq_8_by_hand() {
        let mut votes = Votes::new(3, Evidence::Bursts);
        count(&mut votes, 0, 3, &[true, true, false, true]);
        count(&mut votes, 1, 1, &[false]);
        assert_eq!([0, 1, 2].map(|id| votes.judge(id, 0)), [Some(0.75), Some(0.0), None]);
        assert_eq!(votes.into_frequency(), [0.75, 0.0, 1.0], "a feature without updates has Π = 1");
    }

    #[test]
    fn eq_16_waits_for_more_than_delta_and_then_starts_afresh() {
        let mut votes = Votes::new(1, Evidence::Bursts);
        count(&mut votes, 0, 1, &[true, true]);
        assert_eq!(votes.judge(0, 3), None);
        // κ̃ = 3 = δ_K: not judged, and not lost.
        count(&mut votes, 0, 1, &[false]);
        assert_eq!(votes.judge(0, 3), None);
        count(&mut votes, 0, 1, &[false]);
        assert_eq!(votes.judge(0, 3), Some(0.5));
        // Evidence that was used is not used again.
        count(&mut votes, 0, 1, &[true; 4]);
        assert_eq!(votes.judge(0, 3), Some(1.0));
        assert_eq!(votes.into_frequency(), [1.0]);
    }

    #[test]
    fn the_letter_of_section_5_divides_bursts_by_updates() {
        let mut votes = Votes::new(1, Evidence::Updates);
        count(&mut votes, 0, 5, &[true, true]);
        assert_eq!(votes.judge(0, 9), Some(0.2));
    }

    #[test]
    fn judging_twice_changes_nothing() {
        let mut votes = Votes::new(1, Evidence::Bursts);
        count(&mut votes, 0, 1, &[true, false]);
        assert_eq!(votes.judge(0, 0), Some(0.5));
        assert_eq!(votes.judge(0, 0), None);
        assert_eq!(votes.into_frequency(), [0.5]);
    }
}
