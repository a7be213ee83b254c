//! A store with a graph, in use.

use timestrata_engine::{Durability, Result, Settings, Snapshot, Store};
use timestrata_graph::{BlockId, Edge, Graph, GraphChanges, GraphOptions, NewBlock, Unlinked};

use super::model::{GraphChange, GraphModel};
use super::read;
use super::step::{Write, link, put};
use crate::story::Story;
use crate::subject::{Action, Base, Judgement, Session, settings_of_several_streams};

/// The graph.
pub(super) const NAME: &str = "code";

/// An open store with its graph.
#[derive(Debug)]
pub struct Graphs {
    base: Base,
    graph: Graph,
}

/// The id of a block.
pub(super) fn id(number: u8) -> BlockId {
    BlockId::new([number.wrapping_mul(67); 16])
}

/// The name of a kind.
pub(super) fn kind(number: u8) -> String {
    format!("kind {number}")
}

fn edge(source: u8, of: u8, target: u8) -> Edge {
    Edge::new(id(source), kind(of), id(target))
}

fn added<'a>(changes: GraphChanges<'a>, change: &'a GraphChange) -> GraphChanges<'a> {
    match change {
        GraphChange::Put(number, content) => changes.put(NewBlock {
            id: Some(id(*number)),
            is_text: true,
            content: content.as_bytes(),
            ..NewBlock::default()
        }),
        GraphChange::Delete(number) => changes.delete(id(*number)),
        GraphChange::Link(source, of, target) => changes.link(edge(*source, *of, *target)),
        GraphChange::Unlink(source, of, target) => changes.unlink(edge(*source, *of, *target).key),
        GraphChange::UnlinkKind(of) => changes.unlink_all(Unlinked::Kind(kind(*of))),
    }
}

impl Session for Graphs {
    type Model = GraphModel;
    type Write = Write;

    fn empty_model() -> GraphModel {
        GraphModel::default()
    }

    fn attach(base: Base, story: &mut Story<GraphModel>) -> Result<Self> {
        let graph = Graph::create(&base.store, NAME, &GraphOptions { keep_versions: 2 })?;
        story.made(base.disk.operations());
        Ok(Self { base, graph })
    }

    fn settings() -> Settings {
        settings_of_several_streams()
    }

    fn base(&self) -> &Base {
        &self.base
    }

    fn base_mut(&mut self) -> &mut Base {
        &mut self.base
    }

    fn write(&mut self, write: &Write, story: &mut Story<GraphModel>) -> Result<()> {
        story.commit_begun(self.base.disk.operations(), &write.changes);
        let changes = write.changes.iter().fold(GraphChanges::new(), added);
        let changed = self.graph.change(&changes, write.durability);
        if changed.as_ref().is_ok_and(|changed| changed.seq.is_none()) {
            // There was nothing to take away.
            story.commit_refused();
            return Ok(());
        }
        let seq = changed.map(|changed| changed.seq.map_or(0, |seq| seq.0));
        self.base.committed(seq, write.durability, story)
    }

    fn is_only_a_commit(_: &Write) -> bool {
        // What is there is looked at first.
        false
    }

    fn after_recovery(_: u64) -> Vec<Action<Write>> {
        let write = |turn: usize, durability| {
            let changes = vec![put(turn, 0), put(turn, 2), link(turn, 0), link(turn, 1)];
            Action::Write(Write { changes, durability })
        };
        let delete =
            Write { changes: vec![GraphChange::Delete(1)], durability: Durability::Written };
        vec![
            write(900, Durability::Written),
            Action::Write(delete),
            write(901, Durability::Synced),
            Action::Flush,
            Action::Compact,
        ]
    }

    fn after_failure() -> Write {
        Write { changes: vec![put(903, 0), link(903, 0)], durability: Durability::Synced }
    }

    fn compare(
        store: &Store,
        snapshot: &Snapshot,
        model: &GraphModel,
        is_made: bool,
    ) -> Judgement<()> {
        read::compare(store, snapshot, model, is_made)
    }
}
