//! The first neighbours, by the Euclidean distance. They depend on the rows only, so the metrics learned from a fold share them.

use super::knn::{NeighborList, Points, Search, search_in_blocks};
use super::neighbor_graph::NeighborGraph;
use super::real::{Real, double};
use super::sample::Sample;

/// The k nearest rows of the same class and of other classes, by the Euclidean distance of some terms.
pub(super) fn euclidean_neighbors<T: Real>(sample: &Sample<T>, terms: &[T], k: usize) -> NeighborGraph {
    let all = Points { count: sample.rows(), values: terms };
    let search = Search { classes: &sample.classes, k, exclude_self: true };
    let places = |list: &[(T, u32)]| list.iter().map(|(_, place)| *place).collect::<Vec<u32>>();
    let found = search_in_blocks(all, all, &search, |row, lists| {
        let class = sample.class_of[row] as usize;
        (places(&lists[class]), places(&nearest_of_others(lists, class, k)))
    });
    let (own, others): (Vec<Vec<u32>>, Vec<Vec<u32>>) = found.into_iter().unzip();
    NeighborGraph { k, own: own.concat(), others: others.concat() }
}

/// The k nearest rows of all classes but one, from the nearest of each class. Near to far if there are several classes.
pub(super) fn nearest_of_others<T: Real>(lists: &[NeighborList<T>], class: usize, k: usize) -> NeighborList<T> {
    let mut others: NeighborList<T> = Vec::with_capacity(lists.len() * k);
    for (_, list) in lists.iter().enumerate().filter(|(other, _)| *other != class) {
        others.extend(list.iter().take(k));
    }
    if lists.len() > 2 {
        others.sort_unstable_by(|a, b| double(a.0).total_cmp(&double(b.0)).then(a.1.cmp(&b.1)));
        others.truncate(k);
    }
    others
}

#[cfg(test)]
mod tests {
    use super::super::dataset::tests::dataset;
    use super::*;

    #[test]
    fn fewer_neighbours_are_the_first_of_more() {
        let row = |row: u64| format!("{},{},{}\n", row * 7 % 5, row * 11 % 6, ["p", "q", "r"][row as usize % 3]);
        let text: String = (0..60).map(row).collect();
        let dataset = dataset("t.csv", &format!("a,b,y\n{text}")).unwrap();
        let sample = Sample::<f32>::new(&dataset, &(0..60).collect::<Vec<_>>());
        let five = euclidean_neighbors(&sample, &sample.values, 5);
        for k in 1..=5 {
            assert_eq!(five.nearest(k), euclidean_neighbors(&sample, &sample.values, k), "{k} of 5, with many equals");
        }
    }
}
