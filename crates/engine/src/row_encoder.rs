//! Single rows added to changes, without a batch for them.

use std::sync::Arc;

use timestrata_format::wal::EntryKind;

use crate::encoded_rows::{ENCODED_BYTES_MAX, EncodedRows};
use crate::memtable::{check_keys, check_row};
use crate::wal::RowLayout;
use crate::{Cell, Changes, Result, Stream};

const FEW_ROWS: usize = 16;

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
    /// Whether so many rows, with so many bytes of text and the like, are added sooner one by one than put in a batch: of more rows, and
    /// of larger ones, a batch takes less.
    #[must_use]
    pub fn suits(rows: usize, bytes: usize) -> bool {
        rows <= FEW_ROWS && bytes <= ENCODED_BYTES_MAX
    }

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
            && last.kind() == kind
            && Arc::ptr_eq(last.stream(), &self.stream)
        {
            return last.push(encode);
        }
        let mut rows = EncodedRows::new(Arc::clone(&self.stream), Arc::clone(layout), kind);
        rows.push(encode)?;
        changes.push_rows(rows);
        Ok(())
    }
}
