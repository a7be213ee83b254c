//! Files for a server, which reads them as this command does: whole, and as they are.

use std::io::Read;
use std::path::Path;

use indicatif::ProgressBar;
use serde_json::Value;
use timestrata::Io;
use timestrata::ingest::rows::Format;
use timestrata_client::{Request, Server};

use super::logs::expect_of_logs;
use super::table::expect_of_tables;
use super::{IngestArgs, Mismatch, OnError, Outcome, progress_bar, table};
use crate::failure::{Failure, Result};
use crate::input;
use crate::message::tell;
use crate::verbs::{counted, counted_entries, grouped};

/// Bad rows and lines that are told one by one.
const TOLD_MAX: u64 = 10;

pub(super) fn run_on_table(url: &str, arguments: &IngestArgs) -> Result<()> {
    expect_of_tables(arguments)?;
    let mut load = Load::begin(url, arguments)?;
    let mut refused = 0;
    for path in &arguments.files {
        let format = format_of(path, arguments)?;
        let request = table_request(&load.server, arguments);
        let answer = request.send(format.mime(), &mut raw(path, &load.bar)?);
        let answer = answer.map_err(|error| load.after_files(error.into()))?;
        load.rows += answer["rows_inserted"].as_u64().unwrap_or(0);
        if arguments.reading.dry_run {
            load.bar.suspend(|| tell_plan(path, &answer))?;
            refused += u64::from(!answer["refusal"].is_null());
        }
        load.skipped += load.told(path, "skipped", &answer["skipped"]);
        load.told_apart(path, &answer["notes"]);
    }
    load.bar.finish_and_clear();
    if arguments.reading.dry_run {
        return table::refused(refused);
    }
    let files = arguments.files.len() as u64;
    let took_ns = load.took_ns();
    Outcome { rows: load.rows, files, skipped: load.skipped, took_ns }.tell(&arguments.name);
    Ok(())
}

fn table_request<'a>(server: &'a Server, arguments: &IngestArgs) -> Request<'a> {
    let names = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
    let request = server
        .request("POST", &["tables", &arguments.name, "ingest"])
        .with_some("time", arguments.time.as_deref())
        .with_some("key", names(&arguments.key))
        .with_some("tags", names(&arguments.tags))
        .with("ids", arguments.ids.to_string())
        .with_some("compression", arguments.compression.map(|packed| packed.to_string()))
        .with_some("batch_rows", arguments.batch_rows.map(|rows| rows.to_string()))
        .with("on_error", if arguments.on_error == OnError::Skip { "skip" } else { "fail" })
        .with(
            "on_mismatch",
            if arguments.on_mismatch == Mismatch::Widen { "widen" } else { "error" },
        );
    let request = request.with_some("dry_run", arguments.reading.dry_run.then_some("true"));
    let said = arguments.said_of_reading().into_iter();
    said.fold(request, |request, (name, value)| request.with(name, value))
}

/// Tells what the server would make of a file.
fn tell_plan(path: &Path, answer: &Value) -> Result<()> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let columns = answer["columns"].as_array().into_iter().flatten().map(|column| {
        let name = text(&column["name"]).unwrap_or_default();
        let mut notes = Vec::new();
        if answer["timestamp_column"] == column["name"] {
            notes.push("the time".to_owned());
        }
        for (said, note) in [("is_new", "new"), ("is_widened", "widened")] {
            notes.extend((column[said] == Value::Bool(true)).then(|| note.to_owned()));
        }
        notes.extend(text(&column["note"]));
        table::ToldColumn { name, data_type: text(&column["data_type"]).unwrap_or_default(), notes }
    });
    let told = table::ToldPlan {
        name: input::name(path).to_string(),
        format: text(&answer["format"]).unwrap_or_default(),
        delimiter: text(&answer["delimiter"]),
        rows: answer["rows"].as_u64().unwrap_or(0),
        columns: columns.collect(),
        refusal: text(&answer["refusal"]),
    };
    crate::output::print(told)
}

/// What a file is, as it is found where it is loaded here. Of stdin, which is read once, it must be said.
fn format_of(path: &Path, arguments: &IngestArgs) -> Result<Format> {
    match (table::format_said(arguments)?, path == Path::new("-")) {
        (Some(format), _) => Ok(format),
        (None, true) => Err(Failure::usage(
            "what is on stdin? A server is told before it comes",
            "say it: --format csv, jsonl, arrows or parquet",
        )),
        (None, false) => table::format_of(path, arguments),
    }
}

/// The bytes of a file as they are.
#[expect(clippy::disallowed_types, reason = "a user's file, not a file of a store")]
fn raw(path: &Path, bar: &ProgressBar) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(bar.wrap_read(std::io::stdin().lock())));
    }
    let could_not = input::could_not_read_text(path, "the file");
    Ok(Box::new(bar.wrap_read(std::fs::File::open(path).map_err(could_not)?)))
}

pub(super) fn run_on_logs(url: &str, arguments: &IngestArgs) -> Result<()> {
    expect_of_logs(arguments)?;
    let logs = &arguments.logs;
    let is_unknown = logs.year.is_some()
        || logs.message_bytes_max.is_some()
        || arguments.compression.is_some()
        || arguments.batch_rows.is_some()
        || logs.skip_lines > 0
        || logs.follow
        || !logs.format_files.is_empty();
    if is_unknown {
        return Err(Failure::usage(
            "--year, --format-file, --follow, --message-bytes-max, --compression, --batch-rows and --skip-lines are for a store's directory",
            "leave them out: a server's log is what it was made as, and the server makes the commits",
        ));
    }
    let encoding = arguments.reading.encoding()?;
    let mut load = Load::begin(url, arguments)?;
    let mut flawed = 0;
    for path in &arguments.files {
        let mut request = load.server.request("POST", &["logs", &arguments.name]);
        request = request.with_some("format", logs.log_format.as_ref());
        request = request.with_some("each_line", logs.each_line.then_some("true"));
        request = request.with_some("encoding", encoding.map(|encoding| encoding.to_string()));
        for (key, value) in &logs.labels {
            request = request.with("label", format!("{key}:{value}"));
        }
        let mut opened = input::open(path, &load.bar)?;
        let answer = request.send("text/plain", &mut opened.reader);
        let answer = answer.map_err(|error| load.after_files(error.into()))?;
        load.rows += answer["entries"].as_u64().unwrap_or(0);
        if logs.log_format.is_none() {
            let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
            let (format, why) = (text("format"), text("why"));
            load.tell(format_args!("{}: read as {format}: {why}", opened.name));
        }
        flawed += load.told(path, "kept as it is", &answer["parse_errors"]);
    }
    load.bar.finish_and_clear();
    let flawed = match flawed {
        0 => String::new(),
        flawed => format!("; {} kept with a parse_error", counted(flawed, "line")),
    };
    let (rows, files) = (load.rows, arguments.files.len() as u64);
    Outcome { rows, files, skipped: 0, took_ns: load.took_ns() }.tell_as(
        &counted_entries(rows),
        &arguments.name,
        "entries",
        &flawed,
    );
    Ok(())
}

/// A load under way.
struct Load {
    server: Server,
    bar: ProgressBar,
    io: Io,
    begun_ns: u64,
    /// Rows that the server has.
    rows: u64,
    skipped: u64,
}

impl Load {
    fn begin(url: &str, arguments: &IngestArgs) -> Result<Self> {
        let io = Io::os();
        let begun_ns = io.clock.monotonic_ns();
        let server = arguments.store.server(url, None)?;
        Ok(Self { server, bar: progress_bar(&arguments.files), io, begun_ns, rows: 0, skipped: 0 })
    }

    fn took_ns(&self) -> u64 {
        self.io.clock.monotonic_ns().saturating_sub(self.begun_ns)
    }

    fn tell(&self, message: std::fmt::Arguments<'_>) {
        self.bar.suspend(|| tell(message));
    }

    /// Tells what a server says of rows or lines that weren't as they should be; gives how many there are.
    fn told(&self, path: &Path, what: &str, said: &Value) -> u64 {
        let count = said["count"].as_u64().unwrap_or(0);
        let first = said["first"].as_array().into_iter().flatten();
        let mut told = 0;
        for one in first.take(usize::try_from(TOLD_MAX).unwrap_or(0)) {
            let mut shown = format!("{what}: {}, ", input::name(path));
            crate::terminal::push_visible(one.as_str().unwrap_or_default(), &mut shown);
            self.tell(format_args!("{shown}"));
            told += 1;
        }
        if count > told {
            self.tell(format_args!("{what}: {} more", grouped(count - told)));
        }
        count
    }

    /// Tells what the server had to tell apart in columns.
    fn told_apart(&self, path: &Path, notes: &Value) {
        let notes = notes.as_object().into_iter().flatten();
        for (column, note) in notes.take(usize::try_from(TOLD_MAX).unwrap_or(0)) {
            let mut shown = format!("{}: column '", input::name(path));
            crate::terminal::push_visible(column, &mut shown);
            shown.push_str("': ");
            crate::terminal::push_visible(note.as_str().unwrap_or_default(), &mut shown);
            self.tell(format_args!("{shown}"));
        }
    }

    /// A failure, with how many rows of other files had gone in before it.
    fn after_files(&self, failure: Failure) -> Failure {
        match self.rows {
            0 => failure,
            rows => {
                failure.with_note(&format!("{} of files before it went in", counted(rows, "row")))
            }
        }
    }
}
