//! The edges of a graph in memory: who is next to whom, in both directions.
//!
//! Every block that an edge names has a dense number. What is settled lies in a [`Base`]: per
//! direction one list of neighbours, cut into a row a node, with each row in order of kind and
//! number. What has changed since is a [`Delta`], an immutable value from which the next one is
//! derived by copying little. A [`View`] is one of each, and never changes: whoever reads one is
//! not disturbed by a writer, nor waited for.
//!
//! Nothing here knows of a store. What holds blocks and edges feeds a [`Builder`], derives a
//! delta with each commit, and has [`View::rebuild`] merge both once the delta has grown.
//!
//! A node's number means something only together with the base it comes from.

mod base;
mod bits;
mod build;
mod delta;
mod filter;
mod id;
mod kinds;
mod layers;
mod numbers;
mod sorted;
mod view;

pub use base::Base;
pub use build::Builder;
pub use delta::{Change, Delta};
pub use filter::{EdgeFilter, KindFilter};
pub use id::BlockId;
pub use kinds::{KINDS_MAX, Kinds};
pub(crate) use layers::Cursor;
pub use numbers::NODES_MAX;
pub use view::View;

/// An edge between two blocks, which need not exist. There is one of a source, kind and target.
///
/// ```
/// use timestrata_graph::{Edge, id_of_content};
///
/// let (main, run) = (id_of_content(b"main"), id_of_content(b"run"));
/// let call = Edge { weight: Some(2.0), ..Edge::new(main, "calls", run) };
/// assert_eq!((&*call.key.kind, call.key.target), ("calls", run));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Where it begins.
    pub source: BlockId,
    /// The number of its kind, see [`Kinds`].
    pub kind: u16,
    /// Where it ends.
    pub target: BlockId,
    /// What it weighs, if it was given a weight.
    pub weight: Option<f64>,
    /// From when on it counts; always without. The smallest time there is says the same as none.
    pub valid_from: Option<i64>,
}

/// The other end of an edge, as seen from a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// The number of the other node.
    pub number: u32,
    /// The number of the edge's kind.
    pub kind: u16,
    /// What the edge weighs, if it was given a weight.
    pub weight: Option<f64>,
    /// From when on the edge counts; always without.
    pub valid_from: Option<i64>,
}

/// Which edges of a node are meant.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::Direction;
/// # use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// # let block = |content| NewBlock { is_text: true, content, ..NewBlock::default() };
/// # let (main, run) = (block(b"fn main() { run() }"), block(b"fn run() {}"));
/// # let call = Edge::new(main.id(), "calls", run.id());
/// # let changes = GraphChanges::new().put(main).put(run).link(call);
/// # code.change(&changes, Durability::Written)?;
/// // A block `main` has an edge to a block `run`, of the kind `calls`.
/// let view = code.view()?;
/// assert_eq!(view.edges(run.id(), Direction::In, &[])?.len(), 1);
/// assert_eq!(view.edges(run.id(), Direction::Out, &[])?.len(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Those that begin at it.
    #[default]
    Out,
    /// Those that end at it.
    In,
    /// Both, those that begin at it first. An edge from a node to itself comes twice.
    Both,
}

impl Direction {
    /// The direction in which the same edges are gone through from their other ends.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
            Self::Both => Self::Both,
        }
    }
}

/// One of the two lists that have each edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeSide {
    /// By source.
    Out,
    /// By target.
    In,
}

/// A weight as it is kept: bits, since one sort of not-a-number stands for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Weight(u64);

impl Weight {
    /// No weight. Not what Rust or a processor makes of a calculation that has no result.
    const NONE: Self = Self(0x7ff8_0000_0000_6e6f);

    fn new(weight: Option<f64>) -> Self {
        match weight {
            None => Self::NONE,
            Some(weight) if weight.is_nan() => Self(f64::NAN.to_bits()),
            Some(weight) => Self(weight.to_bits()),
        }
    }

    #[inline]
    fn get(self) -> Option<f64> {
        (self != Self::NONE).then_some(f64::from_bits(self.0))
    }
}

/// The time from which on an edge counts that always does.
const ALWAYS: i64 = i64::MIN;

/// Whether a time can be told from that of an edge that always counts.
pub(crate) fn has_place(valid_from: Option<i64>) -> bool {
    valid_from != Some(ALWAYS)
}

#[inline]
fn valid_from_of(time: i64) -> Option<i64> {
    (time != ALWAYS).then_some(time)
}

#[cfg(test)]
mod tests;
