//! Cells of record batches as JSON, none of which says anything else than the cell.
//!
//! Times are RFC 3339. What JSON has no word for is text: numbers with a scale, dates, intervals; bytes that are
//! text, and else `0x` and hexadecimal digits. Floats that aren't finite are null, as in all of our JSON.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use serde_json::{Map, Value};
use timestrata::Cell;
use timestrata::table::TimeTexts;

/// The columns of a batch, on their way to rows.
pub(crate) struct Columns<'a> {
    columns: Vec<(&'a ArrayRef, Option<TimeTexts>)>,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(batch: &'a RecordBatch) -> Self {
        let columns = batch.columns().iter();
        Self { columns: columns.map(|column| (column, TimeTexts::of(column))).collect() }
    }

    /// The cells of a row, in order.
    pub(crate) fn row(&mut self, row: usize) -> Value {
        let cells = self.columns.iter_mut().map(|(column, times)| match times {
            Some(times) if column.is_valid(row) => Value::from(times.text(row)),
            _ => cell(column.as_ref(), row),
        });
        Value::Array(cells.collect())
    }
}

fn cell(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::List(_) => list(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(_, _) => list(&array.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().zip(columns);
            let members = members.map(|(field, column)| (field.name().clone(), cell(column, row)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        DataType::Float32 => {
            // The shortest digits of this width, and not those of the same number at twice the width.
            let digits =
                array.as_primitive::<arrow_array::types::Float32Type>().value(row).to_string();
            digits.parse::<f64>().map_or(Value::Null, Value::from)
        }
        // Numbers that stand for something else.
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_)
        | DataType::Interval(_) => text(array, row),
        _ => match Cell::of(array, row) {
            Some(Cell::Bool(value)) => value.into(),
            Some(Cell::Int(value)) => value.into(),
            Some(Cell::UInt(value)) => value.into(),
            Some(Cell::Float(value)) => value.into(),
            Some(Cell::Text(value)) => value.into(),
            Some(Cell::Bytes(value)) => bytes_shown(value).into(),
            Some(Cell::Null) | None => text(array, row),
        },
    }
}

fn list(items: &ArrayRef) -> Value {
    (0..items.len()).map(|row| cell(items.as_ref(), row)).collect()
}

fn text(array: &dyn Array, row: usize) -> Value {
    let options = FormatOptions::default();
    let shown = ArrayFormatter::try_new(array, &options)
        .and_then(|formatter| formatter.value(row).try_to_string());
    // A value that has no text, such as a time beyond the calendar, says so.
    Value::from(shown.unwrap_or_else(|error| format!("no text: {error}")))
}

/// Bytes as text, where they are text.
fn bytes_shown(bytes: &[u8]) -> String {
    let is_text =
        |text: &&str| !text.chars().any(|letter| letter.is_control() && !letter.is_whitespace());
    match std::str::from_utf8(bytes).ok().filter(is_text) {
        Some(text) => text.to_owned(),
        None => bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}")),
    }
}

#[cfg(test)]
mod tests;
