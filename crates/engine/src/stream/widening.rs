//! Which types of columns may become which others.

use arrow_schema::DataType;

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
