//! Rows and the gaps between them, a batch of each at a time.

use std::sync::Arc;

use datafusion::arrow::array::types::{Float64Type, Int64Type};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt32Array,
    new_null_array,
};
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{cast, concat_batches, take};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::arrow::row::{RowConverter, Rows};
use datafusion::common::Result;

use super::GapFillSpec;
use crate::functions::Fill;
use crate::physical_plan::operator::keys_of;

/// A row that is missing: its time, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// Between two rows of one series.
    Between(i64),
    /// Behind the last row of one.
    Behind(i64),
    /// Before the first row of one.
    Before(i64),
}

/// A batch of the input, the row before it in front.
struct InputBatch {
    batch: RecordBatch,
    times: Int64Array,
    keys: Option<Rows>,
    /// The next row to give.
    row: usize,
    /// The next row that is missing before it.
    gap: Option<Missing>,
}

/// One row to give.
struct OutputRow {
    /// The row that is given; or the one whose series it is of.
    row: u32,
    /// Set where it fills a gap.
    missing: Option<Missing>,
}

impl OutputRow {
    fn time(&self) -> Option<i64> {
        match self.missing? {
            Missing::Between(time) | Missing::Behind(time) | Missing::Before(time) => Some(time),
        }
    }

    /// Whether it has what the row before has, where that is asked for.
    fn has_previous(&self) -> bool {
        !matches!(self.missing, Some(Missing::Before(_)))
    }
}

pub(super) struct GapFiller {
    spec: GapFillSpec,
    schema: SchemaRef,
    batch_rows: usize,
    keys: RowConverter,
    given: Option<InputBatch>,
    is_done: bool,
}

impl GapFiller {
    pub(super) fn new(spec: GapFillSpec, schema: SchemaRef, batch_rows: usize) -> Result<Self> {
        let keys = keys_of(&schema, &spec.by)?;
        Ok(Self { spec, schema, batch_rows, keys, given: None, is_done: false })
    }

    /// Takes the next batch of the input; all of the one before has been given.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let before = self.given.take().and_then(|given| {
            let last = given.batch.num_rows().checked_sub(1)?;
            Some(given.batch.slice(last, 1))
        });
        let row = usize::from(before.is_some());
        let parts: Vec<&RecordBatch> = before.iter().chain([batch]).collect();
        let batch = concat_batches(&parts[parts.len() - 1].schema(), parts)?;
        let times = cast(batch.column(self.spec.time), &DataType::Int64)?;
        let by: Vec<ArrayRef> =
            self.spec.by.iter().map(|column| Arc::clone(batch.column(*column))).collect();
        let keys = if by.is_empty() { None } else { Some(self.keys.convert_columns(&by)?) };
        let times = times.as_primitive::<Int64Type>().clone();
        let mut given = InputBatch { batch, times, keys, row, gap: None };
        if row < given.batch.num_rows() {
            given.gap = given.first_missing(row, &self.spec);
        }
        self.given = Some(given);
        Ok(())
    }

    /// The input has ended, and all of it has been given. Whether there are rows behind it.
    pub(super) fn finish(&mut self) -> Result<bool> {
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(false);
        }
        let is_empty = self.given.as_ref().is_none_or(|given| given.batch.num_rows() == 0);
        if is_empty {
            return self.fill_nothing();
        }
        let Some(given) = &mut self.given else { return Ok(false) };
        given.gap = given.first_missing(given.batch.num_rows(), &self.spec);
        Ok(given.gap.is_some())
    }

    /// Without any row there is one series of nothing but gaps, unless series are told apart by what rows hold.
    fn fill_nothing(&mut self) -> Result<bool> {
        let (Some(start), Some(end), true) =
            (self.spec.start, self.spec.end, self.spec.by.is_empty())
        else {
            return Ok(false);
        };
        let bucket = self.spec.buckets.at(start);
        let first =
            bucket.and_then(|(first, next)| if first == start { Some(first) } else { next });
        let Some(first) = first.filter(|first| *first < end) else { return Ok(false) };
        // What is missing is taken from a row without anything.
        let nulls = self.schema.fields().iter();
        let nulls = nulls.map(|field| new_null_array(field.data_type(), 1)).collect();
        let fields = self.schema.fields().iter();
        let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = RecordBatch::try_new(schema, nulls)?;
        let times = Int64Array::new_null(1);
        let gap = Some(Missing::Behind(first));
        self.given = Some(InputBatch { batch, times, keys: None, row: 1, gap });
        Ok(true)
    }

    /// The next rows, those that fill gaps included; `None` when more input is needed.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(given) = &mut self.given else { return Ok(None) };
        let mut rows = Vec::new();
        while rows.len() < self.batch_rows {
            match given.gap {
                Some(missing) => {
                    let of = match missing {
                        Missing::Before(_) => given.row,
                        _ => given.row - 1,
                    };
                    rows.push(OutputRow { row: of as u32, missing: Some(missing) });
                    given.gap = given.next_missing(missing, &self.spec);
                }
                None if given.row < given.batch.num_rows() => {
                    rows.push(OutputRow { row: given.row as u32, missing: None });
                    given.row += 1;
                    if given.row < given.batch.num_rows() {
                        given.gap = given.first_missing(given.row, &self.spec);
                    }
                }
                None => break,
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let columns = (0..given.batch.num_columns())
            .map(|column| given.column(column, &rows, &self.spec))
            .collect::<Result<Vec<_>>>()?;
        Ok(Some(RecordBatch::try_new(Arc::clone(&self.schema), columns)?))
    }
}

impl InputBatch {
    /// The time of a row, if there is one and it has any.
    fn time(&self, row: Option<usize>) -> Option<i64> {
        let row = row.filter(|row| *row < self.batch.num_rows() && self.times.is_valid(*row))?;
        Some(self.times.value(row))
    }

    fn is_one_series(&self, one: usize, other: usize) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.row(one) == keys.row(other))
    }

    /// The first time missing between a row, or the end of all, and the one before it.
    fn first_missing(&self, row: usize, spec: &GapFillSpec) -> Option<Missing> {
        let before = row.checked_sub(1);
        match (self.time(before), self.time(Some(row))) {
            (Some(earlier), Some(later)) if self.is_one_series(row - 1, row) => {
                let next = spec.buckets.next(earlier)?;
                (next < later).then_some(Missing::Between(next))
            }
            (Some(earlier), _) => {
                let next = spec.buckets.next(earlier);
                let next = next.filter(|next| spec.end.is_some_and(|end| *next < end));
                next.map(Missing::Behind).or_else(|| self.missing_before(row, spec))
            }
            _ => self.missing_before(row, spec),
        }
    }

    /// The first time missing before the first row of a series.
    fn missing_before(&self, row: usize, spec: &GapFillSpec) -> Option<Missing> {
        let time = self.time(Some(row))?;
        let first = spec.buckets.first_from(spec.start?, time)?;
        (first < time).then_some(Missing::Before(first))
    }

    /// What is missing after another, before the row that comes next.
    fn next_missing(&self, missing: Missing, spec: &GapFillSpec) -> Option<Missing> {
        let upcoming = self.time(Some(self.row));
        let next = |time: i64, end: Option<i64>| {
            let next = spec.buckets.next(time);
            next.filter(|next| end.is_some_and(|end| *next < end))
        };
        match missing {
            Missing::Between(time) => next(time, upcoming).map(Missing::Between),
            Missing::Before(time) => next(time, upcoming).map(Missing::Before),
            Missing::Behind(time) => next(time, spec.end)
                .map(Missing::Behind)
                .or_else(|| self.missing_before(self.row, spec)),
        }
    }

    fn column(&self, column: usize, rows: &[OutputRow], spec: &GapFillSpec) -> Result<ArrayRef> {
        let values = self.batch.column(column);
        if column == spec.time {
            let time = |row: &OutputRow| row.time().or_else(|| self.time(Some(row.row as usize)));
            let times: Int64Array = rows.iter().map(time).collect();
            return Ok(cast(&times, values.data_type())?);
        }
        let is_kept = spec.is_kept(column);
        let repeats = is_kept || spec.fill == Fill::Previous;
        let index = |row: &OutputRow| {
            let has_value = is_kept || (row.has_previous() && repeats) || row.missing.is_none();
            has_value.then_some(row.row)
        };
        let given = take(values, &rows.iter().map(index).collect::<UInt32Array>(), None)?;
        match spec.fill == Fill::Linear && !repeats && values.data_type().is_numeric() {
            true => self.on_lines(values, &given, rows),
            false => Ok(given),
        }
    }

    /// Rows as given, those that fill gaps on the line between the rows around them.
    fn on_lines(
        &self,
        values: &ArrayRef,
        given: &ArrayRef,
        rows: &[OutputRow],
    ) -> Result<ArrayRef> {
        let is_between = |row: &OutputRow| matches!(row.missing, Some(Missing::Between(_)));
        let fills: BooleanArray = rows.iter().map(|row| Some(is_between(row))).collect();
        if fills.true_count() == 0 {
            return Ok(Arc::clone(given));
        }
        let numbers = cast(values, &DataType::Float64)?;
        let numbers = numbers.as_primitive::<Float64Type>();
        let number = |row: usize| numbers.is_valid(row).then(|| numbers.value(row));
        let is_whole = values.data_type().is_integer();
        let line = |row: &OutputRow| {
            let Some(Missing::Between(time)) = row.missing else { return None };
            let (before, after) = (row.row as usize, row.row as usize + 1);
            let (start, end) = (number(before)?, number(after)?);
            let (first, last) = (self.times.value(before), self.times.value(after));
            let part = time.abs_diff(first) as f64 / last.abs_diff(first) as f64;
            let value = start + (end - start) * part;
            Some(if is_whole { value.round() } else { value })
        };
        let lines: Float64Array = rows.iter().map(line).collect();
        let lines = cast(&lines, values.data_type())?;
        Ok(zip(&fills, &lines, given)?)
    }
}
