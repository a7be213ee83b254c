//! The suite of logs: what the model itself does, without a server. What it does beside other programs is
//! in `bench/python/logs`, in Python: searches, ingest of files, the line protocol.

mod corpus;
mod ingest;
mod point;
pub(crate) mod scan;
mod size;
mod write;

use timestrata_bench::{Group, Numbers, Result};
use timestrata_engine::Store;
use timestrata_logs::{Level, Logs, LogsOptions, NewEntry};

/// All groups, in the order of the report.
pub(crate) const GROUPS: [Group; 6] = [
    Group { name: "write", run: write::run },
    Group { name: "synced", run: write::run_synced },
    Group { name: "scan", run: scan::run },
    Group { name: "point", run: point::run },
    Group { name: "ingest", run: ingest::run },
    Group { name: "size", run: size::run },
];

/// An entry takes so much with its fields and their names.
pub(crate) const ENTRY_BYTES: usize = 1_024;

pub(crate) fn create(store: &Store) -> Result<Logs> {
    Ok(Logs::create(store, "app", &LogsOptions::default())?)
}

/// Different entries of a kilobyte each: a message of words and numbers, and five fields.
pub(crate) fn entries(count: usize) -> Vec<NewEntry> {
    let mut numbers = Numbers::new(11);
    (0..count).map(|index| entry(index, &mut numbers)).collect()
}

fn entry(index: usize, numbers: &mut Numbers) -> NewEntry {
    let mut message = format!("request {index} failed:");
    while message.len() < ENTRY_BYTES - 130 {
        message.push_str(" upstream ");
        numbers.bytes(8).iter().for_each(|byte| message.push_str(&format!("{byte:02x}")));
    }
    let mut entry = NewEntry::new(message);
    entry.level = Some(Level::ALL[index % Level::ALL.len()]);
    entry.source_time = Some(1_700_000_000_000_000_000 + index as i64 * 1_000_000);
    entry
        .fields
        .int("status", 500 + (index % 5) as i64)
        .text("path", &format!("/api/v1/items/{}", index % 977))
        .float("took_ms", (index % 1_013) as f64 / 7.0)
        .bool("retried", index.is_multiple_of(3))
        .text("trace_id", &format!("{index:032x}"));
    entry
}
