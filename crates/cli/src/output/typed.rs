//! Rows of typed logs: a field a column.

use arrow_schema::{DataType, Field};
use ciborium::Value;
use timestrata::Cell;
use timestrata::timelog::{EntryBlock, Selection};

use super::Row;
use crate::failure::{Failure, Result};
use crate::times;

/// The rows of a selection, block by block.
pub(super) fn rows(selection: Selection) -> impl Iterator<Item = Result<Row>> {
    selection.blocks().flat_map(|block| {
        let (block, error) = match block {
            Ok(block) => (Some(block), None),
            Err(error) => (None, Some(Err(Failure::from(error)))),
        };
        block.into_iter().flat_map(rows_of).map(Ok).chain(error)
    })
}

pub(super) fn rows_of(block: EntryBlock) -> impl Iterator<Item = Row> {
    (0..block.len()).filter_map(move |row| {
        let time = *block.times().get(row)?;
        let schema = block.record_batch().schema_ref();
        let fields = schema.fields().iter().skip(1).zip(block.columns());
        let fields = fields.map(|(field, column)| {
            let cell = Cell::of(column.as_ref(), row).unwrap_or(Cell::Null);
            (field.name().clone(), value(field, cell))
        });
        Some(Row { time, fields: fields.collect() })
    })
}

fn value(field: &Field, cell: Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Bool(value) => Value::Bool(value),
        Cell::Int(value) => match field.data_type() {
            DataType::Timestamp(unit, _) => Value::Text(times::format(value, (*unit).into())),
            _ => Value::Integer(value.into()),
        },
        Cell::UInt(value) => Value::Integer(value.into()),
        Cell::Float(value) => Value::Float(value),
        Cell::Bytes(value) => Value::Bytes(value.to_vec()),
        Cell::Text(value) => Value::Text(value.to_owned()),
    }
}
