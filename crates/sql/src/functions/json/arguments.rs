//! Documents and paths, as they come in columns.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Int64Array, StringViewArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;

use super::path::{Document, PathStep};

/// A column of documents.
pub(super) enum Documents {
    Text(StringViewArray),
    Bytes(BinaryArray),
}

impl Documents {
    pub(super) fn of(column: ArrayRef) -> Result<Self> {
        let is_binary = match column.data_type() {
            DataType::Dictionary(_, values) => values.is_binary(),
            other => other.is_binary(),
        };
        Ok(match is_binary {
            true => Self::Bytes(cast(&column, &DataType::Binary)?.as_binary().clone()),
            false => Self::Text(cast(&column, &DataType::Utf8View)?.as_string_view().clone()),
        })
    }

    pub(super) fn get(&self, row: usize) -> Option<Document<'_>> {
        match self {
            Self::Text(column) => column.is_valid(row).then(|| Document::Json(column.value(row))),
            Self::Bytes(column) => {
                column.is_valid(row).then(|| Document::of_bytes(column.value(row)))
            }
        }
    }
}

/// One step of a path: the same for all rows, or one a row.
pub(super) enum PathArgument {
    /// Null leads nowhere.
    One(Option<PathStep>),
    Keys(StringViewArray),
    Indexes(Int64Array),
}

impl PathArgument {
    pub(super) fn of(argument: &ColumnarValue) -> Result<Self> {
        Ok(match argument {
            ColumnarValue::Scalar(value) => Self::One(step_of(value)),
            ColumnarValue::Array(column) if column.data_type().is_integer() => {
                Self::Indexes(cast(column, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            ColumnarValue::Array(column) => {
                Self::Keys(cast(column, &DataType::Utf8View)?.as_string_view().clone())
            }
        })
    }

    /// The step, if it is the same for all rows.
    pub(super) fn plain(&self) -> Option<PathStep> {
        match self {
            Self::One(step) => step.clone(),
            _ => None,
        }
    }

    pub(super) fn at(&self, row: usize) -> Option<PathStep> {
        match self {
            Self::One(step) => step.clone(),
            Self::Keys(column) => {
                column.is_valid(row).then(|| PathStep::Key(column.value(row).to_owned()))
            }
            Self::Indexes(column) => {
                column.is_valid(row).then(|| PathStep::Index(column.value(row)))
            }
        }
    }
}

/// The step that a literal is.
pub(crate) fn step_of(value: &ScalarValue) -> Option<PathStep> {
    match value {
        ScalarValue::Utf8(name) | ScalarValue::Utf8View(name) | ScalarValue::LargeUtf8(name) => {
            name.clone().map(PathStep::Key)
        }
        number if number.data_type().is_integer() => {
            match number.cast_to(&DataType::Int64).ok()? {
                ScalarValue::Int64(index) => index.map(PathStep::Index),
                _ => None,
            }
        }
        _ => None,
    }
}
