//! The steps of workloads over time logs.

use timestrata_engine::Durability::{self, Synced, Written};

use super::session::{Timed, TimelogChange};
use crate::subject::Alphabet;

/// A value that no segment of the log of commits takes, with others beside it.
const LARGE_BYTES: usize = 3 << 10;

pub(super) const ALPHABET: Alphabet<Write> = &[
    // A value behind all others, `Written`.
    ('a', |turn| put(vec![value(turn, now(turn), 0)], Written)),
    // The same, `Synced`.
    ('s', |turn| put(vec![value(turn, now(turn), 0)], Synced)),
    // A value before all others.
    ('l', |turn| put(vec![value(turn, 9 - turn as i64, 0)], Written)),
    // Values at the same times as others, one commit.
    ('e', |turn| put(vec![value(turn, 100, 0), value(turn, 110, 1), value(turn, 100, 2)], Synced)),
    // Values that go straight to runs, late ones among them.
    ('x', |turn| {
        let large = |(n, time): (usize, i64)| {
            let (time, value) = value(turn, time, n);
            (time, format!("{value} {}", "x".repeat(LARGE_BYTES)))
        };
        put([now(turn), 20, 105].into_iter().enumerate().map(large).collect(), Written)
    }),
    // Times go, and what comes at them later stays.
    ('d', |_| vec![Write { change: TimelogChange::Delete(5, 106), durability: Written }]),
];

pub(super) const CHOSEN: &[&str] = &[
    // Late and equal values through flush and compaction, deleted in between.
    "alefsdlfeacldrc",
    // Large commits between small ones, and what is deleted of both.
    "axsdxfalxdcr",
    // What a pin sees, while all of it goes.
    "aefpdlfcaprc",
];

/// What is one commit.
#[derive(Debug, Clone)]
pub struct Write {
    pub(super) change: TimelogChange,
    pub(super) durability: Durability,
}

/// A time behind those of earlier turns.
fn now(turn: usize) -> i64 {
    100 + 10 * turn as i64
}

fn value(turn: usize, time: i64, n: usize) -> Timed {
    (time, format!("value {turn}.{n}"))
}

fn put(values: Vec<Timed>, durability: Durability) -> Vec<Write> {
    vec![Write { change: TimelogChange::Put(values), durability }]
}
