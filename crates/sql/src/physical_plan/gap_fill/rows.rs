//! Rows and the gaps between them, a batch of each at a time.

use std::sync::Arc;

use datafusion::arrow::array::types::{Float64Type, Int64Type};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt32Array,
};
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{cast, concat_batches, take};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::row::{RowConverter, Rows};
use datafusion::common::Result;

use super::GapFillSpec;
use crate::functions::Fill;
use crate::physical_plan::operator::keys_of;

/// A batch of the input, the row before it in front.
struct InputBatch {
    batch: RecordBatch,
    times: Int64Array,
    keys: Option<Rows>,
    /// The next row to give.
    row: usize,
    /// The time of the next row that fills the gap before it.
    gap: Option<i64>,
}

/// One row to give.
struct OutputRow {
    /// The row that is given, or the one before the gap.
    row: u32,
    /// Set where it fills a gap.
    time: Option<i64>,
}

pub(super) struct GapFiller {
    spec: GapFillSpec,
    schema: SchemaRef,
    batch_rows: usize,
    keys: RowConverter,
    given: Option<InputBatch>,
}

impl GapFiller {
    pub(super) fn new(spec: GapFillSpec, schema: SchemaRef, batch_rows: usize) -> Result<Self> {
        let keys = keys_of(&schema, &spec.by)?;
        Ok(Self { spec, schema, batch_rows, keys, given: None })
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
        given.gap = given.gap_before(row, &self.spec);
        self.given = Some(given);
        Ok(())
    }

    /// The next rows, those that fill gaps included; `None` when more input is needed.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(given) = &mut self.given else { return Ok(None) };
        let mut rows = Vec::new();
        while rows.len() < self.batch_rows && given.row < given.batch.num_rows() {
            match given.gap {
                Some(time) => {
                    rows.push(OutputRow { row: given.row as u32 - 1, time: Some(time) });
                    given.gap = given.next_gap(time, &self.spec);
                }
                None => {
                    rows.push(OutputRow { row: given.row as u32, time: None });
                    given.row += 1;
                    given.gap = given.gap_before(given.row, &self.spec);
                }
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
    /// The first time missing between a row and the one before it.
    fn gap_before(&self, row: usize, spec: &GapFillSpec) -> Option<i64> {
        let before = row.checked_sub(1)?;
        if row >= self.batch.num_rows() || self.times.is_null(before) || self.times.is_null(row) {
            return None;
        }
        if self.keys.as_ref().is_some_and(|keys| keys.row(before) != keys.row(row)) {
            return None;
        }
        let next = spec.step.next(self.times.value(before))?;
        (next < self.times.value(row)).then_some(next)
    }

    /// The time missing after another, in the gap before the row that comes next.
    fn next_gap(&self, time: i64, spec: &GapFillSpec) -> Option<i64> {
        let next = spec.step.next(time)?;
        (next < self.times.value(self.row)).then_some(next)
    }

    fn column(&self, column: usize, rows: &[OutputRow], spec: &GapFillSpec) -> Result<ArrayRef> {
        let values = self.batch.column(column);
        if column == spec.time {
            let time = |row: &OutputRow| {
                row.time.or_else(|| {
                    let index = row.row as usize;
                    self.times.is_valid(index).then(|| self.times.value(index))
                })
            };
            let times: Int64Array = rows.iter().map(time).collect();
            return Ok(cast(&times, values.data_type())?);
        }
        let repeats = spec.is_kept(column) || spec.fill == Fill::Previous;
        let index = |row: &OutputRow| (repeats || row.time.is_none()).then_some(row.row);
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
        let fills: BooleanArray = rows.iter().map(|row| Some(row.time.is_some())).collect();
        if fills.true_count() == 0 {
            return Ok(Arc::clone(given));
        }
        let numbers = cast(values, &DataType::Float64)?;
        let numbers = numbers.as_primitive::<Float64Type>();
        let number = |row: usize| numbers.is_valid(row).then(|| numbers.value(row));
        let is_whole = values.data_type().is_integer();
        let line = |row: &OutputRow| {
            let time = row.time?;
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
