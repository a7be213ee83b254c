//! One value of a row, borrowed: what the row appender and point reads take.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray, downcast_temporal_array};
use arrow_schema::{DataType, Field, TimeUnit};

/// Length of one value at most, in bytes: well inside Arrow's 32-bit offsets.
pub(crate) const CELL_BYTES_MAX: usize = 1 << 30;

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
        Some(downcast_temporal_array!(
            array => signed(array, row),
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
            T::Int8 => signed::<Int8Type>(array.as_primitive(), row),
            T::Int16 => signed::<Int16Type>(array.as_primitive(), row),
            T::Int32 => signed::<Int32Type>(array.as_primitive(), row),
            T::Int64 => signed::<Int64Type>(array.as_primitive(), row),
            T::Duration(TimeUnit::Second) => {
                signed::<DurationSecondType>(array.as_primitive(), row)
            },
            T::Duration(TimeUnit::Millisecond) => {
                signed::<DurationMillisecondType>(array.as_primitive(), row)
            },
            T::Duration(TimeUnit::Microsecond) => {
                signed::<DurationMicrosecondType>(array.as_primitive(), row)
            },
            T::Duration(TimeUnit::Nanosecond) => {
                signed::<DurationNanosecondType>(array.as_primitive(), row)
            },
            _ => return None,
        ))
    }

    /// Whether cells can express the values of a column of this type. Others (lists, structs,
    /// decimals, ...) come in record batches only.
    pub fn can_express(data_type: &DataType) -> bool {
        CellKind::of(data_type).is_some()
    }

    /// Orders two values of one column; `None` where they aren't of one kind.
    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(&b),
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (Self::UInt(a), Self::UInt(b)) => a.cmp(&b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(&b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => return None,
        })
    }
}

/// Bytes of a row's values whose columns may be of variable width.
#[inline]
pub(crate) fn variable_bytes_of(cells: &[Cell<'_>]) -> usize {
    let length = |cell: &Cell<'_>| match cell {
        Cell::Bytes(value) => value.len(),
        Cell::Text(value) => value.len(),
        _ => 0,
    };
    cells.iter().map(length).sum()
}

fn signed<T>(array: &PrimitiveArray<T>, row: usize) -> Cell<'static>
where
    T: ArrowPrimitiveType<Native: Into<i64>>,
{
    Cell::Int(array.value(row).into())
}

fn unsigned<T: ArrowPrimitiveType<Native: Into<u64>>>(array: &dyn Array, row: usize) -> Cell<'_> {
    Cell::UInt(array.as_primitive::<T>().value(row).into())
}

/// How the values of a column that cells can express are kept, whatever they stand for: by their
/// width, and whether they have a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellKind {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float32,
    Float64,
    FixedBytes(usize),
    Bytes,
    Text,
    /// Of a column that takes only null.
    Nothing,
}

impl CellKind {
    /// How a column of this type is kept; `None` for types that come in record batches only.
    #[inline]
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        use DataType as T;
        Some(match data_type {
            T::Boolean => Self::Bool,
            T::Int8 => Self::Int8,
            T::Int16 => Self::Int16,
            T::Int32 | T::Date32 | T::Time32(_) => Self::Int32,
            T::Int64 | T::Date64 | T::Time64(_) | T::Timestamp(_, _) | T::Duration(_) => {
                Self::Int64
            }
            T::UInt8 => Self::UInt8,
            T::UInt16 => Self::UInt16,
            T::UInt32 => Self::UInt32,
            T::UInt64 => Self::UInt64,
            T::Float32 => Self::Float32,
            T::Float64 => Self::Float64,
            T::FixedSizeBinary(width) => Self::FixedBytes(usize::try_from(*width).ok()?),
            T::Binary | T::LargeBinary => Self::Bytes,
            T::Utf8 | T::LargeUtf8 => Self::Text,
            _ => return None,
        })
    }

    /// The same, but for a column that single rows may leave null although they can't express its
    /// values: lists.
    #[inline]
    pub(crate) fn of_field(field: &Field) -> Option<Self> {
        Self::of(field.data_type()).or_else(|| {
            let takes_only_null = matches!(field.data_type(), DataType::List(_));
            (takes_only_null && field.is_nullable()).then_some(Self::Nothing)
        })
    }

    /// Gives the bytes of a value to `take`, as the log has them; false, and nothing is given, if a column of
    /// this kind takes no such value. Null is the column's to take, and not one here.
    ///
    /// The one list of what fits: who only asks lets `take` do nothing, which leaves the checks.
    #[inline]
    pub(crate) fn put(self, cell: Cell<'_>, mut take: impl FnMut(&[u8])) -> bool {
        let take = &mut take;
        match (self, cell) {
            (Self::Bool, Cell::Bool(value)) => put(Some([u8::from(value)]), take),
            (Self::Int8, Cell::Int(value)) => put(narrow(value, i8::to_le_bytes), take),
            (Self::Int16, Cell::Int(value)) => put(narrow(value, i16::to_le_bytes), take),
            (Self::Int32, Cell::Int(value)) => put(narrow(value, i32::to_le_bytes), take),
            (Self::Int64, Cell::Int(value)) => put(Some(value.to_le_bytes()), take),
            (Self::UInt8, Cell::UInt(value)) => put(narrow(value, u8::to_le_bytes), take),
            (Self::UInt16, Cell::UInt(value)) => put(narrow(value, u16::to_le_bytes), take),
            (Self::UInt32, Cell::UInt(value)) => put(narrow(value, u32::to_le_bytes), take),
            (Self::UInt64, Cell::UInt(value)) => put(Some(value.to_le_bytes()), take),
            // Rounded to the nearest; only what would become infinite is refused.
            (Self::Float32, Cell::Float(value)) => {
                let fits = !value.is_finite() || (value as f32).is_finite();
                put(fits.then_some((value as f32).to_le_bytes()), take)
            }
            (Self::Float64, Cell::Float(value)) => put(Some(value.to_le_bytes()), take),
            (Self::FixedBytes(width), Cell::Bytes(value)) if value.len() == width => {
                take(value);
                true
            }
            (Self::Bytes, Cell::Bytes(value)) => put_variable(value, take),
            (Self::Text, Cell::Text(value)) => put_variable(value.as_bytes(), take),
            _ => false,
        }
    }
}

/// The bytes of an integer in a narrower type, if that has it.
#[inline]
fn narrow<T, N: TryFrom<T>, const BYTES: usize>(
    value: T,
    bytes: impl FnOnce(N) -> [u8; BYTES],
) -> Option<[u8; BYTES]> {
    N::try_from(value).ok().map(bytes)
}

#[inline]
fn put<const BYTES: usize>(value: Option<[u8; BYTES]>, take: &mut impl FnMut(&[u8])) -> bool {
    value.map(|bytes| take(&bytes)).is_some()
}

/// A value behind its length, if it is not too long.
#[inline]
fn put_variable(value: &[u8], take: &mut impl FnMut(&[u8])) -> bool {
    let length = u32::try_from(value.len()).ok().filter(|_| value.len() <= CELL_BYTES_MAX);
    let Some(length) = length else { return false };
    take(&length.to_le_bytes());
    take(value);
    true
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
