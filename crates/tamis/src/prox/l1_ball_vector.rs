//! A vector in an ℓ₁ ball: the projection shifts a shared threshold, in time that does not grow with the number of
//! weights.
//!
//! Source: after Duchi, Shalev-Shwartz, Singer & Chandra, *Efficient Projections onto the l1-Ball for Learning in High
//! Dimensions* (ICML 2008), section 5.
//!
//! The projection on ‖w‖₁ ≤ B subtracts the same τ from every |w_j| and stops at zero. So a weight is stored as a
//! *key*, sign(w)·(|w| + Θ at the time of writing), where Θ is the sum of all τ so far: a larger Θ lowers all weights.
//! It remains to find the weights that reach zero, whose keys have the absolute value Θ.
//!
//! Departures: the source keeps the keys in a search tree; here only the *low* keys, up to a floor, are in a heap
//! ([`RadixHeap`]). A weight above the floor costs nothing but its cell. When Θ has passed the floor, a scan of the
//! non-zero weights sets the next floor at their median. The half that was removed pays for the scan, and each of these
//! weights was updated before: O(1) amortised per updated weight, and a few moves for the low ones.
//!
//! The floor and the lists do not change any number: weights reach zero in the order of their keys, ties by id. So the
//! state is the keys, Θ and Σ|key|, and a copy made from these continues bit for bit.

use super::radix_heap::{Entry, RadixHeap};
use crate::data::{FeatureId, State, StateError, ToF64s, prefetch};

/// The state of a weight, including its key.
pub trait Keyed: ToF64s + Default + Clone {
    /// sign(w)·(|w| + Θ), or a zero.
    fn key(&self) -> f64;
    /// Writes the key.
    fn set_key(&mut self, key: f64);
}

impl Keyed for f64 {
    fn key(&self) -> f64 {
        *self
    }
    fn set_key(&mut self, key: f64) {
        *self = key;
    }
}

/// The key of a weight that is zero but still stands in the list; one that does not has +0.
const LISTED_ZERO: f64 = -0.0;
/// Up to this number of weights, no floor is used.
const FEW: usize = 32;
/// The number of cells that are prefetched.
const SOME: usize = 64;

/// A vector of cells whose weights stay in an ℓ₁ ball.
#[derive(Clone, Debug)]
pub struct L1BallVector<C> {
    /// One a feature seen.
    pub cells: Vec<C>,
    /// Θ.
    offset: f64,
    /// Σ|key| and number of the non-zero weights.
    total: f64,
    count: usize,
    /// All non-zero weights with keys up to this size are in `low`.
    floor: f64,
    /// Absolute keys with ids; some are out of date.
    low: RadixHeap,
    /// Ids of all non-zero weights, and of some that are zero.
    listed: Vec<FeatureId>,
    /// Ids that reach zero by the last planned projection.
    leaving: Vec<FeatureId>,
    /// The low entries taken last.
    taken: Vec<Entry>,
}

/// A projection on the ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    /// By how much the weights that stay are lowered (τ).
    pub amount: f64,
    /// ‖w‖₁ of those that stay, before.
    pub norm: f64,
    /// How many stay.
    pub count: usize,
}

impl<C: Keyed> Default for L1BallVector<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Keyed> L1BallVector<C> {
    /// No weights.
    pub fn new() -> Self {
        L1BallVector {
            cells: Vec::new(),
            offset: 0.0,
            total: 0.0,
            count: 0,
            floor: 0.0,
            low: RadixHeap::new(),
            listed: Vec::new(),
            leaving: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Θ.
    #[inline]
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// The number of non-zero weights.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Makes room for ids below `span`.
    pub fn grow(&mut self, span: usize) {
        self.cells.resize(self.cells.len().max(span), C::default());
    }

    /// A weight, zero for an id never seen.
    #[inline]
    pub fn weight(&self, id: FeatureId) -> f64 {
        self.cells.get(id as usize).map_or(0.0, |cell| self.weight_of_key(cell.key()))
    }

    /// The weight of a key.
    #[inline]
    pub fn weight_of_key(&self, key: f64) -> f64 {
        if key == 0.0 { 0.0 } else { (key.abs() - self.offset).max(0.0).copysign(key) }
    }

    /// Sets a weight. One that is lost in the rounding beside Θ is zero.
    #[inline]
    pub fn put(&mut self, id: FeatureId, weight: f64) {
        let cell = &mut self.cells[id as usize];
        let old = cell.key();
        if old != 0.0 {
            self.total -= old.abs();
            self.count -= 1;
        }
        let size = weight.abs() + self.offset;
        let is_listed = old.to_bits() != 0;
        if size > self.offset {
            cell.set_key(size.copysign(weight));
            self.total += size;
            self.count += 1;
            if !is_listed {
                self.listed.push(id);
            }
            if size <= self.floor {
                self.low.put((size.to_bits(), id));
            }
        } else {
            cell.set_key(if is_listed { LISTED_ZERO } else { 0.0 });
        }
    }

    /// Plans the projection on ‖w‖₁ ≤ `radius`; `None` if the vector is inside. [`L1BallVector::commit`] applies it,
    /// [`L1BallVector::cancel`] drops it.
    pub fn plan(&mut self, radius: f64) -> Option<Projection> {
        if self.low.len() > 2 * self.count + FEW {
            // Weights touched often have filled it with what is no longer true; below a floor of 0 there is nothing.
            self.low.clear();
            self.floor = 0.0;
        }
        let (mut total, mut count) = (self.total, self.count);
        self.leaving.clear();
        loop {
            let norm = total - count as f64 * self.offset;
            if count == 0 || (norm <= radius && self.leaving.is_empty()) {
                return (!self.leaving.is_empty()).then_some(Projection { amount: 0.0, norm: 0.0, count });
            }
            let amount = ((norm - radius) / count as f64).max(0.0);
            let threshold = self.offset + amount;
            if self.take_low(threshold) {
                // The threshold only rises as weights leave, so these leave whatever comes.
                for &(bits, id) in &self.taken {
                    if self.cells[id as usize].key().abs().to_bits() == bits {
                        self.leaving.push(id);
                        total -= f64::from_bits(bits);
                        count -= 1;
                    }
                }
            } else if threshold > self.floor && self.floor < f64::INFINITY {
                self.raise_floor();
            } else {
                return Some(Projection { amount, norm, count });
            }
        }
    }

    /// Takes the low ones up to a size, true or not, smallest first; whether there was anything. The cells are
    /// read in one go: they lie far apart, and loads that depend on nothing are fetched many at a time.
    fn take_low(&mut self, threshold: f64) -> bool {
        self.low.take(threshold.to_bits(), &mut self.taken);
        let all = self.taken.iter().fold(0, |sum, (_, id)| sum ^ self.cells[*id as usize].key().to_bits());
        std::hint::black_box(all);
        !self.taken.is_empty()
    }

    /// Sets the next floor. There is nothing low: what has a key up to the old floor is leaving.
    fn raise_floor(&mut self) {
        let old = self.floor;
        let mut above = Vec::with_capacity(self.count);
        let L1BallVector { cells, listed, .. } = self;
        let mut kept = 0;
        for start in (0..listed.len()).step_by(SOME) {
            let end = (start + SOME).min(listed.len());
            prefetch(cells, &listed[end..(end + SOME).min(listed.len())]);
            for at in start..end {
                let id = listed[at];
                let cell = &mut cells[id as usize];
                let size = cell.key().abs();
                if size > old {
                    above.push((size.to_bits(), id));
                } else if size == 0.0 {
                    cell.set_key(0.0);
                }
                if size > 0.0 {
                    listed[kept] = id;
                    kept += 1;
                }
            }
        }
        listed.truncate(kept);
        self.floor = f64::INFINITY;
        if above.len() > FEW {
            let place = above.len() / 2;
            let (_, &mut (bits, _), _) = above.select_nth_unstable(place);
            self.floor = f64::from_bits(bits);
            // Equal keys stand on one side of the floor.
            above.retain(|&(size, _)| size <= bits);
        }
        above.into_iter().for_each(|entry| self.low.put(entry));
    }

    /// Ids that reach zero by the last planned projection.
    pub fn leaving(&self) -> &[FeatureId] {
        &self.leaving
    }

    /// Applies the planned projection.
    pub fn commit(&mut self, projection: Projection) {
        for id in std::mem::take(&mut self.leaving) {
            let cell = &mut self.cells[id as usize];
            self.total -= cell.key().abs();
            self.count -= 1;
            cell.set_key(LISTED_ZERO);
        }
        self.offset += projection.amount;
        if self.count == 0 {
            self.total = 0.0;
        }
    }

    /// Drops the planned projection.
    pub fn cancel(&mut self) {
        for id in std::mem::take(&mut self.leaving) {
            let size = self.cells[id as usize].key().abs();
            self.low.put((size.to_bits(), id));
        }
    }

    /// Rewrites all keys with Θ = 0; `weight` gives the new weight from the old one and its cell.
    pub fn rewrite(&mut self, mut weight: impl FnMut(f64, &mut C) -> f64) {
        let offset = self.offset;
        (self.offset, self.total, self.count, self.floor) = (0.0, 0.0, 0, 0.0);
        self.low.clear();
        self.listed.clear();
        for (id, cell) in self.cells.iter_mut().enumerate() {
            let key = cell.key();
            let old = if key == 0.0 { 0.0 } else { (key.abs() - offset).max(0.0).copysign(key) };
            let new = weight(old, cell);
            cell.set_key(if new == 0.0 { 0.0 } else { new });
            if new != 0.0 {
                self.total += new.abs();
                self.count += 1;
                self.listed.push(id as FeatureId);
            }
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<C>() + self.low.len() * 16 + self.listed.len() * 4
    }

    /// Writes the state.
    pub fn save(&self, state: &mut State) {
        let plain = |cell: &C| {
            let mut cell = cell.clone();
            cell.set_key(cell.key() + 0.0); // −0 and 0 are one weight
            cell
        };
        state.put_all("cells", &self.cells.iter().map(plain).collect::<Vec<C>>());
        state.put("l1-ball", vec![self.offset, self.total]);
    }

    /// Reads the state.
    pub fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        *self = L1BallVector { cells: state.take_all("cells")?, ..L1BallVector::new() };
        [self.offset, self.total] = state.take_fixed("l1-ball")?;
        let nonzero = |id: &FeatureId| self.cells[*id as usize].key() != 0.0;
        self.listed = (0..self.cells.len() as FeatureId).filter(nonzero).collect();
        self.count = self.listed.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prox::l1_threshold;
    use crate::rng::{RngStream, generator, uniform_below};

    fn weights(vector: &L1BallVector<f64>) -> Vec<f64> {
        (0..vector.cells.len() as FeatureId).map(|id| vector.weight(id)).collect()
    }

    #[test]
    fn projects_by_hand() {
        let mut vector = L1BallVector::<f64>::new();
        vector.grow(3);
        [3.0, -2.0, 0.4].into_iter().zip(0..).for_each(|(weight, id)| vector.put(id, weight));
        let plan = vector.plan(2.0).unwrap();
        assert_eq!((plan, vector.leaving()), (Projection { amount: 1.5, norm: 5.0, count: 2 }, &[2][..]));
        vector.cancel();
        assert_eq!(weights(&vector), [3.0, -2.0, 0.4]);
        let plan = vector.plan(2.0).unwrap();
        vector.commit(plan);
        assert_eq!(weights(&vector), [1.5, -0.5, 0.0]);
        assert_eq!(vector.plan(2.0), None);
        vector.put(2, 1.0);
        assert_eq!((vector.weight(2), vector.count()), (1.0, 3));
    }

    /// Many touches, a projection after each few: the same as projecting a plain vector.
    #[test]
    fn stays_with_a_plain_vector_through_many_floors() {
        let mut random = generator(1, RngStream::PassOrder, 0);
        let (mut vector, mut plain) = (L1BallVector::<f64>::new(), vec![0.0f64; 500]);
        vector.grow(500);
        let mut emptied = 0;
        for step in 0..3000 {
            for _ in 0..20 {
                let id = uniform_below(&mut random, 500);
                let push = (uniform_below(&mut random, 2001) as f64 - 1000.0) / 1000.0;
                plain[id] += push;
                let weight = vector.weight(id as FeatureId) + push;
                vector.put(id as FeatureId, weight);
            }
            let threshold = l1_threshold(&mut plain.iter().map(|w| w.abs()).collect::<Vec<_>>(), 10.0);
            plain.iter_mut().for_each(|w| *w = (w.abs() - threshold).max(0.0).copysign(*w));
            if let Some(plan) = vector.plan(10.0) {
                emptied += vector.leaving().len();
                vector.commit(plan);
            }
            let worst = weights(&vector).iter().zip(&plain).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-9, "step {step}: {worst:e}");
            assert_eq!(vector.count(), weights(&vector).iter().filter(|w| **w != 0.0).count());
        }
        assert!(emptied > 10_000, "only {emptied} weights reached zero");
        assert!(vector.low.len() <= 2 * vector.count() + FEW + 20, "the low ones stay in bounds");
    }

    #[test]
    fn touches_without_projection_stay_in_bounds() {
        let mut vector = L1BallVector::<f64>::new();
        vector.grow(10);
        (0..10).for_each(|id| vector.put(id, 1.0));
        let plan = vector.plan(5.0).unwrap();
        vector.commit(plan);
        for turn in 0..10_000 {
            vector.put(turn % 10, 0.1 + 0.01 * f64::from(turn % 7));
            assert_eq!(vector.plan(5.0), None);
        }
        assert!(vector.low.len() <= 2 * 10 + FEW + 1, "{}", vector.low.len());
    }
}
