//! One value of a row, borrowed: what the row appender and point reads take.

/// A value for one column. The variant must fit the column's type exactly; nothing is cast.
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
