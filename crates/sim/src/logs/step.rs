//! The steps of workloads over logs.

use timestrata_engine::Durability;

use super::LogEntries;
use super::session::WORD;
use crate::subject::Step;

/// A message that no segment of the log of commits takes.
const LARGE_BYTES: usize = 5 << 10;
/// So many entries give a field that all of them have a column.
const MANY: usize = 2_200;

/// One step of a workload over logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogStep {
    /// An entry, `Written`.
    Entry,
    /// An entry, `Synced`.
    Synced,
    /// A few entries, one commit.
    Few,
    /// An entry that goes straight to runs, among others.
    Large,
    /// So many entries that their field gets a column.
    Many,
}

/// Entries that are one commit: message and field.
#[derive(Debug, Clone)]
pub struct Write {
    pub(super) entries: Vec<(String, i64)>,
    pub(super) durability: Durability,
}

impl Step for LogStep {
    type Session = LogEntries;

    const ALPHABET: &'static [(char, Self)] = &[
        ('e', Self::Entry),
        ('s', Self::Synced),
        ('w', Self::Few),
        ('x', Self::Large),
        ('m', Self::Many),
    ];

    const CHOSEN: &'static [&'static str] = &[
        // Entries in memory and in runs when a field gets its column, and after it.
        "ewfmesfcrwc",
        // Large ones between small ones, and none out of its order.
        "exswxfercx",
        // What a pin sees while more arrives.
        "wfpescwrfpc",
    ];

    const KIND: &'static str = "logs";

    fn writes(self, turn: usize) -> Vec<Write> {
        vec![self.write(turn)]
    }
}

fn message(turn: usize, n: usize) -> (String, i64) {
    let word = if n.is_multiple_of(3) { WORD } else { "usual" };
    (format!("{word} {turn}.{n}"), (turn * 10 + n) as i64)
}

impl LogStep {
    fn write(self, turn: usize) -> Write {
        let some = |count: usize| (0..count).map(|n| message(turn, n)).collect::<Vec<_>>();
        let (entries, durability) = match self {
            Self::Synced => (vec![message(turn, 1)], Durability::Synced),
            Self::Few => (some(4), Durability::Synced),
            Self::Large => {
                let mut entries = some(2);
                entries.insert(1, ("x".repeat(LARGE_BYTES), turn as i64));
                (entries, Durability::Written)
            }
            Self::Many => (some(MANY), Durability::Written),
            _ => (vec![message(turn, 0)], Durability::Written),
        };
        Write { entries, durability }
    }
}
