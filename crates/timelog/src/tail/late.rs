//! What commits add to a log, one after the other: late entries too.

use std::collections::VecDeque;
use std::fmt;

use arrow_array::RecordBatch;
use timestrata_engine::{
    ChangeBatches, ChangeFeed, ChangeKind, CommittedChanges, Error, ErrorKind, Moment, Result,
    SeqNo, StreamChange, StreamId,
};

use super::super::alter::with_columns;
use super::super::{Codec, EntryBlock, Timelog};
use super::cursor::Place;

/// Bytes of changes that are read at once.
const BYTES_MAX: usize = 1 << 20;

/// Goes from commit to commit of the store, and gives what they add to one log.
pub(super) struct Late {
    feed: ChangeFeed,
    stream: StreamId,
    commits: VecDeque<CommittedChanges>,
    /// Of the commit that is being read, as far as they are still to be given.
    changes: VecDeque<StreamChange>,
    batches: Option<ChangeBatches>,
    ahead: Option<RecordBatch>,
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
            ahead: None,
            reading: None,
            done: seq,
            rows,
            skip: rows,
        })
    }

    pub(super) fn place(&self) -> Place {
        Place::Behind(self.done, self.rows)
    }

    /// The next rows, and the place before them; `None` where there are none by now.
    pub(super) fn next(&mut self, log: &Timelog) -> Result<Option<(Place, EntryBlock)>> {
        while let Some(batch) = self.batch()? {
            let known = usize::try_from(self.skip).unwrap_or(usize::MAX).min(batch.num_rows());
            self.skip -= known as u64;
            let batch = batch.slice(known, batch.num_rows() - known);
            let begin = self.place();
            self.rows += batch.num_rows() as u64;
            self.ahead = self.batch_of_commit()?;
            if self.ahead.is_none() {
                self.finish();
            }
            if batch.num_rows() > 0 {
                let is_typed = log.codec() == Codec::Arrow;
                // Commits of before have fewer columns.
                let stream = log.store().stream_of(self.stream)?;
                let batch = with_columns(&batch, stream.schema())?;
                let block = EntryBlock::new(batch, log.unit(), is_typed)?;
                return Ok(Some((begin, block)));
            }
        }
        Ok(None)
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        loop {
            if let Some(batch) = self.batch_of_commit()? {
                return Ok(Some(batch));
            }
            self.finish();
            if let Some(commit) = self.commits.pop_front() {
                self.begin(commit)?;
                continue;
            }
            self.commits.extend(self.feed.poll(BYTES_MAX)?);
            if self.commits.is_empty() {
                return Ok(None);
            }
        }
    }

    /// The next rows of the commit that is being read.
    fn batch_of_commit(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batches) = &mut self.batches {
                match batches.next().transpose()? {
                    Some(batch) if batch.num_rows() == 0 => {}
                    Some(batch) => return Ok(Some(batch)),
                    None => self.batches = None,
                }
            } else if let Some(change) = self.changes.pop_front() {
                self.batches = Some(change.batches()?);
            } else {
                return Ok(None);
            }
        }
    }

    /// All was given of the commit that is being read, if there is one.
    fn finish(&mut self) {
        if let Some(commit) = self.reading.take() {
            (self.done, self.rows, self.skip) = (commit, 0, 0);
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
        match has_rows {
            true => self.reading = Some(commit.seq),
            // Rows that were given before are those of the first commit that has some.
            false if self.skip > 0 => {}
            false => (self.done, self.rows) = (self.done.max(commit.seq), 0),
        }
        Ok(())
    }
}
