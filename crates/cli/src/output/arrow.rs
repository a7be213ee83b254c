//! Rows as an Arrow IPC stream.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Float64Builder, Int64Builder, StringBuilder,
};
use arrow_array::{ArrayRef, NullArray, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use ciborium::Value;
use timestrata::table::time_array;
use timestrata::timelog::Unit;

use super::columns::{Column, OutputColumns};
use super::{Request, cell};
use crate::failure::{Failure, Result};

const BATCH_ROWS: usize = 8192;
/// Bytes of text and binary values in one column of one batch, about, at most.
const BATCH_BYTES_MAX: usize = 64 << 20;

pub(super) fn write(
    out: &mut impl Write,
    request: &Request,
    columns: &mut OutputColumns,
) -> Result<u64> {
    let fields: Vec<Field> =
        columns.list.iter().map(|column| field(column, request.unit)).collect();
    let schema = Arc::new(Schema::new(fields));
    let mut writer = StreamWriter::try_new(out, &schema).map_err(failed)?;
    let mut builders = builders(columns);
    let (mut rows, mut batch_rows, mut batch_bytes) = (0, 0, 0);
    let mut finish = |builders: &mut [Builder], rows: usize| {
        let arrays = builders.iter_mut().map(|builder| builder.finish(rows, request.unit));
        let arrays = arrays.collect::<Result<_>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(failed)?;
        writer.write(&batch).map_err(failed)
    };
    for row in request.rows() {
        let row = row?;
        for (column, builder) in columns.list.iter_mut().zip(&mut builders) {
            match builder {
                Builder::Time(times) => times.push(row.time),
                other => batch_bytes += other.append(column.value(&row)),
            }
        }
        rows += 1;
        batch_rows += 1;
        if batch_rows == BATCH_ROWS || batch_bytes >= BATCH_BYTES_MAX {
            finish(&mut builders, batch_rows)?;
            (batch_rows, batch_bytes) = (0, 0);
        }
    }
    if batch_rows > 0 {
        finish(&mut builders, batch_rows)?;
    }
    writer.finish().map_err(failed)?;
    Ok(rows)
}

fn field(column: &Column, unit: Unit) -> Field {
    let data_type = if column.is_time() { time_type(unit) } else { column.data_type.clone() };
    Field::new(&column.name, data_type, !column.is_time())
}

/// One column of the batch that is being filled.
enum Builder {
    Time(Vec<i64>),
    Null,
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Bytes(BinaryBuilder),
    Text(StringBuilder),
}

fn builders(columns: &OutputColumns) -> Vec<Builder> {
    let builder = |column: &Column| match column.data_type {
        _ if column.is_time() => Builder::Time(Vec::new()),
        DataType::Boolean => Builder::Bool(BooleanBuilder::new()),
        DataType::Int64 => Builder::Int(Int64Builder::new()),
        DataType::Float64 => Builder::Float(Float64Builder::new()),
        DataType::Binary => Builder::Bytes(BinaryBuilder::new()),
        DataType::Utf8 => Builder::Text(StringBuilder::new()),
        _ => Builder::Null,
    };
    columns.list.iter().map(builder).collect()
}

impl Builder {
    /// Adds a cell; gives the bytes of a long one. The column's kind is known to hold it.
    fn append(&mut self, value: Option<&Value>) -> usize {
        let value = value.map(untagged).filter(|value| !value.is_null());
        match self {
            Self::Time(_) | Self::Null => {}
            Self::Bool(builder) => builder.append_option(value.and_then(Value::as_bool)),
            Self::Int(builder) => builder.append_option(value.and_then(integer)),
            Self::Float(builder) => builder.append_option(value.and_then(|value| {
                value.as_float().or_else(|| integer(value).map(|integer| integer as f64))
            })),
            Self::Bytes(builder) => {
                let bytes = value.and_then(Value::as_bytes);
                builder.append_option(bytes);
                return bytes.map_or(0, Vec::len);
            }
            Self::Text(builder) => {
                let text = value.map(cell::text);
                builder.append_option(text.as_deref());
                return text.map_or(0, |text| text.len());
            }
        }
        0
    }

    /// The column of `rows` cells; begins afresh.
    fn finish(&mut self, rows: usize, unit: Unit) -> Result<ArrayRef> {
        Ok(match self {
            Self::Time(times) => time_array(&time_type(unit), std::mem::take(times))?,
            Self::Null => Arc::new(NullArray::new(rows)),
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::Int(builder) => Arc::new(builder.finish()),
            Self::Float(builder) => Arc::new(builder.finish()),
            Self::Bytes(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
        })
    }
}

fn time_type(unit: Unit) -> DataType {
    DataType::Timestamp(unit.to_arrow(), Some("UTC".into()))
}

fn untagged(value: &Value) -> &Value {
    match value {
        Value::Tag(_, value) => untagged(value),
        other => other,
    }
}

fn integer(value: &Value) -> Option<i64> {
    value.as_integer().and_then(|integer| i64::try_from(integer).ok())
}

fn failed(cause: ArrowError) -> Failure {
    match cause {
        ArrowError::IoError(_, cause) => Failure::output(cause),
        other => Failure::plain(format!("could not write an Arrow stream: {other}")),
    }
}
