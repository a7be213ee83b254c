//! Rows of a table.

use std::fmt;
use std::path::{Path, PathBuf};

use arrow_schema::FieldRef;
use indicatif::ProgressBar;
use timestrata::ingest::rows::{
    Format, Input, Load, OnError as SourceOnError, Plan, ReadReport, input_of_path,
};
use timestrata::table::{Commits, IngestOptions, OnMismatch, TableOptions, WriteOptions};
use timestrata::{Access, Durability, Io, Settings, Store};

use super::{IngestArgs, Mismatch, OnError, Outcome, progress_bar};
use crate::faces::open;
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::output;
use crate::terminal::push_visible;
use crate::verbs::{counted, grouped};

/// The most columns that are told as a file's own finds.
const NOTES_TOLD_MAX: usize = 10;

pub(super) fn run(dir: &Path, arguments: &IngestArgs) -> Result<()> {
    expect_of_tables(arguments)?;
    let load = load_of(arguments)?;
    if arguments.reading.dry_run {
        return plan(dir, arguments, &load);
    }
    let io = Io::os();
    let begun_ns = io.clock.monotonic_ns();
    let bar = progress_bar(&arguments.files);
    // A first file that can't be opened is told before a store is made for it.
    let mut files = arguments.files.iter();
    let mut next = match files.next() {
        Some(path) if !dir.exists() => Some(checked(path, &load, &bar)?),
        _ => None,
    };
    let store = open(dir, Access::Write)?;
    let mut taken =
        Taken { store: &store, name: &arguments.name, load, bar: &bar, rows: 0, skipped: 0 };
    let outcome = arguments.files.iter().try_for_each(|path| {
        let input = next.take().map_or_else(|| input_of(path, &bar), Ok)?;
        taken.file(input, path)
    });
    bar.finish_and_clear();
    let (rows, skipped) = (taken.rows, taken.skipped);
    let closed = store.close();
    outcome.map_err(|failure| after_files(failure, rows))?;
    closed?;
    let took_ns = io.clock.monotonic_ns().saturating_sub(begun_ns);
    let files = arguments.files.len() as u64;
    Outcome { rows, files, skipped, took_ns }.tell(&arguments.name);
    Ok(())
}

/// Tells what would be made of the files.
fn plan(dir: &Path, arguments: &IngestArgs, load: &Load) -> Result<()> {
    let bar = progress_bar(&arguments.files);
    // Where there is no store yet, one in memory is as empty as it would be.
    let store = match dir.exists() {
        true => open(dir, Access::Read)?,
        false => Store::memory(Settings::default())?,
    };
    let mut refused = 0;
    for path in &arguments.files {
        let (input, name) = (input_of(path, &bar)?, name_of(path));
        let before = bar.position();
        let watch = &mut |report: &ReadReport| bar.set_position(before + report.bytes_read);
        let plan = load.plan(&store, &arguments.name, input, &name, watch);
        match plan {
            Ok(plan) => {
                bar.suspend(|| output::print(ToldPlan::of(&name, &plan)))?;
                tell_skipped(&bar, &plan.report);
                refused += u64::from(plan.refusal.is_some());
            }
            Err(error) => {
                let error = visible(&error.to_string());
                bar.suspend(|| output::print(format_args!("{name}: refused: {error}\n")))?;
                refused += 1;
            }
        }
    }
    bar.finish_and_clear();
    store.close()?;
    self::refused(refused)
}

/// What would be made of a file, told alike of one that is read here and of one that a server reads.
pub(super) struct ToldPlan {
    pub(super) name: String,
    pub(super) format: String,
    pub(super) delimiter: Option<String>,
    pub(super) rows: u64,
    pub(super) columns: Vec<ToldColumn>,
    pub(super) refusal: Option<String>,
}

pub(super) struct ToldColumn {
    pub(super) name: String,
    pub(super) data_type: String,
    pub(super) notes: Vec<String>,
}

impl ToldPlan {
    fn of(name: &str, plan: &Plan) -> Self {
        let column = |field: &FieldRef| {
            let name = field.name();
            let mut notes = Vec::new();
            if plan.time.as_ref() == Some(name) {
                notes.push("the time".to_owned());
            }
            if plan.added.contains(name) {
                notes.push("new".to_owned());
            }
            if plan.widened.iter().any(|(widened, _)| widened == name) {
                notes.push("widened".to_owned());
            }
            let found = plan.notes.iter().filter(|(noted, _)| noted == name);
            notes.extend(found.map(|(_, note)| note.clone()));
            ToldColumn { name: name.clone(), data_type: field.data_type().to_string(), notes }
        };
        Self {
            name: name.to_owned(),
            format: plan.format.to_string(),
            delimiter: plan.delimiter.map(|delimiter| delimiter.to_string()),
            rows: plan.report.rows,
            columns: plan.columns.fields().iter().map(column).collect(),
            refusal: plan.refusal.clone(),
        }
    }
}

impl fmt::Display for ToldPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.format)?;
        if let Some(delimiter) = &self.delimiter {
            write!(f, ", fields separated by '{delimiter}'")?;
        }
        writeln!(f, ", {}", counted(self.rows, "row"))?;
        for ToldColumn { name, data_type, notes } in &self.columns {
            write!(f, "  {}: {data_type}", visible(name))?;
            match notes.is_empty() {
                true => writeln!(f)?,
                false => writeln!(f, " ({})", notes.join(", "))?,
            }
        }
        match &self.refusal {
            Some(why) => writeln!(f, "  refused: {}", visible(why)),
            None => Ok(()),
        }
    }
}

/// Text of a file, fit for a terminal.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    push_visible(text, &mut shown);
    shown
}

/// How a look at files ends of which so many would be refused.
pub(super) fn refused(files: u64) -> Result<()> {
    match files {
        0 => Ok(()),
        files => Err(Failure::plain(format!("{} would be refused", counted(files, "file")))),
    }
}

fn tell_skipped(bar: &ProgressBar, report: &ReadReport) {
    for bad in &report.skips {
        bar.suspend(|| tell(format_args!("skipped: {bad}")));
    }
    let listed = report.skips.len() as u64;
    if report.skipped > listed {
        bar.suspend(|| tell(format_args!("skipped: {} more", grouped(report.skipped - listed))));
    }
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

/// What a file is called in messages.
fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.to_string_lossy().into_owned() }
}

fn input_of(path: &PathBuf, bar: &ProgressBar) -> Result<Input> {
    if path == Path::new("-") {
        return Ok(Input::Reader(Box::new(bar.wrap_read(std::io::stdin()))));
    }
    Ok(input_of_path(&Io::os(), path)?)
}

/// A file that can be read as rows. What is on stdin is looked at later, as it can be read once only.
fn checked(path: &PathBuf, load: &Load, bar: &ProgressBar) -> Result<Input> {
    if path != Path::new("-") {
        let source = timestrata::ingest::rows::open_path(&Io::os(), path, &load.read);
        drop(source?);
    }
    input_of(path, bar)
}

/// What a file is, as it is found where it is loaded here.
pub(super) fn format_of(path: &Path, arguments: &IngestArgs) -> Result<Format> {
    let load = load_of(arguments)?;
    Ok(timestrata::ingest::rows::open_path(&Io::os(), path, &load.read)?.format())
}

/// The form that is said.
pub(super) fn format_said(arguments: &IngestArgs) -> Result<Option<Format>> {
    let format = arguments.format.as_deref().map(str::parse::<Format>).transpose();
    format.map_err(|error| {
        Failure::usage(error.message().to_owned(), "say one of these, or leave it out")
    })
}

fn load_of(arguments: &IngestArgs) -> Result<Load> {
    let mut load = arguments.load()?;
    load.read.format = format_said(arguments)?;
    load.read.time = arguments.time.clone();
    load.read.on_error = match arguments.on_error {
        OnError::Fail => SourceOnError::Fail,
        OnError::Skip => SourceOnError::Skip,
    };
    load.ingest = ingest_options(arguments);
    Ok(load)
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
struct Taken<'a> {
    store: &'a Store,
    name: &'a str,
    load: Load,
    bar: &'a ProgressBar,
    /// Rows committed.
    rows: u64,
    skipped: u64,
}

impl Taken<'_> {
    /// Loads one file.
    fn file(&mut self, input: Input, path: &Path) -> Result<()> {
        let before = self.bar.position();
        let watch = &mut |report: &ReadReport| {
            self.bar.set_position(before + report.bytes_read);
            self.bar.set_message(counted(self.rows + report.rows, "row"));
        };
        let name = name_of(path);
        let done = self.load.take(self.store, self.name, input, &name, watch)?;
        self.rows += done.report.rows;
        self.skipped += done.report.skipped;
        // Nothing that was told apart goes without a word.
        for (column, note) in done.notes.iter().take(NOTES_TOLD_MAX) {
            self.bar.suspend(|| tell(format_args!("{name}: column '{column}': {note}")));
        }
        tell_skipped(self.bar, &done.report);
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
