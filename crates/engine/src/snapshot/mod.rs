//! Snapshots: the whole store, frozen at one commit.

use arrow_array::RecordBatch;
use timestrata_format::{KeyRange, LeadKey, SeqNo, StreamId};

use crate::{Cell, Result, Row, Scan, ScanSpec};

/// A frozen read view of every stream at one commit. Cheap to clone, safe to share; it
/// keeps what it sees alive.
#[derive(Debug, Clone)]
pub struct Snapshot {}

impl Snapshot {
    /// The last commit it sees.
    pub fn seq(&self) -> SeqNo {
        todo!()
    }

    /// Reads rows in key order.
    ///
    /// # Errors
    /// `NotFound` for a stream that the snapshot doesn't hold, `InvalidArgument` for a bad
    /// column; the batches themselves may be `Corruption` or `Io`.
    pub fn scan(&self, stream: StreamId, spec: &ScanSpec) -> Result<Scan> {
        let _ = (stream, spec);
        todo!()
    }

    /// Exact number of rows whose leading key is in `range`; from metadata where that is exact.
    pub fn count(&self, stream: StreamId, range: &KeyRange) -> Result<u64> {
        let _ = (stream, range);
        todo!()
    }

    /// Smallest leading key in `range`.
    pub fn min_key(&self, stream: StreamId, range: &KeyRange) -> Result<Option<LeadKey>> {
        let _ = (stream, range);
        todo!()
    }

    /// Greatest leading key in `range`.
    pub fn max_key(&self, stream: StreamId, range: &KeyRange) -> Result<Option<LeadKey>> {
        let _ = (stream, range);
        todo!()
    }

    /// First row in `range`.
    pub fn first(&self, stream: StreamId, range: &KeyRange) -> Result<Option<Row>> {
        let _ = (stream, range);
        todo!()
    }

    /// Last row in `range`.
    pub fn last(&self, stream: StreamId, range: &KeyRange) -> Result<Option<Row>> {
        let _ = (stream, range);
        todo!()
    }

    /// The row with this whole key (`Latest`), or the first with it (`Keep`). `key` has one
    /// cell a key column.
    pub fn get(&self, stream: StreamId, key: &[Cell<'_>]) -> Result<Option<Row>> {
        let _ = (stream, key);
        todo!()
    }

    /// All rows of a range, as one batch. For small answers.
    pub fn collect(&self, stream: StreamId, spec: &ScanSpec) -> Result<RecordBatch> {
        let _ = (stream, spec);
        todo!()
    }
}
