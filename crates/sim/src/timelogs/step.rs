//! The steps of workloads over time logs.

use timestrata_engine::Durability;

use super::Timelogs;
use super::session::{Timed, TimelogChange};
use crate::subject::Step;

/// A value that no segment of the log of commits takes, with others beside it.
const LARGE_BYTES: usize = 3 << 10;

/// One step of a workload over time logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimelogStep {
    /// A value behind all others, `Written`.
    Append,
    /// The same, `Synced`.
    Synced,
    /// A value before all others.
    Late,
    /// Values at the same times as others, one commit.
    Equal,
    /// Values that go straight to runs, late ones among them.
    Large,
    /// Times go, and what comes at them later stays.
    Delete,
}

/// What is one commit.
#[derive(Debug, Clone)]
pub struct Write {
    pub(super) change: TimelogChange,
    pub(super) durability: Durability,
}

impl Step for TimelogStep {
    type Session = Timelogs;

    const ALPHABET: &'static [(char, Self)] = &[
        ('a', Self::Append),
        ('s', Self::Synced),
        ('l', Self::Late),
        ('e', Self::Equal),
        ('x', Self::Large),
        ('d', Self::Delete),
    ];

    const CHOSEN: &'static [&'static str] = &[
        // Late and equal values through flush and compaction, deleted in between.
        "alefsdlfeacldrc",
        // Large commits between small ones, and what is deleted of both.
        "axsdxfalxdcr",
        // What a pin sees, while all of it goes.
        "aefpdlfcaprc",
    ];

    const KIND: &'static str = "timelogs";

    fn writes(self, turn: usize) -> Vec<Write> {
        vec![self.write(turn)]
    }
}

impl TimelogStep {
    fn write(self, turn: usize) -> Write {
        let now = 100 + 10 * turn as i64;
        let value = |time: i64, n: usize| -> Timed { (time, format!("value {turn}.{n}")) };
        let put = |values: Vec<Timed>, durability| Write {
            change: TimelogChange::Put(values),
            durability,
        };
        match self {
            Self::Synced => put(vec![value(now, 0)], Durability::Synced),
            Self::Late => put(vec![value(9 - turn as i64, 0)], Durability::Written),
            Self::Equal => {
                put(vec![value(100, 0), value(110, 1), value(100, 2)], Durability::Synced)
            }
            Self::Large => {
                let large = |time, n| {
                    let (time, value) = value(time, n);
                    (time, format!("{value} {}", "x".repeat(LARGE_BYTES)))
                };
                put(vec![large(now, 0), large(20, 1), large(105, 2)], Durability::Written)
            }
            Self::Delete => {
                Write { change: TimelogChange::Delete(5, 106), durability: Durability::Written }
            }
            _ => put(vec![value(now, 0)], Durability::Written),
        }
    }
}
