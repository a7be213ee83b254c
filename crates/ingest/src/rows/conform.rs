//! Arrow data brought to the types that are expected of it, where nothing is lost by that.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, make_array, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::Result;
use timestrata_values::{normalize, plain_fields};

use super::assemble::Assembly;
use super::convert::{BadCell, Column, Converted, NullText, cells_of};
use super::infer::{Role, Seen, UTC};
use super::options::ReadOptions;
use super::report::{BadRow, Place, ReadReport, invalid, shorten};
use super::schema::no_time_column;
use super::{Batches, Rows, names};

/// Batches of one Arrow input as they were written.
pub(super) trait RawBatches: Send {
    fn next(&mut self) -> Result<Option<RecordBatch>>;
}

/// Gives an input's batches the types expected: `schema` is the one they are written with.
pub(super) fn open(
    input: &str,
    schema: &Schema,
    mut raw: Box<dyn RawBatches>,
    options: &ReadOptions,
) -> Result<Rows> {
    names::check(input, schema.fields().iter().map(|field| field.name().as_str()))?;
    let fields = plain_fields(schema.fields());
    let first = raw.next()?.map(|batch| normalize(&batch)).transpose()?;
    let seen: Vec<Seen> = fields.iter().map(|field| look(first.as_ref(), field, options)).collect();
    let options = &options.widened(|field| {
        let array = first.as_ref().and_then(|batch| batch.column_by_name(field.name()));
        let seen = fields.iter().zip(&seen).find(|(written, _)| written.name() == field.name());
        array.zip(seen).is_none_or(|(array, (_, seen))| {
            let epoch = seen.epoch_unit(field.name(), Role::default());
            let data_type = field.data_type().clone();
            let column = Column { data_type, epoch, is_required: false };
            convert(array, &column, true).is_ok_and(|converted| converted.bad.is_empty())
        })
    });
    let declared = options.time.as_deref();
    if let Some(time) = declared
        && fields.find(time).is_none()
    {
        return Err(no_time_column(input, time, fields.iter().map(|field| &**field.name())));
    }
    let typed = |time: Option<&str>| -> Vec<(Field, Column)> {
        fields.iter().zip(&seen).map(|(field, seen)| target(field, seen, time, options)).collect()
    };
    let as_found = typed(declared);
    let candidates =
        fields.iter().zip(&seen).zip(&as_found).map(|((written, seen), (field, _))| {
            // Numbers and text that could be the time, were it chosen.
            let inferred = seen.data_type(written.name(), Role::default());
            let is_time =
                is_readable(written.data_type()) && matches!(inferred, DataType::Timestamp(..));
            if is_time { field.clone().with_data_type(inferred) } else { field.clone() }
        });
    let candidates: Vec<Field> = candidates.collect();
    let time = declared.or_else(|| names::time_column(candidates.iter())).map(str::to_owned);
    for (field, seen) in fields.iter().zip(&seen) {
        let is_time = time.as_deref() == Some(field.name());
        let role = Role { is_time, unit: options.time_unit };
        if let Some(why) = seen.unit_problem(field.name(), role) {
            return Err(invalid(input, format!("column '{}': {why}", field.name())));
        }
    }
    let (fields, columns): (Vec<Field>, Vec<Column>) = typed(time.as_deref()).into_iter().unzip();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let batches = Conformed {
        assembly: Assembly {
            name: input.to_owned(),
            schema: Arc::clone(&schema),
            on_error: options.on_error,
        },
        columns,
        raw,
        rest: first,
        rows: 0,
        batch_rows: options.batch_rows,
    };
    Ok(Rows { schema, time, batches: Box::new(batches) })
}

/// Whether values may be times though their type doesn't say so.
fn is_readable(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int64 | DataType::UInt64 | DataType::Float64 | DataType::Utf8)
}

/// What the first rows hold, of columns that may be the time.
fn look(first: Option<&RecordBatch>, field: &Field, options: &ReadOptions) -> Seen {
    let mut seen = Seen::default();
    let array = first.and_then(|batch| batch.column_by_name(field.name()));
    let Some(array) = array.filter(|array| is_readable(array.data_type())) else { return seen };
    let sample = array.slice(0, array.len().min(options.sample_rows));
    let Some(texts) = texts_of(&sample) else { return seen };
    for text in texts.iter().flatten() {
        match array.data_type() {
            DataType::Utf8 => seen.add_text(text.as_bytes()),
            _ => seen.add(text.as_bytes()),
        }
    }
    seen
}

/// The type that a column is to have, and how it is converted.
fn target(
    field: &Field,
    seen: &Seen,
    time: Option<&str>,
    options: &ReadOptions,
) -> (Field, Column) {
    let is_time = time == Some(&**field.name());
    let role = Role { is_time, unit: options.time_unit };
    let expected = options.schema.as_ref();
    let expected = expected.and_then(|schema| schema.field_with_name(field.name()).ok());
    let data_type = match (expected, field.data_type()) {
        (Some(expected), _) => expected.data_type().clone(),
        (None, DataType::Timestamp(unit, None)) if is_time => {
            DataType::Timestamp(*unit, Some(UTC.into()))
        }
        (None, DataType::Date32 | DataType::Date64) if is_time => {
            DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
        }
        (None, other) if is_time && is_readable(other) => seen.data_type(field.name(), role),
        (None, DataType::Null) => DataType::Utf8,
        (None, other) => other.clone(),
    };
    let is_required = is_time || expected.is_some_and(|field| !field.is_nullable());
    let epoch = seen.epoch_unit(field.name(), role);
    (
        Field::new(field.name(), data_type.clone(), !is_required),
        Column { data_type, epoch, is_required },
    )
}

struct Conformed {
    assembly: Assembly,
    columns: Vec<Column>,
    raw: Box<dyn RawBatches>,
    /// What is left of a batch that is larger than those given out.
    rest: Option<RecordBatch>,
    /// Rows given out or left out.
    rows: u64,
    batch_rows: usize,
}

impl Conformed {
    fn next_rows(&mut self) -> Result<Option<RecordBatch>> {
        let batch = match self.rest.take() {
            Some(batch) => batch,
            None => match self.raw.next()? {
                Some(batch) => normalize(&batch)?,
                None => return Ok(None),
            },
        };
        if batch.num_rows() <= self.batch_rows {
            return Ok(Some(batch));
        }
        self.rest = Some(batch.slice(self.batch_rows, batch.num_rows() - self.batch_rows));
        Ok(Some(batch.slice(0, self.batch_rows)))
    }

    fn conform(&mut self, batch: &RecordBatch, bad: &mut Vec<BadRow>) -> Result<RecordBatch> {
        let before = self.rows;
        self.rows += u64::try_from(batch.num_rows()).unwrap_or(0);
        if batch.num_columns() != self.columns.len() {
            return Err(invalid(&self.assembly.name, "batches differ in their columns"));
        }
        let columns = batch.columns().iter().zip(&self.columns).map(|(array, column)| {
            let converted = convert(array, column, self.assembly.is_first_enough());
            converted.map_err(|why| {
                let at = batch.columns().iter().position(|other| Arc::ptr_eq(other, array));
                let name = at.map(|at| self.assembly.schema.field(at).name().as_str());
                let name = shorten(name.unwrap_or_default().as_bytes());
                invalid(&self.assembly.name, format!("column '{name}': {why}"))
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let place = |at: usize| Place::Row(before + 1 + u64::try_from(at).unwrap_or(0));
        self.assembly.batch(columns, batch.num_rows(), place, bad)
    }
}

impl Batches for Conformed {
    fn next(&mut self, report: &mut ReadReport) -> Option<Result<RecordBatch>> {
        loop {
            let mut bad = Vec::new();
            let batch = match self.next_rows().transpose()? {
                Ok(batch) => self.conform(&batch, &mut bad),
                Err(error) => Err(error),
            };
            report.skip(bad);
            if !matches!(&batch, Ok(batch) if batch.num_rows() == 0) {
                return Some(batch);
            }
        }
    }
}

/// An array in the type of its column; values that would change are the bad ones. An error if
/// no value could be kept.
fn convert(
    array: &ArrayRef,
    column: &Column,
    is_first_enough: bool,
) -> std::result::Result<Converted, String> {
    let (from, to) = (array.data_type(), &column.data_type);
    if from == to {
        let nulls = (0..array.len()).filter(|at| column.is_required && array.is_null(*at));
        let bad = nulls.map(|at| bad_cell(at, "", "is null, which this column takes not"));
        return Ok(Converted { array: Arc::clone(array), bad: bad.collect() });
    }
    let is_text_or_number_of_time =
        from == &DataType::Utf8 || (from.is_numeric() && matches!(to, DataType::Timestamp(..)));
    if is_text_or_number_of_time && !to.is_nested() {
        let texts = texts_of(array).ok_or_else(|| format!("{from} can't become {to}"))?;
        let texts: ArrayRef = Arc::new(texts);
        let cells =
            cells_of(&texts).map(|cells| column.convert(cells, &NullText::none(), is_first_enough));
        return cells.ok_or_else(|| format!("{from} can't become {to}"));
    }
    by_cast(array, column).map_err(|cause| format!("{from} can't become {to}: {cause}"))
}

/// By a cast there and back, which shows what is lost on the way.
fn by_cast(
    array: &ArrayRef,
    column: &Column,
) -> std::result::Result<Converted, arrow_schema::ArrowError> {
    let options = CastOptions { safe: true, ..CastOptions::default() };
    // A zone is a label: what a timestamp counts are seconds since 1970 UTC.
    let from = labelled(array, &without_zone(array.data_type()))?;
    let (there, back) = if array.data_type() == &DataType::Null {
        (new_null_array(&column.data_type, array.len()), Arc::clone(array))
    } else {
        let there = cast_with_options(&from, &without_zone(&column.data_type), &options)?;
        let back = cast_with_options(&there, from.data_type(), &options)?;
        (labelled(&there, &column.data_type)?, back)
    };
    let mut bad = Vec::new();
    if from.to_data() != back.to_data() {
        let changed = (0..from.len()).filter(|at| from.slice(*at, 1) != back.slice(*at, 1));
        for at in changed {
            let value = text_at(array, at);
            let why = format!("does not fit {} without loss", column.data_type);
            bad.push(BadCell { at, value, why });
        }
    }
    for at in (0..there.len()).filter(|at| column.is_required && array.is_null(*at)) {
        bad.push(bad_cell(at, "", "is null, which this column takes not"));
    }
    bad.sort_by_key(|cell| cell.at);
    Ok(Converted { array: there, bad })
}

fn without_zone(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Timestamp(unit, _) => DataType::Timestamp(*unit, None),
        other => other.clone(),
    }
}

/// The same values under a type that differs in its zone at most.
fn labelled(
    array: &ArrayRef,
    data_type: &DataType,
) -> std::result::Result<ArrayRef, arrow_schema::ArrowError> {
    if array.data_type() == data_type {
        return Ok(Arc::clone(array));
    }
    let data = array.to_data().into_builder().data_type(data_type.clone()).build()?;
    Ok(make_array(data))
}

fn bad_cell(at: usize, value: &str, why: &str) -> BadCell {
    BadCell { at, value: value.to_owned(), why: why.to_owned() }
}

/// Values as text, floats without exponents.
fn texts_of(array: &ArrayRef) -> Option<StringArray> {
    if let Some(texts) = array.as_string_opt::<i32>() {
        return Some(texts.clone());
    }
    if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        return Some(floats.iter().map(|value| value.map(|value| value.to_string())).collect());
    }
    if let Some(integers) = array.as_primitive_opt::<Int64Type>() {
        return Some(integers.iter().map(|value| value.map(|value| value.to_string())).collect());
    }
    let texts = cast_with_options(array, &DataType::Utf8, &CastOptions::default()).ok()?;
    texts.as_string_opt::<i32>().cloned()
}

fn text_at(array: &ArrayRef, at: usize) -> String {
    let texts = texts_of(&array.slice(at, 1));
    let text = texts.as_ref().map(|texts| texts.value(0)).unwrap_or_default();
    shorten(text.as_bytes())
}
