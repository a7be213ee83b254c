//! The steps of workloads over topics.

use timestrata_engine::Durability::{self, Synced, Written};

use super::model::{Part, TopicRecord};
use crate::subject::Alphabet;

pub(super) const ALPHABET: Alphabet<Write> = &[
    // A record, `Synced`.
    ('s', |turn| vec![send_to_log(turn, 1, Synced)]),
    // A few records, `Written`.
    ('b', |turn| vec![send_to_log(turn, 3, Written)]),
    // Records for both partitions of a topic, in one commit.
    ('t', |turn| {
        let parts = [Part::Right, Part::Left, Part::Right];
        let records = (0..).zip(parts).map(|(n, part)| (part, record(turn, n))).collect();
        vec![Write::Send { records, durability: Synced }]
    }),
    // So many records that tiles get full.
    ('m', |turn| vec![send_to_log(turn, 260, Written)]),
    // Records of an idempotent producer, sent twice.
    ('q', |turn| {
        let first = if (turn / 2).is_multiple_of(2) { Written } else { Synced };
        vec![Write::Repeat { records: vec![record(turn, 0), record(turn, 1)], first }]
    }),
    // A checkpoint of each partition.
    ('h', |_| Part::ALL.map(|part| Write::Checkpoint { part }).to_vec()),
    // A group's offset, in one commit with a row beside.
    ('g', |turn| {
        let row = turn as i64;
        vec![
            Write::Consume { part: Part::Log, row },
            Write::Consume { part: Part::Left, row: -1 - row },
        ]
    }),
    // The oldest records go.
    ('e', |_| vec![Write::Retain { records: 2 }]),
    // Records go that later ones of their keys stand for.
    ('k', |_| vec![Write::Supersede]),
];

pub(super) const CHOSEN: &[&str] = &[
    // Checkpoints between sends of every kind, after reopens and compactions.
    "shbhrthfschbrh",
    // A tile gets full, in memory and on disk, and the tree goes on behind it.
    "mhsrhmfbchrsh",
    // The oldest records go, within a tile and with it; the tree stays.
    "beshmehfebrech",
    // Records of keys go, and what was told of them stays.
    "mkhfsmkcrkh",
    // A producer repeats itself before and after a reopen.
    "qrqfqchrq",
    // A group goes on, with what it wrote.
    "bgsgrtgfgc",
];

/// What only topics do.
#[derive(Debug, Clone)]
pub enum Write {
    /// Records of these partitions in one commit.
    Send { records: Vec<(Part, TopicRecord)>, durability: Durability },
    /// Records of an idempotent producer, and the same again.
    Repeat { records: Vec<TopicRecord>, first: Durability },
    /// A checkpoint.
    Checkpoint { part: Part },
    /// The group goes on at the end of a partition; a row beside.
    Consume { part: Part, row: i64 },
    /// All but the last so many records go.
    Retain { records: u64 },
    /// Records go that later ones stand for.
    Supersede,
}

/// A record that is like no other of another turn.
pub(super) fn record(turn: usize, n: usize) -> TopicRecord {
    let key = [Some("a"), Some("b"), None][(turn + n) % 3];
    TopicRecord { key, value: format!("{turn}.{n}"), time: 1_000 + (turn * 7 + n) as i64 }
}

fn send_to_log(turn: usize, count: usize, durability: Durability) -> Write {
    let records = (0..count).map(|n| (Part::Log, record(turn, n))).collect();
    Write::Send { records, durability }
}
