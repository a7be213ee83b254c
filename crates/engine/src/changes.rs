//! What a commit changes.

use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::{KeyRange, SeqNo, StreamId};

use crate::encoded_rows::EncodedRows;
use crate::key_changes::UnchangedKey;
use crate::{Cell, Result, Stream};

/// How much an acknowledged commit survives. Ordered: each survives what the ones before do.
///
/// ```
/// # use timestrata_engine::Durability;
/// assert!(Durability::Buffered < Durability::Written && Durability::Written < Durability::Synced);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Durability {
    /// Nothing yet; on disk within `sync_interval`, or at `sync()`.
    Buffered,
    /// The process being killed. A power cut may lose up to `sync_interval`.
    #[default]
    Written,
    /// A power cut.
    Synced,
}

impl Durability {
    /// What is left to see to of a commit that somebody else syncs.
    pub(crate) fn without_sync(self) -> Self {
        match self {
            Self::Synced => Self::Written,
            weaker => weaker,
        }
    }
}

/// One change to one stream.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Insert {
        stream: StreamId,
        batch: RecordBatch,
    },
    DeleteRange {
        stream: StreamId,
        range: KeyRange,
    },
    DeleteKeys {
        stream: StreamId,
        keys: RecordBatch,
    },
    /// Rows, or keys to delete.
    Encoded(EncodedRows),
    /// Nothing, if a key is what it was.
    Unchanged(UnchangedKey),
    /// Nothing: see [`Changes::rewrites`].
    Rewritten {
        stream: StreamId,
    },
}

impl Change {
    /// Rows that it adds, as far as it says.
    pub(crate) fn rows_inserted(&self) -> u64 {
        match self {
            Self::Insert { batch, .. } => batch.num_rows() as u64,
            Self::Encoded(rows) => rows.inserted(),
            Self::DeleteRange { .. }
            | Self::DeleteKeys { .. }
            | Self::Unchanged(_)
            | Self::Rewritten { .. } => 0,
        }
    }
}

/// A group of changes that is committed whole or not at all.
///
/// All changes of one commit have one place in the order of commits. Range deletes hide rows
/// of *earlier* commits only: a row inserted in the same commit stays. In a `Latest` stream,
/// of several changes to one key in one commit (inserts, deletes by key) the last one added wins.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, Int64Array, RecordBatch};
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// let times = Int64Array::from(vec![4_000, 5_000]);
/// let celsius = Float64Array::from(vec![Some(22.0), None]);
/// let stream = store.stream_of(kitchen)?;
/// let rows = RecordBatch::try_new(stream.schema().clone(), vec![Arc::new(times), Arc::new(celsius)])?;
/// let changes = Changes::new().delete_range(kitchen, KeyRange::ALL).insert(kitchen, rows);
/// store.commit(changes, Durability::Written)?;
/// assert_eq!(store.snapshot()?.count(kitchen, &KeyRange::ALL)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Changes {
    pub(crate) list: Vec<Change>,
}

/// So many has a commit of some rows of each model.
const CHANGES_TOGETHER: usize = 8;

impl Changes {
    /// No changes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds all of somebody else's changes, behind these.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.list.extend(others.list);
        self
    }

    /// Adds rows. The batch has all columns of the stream's schema, in its order and types;
    /// rows may be in any order.
    #[must_use]
    pub fn insert(mut self, stream: StreamId, batch: RecordBatch) -> Self {
        self.list.push(Change::Insert { stream, batch });
        self
    }

    /// Hides every row of earlier commits whose leading key is in `range`.
    #[must_use]
    pub fn delete_range(mut self, stream: StreamId, range: KeyRange) -> Self {
        self.list.push(Change::DeleteRange { stream, range });
        self
    }

    /// Deletes rows of a `Latest` stream by key; `keys` has the key columns, in key order.
    #[must_use]
    pub fn delete_keys(mut self, stream: StreamId, keys: RecordBatch) -> Self {
        self.list.push(Change::DeleteKeys { stream, keys });
        self
    }

    /// Says that all that the commit adds to a stream are rows of the ranges that it deletes: those that stay, as they were and in
    /// their order. Who follows the changes is told of the others, and not of rows that have not changed. It changes nothing.
    #[must_use]
    pub fn rewrites(mut self, stream: StreamId) -> Self {
        self.list.push(Change::Rewritten { stream });
        self
    }

    /// Has the keys of a stream noted that later commits change, for those that ask
    /// [whether one has](Self::if_unchanged_since); it changes nothing.
    pub fn note_keys(&mut self, stream: &Arc<Stream>) {
        self.list.push(Change::Unchanged(UnchangedKey::none_of(stream)));
    }

    /// The rows that were added last, if it was rows.
    pub(crate) fn last_rows(&mut self) -> Option<&mut EncodedRows> {
        match self.list.last_mut() {
            Some(Change::Encoded(rows)) => Some(rows),
            _ => None,
        }
    }

    /// Adds rows that are encoded.
    pub(crate) fn push_rows(&mut self, rows: EncodedRows) {
        if self.list.is_empty() {
            // Of several models, from the start: to grow takes longer than to encode a row.
            self.list.reserve(CHANGES_TOGETHER);
        }
        self.list.push(Change::Encoded(rows));
    }

    /// Has the commit made only if a key of a stream that keeps the latest row a key was not changed by a commit after `since`: one
    /// cell a key column, in key order. The last commit before the key was read is the right `since`, that of the snapshot.
    ///
    /// Keys are noted from the first such commit to a stream on, in memory, some ten thousand of them. What was changed before that
    /// is not known, nor what was before the store was opened, and that is a `Conflict` too: reading again and trying again helps.
    /// Numbers of commits are not to be kept across an opening: those that a power cut took are given again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use timestrata_engine::{Cell, Changes, Durability, ErrorKind, Merge, Settings, Store, StreamSpec};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let fields = vec![Field::new("id", DataType::UInt64, false), Field::new("name", DataType::Utf8, true)];
    /// # let spec = StreamSpec::new("people", Arc::new(Schema::new(fields)));
    /// # let people = store.create_stream(StreamSpec { merge: Merge::Latest, ..spec })?;
    /// let (stream, encoder) = (store.stream_of(people)?, store.row_encoder(people)?);
    /// let since = store.snapshot()?.seq();
    /// for (name, is_first) in [("Ada", true), ("Grace", false)] {
    ///     let mut changes = Changes::new();
    ///     changes.if_unchanged_since(&stream, &[Cell::UInt(7)], since)?;
    ///     encoder.put(&mut changes, &[Cell::UInt(7), Cell::Text(name)])?;
    ///     assert_eq!(store.commit(changes, Durability::Written).is_ok(), is_first);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` where the stream keeps every row or cells can't express its key, `InvalidData` if these are no key of it.
    /// The commit fails with `InvalidArgument` if `since` is of no commit that was made.
    pub fn if_unchanged_since(
        &mut self,
        stream: &Arc<Stream>,
        keys: &[Cell<'_>],
        since: SeqNo,
    ) -> Result<()> {
        self.list.push(Change::Unchanged(UnchangedKey::new(stream, keys, since)?));
        Ok(())
    }

    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
