//! Rows of a table.

use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use timestrata::ingest::rows::{Format, OnError as SourceOnError, ReadOptions, Source};
use timestrata::table::{
    Commits, IngestOptions, OnMismatch, Table, TableOptions, WriteOptions, ingest,
};
use timestrata::timelog::Unit;
use timestrata::{Access, Durability, Io, Store};

use super::{IngestArgs, Mismatch, OnError, Outcome, progress_bar};
use crate::faces::open;
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::verbs::{counted, grouped};

pub(super) fn run(dir: &Path, arguments: &IngestArgs) -> Result<()> {
    expect_of_tables(arguments)?;
    let io = Io::os();
    let begun_ns = io.clock.monotonic_ns();
    let mut read = read_options(arguments)?;
    let options = ingest_options(arguments);
    let bar = progress_bar(&arguments.files);
    // A first file that can't be loaded is told before a store is made for it.
    let mut files = arguments.files.iter();
    let mut next = match files.next() {
        Some(path) if !dir.exists() => Some(open_source(path, &read, &bar)?),
        _ => None,
    };
    let store = open(dir, Access::Write)?;
    let mut load =
        Load { store: &store, name: &arguments.name, options, bar: &bar, rows: 0, skipped: 0 };
    let outcome = arguments.files.iter().try_for_each(|path| {
        let source = match next.take() {
            Some(source) => source,
            None => {
                // The rows are held to the columns of a table that exists.
                if store.stream(&arguments.name).is_some() {
                    let table = Table::open(&store, &arguments.name)?;
                    read.expect_of(&table, load.options.write.on_mismatch)?;
                }
                open_source(path, &read, &bar)?
            }
        };
        load.file(source)
    });
    bar.finish_and_clear();
    let (rows, skipped) = (load.rows, load.skipped);
    let closed = store.close();
    outcome.map_err(|failure| after_files(failure, rows))?;
    closed?;
    let took_ns = io.clock.monotonic_ns().saturating_sub(begun_ns);
    let files = arguments.files.len() as u64;
    Outcome { rows, files, skipped, took_ns }.tell(&arguments.name);
    Ok(())
}

/// Refuses what only time logs have.
pub(super) fn expect_of_tables(arguments: &IngestArgs) -> Result<()> {
    if arguments.codec.is_some() || arguments.value.is_some() || arguments.log_unit.is_some() {
        return Err(Failure::usage(
            "--codec, --value and --log-unit are for time logs",
            "leave them out, or say --as timelog",
        ));
    }
    Ok(())
}

pub(super) fn open_source(path: &PathBuf, read: &ReadOptions, bar: &ProgressBar) -> Result<Source> {
    if path == Path::new("-") {
        let stdin = bar.wrap_read(std::io::stdin());
        return Ok(timestrata::ingest::rows::open_reader(stdin, "stdin", read)?);
    }
    Ok(timestrata::ingest::rows::open_path(&Io::os(), path, read)?)
}

pub(super) fn read_options(arguments: &IngestArgs) -> Result<ReadOptions> {
    let format = arguments.format.as_deref().map(str::parse::<Format>).transpose();
    let format = format.map_err(|error| {
        Failure::usage(error.message().to_owned(), "say one of these, or leave it out")
    })?;
    let on_error = match arguments.on_error {
        OnError::Fail => SourceOnError::Fail,
        OnError::Skip => SourceOnError::Skip,
    };
    Ok(ReadOptions {
        format,
        delimiter: arguments.delimiter,
        time: arguments.time.clone(),
        time_unit: arguments.time_unit.map(Unit::to_arrow),
        on_error,
        ..ReadOptions::default()
    })
}

fn ingest_options(arguments: &IngestArgs) -> IngestOptions {
    IngestOptions {
        table: TableOptions {
            time: arguments.time.clone(),
            key: arguments.key.clone(),
            tags: arguments.tags.clone(),
            hand_out_ids: arguments.ids,
            compression: arguments.compression,
            ..TableOptions::default()
        },
        write: WriteOptions {
            durability: Durability::Synced,
            on_mismatch: match arguments.on_mismatch {
                Mismatch::Error => OnMismatch::Error,
                Mismatch::Widen => OnMismatch::Widen,
            },
        },
        commits: arguments.batch_rows.map_or(Commits::One, Commits::Every),
        ..IngestOptions::default()
    }
}

/// A load under way.
struct Load<'a> {
    store: &'a Store,
    name: &'a str,
    options: IngestOptions,
    bar: &'a ProgressBar,
    /// Rows committed.
    rows: u64,
    skipped: u64,
}

impl Load<'_> {
    /// Loads one file.
    fn file(&mut self, mut source: Source) -> Result<()> {
        self.options.widened = source.widened();
        self.options.spoils_time = source.spoils_time();
        let (before, mut seen) = (self.bar.position(), 0);
        let mut batches = std::iter::from_fn(|| {
            let batch = source.next();
            let report = source.report();
            self.bar.set_position(before + report.bytes_read);
            if let Some(Ok(batch)) = &batch {
                seen += batch.num_rows() as u64;
                self.bar.set_message(counted(self.rows + seen, "row"));
            }
            batch
        });
        let done = ingest(self.store, self.name, &mut batches, &self.options)?;
        self.rows += done.rows;
        let report = source.report();
        self.skipped += report.skipped;
        let listed = report.skips.len() as u64;
        for bad in &report.skips {
            self.bar.suspend(|| tell(format_args!("skipped: {bad}")));
        }
        if report.skipped > listed {
            tell(format_args!("skipped: {} more", grouped(report.skipped - listed)));
        }
        Ok(())
    }
}

/// A failure, with how many rows of other files had gone in before it.
fn after_files(failure: Failure, rows: u64) -> Failure {
    match rows {
        0 => failure,
        _ => failure.with_note(&format!("{} of files before it went in", counted(rows, "row"))),
    }
}
