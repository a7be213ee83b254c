//! Reading: rows of many sorted sources, as one sorted sequence.

mod source;

use arrow_array::RecordBatch;
use timestrata_format::KeyRange;

use crate::Result;
pub(crate) use source::{Block, Source, StreamView};

/// What to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanSpec {
    /// Leading keys wanted; default all.
    pub range: KeyRange,
    /// Indexes of the columns wanted, in the order wanted; default all of the schema.
    pub columns: Option<Vec<usize>>,
    /// Rows wanted at most.
    pub limit: Option<usize>,
    /// Greatest key first; rows with equal keys come in the reverse of commit order.
    pub reverse: bool,
}

/// Record batches in key order; rows with equal keys in commit order.
pub struct Scan {}

impl Iterator for Scan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

/// One row: its place in a batch that holds all columns of the stream.
#[derive(Debug, Clone)]
pub struct Row {
    /// All columns of the stream's schema.
    pub batch: RecordBatch,
    /// Which row of the batch.
    pub index: usize,
}
