//! What it means that no record is where the next one should be.

use timestrata_format::wal::RecordKind;

use super::cursor::{Behind, SegmentCursor};
use super::{Error, FIRST_COMMIT_OFFSET, ReadMode, Result, START_OFFSET, SeqNo, WalId, WalReader};

/// What a later segment says of the place where reading stopped.
enum Later {
    /// The log goes on in it.
    GoesOn(SegmentCursor),
    /// The log was begun anew with it, when all before was in runs.
    BeginsAnew(SegmentCursor),
    /// Nothing that must have been durable is missing before it.
    SaysNothing,
    /// Something durable is missing: the proof is at this offset of it.
    Proves(WalId, u64),
}

impl WalReader {
    /// Called where no whole record is, or where a segment ended: finishes, goes on in a later
    /// segment, or finds out that a durable record is missing.
    pub(super) fn stop_or_go_on(&mut self) -> Result<()> {
        if self.mode == ReadMode::Follower && self.has_grown()? {
            return Ok(());
        }
        let Some(here) = self.cursor.as_ref().map(|cursor| cursor.id) else {
            self.finished = true;
            return Ok(());
        };
        if let Some(next) = self.next_that_goes_on(here)? {
            self.enter(next);
            return Ok(());
        }
        if let Some(place) = self.proof_here()? {
            return self.prove(here, place);
        }
        let later: Vec<WalId> = self.segments.iter().copied().filter(|id| *id > here).collect();
        for id in later {
            match self.judge(id)? {
                Later::GoesOn(cursor) => {
                    self.enter(cursor);
                    return Ok(());
                }
                Later::BeginsAnew(cursor) => {
                    // The log before it was closed with a whole record.
                    let id = cursor.id;
                    if self.is_torn_here()? {
                        return self.prove(id, START_OFFSET);
                    }
                    self.enter(cursor);
                    return Ok(());
                }
                Later::SaysNothing => {}
                Later::Proves(id, place) => return self.prove(id, place),
            }
        }
        self.torn = self.torn_place()?;
        self.finished = true;
        Ok(())
    }

    /// The segment after this one, where it says that the log goes on in it behind the last record: whoever began it has looked
    /// for proof of more, which goes through all of the rest of a segment that a crash left unfilled.
    fn next_that_goes_on(&self, here: WalId) -> Result<Option<SegmentCursor>> {
        let next = here.next();
        let Some(last) = self.last_seq().filter(|_| self.segments.contains(&next)) else {
            return Ok(None);
        };
        let mut cursor = self.open_segment(next)?;
        let start = cursor.record(START_OFFSET)?;
        let goes_on =
            start.is_some_and(|start| start.kind == RecordKind::Start && start.seq == last);
        Ok(goes_on.then_some(cursor))
    }

    /// Where bytes begin that are cut: behind the last whole record, or in a later segment
    /// that the log does not reach.
    fn torn_place(&mut self) -> Result<Option<(WalId, u64)>> {
        let Some(here) = self.cursor.as_ref().map(|cursor| cursor.id) else { return Ok(None) };
        if self.is_torn_here()? {
            return Ok(Some((here, self.offset)));
        }
        for id in self.segments.iter().copied().filter(|id| *id > here) {
            if self.open_segment(id)?.behind(START_OFFSET)? == Behind::Torn {
                return Ok(Some((id, START_OFFSET)));
            }
        }
        Ok(None)
    }

    /// Whether a part of a record, and no whole one, is at the present place.
    fn is_torn_here(&mut self) -> Result<bool> {
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        Ok(cursor.record(self.offset)?.is_none() && cursor.behind(self.offset)? == Behind::Torn)
    }

    /// Whether the writer has gone on meanwhile: the record is there now, or a new segment.
    fn has_grown(&mut self) -> Result<bool> {
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        cursor.forget();
        let found = cursor.record(self.offset)?;
        if !cursor.is_current()? {
            let id = cursor.id;
            return Err(self.moved_on(id));
        }
        self.list()?;
        Ok(found.is_some_and(|header| header.kind != RecordKind::End))
    }

    fn last_seq(&self) -> Option<SeqNo> {
        self.last.map(|(seq, _)| seq)
    }

    fn proof_here(&mut self) -> Result<Option<u64>> {
        let last = self.last_seq();
        match &mut self.cursor {
            Some(cursor) if self.searches => cursor.proof_behind(self.offset, last),
            _ => Ok(None),
        }
    }

    fn judge(&self, id: WalId) -> Result<Later> {
        let mut cursor = self.open_segment(id)?;
        let last = self.last_seq();
        if let Some(start) = cursor.record(START_OFFSET)? {
            let previous_id = cursor.previous_id(START_OFFSET, &start)?;
            if start.seq == last.unwrap_or_default() {
                return Ok(Later::GoesOn(cursor));
            }
            if self.is_past && previous_id == WalId(0) && last < Some(start.seq) {
                return Ok(Later::BeginsAnew(cursor));
            }
            let is_proof = match last {
                Some(last) => start.synced_through > last || start.seq < last,
                // The segments read so far are empty. If this one follows on a segment
                // before them, they always were.
                None if previous_id < self.floor => return Ok(Later::GoesOn(cursor)),
                None => true,
            };
            if is_proof {
                return Ok(Later::Proves(id, START_OFFSET));
            }
        }
        if self.searches
            && let Some(last) = last
            && let Some(place) = cursor.proof_behind(START_OFFSET, Some(last))?
        {
            return Ok(Later::Proves(id, place));
        }
        Ok(Later::SaysNothing)
    }

    fn enter(&mut self, mut cursor: SegmentCursor) {
        let previous = self.last_seq().unwrap_or_default();
        if let Some(left) = self.cursor.as_ref().map(|left| left.id) {
            let passed = self.segments.iter().filter(|id| (left..cursor.id).contains(id));
            self.passed.extend(passed.map(|id| (*id, previous)));
        }
        cursor.forget();
        self.offset = if self.last.is_some() { FIRST_COMMIT_OFFSET } else { START_OFFSET };
        self.cursor = Some(cursor);
    }

    /// A record that was durable is missing at the present place. Beside a living writer,
    /// look again: it may have been written after we looked, and before the proof was.
    fn prove(&mut self, id: WalId, place: u64) -> Result<()> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        if self.mode == ReadMode::Follower {
            cursor.forget();
            // An end record was whole before: it says nothing new.
            let now = cursor.record(self.offset)?;
            if now.is_some_and(|header| header.kind != RecordKind::End) {
                return Ok(());
            }
            if !cursor.is_current()? {
                let id = cursor.id;
                return Err(self.moved_on(id));
            }
        }
        let last = self.last.map_or(0, |(seq, _)| seq.0);
        Err(Error::corruption(
            &cursor.path,
            self.offset,
            format!(
                "no whole record after commit {last}, but byte {place} of log segment {id} shows \
                 that one was durable"
            ),
        ))
    }
}
