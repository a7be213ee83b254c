//! Columns of a log as SQL shows them: levels by name, all fields of an entry as one JSON object, and
//! columns of fields completed with the values that lie among the other fields.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{Result, Stream};

use super::columns::EntryColumns;
use super::field_column::FieldColumn;
use super::layout::{ColumnKind, Layout, Promoted};
use super::options::{FIELDS, LEVEL, MESSAGE, OWN_COLUMNS};
use super::value::find;
use super::{FieldValue, Level, LogsOptions, Scalar};

/// How a log's columns are shown: under the same names, in the same order as its stream's. Levels are
/// text, fields JSON objects with all of an entry's fields, by name.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{Logs, LogsOptions, ShownColumns};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// let shown = ShownColumns::of(&store.expect_stream("app")?)?;
/// // A level is a number in the stream, and its name here.
/// assert_eq!(shown.schema().field(2).data_type().to_string(), "Utf8");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ShownColumns {
    layout: Arc<Layout>,
}

impl ShownColumns {
    /// # Errors
    /// `InvalidArgument` if the stream is no log.
    pub fn of(stream: &Arc<Stream>) -> Result<Self> {
        LogsOptions::of(stream)?;
        Ok(Self::new(Arc::new(Layout::new(Arc::clone(stream)))))
    }

    pub(super) fn new(layout: Arc<Layout>) -> Self {
        Self { layout }
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        let fields = self.layout.stream.schema().fields().iter().enumerate();
        let shown = fields.map(|(column, field)| match column {
            LEVEL | FIELDS => {
                Arc::new(Field::clone(field).with_data_type(DataType::Utf8)) as Arc<Field>
            }
            _ => Arc::clone(field),
        });
        Arc::new(Schema::new(shown.collect::<Vec<_>>()))
    }

    /// The columns of the stream that one that is shown is made of, its own first.
    pub fn sources(&self, column: usize) -> Vec<usize> {
        match column {
            FIELDS => {
                let promoted = self.layout.promoted.iter().map(|known| known.column);
                std::iter::once(FIELDS).chain(promoted).collect()
            }
            _ if column >= OWN_COLUMNS => vec![column, FIELDS],
            _ => vec![column],
        }
    }

    /// A column as it is shown, of its [`sources`](Self::sources) in their order.
    pub fn show(&self, column: usize, sources: &[ArrayRef]) -> Option<ArrayRef> {
        let (first, rest) = sources.split_first()?;
        match column {
            LEVEL => level_names(first),
            FIELDS => Some(self.fields_as_json(first, rest)),
            _ => match (self.layout.promoted.iter().find(|known| known.column == column), rest) {
                (Some(known), [fields]) => filled(known, first, fields),
                _ => Some(Arc::clone(first)),
            },
        }
    }

    /// The column of all fields.
    pub fn fields_column(&self) -> usize {
        FIELDS
    }

    /// Whether one of the columns is text by itself: the message, or that of a field.
    pub fn is_text(&self, column: usize) -> bool {
        let of_field = self.layout.promoted.iter().find(|known| known.column == column);
        column == MESSAGE || of_field.is_some_and(|known| known.kind == ColumnKind::Text)
    }

    /// The columns of the stream in which the values of one field lie, whatever it is called.
    pub fn field_sources(&self, name: &str) -> Vec<usize> {
        let known = self.layout.find(name).map(|known| known.column);
        std::iter::once(FIELDS).chain(known).collect()
    }

    /// Calls `take` with each row's value of the field that is called so, of its
    /// [`field_sources`](Self::field_sources) in their order; with `None` for a row that lacks it.
    pub fn each_value(
        &self,
        name: &str,
        sources: &[ArrayRef],
        mut take: impl FnMut(Option<FieldValue<'_>>),
    ) {
        let Some((fields, rest)) = sources.split_first() else { return };
        let promoted = self.layout.find(name).map(|known| known.column);
        let columns = EntryColumns::new(Arc::clone(&self.layout), |column| match column {
            FIELDS => Some(fields),
            _ => rest.first().filter(|_| promoted == Some(column)),
        });
        for row in 0..fields.len() {
            take(columns.own_field(row, name));
        }
    }

    fn fields_as_json(&self, fields: &ArrayRef, promoted: &[ArrayRef]) -> ArrayRef {
        let columns = EntryColumns::new(Arc::clone(&self.layout), |column| match column {
            FIELDS => Some(fields),
            _ => {
                let place = self.layout.promoted.iter().position(|known| known.column == column)?;
                promoted.get(place)
            }
        });
        let mut shown = StringBuilder::new();
        let mut text = String::new();
        for row in 0..fields.len() {
            text.clear();
            // By name: what comes first in an entry depends on which fields have columns.
            match columns.write_sorted_fields_json(row, &mut text) {
                true => shown.append_value(&text),
                false => shown.append_null(),
            }
        }
        Arc::new(shown.finish())
    }
}

/// Levels by name, of severity numbers.
fn level_names(levels: &ArrayRef) -> Option<ArrayRef> {
    let levels = levels.as_primitive_opt::<Int8Type>()?;
    let names = levels.iter().map(|severity| Some(Level::of_severity(severity?)?.name()));
    Some(Arc::new(names.collect::<StringArray>()))
}

/// The column of a field, with the values of the same kind that lie among the other fields: those of
/// entries from before it had a column.
fn filled(known: &Promoted, column: &ArrayRef, fields: &ArrayRef) -> Option<ArrayRef> {
    let fields = fields.as_binary_opt::<i32>()?;
    if column.null_count() == 0 || fields.null_count() == fields.len() {
        return Some(Arc::clone(column));
    }
    let typed = FieldColumn::new(known.kind, column);
    let value = |row: usize| {
        typed.get(row).or_else(|| {
            if fields.is_null(row) {
                return None;
            }
            match find(fields.value(row), &known.name)? {
                FieldValue::Scalar(scalar) if ColumnKind::of(scalar) == Some(known.kind) => {
                    Some(scalar)
                }
                _ => None,
            }
        })
    };
    let rows = 0..column.len();
    Some(match known.kind {
        ColumnKind::Bool => Arc::new(BooleanArray::from_iter(rows.map(|row| match value(row) {
            Some(Scalar::Bool(value)) => Some(value),
            _ => None,
        }))),
        ColumnKind::Int => Arc::new(Int64Array::from_iter(rows.map(|row| match value(row) {
            Some(Scalar::Int(value)) => Some(value),
            _ => None,
        }))),
        ColumnKind::Float => Arc::new(Float64Array::from_iter(rows.map(|row| match value(row) {
            Some(Scalar::Float(value)) => Some(value),
            _ => None,
        }))),
        ColumnKind::Text => Arc::new(StringArray::from_iter(rows.map(|row| match value(row) {
            Some(Scalar::Text(value)) => Some(value),
            _ => None,
        }))),
    })
}
