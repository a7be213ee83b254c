//! Series as bytes: what the values of some columns are told apart by.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, Field};
use timestrata_engine::{Error, ErrorKind, Result};

use super::write::unmade;

/// No text: stands for null.
pub(super) const NULL: &[u8] = &[0xFF];

/// Bytes that are equal where the values of some columns are.
pub(super) enum Keys {
    Text(StringArray),
    Rows(Rows),
}

impl Keys {
    pub(super) fn get(&self, row: usize) -> &[u8] {
        match self {
            Self::Text(texts) if texts.is_valid(row) => texts.value(row).as_bytes(),
            Self::Text(_) => NULL,
            Self::Rows(rows) => rows.row(row).data(),
        }
    }
}

/// How keys are made of columns.
pub(super) enum Maker {
    Text,
    Rows(Box<RowConverter>),
}

impl Maker {
    pub(super) fn new(fields: &[&Field]) -> Result<Self> {
        if let [only] = fields
            && only.data_type() == &DataType::Utf8
        {
            return Ok(Self::Text);
        }
        let sorts = fields.iter().map(|field| SortField::new(field.data_type().clone())).collect();
        let converter = RowConverter::new(sorts).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, "columns that can't be compared")
                .caused_by(error)
        })?;
        Ok(Self::Rows(Box::new(converter)))
    }

    pub(super) fn keys(&self, columns: &[ArrayRef]) -> Result<Keys> {
        Ok(match (self, columns) {
            (Self::Text, [texts]) => Keys::Text(texts.as_string::<i32>().clone()),
            (Self::Text, _) => Keys::Text(StringArray::new_null(0)),
            (Self::Rows(converter), _) => {
                Keys::Rows(converter.convert_columns(columns).map_err(unmade)?)
            }
        })
    }
}
