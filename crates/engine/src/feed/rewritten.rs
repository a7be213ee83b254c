//! Deletes by what rows hold, where every row is kept: the log has a range delete, and behind it those of its rows that stay.
//!
//! ```text
//!    before    a  b  c  d  e  f        as of the commit before
//!    stay      a     c  d     f        what the commit adds, in the same order
//!    gone         b        e           what it was asked to delete
//! ```

use std::sync::Arc;

use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_cast::cast;
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::SortOptions;
use arrow_select::filter::filter_record_batch;
use timestrata_format::KeyRange;

use super::change::StreamChange;
use super::rows::{ChangeBatches, unmade};
use crate::{Error, ErrorKind, Result, ScanSpec, Snapshot, Stream};

/// A stream as it was before its rows were written anew.
#[derive(Debug, Clone)]
pub(super) struct Before {
    pub(super) stream: Arc<Stream>,
    pub(super) snapshot: Snapshot,
    pub(super) ranges: Vec<KeyRange>,
    /// The rows that stay.
    pub(super) stay: Vec<StreamChange>,
}

impl Before {
    /// The rows that do not stay.
    pub(super) fn gone(&self) -> Result<Gone> {
        let mut ranges = self.ranges.clone();
        ranges.sort_unstable_by_key(|range| range.lo);
        let scan = |range: KeyRange| {
            let spec = ScanSpec { range, ..ScanSpec::default() };
            self.snapshot.scan(self.stream.id(), &spec)
        };
        let scans = ranges.into_iter().map(scan).collect::<Result<Vec<_>>>()?;
        let stay = self.stay.iter().map(StreamChange::batches).collect::<Result<Vec<_>>>()?;
        Ok(Gone {
            before: Box::new(scans.into_iter().flatten()),
            stay: Box::new(stay.into_iter().flat_map(|batches: ChangeBatches| batches)),
            next: None,
            row: 0,
            is_over: false,
        })
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Gives the rows of before that are not among those that stay.
pub(super) struct Gone {
    before: Batches,
    stay: Batches,
    /// Those that stay, and which of them comes next.
    next: Option<RecordBatch>,
    row: usize,
    is_over: bool,
}

impl Iterator for Gone {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let found = match self.before.next() {
                Some(batch) => batch.and_then(|batch| self.gone_of(&batch)),
                None => {
                    self.is_over = true;
                    match self.fill() {
                        Ok(false) => return None,
                        Ok(true) => Err(unlike()),
                        Err(error) => Err(error),
                    }
                }
            };
            match found {
                Ok(gone) if gone.num_rows() == 0 => {}
                found => {
                    self.is_over |= found.is_err();
                    return Some(found);
                }
            }
        }
        None
    }
}

impl Gone {
    fn gone_of(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut gone = Vec::with_capacity(batch.num_rows());
        while gone.len() < batch.num_rows() {
            if !self.fill()? {
                gone.resize(batch.num_rows(), true);
                break;
            }
            let Some(stay) = &self.next else { continue };
            let columns = comparators(batch, stay)?;
            while gone.len() < batch.num_rows() && self.row < stay.num_rows() {
                let (row, other) = (gone.len(), self.row);
                let stays = columns.iter().all(|compare| compare(row, other).is_eq());
                self.row += usize::from(stays);
                gone.push(!stays);
            }
        }
        filter_record_batch(batch, &BooleanArray::from(gone)).map_err(unmade)
    }

    /// Has a row at hand that stays; false if there is none.
    fn fill(&mut self) -> Result<bool> {
        while self.next.as_ref().is_none_or(|batch| self.row >= batch.num_rows()) {
            let Some(batch) = self.stay.next() else { return Ok(false) };
            (self.next, self.row) = (Some(batch?), 0);
        }
        Ok(true)
    }
}

fn comparators(batch: &RecordBatch, other: &RecordBatch) -> Result<Vec<DynComparator>> {
    let columns = batch.columns().iter().zip(other.columns());
    let compare = |(column, other): (&Arc<dyn Array>, &Arc<dyn Array>)| {
        let other = match column.data_type() == other.data_type() {
            true => Arc::clone(other),
            false => cast(other, column.data_type()).map_err(unmade)?,
        };
        make_comparator(column, &other, SortOptions::default()).map_err(unmade)
    };
    columns.map(compare).collect()
}

fn unlike() -> Error {
    let message = "rows that stay are not those of before: what was deleted can't be told";
    Error::new(ErrorKind::InvalidData, message)
}
