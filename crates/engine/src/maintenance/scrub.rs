//! The scrubber: reads all runs against their checksums, bit by bit, in rounds.
//!
//! Owns how far it has come, in memory and, once it has read much, in the file `SCRUB`, on which nothing
//! depends. It goes through the runs by their ids, so that what is written meanwhile comes in the same
//! round, holds no lock while it reads, and notes what it finds as readers do.

use std::sync::Arc;

use timestrata_format::{RunId, SCRUB_MARK_BYTES, ScrubMark};
use timestrata_io::OpenMode;

use crate::directory::SCRUB_NAME;
use crate::state::{Engine, RunHandle, ScrubProgress, ScrubStats};
use crate::{ErrorKind, MissingRange, Result};

/// Read at once.
const PIECE_BYTES: u64 = 1 << 20;
/// The next round begins so long after the last has ended.
const ROUND_PAUSE_NS: i64 = 24 * 60 * 60 * 1_000_000_000;
/// The place is noted after so many bytes: before, beginning anew costs less than a file.
const NOTE_BYTES: u64 = 16 << 20;
/// Time that has passed unused counts up to this: a busy thread doesn't read in one go what it left out.
const BUDGET_NS_MAX: u64 = 1_000_000_000;

impl Engine {
    /// Figures of the scrubber.
    pub(crate) fn scrub_stats(&self) -> ScrubStats {
        let mut state = self.scrubber.0.lock();
        self.load_scrub(&mut state);
        state.stats
    }

    /// Reads as much as the time that has passed allows, if a round is due.
    pub(super) fn scrub_due(&self) {
        let Some(rate) = self.settings.scrub_bytes_per_second else { return };
        let now_ns = self.io.clock.monotonic_ns();
        let budget = {
            let mut state = self.scrubber.0.lock();
            self.load_scrub(&mut state);
            let since = state.paced_ns.replace(now_ns);
            let passed = since.map_or(BUDGET_NS_MAX, |since| now_ns.saturating_sub(since));
            let passed = passed.min(BUDGET_NS_MAX);
            let is_begun = state.run > RunId(0);
            let next_ns =
                state.stats.round_ended_wall_ns.map(|at| at.saturating_add(ROUND_PAUSE_NS));
            if !is_begun && next_ns.is_some_and(|next| self.io.clock.wall_ns() < next) {
                return;
            }
            u128::from(rate) * u128::from(passed) / 1_000_000_000
        };
        let mut left = u64::try_from(budget).unwrap_or(u64::MAX);
        while left > 0 && !self.workers.is_stopping() {
            // What it can't do now it does at its next turn.
            match self.scrub_piece(left.min(PIECE_BYTES)) {
                Ok(Some(bytes)) => left = left.saturating_sub(bytes.max(1)),
                Ok(None) | Err(_) => break,
            }
        }
    }

    /// Reads about so many bytes, whatever the time; true if that ended a round.
    pub(crate) fn scrub_step(&self, bytes_max: u64) -> Result<bool> {
        let mut left = bytes_max.max(1);
        while left > 0 {
            self.check_open()?;
            match self.scrub_piece(left.min(PIECE_BYTES))? {
                Some(bytes) => left = left.saturating_sub(bytes.max(1)),
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Reads the next piece; `None` at the end of a round.
    fn scrub_piece(&self, bytes_max: u64) -> Result<Option<u64>> {
        let (from, offset, reader) = {
            let mut state = self.scrubber.0.lock();
            self.load_scrub(&mut state);
            (state.run, state.offset, state.reader.take())
        };
        // Held, so that the file stays while it is read.
        let Some(handle) = self.next_to_scrub(from) else {
            self.end_round();
            return Ok(None);
        };
        let id = handle.meta.id;
        let offset = if id == from { offset } else { 0 };
        let reader = match reader.filter(|reader| reader.meta().id == id) {
            Some(reader) => reader,
            None => self.folder.reader(handle.reader.stream(), handle.meta.clone())?,
        };
        let piece = match reader.scrub(offset, bytes_max) {
            Ok(piece) => piece,
            Err(error) if error.kind() == ErrorKind::Corruption => {
                // All of it is missing.
                error.missing().into_iter().for_each(tell_damage);
                self.folder.damage.note(id, &Err::<(), _>(error));
                self.pass(id, handle.meta.file_bytes, 0, true, handle.meta.file_bytes);
                return Ok(Some(0));
            }
            Err(error) => {
                self.pass(id, handle.meta.file_bytes, 0, false, handle.meta.file_bytes);
                return Err(error);
            }
        };
        if let Some(error) = &piece.damage {
            for missing in reader.missing_for(error, offset, piece.end) {
                tell_damage(&missing);
                self.folder.damage.add(id, missing);
            }
        }
        if piece.end < handle.meta.file_bytes {
            self.scrubber.0.lock().reader = Some(reader);
        }
        let bytes = piece.end.saturating_sub(offset);
        self.pass(id, piece.end, bytes, piece.damage.is_some(), handle.meta.file_bytes);
        Ok(Some(bytes))
    }

    /// The run with the least id from this one on.
    fn next_to_scrub(&self, from: RunId) -> Option<Arc<RunHandle>> {
        let core = self.core.lock();
        let runs = core.live().flat_map(|(_, state)| state.version.runs.iter());
        runs.filter(|run| run.meta.id >= from).min_by_key(|run| run.meta.id).cloned()
    }

    /// Moves on behind a piece.
    fn pass(&self, run: RunId, end: u64, bytes: u64, is_damaged: bool, file_bytes: u64) {
        let mut state = self.scrubber.0.lock();
        if state.run != run || state.offset == 0 {
            state.is_whole = true;
        }
        state.is_whole &= !is_damaged;
        state.found_in_round |= is_damaged;
        state.stats.found_damage |= is_damaged;
        state.stats.bytes += bytes;
        state.stats.round_bytes += bytes;
        (state.run, state.offset) = (run, end);
        if end >= file_bytes {
            if state.is_whole {
                // What was met of it before is not on the disk.
                self.folder.damage.forget(run);
            }
            (state.run, state.offset) = (run.next(), 0);
        }
        if state.stats.bytes - state.noted_bytes >= NOTE_BYTES {
            self.note_scrub(&mut state);
        }
    }

    fn end_round(&self) {
        let mut state = self.scrubber.0.lock();
        let bytes = state.stats.round_bytes;
        state.stats.rounds += 1;
        state.stats.round_ended_wall_ns = Some(self.io.clock.wall_ns());
        state.stats.found_damage = std::mem::take(&mut state.found_in_round);
        state.stats.round_bytes = 0;
        (state.run, state.offset) = (RunId(0), 0);
        let found_damage = state.stats.found_damage;
        if state.noted_bytes > 0 {
            self.note_scrub(&mut state);
        }
        drop(state);
        tracing::debug!(
            target: "timestrata::scrub",
            bytes,
            found_damage,
            "read all runs against their checksums"
        );
    }

    /// Reads where an earlier process was, once.
    fn load_scrub(&self, state: &mut ScrubProgress) {
        if std::mem::replace(&mut state.is_loaded, true) || self.path.is_none() {
            return;
        }
        let read = || -> Option<ScrubMark> {
            let file = self.io.disk.open(&self.dir.join(SCRUB_NAME), OpenMode::Read).ok()?;
            let mut bytes = [0; SCRUB_MARK_BYTES];
            file.read_at(0, &mut bytes).ok()?;
            ScrubMark::decode(&bytes).ok().filter(|mark| mark.store_id == self.store_id)
        };
        let Some(mark) = read() else { return };
        state.stats.found_damage = mark.found_damage;
        if mark.found_damage {
            // Where it is nobody remembers: it is looked for again.
            return;
        }
        (state.run, state.offset) = (mark.run, mark.offset);
        state.stats.round_ended_wall_ns = mark.round_ended_wall_ns;
        state.stats.round_bytes = mark.round_bytes;
    }

    /// Notes the place; nothing comes of a failure but a round that begins anew.
    fn note_scrub(&self, state: &mut ScrubProgress) {
        state.noted_bytes = state.stats.bytes;
        let path = self.dir.join(SCRUB_NAME);
        if self.path.is_none() || self.check_writable().is_err() {
            return;
        }
        let mark = ScrubMark {
            store_id: self.store_id,
            run: state.run,
            offset: state.offset,
            round_bytes: state.stats.round_bytes,
            round_ended_wall_ns: state.stats.round_ended_wall_ns,
            found_damage: state.stats.found_damage,
        };
        let opened = match self.io.disk.exists(&path) {
            Ok(true) => self.io.disk.open(&path, OpenMode::ReadWrite),
            _ => self.io.disk.open(&path, OpenMode::CreateNew),
        };
        let _ = opened.and_then(|file| file.write_at(0, &mark.encode()));
    }
}

fn tell_damage(missing: &MissingRange) {
    tracing::warn!(target: "timestrata::scrub", %missing, "found damage");
}
