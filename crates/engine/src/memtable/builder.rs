//! A builder of rows: cells in, a record batch out.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use timestrata_format::SeqNo;

use super::chunk::Commits;
use super::chunks::Settled;
use super::column::ColumnBuilder;
use crate::cell::variable_bytes_of;
use crate::{Cell, Stream};

/// With fewer rows than this a seal copies, so that the builder keeps its buffers: readers
/// between single appends then cost no regrowth.
const COPIED_ROWS_MAX: usize = 1024;
/// Bytes that an idle builder may keep for the rows to come.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// Rows in the order appended, one builder a column.
#[derive(Debug)]
pub(super) struct RowBuilder {
    stream: Arc<Stream>,
    columns: Vec<ColumnBuilder>,
    rows: usize,
    /// Those of them that delete their keys, by place.
    deletions: Vec<usize>,
    variable_bytes: usize,
    row_bytes: usize,
    full: Settled,
    commits: Commits,
}

impl RowBuilder {
    /// A builder that is full at a size; `None` if the stream has a column that cells can't
    /// express.
    pub(super) fn new(stream: Arc<Stream>, full: Settled) -> Option<Self> {
        let columns: Option<Vec<_>> =
            stream.schema().fields().iter().map(|field| ColumnBuilder::new(field)).collect();
        let columns = columns?;
        let row_bytes = columns.iter().map(ColumnBuilder::row_bytes).sum();
        let commits = Commits::one(SeqNo(0));
        Some(Self {
            stream,
            columns,
            rows: 0,
            deletions: Vec::new(),
            variable_bytes: 0,
            row_bytes,
            full,
            commits,
        })
    }

    /// Appends a row that `check_row` has accepted.
    #[inline]
    pub(super) fn push(&mut self, seq: SeqNo, cells: &[Cell<'_>]) {
        if self.rows == 0 {
            self.commits.min = seq;
        }
        self.commits.max = seq;
        self.rows += 1;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.variable_bytes += column.append(*cell);
        }
    }

    /// Says of the last row that it deletes its key.
    pub(super) fn mark_deletion(&mut self) {
        self.deletions.extend(self.rows.checked_sub(1));
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.rows >= self.full.rows || self.bytes() >= self.full.bytes
    }

    /// Bytes of a row, at most.
    #[inline]
    pub(super) fn bytes_of(&self, cells: &[Cell<'_>]) -> usize {
        self.row_bytes + variable_bytes_of(cells)
    }

    /// Whether it is not full with one row more, of so many bytes.
    #[inline]
    pub(super) fn has_room(&self, row_bytes: usize) -> bool {
        self.rows + 1 < self.full.rows && self.bytes() + row_bytes < self.full.bytes
    }

    /// The column at a position of the schema.
    pub(super) fn column(&self, index: usize) -> &ColumnBuilder {
        &self.columns[index]
    }

    /// The rows so far, in the order appended, with the stored columns; `None` without rows.
    pub(super) fn seal(&mut self) -> Option<(RecordBatch, Commits)> {
        if self.rows == 0 {
            return None;
        }
        let (rows, full) = (self.rows, self.is_full());
        let variable_bytes = self.variable_bytes;
        let keep = rows < COPIED_ROWS_MAX && !full && self.allocated_bytes() <= KEPT_BYTES_MAX;
        let mut columns: Vec<ArrayRef> =
            self.columns.iter_mut().map(|column| column.finish(keep)).collect();
        if full {
            for column in &mut self.columns {
                column.reserve(rows, variable_bytes);
            }
        }
        if self.stream.is_latest() {
            let mut marks = vec![false; rows];
            for row in self.deletions.drain(..) {
                marks[row] = true;
            }
            columns.push(Arc::new(BooleanArray::from(marks)));
        }
        self.rows = 0;
        self.variable_bytes = 0;
        let schema = Arc::clone(self.stream.stored_schema());
        #[expect(clippy::expect_used, reason = "columns were built by the schema, row by row")]
        let batch = RecordBatch::try_new(schema, columns).expect("the builders follow the schema");
        Some((batch, self.commits))
    }

    /// Bytes of the rows so far. What the buffers have allocated beyond that is at most as
    /// much as a full builder needs, and not worth asking every column for at every row.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.rows * self.row_bytes + self.variable_bytes
    }

    fn allocated_bytes(&self) -> usize {
        self.columns.iter().map(ColumnBuilder::bytes).sum()
    }
}
