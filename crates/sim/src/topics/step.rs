//! The steps of workloads over topics.

use timestrata_engine::Durability;

use super::Topics;
use super::model::{Part, TopicRecord};
use crate::subject::Step;

/// One step of a workload over topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TopicStep {
    /// A record, `Synced`.
    Send,
    /// A few records, `Written`.
    Batch,
    /// Records for both partitions of a topic, in one commit.
    Both,
    /// So many records that tiles get full.
    Many,
    /// Records of an idempotent producer, sent twice.
    Repeat,
    /// A checkpoint of each partition.
    Checkpoint,
    /// A group's offset, in one commit with a row beside.
    Consume,
    /// The oldest records go.
    Retain,
    /// Records go that later ones of their keys stand for.
    Supersede,
}

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

impl Step for TopicStep {
    type Session = Topics;

    const ALPHABET: &'static [(char, Self)] = &[
        ('s', Self::Send),
        ('b', Self::Batch),
        ('t', Self::Both),
        ('m', Self::Many),
        ('q', Self::Repeat),
        ('h', Self::Checkpoint),
        ('g', Self::Consume),
        ('e', Self::Retain),
        ('k', Self::Supersede),
    ];

    const CHOSEN: &'static [&'static str] = &[
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

    const KIND: &'static str = "topics";

    fn writes(self, turn: usize) -> Vec<Write> {
        let (written, synced) = (Durability::Written, Durability::Synced);
        let of_log = |count: usize| (0..count).map(|n| (Part::Log, record(turn, n))).collect();
        match self {
            Self::Send => vec![Write::Send { records: of_log(1), durability: synced }],
            Self::Batch => vec![Write::Send { records: of_log(3), durability: written }],
            Self::Both => {
                let parts = [Part::Right, Part::Left, Part::Right];
                let records = (0..).zip(parts).map(|(n, part)| (part, record(turn, n))).collect();
                vec![Write::Send { records, durability: synced }]
            }
            Self::Many => vec![Write::Send { records: of_log(260), durability: written }],
            Self::Repeat => {
                let first = if (turn / 2).is_multiple_of(2) { written } else { synced };
                vec![Write::Repeat { records: vec![record(turn, 0), record(turn, 1)], first }]
            }
            Self::Checkpoint => {
                Part::ALL.into_iter().map(|part| Write::Checkpoint { part }).collect()
            }
            Self::Consume => vec![
                Write::Consume { part: Part::Log, row: turn as i64 },
                Write::Consume { part: Part::Left, row: -1 - turn as i64 },
            ],
            Self::Retain => vec![Write::Retain { records: 2 }],
            Self::Supersede => vec![Write::Supersede],
        }
    }
}
