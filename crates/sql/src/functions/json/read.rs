//! As what a value of a document is read: text, a number, a truth value, JSON.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringViewBuilder,
};
use datafusion::arrow::datatypes::DataType;
use jiter::Jiter;
use timestrata_values::cbor;

use super::path::{Document, length};

/// Whole numbers that a float tells apart from their neighbours.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// As what a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum JsonRead {
    /// Text as it is, anything else as its JSON; null is none.
    Text,
    /// Text only.
    Str,
    /// Its JSON.
    Json,
    Int,
    Float,
    Bool,
    /// Whether it is there.
    Contains,
    /// How many elements or members it has.
    Length,
}

impl JsonRead {
    pub(super) const ALL: [Self; 8] = [
        Self::Text,
        Self::Str,
        Self::Json,
        Self::Int,
        Self::Float,
        Self::Bool,
        Self::Contains,
        Self::Length,
    ];

    /// The function that reads so.
    pub(super) fn function(self) -> &'static str {
        match self {
            Self::Text => "json_as_text",
            Self::Str => "json_get_str",
            Self::Json => "json_get_json",
            Self::Int => "json_get_int",
            Self::Float => "json_get_float",
            Self::Bool => "json_get_bool",
            Self::Contains => "json_contains",
            Self::Length => "json_length",
        }
    }

    pub(crate) fn data_type(self) -> DataType {
        match self {
            Self::Text | Self::Str | Self::Json => DataType::Utf8View,
            Self::Int | Self::Length => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Bool | Self::Contains => DataType::Boolean,
        }
    }
}

/// A column of values that are read one by one.
pub(crate) struct ReadValues {
    read: JsonRead,
    column: Column,
    /// The JSON of a value that isn't there as such.
    json: String,
}

enum Column {
    Text(StringViewBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
}

impl ReadValues {
    pub(crate) fn new(read: JsonRead, rows: usize) -> Self {
        let column = match read.data_type() {
            DataType::Int64 => Column::Int(Int64Builder::with_capacity(rows)),
            DataType::Float64 => Column::Float(Float64Builder::with_capacity(rows)),
            DataType::Boolean => Column::Bool(BooleanBuilder::with_capacity(rows)),
            _ => Column::Text(StringViewBuilder::with_capacity(rows)),
        };
        Self { read, column, json: String::new() }
    }

    pub(crate) fn finish(self) -> ArrayRef {
        match self.column {
            Column::Text(mut column) => Arc::new(column.finish()),
            Column::Int(mut column) => Arc::new(column.finish()),
            Column::Float(mut column) => Arc::new(column.finish()),
            Column::Bool(mut column) => Arc::new(column.finish()),
        }
    }

    /// What lies in a document at the end of a path, if anything does.
    pub(crate) fn append(&mut self, found: Option<Document<'_>>) {
        match found {
            Some(Document::Json(json)) => self.append_json(json),
            Some(Document::Cbor(item)) => {
                let mut json = std::mem::take(&mut self.json);
                json.clear();
                match cbor::write_json(item, &mut json) {
                    Ok(()) => self.append_json(&json),
                    Err(_) => self.append_absent(),
                }
                self.json = json;
            }
            None => self.append_absent(),
        }
    }

    /// The value of which this is the text in JSON.
    pub(crate) fn append_json(&mut self, json: &str) {
        match &mut self.column {
            Column::Text(column) => append_text(column, self.read, json),
            Column::Int(column) => column.append_option(match self.read {
                JsonRead::Length => length(json).and_then(|length| i64::try_from(length).ok()),
                _ => whole(json),
            }),
            Column::Float(column) => column.append_option(number(json)),
            Column::Bool(column) => column.append_option(match (self.read, json) {
                (JsonRead::Contains, _) | (_, "true") => Some(true),
                (_, "false") => Some(false),
                _ => None,
            }),
        }
    }

    /// A value that is text.
    pub(crate) fn append_plain(&mut self, text: &str) {
        match (&mut self.column, self.read) {
            (Column::Text(column), JsonRead::Text | JsonRead::Str) => column.append_value(text),
            _ => {
                let mut json = std::mem::take(&mut self.json);
                json.clear();
                cbor::write_text(text, &mut json);
                self.append_json(&json);
                self.json = json;
            }
        }
    }

    /// Nothing lies there.
    pub(crate) fn append_absent(&mut self) {
        match &mut self.column {
            Column::Bool(column) if self.read == JsonRead::Contains => column.append_value(false),
            Column::Text(column) => column.append_null(),
            Column::Int(column) => column.append_null(),
            Column::Float(column) => column.append_null(),
            Column::Bool(column) => column.append_null(),
        }
    }
}

fn append_text(column: &mut StringViewBuilder, read: JsonRead, json: &str) {
    match (read, json.as_bytes().first()) {
        (JsonRead::Json, _) => column.append_value(json),
        (_, Some(b'"')) => match Jiter::new(json.as_bytes()).next_str() {
            Ok(text) => column.append_value(text),
            Err(_) => column.append_null(),
        },
        (JsonRead::Str, _) | (_, Some(b'n') | None) => column.append_null(),
        _ => column.append_value(json),
    }
}

/// A number; none that is beyond what a float can hold.
fn number(json: &str) -> Option<f64> {
    let begins_as_number = json.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let number: f64 = json.parse().ok().filter(|_| begins_as_number)?;
    number.is_finite().then_some(number)
}

/// A whole number, also with a fraction of nothing.
#[expect(clippy::cast_possible_truncation, reason = "it is whole, and less than 2^53")]
fn whole(json: &str) -> Option<i64> {
    json.parse().ok().filter(|_| !json.starts_with('+')).or_else(|| {
        number(json)
            .filter(|number| number.fract() == 0.0 && number.abs() < EXACT_MAX)
            .map(|number| number as i64)
    })
}
