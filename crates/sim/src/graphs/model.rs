//! The reference model of a graph: maps of blocks, and a set of edges.

use std::collections::{BTreeMap, BTreeSet};

use crate::story::Model;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraphChange {
    /// A block is put.
    Put(u8, String),
    /// A block is deleted, with its edges.
    Delete(u8),
    /// Source, kind and target are linked.
    Link(u8, u8, u8),
    /// They are not linked any more.
    Unlink(u8, u8, u8),
    /// Nothing is linked by edges of a kind.
    UnlinkKind(u8),
}

/// A graph after some number of commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphModel {
    /// Version and content of each block.
    pub(super) blocks: BTreeMap<u8, (u32, String)>,
    /// The version before it, where there is one.
    pub(super) before: BTreeMap<u8, (u32, String)>,
    /// Source, kind and target.
    pub(super) edges: BTreeSet<(u8, u8, u8)>,
}

impl Model for GraphModel {
    type Change = GraphChange;

    fn apply(&mut self, change: &GraphChange) {
        match change {
            GraphChange::Put(id, content) => {
                let version = self.blocks.get(id).map_or(0, |(version, _)| *version) + 1;
                if let Some(before) = self.blocks.insert(*id, (version, content.clone())) {
                    self.before.insert(*id, before);
                }
            }
            GraphChange::Delete(id) => {
                self.blocks.remove(id);
                self.before.remove(id);
                self.edges.retain(|(source, _, target)| source != id && target != id);
            }
            GraphChange::Link(source, kind, target) => {
                self.edges.insert((*source, *kind, *target));
            }
            GraphChange::Unlink(source, kind, target) => {
                self.edges.remove(&(*source, *kind, *target));
            }
            GraphChange::UnlinkKind(kind) => self.edges.retain(|(_, is, _)| is != kind),
        }
    }
}
