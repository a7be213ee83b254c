//! Conversion of Arrow data to the types that are expected of it; values that would change are refused.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Schema};
use timestrata_engine::Result;
use timestrata_values::{convert, normalize, plain_fields};

use super::assemble::Assembly;
use super::convert::{BadCell, Column, Converted, NullText, cells_of};
use super::infer::Seen;
use super::options::ReadOptions;
use super::report::{BadRow, Place, ReadReport, invalid, shorten};
use super::schema::{ColumnLayout, FoundColumn, may_be_time};
use super::{BatchReader, Rows, names};

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
    let first = raw.next()?.map(|batch| normalize(&batch)).transpose()?;
    let array_of = |name: &str| first.as_ref().and_then(|batch| batch.column_by_name(name));
    let fields = plain_fields(schema.fields());
    let found = fields.iter().map(|field| {
        let seen = look(array_of(field.name()), options);
        FoundColumn::written(field.name(), field.data_type().clone(), seen)
    });
    let found: Vec<FoundColumn> = found.collect();
    let options = &options.widened(|field| {
        let found = found.iter().find(|found| found.name() == field.name());
        array_of(field.name()).zip(found).is_none_or(|(array, found)| {
            let converted = convert(array, &found.as_type(field.data_type()), true);
            converted.is_ok_and(|converted| converted.bad.is_empty())
        })
    });
    let ColumnLayout { schema, time, columns, .. } = ColumnLayout::new(input, found, options)?;
    let batches = Conformed {
        assembly: Assembly::new(input, &schema, options),
        columns,
        raw,
        rest: first,
        rows: 0,
        batch_rows: options.batch_rows,
    };
    Ok(Rows { schema, time, spoils_time: None, batches: Box::new(batches) })
}

/// What the first rows hold, of a column that may be the time.
fn look(first: Option<&ArrayRef>, options: &ReadOptions) -> Seen {
    let mut seen = Seen::default();
    let Some(array) = first.filter(|array| may_be_time(array.data_type())) else { return seen };
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
        let columns = batch.columns().iter().zip(&self.columns).zip(self.assembly.schema.fields());
        let columns = columns.map(|((array, column), field)| {
            let converted = convert(array, column, self.assembly.is_first_enough());
            converted.map_err(|why| {
                let name = shorten(field.name().as_bytes());
                invalid(&self.assembly.name, format!("column '{name}': {why}"))
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let place = |at: usize| Place::Row(before + 1 + u64::try_from(at).unwrap_or(0));
        self.assembly.batch(columns, batch.num_rows(), place, bad)
    }
}

impl BatchReader for Conformed {
    fn next(&mut self, report: &mut ReadReport) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.next_rows()? else { return Ok(None) };
        let mut bad = Vec::new();
        let batch = self.conform(&batch, &mut bad);
        report.skip(bad);
        batch.map(Some)
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
        return Ok(Converted { array: Arc::clone(array), bad: bad_nulls(array, column).collect() });
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

/// By a cast, of which it is known which values it changes.
fn by_cast(
    array: &ArrayRef,
    column: &Column,
) -> std::result::Result<Converted, arrow_schema::ArrowError> {
    let cast = convert::cast(array, &column.data_type)?;
    let lost = cast.lost().map(|at| {
        let why = format!("does not fit {} without loss", column.data_type);
        BadCell { at, value: text_at(array, at), why }
    });
    let mut bad: Vec<BadCell> = lost.chain(bad_nulls(array, column)).collect();
    bad.sort_by_key(|cell| cell.at);
    Ok(Converted { array: cast.column, bad })
}

/// Nulls that a column does not take.
fn bad_nulls(array: &ArrayRef, column: &Column) -> impl Iterator<Item = BadCell> {
    let nulls = (0..array.len()).filter(move |at| column.is_required && array.is_null(*at));
    let why = "is null, which this column takes not";
    nulls.map(move |at| BadCell { at, value: String::new(), why: why.to_owned() })
}

/// Values as text, floats without exponents.
fn texts_of(array: &ArrayRef) -> Option<StringArray> {
    if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        return Some(floats.iter().map(|value| value.map(|value| value.to_string())).collect());
    }
    let texts = cast_with_options(array, &DataType::Utf8, &CastOptions::default()).ok()?;
    texts.as_string_opt::<i32>().cloned()
}

fn text_at(array: &ArrayRef, at: usize) -> String {
    let texts = texts_of(&array.slice(at, 1));
    let text = texts.as_ref().map(|texts| texts.value(0)).unwrap_or_default();
    shorten(text.as_bytes())
}
