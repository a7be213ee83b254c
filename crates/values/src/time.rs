//! Times of columns: as text, as numbers, and as arrays of a time type.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, TimestampNanosecondArray, make_array};
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use timestrata_engine::{Error, ErrorKind, Result};

use crate::instant::{Instant, Unfit, epoch, unit_of_magnitude};

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

/// An instant, in nanoseconds since the epoch, as RFC 3339.
pub fn text(ns: i64) -> String {
    // An offset instead of a name: no zone has to be looked up.
    let instant: ArrayRef =
        Arc::new(TimestampNanosecondArray::from(vec![ns]).with_timezone("+00:00"));
    array_value_to_string(&instant, 0).unwrap_or_else(|_| ns.to_string())
}

/// Times of a time column's type.
///
/// # Errors
/// `InvalidData` if the type is not one of times.
pub fn array(data_type: &DataType, times: Vec<i64>) -> Result<ArrayRef> {
    relabeled(&(Arc::new(Int64Array::from(times)) as ArrayRef), data_type)
}

/// The same 64-bit numbers as another type of the same width.
///
/// # Errors
/// `InvalidData` for types of other widths.
pub fn relabeled(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let data = column.to_data().into_builder().data_type(data_type.clone());
    data.build().map(make_array).map_err(|error| {
        let message = format!("{} can't be {data_type}", column.data_type());
        Error::new(ErrorKind::InvalidData, message).caused_by(error)
    })
}

fn not_a_time(text: &str, why: &str) -> Error {
    let shown: String = text.chars().take(60).collect();
    Error::new(ErrorKind::InvalidArgument, format!("{shown:?} is no time here: {why}"))
}
