//! Entries by their timestamps: only the blocks that have them are read.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_select::concat::concat_batches;
use timestrata_engine::{KeyRange, LeadKey, Result, ScanSpec};

use crate::batch::{bytes_of, copied, unfit};
use crate::options::TIMESTAMP;
use crate::{Entries, LogsView};

/// Bytes of entries in one batch, unless one alone has more: who reads on has no more of them in memory.
const BATCH_BYTES: usize = 32 << 20;

/// The entries with these timestamps, which ascend; in their order. Those that are gone are left out.
/// `None` if they are several, and too many for one batch.
fn ascending(view: &LogsView, timestamps: &[i64]) -> Result<Option<RecordBatch>> {
    let schema = view.layout().stream.schema();
    let mut parts = Vec::new();
    let mut bytes = 0;
    let mut left = timestamps;
    while let (Some(first), Some(last)) = (left.first(), left.last()) {
        let range = KeyRange::closed(LeadKey::Time(*first), LeadKey::Time(*last));
        let spec = ScanSpec { range, ..ScanSpec::default() };
        // The first batch only: the next of them may be many blocks away.
        let Some(batch) = view.snapshot().scan(view.stream_id(), &spec)?.next().transpose()? else {
            break;
        };
        let times = batch.column(TIMESTAMP).as_primitive::<TimestampNanosecondType>().values();
        let mut rows = Vec::new();
        let mut row = 0;
        let mut taken = 0;
        for wanted in left {
            row += times.get(row..).map_or(0, |rest| rest.partition_point(|time| time < wanted));
            match times.get(row) {
                Some(time) if time == wanted => rows.push(row as u64),
                Some(_) => {}
                None => break,
            }
            taken += 1;
        }
        left = left.get(taken..).unwrap_or_default();
        if rows.is_empty() && taken == 0 {
            break;
        }
        bytes += bytes_of(&batch, rows.iter().map(|row| *row as usize));
        if bytes > BATCH_BYTES && timestamps.len() > 1 {
            return Ok(None);
        }
        parts.push(rows_of(&batch, rows)?);
    }
    concat_batches(schema, &parts).map(Some).map_err(|error| unfit(&error))
}

/// The entries with the first of these timestamps, whatever their order; and how many those are.
pub(super) fn in_order(view: &LogsView, timestamps: &[i64]) -> Result<(Entries, usize)> {
    let mut count = timestamps.len();
    loop {
        let first = timestamps.get(..count).unwrap_or(timestamps);
        if let Some(batch) = at_once(view, first)? {
            return Ok((Entries::new(batch, Arc::clone(view.layout())), count));
        }
        count = count.div_ceil(2);
    }
}

fn at_once(view: &LogsView, timestamps: &[i64]) -> Result<Option<RecordBatch>> {
    if timestamps.is_sorted() {
        return ascending(view, timestamps);
    }
    let mut sorted = timestamps.to_vec();
    sorted.sort_unstable();
    let Some(batch) = ascending(view, &sorted)? else { return Ok(None) };
    let times = batch.column(TIMESTAMP).as_primitive::<TimestampNanosecondType>().values();
    let rows = timestamps.iter().filter_map(|time| times.binary_search(time).ok());
    rows_of(&batch, rows.map(|row| row as u64).collect()).map(Some)
}

fn rows_of(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch> {
    if rows.len() == batch.num_rows() && rows.is_sorted() {
        return Ok(batch.clone());
    }
    copied(batch, rows)
}
