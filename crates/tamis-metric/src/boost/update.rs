//! New neighbours under the metric of the moment: what they say of every row, and of rows that are only watched.
//!
//! Distances are kept, and grow with the coordinates of the last steps; where there are too many rows they are made anew,
//! a block at a time, from all coordinates so far.

use super::super::nearest::{Distances, Nearest, Points, Search, stream};
use super::super::number::{Real, double};
use super::super::vote::{base, vote};
use super::{Boost, Point};

/// Where distances come from.
pub(super) enum Memory<T> {
    Dense(Distances<T>),
    Streamed(Vec<Vec<T>>),
}

/// Rows that are not learned from and tell how good the metric is.
pub(super) struct Watched<T> {
    pub(super) values: Vec<T>,
    pub(super) class_of: Vec<u32>,
    pub(super) distances: Distances<T>,
    pub(super) fresh: Vec<Vec<T>>,
}

/// What an update says of one row.
struct Found {
    own: Vec<u32>,
    others: Vec<u32>,
    margin: f64,
    wrong: bool,
}

impl<T: Real> Boost<'_, T> {
    /// Neighbours by the Euclidean distance of all terms there are at first.
    pub(super) fn first_neighbours(&mut self) {
        let all = Points { count: self.sample.rows(), values: self.terms.values() };
        let search = Search { classes: &self.sample.classes, keep: self.keep(), itself: true };
        let found = stream(all, all, &search, |row, lists| self.found(row, lists));
        self.take(found, false);
    }

    /// What the nearest rows say of a row.
    fn found(&self, row: usize, lists: &[Nearest<T>]) -> Found {
        let (class, k) = (self.sample.class_of[row] as usize, self.graph.neighbours);
        let mut others: Nearest<T> = Vec::with_capacity(lists.len() * k);
        for (_, list) in lists.iter().enumerate().filter(|(other, _)| *other != class) {
            others.extend(list.iter().take(k));
        }
        others.sort_by(|a, b| double(a.0).total_cmp(&double(b.0)).then(a.1.cmp(&b.1)));
        others.truncate(k);
        let own = &lists[class][..k];
        let mean = |list: &[(T, u32)]| list.iter().map(|(distance, _)| double(*distance)).sum::<f64>() / k as f64;
        Found {
            margin: mean(&others) - mean(own),
            own: own.iter().map(|(_, place)| *place).collect(),
            others: others.iter().map(|(_, place)| *place).collect(),
            wrong: vote(lists, self.limits.voters).class != class,
        }
    }

    /// New neighbours, margins, residuals and energies; and a point of the curve.
    pub(super) fn update(&mut self, number: usize) {
        let fresh = std::mem::take(&mut self.fresh);
        let last = self.curve.last().copied();
        let (mut wrong, mut watched) = (self.sample.rows(), self.watched.as_ref().map(|all| [all.class_of.len(); 2]));
        if let (true, Some(last)) = (fresh.is_empty(), last) {
            (wrong, watched) = (last.wrong, last.watched);
        }
        if !fresh.is_empty() {
            let found = self.find(&fresh);
            wrong = found.iter().filter(|row| row.wrong).count();
            self.take(found, true);
            watched = self.measure(&fresh);
        }
        let (loss, variables) = (self.residuals.iter().sum(), self.used.len());
        self.curve.push(Point { step: number, loss, variables, wrong, watched });
    }

    fn find(&mut self, fresh: &[Vec<T>]) -> Vec<Found> {
        let mut memory = std::mem::replace(&mut self.memory, Memory::Streamed(Vec::new()));
        let search = Search { classes: &self.sample.classes, keep: self.keep(), itself: true };
        let found = match &mut memory {
            Memory::Dense(distances) => distances.update(fresh, fresh, &search, |row, lists| self.found(row, lists)),
            Memory::Streamed(coordinates) => {
                coordinates.extend_from_slice(fresh);
                let centred = centred(coordinates);
                let all = Points { count: self.sample.rows(), values: &centred };
                stream(all, all, &search, |row, lists| self.found(row, &exactly(row, lists, coordinates)))
            }
        };
        self.memory = memory;
        found
    }

    fn take(&mut self, found: Vec<Found>, with_margins: bool) {
        self.graph.own = found.iter().flat_map(|row| row.own.iter().copied()).collect();
        self.graph.others = found.iter().flat_map(|row| row.others.iter().copied()).collect();
        if with_margins {
            self.margins = found.iter().map(|row| row.margin).collect();
            self.find_residuals();
        }
        let (rows, graph, terms) = (self.sample.rows(), &self.graph, &self.terms);
        self.energies.resize(terms.len() * rows, T::default());
        graph.margins_of_all(terms.values(), &mut self.energies);
    }

    /// Rows watched that are put in the wrong class, by vote and by f_W.
    fn measure(&mut self, fresh: &[Vec<T>]) -> Option<[usize; 2]> {
        let (voters, neighbours, keep) = (self.limits.voters, self.graph.neighbours, self.keep());
        let watched = self.watched.as_mut()?;
        let (own, class_of) = (std::mem::take(&mut watched.fresh), &watched.class_of);
        let search = Search { classes: &self.sample.classes, keep, itself: false };
        let verdicts = watched.distances.update(fresh, &own, &search, |row, lists| {
            let truth = class_of[row] as usize;
            [vote(lists, voters).class != truth, base(lists, neighbours).class != truth]
        });
        Some([0, 1].map(|way| verdicts.iter().filter(|wrong| wrong[way]).count()))
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

/// Lists with distances computed anew from the coordinates.
fn exactly<T: Real>(row: usize, lists: &[Nearest<T>], coordinates: &[Vec<T>]) -> Vec<Nearest<T>> {
    let distance = |other: u32| {
        let gap = |coordinate: &Vec<T>| double(coordinate[row]) - double(coordinate[other as usize]);
        T::of(coordinates.iter().map(|coordinate| gap(coordinate).powi(2)).sum())
    };
    let exact = |list: &Nearest<T>| {
        let mut list: Nearest<T> = list.iter().map(|&(_, other)| (distance(other), other)).collect();
        list.sort_by(|a, b| double(a.0).total_cmp(&double(b.0)).then(a.1.cmp(&b.1)));
        list
    };
    lists.iter().map(exact).collect()
}
