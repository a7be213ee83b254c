//! What an as-of join remembers: of the right side the newest row of each key, in the batches
//! that hold them.

mod around;

use std::sync::Arc;

use datafusion::arrow::array::types::Int64Type;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, new_null_array};
use datafusion::arrow::compute::{cast, interleave};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::row::{RowConverter, Rows};
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::StreamExt;
use hashbrown::HashMap;

use self::around::RowsAround;
use super::AsofJoinSpec;
use crate::physical_plan::operator::keys_of;

/// Batches of the right side that are kept before the rows still needed are put together.
const BATCHES_MAX: usize = 64;
/// Memory of one key besides its bytes.
const KEY_OVERHEAD_BYTES: usize = 56;

/// A row that is remembered: which batch, which row of it, and its time in the common unit.
#[derive(Debug, Clone, Copy)]
struct NewestRow {
    batch: usize,
    row: usize,
    time: i128,
}

/// One side's batch, with what is compared.
struct SideBatch {
    batch: RecordBatch,
    /// In units of their column.
    times: Int64Array,
    keys: Option<Rows>,
    by: Vec<ArrayRef>,
}

impl SideBatch {
    fn new(
        batch: &RecordBatch,
        time: usize,
        by: &[usize],
        converter: &RowConverter,
    ) -> Result<Self> {
        let times = cast(batch.column(time), &DataType::Int64)?.as_primitive::<Int64Type>().clone();
        let by: Vec<ArrayRef> = by.iter().map(|column| Arc::clone(batch.column(*column))).collect();
        let keys = if by.is_empty() { None } else { Some(converter.convert_columns(&by)?) };
        Ok(Self { batch: batch.clone(), times, keys, by })
    }

    fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The time of a row in the common unit; `None` for null.
    fn time(&self, row: usize, scale: i128) -> Option<i128> {
        self.times.is_valid(row).then(|| i128::from(self.times.value(row)) * scale)
    }

    /// The key of a row; `None` where part of it is null, which is equal to nothing.
    fn key(&self, row: usize) -> Option<&[u8]> {
        match &self.keys {
            None => Some(&[]),
            Some(_) if self.by.iter().any(|column| column.is_null(row)) => None,
            Some(keys) => Some(keys.row(row).data()),
        }
    }
}

pub(super) struct JoinState {
    spec: AsofJoinSpec,
    left_keys: RowConverter,
    right_keys: RowConverter,
    left_by: Vec<usize>,
    right_by: Vec<usize>,
    right: SendableRecordBatchStream,
    is_done: bool,
    /// What of the right side has been read, and from which row on it is still to come.
    next: Option<(SideBatch, usize)>,
    /// The columns given of the batches that hold remembered rows. The first is one null row.
    batches: Vec<Vec<ArrayRef>>,
    newest: HashMap<Box<[u8]>, NewestRow>,
    /// In its place where the nearest row is wanted.
    around: RowsAround,
    key_bytes: usize,
    memory: MemoryReservation,
}

impl JoinState {
    pub(super) fn new(
        spec: AsofJoinSpec,
        (left, right): (&Schema, &Schema),
        rows: SendableRecordBatchStream,
        memory: MemoryReservation,
    ) -> Result<Self> {
        let (left_by, right_by): (Vec<usize>, Vec<usize>) = spec.by.iter().copied().unzip();
        let null = |column: &usize| new_null_array(right.field(*column).data_type(), 1);
        Ok(Self {
            left_keys: keys_of(left, &left_by)?,
            right_keys: keys_of(right, &right_by)?,
            batches: vec![spec.shown.iter().map(null).collect()],
            spec,
            left_by,
            right_by,
            right: rows,
            is_done: false,
            next: None,
            newest: HashMap::new(),
            around: RowsAround::default(),
            key_bytes: 0,
            memory,
        })
    }

    /// A batch of the left side with what belongs to its rows.
    pub(super) async fn join(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let left = SideBatch::new(batch, self.spec.left_time, &self.left_by, &self.left_keys)?;
        let mut picked: Vec<(usize, usize)> = Vec::with_capacity(left.rows());
        for row in 0..left.rows() {
            let found = match (left.time(row, self.spec.scales.0), left.key(row)) {
                (Some(time), Some(key)) if self.spec.nearest => {
                    self.nearest(time, key, &mut picked).await?
                }
                (Some(time), Some(key)) => {
                    self.advance(time, &mut picked).await?;
                    self.find(time, key)
                }
                _ => None,
            };
            picked.push(found.map_or((0, 0), |found| (found.batch, found.row)));
        }
        let joined = self.output(batch, &picked)?;
        // Few keys are put together at once, so that no batch is kept for the sake of a row.
        if self.batches.len() > 2 && self.newest.len() + self.around.len() <= BATCHES_MAX {
            self.compact(&mut [], true)?;
        }
        Ok(joined)
    }

    /// The nearest row to `time`. Of the right side so much is read ahead as may be nearer than what is known.
    async fn nearest(
        &mut self,
        time: i128,
        key: &[u8],
        picked: &mut [(usize, usize)],
    ) -> Result<Option<NewestRow>> {
        self.advance(time, picked).await?;
        let neighbours = loop {
            let neighbours = self.around.at(key, time, self.spec.allow_exact);
            if neighbours.later.is_some() {
                break neighbours;
            }
            let reach = neighbours.reach(time, self.spec.tolerance);
            match self.next_time(picked).await? {
                Some(next) if reach.is_none_or(|reach| next <= reach) => {
                    self.advance(next, picked).await?;
                }
                _ => break neighbours,
            }
        };
        let found = neighbours.nearest(time);
        let most = self.spec.tolerance;
        Ok(found.filter(|found| most.is_none_or(|most| (time - found.time).abs() <= most)))
    }

    /// The time of the row of the right side that is read next; `None` where there is none that has one.
    async fn next_time(&mut self, picked: &mut [(usize, usize)]) -> Result<Option<i128>> {
        loop {
            if let Some((side, row)) = &self.next
                && *row < side.rows()
            {
                return Ok(side.time(*row, self.spec.scales.1));
            }
            if self.is_done || !self.read(picked).await? {
                return Ok(None);
            }
        }
    }

    /// Whether a row of the right side may belong to one of the left side at `time`.
    fn is_due(&self, right: i128, time: i128) -> bool {
        if self.spec.nearest {
            return right <= time;
        }
        match (self.spec.forward, self.spec.allow_exact) {
            (false, true) => right <= time,
            (false, false) => right < time,
            (true, true) => right >= time,
            (true, false) => right > time,
        }
    }

    /// Remembers all rows of the right side that are due at `time`.
    async fn advance(&mut self, time: i128, picked: &mut [(usize, usize)]) -> Result<()> {
        loop {
            let Some((side, start)) = self.next.take() else {
                if self.is_done || !self.read(picked).await? {
                    return Ok(());
                }
                continue;
            };
            let mut row = start;
            while row < side.rows() {
                let due = match side.time(row, self.spec.scales.1) {
                    Some(right) if !self.is_due(right, time) => {
                        self.next = Some((side, row));
                        return Ok(());
                    }
                    due => due,
                };
                if let (Some(time), Some(key)) = (due, side.key(row)) {
                    self.remember(key, NewestRow { batch: self.batches.len() - 1, row, time });
                }
                row += 1;
            }
        }
    }

    fn remember(&mut self, key: &[u8], row: NewestRow) {
        if self.spec.nearest {
            return self.around.remember(key, row);
        }
        match self.newest.get_mut(key) {
            Some(known) => *known = row,
            None => {
                self.key_bytes += key.len() + KEY_OVERHEAD_BYTES;
                self.newest.insert(key.into(), row);
            }
        }
    }

    /// Reads the next batch of the right side; false at its end.
    async fn read(&mut self, picked: &mut [(usize, usize)]) -> Result<bool> {
        if self.batches.len() > BATCHES_MAX {
            self.compact(picked, false)?;
        }
        let Some(batch) = self.right.next().await.transpose()? else {
            self.is_done = true;
            return Ok(false);
        };
        let side = SideBatch::new(&batch, self.spec.right_time, &self.right_by, &self.right_keys)?;
        let shown = self.spec.shown.iter().map(|column| Arc::clone(batch.column(*column)));
        self.batches.push(shown.collect());
        self.next = Some((side, 0));
        self.account()?;
        Ok(true)
    }

    fn find(&self, time: i128, key: &[u8]) -> Option<NewestRow> {
        let found = self.newest.get(key)?;
        let apart = (time - found.time).abs();
        (self.spec.tolerance.is_none_or(|most| apart <= most)).then_some(*found)
    }

    fn output(&self, left: &RecordBatch, picked: &[(usize, usize)]) -> Result<RecordBatch> {
        let mut columns = left.columns().to_vec();
        for column in 0..self.spec.shown.len() {
            columns.push(self.pick(column, picked)?);
        }
        let options = datafusion::arrow::array::RecordBatchOptions::new()
            .with_row_count(Some(left.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.spec.schema), columns, &options)?)
    }

    /// Puts the rows that are still needed together, those `picked` for the output among them, and
    /// lets go of the batches that they are from. With `is_reading`, the last batch has rows that
    /// are still to come, and stays.
    fn compact(&mut self, picked: &mut [(usize, usize)], is_reading: bool) -> Result<()> {
        let end = self.batches.len() - usize::from(is_reading && self.batches.len() > 1);
        let mut places = Vec::new();
        let mut moved = |batch: &mut usize, row: &mut usize| {
            if (1..end).contains(batch) {
                places.push((*batch, *row));
                (*batch, *row) = (1, places.len() - 1);
            } else if *batch >= end {
                *batch = 2;
            }
        };
        let remembered = self.newest.values_mut().chain(self.around.values_mut());
        remembered.for_each(|known| moved(&mut known.batch, &mut known.row));
        picked.iter_mut().for_each(|(batch, row)| moved(batch, row));
        let kept = (0..self.spec.shown.len())
            .map(|column| self.pick(column, &places))
            .collect::<Result<Vec<_>>>()?;
        let reading = self.batches.split_off(end);
        self.batches.truncate(1);
        self.batches.push(kept);
        self.batches.extend(reading);
        self.account()
    }

    /// Rows of one of the columns given, from all batches.
    fn pick(&self, column: usize, places: &[(usize, usize)]) -> Result<ArrayRef> {
        let parts = self.batches.iter().filter_map(|batch| batch.get(column).map(AsRef::as_ref));
        let parts: Vec<&dyn Array> = parts.collect();
        Ok(interleave(&parts, places)?)
    }

    fn account(&mut self) -> Result<()> {
        let arrays = self.batches.iter().flatten().map(|array| array.get_array_memory_size());
        let bytes = arrays.sum::<usize>() + self.key_bytes + self.around.bytes();
        self.memory.try_resize(bytes)
    }
}
