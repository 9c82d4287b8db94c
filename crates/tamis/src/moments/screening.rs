//! Sure independence screening: a first pass selects the features most correlated with the target.
//!
//! For each feature, count, mean and co-moments are kept over the rows that have an entry (about its first value, so
//! that a large mean costs no digits); the other rows are a second group in which it is zero. The two groups are merged
//! as in [`super::Comoments::merge`]:
//! ```text
//! S_xx = S_in + m·a/(m + a)·x̄²      S_xy = S_in + m·a/(m + a)·x̄·(ȳ_in − ȳ_out)      score = |S_xy|/√(S_xx·S_yy)
//! ```
//! With classes the score is the largest over classes. Source: Fan & Lv 2008; a feature that matters only together with
//! others may be lost. Cost: O(nnz) per row; memory: a few numbers per feature and target.

use crate::data::{FeatureId, Row};

/// Marginal moments of each feature with each target.
#[derive(Clone, Debug, Default)]
pub(super) struct Screen {
    /// By feature: first value, weight, Σw(x−c), Σw(x−c)².
    features: Vec<[f64; 4]>,
    /// By target: by feature: Σw·t, Σw(x−c)·t over rows that have the feature, t = y − c_y.
    joint: Vec<Vec<[f64; 2]>>,
    /// By target: centre, Σwt, Σwt².
    targets: Vec<[f64; 3]>,
    weight: f64,
}

impl Screen {
    /// Adds a row. `target` is the number itself (`numeric`) or the number of the class.
    pub(super) fn observe(&mut self, row: Row<'_>, target: f64, numeric: bool, weight: f64) {
        let known = if numeric { 1 } else { target as usize + 1 };
        while self.targets.len() < known {
            self.targets.push([if numeric { target } else { 0.0 }, 0.0, 0.0]);
            self.joint.push(Vec::new());
        }
        self.weight += weight;
        let (which, t) = if numeric { (0, target - self.targets[0][0]) } else { (target as usize, 1.0) };
        self.targets[which][1] += weight * t;
        self.targets[which][2] += weight * t * t;
        let span = row.ids.iter().map(|&id| id as usize + 1).max().unwrap_or(0);
        if self.features.len() < span {
            self.features.resize(span, [f64::NAN, 0.0, 0.0, 0.0]);
        }
        let joint = &mut self.joint[which];
        if joint.len() < span {
            joint.resize(span, [0.0; 2]);
        }
        for (id, value) in row.iter() {
            let [first, mass, sum, squares] = &mut self.features[id as usize];
            if first.is_nan() {
                *first = value;
            }
            let x = value - *first;
            *mass += weight;
            *sum += weight * x;
            *squares += weight * x * x;
            let [own, product] = &mut joint[id as usize];
            *own += weight * t;
            *product += weight * x * t;
        }
    }

    /// The largest |correlation| of a feature with a target.
    pub(super) fn score(&self, id: FeatureId) -> f64 {
        let Some(&[first, mass, sum, squares]) = self.features.get(id as usize) else { return 0.0 };
        if mass <= 0.0 {
            return 0.0;
        }
        let absent = self.weight - mass;
        let (mean, between) = (first + sum / mass, mass * absent / self.weight);
        let own = squares - sum * sum / mass + between * mean * mean;
        let of_target = |(target, joint): (&[f64; 3], &Vec<[f64; 2]>)| {
            let [_, t, tt] = *target;
            let [inside, product] = joint.get(id as usize).copied().unwrap_or_default();
            let outside = if absent > 0.0 { (t - inside) / absent } else { 0.0 };
            let cross = product - sum * inside / mass + between * mean * (inside / mass - outside);
            let spread = own * (tt - t * t / self.weight);
            if spread > 0.0 { cross.abs() / spread.sqrt() } else { 0.0 }
        };
        self.targets.iter().zip(&self.joint).map(of_target).fold(0.0, f64::max)
    }

    /// The `count` features of largest score, as a flag for each id; of equal scores the first feature wins.
    pub(super) fn best(&self, count: usize, skip: &[FeatureId]) -> Vec<bool> {
        let ids = (0..self.features.len() as FeatureId).filter(|id| !skip.contains(id));
        let mut scored: Vec<(f64, FeatureId)> = ids.map(|id| (self.score(id), id)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut kept = vec![false; self.features.len()];
        scored.iter().take(count).for_each(|&(_, id)| kept[id as usize] = true);
        kept
    }

    /// The number of features that occurred.
    pub(super) fn features(&self) -> usize {
        self.features.iter().filter(|feature| feature[1] > 0.0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's formula on full columns.
    fn correlation(x: &[f64], y: &[f64]) -> f64 {
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let (mx, my) = (mean(x), mean(y));
        let cross: f64 = x.iter().zip(y).map(|(a, b)| (a - mx) * (b - my)).sum();
        let own = |v: &[f64], m: f64| v.iter().map(|a| (a - m) * (a - m)).sum::<f64>();
        cross / (own(x, mx) * own(y, my)).sqrt()
    }

    #[test]
    fn scores_are_correlations_with_zeros_where_nothing_was_said() {
        let columns = [vec![1e6, 1e6 + 1.0, 1e6 + 3.0, 1e6], vec![0.0, 2.0, 0.0, -1.0], vec![0.0, 0.0, 5.0, 0.0]];
        let y = [3.0, 4.0, 8.0, 1.0];
        let mut screen = Screen::default();
        for (row, &target) in y.iter().enumerate() {
            let present: Vec<u32> = (0..3).filter(|&j| columns[j as usize][row] != 0.0).collect();
            let values: Vec<f64> = present.iter().map(|&j| columns[j as usize][row]).collect();
            screen.observe(Row { ids: &present, values: &values }, target, true, 1.0);
        }
        for (id, column) in columns.iter().enumerate() {
            let (found, expected) = (screen.score(id as u32), correlation(column, &y).abs());
            assert!((found - expected).abs() < 1e-9, "{id}: {found} {expected}");
        }
        assert_eq!(
            screen.best(1, &[]),
            [false, false, true]
                .map(|_| false)
                .iter()
                .enumerate()
                .map(|(i, _)| i == best_of(&columns, &y))
                .collect::<Vec<_>>()
        );
        assert_eq!(screen.features(), 3);
    }

    fn best_of(columns: &[Vec<f64>], y: &[f64]) -> usize {
        let score = |j: &usize| correlation(&columns[*j], y).abs();
        (0..columns.len()).max_by(|a, b| score(a).total_cmp(&score(b))).unwrap()
    }

    #[test]
    fn classes_score_by_the_best_of_them() {
        let mut screen = Screen::default();
        for class in [0.0, 1.0, 2.0, 0.0, 1.0, 2.0] {
            let ids: &[u32] = if class == 1.0 { &[4] } else { &[] };
            screen.observe(Row { ids, values: &[1.0][..ids.len()] }, class, false, 1.0);
        }
        assert!((screen.score(4) - 1.0).abs() < 1e-12);
        assert_eq!(screen.score(3), 0.0);
    }
}
