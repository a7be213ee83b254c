//! Time logs of a store that was opened.

use std::time::Duration;

use timestrata::timelog::{Codec, EntryBatch, Tail, TailCursor, TailOptions, Timelog, Unit};
use timestrata::{Durability, Retention};

use super::super::{EntriesWanted, TailFrom, TimelogFace, TimelogRetention, TimelogTailFace};
use crate::failure::Result;
use crate::output::{Row, SelectedRows, TimelogRows, rows_of_block};
use crate::ranges::TimeRange;

/// How long one look for new entries takes at most.
const LOOK: Duration = Duration::from_millis(500);

/// Retention with what is to be changed of it.
pub(super) fn over(change: &TimelogRetention, kept: Retention) -> Retention {
    Retention { age_ns: change.age_ns.or(kept.age_ns), bytes: change.bytes.or(kept.bytes) }
}

struct OpenedTail(Tail);

impl TimelogTailFace for OpenedTail {
    fn cursor(&self) -> TailCursor {
        self.0.cursor()
    }

    fn next(&mut self) -> Result<Vec<(Row, TailCursor)>> {
        let Some(found) = self.0.next(LOOK)? else { return Ok(Vec::new()) };
        let mut cursor = found.begin;
        let (name, codec) = (self.0.log().name().to_owned(), self.0.log().codec());
        let rows = rows_of_block(&name, codec, found.block)?.into_iter();
        let behind = rows.map(|row| {
            cursor.advance(row.time());
            (row, cursor)
        });
        Ok(behind.collect())
    }
}

pub(super) struct OpenedTimelog(pub(super) Timelog);

impl TimelogFace for OpenedTimelog {
    fn unit(&self) -> Unit {
        self.0.unit()
    }

    fn codec(&self) -> Codec {
        self.0.codec()
    }

    fn append(&self, batch: EntryBatch) -> Result<()> {
        self.0.extend_batch(batch, Durability::Written)?;
        Ok(())
    }

    fn rows(&self, wanted: EntriesWanted) -> Result<Box<dyn TimelogRows>> {
        let mut selection = self.0.range(wanted.range.bounds())?;
        if wanted.reverse {
            selection = selection.reverse();
        }
        if let Some(limit) = wanted.limit {
            selection = selection.limit(limit);
        }
        let (name, codec) = (self.0.name().to_owned(), self.codec());
        Ok(Box::new(SelectedRows { selection, name, codec }))
    }

    fn tail(&self, from: &TailFrom) -> Result<Box<dyn TimelogTailFace>> {
        let TailFrom { since, after, late } = *from;
        let tail = self.0.tail(&TailOptions { since, after, late, look_every: None })?;
        Ok(Box::new(OpenedTail(tail)))
    }

    fn set_retention(&self, change: &TimelogRetention) -> Result<()> {
        let kept = if change.keep_all { Retention::default() } else { self.0.retention()? };
        let retention = over(change, kept);
        self.0.store().set_retention(self.0.stream_id(), retention)?;
        Ok(())
    }

    fn delete(&self, range: TimeRange) -> Result<u64> {
        let rows = self.0.range(range.bounds())?.count()?;
        self.0.delete_range(range.bounds())?;
        self.0.sync()?;
        Ok(rows)
    }
}
