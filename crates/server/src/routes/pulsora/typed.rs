//! Rows of text as rows of a table: each value as its column's type reads it, an instant for those that bring no
//! time, and no column of ids where all of them are to be handed out.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_table::ID_COLUMN;
use timestrata_values::instant::per_second;
use timestrata_values::{number, time};

use super::times;

/// Characters of a value that a message shows.
const SHOWN_CHARS: usize = 60;

/// What rows are to become.
#[derive(Debug)]
pub(super) struct Target {
    /// The columns that are known, with their types.
    pub(super) columns: SchemaRef,
    /// Name of the time column.
    pub(super) time: String,
    /// Whether rows are told apart by ids, and those without one are given one.
    pub(super) has_ids: bool,
    /// Whether a value of no characters is none, also in columns of text.
    pub(super) blank_is_null: bool,
}

/// Makes one batch after the other of them.
#[derive(Debug)]
pub(super) struct Typing {
    target: Target,
    /// When the rows came, nanoseconds since 1970.
    now_ns: i64,
    /// Rows that have been made.
    rows: u64,
    /// Whether rows bring ids, as the first of them do.
    brings_ids: Option<bool>,
}

impl Typing {
    pub(super) fn new(target: Target, now_ns: i64) -> Self {
        Self { target, now_ns, rows: 0, brings_ids: None }
    }

    /// Rows of text in the columns' types, `id` first and the others by their names. Columns that aren't known stay as
    /// they are.
    ///
    /// # Errors
    /// `InvalidData` that names row, column and value.
    pub(super) fn batch(&mut self, text: &RecordBatch) -> Result<RecordBatch> {
        let mut columns: Vec<(String, ArrayRef)> = Vec::with_capacity(text.num_columns() + 1);
        for (field, column) in text.schema_ref().fields().iter().zip(text.columns()) {
            let name = field.name();
            let typed = match column.as_string_opt::<i32>() {
                Some(text) if self.target.has_ids && name == ID_COLUMN => self.ids(text)?,
                Some(text) => Some(self.column(name, text)?),
                None => Some(ArrayRef::clone(column)),
            };
            columns.extend(typed.map(|typed| (name.clone(), typed)));
        }
        if self.target.has_ids && text.column_by_name(ID_COLUMN).is_none() {
            self.bring_ids(false)?;
        }
        if !columns.iter().any(|(name, _)| *name == self.target.time) {
            columns.push((self.target.time.clone(), self.arrival(text.num_rows())?));
        }
        columns.sort_by(|(one, _), (other, _)| {
            (one != ID_COLUMN, one).cmp(&(other != ID_COLUMN, other))
        });
        self.rows += text.num_rows() as u64;
        let fields = columns.iter().map(|(name, column)| {
            Field::new(name, column.data_type().clone(), *name != self.target.time)
        });
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        RecordBatch::try_new(Arc::new(schema), columns).map_err(|error| {
            Error::new(ErrorKind::InvalidData, "the rows make no batch").caused_by(error)
        })
    }

    fn column(&self, name: &str, text: &StringArray) -> Result<ArrayRef> {
        let Ok(field) = self.target.columns.field_with_name(name) else {
            return Ok(Arc::new(text.clone()));
        };
        match field.data_type() {
            DataType::Timestamp(unit, _) if name == self.target.time => {
                let now = Some(self.now(*unit));
                let times = self.times(name, text, *unit, now)?;
                time::relabeled(&times, field.data_type())
            }
            DataType::Timestamp(unit, _) => {
                let times = self.times(name, text, *unit, None)?;
                time::relabeled(&times, field.data_type())
            }
            DataType::UInt64 => {
                self.parsed::<UInt64Type>(name, text, "Integer", |text| text.parse().ok())
            }
            data_type if data_type.is_integer() => {
                self.parsed::<Int64Type>(name, text, "Integer", |text| {
                    number::integer(text.as_bytes())
                })
            }
            data_type if data_type.is_floating() => {
                self.parsed::<Float64Type>(name, text, "Float", |text| {
                    number::float(text.as_bytes())
                })
            }
            DataType::Boolean => self.truths(name, text),
            // Blanks are text in the body that makes the table, and nulls in those to come.
            _ if self.target.blank_is_null => Ok(Arc::new(
                text.iter()
                    .map(|value| value.filter(|value| !value.is_empty()))
                    .collect::<StringArray>(),
            )),
            _ => Ok(Arc::new(text.clone())),
        }
    }

    /// The values of a column, without those that are none.
    fn values<'a>(&'a self, text: &'a StringArray) -> impl Iterator<Item = Option<&'a str>> {
        let is_null = |value: &&str| self.target.blank_is_null && value.is_empty();
        text.iter().map(move |value| value.filter(|value| !is_null(value)))
    }

    fn parsed<T: ArrowPrimitiveType>(
        &self,
        name: &str,
        text: &StringArray,
        kind: &str,
        parse: impl Fn(&str) -> Option<T::Native>,
    ) -> Result<ArrayRef> {
        let mut out = PrimitiveBuilder::<T>::with_capacity(text.len());
        for (row, value) in self.values(text).enumerate() {
            let parsed =
                value.map(|value| parse(value).ok_or_else(|| self.refused(row, name, value, kind)));
            out.append_option(parsed.transpose()?);
        }
        Ok(Arc::new(out.finish()))
    }

    fn truths(&self, name: &str, text: &StringArray) -> Result<ArrayRef> {
        let mut out = BooleanBuilder::with_capacity(text.len());
        for (row, value) in self.values(text).enumerate() {
            let truth = |value: &str| {
                let truth = number::boolean(value.as_bytes());
                truth.ok_or_else(|| self.refused(row, name, value, "Boolean"))
            };
            out.append_option(value.map(truth).transpose()?);
        }
        Ok(Arc::new(out.finish()))
    }

    /// Times as numbers of a unit; `missing` stands for those that aren't there.
    fn times(
        &self,
        name: &str,
        text: &StringArray,
        unit: TimeUnit,
        missing: Option<i64>,
    ) -> Result<ArrayRef> {
        let mut out = PrimitiveBuilder::<Int64Type>::with_capacity(text.len());
        for (row, value) in self.values(text).enumerate() {
            let time = |value: &str| {
                let instant = times::instant(value);
                let time = instant.and_then(|instant| instant.to_unit(unit).ok());
                time.ok_or_else(|| self.refused(row, name, value, "Timestamp"))
            };
            out.append_option(value.map(time).transpose()?.or(missing));
        }
        Ok(Arc::new(out.finish()))
    }

    /// The ids that rows bring; `None` where none does.
    fn ids(&mut self, text: &StringArray) -> Result<Option<ArrayRef>> {
        let is_given = |value: &Option<&str>| value.is_some_and(|value| !value.trim().is_empty());
        let given = text.iter().filter(is_given).count();
        if text.is_empty() {
            return Ok(None);
        }
        self.bring_ids(given > 0)?;
        if given == 0 {
            return Ok(None);
        }
        let ids =
            self.parsed::<UInt64Type>(ID_COLUMN, text, "Id, a whole number from 1 on", |text| {
                text.parse().ok().filter(|id| *id > 0)
            })?;
        match (0..ids.len()).find(|row| ids.is_null(*row)) {
            None => Ok(Some(ids)),
            Some(row) => Err(self.mixed(self.rows + row as u64)),
        }
    }

    /// Those that are handed out could be the same as some that the body itself brings.
    fn bring_ids(&mut self, brings_ids: bool) -> Result<()> {
        match self.brings_ids.replace(brings_ids) {
            Some(before) if before != brings_ids => Err(self.mixed(self.rows)),
            _ => Ok(()),
        }
    }

    fn mixed(&self, row: u64) -> Error {
        let message = format!(
            "row {} (the first is 1): some rows of this body have an id and some have none; give all of them one, \
             or send those without apart",
            row + 1
        );
        Error::new(ErrorKind::InvalidData, message)
    }

    fn now(&self, unit: TimeUnit) -> i64 {
        const NS_PER_SECOND: i64 = 1_000_000_000;
        self.now_ns.div_euclid(NS_PER_SECOND / per_second(unit))
    }

    /// The time of rows that bring none.
    fn arrival(&self, rows: usize) -> Result<ArrayRef> {
        let known = self.target.columns.field_with_name(&self.target.time);
        let data_type = known.map_or_else(
            |_| times::data_type(TimeUnit::Microsecond),
            |field| field.data_type().clone(),
        );
        let unit = times::unit_of(&data_type).unwrap_or(TimeUnit::Microsecond);
        let times = Int64Array::from_value(self.now(unit), rows);
        time::relabeled(&(Arc::new(times) as ArrayRef), &data_type)
    }

    fn refused(&self, row: usize, name: &str, value: &str, kind: &str) -> Error {
        let shown: String = value.chars().take(SHOWN_CHARS).collect();
        let row = self.rows + row as u64 + 1;
        let message = format!(
            "row {row} (the first is 1), column '{name}': {shown:?} is no {kind}; mend it and send the body again, \
             of which nothing was written"
        );
        Error::new(ErrorKind::InvalidData, message)
    }
}
