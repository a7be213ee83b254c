//! What is told of one commit.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use timestrata_format::wal::EntryKind;
use timestrata_format::{KeyRange, SeqNo};
use timestrata_io::Bytes;

use super::rewritten::Before;
use super::rows::{ChangeBatches, EntryLayout};
use crate::state::RunHandle;
use crate::{Result, Stream};

/// What a commit has changed, in the order in which it counts: range deletes first.
///
/// See [`crate::ChangeFeed`] for an example.
///
/// ```
/// # use timestrata_engine::CommittedChanges;
/// fn rows_changed(commit: &CommittedChanges) -> timestrata_engine::Result<usize> {
///     let mut rows = 0;
///     for change in &commit.changes {
///         for batch in change.batches()? {
///             rows += batch?.num_rows();
///         }
///     }
///     Ok(rows)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct CommittedChanges {
    /// The commit. Of what is no commit (see [`ChangeKind::is_commit`]) the last one before it.
    pub seq: SeqNo,
    /// When it was made, milliseconds since the epoch; `None` of a commit that an earlier build made.
    pub time_ms: Option<u64>,
    /// What it changed.
    pub changes: Vec<StreamChange>,
}

/// What was done to a stream.
///
/// ```
/// # use timestrata_engine::ChangeKind;
/// assert!(ChangeKind::Inserted.is_commit() && !ChangeKind::Expired.is_commit());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// Rows were added; in a stream that keeps the latest row a key, in place of others.
    Inserted,
    /// Rows were deleted by their keys.
    DeletedKeys,
    /// All rows of earlier commits in a range of leading keys were deleted.
    DeletedRange,
    /// Single rows were deleted, whatever their keys: these.
    DeletedRows,
    /// Retention has let rows go, in a range of leading keys. What else is in the range stays.
    Expired,
    /// The stream was dropped.
    Dropped,
}

impl ChangeKind {
    /// Whether a commit did it. What did not may be told of again, to those who go on from a commit.
    #[must_use]
    pub fn is_commit(self) -> bool {
        !matches!(self, Self::Expired | Self::Dropped)
    }
}

/// One change to one stream.
///
/// See [`crate::ChangeFeed`] for an example.
///
/// ```
/// # use timestrata_engine::{ChangeKind, StreamChange};
/// fn describe(change: &StreamChange) -> String {
///     match change.range() {
///         Some(range) => format!("{:?} of {}: {range:?}", change.kind(), change.stream().name()),
///         None => format!("{:?} of {}", change.kind(), change.stream().name()),
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct StreamChange {
    pub(super) stream: Arc<Stream>,
    pub(super) kind: ChangeKind,
    pub(super) range: Option<KeyRange>,
    pub(super) content: Content,
}

/// Where the rows of a change are.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// There are none.
    Nothing,
    /// As the log has single rows and keys.
    Encoded(EncodedEntry),
    Batch(RecordBatch),
    /// Of a commit that went straight to runs: rows, or keys where those are what was deleted.
    Runs(Vec<Arc<RunHandle>>),
    /// Rows of before that are not among those that stay.
    Rewritten(Before),
}

/// Single rows, or keys, as the log has them.
#[derive(Debug, Clone)]
pub(super) struct EncodedEntry {
    pub(super) kind: EntryKind,
    pub(super) layout: Arc<EntryLayout>,
    pub(super) body: Bytes,
    /// Where it was, for errors.
    pub(super) path: Arc<Path>,
    pub(super) offset: u64,
}

impl StreamChange {
    /// Whether it holds nothing but what the log has of it.
    pub(super) fn is_of_log(&self) -> bool {
        !matches!(self.content, Content::Runs(_) | Content::Rewritten(_))
    }

    pub(super) fn of_range(stream: Arc<Stream>, kind: ChangeKind, range: KeyRange) -> Self {
        Self { stream, kind, range: Some(range), content: Content::Nothing }
    }

    /// The stream, with the columns that the rows have: those of when the commit was made, mostly.
    #[must_use]
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The columns of [`StreamChange::batches`].
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        match self.kind {
            ChangeKind::DeletedKeys => {
                Arc::new(Schema::new(self.stream.key_fields().cloned().collect::<Vec<_>>()))
            }
            _ => Arc::clone(self.stream.schema()),
        }
    }

    /// What was done.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        self.kind
    }

    /// The leading keys that were deleted, or among which rows have expired.
    #[must_use]
    pub fn range(&self) -> Option<KeyRange> {
        self.range
    }

    /// The rows that were added or deleted, with the stream's columns; of [`ChangeKind::DeletedKeys`] the keys, with the key columns.
    /// None of a range delete, and of what is no commit.
    ///
    /// # Errors
    /// `Corruption` where they can't be read, here or from the iterator.
    pub fn batches(&self) -> Result<ChangeBatches> {
        ChangeBatches::of(self)
    }
}
