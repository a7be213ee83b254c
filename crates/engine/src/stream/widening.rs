//! Which types of columns may become which others.

use arrow_schema::DataType;

/// Whether values of a column may become those of another type: nothing is lost that the new
/// type's readers could miss.
pub(crate) fn widens(from: &DataType, to: &DataType) -> bool {
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
