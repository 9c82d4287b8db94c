//! Interactions (products of terms) join the candidates: the terms of a step times the terms of largest weight so far.
//!
//! Source: Ma 2017, (2.20): C_m = C_{m−1} ∪ (S_m ⊗ A_m). Departures: only the T terms of largest diag W are multiplied (`interaction_pool`),
//! and none before `burn_in` steps, since products of variables found in Euclidean neighbourhoods are noise; a product is
//! a multiset of variables, so that x₁·(x₁x₂) and x₁²·x₂ are one.

use super::params::Params;
use super::real::Real;
use super::terms::Terms;

/// Adds the interactions of a step. Returns the number of terms.
pub(super) fn add_interactions<T: Real>(
    terms: &mut Terms<T>,
    chosen: &[u32],
    diagonal: &[f64],
    params: &Params,
    most: usize,
) -> usize {
    let pool = heaviest(diagonal, params.interaction_pool);
    for &first in chosen.iter().filter(|first| pool.contains(first)) {
        for &second in &pool {
            let list = union(&terms.lists[first as usize], &terms.lists[second as usize]);
            if list.len() <= params.max_order && terms.len() < most {
                terms.add(list, params.scale_interactions);
            }
        }
    }
    terms.len()
}

/// The terms of largest weight, ascending.
fn heaviest(diagonal: &[f64], size: Option<usize>) -> Vec<u32> {
    let mut used: Vec<u32> = (0..diagonal.len() as u32).filter(|&term| diagonal[term as usize] > 0.0).collect();
    if let Some(size) = size.filter(|&size| size < used.len()) {
        used.sort_by(|&a, &b| diagonal[b as usize].total_cmp(&diagonal[a as usize]).then(a.cmp(&b)));
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
        let params = Params { max_order: 2, ..Params::default() };
        let diagonal = [0.5, 0.2, 0.0];
        assert_eq!(add_interactions(&mut terms, &[0, 2], &diagonal, &params, 100), 5);
        assert_eq!(terms.lists[3..], [vec![0, 0], vec![0, 1]], "the third variable carries no weight yet");
        assert_eq!(add_interactions(&mut terms, &[0], &diagonal, &params, 100), 5);
        let diagonal = [0.5, 0.2, 0.1, 0.3, 0.0];
        assert_eq!(
            add_interactions(&mut terms, &[3], &diagonal, &params, 100),
            5,
            "products of three are beyond the order"
        );
        let four = Params { max_order: 4, interaction_pool: Some(2), ..params };
        assert_eq!(add_interactions(&mut terms, &[3], &diagonal, &four, 100), 7);
        assert_eq!(terms.lists[5..], [vec![0, 0, 0], vec![0, 0, 0, 0]], "the pool holds terms 0 and 3");
        assert_eq!(
            add_interactions(&mut terms, &[0, 1, 2], &diagonal, &Params { interaction_pool: None, ..four }, 7),
            7,
            "the cap holds"
        );
    }
}
