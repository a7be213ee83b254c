//! Which types of columns may become which others.

use arrow_schema::{DataType, TimeUnit};

/// Whether the rows that a stream has may be read as those of another type: what
/// [`Store::alter_stream`](crate::Store::alter_stream) lets a column become, and what older runs are read as. Nothing
/// is lost that the new type's readers could miss.
///
/// ```
/// use arrow_schema::DataType;
/// use timestrata_engine::widens;
///
/// assert!(widens(&DataType::Int32, &DataType::Int64));
/// assert!(!widens(&DataType::Int64, &DataType::Int32));
/// ```
pub fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Int8, T::Int16 | T::Int32 | T::Int64)
        | (T::Int16, T::Int32 | T::Int64)
        | (T::Int32 | T::UInt8 | T::UInt16 | T::UInt32, T::Int64)
        | (T::UInt8, T::UInt16 | T::UInt32 | T::UInt64)
        | (T::UInt16, T::UInt32 | T::UInt64)
        | (T::UInt32, T::UInt64)
        | (T::Float32, T::Float64)
        | (T::Utf8, T::LargeUtf8)
        | (T::Binary, T::LargeBinary) => true,
        // Asked for by name only: large integers are rounded.
        (from, T::Float64) => from.is_integer(),
        (from, T::Utf8) => from.is_primitive() || *from == T::Boolean,
        _ => false,
    }
}

/// How many of another unit make one of a time's own, where the other is finer and of the same zone: every time is the same time
/// in it, as far as 64 bits hold it.
///
/// ```
/// use arrow_schema::{DataType, TimeUnit};
/// use timestrata_engine::finer_times;
///
/// let times = |unit| DataType::Timestamp(unit, Some("UTC".into()));
/// let (seconds, micros) = (times(TimeUnit::Second), times(TimeUnit::Microsecond));
/// assert_eq!(finer_times(&seconds, &micros), Some(1_000_000));
/// assert_eq!(finer_times(&micros, &seconds), None);
/// ```
pub fn finer_times(from: &DataType, to: &DataType) -> Option<i64> {
    match (from, to) {
        (DataType::Timestamp(from, zone), DataType::Timestamp(to, other)) if zone == other => {
            Some(unit_ns(from) / unit_ns(to)).filter(|factor| *factor > 1)
        }
        _ => None,
    }
}

fn unit_ns(unit: &TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}
