//! The steps of workloads over plain streams.

use timestrata_engine::Durability;

use super::Streams;
use super::model::ModelChange::{self, DeleteKeys, DeleteRange, Insert};
use super::model::Row;
use crate::subject::Step;

/// The stream that keeps every row.
pub(crate) const EVENTS: usize = 0;
/// The stream that keeps the latest row of a key.
pub(crate) const STATE: usize = 1;

/// One step of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamStep {
    /// A row behind all others, `Written`, by a row appender.
    Append,
    /// The same, `Buffered`.
    AppendBuffered,
    /// The same, `Synced`.
    AppendSynced,
    /// A row before all others.
    Late,
    /// A batch of two rows that share their key with rows from before.
    Equal,
    /// One `Synced` commit over two streams.
    TwoStreams,
    /// A range delete on both streams, and rows inside the range, in one commit.
    DeleteRange,
    /// A new row for a key of the `Latest` stream.
    Overwrite,
    /// Deletes keys of the `Latest` stream.
    DeleteKeys,
    /// A commit over both streams that is so large that it goes straight to runs.
    Big,
    /// A bulk commit over both streams: rows in order, late and equal ones, deletes between them.
    Bulk,
    /// Rows enough to fill a segment of the log.
    Roll,
    /// A column more for both streams.
    Alter,
}

impl Step for StreamStep {
    type Session = Streams;

    const ALPHABET: &'static [(char, Self)] = &[
        ('a', Self::Append),
        ('b', Self::AppendBuffered),
        ('s', Self::AppendSynced),
        ('l', Self::Late),
        ('e', Self::Equal),
        ('t', Self::TwoStreams),
        ('d', Self::DeleteRange),
        ('o', Self::Overwrite),
        ('k', Self::DeleteKeys),
        ('g', Self::Big),
        ('u', Self::Bulk),
        ('w', Self::Roll),
        ('x', Self::Alter),
    ];

    const CHOSEN: &'static [&'static str] = &[
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

    const KIND: &'static str = "streams";

    fn writes(self, turn: usize) -> Vec<Write> {
        let written = Durability::Written;
        let now = 100 + 10 * turn as i64;
        let row = |key: i64, name: &str| (key, format!("{name} of turn {turn}"));
        let appended =
            |stream, row: Row, durability| vec![Write::AppendRow { stream, row, durability }];
        let committed = |changes, durability| vec![Write::Commit { changes, durability }];
        match self {
            Self::Append => appended(EVENTS, row(now, "append"), written),
            Self::AppendBuffered => appended(EVENTS, row(now, "buffered"), Durability::Buffered),
            Self::AppendSynced => appended(EVENTS, row(now, "synced"), Durability::Synced),
            Self::Late => appended(EVENTS, row(9 - turn as i64, "late"), written),
            Self::Equal => {
                let rows = vec![row(100, "equal"), row(100, "equal again")];
                committed(vec![Insert(EVENTS, rows)], written)
            }
            Self::TwoStreams => {
                let events = vec![row(now + 1, "both"), row(50, "both, late")];
                let state = vec![row(1, "both"), row(3, "both")];
                committed(vec![Insert(EVENTS, events), Insert(STATE, state)], Durability::Synced)
            }
            Self::DeleteRange => committed(
                vec![
                    Insert(EVENTS, vec![row(60, "before the delete")]),
                    DeleteRange(EVENTS, 0, 105),
                    Insert(EVENTS, vec![row(70, "behind the delete")]),
                    DeleteRange(STATE, 1, 3),
                ],
                written,
            ),
            Self::Overwrite => appended(STATE, row(1 + turn as i64 % 2, "overwrite"), written),
            Self::DeleteKeys => committed(vec![DeleteKeys(STATE, vec![1, 4])], written),
            Self::Big => {
                let padding = "x".repeat(90);
                let big = |key: i64| (key, format!("big of turn {turn} {padding}"));
                let events = (0..24).map(|i| big(i * 7 % 120)).collect();
                let state = vec![big(2), big(5)];
                committed(vec![Insert(EVENTS, events), Insert(STATE, state)], Durability::Synced)
            }
            Self::Bulk => vec![Write::Bulk { changes: bulk(turn, now) }],
            Self::Alter => vec![Write::Alter],
            Self::Roll => {
                let padding = "x".repeat(1100);
                let long = |n: i64| (now + n, format!("long row of turn {turn} {padding}"));
                (0..3).flat_map(|n| appended(EVENTS, long(n), written)).collect()
            }
        }
    }
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
