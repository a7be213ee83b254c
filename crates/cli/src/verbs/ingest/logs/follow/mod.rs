//! Files that are followed: what is written to them goes into a log as it comes, each line once, through rotation and
//! through ends of this process, however hard.
//!
//! Invariant: how far a file is stands in the commit of its entries. A file is known again by its device, its
//! inode and its beginning; what was rotated away unread is found beside it, packed or not.
//!
//! ```text
//!   app.log   (inode 7)   ── read to its end, then again every tenth of a second
//!      │ renamed
//!   app.log.1 (inode 7)   ── still open: read until nobody has written to it for a while
//!   app.log   (inode 9)   ── begun at its beginning
//! ```

mod files;
mod growing;
mod places;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use timestrata::ingest::Encoding;
use timestrata::ingest::lines::LogFormats;
use timestrata::logs::{EntryBatch, Labels, Logs, LogsWrite};
use timestrata::table::{Table, TableWrite};
use timestrata::{Access, CommitPart, Durability, Io, Store, commit_together};

use self::files::{Found, Watched};
use self::growing::Shared;
use self::places::Place;
use super::super::IngestArgs;
use super::load::{BATCH_AGE_NS, BATCH_BYTES};
use super::reading::{Event, Reading, Target};
use super::{message_bytes_max, open_log, source_options};
use crate::faces::open;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::message::tell;
use crate::verbs::{counted, counted_entries};

/// How often is looked for new and rotated files.
const TICK_NS: u64 = 250_000_000;
/// How long who has nothing to do waits.
const PAUSE: Duration = Duration::from_millis(50);
/// How long nobody must have written to a file that was rotated away, until it is let go of.
const GRACE_NS: u64 = 2_000_000_000;

/// A file that is read.
#[derive(Debug)]
struct Followed {
    place: Place,
    reading: Reading,
    shared: Arc<Shared>,
    /// Lines, behind where reading began, that are in the store or in the batch.
    lines: u64,
    /// Whether entries of it are in the batch.
    is_touched: bool,
    /// How far it was read when it was looked at last, and when it had come there.
    seen: (u64, u64),
    is_ended: bool,
}

struct Follower<'a> {
    arguments: &'a IngestArgs,
    io: Io,
    interrupt: Interrupt,
    formats: LogFormats,
    labels: Labels,
    store: Store,
    logs: Logs,
    table: Table,
    watched: Watched,
    /// How far files are, as the store has it.
    known: Vec<Place>,
    followed: Vec<Followed>,
    batch: EntryBatch,
    batch_begun_ns: u64,
    entries: u64,
}

pub(super) fn run(dir: &Path, arguments: &IngestArgs) -> Result<()> {
    let watched = Watched::of(&arguments.files)?;
    let formats = arguments.logs.formats()?;
    let interrupt = Interrupt::listen()?;
    let store = open(dir, Access::Write)?;
    let logs = open_log(&store, arguments)?;
    let table = places::table(&store, &arguments.name)?;
    let mut follower = Follower {
        known: places::read(&table)?,
        batch: logs.batch()?,
        labels: arguments.logs.labels()?,
        io: Io::os(),
        followed: Vec::new(),
        batch_begun_ns: 0,
        entries: 0,
        arguments,
        interrupt,
        formats,
        store: store.clone(),
        logs,
        table,
        watched,
    };
    let outcome = follower.follow();
    let entries = counted_entries(follower.entries);
    drop(follower);
    let closed = store.sync().map(drop).and_then(|()| store.close());
    outcome?;
    closed?;
    tell(format_args!("followed: {entries} into '{}'", arguments.name));
    Ok(())
}

impl Follower<'_> {
    fn follow(&mut self) -> Result<()> {
        self.read_what_was_rotated_away()?;
        let mut ticked_ns = None;
        while !self.interrupt.is_heard() {
            let now_ns = self.io.clock.monotonic_ns();
            if ticked_ns.is_none_or(|ticked| now_ns.saturating_sub(ticked) >= TICK_NS) {
                ticked_ns = Some(now_ns);
                self.tick(now_ns)?;
            }
            let is_idle = !self.take_events()?;
            let age_ns = self.io.clock.monotonic_ns().saturating_sub(self.batch_begun_ns);
            if age_ns >= BATCH_AGE_NS {
                self.commit()?;
            }
            self.let_go_of_ended()?;
            if is_idle {
                std::thread::sleep(PAUSE);
            }
        }
        self.end()
    }

    /// Reads what is on its way still, and no more.
    fn end(&mut self) -> Result<()> {
        for followed in &self.followed {
            followed.shared.is_over.store(true, Ordering::Relaxed);
        }
        while self.followed.iter().any(|followed| !followed.is_ended) {
            if !self.take_events()? {
                std::thread::sleep(PAUSE);
            }
        }
        self.commit()
    }

    /// Looks which files there are, and which of those that are read have another name now.
    fn tick(&mut self, now_ns: u64) -> Result<()> {
        let mut has_new = false;
        for found in self.watched.files() {
            let is_read =
                |followed: &&mut Followed| !followed.is_ended && found.is(&followed.place);
            if let Some(followed) = self.followed.iter_mut().find(is_read) {
                followed.place.path.clone_from(&found.path);
                continue;
            }
            let place = match self.known.iter().rev().find(|place| found.is(place)) {
                Some(known) if found.continues(known)? => {
                    Place { path: found.path.clone(), ..known.clone() }
                }
                _ => found.begin(self.io.clock.wall_ns())?,
            };
            let is_new = self.known.iter().all(|known| known.id != place.id);
            self.begin(place, &found, false)?;
            if let Some(begun) = self.followed.last_mut().filter(|_| is_new) {
                (begun.is_touched, has_new) = (true, true);
            }
        }
        if has_new {
            // Before anything is read of it: whoever starts next knows what to look for, wherever it is by then.
            self.commit()?;
        }
        for followed in &mut self.followed {
            let read = followed.shared.read.load(Ordering::Relaxed);
            if followed.seen.0 != read {
                followed.seen = (read, now_ns);
            }
            let is_there = Found::at(Path::new(&followed.place.path))
                .is_some_and(|found| found.is(&followed.place));
            if !is_there && now_ns.saturating_sub(followed.seen.1) >= GRACE_NS {
                followed.shared.is_finished.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Begins with what was followed by an earlier process and has another name now, or was packed.
    fn read_what_was_rotated_away(&mut self) -> Result<()> {
        for place in self.known.clone() {
            let path = Path::new(&place.path);
            let is_there = match Found::at(path).filter(|found| found.is(&place)) {
                Some(found) => found.continues(&place)?,
                None => false,
            };
            if !place.is_done && !is_there && self.watched.has(path) {
                self.rest_of(place)?;
            }
        }
        Ok(())
    }

    /// Reads the rest of a file that isn't where it was.
    fn rest_of(&mut self, place: Place) -> Result<()> {
        match files::beside(&place)? {
            Some(found) => self.begin(place, &found, true),
            None => Ok(()),
        }
    }

    /// Begins to read a file from its place on; one that was rotated away has an end.
    fn begin(&mut self, place: Place, found: &Found, is_rotated: bool) -> Result<()> {
        let path = Path::new(&found.path);
        let bytes_max = message_bytes_max(Some(&self.store), self.arguments)?;
        let is_other = Encoding::by_mark(&place.head).is_some();
        if is_other || self.arguments.reading.encoding()?.is_some() {
            return Err(Failure::usage(
                format!("'{}' is not UTF-8, which alone can be followed", path.display()),
                "load it without --follow, or convert it as it comes: tail -F FILE | iconv -f UTF-16 -t UTF-8 | timestrata \
                 ingest DIR NAME --as logs -",
            ));
        }
        let mut options = source_options(&self.io, path, self.arguments, &self.formats, bytes_max)?;
        if options.format.is_none() && !place.format.is_empty() {
            // One of a file of formats that isn't named this time is guessed anew.
            options.format = self.formats.find(&place.format).ok();
        }
        let shared = Shared::behind(place.offset, &place.head);
        shared.is_finished.store(is_rotated, Ordering::Relaxed);
        let opener = files::opener(found.clone(), &place, Arc::clone(&shared));
        let clock = Some(Arc::clone(&self.io.clock));
        let reading = Reading::of(found.path.clone(), opener, options, clock, 0)?;
        reading.gather_into(Target {
            batch: self.logs.batch()?,
            labels: self.labels.clone(),
            rows_max: self.arguments.batch_rows.unwrap_or(usize::MAX),
        });
        let seen = (place.offset, self.io.clock.monotonic_ns());
        let (lines, is_touched, is_ended) = (0, false, false);
        self.followed.push(Followed { place, reading, shared, lines, is_touched, seen, is_ended });
        Ok(())
    }

    /// Takes what was read; whether there was something.
    fn take_events(&mut self) -> Result<bool> {
        let mut is_some = false;
        for index in 0..self.followed.len() {
            while let Some(followed) = self.followed.get_mut(index).filter(|file| !file.is_ended) {
                let Some(event) = followed.reading.next(Duration::ZERO)? else { break };
                is_some = true;
                match event {
                    Event::Begun(guess) => {
                        if followed.place.offset == 0 && self.arguments.logs.log_format.is_none() {
                            let (name, format) = (&followed.reading.name, &guess.format);
                            tell(format_args!("{name}: read as {format}: {}", guess.why));
                        }
                        followed.place.format = guess.format.name().to_owned();
                    }
                    Event::Entries(part) => {
                        if self.batch.is_empty() {
                            self.batch_begun_ns = self.io.clock.monotonic_ns();
                        }
                        followed.lines = part.lines;
                        followed.is_touched = true;
                        self.batch.append(part.entries)?;
                        if self.batch.bytes() >= BATCH_BYTES {
                            self.commit()?;
                        }
                    }
                    Event::Ended(report) => {
                        followed.lines = followed.lines.max(report.lines);
                        (followed.is_ended, followed.is_touched) = (true, true);
                    }
                }
            }
        }
        Ok(is_some)
    }

    /// Commits what was gathered, with how far its files are.
    fn commit(&mut self) -> Result<()> {
        for followed in self.followed.iter_mut().filter(|followed| followed.is_touched) {
            let Followed { place, shared, .. } = followed;
            place.offset = shared.end_of(followed.lines);
            place.is_done = followed.is_ended && shared.is_read_whole.load(Ordering::Relaxed);
            place.head = shared.head();
        }
        let touched: Vec<&Place> = self
            .followed
            .iter()
            .filter(|followed| followed.is_touched)
            .map(|followed| &followed.place)
            .collect();
        if touched.is_empty() {
            return Ok(());
        }
        let rows = places::rows(&touched, self.io.clock.wall_ns())?;
        let entries = self.batch.len() as u64;
        let batch = std::mem::replace(&mut self.batch, self.logs.batch()?);
        let mut write = LogsWrite::new(&self.logs, batch);
        let mut files = TableWrite::new(&self.table);
        files.append(rows);
        let mut parts: Vec<&mut dyn CommitPart> = vec![&mut files];
        if entries > 0 {
            parts.push(&mut write);
        }
        let durability = match self.arguments.logs.sync {
            true => Durability::Synced,
            false => Durability::Written,
        };
        commit_together(&self.store, &mut parts, durability)?;
        self.entries += entries;
        self.followed.iter_mut().for_each(|followed| followed.is_touched = false);
        Ok(())
    }

    /// Forgets files that were read to their end, and begins anew with those that became shorter.
    fn let_go_of_ended(&mut self) -> Result<()> {
        if !self.followed.iter().any(|followed| followed.is_ended) {
            return Ok(());
        }
        self.commit()?;
        let (ended, rest) = std::mem::take(&mut self.followed)
            .into_iter()
            .partition::<Vec<_>, _>(|followed| followed.is_ended);
        self.followed = rest;
        for Followed { place, shared, .. } in ended {
            self.known.retain(|known| known.id != place.id);
            let is_cut = shared.is_truncated.load(Ordering::Relaxed);
            if is_cut {
                let bytes = counted(place.offset, "byte");
                tell(format_args!("{}: was cut; {bytes} of it were read", place.path));
            }
            match is_cut || shared.is_replaced.load(Ordering::Relaxed) {
                // What was not read of it may have another name, or be in a copy.
                true => self.rest_of(place)?,
                false => self.known.push(place),
            }
        }
        Ok(())
    }
}

/// Refuses what can't be followed.
pub(super) fn not_followed(path: &Path) -> Failure {
    Failure::usage(
        format!("'{}' can't be followed", path.display()),
        "--follow takes files, and patterns such as '/var/log/*.log' whose stars are in the last part",
    )
}
