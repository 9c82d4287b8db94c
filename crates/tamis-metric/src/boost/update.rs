//! New neighbours under the current metric, for the training rows and the held-out rows.
//!
//! Distances are stored and grow with the coordinates of the last steps. With too many rows they are computed from all
//! coordinates so far, a block at a time.

use super::super::classify::{base, vote};
use super::super::euclidean::nearest_of_others;
use super::super::knn::{NeighborList, Points, Search, search_in_blocks};
use super::super::real::{Real, double};
use super::state::{Boost, RunPoint};

/// The neighbours of one row.
struct RowNeighbors {
    own: Vec<u32>,
    others: Vec<u32>,
    margin: f64,
    wrong: bool,
}

impl<T: Real> Boost<'_, T> {
    /// The neighbours of a row, from the nearest rows of each class.
    fn neighbors_of(&self, row: usize, lists: &[NeighborList<T>]) -> RowNeighbors {
        let (class, k) = (self.sample.class_of[row] as usize, self.graph.k);
        let others = nearest_of_others(lists, class, k);
        let own = &lists[class][..k];
        let mean = |list: &[(T, u32)]| list.iter().map(|(distance, _)| double(*distance)).sum::<f64>() / k as f64;
        RowNeighbors {
            margin: mean(&others) - mean(own),
            own: own.iter().map(|(_, place)| *place).collect(),
            others: others.iter().map(|(_, place)| *place).collect(),
            wrong: vote(lists, self.limits.n_neighbors).class != class,
        }
    }

    /// New neighbours, margins, residuals and term margins; and a point of the curve.
    pub(super) fn update(&mut self, number: usize) {
        let is_new = self.coordinates.len() > self.added;
        let last = self.curve.last().copied();
        let (mut wrong, mut held_out) = (self.sample.rows(), self.held_out.as_ref().map(|all| [all.class_of.len(); 2]));
        if let (false, Some(last)) = (is_new, last) {
            (wrong, held_out) = (last.wrong, last.held_out_wrong);
        }
        if is_new {
            let found = self.find();
            wrong = found.iter().filter(|row| row.wrong).count();
            self.take(found);
            held_out = self.evaluate_held_out();
            self.added = self.coordinates.len();
        }
        let (loss, variables) = (self.residuals.iter().sum(), self.used.len());
        self.curve.push(RunPoint { step: number, loss, variables, wrong, held_out_wrong: held_out });
    }

    fn find(&mut self) -> Vec<RowNeighbors> {
        let mut distances = self.distances.take();
        let (coordinates, new) = (&self.coordinates, &self.coordinates[self.added..]);
        let search = Search { classes: &self.sample.classes, k: self.keep(), exclude_self: true };
        let found = match &mut distances {
            Some(distances) => distances.update(new, new, &search, |row, lists| self.neighbors_of(row, lists)),
            None => {
                let centred = centred(coordinates);
                let all = Points { count: self.sample.rows(), values: &centred };
                search_in_blocks(all, all, &search, |row, lists| {
                    self.neighbors_of(row, &recomputed(row, lists, coordinates))
                })
            }
        };
        self.distances = distances;
        found
    }

    fn take(&mut self, found: Vec<RowNeighbors>) {
        self.graph.own = found.iter().flat_map(|row| row.own.iter().copied()).collect();
        self.graph.others = found.iter().flat_map(|row| row.others.iter().copied()).collect();
        self.margins = found.iter().map(|row| row.margin).collect();
        self.find_residuals();
        self.find_term_margins();
    }

    pub(super) fn find_term_margins(&mut self) {
        let (rows, graph, terms) = (self.sample.rows(), &self.graph, &self.terms);
        self.term_margins.resize(terms.len() * rows, T::default());
        graph.margins_of_all(terms.values(), &mut self.term_margins);
    }

    /// Held-out rows put in the wrong class, by k-NN and by f_W.
    fn evaluate_held_out(&mut self) -> Option<[usize; 2]> {
        let (n_neighbors, metric_neighbors, k) = (self.limits.n_neighbors, self.graph.k, self.keep());
        let held_out = self.held_out.as_mut()?;
        let class_of = held_out.class_of;
        let [of_rows, of_queries] = [&self.coordinates, &held_out.coordinates].map(|all| &all[self.added..]);
        let search = Search { classes: &self.sample.classes, k, exclude_self: false };
        let wrong = held_out.distances.update(of_rows, of_queries, &search, |row, lists| {
            let truth = class_of[row] as usize;
            [vote(lists, n_neighbors).class != truth, base(lists, metric_neighbors).class != truth]
        });
        Some([0, 1].map(|way| wrong.iter().filter(|wrong| wrong[way]).count()))
    }
}

/// Coordinates less their means, one after the other: small numbers cancel less.
fn centred<T: Real>(coordinates: &[Vec<T>]) -> Vec<T> {
    let mut all = Vec::with_capacity(coordinates.iter().map(Vec::len).sum());
    for coordinate in coordinates {
        let mean = coordinate.iter().map(|&one| double(one)).sum::<f64>() / coordinate.len().max(1) as f64;
        all.extend(coordinate.iter().map(|&one| T::of(double(one) - mean)));
    }
    all
}

/// The same lists with distances computed from the coordinates.
fn recomputed<T: Real>(row: usize, lists: &[NeighborList<T>], coordinates: &[Vec<T>]) -> Vec<NeighborList<T>> {
    let distance = |other: u32| {
        let gap = |coordinate: &Vec<T>| double(coordinate[row]) - double(coordinate[other as usize]);
        T::of(coordinates.iter().map(|coordinate| gap(coordinate).powi(2)).sum())
    };
    let exact = |list: &NeighborList<T>| {
        let mut list: NeighborList<T> = list.iter().map(|&(_, other)| (distance(other), other)).collect();
        list.sort_by(|a, b| double(a.0).total_cmp(&double(b.0)).then(a.1.cmp(&b.1)));
        list
    };
    lists.iter().map(exact).collect()
}
