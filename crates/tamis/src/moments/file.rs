//! Files of moments: safetensors with a checksum, readable from any language that has the format.
//!
//! | array | holds |
//! |---|---|
//! | `columns` | JSON: the role and name of each column |
//! | `fold<i>.counts` | rows, W, Σw² |
//! | `fold<i>.means` | μ of each column |
//! | `fold<i>.comoments` | the lower triangle of C, row by row, diagonal included |
//!
//! The header has one entry, `tamis-moments`: version, checksum and the rest as JSON, separated by spaces (a single
//! entry, so that equal moments have equal bytes). Files are replaced atomically, and everything that is read is
//! validated.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use super::packed_symmetric::PackedSymmetric;
use super::{Column, Comoments, Moments, MomentsError, RowIdentity};
use crate::data::f64_codec::{bytes_of, doubles};
use crate::data::replace_file;
use crate::data::tensor_file::{Arrays, TensorFile};
use crate::parse::schema::ModelSchema;

/// The version this build writes, and the newest it reads.
const FORMAT: TensorFile = TensorFile { name: "tamis-moments", version: 1 };
/// Rows of a fold, at most: no stream has more, and the rows of all folds can be added.
const MOST_ROWS: u64 = 1 << 48;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    folds: usize,
    decay: Option<f64>,
    screened: bool,
    skipped: u64,
    table: Option<ModelSchema>,
    #[serde(default)]
    identity: RowIdentity,
}

impl Moments {
    /// Saves the moments. An existing file is replaced atomically. Moments that could not be loaded are an error.
    pub fn save(&self, path: &Path) -> Result<(), MomentsError> {
        self.check_finite()?;
        if self.folds.iter().any(|fold| fold.rows > MOST_ROWS) {
            return Err(MomentsError::TooManyRows);
        }
        let failed = |source| MomentsError::Write { path: path.to_path_buf(), source };
        replace_file(path, &self.to_bytes()).map_err(failed)
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let about = About {
            folds: self.folds.len(),
            decay: self.decay,
            screened: self.screened,
            skipped: self.skipped,
            table: self.table.clone(),
            identity: self.identity.clone(),
        };
        let about = serde_json::to_string(&about).expect("plain data becomes JSON");
        let columns = serde_json::to_string(&self.columns).expect("plain data becomes JSON");
        let mut arrays = Arrays::new();
        arrays.insert("columns".into(), (Dtype::U8, columns.into_bytes()));
        for (number, fold) in self.folds.iter().enumerate() {
            let mut put =
                |name: &str, bytes: Vec<u8>| arrays.insert(format!("fold{number}.{name}"), (Dtype::F64, bytes));
            put("counts", bytes_of([fold.rows as f64, fold.weight, fold.squares]));
            put("means", bytes_of(fold.means.iter().copied()));
            put("comoments", bytes_of(fold.comoments.triangle()));
        }
        FORMAT.write(&about, &arrays)
    }

    /// Loads moments.
    pub fn load(path: &Path) -> Result<Moments, MomentsError> {
        let failed = |source| MomentsError::Open { path: path.to_path_buf(), source };
        let bytes = std::fs::read(path).map_err(failed)?;
        Moments::from_bytes(&bytes, path)
    }

    /// Moments from the bytes of their file; `path` is for messages.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Moments, MomentsError> {
        let path = path.to_path_buf();
        let not_one = |reason: String| MomentsError::NotMoments { path: path.clone(), reason };
        let broken = |source| MomentsError::File { path: path.clone(), source };
        let (about, arrays) = FORMAT.read(bytes).map_err(broken)?;
        let about: About = serde_json::from_str(&about).map_err(|error| not_one(error.to_string()))?;
        assemble(about, &arrays).map_err(not_one)
    }
}

/// Moments from arrays whose checksum is right; their content is validated here.
fn assemble(about: About, arrays: &BTreeMap<String, TensorView<'_>>) -> Result<Moments, String> {
    let columns = arrays.get("columns").ok_or("it has no columns")?;
    let columns: Vec<Column> = serde_json::from_slice(columns.data()).map_err(|error| error.to_string())?;
    let keys: std::collections::BTreeSet<String> = columns.iter().map(Column::key).collect();
    if keys.len() != columns.len() {
        return Err("a column occurs twice".into());
    }
    if about.folds == 0 || about.folds > arrays.len() {
        return Err(format!("{} folds cannot be", about.folds));
    }
    let fold = |number: usize| {
        let numbers = |name: &str| match arrays.get(&format!("fold{number}.{name}")) {
            Some(view) if view.dtype() == Dtype::F64 => Ok(doubles(view.data())),
            _ => Err(format!("it has no numbers fold{number}.{name}")),
        };
        let (counts, means, triangle) = (numbers("counts")?, numbers("means")?, numbers("comoments")?);
        let &[rows, weight, squares] = &counts[..] else { return Err("three counts were expected".into()) };
        let whole = (0.0..=MOST_ROWS as f64).contains(&rows) && rows.fract() == 0.0 && weight >= 0.0 && squares >= 0.0;
        let finite = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite());
        if !whole || !finite(&counts) || !finite(&means) || !finite(&triangle) {
            return Err("a number is not finite, or a count impossible".to_string());
        }
        let comoments =
            PackedSymmetric::from_triangle(columns.len(), &triangle).filter(|_| means.len() == columns.len());
        let comoments = comoments.ok_or_else(|| format!("its arrays do not fit {} columns", columns.len()))?;
        if (0..columns.len()).any(|i| comoments.get(i, i) < 0.0) {
            return Err("a variance is negative".into());
        }
        Ok(Comoments { rows: rows as u64, weight, squares, means, comoments })
    };
    if !about.identity.is_valid() {
        return Err("the record of its rows is invalid".into());
    }
    let folds = (0..about.folds).map(fold).collect::<Result<_, String>>()?;
    let About { decay, screened, skipped, table, identity, .. } = about;
    Ok(Moments { columns, table, decay, screened, skipped, folds, identity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;

    fn moments() -> Moments {
        let columns = vec![
            Column::Class(Label::Text("spam".into())),
            Column::Feature("17".into()),
            Column::Product("a".into(), "é".into()),
        ];
        let mut sums = Comoments::new(3);
        sums.observe_dense(&[0.0, 1.0, 2.0, 1.0, 1.0 / 3.0, 5.0, 0.0, 3.0, -2.0], &[1.0, 2.0, 0.5]);
        let folds = vec![sums, Comoments::new(3)];
        Moments { decay: Some(0.01), screened: true, skipped: 3, ..Moments::new(columns, folds) }
    }

    fn load(bytes: &[u8]) -> Result<Moments, MomentsError> {
        Moments::from_bytes(bytes, Path::new("m.moments"))
    }

    #[test]
    fn moments_survive_their_file_bit_for_bit() {
        assert_eq!(load(&moments().to_bytes()).unwrap(), moments());
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let bytes = moments().to_bytes();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            // White space of the header's padding may change without changing anything.
            assert!(load(&bad).map_or(true, |same| same == moments()), "byte {at}");
        }
        assert!((0..bytes.len()).all(|end| load(&bytes[..end]).is_err()));
    }

    #[test]
    fn what_has_too_many_rows_is_neither_written_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.moments");
        let with_rows = |rows: u64| {
            let mut moments = moments();
            moments.folds[0].rows = rows;
            moments
        };
        with_rows(MOST_ROWS).save(&path).unwrap();
        assert_eq!(Moments::load(&path).unwrap().folds[0].rows, 1 << 48);
        let many = with_rows(MOST_ROWS + 1);
        assert!(matches!(many.save(&path), Err(MomentsError::TooManyRows)));
        assert_eq!(Moments::load(&path).unwrap(), with_rows(MOST_ROWS), "the old file stays");
        assert!(load(&with_rows(MOST_ROWS + 2).to_bytes()).unwrap_err().to_string().contains("a count impossible"));
    }

    #[test]
    fn complaints_say_what_is_wrong() {
        assert!(load(b"not at all").unwrap_err().to_string().contains("not a tamis-moments file"));
        let mut bytes = moments().to_bytes();
        *bytes.last_mut().unwrap() ^= 1;
        assert_eq!(load(&bytes).unwrap_err().to_string(), "m.moments: damaged: checksum mismatch");
        let mut twice = moments();
        twice.columns[2] = twice.columns[1].clone();
        assert!(load(&twice.to_bytes()).unwrap_err().to_string().contains("a column occurs twice"));
        let mut short = moments();
        short.columns.pop();
        assert!(load(&short.to_bytes()).unwrap_err().to_string().contains("do not fit 2 columns"));
        let mut negative = moments();
        negative.folds[0].comoments.set(1, 1, -1.0);
        assert!(load(&negative.to_bytes()).unwrap_err().to_string().contains("variance is negative"));
    }
}
