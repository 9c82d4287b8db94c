//! Products join the candidates: of what a step chose with what has carried most weight so far.
//!
//! Source: Ma 2017, (2.20): C_m = C_{m−1} ∪ (S_m ⊗ A_m). Departures: only the T terms of largest diag W are multiplied
//! (`pool`), and none before `burn_in` steps, since products of variables found in Euclidean neighbourhoods are noise;
//! a product is a multiset of variables, so that x₁·(x₁x₂) and x₁²·x₂ are one.

use super::number::Real;
use super::settings::Settings;
use super::terms::Terms;

/// Adds the products of a step; says how many terms there are now.
pub(super) fn grow<T: Real>(
    terms: &mut Terms<T>,
    chosen: &[u32],
    masses: &[f64],
    settings: &Settings,
    most: usize,
) -> usize {
    let pool = pool(masses, settings.pool);
    for &first in chosen.iter().filter(|first| pool.contains(first)) {
        for &second in &pool {
            let list = union(&terms.lists[first as usize], &terms.lists[second as usize]);
            if list.len() <= settings.order && terms.len() < most {
                terms.add(list, settings.scale_products);
            }
        }
    }
    terms.len()
}

/// The terms of largest weight, ascending.
fn pool(masses: &[f64], size: Option<usize>) -> Vec<u32> {
    let mut used: Vec<u32> = (0..masses.len() as u32).filter(|&term| masses[term as usize] > 0.0).collect();
    if let Some(size) = size.filter(|&size| size < used.len()) {
        used.sort_by(|&a, &b| masses[b as usize].total_cmp(&masses[a as usize]).then(a.cmp(&b)));
        used.truncate(size);
        used.sort_unstable();
    }
    used
}

/// The variables of both, sorted, as often as they come.
fn union(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut list = [a, b].concat();
    list.sort_unstable();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_join_once_up_to_their_order() {
        let mut terms = Terms::new(4, vec![1.0, -1.0, 2.0, 0.0, 1.0, 1.0, 3.0, 5.0, 9.0, 8.0, 7.0, 0.5]);
        let settings = Settings { order: 2, ..Settings::default() };
        let masses = [0.5, 0.2, 0.0];
        assert_eq!(grow(&mut terms, &[0, 2], &masses, &settings, 100), 5);
        assert_eq!(terms.lists[3..], [vec![0, 0], vec![0, 1]], "the third variable carries no weight yet");
        assert_eq!(grow(&mut terms, &[0], &masses, &settings, 100), 5);
        let masses = [0.5, 0.2, 0.1, 0.3, 0.0];
        assert_eq!(grow(&mut terms, &[3], &masses, &settings, 100), 5, "products of three are beyond the order");
        let four = Settings { order: 4, pool: Some(2), ..settings };
        assert_eq!(grow(&mut terms, &[3], &masses, &four, 100), 7);
        assert_eq!(terms.lists[5..], [vec![0, 0, 0], vec![0, 0, 0, 0]], "the pool holds terms 0 and 3");
        assert_eq!(grow(&mut terms, &[0, 1, 2], &masses, &Settings { pool: None, ..four }, 7), 7, "the cap holds");
    }
}
