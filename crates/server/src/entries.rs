//! Entries of logs one by one, out of the batches that they are read in.

use timestrata_engine::Result;
use timestrata_logs::{Entries, EntryRef};

/// A batch, and how far it has been handed out.
#[derive(Debug)]
pub(crate) struct Batch {
    entries: Entries,
    row: usize,
}

impl Batch {
    pub(crate) fn new(entries: Entries) -> Self {
        Self { entries, row: 0 }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.row == self.entries.len()
    }

    /// The next entry.
    pub(crate) fn next(&mut self) -> Option<EntryRef<'_>> {
        let entry = self.entries.get(self.row)?;
        self.row += 1;
        Some(entry)
    }
}

/// The entries of batches, each of which is read when the one before was handed out.
#[derive(Debug)]
pub(crate) struct EntryCursor<I> {
    rest: I,
    batch: Option<Batch>,
}

impl<I: Iterator<Item = Result<Entries>>> EntryCursor<I> {
    pub(crate) fn new(rest: I) -> Self {
        Self { rest, batch: None }
    }

    /// The next entry.
    ///
    /// # Errors
    /// Those of a read.
    pub(crate) fn next(&mut self) -> Result<Option<EntryRef<'_>>> {
        while self.batch.as_ref().is_none_or(Batch::is_done) {
            match self.rest.next().transpose()? {
                Some(entries) => self.batch = Some(Batch::new(entries)),
                None => return Ok(None),
            }
        }
        Ok(self.batch.as_mut().and_then(Batch::next))
    }
}
