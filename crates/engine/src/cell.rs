//! One value of a row, borrowed: what the row appender and point reads take.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::{DataType, TimeUnit};

/// A value for one column. The variant must fit the column's type exactly; nothing is cast.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// let mut appender = store.appender(kitchen)?;
/// appender.append(&[Cell::Int(4_000), Cell::Null], Durability::Written)?;
/// let row = store.snapshot()?.last(kitchen, &KeyRange::ALL)?.unwrap();
/// assert_eq!(Cell::of(row.batch.column(1), row.index), Some(Cell::Null));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Missing; only where the column is nullable.
    Null,
    /// Boolean.
    Bool(bool),
    /// Any signed integer, date, time, duration or timestamp column, in the column's unit.
    Int(i64),
    /// Any unsigned integer column.
    UInt(u64),
    /// Float32 and Float64 columns.
    Float(f64),
    /// Binary, LargeBinary and FixedSizeBinary columns.
    Bytes(&'a [u8]),
    /// Utf8 and LargeUtf8 columns.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// The value of an array at a row; `None` for a type that cells can't express, and behind the
    /// array's end.
    pub fn of(array: &'a dyn Array, row: usize) -> Option<Self> {
        use DataType as T;
        if row >= array.len() {
            return None;
        }
        if array.is_null(row) {
            return Self::can_express(array.data_type()).then_some(Self::Null);
        }
        Some(match array.data_type() {
            T::Float64 => Self::Float(array.as_primitive::<Float64Type>().value(row)),
            T::Float32 => Self::Float(array.as_primitive::<Float32Type>().value(row).into()),
            T::Utf8 => Self::Text(array.as_string::<i32>().value(row)),
            T::LargeUtf8 => Self::Text(array.as_string::<i64>().value(row)),
            T::Boolean => Self::Bool(array.as_boolean().value(row)),
            T::Binary => Self::Bytes(array.as_binary::<i32>().value(row)),
            T::LargeBinary => Self::Bytes(array.as_binary::<i64>().value(row)),
            T::FixedSizeBinary(_) => Self::Bytes(array.as_fixed_size_binary().value(row)),
            T::UInt8 => unsigned::<UInt8Type>(array, row),
            T::UInt16 => unsigned::<UInt16Type>(array, row),
            T::UInt32 => unsigned::<UInt32Type>(array, row),
            T::UInt64 => unsigned::<UInt64Type>(array, row),
            T::Int8 => signed::<Int8Type>(array, row),
            T::Int16 => signed::<Int16Type>(array, row),
            T::Int32 => signed::<Int32Type>(array, row),
            T::Int64 => signed::<Int64Type>(array, row),
            T::Date32 => signed::<Date32Type>(array, row),
            T::Date64 => signed::<Date64Type>(array, row),
            T::Time32(TimeUnit::Second) => signed::<Time32SecondType>(array, row),
            T::Time32(_) => signed::<Time32MillisecondType>(array, row),
            T::Time64(TimeUnit::Microsecond) => signed::<Time64MicrosecondType>(array, row),
            T::Time64(_) => signed::<Time64NanosecondType>(array, row),
            T::Timestamp(TimeUnit::Second, _) => signed::<TimestampSecondType>(array, row),
            T::Timestamp(TimeUnit::Millisecond, _) => {
                signed::<TimestampMillisecondType>(array, row)
            }
            T::Timestamp(TimeUnit::Microsecond, _) => {
                signed::<TimestampMicrosecondType>(array, row)
            }
            T::Timestamp(TimeUnit::Nanosecond, _) => signed::<TimestampNanosecondType>(array, row),
            T::Duration(TimeUnit::Second) => signed::<DurationSecondType>(array, row),
            T::Duration(TimeUnit::Millisecond) => signed::<DurationMillisecondType>(array, row),
            T::Duration(TimeUnit::Microsecond) => signed::<DurationMicrosecondType>(array, row),
            T::Duration(TimeUnit::Nanosecond) => signed::<DurationNanosecondType>(array, row),
            _ => return None,
        })
    }

    /// Whether cells can express the values of a column of this type. Others (lists, structs,
    /// decimals, ...) come in record batches only.
    pub fn can_express(data_type: &DataType) -> bool {
        use DataType as T;
        match data_type {
            T::Boolean
            | T::Int8
            | T::Int16
            | T::Int32
            | T::Int64
            | T::UInt8
            | T::UInt16
            | T::UInt32
            | T::UInt64
            | T::Float32
            | T::Float64
            | T::Date32
            | T::Date64
            | T::Time32(_)
            | T::Time64(_)
            | T::Timestamp(_, _)
            | T::Duration(_)
            | T::Binary
            | T::LargeBinary
            | T::Utf8
            | T::LargeUtf8 => true,
            T::FixedSizeBinary(width) => *width >= 0,
            _ => false,
        }
    }

    /// Length of a value whose column may be of variable width.
    #[inline]
    pub(crate) fn variable_bytes(&self) -> usize {
        match self {
            Self::Bytes(value) => value.len(),
            Self::Text(value) => value.len(),
            _ => 0,
        }
    }
}

fn signed<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array, row: usize) -> Cell<'_> {
    Cell::Int(array.as_primitive::<T>().value(row).into())
}

fn unsigned<T: ArrowPrimitiveType<Native: Into<u64>>>(array: &dyn Array, row: usize) -> Cell<'_> {
    Cell::UInt(array.as_primitive::<T>().value(row).into())
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        ArrayRef, Date32Array, DurationSecondArray, Float32Array, Int8Array, LargeStringArray,
        ListArray, NullArray, TimestampSecondArray, UInt64Array,
    };

    use super::*;

    #[test]
    fn a_cell_is_the_value_of_an_array() {
        let cell = |array: &dyn Array, row| format!("{:?}", Cell::of(array, row));
        assert_eq!(cell(&Int8Array::from(vec![Some(-5), None]), 0), "Some(Int(-5))");
        assert_eq!(cell(&Int8Array::from(vec![Some(-5), None]), 1), "Some(Null)");
        assert_eq!(
            cell(&UInt64Array::from(vec![u64::MAX]), 0),
            format!("Some(UInt({}))", u64::MAX)
        );
        assert_eq!(cell(&Date32Array::from(vec![7]), 0), "Some(Int(7))");
        let times = TimestampSecondArray::from(vec![i64::MIN]).with_timezone("UTC");
        assert_eq!(cell(&times, 0), format!("Some(Int({}))", i64::MIN));
        assert_eq!(cell(&DurationSecondArray::from(vec![-9]), 0), "Some(Int(-9))");
        assert_eq!(cell(&Float32Array::from(vec![0.5]), 0), "Some(Float(0.5))");
        assert_eq!(cell(&LargeStringArray::from(vec!["a"]), 0), "Some(Text(\"a\"))");
    }

    #[test]
    fn what_no_cell_can_express_is_none() {
        let lists: ListArray = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(
            [Some([Some(1)])],
        );
        let arrays: [ArrayRef; 2] =
            [std::sync::Arc::new(lists), std::sync::Arc::new(NullArray::new(1))];
        for array in arrays {
            assert_eq!(Cell::of(array.as_ref(), 0), None, "{}", array.data_type());
        }
        assert_eq!(Cell::of(&Int8Array::from(vec![1]), 1), None);
    }
}
