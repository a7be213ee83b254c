//! The limit on the number of kinds of edges: each kind has a number of 16 bits in memory, and an edge
//! whose kind has none could not be walked. So a commit that would add one kind too many is refused.

use hashbrown::HashSet;
use timestrata_engine::{Error, ErrorKind, Result, Snapshot, StreamId};

use super::adjacency::KINDS_MAX;
use super::changes::EdgeChange;
use super::edge::{EdgeRows, EdgeSide};
use super::loading::columns_needed;

/// So many kinds are taken without a look at those that are there: hardly any graph has more.
const UNASKED_MAX: usize = 64;

/// The kinds of a graph, as far as somebody has asked.
#[derive(Debug, Default)]
pub(super) struct KnownKinds {
    /// Those that were written since the graph was opened; and, once they are many, all that there were.
    names: HashSet<Box<str>>,
    are_all: bool,
}

impl KnownKinds {
    /// Takes in the kinds of edges that are to be linked.
    ///
    /// # Errors
    /// `TooLarge` if the graph would have more kinds than there are numbers for; what reading may fail
    /// with.
    pub(super) fn add<'s>(
        &mut self,
        graph: &str,
        changes: &[EdgeChange<'_>],
        snapshot: impl Fn() -> Result<&'s Snapshot>,
        edges: StreamId,
    ) -> Result<()> {
        let mut new = self.lacking(changes);
        if !self.are_all && self.names.len() + new.len() > UNASKED_MAX {
            read(snapshot()?, edges, &mut self.names)?;
            self.are_all = true;
            new = self.lacking(changes);
        }
        if self.names.len() + new.len() > KINDS_MAX {
            // Some may have gone since.
            self.names.clear();
            read(snapshot()?, edges, &mut self.names)?;
            new = self.lacking(changes);
        }
        let all = self.names.len() + new.len();
        if all > KINDS_MAX {
            let message = format!(
                "graph '{graph}': its edges would be of {all} kinds, and at most {KINDS_MAX} can be; \
                 what is different from edge to edge belongs into properties"
            );
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        self.names.extend(new.into_iter().map(Box::from));
        Ok(())
    }

    /// Whether edges of a kind can be linked without a look at the kinds that there are.
    pub(super) fn knows(&self, kind: &str) -> bool {
        self.names.contains(kind)
    }

    fn lacking<'c>(&self, changes: &'c [EdgeChange<'_>]) -> HashSet<&'c str> {
        let mut new = HashSet::new();
        let mut last = None;
        for change in changes {
            let EdgeChange::Link(edge) = change else { continue };
            let kind = &*edge.key.kind;
            if last != Some(kind) && !self.names.contains(kind) {
                new.insert(kind);
            }
            last = Some(kind);
        }
        new
    }
}

fn read(snapshot: &Snapshot, edges: StreamId, names: &mut HashSet<Box<str>>) -> Result<()> {
    for rows in snapshot.scan(edges, &columns_needed())? {
        let rows = rows?;
        let mut last = None;
        for (_, kind, _) in EdgeRows::of(EdgeSide::Out, &rows)?.keys() {
            if last != Some(kind) && !names.contains(kind) {
                names.insert(kind.into());
            }
            last = Some(kind);
        }
    }
    Ok(())
}
