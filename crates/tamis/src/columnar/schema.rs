//! The role of each column of an Arrow schema: target, weight, feature or sparse vector.

use arrow_schema::{DataType, Field, Fields, Schema};

use super::error::ColumnarError;
use crate::data::TextSet;
use crate::parse::column::Role;
use crate::parse::date::{DateForm, DatePart};
use crate::parse::schema::{DateColumn, ModelSchema, Schema as RowSchema, SchemaOptions};

/// A column in use: its name and its position among the columns that are read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub name: String,
    pub at: usize,
}

/// The kind of keys in sparse vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Index,
    Name,
}

/// The columns that hold the sparse vectors of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sparse {
    /// One column of structs.
    Struct(Place, KeyKind),
    /// Two columns of lists.
    Pair { indices: Place, values: Place },
}

impl Sparse {
    pub fn name(&self) -> &str {
        match self {
            Sparse::Struct(place, _) => &place.name,
            Sparse::Pair { values, .. } => &values.name,
        }
    }
}

/// The columns to read and their roles. The position in a `Place` counts within `used`.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub used: Vec<usize>,
    pub columns: Option<RowSchema>,
    pub target: Option<Place>,
    pub weight: Option<Place>,
    /// The column that identifies a row; it may be a feature, too.
    pub id: Option<Place>,
    /// Feature columns and their roles.
    pub features: Vec<(Place, Role)>,
    /// Columns of lists.
    pub lists: Vec<Place>,
    pub sparse: Option<Sparse>,
}

/// What a table is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Rows,
    /// To survey its columns of cells: vectors and lists are not read.
    Survey,
}

/// What the cells of a type can be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellKind {
    Number,
    Text,
    Date,
    /// Lists of texts, or as many numbers in each row.
    List,
    Other,
}

fn cell_kind(data_type: &DataType) -> CellKind {
    match data_type {
        DataType::Boolean => CellKind::Number,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => CellKind::Text,
        DataType::Dictionary(_, value) => cell_kind(value),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => CellKind::Date,
        number if number.is_numeric() => CellKind::Number,
        DataType::List(item) | DataType::LargeList(item) if cell_kind(item.data_type()) == CellKind::Text => {
            CellKind::List
        }
        DataType::FixedSizeList(item, _)
            if matches!(cell_kind(item.data_type()), CellKind::Text | CellKind::Number) =>
        {
            CellKind::List
        }
        _ => CellKind::Other,
    }
}

impl Layout {
    pub fn new(schema: &Schema, options: &SchemaOptions) -> Result<Layout, ColumnarError> {
        let fields = schema.fields();
        let vectors = find_sparse(fields, options)?;
        let others: Vec<usize> = (0..fields.len()).filter(|at| !vectors.contains(at)).collect();
        let names: Vec<String> = others.iter().map(|&at| fields[at].name().clone()).collect();
        let mut known = options.known.clone().unwrap_or_default();
        let names_known: TextSet<&str> = known.columns().map(String::as_str).collect();
        let is_new = |field: &&Field| !names_known.contains(field.name().as_str());
        let new = by_types(others.iter().map(|&at| &*fields[at]).filter(is_new), options);
        known.extend(new);
        let columns = if vectors.is_empty() {
            RowSchema::resolve(names, known, options)?
        } else {
            RowSchema::resolve(names.clone(), known, &written_by_convert(&names, options))?
        };
        let named = others.iter().zip(&columns.roles).filter(|(_, role)| **role != Role::Ignored);
        let id = columns.id.map(|at| others[at]);
        let mut used: Vec<usize> = named.clone().map(|(&at, _)| at).chain(vectors.iter().copied()).chain(id).collect();
        used.sort_unstable();
        used.dedup();
        let (features, lists, sparse) = (Vec::new(), Vec::new(), None);
        let mut layout = Layout { used, columns: None, target: None, weight: None, id: None, features, lists, sparse };
        for (&at, role) in named {
            layout.put(&fields[at], at, role)?;
        }
        if let Some(at) = id {
            if matches!(cell_kind(fields[at].data_type()), CellKind::Other | CellKind::List) {
                return Err(role_type("id", &fields[at], "numbers, booleans or strings"));
            }
            layout.id = Some(layout.place(&fields[at], at));
        }
        layout.sparse = layout.sparse(fields, &vectors);
        layout.columns = (!others.is_empty()).then_some(columns);
        Ok(layout)
    }

    /// The columns to read for a purpose.
    pub fn for_purpose(self, purpose: Purpose) -> Layout {
        if purpose == Purpose::Rows || (self.sparse.is_none() && self.lists.is_empty()) {
            return self;
        }
        let places = self.features.iter().map(|(place, _)| place).chain(&self.target);
        let mut kept: Vec<usize> = places.map(|place| place.at).collect();
        kept.sort_unstable();
        let moved = |place: Place| {
            let at = kept.binary_search(&place.at).expect("these columns are kept");
            Place { at, ..place }
        };
        Layout {
            used: kept.iter().map(|&at| self.used[at]).collect(),
            columns: self.columns,
            target: self.target.map(moved),
            features: self.features.into_iter().map(|(place, role)| (moved(place), role)).collect(),
            weight: None,
            id: None,
            lists: Vec::new(),
            sparse: None,
        }
    }

    /// Whether the features of the rows have numbers or names.
    pub fn keys(&self) -> KeyKind {
        match &self.sparse {
            Some(Sparse::Struct(_, KeyKind::Index) | Sparse::Pair { .. })
                if self.features.is_empty() && self.lists.is_empty() =>
            {
                KeyKind::Index
            }
            _ => KeyKind::Name,
        }
    }

    fn place(&self, field: &Field, at: usize) -> Place {
        let at = self.used.binary_search(&at).expect("only columns in use have a place");
        Place { name: field.name().clone(), at }
    }

    fn put(&mut self, field: &Field, at: usize, role: &Role) -> Result<(), ColumnarError> {
        let place = self.place(field, at);
        match (role, cell_kind(field.data_type())) {
            (Role::Target(_), CellKind::Other | CellKind::List | CellKind::Date) => {
                return Err(role_type("label", field, "numbers, booleans or strings"));
            }
            (Role::Weight, CellKind::Other | CellKind::List | CellKind::Text | CellKind::Date) => {
                return Err(role_type("weight", field, "numbers"));
            }
            (Role::List, CellKind::List) => self.lists.push(place),
            (_, CellKind::Other | CellKind::List) => {
                let (column, found) = (field.name().clone(), field.data_type().to_string());
                return Err(ColumnarError::UnsupportedType { column, found });
            }
            (Role::Target(_), _) => self.target = Some(place),
            (Role::Weight, _) => self.weight = Some(place),
            (role, _) => self.features.push((place, role.clone())),
        }
        Ok(())
    }

    fn sparse(&self, fields: &Fields, vectors: &[usize]) -> Option<Sparse> {
        match *vectors {
            [at] => Some(Sparse::Struct(self.place(&fields[at], at), vector_keys(fields[at].data_type())?)),
            [indices, values] => Some(Sparse::Pair {
                indices: self.place(&fields[indices], indices),
                values: self.place(&fields[values], values),
            }),
            _ => None,
        }
    }
}

fn role_type(role: &'static str, field: &Field, expected: &'static str) -> ColumnarError {
    let (column, found) = (field.name().clone(), field.data_type().to_string());
    ColumnarError::RoleType { role, column, found, expected }
}

/// The columns of the sparse vectors: one of structs, or two of lists (indices, then values), or none.
fn find_sparse(fields: &Fields, options: &SchemaOptions) -> Result<Vec<usize>, ColumnarError> {
    let spoken_for = |field: &Field| {
        let name = field.name();
        let named = [&options.target, &options.weight];
        options.ignore.contains(name) || options.categorical.contains(name) || named.contains(&&Some(name.clone()))
    };
    let free = |at: &usize| !spoken_for(&fields[*at]);
    let structs = (0..fields.len()).filter(|&at| vector_keys(fields[at].data_type()).is_some());
    let mut found: Vec<Vec<usize>> = structs.filter(free).map(|at| vec![at]).collect();
    let list = |name: &str, of: fn(&DataType) -> bool| {
        let fits = |at: &usize| fields[*at].name() == name && list_item(fields[*at].data_type()).is_some_and(of);
        (0..fields.len()).find(|at| fits(at) && free(at))
    };
    if let (Some(indices), Some(values)) = (list("indices", DataType::is_integer), list("values", is_number)) {
        found.push(vec![indices, values]);
    }
    if let [first, second, ..] = &found[..] {
        let name = |columns: &[usize]| fields[columns[0]].name().clone();
        return Err(ColumnarError::ManySparse { first: name(first), second: name(second) });
    }
    Ok(found.pop().unwrap_or_default())
}

/// The kind of keys of a struct, if it is a sparse vector.
fn vector_keys(data_type: &DataType) -> Option<KeyKind> {
    let DataType::Struct(fields) = data_type else { return None };
    let item = |name: &str| list_item(fields.find(name)?.1.data_type());
    let integer = |name: &str| fields.find(name).is_none_or(|(_, field)| field.data_type().is_integer());
    if !item("values").is_some_and(is_number) {
        return None;
    }
    let known = |names: &[&str]| fields.iter().all(|field| names.contains(&field.name().as_str()));
    let spark = known(&["type", "size", "indices", "values"]) && integer("type") && integer("size");
    match (item("indices"), item("names")) {
        (Some(key), None) if key.is_integer() && spark => Some(KeyKind::Index),
        (None, Some(key)) if cell_kind(key) == CellKind::Text && known(&["names", "values"]) => Some(KeyKind::Name),
        _ => None,
    }
}

fn is_number(data_type: &DataType) -> bool {
    cell_kind(data_type) == CellKind::Number
}

fn list_item(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => Some(item.data_type()),
        _ => None,
    }
}

/// What the types of columns say, where no survey was made.
fn by_types<'a>(fields: impl Iterator<Item = &'a Field>, options: &SchemaOptions) -> ModelSchema {
    let mut schema = ModelSchema::default();
    for field in fields {
        let name = field.name().clone();
        match cell_kind(field.data_type()) {
            CellKind::List => schema.lists.push(name),
            _ if options.text.contains(&name) => schema.text.push(name),
            _ if options.categorical.contains(&name) => schema.categorical.push(name),
            CellKind::Number => schema.numeric.push(name),
            CellKind::Date => {
                let parts = options.dates.clone().unwrap_or(DatePart::USUAL.to_vec());
                schema.dates.insert(name, DateColumn { form: DateForm::Days, parts });
            }
            CellKind::Text | CellKind::Other => schema.categorical.push(name),
        }
    }
    schema
}

/// In a table of sparse vectors, the columns `y` and `weight` are the label and the weight, as `convert` writes them,
/// unless the options or the model give them another role.
fn written_by_convert(names: &[String], options: &SchemaOptions) -> SchemaOptions {
    let known = options.known.clone().unwrap_or_default();
    let is_here = |name: &Option<String>| name.as_ref().is_some_and(|name| names.contains(name));
    let taken = [&options.ignore, &options.categorical, &known.numeric, &known.categorical];
    let free = |name: &str| {
        let name = name.to_string();
        let spoken_for = taken.iter().any(|list| list.contains(&name));
        let named = [&options.target, &options.weight, &known.target, &known.weight];
        (names.contains(&name) && !spoken_for && !named.contains(&&Some(name.clone()))).then_some(name)
    };
    let (mut target, mut weight) = (options.target.clone(), options.weight.clone());
    if target.is_none() && options.known.is_some() && !is_here(&known.target) {
        target = free("y");
    }
    if weight.is_none() && !is_here(&known.weight) {
        weight = free("weight");
    }
    SchemaOptions { target, weight, ..options.clone() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::TimeUnit;

    use super::*;
    use crate::parse::schema::ModelSchema;

    fn list(item: DataType) -> DataType {
        DataType::new_list(item, true)
    }

    fn vector(keys: &str, key: DataType) -> DataType {
        DataType::Struct(Fields::from(vec![
            Field::new(keys, list(key), true),
            Field::new("values", list(DataType::Float32), true),
        ]))
    }

    fn layout(columns: &[(&str, DataType)], options: &SchemaOptions) -> Result<Layout, String> {
        let fields: Vec<_> =
            columns.iter().map(|(name, kind)| Arc::new(Field::new(*name, kind.clone(), true))).collect();
        Layout::new(&Schema::new(fields), options).map_err(|error| error.to_string())
    }

    fn ignoring(name: &str) -> SchemaOptions {
        SchemaOptions { ignore: vec![name.into()], ..Default::default() }
    }

    #[test]
    fn dates_are_features_and_lists_are_refused_unless_ignored() {
        let dates = [("when", DataType::Timestamp(TimeUnit::Second, None))];
        let found = layout(&dates, &SchemaOptions::default()).unwrap().features;
        assert!(matches!(&found[..], [(_, Role::Date(_))]), "{found:?}");
        let columns = [("a", DataType::Int8), ("when", DataType::Duration(TimeUnit::Second))];
        assert_eq!(
            layout(&columns, &SchemaOptions::default()).unwrap_err(),
            "column \"when\" has type Duration(s); a feature is a number, a boolean, a string or a date: ignore the \
             column with `ignore = when`"
        );
        assert_eq!(layout(&columns, &ignoring("when")).unwrap().used, [0]);
    }

    #[test]
    fn labels_and_weights_have_their_types() {
        let columns = [("y", DataType::Date32), ("w", DataType::Utf8)];
        assert_eq!(
            layout(&columns, &SchemaOptions::default()).unwrap_err(),
            "the label column \"y\" has type Date32, but numbers, booleans or strings are expected"
        );
        let options = SchemaOptions { weight: Some("w".into()), ..ignoring("y") };
        assert!(layout(&columns[1..], &SchemaOptions { ignore: vec![], ..options }).unwrap_err().contains("numbers"));
    }

    #[test]
    fn beside_vectors_y_and_weight_are_label_and_weight() {
        let columns =
            [("weight", DataType::Float64), ("x", vector("indices", DataType::Int64)), ("y", DataType::Float64)];
        let mut options = SchemaOptions { known: Some(ModelSchema::default()), ..Default::default() };
        for _ in 0..2 {
            let layout = layout(&columns, &options).unwrap();
            assert_eq!(layout.keys(), KeyKind::Index);
            assert_eq!(layout.target.unwrap().at, 2);
            assert_eq!(layout.weight.unwrap().at, 0);
            options.known = None;
        }
        assert!(layout(&columns, &ignoring("weight")).unwrap().weight.is_none());
        let dense = [("weight", DataType::Float64), ("y", DataType::Float64)];
        assert!(layout(&dense, &SchemaOptions::default()).unwrap().weight.is_none());
    }

    #[test]
    fn vectors_of_every_shape_are_found() {
        let spark = DataType::Struct(Fields::from(vec![
            Field::new("type", DataType::Int8, false),
            Field::new("size", DataType::Int32, true),
            Field::new("indices", list(DataType::Int32), true),
            Field::new("values", list(DataType::Float64), true),
        ]));
        let keys = |columns: &[(&str, DataType)]| {
            let layout = layout(columns, &SchemaOptions::default()).unwrap();
            (layout.sparse.is_some(), layout.keys())
        };
        assert_eq!(keys(&[("features", spark)]), (true, KeyKind::Index));
        assert_eq!(keys(&[("x", vector("names", DataType::Utf8View))]), (true, KeyKind::Name));
        let pair = [("values", list(DataType::Int8)), ("indices", list(DataType::UInt64))];
        assert_eq!(keys(&pair), (true, KeyKind::Index));
        assert_eq!(keys(&[("a", DataType::Int8), pair[0].clone(), pair[1].clone()]), (true, KeyKind::Name));
    }

    #[test]
    fn two_columns_of_vectors_are_one_too_many() {
        let columns = [("a", vector("indices", DataType::Int32)), ("b", vector("names", DataType::Utf8))];
        let text = layout(&columns, &SchemaOptions::default()).unwrap_err();
        assert_eq!(text, "columns \"a\" and \"b\" both hold sparse vectors; ignore one with `ignore = b`");
        assert_eq!(layout(&columns, &ignoring("b")).unwrap().keys(), KeyKind::Index);
    }

    #[test]
    fn a_list_alone_is_no_vector() {
        let text = layout(&[("values", list(DataType::Float32))], &SchemaOptions::default()).unwrap_err();
        assert!(text.contains("`ignore = values`"), "{text}");
    }
}
