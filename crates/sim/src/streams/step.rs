//! The steps of workloads over plain streams.

use timestrata_engine::Durability::{self, Buffered, Synced, Written};

use super::model::ModelChange::{self, DeleteKeys, DeleteRange, Insert};
use super::model::Row;
use crate::subject::Alphabet;

/// The stream that keeps every row.
pub(crate) const EVENTS: usize = 0;
/// The stream that keeps the latest row of a key.
pub(crate) const STATE: usize = 1;

pub(super) const ALPHABET: Alphabet<Write> = &[
    // A row behind all others, `Written`, by a row appender.
    ('a', |turn| appended(EVENTS, row(turn, now(turn), "append"), Written)),
    // The same, `Buffered`.
    ('b', |turn| appended(EVENTS, row(turn, now(turn), "buffered"), Buffered)),
    // The same, `Synced`.
    ('s', |turn| appended(EVENTS, row(turn, now(turn), "synced"), Synced)),
    // A row before all others.
    ('l', |turn| appended(EVENTS, row(turn, 9 - turn as i64, "late"), Written)),
    // A batch of two rows that share their key with rows from before.
    ('e', |turn| {
        let rows = vec![row(turn, 100, "equal"), row(turn, 100, "equal again")];
        committed(vec![Insert(EVENTS, rows)], Written)
    }),
    // One `Synced` commit over two streams.
    ('t', |turn| {
        let events = vec![row(turn, now(turn) + 1, "both"), row(turn, 50, "both, late")];
        let state = vec![row(turn, 1, "both"), row(turn, 3, "both")];
        committed(vec![Insert(EVENTS, events), Insert(STATE, state)], Synced)
    }),
    // A range delete on both streams, and rows inside the range, in one commit.
    ('d', |turn| {
        let changes = vec![
            Insert(EVENTS, vec![row(turn, 60, "before the delete")]),
            DeleteRange(EVENTS, 0, 105),
            Insert(EVENTS, vec![row(turn, 70, "behind the delete")]),
            DeleteRange(STATE, 1, 3),
        ];
        committed(changes, Written)
    }),
    // A new row for a key of the `Latest` stream.
    ('o', |turn| appended(STATE, row(turn, 1 + turn as i64 % 2, "overwrite"), Written)),
    // Deletes keys of the `Latest` stream.
    ('k', |_| committed(vec![DeleteKeys(STATE, vec![1, 4])], Written)),
    // A commit over both streams that is so large that it goes straight to runs.
    ('g', |turn| {
        let padding = "x".repeat(90);
        let big = |key: i64| (key, format!("big of turn {turn} {padding}"));
        let events = (0..24).map(|i| big(i * 7 % 120)).collect();
        let state = vec![big(2), big(5)];
        committed(vec![Insert(EVENTS, events), Insert(STATE, state)], Synced)
    }),
    // A bulk commit over both streams: rows in order, late and equal ones, deletes between them.
    ('u', |turn| vec![Write::Bulk { changes: bulk(turn, now(turn)) }]),
    // Rows enough to fill a segment of the log.
    ('w', |turn| {
        let padding = "x".repeat(1100);
        let long = |n: i64| (now(turn) + n, format!("long row of turn {turn} {padding}"));
        (0..3).flat_map(|n| appended(EVENTS, long(n), Written)).collect()
    }),
    // A column more for both streams.
    ('x', |_| vec![Write::Alter]),
];

pub(super) const CHOSEN: &[&str] = &[
    // Runs, tombstones and late rows through flush and compaction, twice.
    "aflftdofaclfekcr",
    // A pin holds runs that compaction replaces, and lets them go.
    "atfpalfcoapyrpc",
    // Direct runs between memtables; a tombstone over all of them.
    "agagdlgfcgr",
    // The log rolls, is recycled, and rolls again.
    "wwwfwwsfwwr",
    // Nothing is ever synced by hand: what the log alone keeps.
    "abolekdwawb",
    // Clean closes in a row; then an unclean end.
    "arrtrdrfrca",
    // Bulk commits between memtables and runs, through flush, compaction and other columns.
    "aultukfudcorxubcr",
    // Columns come while rows are in memory, in runs of both kinds and under a pin.
    "atlxtofxadcpgxkrxca",
];

/// A time behind those of earlier turns.
fn now(turn: usize) -> i64 {
    100 + 10 * turn as i64
}

fn row(turn: usize, key: i64, name: &str) -> Row {
    (key, format!("{name} of turn {turn}"))
}

fn appended(stream: usize, row: Row, durability: Durability) -> Vec<Write> {
    vec![Write::AppendRow { stream, row, durability }]
}

fn committed(changes: Vec<ModelChange>, durability: Durability) -> Vec<Write> {
    vec![Write::Commit { changes, durability }]
}

/// So much that both streams begin runs before the end, and that rows of later batches lie below
/// what is in them, or have keys that are.
fn bulk(turn: usize, now: i64) -> Vec<ModelChange> {
    let padding = "x".repeat(150);
    let row = |key: i64, round: i64| (key, format!("bulk {round} of turn {turn} {padding}"));
    let mut changes = vec![DeleteRange(EVENTS, 55, 105)];
    for round in 0..5 {
        let events = [now + round, 60, now + round, 40 - round];
        let state = [2, 3 + round, 20 + round];
        changes.push(Insert(EVENTS, events.map(|key| row(key, round)).to_vec()));
        changes.push(Insert(STATE, state.map(|key| row(key, round)).to_vec()));
    }
    changes.push(DeleteKeys(STATE, vec![1, 3]));
    changes.push(DeleteRange(STATE, 5, 8));
    changes.push(Insert(EVENTS, vec![row(60, 5)]));
    changes
}

/// What a session does at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// One row, by a row appender.
    AppendRow { stream: usize, row: Row, durability: Durability },
    /// One commit.
    Commit { changes: Vec<ModelChange>, durability: Durability },
    /// One bulk commit.
    Bulk { changes: Vec<ModelChange> },
    /// A column more for both streams.
    Alter,
}
