//! `timestrata info`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use timestrata::logs::{Logs, is_logs};
use timestrata::table::is_table;
use timestrata::timelog::Unit;
use timestrata::{
    Access, ColumnSize, Error, ErrorKind, Extent, HistoryStats, QuarantinedFile, Snapshot, Store,
    StoreStats, Stream, StreamStats, owner_of,
};

use super::repair::missing_as_json;
use super::{bytes_shown, counted, grouped};
use crate::at::At;
use crate::faces::{expect_directory, open};
use crate::failure::{Failure, Result};
use crate::output::table::Table;
use crate::output::{FormArg, ReportFormat};
use crate::terminal::push_visible;
use crate::times;

/// Print what a store holds.
#[derive(Debug, Args)]
#[command(after_help = "\
A topic is told with the records of all its partitions, a graph with its blocks and edges. The streams that they are \
made of are told by their names only.

Examples:
  timestrata info ./store
  timestrata info ./store weather --json")]
pub(crate) struct InfoArgs {
    /// The store's directory.
    dir: PathBuf,
    /// Only this stream, and what its columns take; default all.
    name: Option<String>,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
    #[command(flatten)]
    at: At,
}

/// What people know by one name, as it is told.
struct StreamInfo {
    name: String,
    properties: Vec<(String, String)>,
    extent: Extent,
    /// Of all its streams together.
    stats: StreamStats,
    columns: Vec<ColumnSize>,
    /// Types of its columns, if it is a table: they are told even where nothing is compacted.
    types: Option<Vec<String>>,
    /// Of a log: fields that have columns of their own.
    fields: Option<Vec<String>>,
    /// Streams that it is made of besides its own.
    parts: Vec<String>,
}

pub(crate) fn run(arguments: &InfoArgs) -> Result<()> {
    expect_directory(
        &arguments.dir,
        "give its directory: it may be read while a server has it open",
    )?;
    let store = arguments.at.of(open(&arguments.dir, Access::Read)?)?;
    let all = store.streams();
    let (parts, mut known): (Vec<_>, Vec<_>) = all
        .into_iter()
        .map(|stream| (owner_of(&store, &stream), stream))
        .partition(|(owner, _)| owner.is_some());
    if let Some(name) = &arguments.name {
        let stream = store.stream(name).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("no stream '{name}'")).at(&arguments.dir)
        })?;
        known = vec![(None, stream)];
    }
    let snapshot = store.snapshot()?;
    let stats = store.stats().streams;
    let mut infos = Vec::with_capacity(known.len());
    for (_, stream) in known {
        let its = parts.iter().filter(|(owner, _)| owner.as_deref() == Some(stream.name()));
        let parts: Vec<_> = its.map(|(_, part)| Arc::clone(part)).collect();
        infos.push(read(&store, &snapshot, &stream, &parts, &stats)?);
    }
    let quarantine = store.quarantine()?;
    let history = store.history()?;
    let written = match arguments.form.is_json() {
        true => writeln!(io::stdout(), "{}", as_json(&store, &infos, &quarantine, &history)),
        false => write_text(&store, &infos, &quarantine, &history),
    };
    written.map_err(Failure::output)
}

fn read(
    store: &Store,
    snapshot: &Snapshot,
    stream: &Stream,
    parts: &[Arc<Stream>],
    stats: &[StreamStats],
) -> Result<StreamInfo> {
    let spec = stream.spec();
    let fields = match is_logs(stream) {
        true => Some(Logs::open(store, stream.name())?.columns()?),
        false => None,
    };
    let schema = stream.schema();
    let types = schema.fields().iter().map(|field| field.data_type().to_string());
    let parts: Vec<_> = parts.iter().map(|part| part.name().to_owned()).collect();
    let is_its = |name: &String| *name == spec.name || parts.contains(name);
    Ok(StreamInfo {
        name: spec.name.clone(),
        properties: spec.properties.clone(),
        extent: Extent::of(store, snapshot, stream)?,
        stats: together(stats.iter().filter(|stats| is_its(&stats.name))),
        columns: snapshot.column_sizes(stream.id())?,
        types: is_table(stream).then(|| types.collect()),
        fields,
        parts,
    })
}

fn together<'a>(all: impl Iterator<Item = &'a StreamStats>) -> StreamStats {
    all.fold(StreamStats::default(), |mut sum, stats| {
        sum.runs += stats.runs;
        sum.level0_runs += stats.level0_runs;
        sum.run_rows += stats.run_rows;
        sum.run_bytes += stats.run_bytes;
        sum.memtable_rows += stats.memtable_rows;
        sum.late_rows += stats.late_rows;
        sum.sealed_memtables += stats.sealed_memtables;
        sum.sealed_rows += stats.sealed_rows;
        sum.memtable_bytes += stats.memtable_bytes;
        sum.tombstones += stats.tombstones;
        sum.compaction_debt_bytes += stats.compaction_debt_bytes;
        sum
    })
}

impl StreamInfo {
    fn property(&self, wanted: &str) -> &str {
        let found = self.properties.iter().find(|(key, _)| key == wanted);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// How many rows, as a person reads it.
    fn rows_shown(&self) -> String {
        let rows = grouped(self.extent.rows);
        match self.extent.edges {
            Some(edges) => format!("{rows} blocks, {} edges", grouped(edges)),
            None => rows,
        }
    }
}

fn write_text(
    store: &Store,
    infos: &[StreamInfo],
    quarantine: &[QuarantinedFile],
    history: &HistoryStats,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let stats = store.stats();
    if let Some(path) = store.path() {
        writeln!(out, "store {}", path.display())?;
    }
    writeln!(
        out,
        "commit {}, WAL {}, {}\n",
        stats.last_seq.0,
        bytes_shown(stats.wal_bytes),
        counted(infos.len() as u64, "stream")
    )?;
    write_history(&stats, history, &mut out)?;
    write_health(&stats, &mut out)?;
    if !quarantine.is_empty() {
        let bytes: u64 = quarantine.iter().map(|file| file.bytes).sum();
        let files = counted(quarantine.len() as u64, "file");
        writeln!(out, "set aside in quarantine: {files}, {}\n", bytes_shown(bytes))?;
    }
    let header = ["name", "model", "codec", "unit", "rows", "first", "last", "runs", "on disk"];
    let mut table = Table::new(header.into_iter());
    for info in infos {
        let cells = vec![
            info.name.clone(),
            info.property("model").to_owned(),
            info.property("codec").to_owned(),
            info.property("unit").to_owned(),
            info.rows_shown(),
            info.extent.first.clone().unwrap_or_default(),
            info.extent.last.clone().unwrap_or_default(),
            info.stats.runs.to_string(),
            bytes_shown(info.stats.run_bytes),
        ];
        table.push(cells, &mut out)?;
    }
    table.finish(&mut out)?;
    if let [StreamInfo { fields: Some(fields), .. }] = infos
        && !fields.is_empty()
    {
        let mut names = String::new();
        push_visible(&fields.join(", "), &mut names);
        writeln!(out, "\nfields with columns of their own: {names}")?;
    }
    if let [info] = infos
        && (info.types.is_some() || info.columns.iter().any(|column| column.values > 0))
    {
        writeln!(out)?;
        write_columns(info, &mut out)?;
    }
    Ok(())
}

/// What is kept of the past, and what it takes.
fn write_history(
    stats: &StoreStats,
    history: &HistoryStats,
    out: &mut impl Write,
) -> io::Result<()> {
    let HistoryStats { oldest_seq, run_bytes, log_bytes, .. } = history;
    if *oldest_seq < stats.last_seq {
        let (runs, log) = (bytes_shown(*run_bytes), bytes_shown(*log_bytes));
        writeln!(out, "history: from commit {oldest_seq}, {runs} of runs, {log} of log\n")?;
    }
    if history.pinned_bytes > 0 {
        writeln!(out, "kept by pins alone: {}\n", bytes_shown(history.pinned_bytes))?;
    }
    Ok(())
}

/// What the scrubber has read and found, and what fails.
fn write_health(stats: &StoreStats, out: &mut impl Write) -> io::Result<()> {
    let scrub = &stats.scrub;
    if let Some(ended) = scrub.round_ended_wall_ns {
        let word = if scrub.found_damage { ", found damage" } else { "" };
        writeln!(out, "scrubbed: a round ended {}{word}\n", times::format(ended, Unit::Nano))?;
    }
    for damaged in &stats.damaged {
        writeln!(out, "damaged: {damaged}\n")?;
    }
    for trouble in &stats.troubles {
        writeln!(out, "in trouble: {trouble}\n")?;
    }
    Ok(())
}

/// Columns, and where the bytes of a stream's compacted runs are.
fn write_columns(info: &StreamInfo, out: &mut impl Write) -> io::Result<()> {
    let types = info.types.as_deref().unwrap_or_default();
    let head = ["column", "type", "compacted", "plain", "ratio", "encodings"];
    let is_shown = |name: &&str| *name != "type" || info.types.is_some();
    let mut table = Table::new(head.into_iter().filter(is_shown));
    for (index, column) in info.columns.iter().enumerate() {
        let mut cells = vec![column.name.clone()];
        cells.extend(types.get(index).cloned());
        cells.extend([
            bytes_shown(column.stored_bytes),
            bytes_shown(column.plain_bytes),
            if column.values > 0 { format!("{:.1}", column.ratio()) } else { String::new() },
            column.encodings.join(", "),
        ]);
        table.push(cells, out)?;
    }
    table.finish(out)?;
    Ok(())
}

fn column_as_json(info: &StreamInfo, index: usize, column: &ColumnSize) -> Value {
    json!({
        "name": column.name,
        "type": info.types.as_ref().and_then(|types| types.get(index)),
        "stored_bytes": column.stored_bytes,
        "plain_bytes": column.plain_bytes,
        "encodings": column.encodings,
    })
}

fn as_json(
    store: &Store,
    infos: &[StreamInfo],
    quarantine: &[QuarantinedFile],
    history: &HistoryStats,
) -> Value {
    let stats = store.stats();
    let streams: Vec<Value> = infos
        .iter()
        .map(|info| {
            let properties: serde_json::Map<String, Value> = info
                .properties
                .iter()
                .map(|(key, value)| (key.clone(), value.clone().into()))
                .collect();
            let columns = info.columns.iter().enumerate();
            json!({
                "name": info.name,
                "properties": properties,
                "rows": info.extent.rows,
                "edges": info.extent.edges,
                "first": info.extent.first,
                "last": info.extent.last,
                "runs": info.stats.runs,
                "run_rows": info.stats.run_rows,
                "run_bytes": info.stats.run_bytes,
                "memtable_rows": info.stats.memtable_rows,
                "memtable_bytes": info.stats.memtable_bytes,
                "tombstones": info.stats.tombstones,
                "compaction_debt_bytes": info.stats.compaction_debt_bytes,
                "columns": columns.map(|(at, of)| column_as_json(info, at, of)).collect::<Vec<_>>(),
                "fields": info.fields,
                "parts": info.parts,
            })
        })
        .collect();
    json!({
        "path": store.path().map(|path| path.display().to_string()),
        "id": store.id().to_string(),
        "last_seq": stats.last_seq.0,
        "synced_seq": stats.synced_seq.0,
        "wal_bytes": stats.wal_bytes,
        "oldest_seq": history.oldest_seq.0,
        "history_run_bytes": history.run_bytes,
        "history_log_bytes": history.log_bytes,
        "pinned_bytes": history.pinned_bytes,
        "troubles": stats.troubles,
        "damaged": stats.damaged.iter().map(missing_as_json).collect::<Vec<_>>(),
        "scrub": {
            "round_ended": stats.scrub.round_ended_wall_ns.map(|at| times::format(at, Unit::Nano)),
            "round_bytes": stats.scrub.round_bytes,
            "found_damage": stats.scrub.found_damage,
        },
        "quarantine_files": quarantine.len(),
        "quarantine_bytes": quarantine.iter().map(|file| file.bytes).sum::<u64>(),
        "streams": streams,
    })
}
