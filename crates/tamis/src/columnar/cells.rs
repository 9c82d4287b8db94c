//! A column as cells. Each cell is missing, a number or text; dates are numbers of days, and NaN is missing.

use std::fmt::Display;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, GenericStringArray, LargeStringArray, OffsetSizeTrait, StringArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_schema::ArrowError;
use arrow_schema::{DataType, TimeUnit};

use crate::parse::column::Cell;

/// A decoded column.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    Numbers(Float64Array),
    Small(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
    /// Codes of an Arrow dictionary.
    Coded {
        codes: Vec<usize>,
        nulls: Option<NullBuffer>,
        values: Box<Cells>,
    },
    /// All cells are missing.
    Nothing,
}

/// Whether all numbers are finite. All of them are looked at, so that several are at once.
pub(super) fn are_finite(numbers: &[f64]) -> bool {
    numbers.iter().fold(true, |all, number| all & number.is_finite())
}

impl Cells {
    /// Decodes numbers and booleans (0 and 1) as numbers, and strings as text.
    pub fn plain(array: &ArrayRef) -> Result<Cells, ArrowError> {
        Ok(match array.data_type() {
            DataType::Null => Cells::Nothing,
            DataType::Float64 => Cells::Numbers(array.as_primitive().clone()),
            DataType::Utf8 => Cells::Small(array.as_string().clone()),
            DataType::LargeUtf8 => Cells::Large(array.as_string().clone()),
            DataType::Utf8View => Cells::View(array.as_string_view().clone()),
            DataType::Dictionary(..) => Cells::coded(array, Cells::plain)?,
            DataType::Date32 => Cells::days(&cast(array, &DataType::Int32)?, 1.0)?,
            DataType::Date64 => Cells::days(array, 86_400e3)?,
            DataType::Timestamp(TimeUnit::Second, _) => Cells::days(array, 86_400.0)?,
            DataType::Timestamp(TimeUnit::Millisecond, _) => Cells::days(array, 86_400e3)?,
            DataType::Timestamp(TimeUnit::Microsecond, _) => Cells::days(array, 86_400e6)?,
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Cells::days(array, 86_400e9)?,
            _ => Cells::Numbers(cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().clone()),
        })
    }

    /// Whole numbers of ticks since 1970-01-01 as days.
    fn days(array: &ArrayRef, ticks_a_day: f64) -> Result<Cells, ArrowError> {
        let ticks = cast(&cast(array, &DataType::Int64)?, &DataType::Float64)?;
        Ok(Cells::Numbers(ticks.as_primitive::<Float64Type>().unary(|ticks| ticks / ticks_a_day)))
    }

    /// Decodes every value as text: 17 and 17.0 are both `17`.
    pub fn categories(array: &ArrayRef) -> Result<Cells, ArrowError> {
        Ok(match array.data_type() {
            DataType::Float16 => Cells::categories(&cast(array, &DataType::Float32)?)?,
            DataType::Float32 => written(array.as_primitive::<Float32Type>().iter(), |number: f32| number.is_nan()),
            DataType::Float64 => written(array.as_primitive::<Float64Type>().iter(), |number: f64| number.is_nan()),
            DataType::Dictionary(..) => Cells::coded(array, Cells::categories)?,
            number if number.is_numeric() || *number == DataType::Boolean => {
                Cells::Small(cast(array, &DataType::Utf8)?.as_string().clone())
            }
            _ => Cells::plain(array)?,
        })
    }

    fn coded(array: &ArrayRef, decode: fn(&ArrayRef) -> Result<Cells, ArrowError>) -> Result<Cells, ArrowError> {
        let vocabulary = array.as_any_dictionary();
        if vocabulary.values().is_empty() {
            return Ok(Cells::Nothing);
        }
        let values = Box::new(decode(vocabulary.values())?);
        Ok(Cells::Coded { codes: vocabulary.normalized_keys(), nulls: vocabulary.keys().nulls().cloned(), values })
    }

    /// All cells, if they are numbers of which none is missing; some may be NaN.
    pub fn whole_numbers(&self) -> Option<&[f64]> {
        match self {
            Cells::Numbers(numbers) if numbers.null_count() == 0 => Some(numbers.values()),
            _ => None,
        }
    }

    /// The number of a row, if the column holds numbers and this one is not missing; it may be NaN.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Cells::Numbers(numbers) if numbers.is_valid(row) => Some(numbers.value(row)),
            _ => None,
        }
    }

    pub fn at(&self, row: usize) -> Cell<'_> {
        match self {
            Cells::Numbers(numbers) if numbers.is_valid(row) && !numbers.value(row).is_nan() => {
                Cell::Number(numbers.value(row))
            }
            Cells::Small(texts) => text(texts, row),
            Cells::Large(texts) => text(texts, row),
            Cells::View(texts) if texts.is_valid(row) => Cell::Text(texts.value(row)),
            Cells::Coded { codes, nulls, values } if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) => {
                values.at(codes[row])
            }
            _ => Cell::Missing,
        }
    }
}

fn text<O: OffsetSizeTrait>(texts: &GenericStringArray<O>, row: usize) -> Cell<'_> {
    if texts.is_valid(row) { Cell::Text(texts.value(row)) } else { Cell::Missing }
}

fn written<T: Display + Copy>(numbers: impl Iterator<Item = Option<T>>, is_nan: impl Fn(T) -> bool) -> Cells {
    let texts = numbers.map(|number| number.filter(|&number| !is_nan(number)).map(|number| number.to_string()));
    Cells::Small(texts.collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{
        BooleanArray, Date32Array, Decimal128Array, Decimal256Array, DictionaryArray, Float32Array, Int64Array,
        NullArray, TimestampMicrosecondArray, UInt8Array,
    };
    use arrow_buffer::i256;

    use super::*;

    fn plain(array: impl Array + 'static) -> Cells {
        Cells::plain(&(Arc::new(array) as ArrayRef)).unwrap()
    }

    fn categories(array: impl Array + 'static) -> Cells {
        Cells::categories(&(Arc::new(array) as ArrayRef)).unwrap()
    }

    #[test]
    fn every_kind_of_number_is_a_number() {
        assert_eq!(plain(UInt8Array::from(vec![7])).at(0), Cell::Number(7.0));
        assert_eq!(plain(Int64Array::from(vec![-7])).at(0), Cell::Number(-7.0));
        assert_eq!(plain(BooleanArray::from(vec![true])).at(0), Cell::Number(1.0));
        let decimal = Decimal128Array::from(vec![1250]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(plain(decimal).at(0), Cell::Number(12.5));
        let decimal = Decimal256Array::from(vec![i256::from(-1250)]).with_precision_and_scale(50, 3).unwrap();
        assert_eq!(plain(decimal).at(0), Cell::Number(-1.25));
    }

    #[test]
    fn dates_and_times_are_days() {
        assert_eq!(plain(Date32Array::from(vec![19_388])).at(0), Cell::Number(19_388.0));
        let noon = TimestampMicrosecondArray::from(vec![43_200_000_000]).with_timezone("+05:00");
        assert_eq!(plain(noon).at(0), Cell::Number(0.5), "stored in UTC");
    }

    #[test]
    fn null_and_nan_are_missing() {
        let numbers = plain(Float32Array::from(vec![Some(0.5), None, Some(f32::NAN)]));
        assert_eq!([0, 1, 2].map(|row| numbers.at(row)), [Cell::Number(0.5), Cell::Missing, Cell::Missing]);
        assert_eq!(plain(NullArray::new(1)).at(0), Cell::Missing);
        assert_eq!(categories(Float64Array::from(vec![f64::NAN])).at(0), Cell::Missing);
    }

    #[test]
    fn strings_of_every_layout_are_text() {
        let words = vec![Some("a"), None];
        let columns = [
            plain(StringArray::from(words.clone())),
            plain(LargeStringArray::from(words.clone())),
            plain(StringViewArray::from(words.clone())),
            plain(words.into_iter().collect::<DictionaryArray<Int8Type>>()),
        ];
        for column in columns {
            assert_eq!([column.at(0), column.at(1)], [Cell::Text("a"), Cell::Missing]);
        }
        assert_eq!(plain(vec![None::<&str>].into_iter().collect::<DictionaryArray<Int8Type>>()).at(0), Cell::Missing);
    }

    #[test]
    fn a_whole_number_is_one_category_however_stored() {
        assert_eq!(categories(Int64Array::from(vec![17])).at(0), Cell::Text("17"));
        assert_eq!(categories(Float64Array::from(vec![17.0])).at(0), Cell::Text("17"));
        assert_eq!(categories(Float32Array::from(vec![0.1])).at(0), Cell::Text("0.1"));
        assert_eq!(categories(BooleanArray::from(vec![true])).at(0), Cell::Text("true"));
    }
}
