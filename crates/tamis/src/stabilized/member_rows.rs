//! The rows of a batch over the active features of each ensemble.
//!
//! Main ensemble and fold ensembles have active sets of their own. One table has the position of a feature in all of them, so that
//! a random access gives all five. In the first stage the sets are the same, and so are the rows: a fold ensemble
//! passes over those of its fold.
//!
//! Cost: one random access for each entry.

use rayon::prelude::*;

use super::folded_ensemble::{FOLDS, FoldedEnsemble};
use super::row_transform::{Entries, RowTransform, restrict_to_each};
use super::stage::{Block, Plan};
use super::subsamples::HashedRows;
use crate::data::{Example, Row, fold_of_hash, prefetch};

/// Ensembles: the main one, and those of the folds.
const MEMBERS: usize = 1 + FOLDS as usize;
/// Rows that one thread restricts at a time.
const PIECE: usize = 128;

/// Rows of a batch over the features of each ensemble.
pub(super) struct MemberRows {
    /// The position of each feature in each active set; `None` if all sets are the same.
    positions: Option<Vec<[u32; MEMBERS]>>,
    pieces: Vec<Piece>,
    used: usize,
}

/// Some rows, over the features of each ensemble; of the first one alone if all are the same.
#[derive(Default)]
struct Piece {
    rows: [HashedRows; MEMBERS],
    entries: [Entries; MEMBERS],
}

impl MemberRows {
    /// For ensembles with their present active sets.
    pub(super) fn new(members: &[&FoldedEnsemble; MEMBERS]) -> Self {
        let first = members[0].ensemble.active();
        let are_same = members.iter().all(|member| member.ensemble.active() == first);
        let tables = members.map(|member| member.transform.positions());
        let each = || (0..tables[0].len()).map(|id| tables.map(|table| table[id])).collect();
        MemberRows { positions: (!are_same).then(each), pieces: Vec::new(), used: 0 }
    }

    /// Learns scaled rows, all blocks of all ensembles in parallel, in the pool of the caller. An ensemble that has converged only
    /// counts them.
    pub(super) fn learn(&mut self, members: [&mut FoldedEnsemble; MEMBERS], rows: &[(Example<'_>, u64)]) {
        self.restrict(members.each_ref().map(|member| &member.transform), rows);
        let lists: [Vec<&HashedRows>; MEMBERS] = std::array::from_fn(|number| self.of_member(number));
        let mut members = members;
        let mut work = in_turns(&mut members, &lists);
        work.par_iter_mut().with_max_len(1).for_each(|(plan, block, rows)| block.learn(plan, rows));
        members.par_iter_mut().for_each(|member| member.ensemble.visit(rows.len() as u64));
    }

    fn restrict(&mut self, transforms: [&RowTransform; MEMBERS], rows: &[(Example<'_>, u64)]) {
        self.used = rows.len().div_ceil(PIECE);
        self.pieces.resize_with(self.pieces.len().max(self.used), Piece::default);
        let (centred, same) = (transforms.map(RowTransform::centred), transforms[0].positions());
        let positions = &self.positions;
        self.pieces.par_iter_mut().zip(rows.par_chunks(PIECE)).for_each(|(piece, rows)| {
            piece.rows.iter_mut().for_each(HashedRows::clear);
            for (number, &(example, row_hash)) in rows.iter().enumerate() {
                let next = rows.get(number + 1).map_or(&[][..], |(example, _)| example.row.ids);
                match positions {
                    None => {
                        prefetch(same, next);
                        piece.push(example, row_hash, |id| [same[id as usize]], [centred[0]]);
                    }
                    Some(each) => {
                        prefetch(each, next);
                        piece.push(example, row_hash, |id| each[id as usize], centred);
                    }
                }
            }
        });
    }

    /// The rows of an ensemble, in pieces: the main one is number 0, fold ensembles follow.
    fn of_member(&self, number: usize) -> Vec<&HashedRows> {
        let number = if self.positions.is_none() { 0 } else { number };
        self.pieces[..self.used].iter().map(|piece| &piece.rows[number]).collect()
    }
}

/// A block of paths, its plan, and the rows that it learns.
type Work<'a> = (Plan, &'a mut Block, &'a [&'a HashedRows]);

/// The blocks of ensembles that still learn. Those of the main ensemble learn from all rows, those of the folds from three quarters: in
/// turns, so that two threads with a half of the list each have as much to do.
fn in_turns<'a>(members: &'a mut [&mut FoldedEnsemble; MEMBERS], lists: &'a [Vec<&'a HashedRows>]) -> Vec<Work<'a>> {
    let mut work: Vec<(usize, Work<'a>)> = Vec::new();
    for (number, (member, rows)) in members.iter_mut().zip(lists).enumerate() {
        if member.ensemble.has_converged() {
            continue;
        }
        let turn = |at: usize| if number == 0 { 2 * at } else { 2 * (number - 1) + 1 };
        let blocks = member.ensemble.blocks_mut().enumerate();
        work.extend(blocks.map(|(at, (plan, block))| (turn(at), (plan, block, &rows[..]))));
    }
    work.sort_by_key(|(turn, _)| *turn);
    work.into_iter().map(|(_, work)| work).collect()
}

impl Piece {
    /// Adds a row, given the positions of a feature in the first `N` active sets.
    fn push<const N: usize>(
        &mut self,
        example: Example<'_>,
        row_hash: u64,
        positions: impl Fn(u32) -> [u32; N],
        centred: [&[(u32, f64)]; N],
    ) {
        restrict_to_each(example.row, positions, centred, &mut self.entries);
        // The ensemble of its own fold does not learn from a row.
        let excluded = 1 + fold_of_hash(row_hash, FOLDS) as usize;
        for (number, (rows, entries)) in self.rows.iter_mut().zip(&self.entries).take(N).enumerate() {
            let row = if number == excluded { Row { ids: &[], values: &[] } } else { entries.row() };
            rows.push(Example { row, ..example }, row_hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{OutputCoding, RowScale};
    use crate::loss::LossKind;
    use crate::rng::splitmix64;
    use crate::stabilized::{ClassCoding, Ensemble, Settings, Subsamples};

    /// An ensemble over some of nine features; every third column is centred.
    fn member(active: Vec<u32>, fold: Option<u32>) -> FoldedEnsemble {
        let columns = (0..9).map(|id| (2.0, if id % 3 == 0 { 0.5 } else { 0.0 })).collect();
        let mut transform = RowTransform::of_columns(RowScale::None, columns);
        transform.set_active(&active);
        let coding = ClassCoding { output: OutputCoding { class: None, codes: [-1.0, 1.0] }, class_weights: [1.0; 2] };
        let subsamples = match fold {
            Some(fold) => Subsamples::excluding_fold(0.5, fold, FOLDS),
            None => Subsamples::new(0.5),
        };
        let loss = LossKind::Squared.build(1.0);
        let mut ensemble = Ensemble::new(Settings::default(), loss, vec![coding], active, subsamples);
        ensemble.begin(1000, 300, 1.0);
        FoldedEnsemble::new(ensemble, transform, fold)
    }

    fn rows() -> HashedRows {
        let mut rows = HashedRows::default();
        for row in 0..300u64 {
            let ids: Vec<u32> = (0..9).filter(|&id| splitmix64(row * 31 + u64::from(id)).is_multiple_of(2)).collect();
            let values: Vec<f64> = ids.iter().map(|&id| (f64::from(id) + row as f64).sin()).collect();
            let example = Example { row: Row { ids: &ids, values: &values }, target: values.iter().sum(), weight: 1.0 };
            rows.push(example, splitmix64(row));
        }
        rows
    }

    /// Restricts and learns as one ensemble does by itself.
    fn learn_alone(member: &mut FoldedEnsemble, rows: &HashedRows) {
        let mut restricted = HashedRows::default();
        rows.iter().for_each(|(example, row_hash)| member.transform.restrict(example, row_hash, &mut restricted));
        member.ensemble.learn(&restricted);
    }

    #[test]
    fn all_together_learn_what_each_learns_alone() {
        let actives: [[&[u32]; MEMBERS]; 2] =
            [[&[0, 2, 3, 7]; MEMBERS], [&[0, 1, 4], &[0, 2, 3, 7], &[8], &[1, 2, 3, 4, 5, 6], &[0, 6, 7]]];
        for active in actives {
            let new = |number: usize| member(active[number].to_vec(), number.checked_sub(1).map(|fold| fold as u32));
            let (mut together, mut alone): ([_; MEMBERS], [_; MEMBERS]) =
                (std::array::from_fn(new), std::array::from_fn(new));
            let rows = rows();
            let batch: Vec<(Example<'_>, u64)> = rows.iter().collect();
            let mut member_rows = MemberRows::new(&together.each_ref());
            member_rows.learn(together.each_mut(), &batch);
            for (together, alone) in together.iter().zip(&mut alone) {
                learn_alone(alone, &rows);
                let sums = |member: &FoldedEnsemble| member.ensemble.state_sums(0);
                assert_eq!(sums(together), sums(alone));
                assert!(sums(together).iter().any(|sums| sums[1] > 0.0));
                assert_eq!(together.ensemble.progress(), alone.ensemble.progress());
            }
        }
    }
}
