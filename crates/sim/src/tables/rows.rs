//! Rows of the model as record batches, and back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMillisecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
    UInt64Array,
};
use timestrata_engine::{Cell, Result};

use super::model::{Kind, TableRow};
use crate::subject::misfit;

/// All symbols that rows have.
pub(super) const SYMBOLS: [&str; 4] = ["a", "b", "c", "d"];

/// Whether rows need a column that comes later, or a wider one.
pub(super) fn changes_columns(rows: &[TableRow]) -> bool {
    rows.iter().any(|row| row.extra.is_some() || row.halves % 2 != 0)
}

/// Rows for a table; without identities where it is to hand them out.
pub(super) fn batch(kind: Kind, rows: &[TableRow], with_ids: bool) -> Result<RecordBatch> {
    let times = TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.time));
    let mut columns: Vec<(&str, ArrayRef)> = vec![("time", Arc::new(times.with_timezone("UTC")))];
    if kind == Kind::ById && with_ids {
        let ids = UInt64Array::from_iter_values(rows.iter().map(|row| row.id));
        columns.push(("id", Arc::new(ids)));
    }
    let symbols = StringArray::from_iter_values(rows.iter().map(|row| row.symbol));
    columns.push(("symbol", Arc::new(symbols)));
    let halves = rows.iter().map(|row| row.halves);
    let values: ArrayRef = match rows.iter().all(|row| row.halves % 2 == 0) {
        true => Arc::new(Int64Array::from_iter_values(halves.map(|halves| halves / 2))),
        false => Arc::new(Float64Array::from_iter_values(halves.map(|halves| halves as f64 / 2.0))),
    };
    columns.push(("value", values));
    let notes = StringArray::from_iter_values(rows.iter().map(|row| &row.note));
    columns.push(("note", Arc::new(notes)));
    if rows.iter().any(|row| row.extra.is_some()) {
        let extra = rows.iter().map(|row| row.extra);
        columns.push(("extra", Arc::new(extra.collect::<Int64Array>())));
    }
    RecordBatch::try_from_iter(columns).map_err(misfit)
}

/// One cell a column of the table's.
pub(super) fn cells<'a>(row: &'a TableRow, schema: &arrow_schema::Schema) -> Vec<Cell<'a>> {
    let fields = schema.fields().iter();
    let cell = |field: &Arc<arrow_schema::Field>| match field.name().as_str() {
        "time" => Cell::Int(row.time),
        "symbol" => Cell::Text(row.symbol),
        "value" if field.data_type().is_floating() => Cell::Float(row.halves as f64 / 2.0),
        "value" => Cell::Int(row.halves / 2),
        "note" => Cell::Text(&row.note),
        _ => Cell::Null,
    };
    fields.map(cell).collect()
}

/// The values of an upsert key.
pub(super) fn key(kind: Kind, row: &TableRow) -> Vec<Cell<'static>> {
    match kind {
        Kind::Kept => Vec::new(),
        Kind::ByTime => vec![Cell::Text(row.symbol), Cell::Int(row.time)],
        Kind::ById => vec![Cell::UInt(row.id)],
        Kind::BySymbol => vec![Cell::Text(row.symbol)],
    }
}

/// What a table gave.
pub(super) fn rows_of(batch: &RecordBatch) -> Result<Vec<TableRow>> {
    (0..batch.num_rows()).map(|row| row_at(batch, row)).collect()
}

/// One row of a batch in a table's columns.
pub(super) fn row_at(batch: &RecordBatch, row: usize) -> Result<TableRow> {
    let column = |name: &str| {
        let column = batch.column_by_name(name);
        column.ok_or_else(|| misfit(format!("column '{name}' is missing")))
    };
    let no_value = || misfit(format!("row {row} lacks a value"));
    let text = |name: &str| -> Result<&str> {
        let texts = column(name)?.as_string_opt::<i32>().ok_or_else(no_value)?;
        if texts.is_null(row) { Err(no_value()) } else { Ok(texts.value(row)) }
    };
    let times = column("time")?.as_primitive_opt::<TimestampMillisecondType>();
    let symbol = text("symbol")?;
    let known = SYMBOLS.into_iter().find(|known| *known == symbol);
    let ids = batch.column_by_name("id").and_then(|ids| ids.as_primitive_opt::<UInt64Type>());
    let value = column("value")?;
    let halves = match value.as_primitive_opt::<Float64Type>() {
        Some(floats) => (floats.value(row) * 2.0) as i64,
        None => value.as_primitive_opt::<Int64Type>().ok_or_else(no_value)?.value(row) * 2,
    };
    let extra =
        batch.column_by_name("extra").and_then(|extra| extra.as_primitive_opt::<Int64Type>());
    Ok(TableRow {
        time: times.ok_or_else(no_value)?.value(row),
        id: ids.map_or(0, |ids| ids.value(row)),
        symbol: known.ok_or_else(|| misfit(format!("symbol '{symbol}' was never written")))?,
        halves: if value.is_null(row) { return Err(no_value()) } else { halves },
        note: text("note")?.to_owned(),
        extra: extra.filter(|extra| extra.is_valid(row)).map(|extra| extra.value(row)),
    })
}
