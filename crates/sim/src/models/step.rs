//! The steps of workloads over all models.

use timestrata_engine::Durability::{self, Synced, Written};

use super::model::ModelsChange::{self, Block, Entry, Older, Read, Record, Row, Value};
use crate::subject::Alphabet;

/// With others as long beside it, too much for the log of commits.
const LARGE_BYTES: usize = 3 << 10;

pub(super) const ALPHABET: Alphabet<Write> = &[
    // Something of each model, `Written`.
    ('a', |turn| write(all(turn), Written, 0)),
    // The same, `Synced`.
    ('s', |turn| write(all(turn), Synced, 0)),
    // So much that it goes straight to runs.
    ('x', |turn| write(all(turn), Written, LARGE_BYTES)),
    // What is old goes, what is new stays, and both are told.
    ('d', |turn| {
        let number = number(turn);
        let changes =
            vec![Older(number - 10), Row(number), Value(number), Record(number), Entry(number)];
        write(changes, Synced, 0)
    }),
    // What has been read, and what is made of it.
    ('k', |turn| write(vec![Read, Row(number(turn)), Record(number(turn))], Synced, 0)),
    // Two models without a lock of their own to wait for.
    ('g', |turn| write(vec![Value(number(turn)), Block(number(turn))], Written, 0)),
];

pub(super) const CHOSEN: &[&str] = &[
    // Small and large ones through flush and compaction, some of it deleted in between.
    "asfxdfakcgdrc",
    // What a pin sees while what it saw goes.
    "axpdfdkcaprc",
];

/// What is one commit.
#[derive(Debug, Clone)]
pub struct Write {
    pub(super) changes: Vec<ModelsChange>,
    pub(super) durability: Durability,
    /// How much longer all texts are than they need to be.
    pub(super) bytes: usize,
}

/// The number of a turn: others are before it and behind it.
fn number(turn: usize) -> i64 {
    100 + 10 * turn as i64
}

fn all(turn: usize) -> Vec<ModelsChange> {
    of_all(number(turn))
}

pub(super) fn of_all(number: i64) -> Vec<ModelsChange> {
    vec![Value(number), Record(number), Row(number), Block(number), Entry(number)]
}

fn write(changes: Vec<ModelsChange>, durability: Durability, bytes: usize) -> Vec<Write> {
    vec![Write { changes, durability, bytes }]
}
