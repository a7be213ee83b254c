//! Workloads: a small alphabet of steps, and all short words over it.
//!
//! A step is a function of its turn, so a workload is fully named by its letters.

use std::fmt;

use timestrata_engine::Durability;
use timestrata_io::{Rng, SeededRng};

use crate::model::ModelChange::{self, DeleteKeys, DeleteRange, Insert};
use crate::model::Row;

/// The stream that keeps every row.
pub(crate) const EVENTS: usize = 0;
/// The stream that keeps the latest row of a key.
pub(crate) const STATE: usize = 1;

/// One step of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
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
    /// Sync.
    Sync,
    /// Flush.
    Flush,
    /// Compact all there is.
    Compact,
    /// Pin the store, or take the pin away.
    Pin,
    /// Close and open again.
    Reopen,
    /// Rows enough to fill a segment of the log.
    Roll,
    /// A column more for both streams.
    Alter,
}

impl Step {
    /// Each with its letter.
    pub const ALPHABET: [(char, Self); 18] = [
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
        ('y', Self::Sync),
        ('f', Self::Flush),
        ('c', Self::Compact),
        ('p', Self::Pin),
        ('r', Self::Reopen),
        ('w', Self::Roll),
        ('x', Self::Alter),
    ];

    fn letter(self) -> char {
        Self::ALPHABET.iter().find(|(_, step)| *step == self).map_or('?', |(letter, _)| *letter)
    }

    /// What the step does at this turn.
    pub(crate) fn actions(self, turn: usize) -> Vec<Action> {
        let written = Durability::Written;
        let now = 100 + 10 * turn as i64;
        let row = |key: i64, name: &str| (key, format!("{name} of turn {turn}"));
        let appended =
            |stream, row: Row, durability| vec![Action::AppendRow { stream, row, durability }];
        let committed = |changes, durability| vec![Action::Commit { changes, durability }];
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
            Self::Bulk => vec![Action::Bulk { changes: bulk(turn, now) }],
            Self::Sync => vec![Action::Sync],
            Self::Flush => vec![Action::Flush],
            Self::Compact => vec![Action::Compact],
            Self::Pin => vec![Action::Pin],
            Self::Reopen => vec![Action::Reopen],
            Self::Alter => vec![Action::Alter],
            Self::Roll => {
                let padding = "x".repeat(1100);
                let long = |n: i64| (now + n, format!("long row of turn {turn} {padding}"));
                (0..3)
                    .map(|n| Action::AppendRow {
                        stream: EVENTS,
                        row: long(n),
                        durability: written,
                    })
                    .collect()
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
pub(crate) enum Action {
    AppendRow { stream: usize, row: Row, durability: Durability },
    Commit { changes: Vec<ModelChange>, durability: Durability },
    Bulk { changes: Vec<ModelChange> },
    Sync,
    Flush,
    Compact,
    Pin,
    Reopen,
    Alter,
}

/// Steps, one after the other, on a new store. Crash points are taken in the last
/// `explored` of them: those of earlier ones are the business of shorter workloads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Workload {
    steps: Vec<Step>,
    explored: usize,
}

impl Workload {
    /// A workload by its letters (see [`Step::ALPHABET`]), explored in its last step;
    /// `None` if a letter has no meaning.
    pub fn parse(letters: &str) -> Option<Self> {
        let step = |letter: char| {
            Step::ALPHABET.iter().find(|(known, _)| *known == letter).map(|(_, step)| *step)
        };
        let steps: Vec<Step> = letters.chars().map(step).collect::<Option<_>>()?;
        Some(Self { explored: steps.len().min(1), steps })
    }

    /// The same, explored from the first step on, and the making of the store too.
    #[must_use]
    pub fn explored_whole(mut self) -> Self {
        self.explored = self.steps.len() + 1;
        self
    }

    /// `prefix` followed by every word of `length` letters, explored in its last letter.
    pub fn all(prefix: &str, length: u32) -> Vec<Self> {
        let letters = Step::ALPHABET.len();
        let start = Self::parse(prefix).map(|workload| workload.steps).unwrap_or_default();
        let word = |number: usize| {
            let mut steps = start.clone();
            let digits = (0..length).rev().map(|place| number / letters.pow(place) % letters);
            steps.extend(digits.map(|digit| Step::ALPHABET[digit].1));
            Self { steps, explored: 1 }
        };
        (0..letters.pow(length)).map(word).collect()
    }

    /// Every workload of up to `length` steps, the making of the store alone included.
    pub fn short(length: u32) -> Vec<Self> {
        let empty = Self { steps: Vec::new(), explored: 1 };
        std::iter::once(empty)
            .chain((1..=length).flat_map(|length| Self::all("", length)))
            .collect()
    }

    /// Longer ones, each with a reason, explored in every step.
    pub fn chosen() -> Vec<Self> {
        let letters = [
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
        letters.into_iter().filter_map(Self::parse).map(Self::explored_whole).collect()
    }

    /// Words of `length` letters drawn by a seed, explored in every step.
    pub fn drawn(seed: u64, count: usize, length: usize) -> Vec<Self> {
        let rng = SeededRng::new(seed);
        let letter = || Step::ALPHABET[rng.next_u64() as usize % Step::ALPHABET.len()].1;
        (0..count)
            .map(|_| Self { steps: (0..length).map(|_| letter()).collect(), explored: length + 1 })
            .collect()
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The first step whose crash points are taken; `None`: from the making of the store on.
    pub(crate) fn explored_from(&self) -> Option<usize> {
        self.steps.len().checked_sub(self.explored)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| write!(f, "{}", step.letter()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Step, Workload};

    #[test]
    fn letters_name_a_workload() {
        let letters: String = Step::ALPHABET.iter().map(|(letter, _)| *letter).collect();
        let workload = Workload::parse(&letters).unwrap();
        assert_eq!(workload.to_string(), letters);
        assert_eq!(workload.steps().len(), 18);
        assert_eq!(Workload::parse("a?"), None);
    }

    #[test]
    fn all_words_of_a_length_are_there_once() {
        let words = Workload::all("af", 2);
        let names: std::collections::BTreeSet<String> =
            words.iter().map(Workload::to_string).collect();
        assert_eq!((words.len(), names.len()), (324, 324));
        assert!(names.contains("afdc"));
    }
}
