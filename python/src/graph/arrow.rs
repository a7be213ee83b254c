//! Blocks and edges that callers bring as columns of Arrow.

use crate::interrupt::detached;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::ArrowError;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_graph::{BlockColumns, Edge as ModelEdge, NewBlock, add_edges};

/// Reads all batches of another library; their Python code may run for each.
fn batches(rows: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let mut reader: Box<dyn RecordBatchReader + Send> =
        rows.extract::<AnyRecordBatch>()?.into_reader()?;
    let mut next = || -> Result<Option<RecordBatch>> {
        let refused = |error: ArrowError| {
            Error::new(ErrorKind::InvalidData, format!("the rows can't be read: {error}"))
        };
        let Some(batch) = reader.next().transpose().map_err(refused)? else { return Ok(None) };
        // What others made is trusted no more than bytes of a file.
        let check = |column: &ArrayRef| column.to_data().validate_full();
        batch.columns().iter().try_for_each(check).map_err(refused)?;
        Ok(Some(batch))
    };
    let mut all = Vec::new();
    while let Some(batch) = detached(rows.py(), &mut next)? {
        all.push(batch);
        rows.py().check_signals()?;
    }
    Ok(all)
}

/// Blocks as columns, read once.
#[derive(Debug)]
pub(super) struct ArrowBlocks {
    batches: Vec<BlockColumns>,
}

impl ArrowBlocks {
    pub(super) fn of(rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        let batches = batches(rows)?;
        let columns = || batches.iter().map(BlockColumns::of).collect::<Result<_>>();
        Ok(Self { batches: detached(rows.py(), columns)? })
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = NewBlock<'_>> {
        self.batches.iter().flat_map(BlockColumns::blocks)
    }
}

/// Edges of columns.
pub(super) fn edges_of(rows: &Bound<'_, PyAny>) -> PyResult<Vec<ModelEdge>> {
    let batches = batches(rows)?;
    detached(rows.py(), || {
        let mut edges = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
        batches.iter().try_for_each(|batch| add_edges(batch, &mut edges))?;
        Ok(edges)
    })
}
