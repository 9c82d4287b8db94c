//! Random subsamples of a step: of the candidate terms and of the rows, each from a random stream of its own.
//!
//! Source: Ma 2017, section 2.6: bags of a share η of the rows, and √p of the candidates, as random forests have them.

use super::params::Params;
use tamis::rng::{RngStream, generator, uniform, uniform_below};

/// The candidate terms of a step, ascending: all, or √p of them.
pub(super) fn sample_terms(all: usize, params: &Params, seed: u64, step: usize) -> Vec<u32> {
    let mut columns: Vec<u32> = (0..all as u32).collect();
    if params.subsample_terms {
        let wanted = ((all as f64).sqrt().ceil() as usize).max(params.max_terms_of(all)).min(all);
        let mut random = generator(seed, RngStream::SampleFeatures, step as u64);
        for at in 0..wanted {
            columns.swap(at, at + uniform_below(&mut random, all - at));
        }
        columns.truncate(wanted);
        columns.sort_unstable();
    }
    columns
}

/// Which rows a step uses: all, or each with probability η.
pub(super) fn sample_rows(rows: usize, params: &Params, seed: u64, step: usize) -> Vec<bool> {
    if params.subsample >= 1.0 {
        return vec![true; rows];
    }
    let mut random = generator(seed, RngStream::Subsample, step as u64);
    (0..rows).map(|_| uniform(&mut random) < params.subsample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_of_the_candidates_is_drawn_and_each_as_often() {
        let params = Params::thesis();
        let mut counts = [0; 100];
        for step in 0..2000 {
            let drawn = sample_terms(100, &params, 5, step);
            assert!(drawn.len() == 10 && drawn.is_sorted_by(|a, b| a < b), "{drawn:?}");
            drawn.iter().for_each(|&one| counts[one as usize] += 1);
        }
        // 200 ± 13.4 on average.
        assert!(counts.iter().all(|count| (140..=260).contains(count)), "{counts:?}");
        assert_eq!(sample_terms(7, &Params::default(), 5, 1), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_bag_holds_its_share_and_differs_by_step() {
        let params = Params { subsample: 0.3, ..Params::default() };
        let size = |step| sample_rows(10_000, &params, 5, step).iter().filter(|&&inside| inside).count();
        assert!((2850..=3150).contains(&size(1)), "{}", size(1));
        assert_ne!(sample_rows(100, &params, 5, 1), sample_rows(100, &params, 5, 2));
        assert_eq!(sample_rows(3, &Params::default(), 5, 1), [true; 3]);
    }
}
