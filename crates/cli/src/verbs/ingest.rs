//! `timestrata ingest`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use timestrata::timelog::{Codec, EntryBatch, Timelog, TimelogOptions, Unit};
use timestrata::{Access, Durability, ErrorKind, Io, Store};

use super::{counted, grouped, open};
use crate::failure::{Failure, Result};
use crate::input;
use crate::message::tell;
use crate::rows::{BadRow, Format, RowError, RowRules, Rows};
use crate::times::Integers;

/// Bytes of values that one commit has at most: keeps memory bounded where rows are long.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// Bad rows that are told one by one when they are skipped.
const SKIPS_TOLD: u64 = 10;

/// Load rows of CSV or JSON lines.
#[derive(Debug, Args)]
#[command(after_help = "\
CSV has a header line; empty fields are null, 'true' and 'false' booleans, numbers numbers, all \
else text. JSON lines have one object a line. Gzip is unpacked. Rows may come in any order.

The value of a row is all its columns, as a CBOR map; with --codec bytes it is the text of the \
column that --value names. Without --time-unit an integer time is taken as seconds below 10^11, \
milliseconds below 10^14, microseconds below 10^17, else nanoseconds.

Rows are committed in batches. At the first bad row ingest stops: the rows before it are in the \
log, and none after it, and the message says so (--on-error skip goes on instead). Interrupting \
it leaves whole batches.

Examples:
  timestrata ingest ./store weather weather.csv --as timelog --time time_hour
  timestrata ingest ./store trades *.csv.gz --as timelog --time ts --unit ns --log-unit ns
  tail -n +1 -f app.jsonl | timestrata ingest ./store app - --as timelog --time at --batch-rows 100")]
pub(crate) struct Arguments {
    /// The store's directory; made if missing.
    dir: PathBuf,
    /// The time log; made if missing.
    name: String,
    /// Files to load, in this order; '-' is stdin.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What to load them as.
    #[arg(long = "as", value_enum)]
    model: Model,
    /// The column that has the time.
    #[arg(long, value_name = "COLUMN")]
    time: String,
    /// How values are kept; default: as the log has it, and cbor in a new one.
    #[arg(long, value_enum)]
    codec: Option<CodecName>,
    /// The column whose text is the value of a log of bytes.
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// Unit of integers in the time column; default: by their magnitude.
    #[arg(long, value_enum, visible_alias = "unit", value_name = "UNIT")]
    time_unit: Option<UnitName>,
    /// Unit of the log's timestamps; default: as the log has it, and ms in a new one.
    #[arg(long, value_enum, value_name = "UNIT")]
    log_unit: Option<UnitName>,
    /// How the files are written; default: by their first byte.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// What is between two fields of CSV: one character, or 'tab'.
    #[arg(long, default_value = ",", value_parser = delimiter)]
    delimiter: u8,
    /// Rows a commit has at most.
    #[arg(long, value_name = "ROWS", default_value_t = 50_000, value_parser = at_least_one)]
    batch_rows: usize,
    /// What to do with a bad row.
    #[arg(long, value_enum, default_value_t = OnError::Stop)]
    on_error: OnError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Model {
    /// Values by time.
    Timelog,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CodecName {
    /// The row as a CBOR map.
    Cbor,
    /// The text of one column.
    Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UnitName {
    S,
    Ms,
    Us,
    Ns,
}

impl From<UnitName> for Unit {
    fn from(name: UnitName) -> Self {
        match name {
            UnitName::S => Self::Second,
            UnitName::Ms => Self::Milli,
            UnitName::Us => Self::Micro,
            UnitName::Ns => Self::Nano,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnError {
    /// Commit the rows before it, say where it is, and fail.
    Stop,
    /// Leave it out, say so, and go on.
    Skip,
}

fn delimiter(text: &str) -> std::result::Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err("one ASCII character, or 'tab'".to_owned()),
    }
}

fn at_least_one(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("a whole number".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Model::Timelog = arguments.model;
    if arguments.codec == Some(CodecName::Cbor) && arguments.value.is_some() {
        return Err(Failure::usage(
            "--value is for logs of bytes, but --codec says cbor",
            "leave out --value, or say --codec bytes",
        ));
    }
    let io = Io::os();
    let begun_ns = io.clock.monotonic_ns();
    let bar = progress_bar(&arguments.files);
    let mut rules = rules(arguments);
    // A first file that can't be loaded is told before a store is made for it.
    let mut files = arguments.files.iter();
    let open_rows = |path: &PathBuf, rules: &RowRules| {
        input::open(path, &bar).and_then(|input| Rows::open(input, arguments.format, rules))
    };
    let first = files.next().map(|path| open_rows(path, &rules)).transpose()?;
    let store = open(&arguments.dir, Access::Write)?;
    let log = open_log(&store, arguments)?;
    rules.unit = log.unit();
    let mut load = Load::new(log, rules, arguments, bar.clone());
    let outcome = first.into_iter().try_for_each(|rows| load.file(rows)).and_then(|()| {
        files.try_for_each(|path| open_rows(path, &load.rules).and_then(|rows| load.file(rows)))
    });
    // What came before a failure is kept, so close in any case, and tell the first failure.
    let committed = load.commit();
    bar.finish_and_clear();
    let closed = store.sync().map(drop).and_then(|()| store.close());
    let rows = load.rows;
    outcome.map_err(|failure| after_rows(failure, rows))?;
    committed?;
    closed?;
    load.tell_outcome(io.clock.monotonic_ns().saturating_sub(begun_ns));
    Ok(())
}

/// What the arguments say of rows; the log says its unit later.
fn rules(arguments: &Arguments) -> RowRules {
    RowRules {
        time_column: arguments.time.clone(),
        value_column: arguments.value.clone(),
        integers: arguments
            .time_unit
            .map_or(Integers::ByMagnitude, |unit| Integers::Of(unit.into())),
        unit: Unit::default(),
        delimiter: arguments.delimiter,
    }
}

/// Opens the log, or makes it as the arguments say.
fn open_log(store: &Store, arguments: &Arguments) -> Result<Timelog> {
    let existing = match Timelog::open(store, &arguments.name) {
        Ok(log) => Some(log),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
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
    let unit = arguments.log_unit.map(Unit::from).or(kept.map(|(_, unit)| unit));
    let options =
        TimelogOptions { codec, unit: unit.unwrap_or_default(), ..TimelogOptions::default() };
    Ok(Timelog::create(store, &arguments.name, options)?)
}

/// Runs over bytes where they are known, else only turns. Shown on a terminal only.
fn progress_bar(files: &[PathBuf]) -> ProgressBar {
    let (total, template) = match input::total_bytes(files) {
        Some(bytes) => (Some(bytes), "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {msg}"),
        None => (None, "{spinner} {bytes} {bytes_per_sec} {msg}"),
    };
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A load under way.
struct Load {
    log: Timelog,
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
    fn new(log: Timelog, rules: RowRules, arguments: &Arguments, bar: ProgressBar) -> Self {
        Self {
            log,
            rules,
            batch_rows: arguments.batch_rows,
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
        self.log.extend_batch(batch, Durability::Written)?;
        self.rows += rows;
        self.bar.set_message(counted(self.rows, "row"));
        Ok(())
    }

    fn bad_row(&mut self, name: &str, bad: &BadRow) -> Result<()> {
        if self.on_error == OnError::Stop {
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
        let seconds = took_ns as f64 / 1e9;
        let rate = self.rows as f64 / seconds.max(1e-9);
        if self.skipped > SKIPS_TOLD {
            tell(format_args!("skipped: {} more", grouped(self.skipped - SKIPS_TOLD)));
        }
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!("; {} skipped", counted(skipped, "bad row")),
        };
        tell(format_args!(
            "ingested {} into '{}' from {} in {seconds:.2} s ({} rows/s){skipped}",
            counted(self.rows, "row"),
            self.log.name(),
            counted(self.files, "file"),
            grouped(rate as u64)
        ));
    }
}

/// A failure, with how many rows had gone in before it.
fn after_rows(failure: Failure, rows: u64) -> Failure {
    let told = format!("{} went in before it, none after", counted(rows, "row"));
    match failure {
        Failure::Failed { message, hint } => {
            Failure::Failed { message: format!("{message}\nnote: {told}"), hint }
        }
        other => other,
    }
}
