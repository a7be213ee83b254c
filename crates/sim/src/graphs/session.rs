//! A store with a graph, in use.

use timestrata_engine::{Durability, Result, Settings, Store};
use timestrata_graph::{BlockId, Edge, Graph, GraphChanges, GraphOptions, NewBlock, Unlinked};

use super::model::{GraphChange, GraphModel};
use super::read;
use super::step::{self, Write, link, put};
use crate::subject::{
    Action, Alphabet, Judgement, Showing, Subject, Work, settings_of_several_streams,
};

/// The graph.
pub(super) const NAME: &str = "code";

/// Graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Graphs;

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

impl Subject for Graphs {
    type Model = GraphModel;
    type Write = Write;
    type Parts = Graph;
    const KIND: &'static str = "graphs";
    const ALPHABET: Alphabet<Write> = step::ALPHABET;
    const CHOSEN: &'static [&'static str] = step::CHOSEN;

    fn settings() -> Settings {
        settings_of_several_streams()
    }

    fn attach(store: &Store) -> Result<Graph> {
        Graph::create(store, NAME, &GraphOptions { keep_versions: 2 })
    }

    fn write(graph: &mut Graph, work: &mut Work<'_, GraphModel>, write: &Write) -> Result<()> {
        work.begin(&write.changes);
        let changes = write.changes.iter().fold(GraphChanges::new(), added);
        let changed = graph.change(&changes, write.durability).map(|changed| changed.seq);
        if matches!(changed, Ok(None)) {
            // There was nothing to take away.
            work.story.commit_refused();
            return Ok(());
        }
        work.committed(changed, write.durability)
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

    fn compare(showing: &Showing<'_>, model: &GraphModel) -> Judgement<()> {
        read::compare(showing, model)
    }
}
