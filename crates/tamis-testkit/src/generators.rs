//! Random sparse streams that depend only on the seed.
//!
//! They contain what lazy learners may get wrong: features from common to rare (Zipf), some that appear late, some that
//! vanish, values of mixed scale and sign, empty rows, importance weights other than 1 (some of them 0), noisy targets.

use rand_distr::{Bernoulli, Distribution, StandardNormal, StandardUniform, Zipf};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use tamis::data::{Batch, Example, FeatureId, Row};
use tamis::loss::{Loss, LossKind};

/// The parameter of the losses that have one: Huber's δ, and τ of the quantile loss.
pub const HUBER: f64 = 0.7;

/// The size of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows.
    pub rows: usize,
    /// Features.
    pub features: usize,
    /// The largest number of entries in a row.
    pub longest: usize,
    /// The seed.
    pub seed: u64,
}

/// When a feature occurs, as shares of the stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Life {
    /// It is absent before this share of the rows.
    pub from: f64,
    /// It is absent after this share of the rows.
    pub to: f64,
}

impl Life {
    /// The life of a feature: of five, one appears late, one vanishes early, three always occur.
    pub fn of(id: FeatureId) -> Life {
        match id % 5 {
            3 => Life { from: 0.5, to: 1.0 },
            4 => Life { from: 0.0, to: 0.3 },
            _ => Life { from: 0.0, to: 1.0 },
        }
    }

    fn includes(self, row: usize, rows: usize) -> bool {
        let share = row as f64 / rows as f64;
        self.from <= share && share < self.to
    }
}

/// The typical size of the values of a feature.
fn scale(id: FeatureId) -> f64 {
    [1.0, 0.3, 0.05][(id % 3) as usize]
}

/// The true weight of a feature: every second one is non-zero, with decreasing size and both signs.
fn truth(id: FeatureId) -> f64 {
    match id % 4 {
        0 => 1.5 / scale(id) / (1.0 + 0.1 * f64::from(id)),
        2 => -1.0 / scale(id) / (1.0 + 0.1 * f64::from(id)),
        _ => 0.0,
    }
}

/// A stream with targets for a loss: classes by a linear rule with a tenth of them flipped, or numbers.
pub fn stream(shape: Shape, kind: LossKind) -> Batch {
    let mut source = Source::new(shape);
    let codes = kind.build(HUBER).codes();
    let mut batch = Batch::new();
    for row in 0..shape.rows {
        let entries = source.entries(row);
        let planted: f64 = entries.iter().map(|&(id, value)| truth(id) * value).sum();
        let target = if kind.needs_classes() {
            codes[usize::from((planted > 0.0) != source.flipped())]
        } else if kind.needs_counts() {
            planted.clamp(-3.0, 1.0).exp() * (1.0 + 0.3 * source.normal()).abs()
        } else {
            planted + 0.3 * source.normal()
        };
        let weight = source.importance();
        let (ids, values): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        batch.push(Example { row: Row { ids: &ids, values: &values }, target, weight });
    }
    batch
}

/// The generator and its distributions.
struct Source {
    shape: Shape,
    generator: Pcg64,
    popularity: Zipf<f64>,
    flip: Bernoulli,
}

impl Source {
    fn new(shape: Shape) -> Self {
        Source {
            shape,
            generator: Pcg64::seed_from_u64(shape.seed),
            popularity: Zipf::new(shape.features as f64, 0.9).expect("at least one feature"),
            flip: Bernoulli::new(0.1).expect("a probability"),
        }
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.generator)
    }

    fn uniform(&mut self) -> f64 {
        StandardUniform.sample(&mut self.generator)
    }

    fn flipped(&mut self) -> bool {
        self.flip.sample(&mut self.generator)
    }

    /// The entries of a row, ids ascending; a drawn feature that does not occur at this row is left out, so that rows
    /// may be empty.
    fn entries(&mut self, row: usize) -> Vec<(FeatureId, f64)> {
        let wanted = 1 + (self.uniform() * self.shape.longest as f64) as usize;
        let mut ids: Vec<FeatureId> =
            (0..wanted).map(|_| self.popularity.sample(&mut self.generator) as FeatureId - 1).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|&id| Life::of(id).includes(row, self.shape.rows));
        ids.into_iter().map(|id| (id, scale(id) * self.normal())).collect()
    }

    /// Mostly 1; sometimes more, less or 0.
    fn importance(&mut self) -> f64 {
        match (self.uniform() * 20.0) as u32 {
            0 => 0.0,
            1 => 0.25,
            2 => 2.0,
            3 => 3.0 * self.uniform(),
            _ => 1.0,
        }
    }
}

/// The same rows with the entries of each in another order.
pub fn shuffled_entries(batch: &Batch, seed: u64) -> Batch {
    let mut generator = Pcg64::seed_from_u64(seed);
    rebuilt(batch, |entries| {
        // The Fisher–Yates shuffle.
        for last in (1..entries.len()).rev() {
            let uniform: f64 = StandardUniform.sample(&mut generator);
            entries.swap(last, (uniform * (last + 1) as f64) as usize);
        }
    })
}

/// The same rows with explicit zeros between the entries, for features `0..features` that the row does not have.
pub fn with_explicit_zeros(batch: &Batch, features: usize) -> Batch {
    let mut turn = 0;
    rebuilt(batch, |entries| {
        for _ in 0..3 {
            turn += 7;
            let id = (turn % features) as FeatureId;
            if entries.iter().all(|&(present, _)| present != id) {
                entries.insert(turn % (entries.len() + 1), (id, if turn % 2 == 0 { 0.0 } else { -0.0 }));
            }
        }
    })
}

/// The same rows with feature `id` renamed to `features − 1 − id`; entries keep their order.
pub fn relabelled(batch: &Batch, features: usize) -> Batch {
    rebuilt(batch, |entries| entries.iter_mut().for_each(|entry| entry.0 = features as FeatureId - 1 - entry.0))
}

fn rebuilt(batch: &Batch, mut change: impl FnMut(&mut Vec<(FeatureId, f64)>)) -> Batch {
    let mut out = Batch::new();
    for example in batch.examples() {
        let mut entries: Vec<_> = example.row.iter().collect();
        change(&mut entries);
        let (ids, values): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        out.push(Example { row: Row { ids: &ids, values: &values }, ..example });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { rows: 2000, features: 40, longest: 8, seed: 3 };

    fn count(batch: &Batch, id: FeatureId, rows: std::ops::Range<usize>) -> usize {
        rows.filter(|&i| batch.row(i).ids.contains(&id)).count()
    }

    #[test]
    fn the_same_seed_gives_the_same_stream() {
        assert_eq!(stream(SHAPE, LossKind::Hinge), stream(SHAPE, LossKind::Hinge));
        assert_ne!(stream(SHAPE, LossKind::Hinge), stream(Shape { seed: 4, ..SHAPE }, LossKind::Hinge));
    }

    #[test]
    fn features_are_common_and_rare_late_and_vanishing() {
        let batch = stream(SHAPE, LossKind::Logistic);
        assert!(count(&batch, 0, 0..2000) > 5 * count(&batch, 35, 0..2000));
        assert_eq!(count(&batch, 3, 0..1000), 0);
        assert!(count(&batch, 3, 1000..2000) > 100);
        assert_eq!(count(&batch, 4, 600..2000), 0);
        assert!(count(&batch, 4, 0..600) > 50);
        assert!((0..40).all(|id| count(&batch, id, 0..2000) > 0));
    }

    #[test]
    fn targets_suit_the_loss() {
        for kind in LossKind::ALL {
            let batch = stream(SHAPE, kind);
            let codes = kind.build(HUBER).codes();
            let coded = batch.examples().filter(|example| codes.contains(&example.target)).count();
            assert_eq!(coded, if kind.needs_classes() { 2000 } else { 0 }, "{kind:?}");
        }
    }

    #[test]
    fn rewritten_streams_have_the_same_content() {
        let batch = stream(SHAPE, LossKind::Squared);
        assert_ne!(shuffled_entries(&batch, 1), batch);
        assert_eq!(with_explicit_zeros(&batch, 40), batch, "a batch drops zeros");
        assert_eq!(relabelled(&relabelled(&batch, 40), 40), batch);
        let sorted = rebuilt(&shuffled_entries(&batch, 1), |entries| entries.sort_by_key(|entry| entry.0));
        assert_eq!(sorted, batch);
    }
}
