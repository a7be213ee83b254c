//! `timestrata info`.

use std::io::{self, Write};

use clap::Args;
use serde_json::Value;

use super::{bytes_shown, counted, grouped};
use crate::at::At;
use crate::faces::StoreArg;
use crate::failure::{Failure, Result};
use crate::output::table::Table;
use crate::output::{FormArg, ReportFormat};
use crate::terminal::push_visible;

/// Print what a store holds.
#[derive(Debug, Args)]
#[command(after_help = "\
A topic is told with the records of all its partitions, a graph with its blocks and edges. The streams that they are \
made of are told by their names only.

Examples:
  timestrata info ./store
  timestrata info ./store weather --json
  timestrata info http://127.0.0.1:8080")]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    store: StoreArg,
    /// Only this stream, and what its columns take; default all.
    name: Option<String>,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
    #[command(flatten)]
    at: At,
}

pub(crate) fn run(arguments: &InfoArgs) -> Result<()> {
    let info = arguments.store.read(&arguments.at)?.info(arguments.name.as_deref())?;
    let written = match arguments.form.is_json() {
        true => writeln!(io::stdout(), "{info}"),
        false => write_text(&info),
    };
    written.map_err(Failure::output)
}

/// A number of an object; 0 where it has none.
fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or(0)
}

/// A text of an object; nothing where it has none.
fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().map_or(&[], Vec::as_slice)
}

/// The texts of a list, with commas between.
fn joined(of: &Value, name: &str) -> String {
    let texts: Vec<&str> = list(of, name).iter().filter_map(Value::as_str).collect();
    texts.join(", ")
}

/// How many rows, as a person reads it.
fn rows_shown(stream: &Value) -> String {
    let rows = grouped(number(stream, "rows"));
    match stream["edges"].as_u64() {
        Some(edges) => format!("{rows} blocks, {} edges", grouped(edges)),
        None => rows,
    }
}

fn write_text(info: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if let Some(path) = info["path"].as_str() {
        writeln!(out, "store {path}")?;
    }
    let streams = list(info, "streams");
    writeln!(
        out,
        "commit {}, WAL {}, {}\n",
        number(info, "last_seq"),
        bytes_shown(number(info, "wal_bytes")),
        counted(streams.len() as u64, "stream")
    )?;
    write_history(info, &mut out)?;
    write_health(info, &mut out)?;
    let header = ["name", "model", "codec", "unit", "rows", "first", "last", "runs", "on disk"];
    let mut table = Table::new(header.into_iter());
    for stream in streams {
        let properties = &stream["properties"];
        let cells = vec![
            text(stream, "name").to_owned(),
            text(properties, "model").to_owned(),
            text(properties, "codec").to_owned(),
            text(properties, "unit").to_owned(),
            rows_shown(stream),
            text(stream, "first").to_owned(),
            text(stream, "last").to_owned(),
            number(stream, "runs").to_string(),
            bytes_shown(number(stream, "run_bytes")),
        ];
        table.push(cells, &mut out)?;
    }
    table.finish(&mut out)?;
    let [stream] = streams else { return Ok(()) };
    if !list(stream, "fields").is_empty() {
        let mut names = String::new();
        push_visible(&joined(stream, "fields"), &mut names);
        writeln!(out, "\nfields with columns of their own: {names}")?;
    }
    let columns = list(stream, "columns");
    if columns.iter().any(|column| column["type"].is_string() || number(column, "values") > 0) {
        writeln!(out)?;
        write_columns(columns, &mut out)?;
    }
    Ok(())
}

/// What is kept of the past, and what it takes.
fn write_history(info: &Value, out: &mut impl Write) -> io::Result<()> {
    let oldest = number(info, "oldest_seq");
    if oldest < number(info, "last_seq") {
        let (runs, log) = (number(info, "history_run_bytes"), number(info, "history_log_bytes"));
        let (runs, log) = (bytes_shown(runs), bytes_shown(log));
        writeln!(out, "history: from commit {oldest}, {runs} of runs, {log} of log\n")?;
    }
    let pinned = number(info, "pinned_bytes");
    if pinned > 0 {
        writeln!(out, "kept by pins alone: {}\n", bytes_shown(pinned))?;
    }
    Ok(())
}

/// What the scrubber has read and found, what fails, and what was set aside.
fn write_health(info: &Value, out: &mut impl Write) -> io::Result<()> {
    let scrub = &info["scrub"];
    if let Some(ended) = scrub["round_ended"].as_str() {
        let word = if scrub["found_damage"] == true { ", found damage" } else { "" };
        writeln!(out, "scrubbed: a round ended {ended}{word}\n")?;
    }
    for damaged in list(info, "damaged") {
        writeln!(out, "damaged: {}\n", text(damaged, "message"))?;
    }
    for trouble in list(info, "troubles") {
        writeln!(out, "in trouble: {}\n", trouble.as_str().unwrap_or_default())?;
    }
    let files = number(info, "quarantine_files");
    if files > 0 {
        let bytes = bytes_shown(number(info, "quarantine_bytes"));
        writeln!(out, "set aside in quarantine: {}, {bytes}\n", counted(files, "file"))?;
    }
    Ok(())
}

/// Columns, and where the bytes of a stream's compacted runs are.
fn write_columns(columns: &[Value], out: &mut impl Write) -> io::Result<()> {
    let has_types = columns.iter().any(|column| column["type"].is_string());
    let head = ["column", "type", "compacted", "plain", "ratio", "encodings"];
    let is_shown = |name: &&str| *name != "type" || has_types;
    let mut table = Table::new(head.into_iter().filter(is_shown));
    for column in columns {
        let (stored, plain) = (number(column, "stored_bytes"), number(column, "plain_bytes"));
        let mut cells = vec![text(column, "name").to_owned()];
        cells.extend(has_types.then(|| text(column, "type").to_owned()));
        cells.extend([
            bytes_shown(stored),
            bytes_shown(plain),
            match number(column, "values") {
                0 => String::new(),
                _ => format!("{:.1}", plain as f64 / stored.max(1) as f64),
            },
            joined(column, "encodings"),
        ]);
        table.push(cells, out)?;
    }
    table.finish(out)?;
    Ok(())
}
