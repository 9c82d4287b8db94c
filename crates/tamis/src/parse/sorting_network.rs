//! Sorts several columns of numbers at once, one in each lane of the processor's vectors.
//!
//! Source: Batcher (1968), bitonic sorting. A network compares rows in an order that does not depend on their numbers, so that one
//! comparison serves all lanes. Eight rows are sorted by the network of 19 comparisons; sorted parts
//! are merged: each row is compared with the one opposite, then with those at half the distance, and so on.
//!
//! Departures: two or three steps of a merge are done at once, so that rows are loaded and stored once for them.
//! Cost: about r·log²r / 4 comparisons of r rows, and r·log²r / 4 loads and stores.

use pulp::Simd;

/// The rows that are sorted in registers. The number of rows is this, or a larger power of two.
pub(super) const FEWEST_ROWS: usize = 8;

/// Sorts the numbers of each lane; there are 8, 16, 32, … rows. A lane with NaN is left in any order, and zeros may lose their sign.
#[inline(always)]
pub(super) fn sort<S: Simd>(simd: S, rows: &mut [S::f64s]) {
    rows.chunks_exact_mut(8).for_each(|rows| sort_eight(simd, rows));
    let mut length = 16;
    while length <= rows.len() {
        rows.chunks_exact_mut(length).for_each(|rows| merge(simd, rows));
        length *= 2;
    }
}

/// Merges two sorted halves: a bitonic network.
#[inline(always)]
fn merge<S: Simd>(simd: S, rows: &mut [S::f64s]) {
    let length = rows.len();
    // Comparisons of a row with the one opposite, then of rows at a distance of a quarter.
    let (low, high) = rows.split_at_mut(length / 2);
    let mut distance = if length == 16 {
        low.iter_mut().zip(high.iter_mut().rev()).for_each(|(a, d)| exchange(simd, a, d));
        length / 4
    } else {
        let (a, b) = low.split_at_mut(length / 4);
        let (c, d) = high.split_at_mut(length / 4);
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c.iter_mut().rev()).zip(d.iter_mut().rev()) {
            let [mut w, mut x, mut y, mut z] = [*a, *b, *c, *d];
            exchange(simd, &mut w, &mut z);
            exchange(simd, &mut x, &mut y);
            exchange(simd, &mut w, &mut x);
            exchange(simd, &mut y, &mut z);
            (*a, *b, *c, *d) = (w, x, y, z);
        }
        length / 8
    };
    // Rows at smaller and smaller distances, two of them at a time.
    while distance > 4 {
        if distance == 8 {
            for rows in rows.chunks_exact_mut(16) {
                let (low, high) = rows.split_at_mut(8);
                low.iter_mut().zip(high).for_each(|(a, b)| exchange(simd, a, b));
            }
            distance = 4;
        } else {
            for rows in rows.chunks_exact_mut(2 * distance) {
                let (low, high) = rows.split_at_mut(distance);
                let (a, b) = low.split_at_mut(distance / 2);
                let (c, d) = high.split_at_mut(distance / 2);
                for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
                    let [mut w, mut x, mut y, mut z] = [*a, *b, *c, *d];
                    exchange(simd, &mut w, &mut y);
                    exchange(simd, &mut x, &mut z);
                    exchange(simd, &mut w, &mut x);
                    exchange(simd, &mut y, &mut z);
                    (*a, *b, *c, *d) = (w, x, y, z);
                }
            }
            distance /= 4;
        }
    }
    rows.chunks_exact_mut(8).for_each(|rows| merge_eight(simd, rows));
}

macro_rules! network {
    ($simd:ident, $rows:ident, $(($one:literal, $other:literal))*) => {
        let mut all: [S::f64s; 8] = [
            $rows[0], $rows[1], $rows[2], $rows[3], $rows[4], $rows[5], $rows[6], $rows[7],
        ];
        $( (all[$one], all[$other]) = ($simd.min_f64s(all[$one], all[$other]), $simd.max_f64s(all[$one], all[$other])); )*
        $rows.copy_from_slice(&all);
    };
}

/// Sorts eight rows with 19 comparisons.
#[inline(always)]
fn sort_eight<S: Simd>(simd: S, rows: &mut [S::f64s]) {
    network!(
        simd,
        rows,
        (0, 2)(1, 3)(4, 6)(5, 7)(0, 4)(1, 5)(2, 6)(3, 7)(0, 1)(2, 3)(4, 5)(6, 7)(2, 4)(3, 5)(1, 4)(3, 6)(1, 2)(3, 4)(
            5, 6
        )
    );
}

/// The last three steps of a merge: rows at distances of 4, 2 and 1.
#[inline(always)]
fn merge_eight<S: Simd>(simd: S, rows: &mut [S::f64s]) {
    network!(simd, rows, (0, 4)(1, 5)(2, 6)(3, 7)(0, 2)(1, 3)(4, 6)(5, 7)(0, 1)(2, 3)(4, 5)(6, 7));
}

/// Puts the smaller number of each lane first.
#[inline(always)]
fn exchange<S: Simd>(simd: S, low: &mut S::f64s, high: &mut S::f64s) {
    (*low, *high) = (simd.min_f64s(*low, *high), simd.max_f64s(*low, *high));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulp::WithSimd;

    use super::*;

    /// Sorts columns that are stored one after the other.
    struct SortColumns<'a>(&'a mut [f64], usize);

    impl WithSimd for SortColumns<'_> {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            let SortColumns(numbers, rows) = self;
            for columns in numbers.chunks_mut(rows * S::F64_LANES) {
                let at = |row: usize, lane: usize| (lane * rows + row) % columns.len();
                let lanes = |row| (0..S::F64_LANES).map(|lane| columns[at(row, lane)]).collect::<Vec<f64>>();
                let mut vectors: Vec<S::f64s> = (0..rows).map(|row| simd.partial_load_f64s(&lanes(row))).collect();
                sort(simd, &mut vectors);
                for (row, vector) in vectors.into_iter().enumerate() {
                    let mut lanes = vec![0.0; S::F64_LANES];
                    simd.partial_store_f64s(&mut lanes, vector);
                    (0..S::F64_LANES).for_each(|lane| columns[(lane * rows + row) % columns.len()] = lanes[lane]);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn columns_are_sorted(power in 3..10_u32, numbers in prop::collection::vec(-50..50_i32, 1024)) {
            let rows = 2_usize.pow(power);
            let mut found: Vec<f64> = numbers.iter().map(|&number| f64::from(number) / 7.0).collect();
            let mut expected = found.clone();
            expected.chunks_mut(rows).for_each(|column| column.sort_unstable_by(f64::total_cmp));
            pulp::Arch::new().dispatch(SortColumns(&mut found, rows));
            prop_assert_eq!(&found, &expected);
            pulp::Arch::Scalar.dispatch(SortColumns(&mut found, rows));
            prop_assert_eq!(found, expected);
        }
    }
}
