//! Moments in blocks: what machines exchange when each of them has some of the rows.
//!
//! A block holds the counts and means of all columns, and a range of rows of the co-moments C (the lower triangle). Blocks
//! of the same number are merged in any place, each with the update of [`super::Comoments::merge`]:
//! ```text
//! C_ij ← C_ij + D_ij + (W·V/(W + V))·δ_i·δ_j,   δ = ν − μ        i in the range of the block, j ≤ i
//! ```
//! so no machine has to hold the whole matrix. All parts must have the same columns in the same order:
//! [`Moments::aligned`] brings them there. Merged in a fixed order, blocks give the bits of [`Moments::merge`] in that
//! order. Cost: p numbers a row of the block, and p means a block.

use serde::{Deserialize, Serialize};

use super::packed_symmetric::PackedSymmetric;
use super::{Column, Comoments, Moments, MomentsError, RowIdentity};
use crate::data::f64_codec::{bytes_of, doubles};
use crate::data::tensor_file::{Arrays, TensorFile};
use crate::parse::schema::ModelSchema;
use safetensors::tensor::Dtype;

/// The version this build writes, and the newest it reads.
const FORMAT: TensorFile = TensorFile { name: "tamis-moments-block", version: 1 };

/// What all blocks of some moments have in common, and the number of this one.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    number: usize,
    /// Rows of the matrix in a block; the last block may have fewer.
    height: usize,
    columns: Vec<Column>,
    folds: usize,
    decay: Option<f64>,
    screened: bool,
    skipped: u64,
    table: Option<ModelSchema>,
    /// In the first block only.
    identity: RowIdentity,
}

impl About {
    /// The rows of the matrix in this block.
    fn range(&self) -> std::ops::Range<usize> {
        let first = self.number.saturating_mul(self.height);
        first..first.saturating_add(self.height).min(self.columns.len())
    }

    /// The number of blocks: at least one, which has the counts.
    fn count(&self) -> usize {
        self.columns.len().div_ceil(self.height).max(1)
    }
}

/// A fold of a block.
struct Part {
    counts: [f64; 3],
    means: Vec<f64>,
    /// Rows of the lower triangle, one after the other.
    rows: Vec<f64>,
}

struct Block {
    about: About,
    folds: Vec<Part>,
}

impl Moments {
    /// The same moments with these columns, in this order; columns that were zero in all rows may be among them. A column of
    /// these moments that is not among them is an error.
    pub fn aligned(&self, columns: &[Column]) -> Result<Moments, MomentsError> {
        let of = |columns: Vec<Column>, size| Moments {
            columns,
            folds: vec![Comoments::new(size); self.folds.len()],
            identity: RowIdentity::empty().finish(),
            skipped: 0,
            ..self.clone()
        };
        let keys: std::collections::BTreeSet<String> = columns.iter().map(Column::key).collect();
        if keys.len() != columns.len() {
            return Err(MomentsError::Differ("a column occurs twice".into()));
        }
        if let Some(stray) = self.columns.iter().find(|column| !keys.contains(&column.key())) {
            return Err(MomentsError::OtherColumn { name: stray.name(), screened: false });
        }
        let mut whole = of(columns.to_vec(), columns.len());
        whole.merge(&Moments { screened: false, ..self.clone() }, true)?;
        Ok(whole)
    }

    /// The number of blocks of `height` rows of the matrix each.
    pub fn block_count(&self, height: usize) -> usize {
        self.columns.len().div_ceil(height.max(1)).max(1)
    }

    /// The bytes of a block.
    pub fn block(&self, number: usize, height: usize) -> Vec<u8> {
        let about = About {
            number,
            height: height.max(1),
            columns: self.columns.clone(),
            folds: self.folds.len(),
            decay: self.decay,
            screened: self.screened,
            skipped: self.skipped,
            table: self.table.clone(),
            identity: if number == 0 { self.identity.clone() } else { RowIdentity::default() },
        };
        let part = |fold: &Comoments| Part {
            counts: [fold.rows as f64, fold.weight, fold.squares],
            means: fold.means.clone(),
            rows: about.range().flat_map(|i| (0..=i).map(move |j| fold.comoments.get(i, j))).collect(),
        };
        let folds = self.folds.iter().map(part).collect();
        Block { about, folds }.to_bytes()
    }

    /// Moments from all their blocks, in any order.
    pub fn from_blocks<'a>(blocks: impl IntoIterator<Item = &'a [u8]>) -> Result<Moments, MomentsError> {
        let mut blocks = blocks.into_iter().map(Block::from_bytes).collect::<Result<Vec<_>, _>>()?;
        blocks.sort_by_key(|block| block.about.number);
        let Some(first) = blocks.first() else { return Err(differ("there are no blocks")) };
        let count = first.about.count();
        if let Some(missing) = (0..count).find(|&at| blocks.get(at).is_none_or(|block| block.about.number != at)) {
            return Err(differ(&format!("block {missing} of {count} is missing, or occurs twice")));
        }
        if blocks.len() > count {
            return Err(differ(&format!("{} blocks were given, and {count} are expected", blocks.len())));
        }
        for other in &blocks[1..] {
            first.check_alike(other)?;
            if first.folds.iter().zip(&other.folds).any(|(a, b)| a.counts != b.counts || a.means != b.means) {
                return Err(differ("the blocks are of different rows"));
            }
        }
        let size = first.about.columns.len();
        let fold = |number: usize| {
            let triangle: Vec<f64> = blocks.iter().flat_map(|block| block.folds[number].rows.iter().copied()).collect();
            let Part { counts: [rows, weight, squares], means, .. } = &blocks[0].folds[number];
            let comoments = PackedSymmetric::from_triangle(size, &triangle).expect("checked when it was read");
            Comoments { rows: *rows as u64, weight: *weight, squares: *squares, means: means.clone(), comoments }
        };
        let folds = (0..first.folds.len()).map(fold).collect();
        let About { columns, decay, screened, skipped, table, identity, .. } = first.about.clone();
        let moments = Moments { columns, table, decay, screened, skipped, folds, identity };
        moments.check_finite()?;
        Ok(moments)
    }

    /// Moments from numbers that were computed elsewhere: counts, means, and the lower triangle of the centred co-moments, row
    /// by row. They are checked as those of a file.
    pub fn from_statistics(
        columns: Vec<Column>,
        counts: [f64; 3],
        means: Vec<f64>,
        triangle: &[f64],
    ) -> Result<Moments, MomentsError> {
        let size = columns.len();
        let sums = Comoments {
            rows: counts[0] as u64,
            weight: counts[1],
            squares: counts[2],
            comoments: PackedSymmetric::from_triangle(size, triangle)
                .filter(|_| means.len() == size)
                .ok_or_else(|| differ(&format!("the arrays do not fit {size} columns")))?,
            means,
        };
        let moments = Moments::new(columns, vec![sums]);
        moments.check_finite()?;
        Moments::from_bytes(&moments.to_bytes(), std::path::Path::new("the given moments"))
    }
}

/// Merges blocks of the same number, in the given order.
pub fn merge_blocks<'a>(blocks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, MomentsError> {
    let mut blocks = blocks.into_iter().map(Block::from_bytes);
    let mut sum = blocks.next().ok_or_else(|| differ("there are no blocks"))??;
    for other in blocks {
        sum.merge(&other?)?;
    }
    Ok(sum.to_bytes())
}

fn differ(text: &str) -> MomentsError {
    MomentsError::Differ(text.into())
}

impl Block {
    fn check_alike(&self, other: &Block) -> Result<(), MomentsError> {
        let (a, b) = (&self.about, &other.about);
        let same = a.columns == b.columns && a.height == b.height && a.folds == b.folds;
        if !same || a.decay != b.decay || a.screened != b.screened {
            return Err(differ("the blocks have other columns, folds or heights: make them of aligned moments"));
        }
        Ok(())
    }

    /// Merges the same block of other rows, as [`Comoments::merge`] does.
    fn merge(&mut self, other: &Block) -> Result<(), MomentsError> {
        self.check_alike(other)?;
        if self.about.number != other.about.number {
            let (a, b) = (self.about.number, other.about.number);
            return Err(differ(&format!("blocks {a} and {b} are different parts of the matrix")));
        }
        if self.about.number == 0 {
            self.about.identity.merge(&other.about.identity);
        }
        self.about.skipped += other.about.skipped;
        self.about.table = self.about.table.take().or(other.about.table.clone());
        let range = self.about.range();
        for (own, other) in self.folds.iter_mut().zip(&other.folds) {
            own.merge(other, range.clone());
        }
        Ok(())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let about = serde_json::to_string(&self.about).expect("plain data becomes JSON");
        let mut arrays = Arrays::new();
        for (number, fold) in self.folds.iter().enumerate() {
            let mut put = |name: &str, numbers: &[f64]| {
                arrays.insert(format!("fold{number}.{name}"), (Dtype::F64, bytes_of(numbers.iter().copied())))
            };
            put("counts", &fold.counts);
            put("means", &fold.means);
            put("rows", &fold.rows);
        }
        FORMAT.write(&about, &arrays)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Block, MomentsError> {
        let path = std::path::PathBuf::from("a block of moments");
        let not_one = |reason: &str| MomentsError::NotMoments { path: path.clone(), reason: reason.into() };
        let broken = |source| MomentsError::File { path: path.clone(), source };
        let (about, arrays) = FORMAT.read(bytes).map_err(broken)?;
        let about: About = serde_json::from_str(&about).map_err(|error| not_one(&error.to_string()))?;
        if about.height == 0 || about.folds == 0 || about.folds > arrays.len() || about.number >= about.count() {
            return Err(not_one("its numbers are impossible"));
        }
        let cells: usize = about.range().map(|i| i + 1).sum();
        let fold = |number: usize| {
            let numbers = |name: &str| match arrays.get(&format!("fold{number}.{name}")) {
                Some(view) if view.dtype() == Dtype::F64 => Ok(doubles(view.data())),
                _ => Err(not_one("an array is missing")),
            };
            let (counts, means, rows) = (numbers("counts")?, numbers("means")?, numbers("rows")?);
            let counts = <[f64; 3]>::try_from(counts).map_err(|_| not_one("three counts were expected"))?;
            let possible = counts.iter().all(|count| *count >= 0.0 && count.is_finite()) && counts[0].fract() == 0.0;
            if !possible || means.len() != about.columns.len() || rows.len() != cells {
                return Err(not_one("its arrays do not fit its columns"));
            }
            Ok(Part { counts, means, rows })
        };
        let folds = (0..about.folds).map(fold).collect::<Result<_, _>>()?;
        Ok(Block { about, folds })
    }
}

impl Part {
    fn merge(&mut self, other: &Part, range: std::ops::Range<usize>) {
        let ([_, own, _], [_, new, _]) = (self.counts, other.counts);
        if new > 0.0 {
            let total = own + new;
            let shifts: Vec<f64> = self.means.iter().zip(&other.means).map(|(mean, other)| other - mean).collect();
            let (factor, share) = (own * new / total, new / total);
            let mut at = 0;
            for i in range {
                for (j, shift) in shifts[..=i].iter().enumerate() {
                    // The same two roundings as `PackedSymmetric::add` and `add_outer`.
                    self.rows[at + j] += other.rows[at + j];
                    self.rows[at + j] += factor * shift * shifts[i];
                }
                at += i + 1;
            }
            self.means.iter_mut().zip(&shifts).for_each(|(mean, shift)| *mean += share * shift);
            self.counts[1] = total;
            self.counts[2] += other.counts[2];
        }
        self.counts[0] += other.counts[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(names: &[&str], seed: u64, rows: usize) -> Moments {
        let mut columns = vec![Column::Target("y".into())];
        columns.extend(names.iter().map(|name| Column::Feature(name.to_string())));
        let mut state = seed;
        let mut draw = || {
            state = crate::rng::splitmix64(state);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let values: Vec<f64> = (0..rows * columns.len()).map(|_| draw()).collect();
        let mut sums = Comoments::new(columns.len());
        sums.observe_dense(&values, &[]);
        Moments::new(columns, vec![sums])
    }

    #[test]
    fn merged_blocks_are_the_blocks_of_merged_moments_bit_for_bit() {
        let names = ["a", "b", "c", "d", "e", "f"];
        let parts: Vec<Moments> = (0..5).map(|seed| part(&names, seed, 3 + 7 * seed as usize)).collect();
        let mut whole = parts[0].clone();
        parts[1..].iter().for_each(|part| whole.merge(part, false).unwrap());
        for height in [1, 3, 64] {
            let count = whole.block_count(height);
            assert_eq!(count, 7_usize.div_ceil(height));
            let merged = (0..count).map(|number| {
                let blocks: Vec<Vec<u8>> = parts.iter().map(|part| part.block(number, height)).collect();
                merge_blocks(blocks.iter().map(Vec::as_slice)).unwrap()
            });
            let merged: Vec<Vec<u8>> = merged.collect();
            assert_eq!(Moments::from_blocks(merged.iter().rev().map(Vec::as_slice)).unwrap(), whole);
        }
    }

    #[test]
    fn alignment_moves_columns_by_name() {
        let moments = part(&["b", "a"], 1, 9);
        let columns: Vec<Column> = [Column::Target("y".into())]
            .into_iter()
            .chain(["a", "b", "c"].map(|name| Column::Feature(name.into())))
            .collect();
        let aligned = moments.aligned(&columns).unwrap();
        let (old, new) = (&moments.folds[0], &aligned.folds[0]);
        assert_eq!((new.rows, new.means[1], new.means[2], new.means[3]), (9, old.means[2], old.means[1], 0.0));
        assert_eq!(new.comoments.get(0, 1), old.comoments.get(0, 2));
        assert_eq!((0..4).map(|j| new.comoments.get(3, j)).sum::<f64>(), 0.0);
        let told = moments.aligned(&columns[..2]).unwrap_err().to_string();
        assert!(told.contains("\"b\" is a column of one"), "{told}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (one, other) = (part(&["a", "b"], 1, 5), part(&["a", "c"], 2, 5));
        let told = |blocks: &[Vec<u8>]| merge_blocks(blocks.iter().map(Vec::as_slice)).unwrap_err().to_string();
        assert!(told(&[one.block(0, 2), other.block(0, 2)]).contains("other columns"));
        assert!(told(&[one.block(0, 2), one.block(1, 2)]).contains("blocks 0 and 1 are different parts"));
        assert!(told(&[]).contains("no blocks"));
        let whole =
            |blocks: &[Vec<u8>]| Moments::from_blocks(blocks.iter().map(Vec::as_slice)).unwrap_err().to_string();
        assert!(whole(&[one.block(0, 2)]).contains("block 1 of 2 is missing"));
        assert!(whole(&[one.block(0, 2), part(&["a", "b"], 3, 5).block(1, 2)]).contains("different rows"));
        let mut bytes = one.block(0, 2);
        *bytes.last_mut().unwrap() ^= 1;
        assert!(told(&[bytes]).contains("checksum"));
        let numbers = Moments::from_statistics(one.columns.clone(), [5.0, 5.0, 5.0], vec![0.0; 3], &[-1.0; 6]);
        assert!(numbers.unwrap_err().to_string().contains("variance is negative"));
    }
}
