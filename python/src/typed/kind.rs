//! What a column's values are to Python.

use arrow_schema::DataType;
use pyo3::prelude::*;
use timestrata_timelog::Unit;

use crate::error::invalid;

/// A kind of column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    UInt,
    Float,
    Text,
    Bytes,
    /// An instant: a datetime. One without a zone is UTC; a column without a zone takes no other.
    Timestamp {
        unit: Unit,
        is_aware: bool,
    },
    /// Days, or milliseconds of whole days.
    Date {
        per_day: i64,
    },
    TimeOfDay(Unit),
    Duration(Unit),
}

impl Kind {
    /// # Errors
    /// `InvalidArgumentError` for a type of which there are no single values here.
    pub(crate) fn of(data_type: &DataType) -> PyResult<Self> {
        use DataType as T;
        Ok(match data_type {
            T::Boolean => Self::Bool,
            T::Int8 | T::Int16 | T::Int32 | T::Int64 => Self::Int,
            T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => Self::UInt,
            T::Float32 | T::Float64 => Self::Float,
            T::Utf8 | T::LargeUtf8 => Self::Text,
            T::Binary | T::LargeBinary | T::FixedSizeBinary(_) => Self::Bytes,
            T::Timestamp(unit, zone) => {
                Self::Timestamp { unit: (*unit).into(), is_aware: zone.is_some() }
            }
            T::Date32 => Self::Date { per_day: 1 },
            T::Date64 => Self::Date { per_day: 86_400_000 },
            T::Time32(unit) | T::Time64(unit) => Self::TimeOfDay((*unit).into()),
            T::Duration(unit) => Self::Duration((*unit).into()),
            other => {
                return Err(invalid(format!("values of type {other} have no Python objects here")));
            }
        })
    }
}
