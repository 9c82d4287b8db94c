//! The nearest rows of each class, from a stored matrix of distances or from blocks of distances that are not stored.
//!
//! [`DistanceMatrix`] stores all distances (4nm bytes) and adds new coordinates to them: one pass over each row adds the
//! coordinates and finds the nearest rows of each class. [`search_in_blocks`] computes a block of rows at a time by a matrix
//! product, |a|² + |b|² − 2a·b: for the first, Euclidean neighbours, for many rows, and for new rows.
//! A row's list depends on that row alone, so results are the same on any number of threads. Ties go to the earlier row.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::real::{LANES, Real, double, vectorized};

/// The nearest rows of one class, near to far: squared distance and place.
pub(super) type NeighborList<T> = Vec<(T, u32)>;

/// A search for the k nearest rows of each class.
pub(super) struct Search<'a> {
    /// The places of each class.
    pub(super) classes: &'a [Range<usize>],
    /// The number of neighbours of each class.
    pub(super) k: usize,
    /// Whether queries are the rows themselves: a row is then not its own neighbour.
    pub(super) exclude_self: bool,
}

impl Search<'_> {
    fn lists<T: Real>(&self) -> Vec<NeighborList<T>> {
        vec![Vec::with_capacity(self.k + 1); self.classes.len()]
    }

    #[inline(always)]
    fn scan<T: Real>(
        &self,
        distances: &[T],
        query: usize,
        bounds: impl Iterator<Item = T>,
        lists: &mut [NeighborList<T>],
    ) {
        let skip = if self.exclude_self { query } else { usize::MAX };
        for ((class, list), bound) in self.classes.iter().zip(lists).zip(bounds) {
            scan(distances, class.clone(), self.k, bound, skip, list);
        }
    }
}

/// Keeps the nearest of a stretch, all below a bound. Most chunks hold none: they are compared at once.
#[inline(always)]
fn scan<T: Real>(distances: &[T], class: Range<usize>, k: usize, bound: T, skip: usize, list: &mut NeighborList<T>) {
    list.clear();
    let mut nearest = Nearest { k, skip, worst: bound, list };
    let (chunks, rest) = distances[class.clone()].as_chunks::<LANES>();
    let mut start = class.start;
    for chunk in chunks {
        let mut bits = 0u32;
        for (lane, &distance) in chunk.iter().enumerate() {
            bits |= u32::from(distance < nearest.worst) << lane;
        }
        while bits != 0 {
            let at = bits.trailing_zeros() as usize % LANES;
            nearest.take(chunk[at], start + at);
            bits &= bits - 1;
        }
        start += LANES;
    }
    rest.iter().zip(start..).for_each(|(&distance, place)| nearest.take(distance, place));
}

/// The nearest so far.
struct Nearest<'a, T> {
    k: usize,
    /// A row that is no neighbour.
    skip: usize,
    /// Whoever is not below this is not among the nearest.
    worst: T,
    list: &'a mut NeighborList<T>,
}

impl<T: Real> Nearest<'_, T> {
    #[inline(always)]
    fn take(&mut self, distance: T, place: usize) {
        if distance < self.worst && place != self.skip {
            let rank = self.list.partition_point(|(other, _)| *other <= distance);
            self.list.insert(rank, (distance, place as u32));
            self.list.truncate(self.k);
            if self.list.len() == self.k {
                self.worst = self.list[self.k - 1].0;
            }
        }
    }
}

/// Squared distances from queries to all rows, stored from one update to the next.
pub(super) struct DistanceMatrix<T> {
    rows: usize,
    values: Vec<T>,
    /// Query by query and class by class, the places of the nearest at the last update.
    nearest: Vec<u32>,
}

/// Coordinates that are added in one pass over the distances: as many as there are between two updates.
const GROUP: usize = 5;

/// No row: the class has fewer rows than k, or there was no search yet.
const NO_ROW: u32 = u32::MAX;

/// What the nearest of a class must be below. Those of last time are still there, and as many as are wanted: whoever is
/// farther than all of them is not among the nearest now.
#[inline(always)]
fn bound<T: Real>(distances: &[T], last: &[u32]) -> T {
    let mut farthest = T::default();
    for &place in last {
        if place == NO_ROW {
            return T::MOST;
        }
        let distance = distances[place as usize];
        farthest = if distance > farthest { distance } else { farthest };
    }
    farthest.next()
}

impl<T: Real> DistanceMatrix<T> {
    /// All zero.
    pub(super) fn new(queries: usize, rows: usize) -> Self {
        DistanceMatrix { rows, values: vec![T::default(); queries * rows], nearest: Vec::new() }
    }

    /// Adds coordinates, then calls `see` with the nearest rows of every query.
    pub(super) fn update<R: Send>(
        &mut self,
        of_rows: &[Vec<T>],
        of_queries: &[Vec<T>],
        search: &Search<'_>,
        see: impl Fn(usize, &[NeighborList<T>]) -> R + Sync,
    ) -> Vec<R> {
        let (keep, width) = (search.k, search.k * search.classes.len());
        self.nearest.resize(self.values.len() / self.rows * width, NO_ROW);
        let work = |lists: &mut Vec<NeighborList<T>>, (query, (line, last)): (usize, (&mut [T], &mut [u32]))| {
            let here: Vec<T> = of_queries.iter().map(|coordinate| coordinate[query]).collect();
            vectorized::<T, ()>(
                #[inline(always)]
                || {
                    add(line, of_rows, &here);
                    search.scan(line, query, last.chunks_exact(keep).map(|last| bound(line, last)), lists);
                },
            );
            for (last, list) in last.chunks_exact_mut(keep).zip(lists.iter()) {
                last.iter_mut().zip(list).for_each(|(last, (_, place))| *last = *place);
            }
            see(query, lists)
        };
        let lines = self.values.par_chunks_mut(self.rows).zip(self.nearest.par_chunks_mut(width));
        lines.enumerate().map_init(|| search.lists(), work).collect()
    }
}

/// Adds squared differences of coordinates to the distances from one query.
#[inline(always)]
fn add<T: Real>(line: &mut [T], coordinates: &[Vec<T>], here: &[T]) {
    let (groups, rest) = coordinates.as_chunks::<GROUP>();
    let (groups_here, rest_here) = here.as_chunks::<GROUP>();
    for (group, &here) in groups.iter().zip(groups_here) {
        add_group(line, group.each_ref().map(|one| one.as_slice()), here);
    }
    for (coordinate, &here) in rest.iter().zip(rest_here) {
        add_group(line, [coordinate.as_slice()], [here]);
    }
}

/// Adds several coordinates, one after the other, and reads and writes each distance once.
#[inline(always)]
fn add_group<T: Real, const N: usize>(line: &mut [T], coordinates: [&[T]; N], here: [T; N]) {
    let coordinates = coordinates.map(|one| &one[..line.len()]);
    for (at, distance) in line.iter_mut().enumerate() {
        let mut sum = *distance;
        for (coordinate, here) in coordinates.iter().zip(here) {
            let gap = coordinate[at] - here;
            sum += gap * gap;
        }
        *distance = sum;
    }
}

/// Points with their coordinates, coordinate by coordinate.
#[derive(Clone, Copy)]
pub(super) struct Points<'a, T> {
    /// The number of points.
    pub(super) count: usize,
    /// Coordinate by coordinate.
    pub(super) values: &'a [T],
}

impl<T: Real> Points<'_, T> {
    fn dimensions(&self) -> usize {
        self.values.len() / self.count.max(1)
    }

    fn norms(&self) -> Vec<T> {
        let mut sums = vec![0.0; self.count];
        for coordinate in self.values.chunks_exact(self.count.max(1)) {
            sums.iter_mut().zip(coordinate).for_each(|(sum, &one)| *sum += double(one) * double(one));
        }
        sums.into_iter().map(T::of).collect()
    }
}

/// Queries whose distances are in memory at a time.
const BLOCK: usize = 64;

/// Calls `see` with the nearest rows of every query, computing a block of distances at a time.
pub(super) fn search_in_blocks<T: Real, R: Send>(
    rows: Points<'_, T>,
    queries: Points<'_, T>,
    search: &Search<'_>,
    see: impl Fn(usize, &[NeighborList<T>]) -> R + Sync,
) -> Vec<R> {
    let (row_norms, query_norms) = (rows.norms(), queries.norms());
    let dimensions = rows.dimensions();
    let all = MatRef::from_row_major_slice(rows.values, dimensions, rows.count);
    let asked = MatRef::from_row_major_slice(queries.values, dimensions, queries.count);
    let starts: Vec<usize> = (0..queries.count).step_by(BLOCK).collect();
    let block = |&start: &usize| {
        let size = BLOCK.min(queries.count - start);
        let mut products = vec![T::default(); size * rows.count];
        let target = MatMut::from_row_major_slice_mut(&mut products, size, rows.count);
        matmul(target, Accum::Replace, asked.subcols(start, size).transpose(), all, T::of(1.0), Par::Seq);
        let mut lists = search.lists();
        let line = |(at, line): (usize, &mut [T])| {
            let norm = query_norms[start + at];
            for (product, &other) in line.iter_mut().zip(&row_norms) {
                let distance = norm + other - (*product + *product);
                *product = if distance > T::default() { distance } else { T::default() };
            }
            search.scan(line, start + at, std::iter::repeat(T::MOST), &mut lists);
            see(start + at, &lists)
        };
        products.chunks_mut(rows.count.max(1)).enumerate().map(line).collect::<Vec<R>>()
    };
    starts.par_iter().flat_map_iter(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(points: &[[f64; 2]], query: usize, class: Range<usize>, keep: usize) -> Vec<u32> {
        let distance = |at: usize| (0..2).map(|d| (points[at][d] - points[query][d]).powi(2)).sum::<f64>();
        let mut places: Vec<usize> = class.filter(|&place| place != query).collect();
        places.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
        places.into_iter().take(keep).map(|place| place as u32).collect()
    }

    #[test]
    fn both_ways_find_what_a_sort_finds() {
        let points: Vec<[f64; 2]> = (0..150).map(|i| [f64::from(i * 37 % 101), f64::from(i * 53 % 97)]).collect();
        let coordinates: Vec<Vec<f64>> = (0..2).map(|d| points.iter().map(|point| point[d]).collect()).collect();
        let flat: Vec<f64> = coordinates.concat();
        let classes = [0..40, 40..41, 41..150];
        let search = Search { classes: &classes, k: 5, exclude_self: true };
        let places = |_: usize, lists: &[NeighborList<f64>]| -> Vec<Vec<u32>> {
            lists.iter().map(|list| list.iter().map(|(_, place)| *place).collect()).collect()
        };
        let held = DistanceMatrix::new(150, 150).update(&coordinates, &coordinates, &search, places);
        let all = Points { count: 150, values: &flat };
        let streamed = search_in_blocks(all, all, &search, places);
        for query in 0..150 {
            let expected: Vec<Vec<u32>> = classes.iter().map(|class| naive(&points, query, class.clone(), 5)).collect();
            assert_eq!(held[query], expected, "held, {query}");
            assert_eq!(streamed[query], expected, "streamed, {query}");
        }
    }

    #[test]
    fn coordinates_add_up() {
        let [first, second] = [vec![vec![0.0f32, 3.0]], vec![vec![0.0f32, 4.0]]];
        let mut distances = DistanceMatrix::new(2, 2);
        let class = 0..2;
        let search = Search { classes: std::slice::from_ref(&class), k: 1, exclude_self: true };
        let nearest = |_: usize, lists: &[NeighborList<f32>]| lists[0][0];
        assert_eq!(distances.update(&first, &first, &search, nearest), [(9.0, 1), (9.0, 0)]);
        assert_eq!(distances.update(&second, &second, &search, nearest), [(25.0, 1), (25.0, 0)]);
    }

    #[test]
    fn what_was_near_last_time_hides_nobody() {
        // Whole numbers, so that there are many equals; class 2 is smaller than what is kept.
        let coordinate = |by: u32| (0..90).map(|i| f64::from(i * by % 7)).collect::<Vec<f64>>();
        let classes = [0..50, 50..87, 87..90];
        let search = Search { classes: &classes, k: 4, exclude_self: true };
        let places = |_: usize, lists: &[NeighborList<f64>]| lists.to_vec();
        let mut grown = DistanceMatrix::new(90, 90);
        let mut all: Vec<Vec<f64>> = Vec::new();
        for by in [3, 5, 11, 2, 13] {
            let fresh = [coordinate(by)];
            all.extend(fresh.clone());
            let once = DistanceMatrix::new(90, 90).update(&all, &all, &search, places);
            assert_eq!(grown.update(&fresh, &fresh, &search, places), once, "after {by}");
        }
    }
}
