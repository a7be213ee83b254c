//! Arrow rows that make a table: their types are kept, but for those of the time.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_ingest::rows::read_arrow;
use timestrata_table::{ID_COLUMN, time_array};
use timestrata_values::instant::{per_second, rescale};
use timestrata_values::time::relabeled;

use super::intake::BODY;
use super::{ARRIVAL, times};

const NS_PER_SECOND: i64 = 1_000_000_000;

/// Rows, and which column is their time.
pub(super) struct Rows {
    pub(super) batches: Vec<RecordBatch>,
    pub(super) time: String,
}

impl Rows {
    /// Reads a stream that came at `now_ns`.
    ///
    /// # Errors
    /// `InvalidData` for what is no stream, and for numbers in the time column that are no times.
    pub(super) fn read(body: Vec<u8>, now_ns: i64) -> Result<Self> {
        let read = read_arrow(body, BODY)?;
        let mut rows = 0;
        let fields = read.first().map(|batch| batch.schema());
        let time = fields.and_then(|schema| {
            let fields = schema.fields().iter();
            fields.into_iter().find(|field| may_be_time(field)).map(|field| field.name().clone())
        });
        let mut batches = Vec::with_capacity(read.len());
        for batch in read {
            batches.push(made(&batch, time.as_deref(), now_ns, rows)?);
            rows += batch.num_rows();
        }
        Ok(Self { batches, time: time.unwrap_or_else(|| ARRIVAL.to_owned()) })
    }
}

/// Whether a column holds times: by its type, or as whole numbers by its name.
fn may_be_time(field: &Field) -> bool {
    let name = field.name().to_lowercase();
    match field.data_type() {
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => true,
        data_type if data_type.is_signed_integer() => {
            name.contains("timestamp") || name == "ts" || name == "time"
        }
        _ => false,
    }
}

/// A batch as the table takes it.
fn made(
    batch: &RecordBatch,
    time: Option<&str>,
    now_ns: i64,
    before: usize,
) -> Result<RecordBatch> {
    let mut fields = Vec::with_capacity(batch.num_columns() + 1);
    let mut columns = Vec::with_capacity(batch.num_columns() + 1);
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let is_without_ids = field.name() == ID_COLUMN && column.null_count() == column.len();
        if is_without_ids {
            continue;
        }
        let column = match time == Some(field.name().as_str()) {
            true => instants(field.name(), column, now_ns, before)?,
            false => ArrayRef::clone(column),
        };
        fields.push(Field::new(field.name(), column.data_type().clone(), true));
        columns.push(column);
    }
    if time.is_none() {
        let data_type = times::data_type(TimeUnit::Microsecond);
        let now = now_ns.div_euclid(NS_PER_SECOND / per_second(TimeUnit::Microsecond));
        columns.push(time_array(&data_type, vec![now; batch.num_rows()])?);
        fields.push(Field::new(ARRIVAL, data_type, true));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|error| {
        Error::new(ErrorKind::InvalidData, "the rows make no batch").caused_by(error)
    })
}

/// A time column in UTC, in microseconds or, where it came so, nanoseconds; the time of arrival where a row has none.
fn instants(name: &str, column: &ArrayRef, now_ns: i64, before: usize) -> Result<ArrayRef> {
    let wrong = |why: String| Error::new(ErrorKind::InvalidData, format!("column '{name}': {why}"));
    let is_number = column.data_type().is_integer();
    let cast_to = match column.data_type() {
        DataType::Date32 | DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        _ if is_number => DataType::Int64,
        data_type => data_type.clone(),
    };
    let column = cast(column, &cast_to).map_err(|error| wrong(error.to_string()))?;
    let from = times::unit_of(&cast_to).unwrap_or(TimeUnit::Millisecond);
    let unit = match from {
        TimeUnit::Nanosecond => TimeUnit::Nanosecond,
        _ => TimeUnit::Microsecond,
    };
    let now = now_ns.div_euclid(NS_PER_SECOND / per_second(unit));
    let numbers = relabeled(&column, &DataType::Int64)?;
    let numbers = numbers.as_primitive_opt::<Int64Type>();
    let numbers = numbers.ok_or_else(|| wrong("it is no column of times".to_owned()))?;
    let time = |(row, number): (usize, Option<i64>)| {
        let Some(number) = number else { return Ok(now) };
        let time = match is_number {
            true => times::instant_of_number(number).and_then(|at| at.to_unit(unit).ok()),
            false => rescale(number, from, unit).ok(),
        };
        time.ok_or_else(|| {
            let row = before + row + 1;
            wrong(format!("row {row} (the first is 1): {number} is no time; whole numbers are seconds or milliseconds since 1970"))
        })
    };
    let times = numbers.iter().enumerate().map(time).collect::<Result<Vec<i64>>>()?;
    let times: ArrayRef = Arc::new(Int64Array::from(times));
    relabeled(&times, &times::data_type(unit))
}
