//! The edges of a graph in memory: who is next to whom, in both directions.

mod id;

pub use id::BlockId;

/// Which edges of a node are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Those that begin at it.
    #[default]
    Out,
    /// Those that end at it.
    In,
    /// Both, those that begin at it first.
    Both,
}
