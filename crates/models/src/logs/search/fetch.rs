//! Entries by their timestamps: only the blocks that have them are read.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use timestrata_engine::{Error, ErrorKind, KeyRange, LeadKey, Result, ScanSpec};

use crate::logs::options::TIMESTAMP;
use crate::logs::{Entries, LogsView};

/// The entries with these timestamps, which ascend; in their order. Those that are gone are left out.
pub(super) fn ascending(view: &LogsView, timestamps: &[i64]) -> Result<RecordBatch> {
    let schema = view.layout().stream.schema();
    let mut parts = Vec::new();
    let mut left = timestamps;
    while let (Some(first), Some(last)) = (left.first(), left.last()) {
        let range =
            KeyRange { lo: Some(LeadKey::Time(*first)), hi: LeadKey::Time(*last).successor() };
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
        parts.push(rows_of(&batch, rows)?);
    }
    concat_batches(schema, &parts).map_err(|error| unfit(&error))
}

/// The entries with these timestamps, in whatever order they are.
pub(super) fn in_order(view: &LogsView, timestamps: &[i64]) -> Result<Entries> {
    let layout = Arc::clone(view.layout());
    if timestamps.is_sorted() {
        return Ok(Entries::new(ascending(view, timestamps)?, layout));
    }
    let mut sorted = timestamps.to_vec();
    sorted.sort_unstable();
    let batch = ascending(view, &sorted)?;
    let times = batch.column(TIMESTAMP).as_primitive::<TimestampNanosecondType>().values();
    let rows = timestamps.iter().filter_map(|time| times.binary_search(time).ok());
    let rows = rows.map(|row| row as u64).collect();
    Ok(Entries::new(rows_of(&batch, rows)?, layout))
}

fn rows_of(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch> {
    if rows.len() == batch.num_rows() && rows.is_sorted() {
        return Ok(batch.clone());
    }
    take_record_batch(batch, &UInt64Array::from(rows)).map_err(|error| unfit(&error))
}

pub(super) fn unfit(error: &ArrowError) -> Error {
    Error::new(ErrorKind::TooLarge, format!("the entries don't fit into one batch: {error}"))
}
