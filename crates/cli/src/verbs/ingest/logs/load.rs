//! Entries on their way into a log: gathered, committed, and counted so that a load that was broken off
//! can go on.

use std::fmt;

use indicatif::ProgressBar;
use timestrata::ingest::lines::{Guess, SourceReport};
use timestrata::logs::{EntryBatch, Labels, Logs};
use timestrata::{Durability, Io};

use super::super::IngestArgs;
use super::reading::{Event, LOOK, Part, Reading, Target};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::message::tell;
use crate::terminal::push_visible;
use crate::verbs::{counted, counted_entries, grouped};

/// Bytes of entries that one commit has, about.
pub(super) const BATCH_BYTES: usize = 32 << 20;
/// How long an entry waits at most for others to be committed with, where they come slowly.
pub(super) const BATCH_AGE_NS: u64 = 1_000_000_000;

/// A load under way.
pub(super) struct Load {
    logs: Logs,
    labels: Labels,
    durability: Durability,
    /// Entries that one commit has at most, where somebody has said so.
    batch_rows: usize,
    /// Whether nobody has said what format lines have.
    tells_format: bool,
    interrupt: Interrupt,
    bar: ProgressBar,
    io: Io,
    batch: EntryBatch,
    /// When the first entry of the batch came.
    batch_begun_ns: u64,
    /// Entries committed.
    pub(super) entries: u64,
    /// Lines whose entries have a `parse_error`.
    pub(super) flawed: u64,
    /// Files that are in the store as a whole.
    files: u64,
    /// The file that is being loaded.
    file: Progress,
}

/// How far a file is.
#[derive(Debug, Default)]
struct Progress {
    name: String,
    /// Lines left out in front.
    skipped: u64,
    /// Lines, behind those, that are in the store or in the batch as a whole.
    gathered: u64,
    /// Those that are in the store.
    committed: u64,
}

impl Load {
    pub(super) fn new(
        logs: Logs,
        arguments: &IngestArgs,
        interrupt: Interrupt,
        bar: ProgressBar,
    ) -> Result<Self> {
        let batch = logs.batch()?;
        Ok(Self {
            labels: arguments.logs.labels()?,
            durability: match arguments.logs.sync {
                true => Durability::Synced,
                false => Durability::Written,
            },
            batch_rows: arguments.batch_rows.unwrap_or(usize::MAX),
            tells_format: arguments.logs.log_format.is_none(),
            interrupt,
            bar,
            io: Io::os(),
            batch,
            batch_begun_ns: 0,
            entries: 0,
            flawed: 0,
            files: 0,
            file: Progress::default(),
            logs,
        })
    }

    /// Loads a file. What of it was read before something failed is kept.
    pub(super) fn file(&mut self, mut reading: Reading) -> Result<()> {
        self.file = Progress {
            name: reading.name.clone(),
            skipped: reading.skipped,
            ..Progress::default()
        };
        reading.gather_into(Target {
            batch: self.logs.batch()?,
            labels: self.labels.clone(),
            rows_max: self.batch_rows,
        });
        let outcome = self.events(&mut reading);
        let committed = self.commit();
        outcome.and(committed)?;
        self.files += 1;
        Ok(())
    }

    fn events(&mut self, reading: &mut Reading) -> Result<()> {
        loop {
            if self.interrupt.is_heard() {
                return Err(Failure::plain("interrupted"));
            }
            match reading.next(LOOK)? {
                Some(Event::Begun(guess)) => self.tell_format(&guess),
                Some(Event::Entries(part)) => self.gather(*part)?,
                Some(Event::Ended(report)) => {
                    self.file.gathered = report.lines;
                    self.tell_flaws(&report);
                    return Ok(());
                }
                None => {}
            }
            let age_ns = self.io.clock.monotonic_ns().saturating_sub(self.batch_begun_ns);
            if !self.batch.is_empty() && age_ns >= BATCH_AGE_NS {
                self.commit()?;
            }
        }
    }

    fn gather(&mut self, part: Part) -> Result<()> {
        let is_full = self.batch.len() + part.entries.len() > self.batch_rows
            || self.batch.bytes() >= BATCH_BYTES;
        if is_full && !self.batch.is_empty() {
            self.commit()?;
        }
        if self.batch.is_empty() {
            self.batch_begun_ns = self.io.clock.monotonic_ns();
        }
        self.batch.append(part.entries)?;
        self.file.gathered = part.lines;
        Ok(())
    }

    /// Commits what was gathered. If that fails, it is in the store neither as a whole nor in part.
    fn commit(&mut self) -> Result<()> {
        let entries = self.batch.len() as u64;
        if let Err(error) = self.logs.write_batch(&mut self.batch, self.durability) {
            self.file.gathered = self.file.committed;
            return Err(error.into());
        }
        self.file.committed = self.file.gathered;
        self.entries += entries;
        self.bar.set_message(counted_entries(self.entries));
        Ok(())
    }

    fn tell_format(&self, guess: &Guess) {
        if self.tells_format {
            let Guess { format, why } = guess;
            self.tell(format_args!("{}: read as {format}: {why}", self.file.name));
        }
    }

    fn tell_flaws(&mut self, report: &SourceReport) {
        self.flawed += report.parse_errors;
        let Progress { name, skipped, .. } = &self.file;
        for (line, why) in &report.first_errors {
            let mut told = format!("kept as it is: {name}, line {}: ", skipped + line);
            // It may quote the line, which is a stranger's.
            push_visible(why, &mut told);
            self.tell(format_args!("{told}"));
        }
        let more = report.parse_errors.saturating_sub(report.first_errors.len() as u64);
        if more > 0 {
            self.tell(format_args!("kept as they are: {} more", grouped(more)));
        }
    }

    /// Tells something without a trace of the bar in it.
    fn tell(&self, message: fmt::Arguments<'_>) {
        self.bar.suspend(|| tell(message));
    }

    /// A failure, with what is in the store in spite of it, and how to go on.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        let Progress { name, skipped, committed, .. } = &self.file;
        let lines = skipped + committed;
        let before = match self.files {
            0 => String::new(),
            files => format!("{} before it and ", counted(files, "file")),
        };
        let lines_of_it = counted(lines, "line");
        let note = format!(
            "the store has {before}{lines_of_it} of {name}; to go on, begin with that file and \
             --skip-lines {lines}"
        );
        failure.with_note(&note)
    }
}
