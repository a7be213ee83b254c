//! The steps of workloads over tables: few times, symbols and identities, so that rows meet.

use timestrata_engine::Durability;
use timestrata_table::Commits;

use super::Tables;
use super::model::{Kind, TableRow};
use crate::subject::Step;

/// One step of a workload over tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableStep {
    /// A batch for the table that keeps every row, `Written`.
    Append,
    /// Single rows as cells for two tables, `Written` and `Synced`.
    Cells,
    /// Rows that replace those of the same symbol and time.
    Quote,
    /// Rows that are given identities, `Synced`.
    HandOut,
    /// Rows of known identities at other times.
    Move,
    /// A row for a symbol, at another time.
    Name,
    /// An ingest as one commit, so large that it begins runs, without a key.
    Ingest,
    /// The same for known identities, some more than once.
    IngestMoves,
    /// The same for rows that are given identities.
    IngestHandOut,
    /// The same for symbols.
    IngestNames,
    /// An ingest as a commit each batch, of rows that are given identities.
    IngestParts,
    /// Range deletes of three tables.
    DeleteRange,
    /// Deletes the rows of a symbol in three tables.
    DeleteSymbol,
    /// Rows with a column more, for two tables.
    Extend,
    /// Rows that make a column wider, for two tables.
    Widen,
    /// Lets the oldest runs of three tables go.
    Retain,
    /// Gives a table its other name.
    Rename,
    /// Drops a table of two streams and makes it anew.
    Remake,
}

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

impl Step for TableStep {
    type Session = Tables;

    const ALPHABET: &'static [(char, Self)] = &[
        ('a', Self::Append),
        ('b', Self::Cells),
        ('q', Self::Quote),
        ('h', Self::HandOut),
        ('o', Self::Move),
        ('n', Self::Name),
        ('i', Self::Ingest),
        ('u', Self::IngestMoves),
        ('g', Self::IngestHandOut),
        ('j', Self::IngestNames),
        ('e', Self::IngestParts),
        ('d', Self::DeleteRange),
        ('k', Self::DeleteSymbol),
        ('x', Self::Extend),
        ('w', Self::Widen),
        ('t', Self::Retain),
        ('m', Self::Rename),
        ('z', Self::Remake),
    ];

    const CHOSEN: &'static [&'static str] = &[
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

    const KIND: &'static str = "tables";

    fn writes(self, turn: usize) -> Vec<Write> {
        let (written, synced) = (Durability::Written, Durability::Synced);
        // A time that changes from turn to turn, among few.
        let now = 1 + turn as i64 * 3 % 7;
        let row = |n: usize, time: i64, symbol| row(turn, n, time, symbol);
        let known = |n: usize, time: i64, id: u64| TableRow { id, ..row(n, time, "b") };
        let append = |kind, rows| Write::Append { kind, rows, durability: written };
        let one = |kind, batches| Write::Ingest { kind, batches, commits: Commits::One };
        let (kept, by_time, by_id, by_symbol) =
            (Kind::Kept, Kind::ByTime, Kind::ById, Kind::BySymbol);
        match self {
            Self::Append => {
                vec![append(kept, vec![row(0, 3, "a"), row(1, now, "b"), row(2, 3, "a")])]
            }
            Self::Cells => vec![
                Write::AppendCells { kind: kept, row: row(0, now, "a"), durability: written },
                Write::AppendCells { kind: by_time, row: row(1, 3, "a"), durability: synced },
            ],
            Self::Quote => {
                let rows = vec![row(0, 3, "a"), row(1, now, "b"), row(2, 3, "a"), row(3, 3, "c")];
                vec![append(by_time, rows)]
            }
            Self::HandOut => {
                let rows = vec![row(0, now, "a"), row(1, 3, "b")];
                vec![Write::Append { kind: by_id, rows, durability: synced }]
            }
            Self::Move => {
                let rows = vec![known(0, now, 1), known(1, 3, 2), known(2, now + 1, 1)];
                vec![append(by_id, rows)]
            }
            Self::Name => vec![append(by_symbol, vec![row(0, now, "a"), row(1, now + 1, "b")])],
            Self::Ingest => vec![one(kept, padded(turn, &["a", "b", "c"], &[0]))],
            Self::IngestMoves => vec![one(by_id, padded(turn, &["a", "b"], &[1, 2, 5, 3, 7]))],
            Self::IngestHandOut => vec![one(by_id, padded(turn, &["a", "b"], &[0]))],
            Self::IngestNames => vec![one(by_symbol, padded(turn, &["d", "a", "b"], &[0]))],
            Self::IngestParts => {
                let batches = vec![vec![row(0, now, "a"), row(1, 3, "c")], vec![row(2, 4, "b")]];
                vec![Write::Ingest { kind: by_id, batches, commits: Commits::Every(2) }]
            }
            Self::DeleteRange => vec![
                Write::Delete { kind: by_id, lo: 2, hi: 5, durability: written },
                Write::Delete { kind: by_time, lo: now, hi: now + 2, durability: written },
                Write::DeleteRanges { kind: kept, ranges: [(1, 3), (4, 6)] },
            ],
            Self::DeleteSymbol => [by_id, kept, by_symbol]
                .map(|kind| Write::DeleteSymbol { kind, symbol: ["b", "a"][turn % 2] })
                .to_vec(),
            Self::Extend => {
                let extra = |row: TableRow| TableRow { extra: Some(row.halves), ..row };
                let rows = vec![extra(known(0, now, 1)), extra(known(1, 3, 4))];
                let quotes = vec![vec![extra(row(2, 3, "a"))], vec![extra(row(3, now, "b"))]];
                vec![append(by_id, rows), one(by_time, quotes)]
            }
            Self::Widen => {
                let half = |row: TableRow| TableRow { halves: row.halves + 1, ..row };
                [kept, by_symbol].map(|kind| append(kind, vec![half(row(0, now, "a"))])).to_vec()
            }
            Self::Retain => vec![
                Write::Retain { kind: by_id, row: known(0, now, 3) },
                Write::Retain { kind: by_time, row: row(1, now, "a") },
                Write::Retain { kind: kept, row: row(2, now, "a") },
            ],
            Self::Rename => vec![Write::Rename { row: row(0, now, "b") }],
            Self::Remake => vec![Write::Remake { row: row(0, now, "b") }],
        }
    }
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
