//! The rows of a change, from where they are to batches.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;
use timestrata_format::DecodeError;
use timestrata_format::wal::EntryKind;

use super::change::{ChangeKind, Content, EncodedEntry, StreamChange};
use crate::memtable::RowBatch;
use crate::scan::{Source, merge_sources};
use crate::state::RunHandle;
use crate::tombstones::Tombstones;
use crate::wal::RowLayout;
use crate::{Error, ErrorKind, Result, Stream};

/// How the log has single rows and keys of a stream.
#[derive(Debug)]
pub(super) struct EntryLayout {
    pub(super) stream: Arc<Stream>,
    rows: Option<RowLayout>,
    keys: Option<RowLayout>,
}

impl EntryLayout {
    pub(super) fn new(stream: Arc<Stream>) -> Self {
        // What has no such layout has no such entries.
        let rows = RowLayout::of(stream.schema()).ok();
        let keys = RowLayout::of_keys(&stream).ok();
        Self { stream, rows, keys }
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Rows of a change, batch by batch.
///
/// See [`crate::ChangeFeed`] for an example.
///
/// ```
/// # use timestrata_engine::{ChangeBatches, Result};
/// fn count(batches: ChangeBatches) -> Result<usize> {
///     batches.map(|batch| Ok(batch?.num_rows())).sum()
/// }
/// ```
pub struct ChangeBatches(Batches);

impl std::fmt::Debug for ChangeBatches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChangeBatches")
    }
}

impl Iterator for ChangeBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl ChangeBatches {
    pub(super) fn of(change: &StreamChange) -> Result<Self> {
        let keys = change.kind == ChangeKind::DeletedKeys;
        Ok(Self(match &change.content {
            Content::Nothing => Box::new(std::iter::empty()),
            Content::Batch(batch) => Box::new(std::iter::once(Ok(batch.clone()))),
            Content::Encoded(entry) => Box::new(std::iter::once(Ok(entry.decode()?))),
            Content::Runs(runs) => of_runs(&change.stream, runs, keys),
            Content::Rewritten(before) => Box::new(before.gone()?),
        }))
    }
}

impl EncodedEntry {
    /// The rows or keys as a batch.
    fn decode(&self) -> Result<RecordBatch> {
        let EntryLayout { stream, rows, keys } = &*self.layout;
        let (layout, mut batch) = match self.kind {
            EntryKind::DeleteKeys => (keys, RowBatch::of_keys(stream)?),
            _ => (rows, RowBatch::new(stream)?),
        };
        let has_none = || Err(self.failed(&"single rows of a stream that has none"));
        let Some(layout) = layout else { return has_none() };
        let mut pushed = Ok(());
        let decoded = layout.decode(&self.body, |cells| {
            if pushed.is_ok() {
                pushed = batch.push(cells);
            }
        });
        decoded.map_err(|error: DecodeError| Error::decode(&self.path, self.offset, error))?;
        pushed.map_err(|error| self.failed(&error))?;
        batch.finish()
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Error {
        let message = format!("a WAL entry can't be read back: {error}");
        Error::corruption(&self.path, self.offset, message)
    }
}

/// Rows, or keys that were deleted, of the runs of one commit.
fn of_runs(stream: &Arc<Stream>, runs: &[Arc<RunHandle>], keys: bool) -> Batches {
    let sources = runs.iter().map(|run| Arc::clone(run) as Arc<dyn Source>).collect();
    let merged = merge_sources(stream, sources, &Tombstones::default(), true);
    let stream = Arc::clone(stream);
    let batches = merged.map(move |batch| part_of(&stream, &batch?, keys));
    Box::new(batches.filter(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0)))
}

/// Whether all rows of a stored batch are markers of deletion, none of them, or some.
pub(super) enum Marked {
    None,
    Some,
    All,
}

/// How many rows of a stored batch are markers of deletion.
pub(super) fn marked(stream: &Stream, stored: &RecordBatch) -> Marked {
    let markers = stored.columns().last().filter(|_| stream.is_latest());
    let count = markers.and_then(|column| column.as_boolean_opt()).map(BooleanArray::true_count);
    match count {
        None | Some(0) => Marked::None,
        Some(count) if count == stored.num_rows() => Marked::All,
        Some(_) => Marked::Some,
    }
}

/// Of rows with the stored columns those that are rows, or the keys of those that are markers of deletion.
pub(super) fn part_of(stream: &Stream, stored: &RecordBatch, keys: bool) -> Result<RecordBatch> {
    let columns = stream.schema().fields().len();
    let picked = match (stream.is_latest(), marked(stream, stored)) {
        (false, _) | (_, Marked::None) if !keys => stored.clone(),
        (_, Marked::All) if keys => stored.clone(),
        _ => {
            let markers = stored.columns().last().and_then(|column| column.as_boolean_opt());
            let markers = markers.filter(|_| stream.is_latest());
            let is_wanted = |row| markers.is_some_and(|markers| markers.value(row)) == keys;
            let mask = (0..stored.num_rows()).map(is_wanted).collect::<Vec<_>>();
            filter_record_batch(stored, &BooleanArray::from(mask)).map_err(unmade)?
        }
    };
    let wanted: Vec<usize> = match keys {
        true => stream.key_columns().to_vec(),
        false => (0..columns).collect(),
    };
    picked.project(&wanted).map_err(unmade)
}

pub(super) fn unmade(error: ArrowError) -> Error {
    let message = format!("the rows of a change can't be picked: {error}");
    Error::new(ErrorKind::InvalidData, message).caused_by(error)
}
