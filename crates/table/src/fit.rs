//! Fitting of rows to a table's columns, and of columns to new rows.
//!
//! Values are never changed silently: a type is converted where each value means the same
//! afterwards, and a batch that doesn't fit is refused whole, with the first row that doesn't.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use arrow_select::concat::concat_batches;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_values::convert::{cast, is_convertible, wider};

use super::layout::Layout;
use super::options::with_fields;
use super::time;
use super::unit::time_for;
use super::write::unmade;

/// Characters of a value that an error shows.
const SHOWN_CHARS: usize = 60;

/// What to do with values of another type than their column's.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
/// use timestrata_table::{OnMismatch, Table, TableOptions, WriteOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let rows = RecordBatch::try_from_iter([
/// #     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
/// #     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
/// #     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
/// # ])?;
/// # let rooms = Table::create_for(&store, "rooms", &rows, &TableOptions::default())?;
/// // Text, where the column `celsius` has numbers.
/// let other = RecordBatch::try_from_iter([
///     ("time", Arc::new(TimestampMillisecondArray::from(vec![4_000])) as _),
///     ("celsius", Arc::new(StringArray::from(vec!["unknown"])) as _),
/// ])?;
/// assert!(rooms.append(&other, WriteOptions::default()).is_err());
/// let widen = WriteOptions { on_mismatch: OnMismatch::Widen, ..WriteOptions::default() };
/// rooms.append(&other, widen)?;
/// assert_eq!(rooms.schema()?.field_with_name("celsius")?.data_type().to_string(), "Utf8");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnMismatch {
    /// Refuse the batch.
    #[default]
    Error,
    /// Widen the column: whole numbers to floats, others to text. Rows that are there are read
    /// as the wider type.
    Widen,
}

/// Why a column doesn't fit.
pub(super) struct Mismatch {
    row: usize,
    value: String,
}

/// The columns that a table needs so that a batch fits: columns that are new, and with
/// [`OnMismatch::Widen`] wider types. `None`: it has them.
pub(super) fn evolved(
    layout: &Layout,
    batch: &RecordBatch,
    on_mismatch: OnMismatch,
) -> Result<Option<SchemaRef>> {
    let schema = &layout.schema;
    let mut fields = schema.fields().to_vec();
    if on_mismatch == OnMismatch::Widen {
        for (index, field) in fields.iter_mut().enumerate() {
            let Some(column) = batch.column_by_name(field.name()) else { continue };
            let is_time = index == layout.time();
            if (layout.is_key(index) && !is_time) || converted(column, field.data_type()).is_ok() {
                continue;
            }
            if let Some(finer) = time_for(field, column.data_type()) {
                *field = finer;
                continue;
            }
            if is_time {
                continue;
            }
            if let Some(wider) = wider(field.data_type(), column.data_type()) {
                *field = Arc::new(Field::new(field.name(), wider, field.is_nullable()));
            }
        }
    }
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        // Of a column without any value nobody knows the type.
        let has_type = *column.data_type() != DataType::Null;
        if has_type && schema.index_of(field.name()).is_err() {
            fields.push(Arc::new(Field::new(field.name(), field.data_type().clone(), true)));
        }
    }
    if fields[..] == schema.fields()[..] {
        return Ok(None);
    }
    Ok(Some(with_fields(schema, fields)))
}

/// A table's columns, of types that also hold values of the types of `columns`. `None`: they are so.
pub(super) fn widened(layout: &Layout, columns: &[FieldRef]) -> Option<SchemaRef> {
    let schema = &layout.schema;
    let mut fields = schema.fields().to_vec();
    for (index, field) in fields.iter_mut().enumerate() {
        let column = columns.iter().find(|column| column.name() == field.name());
        let is_time = index == layout.time();
        let Some(column) = column.filter(|_| is_time || !layout.is_key(index)) else { continue };
        if let Some(finer) = time_for(field, column.data_type()) {
            *field = finer;
            continue;
        }
        if is_time {
            continue;
        }
        if let Some(wider) = wider(field.data_type(), column.data_type()) {
            *field = Arc::new(Field::new(field.name(), wider, field.is_nullable()));
        }
    }
    (fields[..] != schema.fields()[..]).then(|| with_fields(schema, fields))
}

/// Rows in a table's columns, order and types: nothing about them has to be checked again.
pub(super) struct Fitted(RecordBatch);

impl Fitted {
    pub(super) fn into_rows(self) -> RecordBatch {
        self.0
    }

    pub(super) fn rows(&self) -> &RecordBatch {
        &self.0
    }

    /// Those of several batches, one behind the other.
    pub(super) fn joined(layout: &Layout, mut parts: Vec<Self>) -> Result<Self> {
        match (parts.pop(), parts.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                let rows = parts.iter().chain(&last).map(|part| &part.0);
                concat_batches(&layout.schema, rows).map(Self).map_err(unmade)
            }
        }
    }
}

/// A batch that has been checked against a table's columns. One that has exactly these, as readers of files
/// and bodies give them that were told to ([`Table::expected`](super::Table::expected)), is taken as it is.
/// `None`: the table needs other columns first.
///
/// # Errors
/// As [`fit`].
pub(super) fn fitted(
    layout: &Layout,
    batch: &RecordBatch,
    on_mismatch: OnMismatch,
    first_row: u64,
) -> Result<Option<Fitted>> {
    if batch.schema_ref().fields() == layout.schema.fields() {
        return Ok(Some(Fitted(batch.clone())));
    }
    match evolved(layout, batch, on_mismatch)? {
        Some(_) => Ok(None),
        None => fit(layout, batch, on_mismatch, first_row).map(|rows| Some(Fitted(rows))),
    }
}

/// A batch in the table's columns: by name, in the table's order and types, null where the batch
/// has none. `first_row` is the number of its first row among those that came.
///
/// # Errors
/// `InvalidData`, naming row, column, value and expected type.
pub(super) fn fit(
    layout: &Layout,
    batch: &RecordBatch,
    on_mismatch: OnMismatch,
    first_row: u64,
) -> Result<RecordBatch> {
    check_names(layout, batch)?;
    let schema = &layout.schema;
    let column = |(index, field): (usize, &Arc<Field>)| {
        let Some(column) = batch.column_by_name(field.name()) else {
            return missing(layout, field, batch.num_rows());
        };
        let fitted = match (converted(column, field.data_type()), on_mismatch) {
            (Err(_), OnMismatch::Widen) if *field.data_type() == DataType::Utf8 => {
                cast(column, &DataType::Utf8)
                    .map(|text| text.column)
                    .or_else(|_| converted(column, field.data_type()))
            }
            (converted, _) => converted,
        };
        let fitted = fitted.map_err(|mismatch| {
            let row = first_row + mismatch.row as u64;
            refuse(layout, row, field, &mismatch.value, layout.is_key(index))
        })?;
        if !field.is_nullable() && fitted.null_count() > 0 {
            let row = (0..fitted.len()).find(|row| fitted.is_null(*row)).unwrap_or(0);
            return Err(refuse(layout, first_row + row as u64, field, "null", true));
        }
        Ok(fitted)
    };
    let columns = schema.fields().iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(SchemaRef::clone(schema), columns).map_err(|error| {
        let message = format!("table '{}': the rows make no batch", layout.name());
        Error::new(ErrorKind::InvalidData, message).caused_by(error)
    })
}

fn check_names(layout: &Layout, batch: &RecordBatch) -> Result<()> {
    let fields = batch.schema_ref().fields();
    for (index, field) in fields.iter().enumerate() {
        let why = if field.name().is_empty() {
            "has no name"
        } else if fields[..index].iter().any(|other| other.name() == field.name()) {
            "is there twice"
        } else {
            continue;
        };
        let (table, number, name) = (layout.name(), index + 1, field.name());
        let message = format!("table '{table}': column {number} ('{name}') {why}");
        return Err(Error::new(ErrorKind::InvalidData, message));
    }
    Ok(())
}

fn missing(layout: &Layout, field: &Field, rows: usize) -> Result<ArrayRef> {
    if field.is_nullable() {
        return Ok(new_null_array(field.data_type(), rows));
    }
    let (table, name) = (layout.name(), field.name());
    let what = if layout.time_name() == name { "the time" } else { "part of the key" };
    let message = format!(
        "table '{table}': column '{name}' is missing; it is {what}, so each row needs a value"
    );
    Err(Error::new(ErrorKind::InvalidData, message))
}

fn refuse(layout: &Layout, row: u64, field: &Field, value: &str, is_key: bool) -> Error {
    let advice = match (value, is_key) {
        ("null", _) => "time and key columns need a value in each row",
        (_, true) => "the type of a time or key column is fixed",
        _ => "mend the value, or ask for wider columns with on_mismatch=\"widen\"",
    };
    let (table, name, data_type) = (layout.name(), field.name(), field.data_type());
    let message = format!(
        "table '{table}', row {row} (the first is 0), column '{name}': {value} is no {data_type}; \
         {advice}"
    );
    Error::new(ErrorKind::InvalidData, message)
}

/// A column as another type, where each value means the same in it.
pub(super) fn converted(
    column: &ArrayRef,
    to: &DataType,
) -> std::result::Result<ArrayRef, Mismatch> {
    let cast = is_convertible(column.data_type(), to).then(|| cast(column, to).ok()).flatten();
    let Some(cast) = cast else {
        let first = (0..column.len()).find(|row| column.is_valid(*row));
        return Err(mismatch(column, first.unwrap_or(0)));
    };
    let beyond = match to {
        DataType::Timestamp(unit, _) => time::first_beyond_years(column, *unit),
        _ => None,
    };
    match beyond.or_else(|| cast.lost().next()) {
        Some(row) => Err(mismatch(column, row)),
        None => Ok(cast.column),
    }
}

/// The first of some numbers that no float is, to its last digit.
pub(super) fn no_float(column: &ArrayRef) -> Option<String> {
    converted(column, &DataType::Float64).err().map(|mismatch| mismatch.value)
}

fn mismatch(column: &ArrayRef, row: usize) -> Mismatch {
    let shown = ArrayFormatter::try_new(column.as_ref(), &FormatOptions::default())
        .map(|format| format.value(row).to_string())
        .unwrap_or_default();
    let mut value: String = shown.chars().take(SHOWN_CHARS).collect();
    if value.len() < shown.len() {
        value.push_str("...");
    }
    if !column.data_type().is_numeric() {
        value = format!("{value:?}");
    }
    Mismatch { row, value: format!("{value} ({})", column.data_type()) }
}
