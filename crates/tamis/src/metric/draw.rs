//! What chance decides in a step: the candidates and the rows it looks at, each from a stream of its own.
//!
//! Source: Ma 2017, section 2.6: bags of a share η of the rows, and √p of the candidates, as random forests have them.

use super::settings::Settings;
use crate::random::{Purpose, below, generator, uniform};

/// The candidates of a step, ascending: all, or √p of them.
pub(super) fn columns(all: usize, settings: &Settings, seed: u64, step: usize) -> Vec<u32> {
    let mut columns: Vec<u32> = (0..all as u32).collect();
    if settings.draw_columns {
        let wanted = ((all as f64).sqrt().ceil() as usize).max(settings.entries_of(all)).min(all);
        let mut random = generator(seed, Purpose::Draw, step as u64);
        for at in 0..wanted {
            columns.swap(at, at + below(&mut random, all - at));
        }
        columns.truncate(wanted);
        columns.sort_unstable();
    }
    columns
}

/// Which rows a step looks at: all, or each with probability η.
pub(super) fn bag(rows: usize, settings: &Settings, seed: u64, step: usize) -> Vec<bool> {
    if settings.bag >= 1.0 {
        return vec![true; rows];
    }
    let mut random = generator(seed, Purpose::Bag, step as u64);
    (0..rows).map(|_| uniform(&mut random) < settings.bag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_of_the_candidates_is_drawn_and_each_as_often() {
        let settings = Settings::thesis();
        let mut counts = [0; 100];
        for step in 0..2000 {
            let drawn = columns(100, &settings, 5, step);
            assert!(drawn.len() == 10 && drawn.is_sorted_by(|a, b| a < b), "{drawn:?}");
            drawn.iter().for_each(|&one| counts[one as usize] += 1);
        }
        // 200 ± 13.4 on average.
        assert!(counts.iter().all(|count| (140..=260).contains(count)), "{counts:?}");
        assert_eq!(columns(7, &Settings::default(), 5, 1), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_bag_holds_its_share_and_differs_by_step() {
        let settings = Settings { bag: 0.3, ..Settings::default() };
        let size = |step| bag(10_000, &settings, 5, step).iter().filter(|&&inside| inside).count();
        assert!((2850..=3150).contains(&size(1)), "{}", size(1));
        assert_ne!(bag(100, &settings, 5, 1), bag(100, &settings, 5, 2));
        assert_eq!(bag(3, &Settings::default(), 5, 1), [true; 3]);
    }
}
