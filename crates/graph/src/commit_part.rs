//! A graph's part of a commit that several models make together.

use timestrata_engine::{Changes, CommitPart, LockRank, Result, SeqNo, Store, StreamId};

use super::{Changed, Graph, GraphChanges};

/// What a commit over several models does to a graph.
///
/// ```
/// use timestrata_engine::{Changes, CommitPart, Durability, Settings, Store};
/// use timestrata_graph::{Graph, GraphChanges, GraphOptions, GraphWrite, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// let main = NewBlock { is_text: true, content: b"fn main() {}", ..NewBlock::default() };
/// let mut write = GraphWrite::new(&code, GraphChanges::new().put(main));
/// // `timestrata::commit_together` does this for the parts of several models.
/// write.commit(Changes::new(), &mut |changes| store.commit(changes, Durability::Written))?;
/// assert_eq!(write.changed().map(|changed| changed.put.len()), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GraphWrite<'a> {
    graph: Graph,
    changes: GraphChanges<'a>,
    changed: Option<Changed>,
}

impl<'a> GraphWrite<'a> {
    /// These changes.
    #[must_use]
    pub fn new(graph: &Graph, changes: GraphChanges<'a>) -> Self {
        Self { graph: graph.clone(), changes, changed: None }
    }

    /// What became of them, once they are committed.
    #[must_use]
    pub fn changed(&self) -> Option<&Changed> {
        self.changed.as_ref()
    }
}

impl CommitPart for GraphWrite<'_> {
    fn store(&self) -> &Store {
        self.graph.store()
    }

    fn rank(&self) -> LockRank {
        LockRank::Graph
    }

    fn stream(&self) -> StreamId {
        self.graph.shared.blocks
    }

    fn commit(
        &mut self,
        before: Changes,
        rest: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        if self.changes.is_empty() {
            return rest(before);
        }
        self.changes.check()?;
        let mut seq = SeqNo::default();
        let commit = &mut |all| {
            seq = rest(all)?;
            Ok(Some(seq))
        };
        self.changed = Some(self.graph.commit_changes(&self.changes, before, commit)?);
        Ok(seq)
    }

    fn announce(&mut self) {
        self.graph.merge_edges();
    }
}
