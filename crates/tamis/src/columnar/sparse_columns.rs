//! Columns of sparse vectors: the keys and the values of each row.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;
use arrow_schema::DataType;

use super::cells::{Cells, are_finite};
use crate::data::RawRows;
use crate::parse::column::Cell;
use crate::parse::{LONGEST_NAME, LineError};

/// The largest index a feature may have.
const LARGEST_INDEX: f64 = 4_294_967_294.0;

/// A column of lists: all cells, and the bounds of each list.
pub(super) struct Lists {
    bounds: Vec<(usize, usize)>,
    nulls: Option<NullBuffer>,
    pub cells: Cells,
}

impl Lists {
    /// Decodes only the cells within the lists, not those outside a slice.
    pub fn new(array: &ArrayRef) -> Result<Lists, ArrowError> {
        match array.data_type() {
            DataType::List(_) => Lists::of(array.as_list::<i32>()),
            DataType::LargeList(_) => Lists::of(array.as_list::<i64>()),
            _ => {
                let lists = array.as_fixed_size_list();
                let size = lists.value_length() as usize;
                let bounds = (0..lists.len()).map(|row| (row * size, (row + 1) * size)).collect();
                Ok(Lists { bounds, nulls: lists.nulls().cloned(), cells: Cells::plain(lists.values())? })
            }
        }
    }

    fn of<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> Result<Lists, ArrowError> {
        let offsets: Vec<usize> = lists.value_offsets().iter().map(|offset| offset.as_usize()).collect();
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        let cells = Cells::plain(&lists.values().slice(first, last - first))?;
        let bounds = offsets.windows(2).map(|pair| (pair[0] - first, pair[1] - first)).collect();
        Ok(Lists { bounds, nulls: lists.nulls().cloned(), cells })
    }

    /// The bounds of the list of a row; `None` if it is missing.
    pub fn row(&self, row: usize) -> Option<(usize, usize)> {
        let valid = self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        valid.then(|| self.bounds[row])
    }
}

/// The key of a feature: its number, or the position of its name among the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Index(u32),
    Name(usize),
}

/// The vectors of one batch.
pub(super) struct Vectors {
    keys: Lists,
    values: Lists,
    nulls: Option<NullBuffer>,
    /// The type that Spark stores for each vector: 0 is sparse, 1 is dense.
    forms: Option<Cells>,
    entries: Vec<(Key, f64)>,
    /// Where the keys and the values of the vector read last begin, and how many there are, if it is plain: ascending numbers with
    /// finite values. It has no entries then.
    plain: Option<(usize, usize, usize)>,
}

/// Whether a row was complete or had a missing value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Whole,
    Missing,
}

impl Vectors {
    /// From a column of structs.
    pub fn from_struct(array: &ArrayRef) -> Result<Vectors, ArrowError> {
        let vectors: &StructArray = array.as_struct();
        let keys = vectors.column_by_name("indices").or(vectors.column_by_name("names"));
        let (Some(keys), Some(values)) = (keys, vectors.column_by_name("values")) else {
            return Err(ArrowError::SchemaError("a batch lacks columns of the schema".into()));
        };
        let forms = vectors.column_by_name("type").map(Cells::plain).transpose()?;
        Ok(Vectors { nulls: vectors.nulls().cloned(), forms, ..Vectors::from_pair(keys, values)? })
    }

    /// From two columns of lists.
    pub fn from_pair(keys: &ArrayRef, values: &ArrayRef) -> Result<Vectors, ArrowError> {
        let (keys, values) = (Lists::new(keys)?, Lists::new(values)?);
        Ok(Vectors { keys, values, nulls: None, forms: None, entries: Vec::new(), plain: None })
    }

    /// Reads the vector of a row, with ascending keys and at most `limit` entries. With `zero`, missing values are skipped.
    pub fn read(&mut self, row: usize, zero: bool, limit: u64) -> Result<Read, LineError> {
        self.entries.clear();
        self.plain = None;
        let valid = self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let missing = if zero { Read::Whole } else { Read::Missing };
        let Some((start, end)) = self.values.row(row).filter(|_| valid) else { return Ok(missing) };
        let entries = (end - start) as u64;
        if entries > limit {
            return Err(LineError::LongRow { entries, limit });
        }
        let keys = if self.is_dense(row)? { None } else { Some(self.keys.row(row)) };
        let first = match keys {
            None => None,
            Some(None) => return Ok(missing),
            Some(Some((from, to))) if to - from != end - start => {
                let text = format!("a sparse vector has {} keys but {} values", to - from, end - start);
                return Err(LineError::Other(text));
            }
            Some(Some((from, _))) => Some(from),
        };
        if let Some(first) = first
            && self.is_plain(first, start, end - start)
        {
            self.plain = Some((first, start, end - start));
            return Ok(Read::Whole);
        }
        for at in 0..end - start {
            let key = first.map_or_else(|| position(at), |first| self.key(first + at))?;
            match self.values.cells.at(start + at) {
                Cell::Number(value) if value.is_finite() => self.entries.push((key, value)),
                Cell::Number(value) => {
                    return Err(LineError::NotFinite { what: "feature value", found: value.to_string() });
                }
                _ if zero => {}
                _ => return Ok(Read::Missing),
            }
        }
        self.put_in_order()?;
        Ok(Read::Whole)
    }

    /// Whether these keys are numbers that ascend, and these values are finite. The usual case, without a branch for each entry.
    fn is_plain(&self, first_key: usize, first_value: usize, length: usize) -> bool {
        let (Some(keys), Some(values)) = (self.keys.cells.whole_numbers(), self.values.cells.whole_numbers()) else {
            return false;
        };
        let (keys, values) = (&keys[first_key..][..length], &values[first_value..][..length]);
        let in_range =
            keys.first().is_none_or(|&first| first >= 0.0) && keys.last().is_none_or(|&last| last <= LARGEST_INDEX);
        let ascend = keys.iter().zip(keys.iter().skip(1)).fold(true, |all, (one, next)| all & (one < next));
        in_range && ascend && are_finite(values)
    }

    fn is_dense(&self, row: usize) -> Result<bool, LineError> {
        match self.forms.as_ref().map_or(Cell::Number(0.0), |forms| forms.at(row)) {
            Cell::Number(0.0) => Ok(false),
            Cell::Number(1.0) => Ok(true),
            found => {
                Err(LineError::Other(format!("the vector type is {found:?}, but 0 (sparse) or 1 (dense) is expected")))
            }
        }
    }

    fn key(&self, at: usize) -> Result<Key, LineError> {
        match self.keys.cells.at(at) {
            Cell::Text(text) if text.len() > LONGEST_NAME => Err(LineError::LongName { length: text.len() }),
            Cell::Text(_) => Ok(Key::Name(at)),
            Cell::Number(index) if index > LARGEST_INDEX => Err(LineError::IndexTooLarge { found: index.to_string() }),
            Cell::Number(index) if index < 0.0 => Err(LineError::Other(format!("feature index {index} is negative"))),
            Cell::Number(index) => Ok(Key::Index(index as u32)),
            Cell::Missing => Err(LineError::Other("a key of the sparse vector is null".into())),
        }
    }

    /// Sorts numbers, which must be distinct. Names keep their order; duplicates are found when they get their ids.
    fn put_in_order(&mut self) -> Result<(), LineError> {
        let ascends = self.entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !ascends {
            self.entries.sort_unstable_by_key(|entry| entry.0);
        }
        match self.entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some([(Key::Index(found), _), _]) => Err(LineError::DuplicateIndex { found: *found }),
            _ => Ok(()),
        }
    }

    /// The keys and values of the vector read last, if it is plain.
    fn plain_entries(&self) -> Option<(&[f64], &[f64])> {
        let (first_key, first_value, length) = self.plain?;
        let (keys, values) = (self.keys.cells.whole_numbers()?, self.values.cells.whole_numbers()?);
        Some((&keys[first_key..][..length], &values[first_value..][..length]))
    }

    /// Adds the vector read last to rows whose features have numbers. Returns its length.
    pub fn push_indices(&self, rows: &mut RawRows) -> usize {
        if let Some((keys, values)) = self.plain_entries() {
            rows.push_indices(keys.iter().map(|&key| key as u32), values);
            return keys.len();
        }
        for (key, value) in &self.entries {
            if let Key::Index(index) = key {
                rows.push_index(*index, *value);
            }
        }
        self.entries.len()
    }

    /// Adds the vector read last to rows whose features have names. Returns its length.
    pub fn push_names(&self, rows: &mut RawRows) -> usize {
        if let Some((keys, values)) = self.plain_entries() {
            keys.iter().zip(values).for_each(|(key, value)| rows.push_name(&[&(*key as u32).to_string()], *value));
            return keys.len();
        }
        for (key, value) in &self.entries {
            match key {
                Key::Index(index) => rows.push_name(&[&index.to_string()], *value),
                Key::Name(at) => {
                    if let Cell::Text(name) = self.keys.cells.at(*at) {
                        rows.push_name(&[name], *value);
                    }
                }
            }
        }
        self.entries.len()
    }
}

fn position(at: usize) -> Result<Key, LineError> {
    match u32::try_from(at) {
        Ok(index) if index < u32::MAX => Ok(Key::Index(index)),
        _ => Err(LineError::IndexTooLarge { found: at.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{ListBuilder, StringBuilder};
    use arrow_array::types::{Float64Type, Int32Type, Int64Type};
    use arrow_array::*;
    use arrow_schema::Field;

    use crate::columnar::fixtures::{read_table, table};
    use crate::parse::Missing;
    use crate::parse::schema::SchemaOptions;

    type Lists<T> = Vec<Option<Vec<Option<T>>>>;

    fn indices(lists: Lists<i64>) -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))
    }

    fn values(lists: Lists<f64>) -> ArrayRef {
        Arc::new(LargeListArray::from_iter_primitive::<Float64Type, _, _>(lists))
    }

    fn vectors(columns: Vec<(&str, ArrayRef)>) -> ArrayRef {
        let field =
            |(name, array): (&str, ArrayRef)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array);
        Arc::new(StructArray::from(columns.into_iter().map(field).collect::<Vec<_>>()))
    }

    fn some<T>(list: Vec<T>) -> Option<Vec<Option<T>>> {
        Some(list.into_iter().map(Some).collect())
    }

    #[test]
    fn indices_stay_as_written_and_are_sorted() {
        let (keys, numbers) =
            (indices(vec![some(vec![7, 0]), some(vec![])]), values(vec![some(vec![0.5, 2.0]), some(vec![])]));
        let lines = ["(none) 1 0:2 7:0.5", "(none) 1"];
        let pair = table(vec![("indices", keys.clone()), ("values", numbers.clone())]);
        assert_eq!(read_table(&pair, &SchemaOptions::default()), lines);
        let batch = table(vec![("x", vectors(vec![("indices", keys), ("values", numbers)]))]);
        assert_eq!(read_table(&batch, &SchemaOptions::default()), lines);
    }

    #[test]
    fn beside_dense_columns_numbers_become_names() {
        let batch = table(vec![
            ("y", Arc::new(Int32Array::from(vec![1]))),
            ("age", Arc::new(Int32Array::from(vec![30]))),
            ("indices", indices(vec![some(vec![17])])),
            ("values", values(vec![some(vec![4.0])])),
        ]);
        assert_eq!(read_table(&batch, &SchemaOptions::default()), ["1 1 age:30 17:4"]);
    }

    #[test]
    fn names_and_values() {
        let mut names = ListBuilder::new(StringBuilder::new());
        names.append_value([Some("b"), Some("a")]);
        let names: ArrayRef = Arc::new(names.finish());
        let batch = table(vec![("x", vectors(vec![("names", names), ("values", values(vec![some(vec![1.0, 2.0])]))]))]);
        assert_eq!(read_table(&batch, &SchemaOptions::default()), ["(none) 1 b:1 a:2"]);
    }

    #[test]
    fn spark_vectors_are_sparse_or_dense() {
        let spark = |form: i8, keys| {
            vectors(vec![
                ("type", Arc::new(Int8Array::from(vec![form]))),
                ("size", Arc::new(Int32Array::from(vec![None]))),
                ("indices", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, Vec<_>>(vec![keys]))),
                ("values", values(vec![some(vec![5.0, 6.0])])),
            ])
        };
        let read = |column| read_table(&table(vec![("features", column)]), &SchemaOptions::default());
        assert_eq!(read(spark(0, some(vec![3, 9]))), ["(none) 1 3:5 9:6"]);
        assert_eq!(read(spark(1, None)), ["(none) 1 0:5 1:6"]);
        assert!(read(spark(2, None))[0].contains("0 (sparse) or 1 (dense) is expected"));
    }

    #[test]
    fn bad_vectors_are_told() {
        let keys = vec![some(vec![1, 1]), some(vec![-3]), some(vec![4_294_967_295]), some(vec![1]), Some(vec![None])];
        let numbers = vec![some(vec![1.0, 2.0]), some(vec![1.0]), some(vec![1.0]), some(vec![]), some(vec![1.0])];
        let batch = table(vec![("indices", indices(keys)), ("values", values(numbers))]);
        let lines = read_table(&batch, &SchemaOptions::default());
        assert_eq!(
            lines,
            [
                "row 1, column \"values\": feature index 1 occurs twice",
                "row 2, column \"values\": feature index -3 is negative",
                "row 3, column \"values\": feature index 4294967295 is larger than 4294967294",
                "row 4, column \"values\": a sparse vector has 1 keys but 0 values",
                "row 5, column \"values\": a key of the sparse vector is null",
            ]
        );
    }

    #[test]
    fn missing_values_and_vectors_follow_the_rule() {
        let keys = indices(vec![some(vec![1, 2]), None, some(vec![3])]);
        let numbers = values(vec![Some(vec![Some(f64::NAN), Some(2.0)]), None, some(vec![3.0])]);
        let batch = table(vec![("indices", keys), ("values", numbers)]);
        let with = |missing| read_table(&batch, &SchemaOptions { missing, ..Default::default() });
        assert_eq!(with(Missing::Zero), ["(none) 1 2:2", "(none) 1", "(none) 1 3:3"]);
        assert_eq!(with(Missing::SkipRow), ["(none) 1 3:3"]);
        assert!(with(Missing::Error)[1].starts_with("row 2: column \"values\" is empty"));
    }

    #[test]
    fn slices_are_read_at_their_place() {
        let keys = indices(vec![some(vec![1]), some(vec![2, 3]), some(vec![4])]);
        let numbers = values(vec![some(vec![1.0]), some(vec![2.0, 3.0]), some(vec![4.0])]);
        let mut vectors = super::Vectors::from_pair(&keys.slice(1, 2), &numbers.slice(1, 2)).unwrap();
        let mut rows = crate::data::RawRows::by_index();
        vectors.read(0, false, 100).unwrap();
        assert_eq!(vectors.push_indices(&mut rows), 2);
        rows.end_row(crate::data::Label::Absent, 1.0, 0);
        assert_eq!(crate::columnar::fixtures::line(&rows, 0), "(none) 1 2:2 3:3");
    }
}
