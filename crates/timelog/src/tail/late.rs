//! What commits add to a log, one after the other: late entries too.

use std::collections::VecDeque;
use std::fmt;

use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::SchemaRef;
use timestrata_engine::{
    ChangeBatches, ChangeFeed, ChangeKind, CommittedChanges, Error, ErrorKind, Moment, Result,
    SeqNo, StreamChange, StreamId,
};

use super::super::{Codec, EntryBlock, Timelog};
use super::cursor::Place;

/// Bytes of changes that are read at once.
const BYTES_MAX: usize = 1 << 20;

/// Goes from commit to commit of the store, and gives what they add to one log.
pub(super) struct Late {
    feed: ChangeFeed,
    stream: StreamId,
    commits: VecDeque<CommittedChanges>,
    /// Of the commit behind `done`, as far as they are still to be read.
    changes: VecDeque<StreamChange>,
    batches: Option<ChangeBatches>,
    reading: Option<SeqNo>,
    /// The last commit of which all was given, and how many rows were given behind it.
    done: SeqNo,
    rows: u64,
    /// Rows behind it that were given before.
    skip: u64,
}

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Late(behind commit {}, {} rows)", self.done, self.rows)
    }
}

/// A log as it was behind a commit.
pub(super) fn log_at(log: &Timelog, seq: SeqNo) -> Result<Timelog> {
    Timelog::open(&log.store().at(&Moment::Commit(seq))?, log.name())
}

impl Late {
    /// From behind a commit on, but for so many rows that were given of those that come then.
    pub(super) fn behind(log: &Timelog, seq: SeqNo, rows: u64) -> Result<Self> {
        Ok(Self {
            feed: log.store().changes_since(seq)?,
            stream: log.stream_id(),
            commits: VecDeque::new(),
            changes: VecDeque::new(),
            batches: None,
            reading: None,
            done: seq,
            rows,
            skip: rows,
        })
    }

    pub(super) fn place(&self) -> Place {
        Place::Behind(self.done, self.rows)
    }

    /// The place so many rows before, all of which were given at once.
    pub(super) fn place_before(&self, rows: usize) -> Place {
        Place::Behind(self.done, self.rows.saturating_sub(rows as u64))
    }

    /// The next rows; `None` where there are none by now.
    pub(super) fn next(&mut self, log: &Timelog) -> Result<Option<EntryBlock>> {
        while let Some(batch) = self.batch()? {
            let known = usize::try_from(self.skip).unwrap_or(usize::MAX).min(batch.num_rows());
            self.skip -= known as u64;
            let batch = batch.slice(known, batch.num_rows() - known);
            if batch.num_rows() > 0 {
                self.rows += batch.num_rows() as u64;
                let is_typed = log.codec() == Codec::Arrow;
                let batch = fitted(&batch, log.stream().schema())?;
                return EntryBlock::new(batch, log.unit(), is_typed).map(Some);
            }
        }
        Ok(None)
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batches) = &mut self.batches {
                match batches.next().transpose()? {
                    Some(batch) => return Ok(Some(batch)),
                    None => self.batches = None,
                }
            } else if let Some(change) = self.changes.pop_front() {
                self.batches = Some(change.batches()?);
            } else if let Some(commit) = self.reading.take() {
                (self.done, self.rows) = (commit, 0);
                self.skip = 0;
            } else if let Some(commit) = self.commits.pop_front() {
                self.begin(commit)?;
            } else {
                self.commits.extend(self.feed.poll(BYTES_MAX)?);
                if self.commits.is_empty() {
                    return Ok(None);
                }
            }
        }
    }

    fn begin(&mut self, commit: CommittedChanges) -> Result<()> {
        let of_log =
            commit.changes.into_iter().filter(|change| change.stream().id() == self.stream);
        for change in of_log {
            match change.kind() {
                ChangeKind::Inserted => self.changes.push_back(change),
                ChangeKind::Dropped => {
                    let what = format!("time log '{}' has been dropped", change.stream().name());
                    return Err(Error::new(ErrorKind::NotFound, what));
                }
                _ => {}
            }
        }
        let has_rows = !self.changes.is_empty();
        // Rows of one commit are counted from it; of those that add none there is nothing to count.
        match (has_rows, self.skip > 0) {
            (true, _) => self.reading = Some(commit.seq),
            (false, true) => {}
            (false, false) => (self.done, self.rows) = (self.done.max(commit.seq), 0),
        }
        Ok(())
    }
}

/// Rows with the columns that the log has: commits of before have fewer.
fn fitted(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    let columns = schema.fields().iter().map(|field| match batch.column_by_name(field.name()) {
        Some(column) => column.clone(),
        None => new_null_array(field.data_type(), batch.num_rows()),
    });
    RecordBatch::try_new(schema.clone(), columns.collect()).map_err(|cause| {
        let what = format!("a commit's rows can't be given with the log's columns: {cause}");
        Error::new(ErrorKind::InvalidData, what).caused_by(cause)
    })
}
