//! Columns brought to the types that are expected of them.

use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};

use crate::instant::per_second;

/// A column as the type of a field, where no value is lost by that.
///
/// # Errors
/// `InvalidData` for nulls that the field does not take, a type that would lose something, and values
/// that the field's type can't hold.
pub fn fit(column: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let wrong = |what: String| {
        let message = format!("column '{}' {what}", field.name());
        Err(Error::new(ErrorKind::InvalidData, message))
    };
    if column.null_count() > 0 && !field.is_nullable() {
        return wrong("takes no nulls".to_owned());
    }
    if column.data_type() == field.data_type() {
        return Ok(ArrayRef::clone(column));
    }
    if !keeps_values(column.data_type(), field.data_type()) {
        let (takes, is) = (field.data_type(), column.data_type());
        return wrong(format!("takes {takes}, and {is} would lose something: cast it first"));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, field.data_type(), &options)
        .or_else(|error| wrong(format!("has a value that does not fit: {error}")))
}

/// Whether a cast keeps every value that it doesn't refuse.
fn keeps_values(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Null, _) => true,
        (T::Dictionary(_, values), to) => values.as_ref() == to || keeps_values(values, to),
        (from, to) if from.is_integer() => to.is_integer() || matches!(to, T::Float64),
        (T::Float16 | T::Float32, T::Float64) => true,
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8 | T::LargeUtf8) => true,
        (
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_),
            T::Binary | T::LargeBinary,
        ) => true,
        (T::Timestamp(from, zone), T::Timestamp(to, other)) => {
            zone.is_some() == other.is_some() && is_finer(*to, *from)
        }
        (T::Duration(from), T::Duration(to)) => is_finer(*to, *from),
        _ => false,
    }
}

fn is_finer(unit: TimeUnit, than: TimeUnit) -> bool {
    per_second(unit) >= per_second(than)
}
