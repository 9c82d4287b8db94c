//! Columns of sparse vectors of a Parquet file: structs of lists of numbers, in which nothing is missing.
//!
//! Arrow's reader keeps a bit for each number, and copies the numbers of a batch once more. Here they are decoded into the buffer
//! that the array has.
//!
//! Measured on one core (30 million entries in 121 MB, compressed with zstd): 0.26 s to read all rows, where Arrow's reader takes
//! 0.53 s.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type};
use arrow_array::{ArrayRef, ListArray, PrimitiveArray, StructArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use parquet::basic::Type;
use parquet::data_type::{self as stored, DataType as StoredType};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::SchemaDescriptor;

use super::parquet_numbers::{Column, ParquetFile, TypedColumns, different_lengths};

/// A struct of lists, and its place among the columns in use.
pub(super) struct VectorColumn {
    place: usize,
    fields: Fields,
    lists: Vec<Box<dyn ReadLists>>,
}

/// Lists of numbers of one type.
trait ReadLists: Send {
    /// Decodes the next rows: at most `rows`, fewer at the end of the file.
    fn read(&mut self, file: &ParquetFile, rows: usize) -> Result<ArrayRef>;
}

/// Lists that are stored as `S` and are `A` in Arrow, which are of the same size.
struct Lists<S: StoredType, A> {
    column: Column<S>,
    item: FieldRef,
    /// The levels of the rows read last: 1 for an item, 0 for an empty list; and 1 for an item that is not the first one of its list.
    levels: Vec<i16>,
    repeated: Vec<i16>,
    arrow: PhantomData<fn() -> A>,
}

impl VectorColumn {
    /// The column of a field whose first leaf is `first`, if it is a struct of lists of numbers in which nothing is missing.
    pub(super) fn new(field: &Field, place: usize, first: usize, descriptor: &SchemaDescriptor) -> Option<Self> {
        let DataType::Struct(fields) = field.data_type() else { return None };
        let lists = fields.iter().enumerate().map(|(at, list)| lists(list, first + at, descriptor));
        let lists: Option<Vec<_>> = lists.collect();
        let is_plain = !field.is_nullable() && !fields.is_empty();
        lists.filter(|_| is_plain).map(|lists| VectorColumn { place, fields: fields.clone(), lists })
    }
}

/// The lists of a field that are stored in this leaf, if nothing is missing in them.
fn lists(field: &Field, leaf: usize, descriptor: &SchemaDescriptor) -> Option<Box<dyn ReadLists>> {
    let DataType::List(item) = field.data_type() else { return None };
    let column = (leaf < descriptor.num_columns()).then(|| descriptor.column(leaf))?;
    let is_plain = !field.is_nullable() && !item.is_nullable();
    if !is_plain || column.max_rep_level() != 1 || column.max_def_level() != 1 {
        return None;
    }
    Some(match (item.data_type(), column.physical_type()) {
        (DataType::UInt32, Type::INT32) => Lists::<stored::Int32Type, UInt32Type>::boxed(leaf, item),
        (DataType::Int32, Type::INT32) => Lists::<stored::Int32Type, Int32Type>::boxed(leaf, item),
        (DataType::Int64, Type::INT64) => Lists::<stored::Int64Type, Int64Type>::boxed(leaf, item),
        (DataType::Float32, Type::FLOAT) => Lists::<stored::FloatType, Float32Type>::boxed(leaf, item),
        (DataType::Float64, Type::DOUBLE) => Lists::<stored::DoubleType, Float64Type>::boxed(leaf, item),
        _ => return None,
    })
}

impl TypedColumns for VectorColumn {
    fn places(&self) -> Vec<usize> {
        vec![self.place]
    }

    fn read(&mut self, file: &ParquetFile, rows: usize) -> Result<Vec<ArrayRef>> {
        let arrays = self.lists.iter_mut().map(|lists| lists.read(file, rows)).collect::<Result<Vec<_>>>()?;
        let vectors = StructArray::try_new(self.fields.clone(), arrays, None)?;
        Ok(vec![Arc::new(vectors)])
    }
}

impl<S, A> Lists<S, A>
where
    S: StoredType + 'static,
    A: ArrowPrimitiveType,
    S::T: arrow_buffer::ArrowNativeType,
{
    fn boxed(leaf: usize, item: &FieldRef) -> Box<dyn ReadLists> {
        let column = Column::new(0, leaf);
        let (levels, repeated) = (Vec::new(), Vec::new());
        Box::new(Lists::<S, A> { column, item: item.clone(), levels, repeated, arrow: PhantomData })
    }
}

impl<S, A> ReadLists for Lists<S, A>
where
    S: StoredType,
    A: ArrowPrimitiveType,
    S::T: arrow_buffer::ArrowNativeType,
{
    fn read(&mut self, file: &ParquetFile, rows: usize) -> Result<ArrayRef> {
        let Lists { column, item, levels, repeated, .. } = self;
        levels.clear();
        repeated.clear();
        let mut values = Vec::new();
        let count = column.read(file, rows, levels, Some(repeated), &mut values)?;
        let offsets = offsets(levels, repeated, count, values.len())?;
        let length = values.len();
        let values = ScalarBuffer::<A::Native>::new(Buffer::from_vec(values), 0, length);
        let values = Arc::new(PrimitiveArray::<A>::new(values, None));
        Ok(Arc::new(ListArray::try_new(item.clone(), OffsetBuffer::new(offsets.into()), values, None)?))
    }
}

/// Where the lists of `rows` rows begin, and where the last one ends, if they have this many values.
fn offsets(levels: &[i16], repeated: &[i16], rows: usize, values: usize) -> Result<Vec<i32>> {
    let mut offsets = Vec::with_capacity(rows + 1);
    let too_many = |_| ParquetError::General(format!("{values} numbers in {rows} rows"));
    let end = i32::try_from(values).map_err(too_many)?;
    let mut before = 0;
    for (&level, &repeated) in levels.iter().zip(repeated) {
        if repeated == 0 {
            offsets.push(before);
        }
        before += i32::from(level > 0);
    }
    if before != end
        || offsets.len() != rows
        || levels.len() != repeated.len()
        || repeated.first().is_some_and(|&first| first != 0)
    {
        return Err(different_lengths(before as usize, values));
    }
    offsets.push(end);
    Ok(offsets)
}
