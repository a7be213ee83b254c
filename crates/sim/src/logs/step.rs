//! The steps of workloads over logs.

use timestrata_engine::Durability::{self, Synced, Written};

use super::session::WORD;
use crate::subject::Alphabet;

/// A message that no segment of the log of commits takes.
const LARGE_BYTES: usize = 9 << 10;
/// So many entries give a field that all of them have a column.
const MANY: usize = 2_200;

pub(super) const ALPHABET: Alphabet<Write> = &[
    // An entry, `Written`.
    ('e', |turn| one(vec![message(turn, 0)], Written)),
    // An entry, `Synced`.
    ('s', |turn| one(vec![message(turn, 1)], Synced)),
    // A few entries, one commit.
    ('w', |turn| one(messages(turn, 4), Synced)),
    // An entry that goes straight to runs, among others.
    ('x', |turn| {
        let mut entries = messages(turn, 2);
        entries.insert(1, ("x".repeat(LARGE_BYTES), turn as i64));
        one(entries, Written)
    }),
    // So many entries that their field gets a column.
    ('m', |turn| one(messages(turn, MANY), Written)),
];

pub(super) const CHOSEN: &[&str] = &[
    // Entries in memory and in runs when a field gets its column, and after it.
    "ewfmesfcrwc",
    // Large ones between small ones, and none out of its order.
    "exswxfercx",
    // What a pin sees while more arrives.
    "wfpescwrfpc",
];

/// Entries that are one commit: message and field.
#[derive(Debug, Clone)]
pub struct Write {
    pub(super) entries: Vec<(String, i64)>,
    pub(super) durability: Durability,
}

fn one(entries: Vec<(String, i64)>, durability: Durability) -> Vec<Write> {
    vec![Write { entries, durability }]
}

fn message(turn: usize, n: usize) -> (String, i64) {
    let word = if n.is_multiple_of(3) { WORD } else { "usual" };
    (format!("{word} {turn}.{n}"), (turn * 10 + n) as i64)
}

fn messages(turn: usize, count: usize) -> Vec<(String, i64)> {
    (0..count).map(|n| message(turn, n)).collect()
}
