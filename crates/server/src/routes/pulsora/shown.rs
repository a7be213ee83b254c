//! What these clients see of a table: its columns by their kinds, and rows in the forms of these.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_table::TableView;
use timestrata_values::time::relabeled;

use super::kind::Kind;
use super::{ARRIVAL, times};
use crate::answer::AnswerForm;

/// A table's columns that are shown.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    columns: Vec<(String, Kind)>,
    time: Option<String>,
    id: Option<String>,
}

impl Shown {
    pub(super) fn of(view: &TableView) -> Self {
        let schema = view.schema();
        let time = schema.field(view.stream().lead_column()).name();
        let id = match view.key() {
            [only] => Some(only.clone()),
            _ => None,
        };
        let kind = |field: &Arc<Field>| match field.data_type() {
            data_type if data_type.is_integer() && Some(field.name()) == id.as_ref() => Kind::Id,
            // Numbers of milliseconds are numbers to them too.
            DataType::Timestamp(TimeUnit::Millisecond, _) if field.name() == time => Kind::Integer,
            data_type => kind_of(data_type),
        };
        let is_shown = |field: &&Arc<Field>| !(field.name() == time && time == ARRIVAL);
        let shown = schema.fields().iter().filter(is_shown);
        let columns = shown.map(|field| (field.name().clone(), kind(field))).collect();
        let time = Some(time.clone()).filter(|time| time != ARRIVAL);
        Self { columns, time, id }
    }

    pub(super) fn columns(&self) -> &[(String, Kind)] {
        &self.columns
    }

    pub(super) fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The same with the columns in the order that a form has them in: members of JSON objects are sorted.
    pub(super) fn for_form(mut self, form: AnswerForm) -> Self {
        if form == AnswerForm::Json {
            self.columns.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        self
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The columns of an answer.
    pub(super) fn schema(&self, form: AnswerForm) -> SchemaRef {
        let field = |(name, kind): &(String, Kind)| {
            let data_type = match (kind, form) {
                (Kind::Id, _) => DataType::UInt64,
                (Kind::Integer, _) | (Kind::Timestamp, AnswerForm::Arrow) => DataType::Int64,
                (Kind::Float, AnswerForm::Csv | AnswerForm::Protobuf) => DataType::Utf8,
                (Kind::Float, _) => DataType::Float64,
                (Kind::Boolean, _) => DataType::Boolean,
                (Kind::Text | Kind::Timestamp, _) => DataType::Utf8,
            };
            Field::new(name, data_type, true)
        };
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    /// Rows of the table, of which all columns that are shown are found by their names, as an answer has them.
    ///
    /// # Errors
    /// `InvalidData` for values that have no such form.
    pub(super) fn rows(&self, form: AnswerForm, rows: &RecordBatch) -> Result<RecordBatch> {
        let column = |(name, kind): &(String, Kind)| {
            let column = rows.column_by_name(name).ok_or_else(|| {
                let message = format!("column '{name}' is not there any more; ask again");
                Error::new(ErrorKind::Busy, message)
            })?;
            shown(column, *kind, form)
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema(form), columns, &options).map_err(unshown)
    }
}

/// The kind of a column that is neither the id nor the time.
fn kind_of(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => Kind::Timestamp,
        DataType::Boolean => Kind::Boolean,
        // Greater ones than an Int64 holds can't be told as whole numbers.
        DataType::UInt64 => Kind::Text,
        data_type if data_type.is_integer() => Kind::Integer,
        data_type if data_type.is_floating() => Kind::Float,
        _ => Kind::Text,
    }
}

fn shown(column: &ArrayRef, kind: Kind, form: AnswerForm) -> Result<ArrayRef> {
    match (kind, form) {
        (Kind::Id, _) => cast(column, &DataType::UInt64).map_err(unshown),
        (Kind::Integer, _) if times::unit_of(column.data_type()).is_some() => {
            relabeled(column, &DataType::Int64)
        }
        (Kind::Integer, _) => cast(column, &DataType::Int64).map_err(unshown),
        (Kind::Float, _) => {
            let floats = cast(column, &DataType::Float64).map_err(unshown)?;
            Ok(match form {
                AnswerForm::Csv => float_texts(&floats, |value| value.to_string()),
                AnswerForm::Protobuf => float_texts(&floats, as_in_json),
                AnswerForm::Json | AnswerForm::Arrow => floats,
            })
        }
        (Kind::Boolean, _) => Ok(ArrayRef::clone(column)),
        (Kind::Timestamp, AnswerForm::Arrow) => times::milliseconds(column),
        (Kind::Timestamp, _) => times::texts(column),
        (Kind::Text, _) => text(column),
    }
}

/// Floats as text: in CSV all of their digits, in protobuf as JSON writes them.
fn float_texts(floats: &ArrayRef, text: impl Fn(f64) -> String) -> ArrayRef {
    let floats = floats.as_primitive::<Float64Type>().iter();
    Arc::new(floats.map(|value| value.map(&text)).collect::<StringArray>())
}

fn as_in_json(value: f64) -> String {
    zmij::Buffer::new().format(value).to_owned()
}

/// Anything as text.
fn text(column: &ArrayRef) -> Result<ArrayRef> {
    if let Ok(text) = cast(column, &DataType::Utf8) {
        return Ok(text);
    }
    let options = FormatOptions::default();
    let format = ArrayFormatter::try_new(column.as_ref(), &options).map_err(unshown)?;
    let mut out = StringBuilder::new();
    for row in 0..column.len() {
        match column.is_null(row) {
            true => out.append_null(),
            false => out.append_value(format.value(row).to_string()),
        }
    }
    Ok(Arc::new(out.finish()))
}

fn unshown(error: ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, "the rows can't be shown").caused_by(error)
}
