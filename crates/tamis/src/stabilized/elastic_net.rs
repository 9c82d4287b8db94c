//! The elastic net of one target for a falling λ, by the active-set method.
//!
//! Source: Osborne, Presnell & Turlach, *A new approach to variable selection in least squares problems* (IMA J. Numer.
//! Anal. 20, 2000), with the ridge of Zou & Hastie (JRSS B 67, 2005).
//! ```text
//! minimise ½·βᵀMβ − sᵀβ + λ·‖β‖₁,  M = S + ρI.  A: the columns with β ≠ 0, θ: their signs
//! repeat:  b = M_AA⁻¹(s_A − λ·θ)                                     the minimum if no sign changes
//!          if a sign of b is not that of θ: go towards b until the first β of A is zero; this column leaves A
//!          else β_A = b;  the columns outside A with |s_j − S_jA·β_A| > λ enter A with the sign of that;  end if there are none
//! ```
//! The solution for one λ is the start for the next. Each move lowers a convex objective, and no set of columns with their
//! signs comes twice, so that the end is the exact minimum but for rounding.
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | S, s | [`ElasticNet::columns`], [`ElasticNet::target`] | | second moments of the rows |
//! | ρ | [`ElasticNet::ridge`] | given | `entry_order.rs` |
//! | A, θ, β_A | [`Member`] | | |
//!
//! Departures: M_AA has a Cholesky factor to which a row is added when a column enters; when one leaves, the rows after it are
//! computed again. Coordinate descent needs some hundred sweeps for each λ where columns are more than rows.
//!
//! Cost: |A|·(|A| + columns) for each λ and each time that columns enter or leave; at most |A|³ when one leaves.

use crate::linear_algebra::{axpy, dot};

/// A column enters if it exceeds λ by more than this share of it: rounding must not let it in.
const ROUNDING: f64 = 1e-12;
/// Changes of the active set for each λ, at most.
const MOST_CHANGES: usize = 1000;

/// A column with a coefficient.
struct Member {
    column: usize,
    sign: f64,
    beta: f64,
}

/// The solution for the last λ.
pub(super) struct ElasticNet<'a> {
    columns: &'a [f64],
    target: &'a [f64],
    ridge: f64,
    members: Vec<Member>,
    /// The lower Cholesky factor of M_AA, row by row.
    factor: Vec<Vec<f64>>,
}

impl<'a> ElasticNet<'a> {
    /// `columns` are the second moments of the columns, row by row, `target` those with the target.
    pub(super) fn new(columns: &'a [f64], target: &'a [f64], ridge: f64) -> Self {
        ElasticNet { columns, target, ridge, members: Vec::new(), factor: Vec::new() }
    }

    /// The coefficients that are not zero, each with its column.
    pub(super) fn solve(&mut self, lambda: f64) -> impl Iterator<Item = (usize, f64)> {
        for _ in 0..MOST_CHANGES {
            let goal = self.minimum(lambda);
            if let Some((place, share)) = self.first_zero(&goal) {
                self.members.iter_mut().zip(&goal).for_each(|(one, goal)| one.beta += share * (goal - one.beta));
                self.remove(place);
                continue;
            }
            self.members.iter_mut().zip(&goal).for_each(|(one, &goal)| one.beta = goal);
            if !self.enter(lambda) {
                break;
            }
        }
        self.members.iter().map(|one| (one.column, one.beta))
    }

    /// M_AA⁻¹(s_A − λ·θ).
    fn minimum(&self, lambda: f64) -> Vec<f64> {
        let mut numbers: Vec<f64> =
            self.members.iter().map(|one| self.target[one.column] - lambda * one.sign).collect();
        for (place, row) in self.factor.iter().enumerate() {
            numbers[place] = (numbers[place] - dot(&row[..place], &numbers)) / row[place];
        }
        for (place, row) in self.factor.iter().enumerate().rev() {
            let (before, own) = numbers.split_at_mut(place);
            own[0] /= row[place];
            axpy(-own[0], &row[..place], before);
        }
        numbers
    }

    /// The member that is zero first on the way to a goal, and the share of the way until then; `None` if all keep their signs.
    fn first_zero(&self, goal: &[f64]) -> Option<(usize, f64)> {
        let turns = self.members.iter().zip(goal).enumerate().filter(|(_, (one, goal))| **goal * one.sign <= 0.0);
        let share = |(place, (one, goal)): (usize, (&Member, &f64))| {
            let way = one.beta.abs() + goal.abs();
            (place, if way > 0.0 { one.beta.abs() / way } else { 0.0 })
        };
        turns.map(share).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn remove(&mut self, place: usize) {
        let later = self.members.split_off(place);
        self.factor.truncate(place);
        later.into_iter().skip(1).for_each(|one| self.add(one));
    }

    /// Adds a member, and its row to the factor.
    fn add(&mut self, member: Member) {
        let size = self.target.len();
        let moments = &self.columns[member.column * size..(member.column + 1) * size];
        let mut row: Vec<f64> = Vec::with_capacity(self.members.len() + 1);
        for (one, above) in self.members.iter().zip(&self.factor) {
            let place = row.len();
            row.push((moments[one.column] - dot(&above[..place], &row)) / above[place]);
        }
        let pivot = moments[member.column] + self.ridge - dot(&row, &row);
        row.push(pivot.max(f64::MIN_POSITIVE).sqrt());
        self.factor.push(row);
        self.members.push(member);
    }

    /// Adds the columns that exceed λ; returns whether there are any.
    fn enter(&mut self, lambda: f64) -> bool {
        let size = self.target.len();
        let mut gradient = self.target.to_vec();
        for one in &self.members {
            axpy(-one.beta, &self.columns[one.column * size..(one.column + 1) * size], &mut gradient);
        }
        self.members.iter().for_each(|one| gradient[one.column] = 0.0);
        let enters = |column: &usize| {
            gradient[*column].abs() > lambda * (1.0 + ROUNDING) && self.columns[column * size + column] != 0.0
        };
        let new: Vec<usize> = (0..size).filter(enters).collect();
        new.iter().for_each(|&column| self.add(Member { column, sign: gradient[column].signum(), beta: 0.0 }));
        !new.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_columns_by_hand() {
        let (identity, target) = ([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], [0.2, -0.6, 0.0]);
        let mut net = ElasticNet::new(&identity, &target, 0.25);
        let mut solution = |lambda: f64| -> Vec<(usize, f64)> { net.solve(lambda).collect() };
        let is_near = |found: &[(usize, f64)], expected: &[(usize, f64)]| {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-15)
        };
        assert_eq!(solution(0.7), []);
        assert!(is_near(&solution(0.5), &[(1, -0.1 / 1.25)]));
        assert!(is_near(&solution(0.1), &[(1, -0.5 / 1.25), (0, 0.1 / 1.25)]), "in the order in which they entered");
        assert!(is_near(&solution(0.3), &[(1, -0.3 / 1.25)]), "a column leaves");
    }

    #[test]
    fn at_the_minimum_no_coordinate_can_move() {
        // Moments of five rows and twelve columns: columns that depend on each other, and many of them.
        let number = |row: u32, column: u32| f64::from((row * 7 + column * column * 3 + row * column * 5) % 11) - 5.0;
        let product = |a: u32, b: u32| (0..5).map(|row| number(row, a) * number(row, b)).sum::<f64>() / 50.0;
        let columns: Vec<f64> = (0..144).map(|cell| product(cell / 12, cell % 12)).collect();
        let target: Vec<f64> = (0..12).map(|column| product(column, 12)).collect();
        let mut net = ElasticNet::new(&columns, &target, 0.3);
        for step in 1..60 {
            let lambda = 0.9_f64.powi(step);
            let mut beta = [0.0; 12];
            net.solve(lambda).for_each(|(column, value)| beta[column] = value);
            for j in 0..12 {
                let gradient = target[j] - 0.3 * beta[j] - (0..12).map(|i| columns[j * 12 + i] * beta[i]).sum::<f64>();
                let is_minimum = if beta[j] == 0.0 {
                    gradient.abs() <= lambda + 1e-11
                } else {
                    (gradient - lambda * beta[j].signum()).abs() <= 1e-11
                };
                assert!(is_minimum, "step {step}, column {j}: {gradient} at λ = {lambda}");
            }
        }
        assert!(net.members.len() > 4);
    }
}
