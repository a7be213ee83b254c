//! Rows as values of a time log.

use std::path::PathBuf;

use clap::ValueEnum;
use indicatif::ProgressBar;
use timestrata::ingest::rows::Delimiter;
use timestrata::timelog::{Codec, EntryBatch, Unit};
use timestrata::{Access, Io};

use super::{CodecName, IngestArgs, OnError, Outcome, progress_bar};
use crate::faces::{NewTimelog, StoreFace, TimelogFace};
use crate::failure::{Failure, Result};
use crate::input;
use crate::message::tell;
use crate::rows::{BadRow, Format, RowError, RowRules, Rows};
use crate::times::Integers;
use crate::verbs::{counted, grouped};

/// Rows that one commit has where nobody says how many.
const BATCH_ROWS: usize = 50_000;
/// Bytes of values that one commit has at most: keeps memory bounded where rows are long.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// Bad rows that are told one by one when they are skipped.
const SKIPS_TOLD: u64 = 10;

pub(super) fn run(arguments: &IngestArgs) -> Result<()> {
    check_arguments(arguments)?;
    if arguments.codec == Some(CodecName::Cbor) && arguments.value.is_some() {
        return Err(Failure::usage(
            "--value is for logs of bytes, but --codec says cbor",
            "leave out --value, or say --codec bytes",
        ));
    }
    let io = Io::os();
    let begun_ns = io.clock.monotonic_ns();
    let bar = progress_bar(&arguments.files);
    let mut rules = rules(arguments)?;
    let format = arguments.format.as_deref().map(format_of).transpose()?;
    // A first file that can't be loaded is told before a store is made for it.
    let mut files = arguments.files.iter();
    let open_rows = |path: &PathBuf, rules: &RowRules| {
        input::open(path, &bar).and_then(|input| Rows::open(input, format, rules))
    };
    let first = files.next().map(|path| open_rows(path, &rules)).transpose()?;
    let store = arguments.store.open(Access::Write, None)?;
    let log = open_log(store.as_ref(), arguments)?;
    rules.unit = log.unit();
    let mut load = Load::new(log, rules, arguments, bar.clone());
    let outcome = first.into_iter().try_for_each(|rows| load.file(rows)).and_then(|()| {
        files.try_for_each(|path| open_rows(path, &load.rules).and_then(|rows| load.file(rows)))
    });
    // What came before a failure is kept, so close in any case, and tell the first failure.
    let committed = load.commit();
    bar.finish_and_clear();
    let closed = store.sync().and_then(|()| store.close());
    let rows = load.rows;
    outcome.map_err(|failure| after_rows(failure, rows))?;
    committed?;
    closed?;
    load.tell_outcome(io.clock.monotonic_ns().saturating_sub(begun_ns));
    Ok(())
}

/// What only tables have.
fn check_arguments(arguments: &IngestArgs) -> Result<()> {
    let is_tables = !arguments.key.is_empty() || !arguments.tags.is_empty() || arguments.ids;
    if is_tables {
        return Err(Failure::usage(
            "--key, --tag and --ids are for tables",
            "leave them out, or say --as table",
        ));
    }
    if arguments.compression.is_some() {
        return Err(Failure::usage(
            "--compression is for tables and logs",
            "leave it out, or say --as table or --as logs",
        ));
    }
    Ok(())
}

fn format_of(name: &str) -> Result<Format> {
    Format::from_str(name, true).map_err(|_| {
        Failure::usage(
            format!("--format {name}: time logs are loaded from csv or jsonl"),
            "say one of these, or leave it out",
        )
    })
}

/// What the arguments say of rows; the log says its unit later.
fn rules(arguments: &IngestArgs) -> Result<RowRules> {
    if arguments.logs.skip_lines > 0 {
        return Err(Failure::usage(
            "--skip-lines is for tables and logs",
            "leave it out, or say --as table or --as logs",
        ));
    }
    let Some(time_column) = arguments.time.clone() else {
        return Err(Failure::usage("which column has the time?", "name it with --time"));
    };
    Ok(RowRules {
        time_column,
        value_column: arguments.value.clone(),
        integers: arguments.time_unit.map_or(Integers::ByMagnitude, Integers::Of),
        unit: Unit::default(),
        delimiter: match arguments.delimiter {
            None => b',',
            Some(Delimiter::Byte(byte)) => byte,
            Some(Delimiter::Blanks | Delimiter::Text(_)) => {
                return Err(Failure::usage(
                    "--delimiter of more than one ASCII character is for tables",
                    "say one character, or --as table",
                ));
            }
        },
    })
}

/// Opens the log, or makes it as the arguments say.
fn open_log(store: &dyn StoreFace, arguments: &IngestArgs) -> Result<Box<dyn TimelogFace>> {
    let existing = match store.kind_of(&arguments.name)? {
        Some(_) => Some(store.timelog(&arguments.name)?),
        None => None,
    };
    let kept = existing.map(|log| (log.codec(), log.unit()));
    let codec = match arguments.codec {
        Some(CodecName::Cbor) => Codec::Cbor,
        Some(CodecName::Bytes) => Codec::Bytes,
        None if arguments.value.is_some() => Codec::Bytes,
        None => kept.map_or(Codec::Cbor, |(codec, _)| codec),
    };
    if matches!(codec, Codec::Json | Codec::Arrow | Codec::Pickle) {
        return Err(Failure::usage(
            format!(
                "time log '{}' has codec '{codec}', which this command doesn't write",
                arguments.name
            ),
            "write to it from Python, or load into another log",
        ));
    }
    if codec == Codec::Bytes && arguments.value.is_none() {
        return Err(Failure::usage(
            format!("time log '{}' holds bytes: which column has them?", arguments.name),
            "name it with --value",
        ));
    }
    let unit = arguments.log_unit.or(kept.map(|(_, unit)| unit));
    let wanted = NewTimelog { codec, unit: unit.unwrap_or_default(), ..NewTimelog::default() };
    store.create_timelog(&arguments.name, &wanted)
}

/// A load under way.
struct Load {
    log: Box<dyn TimelogFace>,
    name: String,
    rules: RowRules,
    batch_rows: usize,
    on_error: OnError,
    batch: EntryBatch,
    /// Rows committed.
    rows: u64,
    files: u64,
    skipped: u64,
    bar: ProgressBar,
}

impl Load {
    fn new(
        log: Box<dyn TimelogFace>,
        rules: RowRules,
        arguments: &IngestArgs,
        bar: ProgressBar,
    ) -> Self {
        Self {
            log,
            name: arguments.name.clone(),
            rules,
            batch_rows: arguments.batch_rows.unwrap_or(BATCH_ROWS),
            on_error: arguments.on_error,
            batch: EntryBatch::new(),
            rows: 0,
            files: 0,
            skipped: 0,
            bar,
        }
    }

    /// Loads one file; its last rows may still wait in the batch.
    fn file(&mut self, mut rows: Rows) -> Result<()> {
        loop {
            match rows.next_into(&self.rules, &mut self.batch) {
                Ok(true) => {}
                Ok(false) => break,
                Err(RowError::Input(failure)) => return Err(failure),
                Err(RowError::Bad(bad)) => self.bad_row(rows.name(), &bad)?,
            }
            if self.batch.len() >= self.batch_rows || self.batch.value_bytes() >= BATCH_BYTES_MAX {
                self.commit()?;
            }
        }
        self.files += 1;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let rows = self.batch.len() as u64;
        let batch = std::mem::take(&mut self.batch);
        if rows > 0 {
            self.log.append(batch)?;
        }
        self.rows += rows;
        self.bar.set_message(counted(self.rows, "row"));
        Ok(())
    }

    fn bad_row(&mut self, name: &str, bad: &BadRow) -> Result<()> {
        if self.on_error == OnError::Fail {
            self.commit()?;
            return Err(Failure::failed(
                format!("{name}, {bad}"),
                "mend the row and load what is missing, or leave bad rows out with \
                 '--on-error skip'",
            ));
        }
        self.skipped += 1;
        if self.skipped <= SKIPS_TOLD {
            self.bar.suspend(|| tell(format_args!("skipped: {name}, {bad}")));
        }
        Ok(())
    }

    fn tell_outcome(&self, took_ns: u64) {
        if self.skipped > SKIPS_TOLD {
            tell(format_args!("skipped: {} more", grouped(self.skipped - SKIPS_TOLD)));
        }
        Outcome { rows: self.rows, files: self.files, skipped: self.skipped, took_ns }
            .tell(&self.name);
    }
}

/// A failure, with how many rows had gone in before it.
fn after_rows(failure: Failure, rows: u64) -> Failure {
    failure.with_note(&format!("{} went in before it, none after", counted(rows, "row")))
}
