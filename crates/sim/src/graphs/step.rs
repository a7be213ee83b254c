//! The steps of workloads over graphs.

use timestrata_engine::Durability;

use super::Graphs;
use super::model::GraphChange;
use crate::subject::Step;

/// Blocks that there are: few enough to meet.
pub(super) const BLOCKS: u8 = 4;
/// Kinds of edges.
pub(super) const KINDS: u8 = 2;
/// Content that no segment of the log takes.
const LARGE_BYTES: usize = 5 << 10;

/// One step of a workload over graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GraphStep {
    /// A block, `Synced`.
    Put,
    /// Blocks and edges between them in one commit, `Written`.
    Both,
    /// A block that goes straight to runs.
    Large,
    /// Edges, `Synced`.
    Link,
    /// Edges that go.
    Unlink,
    /// All edges of a kind go.
    UnlinkKind,
    /// A block goes, with its edges.
    Delete,
    /// A block goes, and comes again with other edges, in one commit.
    Replace,
}

/// Changes that are one commit.
#[derive(Debug, Clone)]
pub struct Write {
    pub(super) changes: Vec<GraphChange>,
    pub(super) durability: Durability,
}

impl Step for GraphStep {
    type Session = Graphs;

    const ALPHABET: &'static [(char, Self)] = &[
        ('b', Self::Put),
        ('w', Self::Both),
        ('x', Self::Large),
        ('l', Self::Link),
        ('u', Self::Unlink),
        ('k', Self::UnlinkKind),
        ('d', Self::Delete),
        ('e', Self::Replace),
    ];

    const CHOSEN: &'static [&'static str] = &[
        // A block is deleted in every state that it can be in, and stays deleted.
        "wfdfcrwfdrcd",
        // Edges go that are in memory, in runs, and in both.
        "wflfukfcwuklrc",
        // Large blocks between small ones, put again and deleted.
        "xbxfdxcrxwd",
        // What a pin sees, while all of it goes.
        "wlfpedkfcrpc",
    ];

    const KIND: &'static str = "graphs";

    fn writes(self, turn: usize) -> Vec<Write> {
        vec![self.write(turn)]
    }
}

/// A block of a turn, with content like no other.
pub(super) fn put(turn: usize, n: usize) -> GraphChange {
    GraphChange::Put(block_of(turn + n), format!("{turn}.{n}"))
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
    GraphChange::Link(source, kind, target)
}

impl GraphStep {
    fn write(self, turn: usize) -> Write {
        let unlink = |n: usize| {
            // Of an earlier turn, if that linked it.
            let (source, kind, target) = ends(turn.saturating_sub(1), n);
            GraphChange::Unlink(source, kind, target)
        };
        let block = block_of(turn);
        let (durability, changes) = match self {
            Self::Put => (Durability::Synced, vec![put(turn, 0)]),
            Self::Large => {
                (Durability::Written, vec![GraphChange::Put(block, "x".repeat(LARGE_BYTES))])
            }
            Self::Link => (Durability::Synced, vec![link(turn, 0), link(turn, 1)]),
            Self::Unlink => (Durability::Written, vec![unlink(0), unlink(1)]),
            Self::UnlinkKind => {
                (Durability::Written, vec![GraphChange::UnlinkKind(turn as u8 % KINDS)])
            }
            Self::Delete => (Durability::Synced, vec![GraphChange::Delete(block)]),
            Self::Replace => (
                Durability::Written,
                vec![link(turn, 0), GraphChange::Delete(block), put(turn, 0), link(turn, 2)],
            ),
            _ => (
                Durability::Written,
                vec![put(turn, 0), put(turn, 1), link(turn, 0), link(turn, 1), link(turn, 2)],
            ),
        };
        Write { changes, durability }
    }
}
