//! The time column: which one it is, and what its values become.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, TimestampNanosecondArray, make_array};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};

use crate::instant::{Instant, Unfit, epoch, per_second, unit_of_all, unit_of_magnitude};

/// Names that a time column usually has, the likeliest first.
const NAMES: [&str; 5] = ["timestamp", "time", "ts", "datetime", "date"];
const ZONE: &str = "UTC";
/// From the first second of the year 0 to the last one of 9999, as text can name them.
const YEARS_S: std::ops::Range<i64> = -62_167_219_200..253_402_300_800;

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
            let names: Vec<_> = fields().take(20).map(|(_, field)| field.name().as_str()).collect();
            Err(format!(
                "no column holds times, among {}; name the time column",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            ))
        }
    }
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64)
}

fn can_be_time(data_type: &DataType) -> bool {
    is_time(data_type) || matches!(data_type, DataType::Int64 | DataType::Utf8)
}

/// The type of a time column in the table, for what it is in the data.
pub(super) fn column_type(data_type: &DataType) -> DataType {
    let unit = match data_type {
        DataType::Timestamp(_, Some(_)) => return data_type.clone(),
        DataType::Timestamp(unit, None) => *unit,
        DataType::Date32 => TimeUnit::Second,
        DataType::Date64 => TimeUnit::Millisecond,
        _ => TimeUnit::Microsecond,
    };
    DataType::Timestamp(unit, Some(ZONE.into()))
}

fn epoch_unit(name: &str, numbers: &Int64Array) -> Result<TimeUnit> {
    let (least, greatest) = numbers
        .iter()
        .flatten()
        .fold(None, |ends: Option<(i64, i64)>, number| {
            let (least, greatest) = ends.unwrap_or((number, number));
            Some((least.min(number), greatest.max(number)))
        })
        .unwrap_or_default();
    unit_of_all(least, greatest).map_err(|why| {
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
    let step = per_second(unit);
    let years = YEARS_S.start.saturating_mul(step)..YEARS_S.end.saturating_mul(step);
    (0..numbers.len()).find(|row| numbers.is_valid(*row) && !years.contains(&numbers.value(*row)))
}

/// Times of a time column's type.
///
/// # Errors
/// `InvalidData` if the type is not one of times.
pub fn array(data_type: &DataType, times: Vec<i64>) -> Result<ArrayRef> {
    relabeled(&(Arc::new(Int64Array::from(times)) as ArrayRef), data_type)
}

/// Times as numbers of their unit.
pub(super) fn values(column: &ArrayRef) -> Result<Vec<i64>> {
    let numbers = relabeled(column, &DataType::Int64)?;
    Ok(numbers.as_primitive_opt::<Int64Type>().map(|n| n.values().to_vec()).unwrap_or_default())
}

/// The same 64-bit numbers as another type of the same width.
pub(super) fn relabeled(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let data = column.to_data().into_builder().data_type(data_type.clone());
    data.build().map(make_array).map_err(super::write::unmade)
}

/// The time that a text names, in the unit of a time column's type: a date or an instant (UTC
/// where no zone is given), or a number of seconds, milliseconds, microseconds or nanoseconds
/// since 1970, as its magnitude tells.
///
/// # Errors
/// `InvalidArgument` for text that is no time, and for one that the type can't hold exactly.
pub fn parse(text: &str, data_type: &DataType) -> Result<i64> {
    let DataType::Timestamp(unit, _) = data_type else {
        return text.parse().map_err(|_| not_a_time(text, "a whole number is expected"));
    };
    let found = match Instant::parse(text.trim().as_bytes()) {
        Some(instant) => instant.to_unit(*unit),
        None => {
            let whole = text.trim().split('.').next().and_then(|whole| whole.parse::<i64>().ok());
            let from = whole.map(|number| unit_of_magnitude(number.unsigned_abs()));
            let number = from.and_then(|from| epoch(text.trim().as_bytes(), from, *unit));
            number.ok_or_else(|| not_a_time(text, "write it as 2024-05-01T10:00:00Z"))?
        }
    };
    found.map_err(|unfit| match unfit {
        Unfit::TooFine => not_a_time(text, "it is finer than the time column can hold"),
        Unfit::OutOfRange => not_a_time(text, "it is outside of what the time column can hold"),
    })
}

fn not_a_time(text: &str, why: &str) -> Error {
    let shown: String = text.chars().take(60).collect();
    Error::new(ErrorKind::InvalidArgument, format!("{shown:?} is no time here: {why}"))
}

/// Text as times; what is no time, or can't be held exactly, is null. `None` for other arrays.
pub(super) fn of_text(column: &ArrayRef, unit: TimeUnit) -> Option<ArrayRef> {
    let text = arrow_cast::cast(column, &DataType::Utf8).ok()?;
    let times: Int64Array = text
        .as_string_opt::<i32>()?
        .iter()
        .map(|text| Instant::parse(text?.as_bytes())?.to_unit(unit).ok())
        .collect();
    relabeled(&(Arc::new(times) as ArrayRef), &DataType::Timestamp(unit, None)).ok()
}

/// An instant, in nanoseconds since the epoch, as RFC 3339.
pub fn text(ns: i64) -> String {
    // An offset instead of a name: no zone has to be looked up.
    let instant: ArrayRef =
        Arc::new(TimestampNanosecondArray::from(vec![ns]).with_timezone("+00:00"));
    array_value_to_string(&instant, 0).unwrap_or_else(|_| ns.to_string())
}
