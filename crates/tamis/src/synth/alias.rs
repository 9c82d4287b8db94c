//! Draws from a fixed distribution over many outcomes in constant time: Walker's alias table, built by Vose's method.
//!
//! Source: M. D. Vose, "A linear algorithm for generating random numbers with a given distribution", IEEE Transactions
//! on Software Engineering 17(9), 1991. Each of the equally likely cells holds at most two outcomes: itself and its
//! alias. A draw is one random number and one read; the table takes 8 bytes an outcome.

use super::stream::Stream;

/// A cell: itself below the threshold, its alias above.
#[derive(Clone, Copy)]
struct Cell {
    /// The share of the cell that is its own, in units of 2⁻³².
    threshold: u32,
    alias: u32,
}

/// A distribution over `0..len`, ready to be drawn from.
pub(super) struct AliasTable {
    cells: Vec<Cell>,
}

impl AliasTable {
    /// The distribution proportional to `weights`, which are positive and finite.
    pub(super) fn new(weights: &[f64]) -> Self {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut heights: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let (mut low, mut high): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|&outcome| heights[outcome as usize] < 1.0);
        let mut cells: Vec<Cell> = (0..weights.len() as u32).map(|alias| Cell { threshold: u32::MAX, alias }).collect();
        // Each low cell is filled up by a high one, which may thereby become low. What rounding leaves over is full.
        while let (Some(&donor), Some(poor)) = (high.last(), low.pop()) {
            let height = heights[poor as usize];
            cells[poor as usize] = Cell { threshold: (height * (1u64 << 32) as f64) as u32, alias: donor };
            heights[donor as usize] -= 1.0 - height;
            if heights[donor as usize] < 1.0 {
                high.pop();
                low.push(donor);
            }
        }
        AliasTable { cells }
    }

    /// One outcome.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> u32 {
        let (place, fraction) = stream.cell(self.cells.len());
        let cell = self.cells[place];
        if ((fraction >> 32) as u32) < cell.threshold { place as u32 } else { cell.alias }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::{Kind, Plan};

    /// The probabilities that the cells add up to.
    fn probabilities(table: &AliasTable) -> Vec<f64> {
        let share = 1.0 / table.cells.len() as f64;
        let mut sums = vec![0.0; table.cells.len()];
        for (place, cell) in table.cells.iter().enumerate() {
            let own = f64::from(cell.threshold) / (1u64 << 32) as f64;
            sums[place] += share * own;
            sums[cell.alias as usize] += share * (1.0 - own);
        }
        sums
    }

    #[test]
    fn cells_add_up_to_the_weights() {
        for weights in [vec![1.0], vec![1.0; 5], vec![1.0, 2.0, 3.0, 4.0], (1..2000).map(|r| 1.0 / r as f64).collect()]
        {
            let total: f64 = weights.iter().sum();
            let found = probabilities(&AliasTable::new(&weights));
            for (weight, probability) in weights.iter().zip(found) {
                assert!((weight / total - probability).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn draws_follow_the_weights() {
        let table = AliasTable::new(&[1.0, 2.0, 7.0]);
        let mut stream = Stream::of_setup(&Plan::new(Kind::Zipf));
        let mut counts = [0.0f64; 3];
        for _ in 0..100_000 {
            counts[table.draw(&mut stream) as usize] += 1e-5;
        }
        for (count, expected) in counts.into_iter().zip([0.1, 0.2, 0.7]) {
            assert!((count - expected).abs() < 0.006, "{counts:?}");
        }
    }
}
