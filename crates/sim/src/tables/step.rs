//! The steps of workloads over tables: few times, symbols and identities, so that rows meet.

use timestrata_engine::Durability::{self, Synced, Written};
use timestrata_table::Commits;

use super::model::Kind::{self, ById, BySymbol, ByTime, Kept};
use super::model::TableRow;
use crate::subject::Alphabet;

pub(super) const ALPHABET: Alphabet<Write> = &[
    // A batch for the table that keeps every row, `Written`.
    ('a', |turn| {
        let now = now(turn);
        let rows = vec![row(turn, 0, 3, "a"), row(turn, 1, now, "b"), row(turn, 2, 3, "a")];
        vec![append(Kept, rows)]
    }),
    // Single rows as cells for two tables, `Written` and `Synced`.
    ('b', |turn| {
        let rows = [row(turn, 0, now(turn), "a"), row(turn, 1, 3, "a")];
        let cells = [(Kept, Written), (ByTime, Synced)].into_iter().zip(rows);
        cells
            .map(|((kind, durability), row)| Write::AppendCells { kind, row, durability })
            .collect()
    }),
    // Rows that replace those of the same symbol and time.
    ('q', |turn| {
        let times = [(3, "a"), (now(turn), "b"), (3, "a"), (3, "c")];
        let rows = (0..).zip(times).map(|(n, (time, symbol))| row(turn, n, time, symbol));
        vec![append(ByTime, rows.collect())]
    }),
    // Rows that are given identities, `Synced`.
    ('h', |turn| {
        let rows = vec![row(turn, 0, now(turn), "a"), row(turn, 1, 3, "b")];
        vec![Write::Append { kind: ById, rows, durability: Synced }]
    }),
    // Rows of known identities at other times.
    ('o', |turn| {
        let now = now(turn);
        let rows = [known(turn, 0, now, 1), known(turn, 1, 3, 2), known(turn, 2, now + 1, 1)];
        vec![append(ById, rows.to_vec())]
    }),
    // A row for a symbol, at another time.
    ('n', |turn| {
        let now = now(turn);
        vec![append(BySymbol, vec![row(turn, 0, now, "a"), row(turn, 1, now + 1, "b")])]
    }),
    // An ingest as one commit, so large that it begins runs, without a key.
    ('i', |turn| vec![ingest_one(Kept, padded(turn, &["a", "b", "c"], &[0]))]),
    // The same for known identities, some more than once.
    ('u', |turn| vec![ingest_one(ById, padded(turn, &["a", "b"], &[1, 2, 5, 3, 7]))]),
    // The same for rows that are given identities.
    ('g', |turn| vec![ingest_one(ById, padded(turn, &["a", "b"], &[0]))]),
    // The same for symbols.
    ('j', |turn| vec![ingest_one(BySymbol, padded(turn, &["d", "a", "b"], &[0]))]),
    // An ingest as a commit each batch, of rows that are given identities.
    ('e', |turn| {
        let first = vec![row(turn, 0, now(turn), "a"), row(turn, 1, 3, "c")];
        let batches = vec![first, vec![row(turn, 2, 4, "b")]];
        vec![Write::Ingest { kind: ById, batches, commits: Commits::Every(2) }]
    }),
    // Range deletes of three tables.
    ('d', |turn| {
        let now = now(turn);
        vec![
            Write::Delete { kind: ById, lo: 2, hi: 5, durability: Written },
            Write::Delete { kind: ByTime, lo: now, hi: now + 2, durability: Written },
            Write::DeleteRanges { kind: Kept, ranges: [(1, 3), (4, 6)] },
        ]
    }),
    // Deletes the rows of a symbol in three tables.
    ('k', |turn| {
        let symbol = ["b", "a"][turn % 2];
        [ById, Kept, BySymbol].map(|kind| Write::DeleteSymbol { kind, symbol }).to_vec()
    }),
    // Rows with a column more, for two tables.
    ('x', |turn| {
        let extra = |row: TableRow| TableRow { extra: Some(row.halves), ..row };
        let rows = vec![extra(known(turn, 0, now(turn), 1)), extra(known(turn, 1, 3, 4))];
        let quotes = [row(turn, 2, 3, "a"), row(turn, 3, now(turn), "b")];
        vec![append(ById, rows), ingest_one(ByTime, quotes.map(|row| vec![extra(row)]).to_vec())]
    }),
    // Rows that make a column wider, for two tables.
    ('w', |turn| {
        let whole = row(turn, 0, now(turn), "a");
        let half = TableRow { halves: whole.halves + 1, ..whole };
        [Kept, BySymbol].map(|kind| append(kind, vec![half.clone()])).to_vec()
    }),
    // Lets the oldest runs of three tables go.
    ('t', |turn| {
        let now = now(turn);
        vec![
            Write::Retain { kind: ById, row: known(turn, 0, now, 3) },
            Write::Retain { kind: ByTime, row: row(turn, 1, now, "a") },
            Write::Retain { kind: Kept, row: row(turn, 2, now, "a") },
        ]
    }),
    // Gives a table its other name.
    ('m', |turn| vec![Write::Rename { row: row(turn, 0, now(turn), "b") }]),
    // Drops a table of two streams and makes it anew.
    ('z', |turn| vec![Write::Remake { row: row(turn, 0, now(turn), "b") }]),
];

pub(super) const CHOSEN: &[&str] = &[
    // Rows are replaced at other times in memory, in runs and in between.
    "hofohfcuofochr",
    // Bulk commits that replace rows of memtables and runs, and of themselves.
    "hnugjfuocjguckf",
    // Deletes of both kinds between rows of every table, twice.
    "aqhnfdkaqofdkcahqk",
    // Columns come and grow while rows are in memory, in runs and under a pin.
    "ahqfxpwocxawfpkcr",
    // The oldest go, and nothing that they covered comes back.
    "qyhfkftcqhfofqftckr",
    // Identities are handed out between those that are given and those that are gone.
    "hekrhgdukhrekh",
    // Names and tables come and go.
    "anmzfjznmrzcmnz",
];

/// What a session does at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// One commit of rows.
    Append { kind: Kind, rows: Vec<TableRow>, durability: Durability },
    /// One row, by its cells.
    AppendCells { kind: Kind, row: TableRow, durability: Durability },
    /// An ingest.
    Ingest { kind: Kind, batches: Vec<Vec<TableRow>>, commits: Commits },
    /// A delete of times, one.
    Delete { kind: Kind, lo: i64, hi: i64, durability: Durability },
    /// A delete of times, two in one commit.
    DeleteRanges { kind: Kind, ranges: [(i64, i64); 2] },
    /// A delete by what is in the rows.
    DeleteSymbol { kind: Kind, symbol: &'static str },
    /// A row; from then on what is old may expire.
    Retain { kind: Kind, row: TableRow },
    /// A rename.
    Rename { row: TableRow },
    /// A drop, and the table made anew.
    Remake { row: TableRow },
}

/// A row of a turn; its number tells it apart.
pub(super) fn row(turn: usize, n: usize, time: i64, symbol: &'static str) -> TableRow {
    let halves = 2 * (100 * turn + n) as i64;
    TableRow { time, id: 0, symbol, halves, note: format!("turn {turn}"), extra: None }
}

fn known(turn: usize, n: usize, time: i64, id: u64) -> TableRow {
    TableRow { id, ..row(turn, n, time, "b") }
}

/// A time that changes from turn to turn, among few.
fn now(turn: usize) -> i64 {
    1 + turn as i64 * 3 % 7
}

fn append(kind: Kind, rows: Vec<TableRow>) -> Write {
    Write::Append { kind, rows, durability: Written }
}

fn ingest_one(kind: Kind, batches: Vec<Vec<TableRow>>) -> Write {
    Write::Ingest { kind, batches, commits: Commits::One }
}

/// Batches that are so large that runs are begun before the end; later ones have rows of the same
/// symbols and identities, and earlier times.
fn padded(turn: usize, symbols: &[&'static str], ids: &[u64]) -> Vec<Vec<TableRow>> {
    let padding = "x".repeat(600);
    let row_of = |round: usize, n: usize| {
        let place = round + n;
        let time = 1 + (turn + 9 - 2 * round + n) as i64 % 8;
        let padded = row(turn, 10 * round + n, time, symbols[place % symbols.len()]);
        let note = format!("{} {padding}", padded.note);
        TableRow { id: ids[place % ids.len()], note, ..padded }
    };
    (0..5).map(|round| (0..4).map(|n| row_of(round, n)).collect()).collect()
}
