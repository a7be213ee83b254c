//! The column of a field, read value by value.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, StringViewArray,
};

use super::Scalar;
use super::layout::ColumnKind;

/// A field's column whose type is told once, and not for each of its values.
#[derive(Debug, Clone)]
pub(super) enum FieldColumn {
    Bool(BooleanArray),
    Int(Int64Array),
    Float(Float64Array),
    Text(StringArray),
    /// Text, as SQL reads it.
    View(StringViewArray),
    /// Of another type than its field: it tells nothing.
    Other,
}

impl FieldColumn {
    pub(super) fn new(kind: ColumnKind, column: &ArrayRef) -> Self {
        let known = match kind {
            ColumnKind::Bool => column.as_boolean_opt().cloned().map(Self::Bool),
            ColumnKind::Int => column.as_primitive_opt().cloned().map(Self::Int),
            ColumnKind::Float => column.as_primitive_opt().cloned().map(Self::Float),
            ColumnKind::Text => match column.as_string_view_opt() {
                Some(views) => Some(Self::View(views.clone())),
                None => column.as_string_opt::<i32>().cloned().map(Self::Text),
            },
        };
        known.unwrap_or(Self::Other)
    }

    /// The value at a row.
    pub(super) fn get(&self, row: usize) -> Option<Scalar<'_>> {
        Some(match self {
            Self::Bool(column) if !column.is_null(row) => Scalar::Bool(column.value(row)),
            Self::Int(column) if !column.is_null(row) => Scalar::Int(column.value(row)),
            Self::Float(column) if !column.is_null(row) => Scalar::Float(column.value(row)),
            Self::Text(column) if !column.is_null(row) => Scalar::Text(column.value(row)),
            Self::View(column) if !column.is_null(row) => Scalar::Text(column.value(row)),
            _ => return None,
        })
    }
}
