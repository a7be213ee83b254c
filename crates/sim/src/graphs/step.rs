//! The steps of workloads over graphs.

use timestrata_engine::Durability::{self, Synced, Written};

use super::model::GraphChange::{self, Delete, Link, Put, Unlink, UnlinkKind};
use crate::subject::Alphabet;

/// Blocks that there are: few enough to meet.
pub(super) const BLOCKS: u8 = 4;
/// Kinds of edges.
pub(super) const KINDS: u8 = 2;
/// Content that no segment of the log takes.
const LARGE_BYTES: usize = 9 << 10;

pub(super) const ALPHABET: Alphabet<Write> = &[
    // A block, `Synced`.
    ('b', |turn| one(Synced, vec![put(turn, 0)])),
    // Blocks and edges between them in one commit, `Written`.
    ('w', |turn| {
        let changes = vec![put(turn, 0), put(turn, 1), link(turn, 0), link(turn, 1), link(turn, 2)];
        one(Written, changes)
    }),
    // A block that goes straight to runs.
    ('x', |turn| one(Written, vec![Put(block_of(turn), "x".repeat(LARGE_BYTES))])),
    // Edges, `Synced`.
    ('l', |turn| one(Synced, vec![link(turn, 0), link(turn, 1)])),
    // Edges that go.
    ('u', |turn| one(Written, vec![unlink(turn, 0), unlink(turn, 1)])),
    // All edges of a kind go.
    ('k', |turn| one(Written, vec![UnlinkKind(turn as u8 % KINDS)])),
    // A block goes, with its edges.
    ('d', |turn| one(Synced, vec![Delete(block_of(turn))])),
    // A block goes, and comes again with other edges, in one commit.
    ('e', |turn| {
        one(Written, vec![link(turn, 0), Delete(block_of(turn)), put(turn, 0), link(turn, 2)])
    }),
];

pub(super) const CHOSEN: &[&str] = &[
    // A block is deleted in every state that it can be in, and stays deleted.
    "wfdfcrwfdrcd",
    // Edges go that are in memory, in runs, and in both.
    "wflfukfcwuklrc",
    // Large blocks between small ones, put again and deleted.
    "xbxfdxcrxwd",
    // What a pin sees, while all of it goes.
    "wlfpedkfcrpc",
];

/// Changes that are one commit.
#[derive(Debug, Clone)]
pub struct Write {
    pub(super) changes: Vec<GraphChange>,
    pub(super) durability: Durability,
}

fn one(durability: Durability, changes: Vec<GraphChange>) -> Vec<Write> {
    vec![Write { changes, durability }]
}

/// A block of a turn, with content like no other.
pub(super) fn put(turn: usize, n: usize) -> GraphChange {
    Put(block_of(turn + n), format!("{turn}.{n}"))
}

fn block_of(number: usize) -> u8 {
    number as u8 % BLOCKS
}

fn ends(turn: usize, n: usize) -> (u8, u8, u8) {
    (block_of(turn + n), (turn + n / 2) as u8 % KINDS, block_of(turn * 3 + n + 1))
}

/// An edge of a turn.
pub(super) fn link(turn: usize, n: usize) -> GraphChange {
    let (source, kind, target) = ends(turn, n);
    Link(source, kind, target)
}

fn unlink(turn: usize, n: usize) -> GraphChange {
    // Of an earlier turn, if that linked it.
    let (source, kind, target) = ends(turn.saturating_sub(1), n);
    Unlink(source, kind, target)
}
