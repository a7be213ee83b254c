//! Single rows on their way into a commit, encoded as the log has them: a batch of one row takes twenty times as long to make,
//! to write and to read back.

use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::SeqNo;
use timestrata_format::wal::EntryKind;

use crate::key_changes::KeyChanges;
use crate::memtable::{Memtable, PreparedBatch, RowBatch, check_batch, check_keys, check_row};
use crate::wal::RowLayout;
use crate::{Cell, Changes, ErrorKind, Result, Stream};

/// Of more, a batch is made before the commit: rows are put into memory one by one, under the lock that all commits take.
const ENCODED_BYTES_MAX: usize = 16 << 10;
/// Room for a row or two from the start.
const BODY_BYTES: usize = 128;
/// Batches of so many values are written as rows.
const FEW_CELLS_MAX: usize = 256;

/// Adds single rows of one stream to changes, without a batch for them. Made by [`Store::row_encoder`](crate::Store::row_encoder).
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// use timestrata_engine::{Cell, Changes, Durability, KeyRange, Merge, Settings, Store, StreamSpec};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let fields = vec![Field::new("id", DataType::UInt64, false), Field::new("name", DataType::Utf8, true)];
/// # let spec = StreamSpec::new("people", Arc::new(Schema::new(fields)));
/// let people = store.create_stream(StreamSpec { merge: Merge::Latest, ..spec })?;
/// let encoder = store.row_encoder(people)?;
/// let mut changes = Changes::new();
/// encoder.put(&mut changes, &[Cell::UInt(7), Cell::Text("Ada")])?;
/// encoder.put(&mut changes, &[Cell::UInt(8), Cell::Text("Grace")])?;
/// encoder.delete_key(&mut changes, &[Cell::UInt(7)])?;
/// store.commit(changes, Durability::Written)?;
/// assert_eq!(store.snapshot()?.count(people, &KeyRange::ALL)?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RowEncoder {
    stream: Arc<Stream>,
    rows: Arc<RowLayout>,
    /// `None` where no key can be deleted one by one.
    keys: Option<Arc<RowLayout>>,
}

impl RowEncoder {
    /// # Errors
    /// `InvalidArgument` if the stream has a column that cells can't express.
    pub(crate) fn new(
        stream: &Arc<Stream>,
        rows: Option<Arc<RowLayout>>,
        keys: Option<Arc<RowLayout>>,
    ) -> Result<Self> {
        let rows = match rows {
            Some(rows) => rows,
            // Made once more for what it says.
            None => Arc::new(RowLayout::of(stream.schema())?),
        };
        Ok(Self { stream: Arc::clone(stream), rows, keys })
    }

    /// The stream, with the columns that rows have to have. If it gets others before the commit, that is refused.
    #[must_use]
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Adds a row behind the changes so far: one cell a column of the schema, in its order.
    ///
    /// # Errors
    /// `InvalidData` if a cell doesn't fit its column, `TooLarge` for a value of more than 1 GiB: the changes are as they were.
    pub fn put(&self, changes: &mut Changes, cells: &[Cell<'_>]) -> Result<()> {
        let encode = |out: &mut Vec<u8>| self.rows.encode(cells, out);
        // The check is made for what it says of a cell that doesn't fit.
        self.add(changes, EntryKind::Rows, &self.rows, encode)
            .or_else(|error| check_row(&self.stream, cells).and(Err(error)))
    }

    /// Deletes a key of a stream that keeps the latest row a key, behind the changes so far: one cell a key column, in key order.
    ///
    /// # Errors
    /// `InvalidArgument` where the stream keeps every row; as [`put`](Self::put).
    pub fn delete_key(&self, changes: &mut Changes, keys: &[Cell<'_>]) -> Result<()> {
        let layout = match &self.keys {
            Some(layout) => layout,
            // Made once more for what it says.
            None => &Arc::new(RowLayout::of_keys(&self.stream)?),
        };
        let encode = |out: &mut Vec<u8>| layout.encode(keys, out);
        self.add(changes, EntryKind::DeleteKeys, layout, encode)
            .or_else(|error| check_keys(&self.stream, keys).and(Err(error)))
    }

    fn add(
        &self,
        changes: &mut Changes,
        kind: EntryKind,
        layout: &Arc<RowLayout>,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        if let Some(last) = changes.last_rows()
            && last.kind == kind
            && Arc::ptr_eq(&last.stream, &self.stream)
        {
            return last.push(encode);
        }
        let (stream, layout) = (Arc::clone(&self.stream), Arc::clone(layout));
        let body = Vec::with_capacity(BODY_BYTES);
        let mut rows = EncodedRows { stream, layout, kind, body, count: 0 };
        rows.push(encode)?;
        changes.push_rows(rows);
        Ok(())
    }
}

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
        let stream = Arc::clone(stream);
        let mut rows = Self { stream, layout, kind: EntryKind::Rows, body: Vec::new(), count: 0 };
        let mut cells = Vec::with_capacity(batch.num_columns());
        for row in 0..batch.num_rows() {
            cells.clear();
            for column in batch.columns() {
                let Some(cell) = Cell::of(column.as_ref(), row) else { return Ok(None) };
                cells.push(cell);
            }
            let layout = Arc::clone(&rows.layout);
            rows.push(|out| layout.encode(&cells, out))?;
            if rows.are_many() {
                return Ok(None);
            }
        }
        Ok(Some(rows))
    }

    fn push(&mut self, encode: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
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
