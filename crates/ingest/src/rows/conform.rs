//! Conversion of Arrow data to the types that are expected of it; values that would change are refused.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use timestrata_engine::Result;
use timestrata_values::{convert, normalize, plain_columns};

use super::assemble::Assembly;
use super::convert::{BadCell, Column, Converted, NullText, cells_of};
use super::infer::{Seen, Writing};
use super::options::ReadOptions;
use super::report::{BadRow, Place, ReadReport, invalid, shorten};
use super::schema::{ColumnLayout, FoundColumn, as_type, may_be_time};
use super::{BatchReader, Opening, Rows, names};

/// Batches of one Arrow input as they were written.
pub(super) trait RawBatches: Send {
    fn next(&mut self) -> Result<Option<RecordBatch>>;
}

/// An input of typed columns that has been begun: these, and its batches.
pub(super) struct Begun {
    pub(super) schema: SchemaRef,
    pub(super) batches: Box<dyn RawBatches>,
}

/// Gives an input's batches the types expected.
pub(super) fn open(
    input: &str,
    Begun { schema, batches: mut raw }: Begun,
    options: &ReadOptions,
    known: Option<Vec<FoundColumn>>,
    may_repeat: bool,
) -> Result<Opening> {
    let names = plain_columns(schema.fields());
    names::check(input, names.iter().map(|field| field.name().as_str()))?;
    let first = raw.next()?.map(|batch| normalize(&batch)).transpose()?;
    let is_sampled = known.is_none();
    let found = known.unwrap_or_else(|| {
        let mut columns = Columns::new(&schema, options);
        columns.add(first.as_ref(), options.sample_rows, options);
        columns.into_found()
    });
    if is_sampled && may_repeat && found.iter().any(FoundColumn::is_unclear) {
        return Ok(Opening::Unclear);
    }
    let ColumnLayout { schema, time, columns, spoils_time, notes } =
        ColumnLayout::new(input, found, options)?;
    let assembly = Assembly::new(input, &schema, time.as_deref(), options);
    let has_misfit = Arc::clone(&assembly.has_misfit);
    let batches =
        Conformed { assembly, columns, raw, rest: first, rows: 0, batch_rows: options.batch_rows };
    let (delimiter, batches) = (None, Box::new(batches));
    Ok(Opening::Ready(Rows { schema, time, spoils_time, notes, delimiter, has_misfit, batches }))
}

/// The columns as all batches show them.
pub(super) fn look_at_all(
    Begun { schema, batches: mut raw }: Begun,
    options: &ReadOptions,
) -> Result<Vec<FoundColumn>> {
    let mut columns = Columns::new(&schema, options);
    while let Some(batch) = raw.next()? {
        columns.add(Some(&normalize(&batch)?), usize::MAX, options);
    }
    Ok(columns.into_found())
}

/// What is seen of the columns of an input.
struct Columns(Vec<ColumnSeen>);

struct ColumnSeen {
    field: FieldRef,
    /// Its values, where it may be the time.
    seen: Seen,
    /// Whether a value is not of the type expected.
    has_misfit: bool,
}

impl Columns {
    fn new(schema: &Schema, options: &ReadOptions) -> Self {
        let writing = Writing::of(options);
        let column = |field: &FieldRef| ColumnSeen {
            field: Arc::clone(field),
            seen: Seen::new(&writing),
            has_misfit: false,
        };
        Self(plain_columns(schema.fields()).iter().map(column).collect())
    }

    fn add(&mut self, batch: Option<&RecordBatch>, rows_max: usize, options: &ReadOptions) {
        let expected = options.schema.as_ref();
        for ColumnSeen { field, seen, has_misfit } in &mut self.0 {
            let Some(array) = batch.and_then(|batch| batch.column_by_name(field.name())) else {
                continue;
            };
            look(array, rows_max, seen);
            seen.forget(None);
            let wanted = expected.and_then(|schema| schema.field_with_name(field.name()).ok());
            if let Some(wanted) = wanted.filter(|_| options.may_widen(field.name())) {
                let column = as_type(field.name(), seen, wanted.data_type());
                let converted = convert(array, &column, true);
                *has_misfit |= !converted.is_ok_and(|converted| converted.bad.is_empty());
            }
        }
    }

    fn into_found(self) -> Vec<FoundColumn> {
        let found = self.0.into_iter().map(|ColumnSeen { field, seen, has_misfit }| {
            FoundColumn::written(field.name(), field.data_type().clone(), seen)
                .with_misfit(has_misfit)
        });
        found.collect()
    }
}

/// What the first rows hold, of a column that may be the time.
fn look(array: &ArrayRef, rows_max: usize, seen: &mut Seen) {
    if !may_be_time(array.data_type()) {
        return;
    }
    let Some(texts) = texts_of(&array.slice(0, array.len().min(rows_max))) else { return };
    for text in texts.iter().flatten() {
        match array.data_type() {
            DataType::Utf8 => seen.add_text(text.as_bytes(), None),
            _ => seen.add(text.as_bytes(), None),
        }
    }
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
