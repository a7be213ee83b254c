//! What a store holds, as `timestrata info` and servers tell it.

use std::sync::Arc;

use arrow_schema::TimeUnit;
use serde_json::{Map, Value, json};
use timestrata_engine::{ColumnSize, MissingRange, Result, Snapshot, Store, Stream, StreamStats};
use timestrata_logs::{Logs, is_logs};
use timestrata_table::is_table;
use timestrata_values::time;

use crate::{Extent, owner_of};

/// What a store holds at a snapshot of it, or one stream of it, and what that takes: an object of JSON. Streams that something is made of are told
/// with it, by their names only, unless they are asked for. Where the store is, it doesn't say.
///
/// ```
/// use timestrata::timelog::{Timelog, TimelogOptions};
/// use timestrata::{Settings, Store, store_info};
///
/// # fn main() -> timestrata::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let door = Timelog::create(&store, "door", TimelogOptions::default())?;
/// door.append(1_700_000_000_000, b"opened")?;
/// let info = store_info(&store, &store.snapshot()?, None)?;
/// assert_eq!((&info["streams"][0]["name"], &info["streams"][0]["rows"]), (&"door".into(), &1.into()));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `NotFound` if there is no stream of that name; what reading may fail with.
pub fn store_info(store: &Store, snapshot: &Snapshot, name: Option<&str>) -> Result<Value> {
    let all = store.streams();
    let (parts, mut known): (Vec<_>, Vec<_>) = all
        .into_iter()
        .map(|stream| (owner_of(store, &stream), stream))
        .partition(|(owner, _)| owner.is_some());
    if let Some(name) = name {
        known = vec![(None, store.expect_stream(name)?)];
    }
    let stats = store.stats();
    let mut streams = Vec::with_capacity(known.len());
    for (_, stream) in known {
        let its = parts.iter().filter(|(owner, _)| owner.as_deref() == Some(stream.name()));
        let parts: Vec<_> = its.map(|(_, part)| Arc::clone(part)).collect();
        streams.push(stream_info(store, snapshot, &stream, &parts, &stats.streams)?);
    }
    let (quarantine, history) = (store.quarantine()?, store.history()?);
    let time_text = |ns| time::format(ns, TimeUnit::Nanosecond).unwrap_or_else(|| ns.to_string());
    Ok(json!({
        "id": store.id().to_string(),
        "last_seq": stats.last_seq.0,
        "synced_seq": stats.synced_seq.0,
        "wal_bytes": stats.wal_bytes,
        "oldest_seq": history.oldest_seq.0,
        "history_run_bytes": history.run_bytes,
        "history_log_bytes": history.log_bytes,
        "pinned_bytes": history.pinned_bytes,
        "troubles": stats.troubles,
        "damaged": stats.damaged.iter().map(missing_info).collect::<Vec<_>>(),
        "scrub": {
            "round_ended": stats.scrub.round_ended_wall_ns.map(time_text),
            "round_bytes": stats.scrub.round_bytes,
            "found_damage": stats.scrub.found_damage,
        },
        "quarantine_files": quarantine.len(),
        "quarantine_bytes": quarantine.iter().map(|file| file.bytes).sum::<u64>(),
        "streams": streams,
    }))
}

/// Rows that can't be read, as an object of JSON.
#[must_use]
pub fn missing_info(missing: &MissingRange) -> Value {
    json!({
        "stream": missing.stream,
        "key_min": missing.key_min.to_string(),
        "key_max": missing.key_max.to_string(),
        "rows": missing.rows,
        "path": missing.file.display().to_string(),
        "offset": missing.offset,
        "why": missing.why,
        "message": missing.to_string(),
    })
}

/// What people know by one name. Its figures are of all its streams together.
fn stream_info(
    store: &Store,
    snapshot: &Snapshot,
    stream: &Stream,
    parts: &[Arc<Stream>],
    stats: &[StreamStats],
) -> Result<Value> {
    let spec = stream.spec();
    let extent = Extent::of(store, snapshot, stream)?;
    let fields = match is_logs(stream) {
        true => Some(Logs::open(store, stream.name())?.columns()?),
        false => None,
    };
    let properties = spec.properties.iter();
    let properties: Map<String, Value> =
        properties.map(|(key, value)| (key.clone(), value.clone().into())).collect();
    let parts: Vec<_> = parts.iter().map(|part| part.name().to_owned()).collect();
    let its: Vec<_> = stats
        .iter()
        .filter(|stats| stats.name == spec.name || parts.contains(&stats.name))
        .collect();
    let sum = |of: fn(&StreamStats) -> u64| its.iter().map(|stats| of(stats)).sum::<u64>();
    let columns = snapshot.column_sizes(stream.id())?;
    let columns =
        columns.iter().enumerate().map(|(index, column)| column_info(stream, index, column));
    Ok(json!({
        "name": spec.name,
        "properties": properties,
        "rows": extent.rows,
        "edges": extent.edges,
        "first": extent.first,
        "last": extent.last,
        "runs": sum(|stats| stats.runs),
        "run_rows": sum(|stats| stats.run_rows),
        "run_bytes": sum(|stats| stats.run_bytes),
        "memtable_rows": sum(|stats| stats.memtable_rows),
        "memtable_bytes": sum(|stats| stats.memtable_bytes),
        "tombstones": sum(|stats| stats.tombstones),
        "compaction_debt_bytes": sum(|stats| stats.compaction_debt_bytes),
        "columns": columns.collect::<Vec<_>>(),
        "fields": fields,
        "parts": parts,
    }))
}

/// A column of compacted runs. That of a table has its type, even where nothing is compacted.
fn column_info(stream: &Stream, index: usize, column: &ColumnSize) -> Value {
    let schema = stream.schema();
    let field = schema.fields().get(index).filter(|_| is_table(stream));
    json!({
        "name": column.name,
        "type": field.map(|field| field.data_type().to_string()),
        "values": column.values,
        "stored_bytes": column.stored_bytes,
        "plain_bytes": column.plain_bytes,
        "encodings": column.encodings,
    })
}
