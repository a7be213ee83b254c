//! `timestrata info`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use timestrata::logs::{Logs, is_logs};
use timestrata::timelog::Unit;
use timestrata::{
    Access, ColumnSize, Error, ErrorKind, KeyRange, LeadKey, QuarantinedFile, Snapshot, Store,
    StoreStats, Stream, StreamStats,
};

use super::repair::missing_as_json;
use super::{bytes_shown, counted, grouped, open};
use crate::failure::{Failure, Result};
use crate::output::table::Table;
use crate::terminal::push_visible;
use crate::times;

/// Print what a store holds.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  timestrata info ./store
  timestrata info ./store weather --json")]
pub(crate) struct Arguments {
    /// The store's directory.
    dir: PathBuf,
    /// Only this stream, and what its columns take; default all.
    name: Option<String>,
    /// Print it as one JSON object.
    #[arg(long)]
    json: bool,
}

/// One stream, as it is told.
struct StreamInfo {
    name: String,
    properties: Vec<(String, String)>,
    rows: u64,
    first: Option<String>,
    last: Option<String>,
    stats: StreamStats,
    columns: Vec<ColumnSize>,
    /// Of a log: fields that have columns of their own.
    fields: Option<Vec<String>>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let store = open(&arguments.dir, Access::Read)?;
    let streams = match &arguments.name {
        None => store.streams(),
        Some(name) => vec![store.stream(name).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("no stream '{name}'")).at(&arguments.dir)
        })?],
    };
    let snapshot = store.snapshot()?;
    let mut stats = store.stats().streams;
    let mut infos = Vec::with_capacity(streams.len());
    for stream in streams {
        let found = stats.iter().position(|stats| stats.name == stream.name());
        let stats = found.map(|index| stats.swap_remove(index)).unwrap_or_default();
        infos.push(read(&store, &snapshot, &stream, stats)?);
    }
    let quarantine = store.quarantine()?;
    let written = match arguments.json {
        true => writeln!(io::stdout(), "{}", as_json(&store, &infos, &quarantine)),
        false => write_text(&store, &infos, &quarantine),
    };
    written.map_err(|cause| Failure::output(&cause))
}

fn read(
    store: &Store,
    snapshot: &Snapshot,
    stream: &Stream,
    stats: StreamStats,
) -> Result<StreamInfo> {
    let spec = stream.spec();
    let unit = match stream.property("unit") {
        Some(unit) => unit.parse::<Unit>().ok(),
        None => is_logs(stream).then_some(Unit::Nano),
    };
    let fields = match is_logs(stream) {
        true => Some(Logs::open(store, stream.name())?.columns()?),
        false => None,
    };
    let shown = |key: LeadKey| match (key, unit) {
        (LeadKey::Time(time), Some(unit)) => times::format(time, unit),
        (key, _) => key.to_string(),
    };
    Ok(StreamInfo {
        name: spec.name.clone(),
        properties: spec.properties.clone(),
        rows: snapshot.count(stream.id(), &KeyRange::ALL)?,
        first: snapshot.min_key(stream.id(), &KeyRange::ALL)?.map(shown),
        last: snapshot.max_key(stream.id(), &KeyRange::ALL)?.map(shown),
        stats,
        columns: snapshot.column_sizes(stream.id())?,
        fields,
    })
}

impl StreamInfo {
    fn property(&self, wanted: &str) -> &str {
        let found = self.properties.iter().find(|(key, _)| key == wanted);
        found.map_or("", |(_, value)| value.as_str())
    }
}

fn write_text(
    store: &Store,
    infos: &[StreamInfo],
    quarantine: &[QuarantinedFile],
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
            grouped(info.rows),
            info.first.clone().unwrap_or_default(),
            info.last.clone().unwrap_or_default(),
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
        && info.columns.iter().any(|column| column.values > 0)
    {
        writeln!(out)?;
        write_columns(&info.columns, &mut out)?;
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

/// Where the bytes of a stream's compacted runs are.
fn write_columns(columns: &[ColumnSize], out: &mut impl Write) -> io::Result<()> {
    let header = ["column", "compacted", "plain", "ratio", "encodings"];
    let mut table = Table::new(header.into_iter());
    for column in columns {
        let cells = vec![
            column.name.clone(),
            bytes_shown(column.stored_bytes),
            bytes_shown(column.plain_bytes),
            format!("{:.1}", column.ratio()),
            column.encodings.join(", "),
        ];
        table.push(cells, out)?;
    }
    table.finish(out)?;
    Ok(())
}

fn column_as_json(column: &ColumnSize) -> Value {
    json!({
        "name": column.name,
        "stored_bytes": column.stored_bytes,
        "plain_bytes": column.plain_bytes,
        "encodings": column.encodings,
    })
}

fn as_json(store: &Store, infos: &[StreamInfo], quarantine: &[QuarantinedFile]) -> Value {
    let stats = store.stats();
    let streams: Vec<Value> = infos
        .iter()
        .map(|info| {
            let properties: serde_json::Map<String, Value> = info
                .properties
                .iter()
                .map(|(key, value)| (key.clone(), value.clone().into()))
                .collect();
            json!({
                "name": info.name,
                "properties": properties,
                "rows": info.rows,
                "first": info.first,
                "last": info.last,
                "runs": info.stats.runs,
                "run_rows": info.stats.run_rows,
                "run_bytes": info.stats.run_bytes,
                "memtable_rows": info.stats.memtable_rows,
                "memtable_bytes": info.stats.memtable_bytes,
                "tombstones": info.stats.tombstones,
                "compaction_debt_bytes": info.stats.compaction_debt_bytes,
                "columns": info.columns.iter().map(column_as_json).collect::<Vec<_>>(),
                "fields": info.fields,
            })
        })
        .collect();
    json!({
        "path": store.path().map(|path| path.display().to_string()),
        "id": store.id().to_string(),
        "last_seq": stats.last_seq.0,
        "synced_seq": stats.synced_seq.0,
        "wal_bytes": stats.wal_bytes,
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
