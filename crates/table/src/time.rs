//! The time column: which one it is, and what its values become.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_values::instant::{per_second, unit_of_all};
use timestrata_values::time::{NAMES, SECONDS_PER_DAY, YEARS_DAYS, is_time, relabeled};

const ZONE: &str = "UTC";
/// Names of columns that a message shows.
const NAMES_SHOWN: usize = 20;

/// The index of a table's time column, or why there is none.
pub(super) fn find(columns: &Schema, declared: Option<&str>) -> std::result::Result<usize, String> {
    if let Some(name) = declared {
        let Ok(index) = columns.index_of(name) else {
            return Err(format!("there is no column '{name}' to be the time"));
        };
        let data_type = columns.field(index).data_type();
        return match can_be_time(data_type) {
            true => Ok(index),
            false => Err(format!("column '{name}' has type {data_type}, which is no time")),
        };
    }
    let position =
        |field: &Field| NAMES.iter().position(|name| field.name().eq_ignore_ascii_case(name));
    let fields = || columns.fields().iter().enumerate();
    let named = fields()
        .filter(|(_, field)| is_time(field.data_type()) || *field.data_type() == DataType::Int64)
        .filter_map(|(index, field)| position(field).map(|rank| (rank, index)))
        .min();
    if let Some((_, index)) = named {
        return Ok(index);
    }
    match fields().find(|(_, field)| is_time(field.data_type())) {
        Some((index, _)) => Ok(index),
        None => {
            let names = names_of(columns);
            Err(format!("no column holds times, among {names}; name the time column"))
        }
    }
}

/// The names of columns, as far as a message shows them.
pub(super) fn names_of(columns: &Schema) -> String {
    let names: Vec<_> =
        columns.fields().iter().take(NAMES_SHOWN).map(|field| field.name().as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn can_be_time(data_type: &DataType) -> bool {
    is_time(data_type) || matches!(data_type, DataType::Int64 | DataType::Utf8)
}

/// The type of a time column in the table, for what it is in the data.
pub(super) fn column_type(data_type: &DataType) -> DataType {
    let unit = match data_type {
        DataType::Timestamp(_, Some(_)) => return data_type.clone(),
        DataType::Timestamp(unit, None) => *unit,
        // Of days too: nobody knows whether the rows to come have a time of day.
        _ => TimeUnit::Microsecond,
    };
    DataType::Timestamp(unit, Some(ZONE.into()))
}

fn epoch_unit(name: &str, numbers: &Int64Array) -> Result<TimeUnit> {
    let known = || numbers.iter().flatten();
    let (least, greatest) = (known().min(), known().max());
    unit_of_all(least.unwrap_or_default(), greatest.unwrap_or_default()).map_err(|why| {
        Error::new(
            ErrorKind::InvalidData,
            format!("column '{name}': {why}; give times instead, or declare the column's type"),
        )
    })
}

/// The columns of some rows, with the time column of a time type: numbers in the unit that their
/// magnitude tells, text in microseconds, or in nanoseconds where it is finer.
///
/// # Errors
/// `InvalidData` for numbers whose magnitude tells no unit.
pub(super) fn columns_of(rows: &RecordBatch, declared: Option<&str>) -> Result<SchemaRef> {
    let mut fields = rows.schema_ref().fields().to_vec();
    for (field, column) in fields.iter_mut().zip(rows.columns()) {
        let may_be_time = match declared {
            Some(name) => field.name() == name,
            None => NAMES.iter().any(|name| field.name().eq_ignore_ascii_case(name)),
        };
        let unit = match column.as_primitive_opt::<Int64Type>() {
            _ if !may_be_time => None,
            Some(numbers) => Some(epoch_unit(field.name(), numbers)?),
            None => text_unit(column),
        };
        if let Some(unit) = unit {
            let data_type = DataType::Timestamp(unit, Some(ZONE.into()));
            *field = Arc::new(Field::new(field.name(), data_type, true));
        }
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// The unit for a column of text, if all of it names times.
fn text_unit(column: &ArrayRef) -> Option<TimeUnit> {
    let is_text = matches!(
        column.data_type(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(_, _)
    );
    let fits = |unit: &TimeUnit| {
        is_text && super::fit::converted(column, &DataType::Timestamp(*unit, None)).is_ok()
    };
    [TimeUnit::Microsecond, TimeUnit::Nanosecond].into_iter().find(fits)
}

/// The first of some numbers that is no time of the years 0 to 9999 in a unit: most likely it counts a finer one.
pub(super) fn first_beyond_years(numbers: &ArrayRef, unit: TimeUnit) -> Option<usize> {
    let numbers = numbers.as_primitive_opt::<Int64Type>()?;
    let a_day = SECONDS_PER_DAY * per_second(unit);
    let years = YEARS_DAYS.start.saturating_mul(a_day)..YEARS_DAYS.end.saturating_mul(a_day);
    (0..numbers.len()).find(|row| numbers.is_valid(*row) && !years.contains(&numbers.value(*row)))
}

/// Times as numbers of their unit.
pub(super) fn values(column: &ArrayRef) -> Result<Vec<i64>> {
    let numbers = relabeled(column, &DataType::Int64)?;
    Ok(numbers.as_primitive_opt::<Int64Type>().map(|n| n.values().to_vec()).unwrap_or_default())
}
