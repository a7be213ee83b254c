//! Conversion of columns to other types: which conversions are allowed, and which rows lose something by one.
//!
//! All who take columns from elsewhere ask here: tables, graphs, and the readers of files and bodies. What
//! becomes of rows that are stored already is the engine's to say ([`widens`]), and is the narrower rule of
//! the two: nobody looks at those rows one by one.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_ord::cmp::distinct;
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result, widens};

use crate::instant::{Instant, per_second};
use crate::time::relabeled;

/// A column as another type, and which of its rows don't say there what they said before.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{ArrayRef, Float64Array};
/// use arrow_schema::DataType;
/// use timestrata_values::convert;
///
/// let prices: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 2.5, 3.0]));
/// let whole = convert::cast(&prices, &DataType::Int64)?;
/// assert_eq!(whole.lost().collect::<Vec<_>>(), [1]);
/// # Ok::<(), arrow_schema::ArrowError>(())
/// ```
#[derive(Debug)]
pub struct Converted {
    /// As long as the column was; what could not be cast is null.
    pub column: ArrayRef,
    lost: Option<BooleanBuffer>,
}

impl Converted {
    /// Rows whose value is null now, or another one.
    pub fn lost(&self) -> impl Iterator<Item = usize> + '_ {
        self.lost.iter().flat_map(BooleanBuffer::set_indices)
    }
}

/// Whether values of one type may come for a column of another. Each is still looked at.
pub fn is_convertible(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    let is_number = |data_type: &T| data_type.is_integer() || data_type.is_floating();
    let is_date = |data_type: &T| matches!(data_type, T::Date32 | T::Date64);
    let is_nested =
        |data_type: &T| matches!(data_type, T::List(_) | T::LargeList(_) | T::Struct(_));
    let may = match (from, to) {
        (T::Null, _) => return true,
        (from, to) if from == to => return true,
        (T::Dictionary(_, values), to) => return is_convertible(values, to),
        (T::Timestamp(..) | T::Int64, T::Timestamp(..)) => true,
        (from, T::Timestamp(..)) => is_date(from) || is_text(from),
        (T::Duration(_), T::Duration(_)) => true,
        (from, to) if to.is_decimal() => from.is_decimal() || from.is_integer(),
        (from, to) => [is_number, is_text, is_binary, is_date, is_nested]
            .iter()
            .any(|is_of_kind| is_of_kind(from) && is_of_kind(to)),
    };
    may && can_cast_types(from, to)
}

/// Whether values of one type are of the same kind as those of another, in no finer form: what typed columns
/// take that nobody asked to convert anything. Whole floats are no integers here, and text is no time.
fn is_of_kind(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    let is_finer = |from: &TimeUnit, to: &TimeUnit| per_second(*to) >= per_second(*from);
    match (from, to) {
        (T::Null, _) => true,
        (T::Dictionary(_, values), to) => is_of_kind(values, to),
        (from, T::Float64) => from.is_integer() || from.is_floating(),
        (from, to) if from.is_integer() => to.is_integer(),
        (T::Timestamp(from, zone), T::Timestamp(to, other)) => {
            zone.is_some() == other.is_some() && is_finer(from, to)
        }
        (T::Duration(from), T::Duration(to)) => is_finer(from, to),
        (from, to) => {
            from == to || is_text(from) && is_text(to) || is_binary(from) && is_binary(to)
        }
    }
}

/// Whether a cast makes no value another one: what has no place in the new type becomes null instead. So it is
/// where the engine widens, but for large integers as floats, which it rounds.
fn is_exact(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Int64 | T::UInt64, T::Float64) => false,
        (from, to) if widens(from, to) => true,
        // In the column's unit.
        (T::Int64, T::Timestamp(..)) => true,
        (from, to) if from.is_integer() => to.is_integer(),
        _ => is_text(from) || is_binary(from),
    }
}

/// The narrowest type for values of both a column and what comes for it: one that the rows which are stored
/// can become ([`widens`]). `None` if there is none, or it is the column's own.
pub fn wider(column: &DataType, data: &DataType) -> Option<DataType> {
    if column == data {
        return None;
    }
    let is_number = |data_type: &DataType| data_type.is_integer() || data_type.is_floating();
    let widest = if column.is_integer() && data.is_integer() {
        // Into the column's own type they don't fit, or this would not be asked.
        let is_held = |own: &&DataType| **own == DataType::Int64 || widens(own, &DataType::Int64);
        match [column, data].iter().all(is_held) {
            true => DataType::Int64,
            false => DataType::Float64,
        }
    } else if is_number(column) && is_number(data) {
        DataType::Float64
    } else {
        DataType::Utf8
    };
    widens(column, &widest).then_some(widest)
}

/// A column as another type, if there is a cast between the two.
///
/// A zone is a label: an instant is the same in any, and one without a zone is taken as UTC.
///
/// # Errors
/// Arrow's, if there is none.
pub fn cast(column: &ArrayRef, to: &DataType) -> std::result::Result<Converted, ArrowError> {
    let from = column.data_type();
    if let DataType::Dictionary(_, values) = from {
        return cast(&arrow_cast::cast(column, values)?, to);
    }
    if from == to || *from == DataType::Null {
        let column = match from == to {
            true => Arc::clone(column),
            false => new_null_array(to, column.len()),
        };
        return Ok(Converted { column, lost: None });
    }
    let there = cast_there(column, to)?;
    let lost = match is_exact(from, to) {
        true => became_null(column, &there),
        false => differing(column, &cast_there(&there, from)?),
    };
    Ok(Converted { column: there, lost: lost.filter(|lost| lost.count_set_bits() > 0) })
}

/// A cast in which what doesn't fit becomes null.
fn cast_there(column: &ArrayRef, to: &DataType) -> std::result::Result<ArrayRef, ArrowError> {
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let from = relabeled_zone(column, &without_zone(column.data_type()))?;
    let plain = without_zone(to);
    let there = match &plain {
        DataType::Timestamp(unit, _) if is_text(from.data_type()) => times_of_text(&from, *unit)?,
        _ => cast_with_options(&from, &plain, &options)?,
    };
    relabeled_zone(&there, to)
}

/// Rows that had a value and have none.
fn became_null(column: &ArrayRef, there: &ArrayRef) -> Option<BooleanBuffer> {
    let is_null = !there.logical_nulls()?.inner();
    Some(match column.logical_nulls() {
        Some(valid) => valid.inner() & &is_null,
        None => is_null,
    })
}

/// Rows in which two columns of one type differ.
fn differing(column: &ArrayRef, back: &ArrayRef) -> Option<BooleanBuffer> {
    if let Ok(differs) = distinct(column, back) {
        return Some(differs.values().clone());
    }
    // Lists and groups.
    let differs = |row: usize| column.slice(row, 1).as_ref() != back.slice(row, 1).as_ref();
    (column.as_ref() != back.as_ref()).then(|| (0..column.len()).map(differs).collect())
}

/// Text as times; what is no time, or can't be held exactly, is null.
fn times_of_text(column: &ArrayRef, unit: TimeUnit) -> std::result::Result<ArrayRef, ArrowError> {
    let text = arrow_cast::cast(column, &DataType::Utf8)?;
    let text = text.as_string_opt::<i32>().into_iter().flatten();
    let times: Int64Array =
        text.map(|text| Instant::parse(text?.as_bytes())?.to_unit(unit).ok()).collect();
    relabeled_zone(&(Arc::new(times) as ArrayRef), &DataType::Timestamp(unit, None))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(data_type: &DataType) -> bool {
    use DataType as T;
    matches!(data_type, T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_))
}

fn without_zone(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Timestamp(unit, _) => DataType::Timestamp(*unit, None),
        other => other.clone(),
    }
}

fn relabeled_zone(column: &ArrayRef, to: &DataType) -> std::result::Result<ArrayRef, ArrowError> {
    match column.data_type() == to {
        true => Ok(Arc::clone(column)),
        false => relabeled(column, to).map_err(|error| ArrowError::ExternalError(error.into())),
    }
}

/// A column as the type of a field, where no value is lost by that.
///
/// # Errors
/// `InvalidData` for nulls that the field does not take, a type that would lose something, and values
/// that the field's type can't hold.
pub fn fit(column: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let (is, takes) = (column.data_type(), field.data_type());
    let wrong = |what: String| {
        Error::new(ErrorKind::InvalidData, format!("column '{}' {what}", field.name()))
    };
    if column.null_count() > 0 && !field.is_nullable() {
        return Err(wrong("takes no nulls".to_owned()));
    }
    if !(is_of_kind(is, takes) && is_convertible(is, takes)) {
        return Err(wrong(format!("takes {takes}, and {is} would lose something: cast it first")));
    }
    let fitted = cast(column, takes)
        .map_err(|error| wrong(format!("has a value that does not fit: {error}")))?;
    let lost = fitted.lost().next();
    match lost {
        None => Ok(fitted.column),
        Some(row) => Err(wrong(format!(
            "has a value that does not fit: {takes} can't hold that of row {row} (the first is 0)"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Int8Type, Int64Type};
    use arrow_array::{DictionaryArray, Float64Array, ListArray, StringArray};

    use super::*;

    fn lost(column: impl Array + 'static, to: &DataType) -> Vec<usize> {
        let column: ArrayRef = Arc::new(column);
        assert!(is_convertible(column.data_type(), to), "{} {to}", column.data_type());
        cast(&column, to).unwrap().lost().collect()
    }

    #[test]
    fn rows_that_would_become_others_are_told() {
        let whole = Int64Array::from(vec![Some(1), None, Some((1 << 53) + 1), Some(-300)]);
        assert_eq!(lost(whole.clone(), &DataType::Float64), [2]);
        assert_eq!(lost(whole, &DataType::Int8), [2, 3]);
        assert_eq!(lost(Float64Array::from(vec![1.0, 0.5, f64::NAN]), &DataType::Int32), [1, 2]);
        let times = StringArray::from(vec![Some("2024-01-01"), None, Some("x"), Some("1.5")]);
        assert_eq!(lost(times, &DataType::Timestamp(TimeUnit::Second, None)), [2, 3]);
        let words: DictionaryArray<Int8Type> = ["1", "x"].into_iter().collect();
        assert!(lost(words, &DataType::Utf8).is_empty());
    }

    /// Only the list itself was looked at, and not what is in it: 300 became null, unseen.
    #[test]
    fn what_is_in_lists_is_looked_at() {
        let lists = || {
            ListArray::from_iter_primitive::<Int64Type, _, _>([
                Some(vec![Some(1), None]),
                None,
                Some(vec![Some(300)]),
            ])
        };
        let of = |item| DataType::List(Arc::new(Field::new("item", item, true)));
        assert_eq!(lost(lists(), &of(DataType::Int8)), [2]);
        assert!(lost(lists(), &of(DataType::Float64)).is_empty());
    }

    #[test]
    fn a_field_takes_values_of_its_kind_that_it_can_hold() {
        let take = |column: ArrayRef, data_type| fit(&column, &Field::new("a", data_type, true));
        let ints = || Arc::new(Int64Array::from(vec![1, 127])) as ArrayRef;
        assert_eq!(take(ints(), DataType::Int8).unwrap().data_type(), &DataType::Int8);
        assert!(take(ints(), DataType::Float64).is_ok());
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
        let error = take(floats, DataType::Int8).unwrap_err().to_string();
        assert!(error.contains("column 'a' takes Int8, and Float64 would lose"), "{error}");
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["2024-01-01"]));
        assert!(take(texts, DataType::Timestamp(TimeUnit::Second, None)).is_err());
        let large: ArrayRef = Arc::new(Int64Array::from(vec![1, (1 << 53) + 1]));
        let error = take(large, DataType::Float64).unwrap_err().to_string();
        assert!(error.contains("row 1 (the first is 0)"), "{error}");
    }

    #[test]
    fn what_a_column_is_widened_to_its_stored_rows_can_become() {
        use DataType as T;
        let types = [
            T::Boolean,
            T::Int8,
            T::Int32,
            T::Int64,
            T::UInt8,
            T::UInt64,
            T::Float32,
            T::Float64,
            T::Date32,
            T::Utf8,
            T::Binary,
            T::Timestamp(TimeUnit::Second, Some("UTC".into())),
        ];
        for (column, data) in types.iter().flat_map(|a| types.iter().map(move |b| (a, b))) {
            if let Some(wider) = wider(column, data) {
                assert!(is_convertible(column, &wider) || wider == T::Utf8, "{column} to {wider}");
            }
        }
        assert_eq!(wider(&T::Int32, &T::Int64), Some(T::Int64));
        assert_eq!(wider(&T::UInt8, &T::UInt64), Some(T::Float64));
        assert_eq!(wider(&T::UInt64, &T::Int8), Some(T::Float64));
        assert_eq!(wider(&T::Int8, &T::UInt32), Some(T::Int64));
        assert_eq!(wider(&T::Int64, &T::Int32), None);
        assert_eq!(wider(&T::Boolean, &T::Int64), Some(T::Utf8));
        assert_eq!(wider(&T::Binary, &T::Int64), None);
    }
}
