//! Lines of files as entries of a log.

mod arguments;
mod follow;
mod load;
mod reading;

use std::path::Path;
use std::sync::Arc;

pub(super) use arguments::{LogArgs, expect_of_logs};
use load::Load;
use reading::Reading;
use timestrata::ingest::lines::{LogFormats, SourceOptions};
use timestrata::logs::{Clock, Logs, LogsOptions, MESSAGE_BYTES_MAX, is_logs};
use timestrata::{Access, Io, Store};

use super::{IngestArgs, Outcome, progress_bar};
use crate::faces::open;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::verbs::{counted, counted_entries};

pub(super) fn run(dir: &Path, arguments: &IngestArgs) -> Result<()> {
    expect_of_logs(arguments)?;
    if arguments.logs.follow {
        return follow::run(dir, arguments);
    }
    let formats = arguments.logs.formats()?;
    let io = Io::os();
    let begun_ns = io.clock.monotonic_ns();
    let interrupt = Interrupt::listen()?;
    let bar = progress_bar(&arguments.files);
    let found = dir.exists().then(|| open(dir, Access::Write)).transpose()?;
    let message_bytes_max = message_bytes_max(found.as_ref(), arguments)?;
    let mut readings = arguments.files.iter().enumerate().map(|(index, path)| {
        let skip_lines = if index == 0 { arguments.logs.skip_lines } else { 0 };
        let options = source_options(&io, path, arguments, &formats, message_bytes_max)?;
        // Of what isn't a file nobody knows when it was written: it may be now, and for months.
        let clock = (!path.is_file()).then(|| Arc::clone(&io.clock));
        Reading::begin(path, options, clock, skip_lines, bar.clone())
    });
    // A first file that can't be read is told before a store is made for it.
    let mut first = readings.next().transpose()?;
    if let Some(first) = &mut first {
        first.await_format(&interrupt)?;
    }
    let store = match found {
        Some(store) => store,
        None => open(dir, Access::Write)?,
    };
    let logs = open_log(&store, arguments)?;
    let mut load = Load::new(logs, arguments, interrupt, bar.clone())?;
    let outcome =
        first.map(Ok).into_iter().chain(readings).try_for_each(|reading| load.file(reading?));
    bar.finish_and_clear();
    let closed = store.sync().map(drop).and_then(|()| store.close());
    outcome.map_err(|failure| load.explain(failure))?;
    closed?;
    tell_outcome(&load, arguments, io.clock.monotonic_ns().saturating_sub(begun_ns));
    Ok(())
}

/// How long messages may be: as the log says, or as it is going to.
fn message_bytes_max(store: Option<&Store>, arguments: &IngestArgs) -> Result<usize> {
    let asked = arguments.logs.message_bytes_max;
    match store.filter(|store| store.stream(&arguments.name).is_some()) {
        Some(store) => Ok(Logs::open(store, &arguments.name)?.message_bytes_max()),
        None => Ok(asked.unwrap_or(MESSAGE_BYTES_MAX)),
    }
}

/// Opens the log, or makes it.
fn open_log(store: &Store, arguments: &IngestArgs) -> Result<Logs> {
    let asked = arguments.logs.message_bytes_max;
    let is_there = store.stream(&arguments.name).is_some_and(|stream| is_logs(&stream));
    let mut options = match is_there {
        true => Logs::open(store, &arguments.name)?.options()?,
        // What is in files has happened when they say, however much later it arrives.
        false => LogsOptions { clock: Some(Clock::SourceTime), ..LogsOptions::default() },
    };
    options.message_bytes_max = asked.unwrap_or(options.message_bytes_max);
    options.compression = arguments.compression.or(options.compression);
    Ok(Logs::create(store, &arguments.name, &options)?)
}

/// How the lines of a file are read. They were written up to when the file was last changed.
fn source_options(
    io: &Io,
    path: &Path,
    arguments: &IngestArgs,
    formats: &LogFormats,
    message_bytes_max: usize,
) -> Result<SourceOptions> {
    let encoding = arguments.reading.encoding()?;
    let arguments = &arguments.logs;
    let now = io.clock.wall_ns();
    let changed = path.metadata().and_then(|metadata| metadata.modified()).ok();
    let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let changed_ns = changed.and_then(|since| i64::try_from(since.as_nanos()).ok());
    let asked = arguments.log_format.as_deref();
    let format = asked.map(|name| formats.find(name)).transpose().map_err(|error| {
        Failure::usage(error.message(), "leave --log-format out, or say --format-file too")
    })?;
    Ok(SourceOptions {
        format,
        encoding,
        formats: formats.clone(),
        year: arguments.year,
        joins_lines: !arguments.each_line,
        message_bytes_max,
        ..SourceOptions::new(changed_ns.unwrap_or(now))
    })
}

fn tell_outcome(load: &Load, arguments: &IngestArgs, took_ns: u64) {
    let flawed = match load.flawed {
        0 => String::new(),
        flawed => format!("; {} kept with a parse_error", counted(flawed, "line")),
    };
    let (rows, files) = (load.entries, arguments.files.len() as u64);
    Outcome { rows, files, skipped: 0, took_ns }.tell_as(
        &counted_entries(rows),
        &arguments.name,
        "entries",
        &flawed,
    );
}
