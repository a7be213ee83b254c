//! Single rows on their way into a commit, encoded as the log has them: a batch of one row takes twenty times as long to make,
//! to write and to read back.

use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::SeqNo;
use timestrata_format::wal::EntryKind;

use crate::cell::variable_bytes_of;
use crate::key_changes::KeyChanges;
use crate::memtable::{Memtable, PreparedBatch, RowBatch, check_batch};
use crate::wal::RowLayout;
use crate::{Cell, ErrorKind, Result, Stream};

/// Of more, a batch is made before the commit: rows are put into memory one by one, under the lock that all commits take.
pub(crate) const ENCODED_BYTES_MAX: usize = 16 << 10;
/// Room for a row or two from the start.
const BODY_BYTES: usize = 128;
/// Batches of so many values are written as rows.
const FEW_CELLS_MAX: usize = 256;

/// Rows, or keys to delete, of one stream, one behind the other as the log has them.
#[derive(Debug, Clone)]
pub(crate) struct EncodedRows {
    stream: Arc<Stream>,
    layout: Arc<RowLayout>,
    kind: EntryKind,
    body: Vec<u8>,
    count: u64,
}

impl EncodedRows {
    /// The rows of a batch, if they are few and cells can express them.
    ///
    /// # Errors
    /// `InvalidData` if a column doesn't fit.
    pub(crate) fn of_few(
        stream: &Arc<Stream>,
        layout: Option<Arc<RowLayout>>,
        batch: &RecordBatch,
    ) -> Result<Option<Self>> {
        let cells = batch.num_rows().saturating_mul(batch.num_columns());
        let Some(layout) = layout.filter(|_| cells <= FEW_CELLS_MAX) else { return Ok(None) };
        check_batch(stream, batch)?;
        let mut rows = Self::new(Arc::clone(stream), layout, EntryKind::Rows);
        let mut cells = Vec::with_capacity(batch.num_columns());
        for row in 0..batch.num_rows() {
            cells.clear();
            for column in batch.columns() {
                let Some(cell) = Cell::of(column.as_ref(), row) else { return Ok(None) };
                cells.push(cell);
            }
            // Before anything large is copied.
            if rows.body.len() + variable_bytes_of(&cells) > ENCODED_BYTES_MAX {
                return Ok(None);
            }
            let layout = Arc::clone(&rows.layout);
            rows.push(|out| layout.encode(&cells, out))?;
        }
        Ok(Some(rows))
    }

    /// None yet.
    pub(crate) fn new(stream: Arc<Stream>, layout: Arc<RowLayout>, kind: EntryKind) -> Self {
        Self { stream, layout, kind, body: Vec::with_capacity(BODY_BYTES), count: 0 }
    }

    /// Adds a row; after an error they are as they were.
    pub(crate) fn push(&mut self, encode: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let before = self.body.len();
        encode(&mut self.body).inspect_err(|_| self.body.truncate(before))?;
        self.count += 1;
        Ok(())
    }

    /// Rows that they add.
    pub(crate) fn inserted(&self) -> u64 {
        if self.kind == EntryKind::Rows { self.count } else { 0 }
    }

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// An error unless they are for this stream, which has their id, as it is.
    ///
    /// # Errors
    /// `InvalidData` where it has got other columns since, `InvalidArgument` where they are for a stream of another store.
    pub(crate) fn check_is_of(&self, stream: &Stream) -> Result<()> {
        if stream.schema_version() != self.stream.schema_version() {
            return Err(stream.has_been_altered());
        }
        let is_alike = Arc::ptr_eq(stream.stored_schema(), self.stream.stored_schema())
            || (stream.stored_schema() == self.stream.stored_schema()
                && stream.key_columns() == self.stream.key_columns());
        match is_alike {
            true => Ok(()),
            false => Err(stream.spec().error(
                ErrorKind::InvalidArgument,
                "the rows were encoded for a stream of another store: encode them by this store's",
            )),
        }
    }

    pub(crate) fn kind(&self) -> EntryKind {
        self.kind
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Whether they are so many that a batch is to be made of them.
    pub(crate) fn are_many(&self) -> bool {
        self.body.len() > ENCODED_BYTES_MAX
    }

    /// Puts them into a memtable, in their order.
    pub(crate) fn apply(&self, seq: SeqNo, active: &mut Memtable) {
        let decoded = match self.kind {
            EntryKind::DeleteKeys => {
                self.layout.decode(&self.body, |keys| active.delete_key(seq, keys))
            }
            _ => self.layout.decode(&self.body, |cells| active.append_row(seq, cells)),
        };
        debug_assert!(decoded.is_ok(), "what was encoded by a layout is decoded by it");
    }

    /// Notes the keys that they change.
    pub(crate) fn note(&self, seq: SeqNo, changes: &mut KeyChanges) {
        let decoded = match self.kind {
            EntryKind::DeleteKeys => {
                self.layout.decode(&self.body, |keys| changes.note_key(seq, keys))
            }
            _ => self.layout.decode(&self.body, |cells| changes.note_row(&self.stream, seq, cells)),
        };
        debug_assert!(decoded.is_ok(), "what was encoded by a layout is decoded by it");
    }

    /// The same as a batch.
    ///
    /// # Errors
    /// As [`RowBatch::push`].
    pub(crate) fn to_batch(&self) -> Result<PreparedBatch> {
        let deletes = self.kind == EntryKind::DeleteKeys;
        let mut rows = match deletes {
            true => RowBatch::of_keys(&self.stream)?,
            false => RowBatch::new(&self.stream)?,
        };
        let mut pushed = Ok(());
        let decoded = self.layout.decode(&self.body, |cells| {
            if pushed.is_ok() {
                pushed = rows.push(cells);
            }
        });
        pushed?;
        decoded.map_err(|error| {
            self.stream
                .spec()
                .error(ErrorKind::InvalidData, format!("its rows make no batch: {error}"))
        })?;
        match deletes {
            true => PreparedBatch::delete_keys(&self.stream, rows.finish()?),
            false => PreparedBatch::insert(&self.stream, rows.finish()?),
        }
    }
}
