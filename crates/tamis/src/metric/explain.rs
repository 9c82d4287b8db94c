//! What counts in a metric: the share of each term and variable in the trace of W, and the first axis class by class.
//!
//! Source: Ma 2017, sections 2.7 and 4.1.1 (Figures 4.2 and 4.3). tr W = Σ w, since directions have length one; a
//! term's part is Σ w ξⱼ². A product's part is dealt in equal parts to the variables it multiplies, a square's to the
//! one.

use serde::Serialize;

use super::learned::Metric;

/// A term or variable and its part in the trace of W.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// What it is called.
    pub name: String,
    /// Its part; all parts add up to 1.
    pub share: f64,
}

/// The first axis in bins: how many rows of each class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FirstAxis {
    /// Borders of the bins, one more than bins.
    pub borders: Vec<f64>,
    /// For each class the share of its rows in each bin.
    pub shares: Vec<Vec<f64>>,
    /// The part of the variance of all coordinates that lies along the axis.
    pub variance: f64,
}

impl Metric {
    /// Diagonal entries of W, one a term, as parts of the trace.
    fn parts(&self) -> Vec<f64> {
        if self.steps.is_empty() {
            return vec![1.0 / self.terms.len().max(1) as f64; self.terms.len()];
        }
        let mut parts = vec![0.0; self.terms.len()];
        for (weight, entries) in &self.steps {
            entries.iter().for_each(|&(term, value)| parts[term as usize] += weight * value * value);
        }
        let total: f64 = parts.iter().sum();
        parts.iter().map(|part| part / total).collect()
    }

    /// Variables and products by their part in the metric, the largest first.
    pub fn term_shares(&self) -> Vec<Share> {
        let share = |(term, share): (usize, f64)| Share { name: self.term_name(term), share };
        sorted(self.parts().into_iter().enumerate().map(share).collect())
    }

    /// Variables by their part in the metric, in products or alone, the largest first.
    pub fn variable_shares(&self) -> Vec<Share> {
        let parts = self.variable_parts();
        let share = |(variable, share): (&super::Variable, f64)| Share { name: variable.name.clone(), share };
        sorted(self.variables.iter().zip(parts).map(share).collect())
    }

    fn variable_parts(&self) -> Vec<f64> {
        let mut parts = vec![0.0; self.variables.len()];
        for (term, part) in self.terms.iter().zip(self.parts()) {
            let count = term.variables.len() as f64;
            term.variables.iter().for_each(|&variable| parts[variable as usize] += part / count);
        }
        parts
    }

    /// The training rows along the first axis; nothing for plain k-NN, which has no axes.
    pub fn first_axis(&self, bins: usize) -> Option<FirstAxis> {
        if self.axes.is_empty() || bins == 0 {
            return None;
        }
        let rows = self.rows();
        let along = &self.points[..rows];
        let low = along.iter().fold(f32::INFINITY, |least, &one| least.min(one));
        let high = along.iter().fold(f32::NEG_INFINITY, |most, &one| most.max(one));
        let width = f64::from(high - low).max(f64::MIN_POSITIVE);
        let bin = |one: f32| ((f64::from(one - low) / width * bins as f64) as usize).min(bins - 1);
        let (mut shares, mut start) = (Vec::new(), 0);
        for &size in &self.class_sizes {
            let mut counts = vec![0.0; bins];
            along[start..start + size].iter().for_each(|&one| counts[bin(one)] += 1.0 / size.max(1) as f64);
            shares.push(counts);
            start += size;
        }
        let squares = |points: &[f32]| points.iter().map(|&one| f64::from(one).powi(2)).sum::<f64>();
        let borders = (0..=bins).map(|at| f64::from(low) + width * at as f64 / bins as f64).collect();
        Some(FirstAxis { borders, shares, variance: squares(along) / squares(&self.points) })
    }
}

fn sorted(mut shares: Vec<Share>) -> Vec<Share> {
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

#[cfg(test)]
mod tests {
    use super::super::{Candidate, MetricOptions, Settings, Stop, fit, table::tests::table};
    use super::*;

    fn learned() -> Metric {
        let mut text = String::from("a,b,c,y\n");
        for i in 0..60 {
            let (a, b) = (f64::from(i * 7 % 20) - 9.5, f64::from(i * 11 % 13) - 6.2);
            text += &format!("{a},{b},{},{}\n", i % 5, if a * b > 0.0 { "same" } else { "other" });
        }
        let settings = Settings { steps: 20, burn_in: 0, update_every: 2, ..Settings::default() };
        let candidates = vec![Candidate::new("order-2", settings)];
        let options = MetricOptions { candidates, stop: Stop::Last, ..MetricOptions::default() };
        fit(&table("t.csv", &text).unwrap(), &options, &()).unwrap().metric
    }

    #[test]
    fn shares_add_up_and_products_go_to_their_factors() {
        let metric = learned();
        let sum = |shares: &[Share]| shares.iter().map(|one| one.share).sum::<f64>();
        let (terms, variables) = (metric.term_shares(), metric.variable_shares());
        assert!((sum(&terms) - 1.0).abs() < 1e-12 && (sum(&variables) - 1.0).abs() < 1e-12);
        assert!(terms.is_sorted_by(|a, b| a.share >= b.share));
        let of = |shares: &[Share], name: &str| shares.iter().find(|one| one.name == name).map_or(0.0, |one| one.share);
        let dealt: f64 = terms
            .iter()
            .map(|one| {
                one.share * one.name.split('·').filter(|part| part.starts_with('a')).count() as f64
                    / one.name.split('·').count() as f64
            })
            .sum();
        assert!(of(&terms, "a·b") > 0.0, "{terms:?}");
        assert!((of(&variables, "a") - dealt).abs() < 1e-12, "{terms:?} {variables:?}");
    }

    #[test]
    fn the_first_axis_holds_every_row_once_and_most_of_the_variance() {
        let metric = learned();
        let axis = metric.first_axis(10).unwrap();
        assert_eq!((axis.borders.len(), axis.shares.len()), (11, 2));
        assert!(axis.shares.iter().all(|class| (class.iter().sum::<f64>() - 1.0).abs() < 1e-9));
        assert!(axis.variance > 1.0 / metric.dimensions() as f64 && axis.variance <= 1.0);
        assert!(metric.first_axis(0).is_none());
    }
}
