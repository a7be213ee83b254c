//! Parts of a commit that several models make together.

use timestrata_format::StreamId;

use super::Store;
use crate::{Changes, Result, SeqNo};

/// Whose locks a [`CommitPart`] takes. Whoever takes those of several takes them in this order, and of one kind in that of
/// their streams' ids, so that no two wait for each other.
///
/// ```
/// # use timestrata_engine::LockRank;
/// assert!(LockRank::Table < LockRank::Topic);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockRank {
    /// A table's. Who deletes rows of it by what they hold may have it for long, so nobody waits for it with another.
    Table,
    /// A graph's.
    Graph,
    /// A log's.
    Log,
    /// A time log's, which has none that matters.
    Timelog,
    /// Those of a topic's partitions.
    Topic,
    /// That of all offsets that groups commit.
    Offsets,
}

impl LockRank {
    /// What it is of, in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Graph => "graph",
            Self::Log => "log",
            Self::Timelog => "time log",
            Self::Topic => "topic",
            Self::Offsets => "consumer",
        }
    }
}

/// What one model changes in a commit that several make together. Models have such; `timestrata::commit_together` makes one
/// commit of them:
///
/// ```text
///   table.commit(no changes, rest) ----+  locks the table, works out its changes
///     rest = graph.commit(+ table's) --+  locks the graph, ...
///       rest = topic.commit(+ both) ---+
///         rest = the store's commit    |  one record of the log, one SeqNo
///       <------------------------------+  each takes in what was committed, and lets go of its lock
/// ```
///
/// So what a model has in memory fits what is stored at any moment, and nobody sees one part without another.
pub trait CommitPart {
    /// The store that it is of.
    fn store(&self) -> &Store;

    /// Whose locks it takes.
    fn rank(&self) -> LockRank;

    /// The stream that stands for what it changes: no two parts of one rank are of the same.
    fn stream(&self) -> StreamId;

    /// Takes its locks, adds its changes to those `before`, has `rest` commit them, and takes in what was committed. An error of
    /// `rest` is given back, and nothing has changed then, unless the store is poisoned.
    ///
    /// # Errors
    /// Its own, before anything is committed; those of `rest`.
    fn commit(
        &mut self,
        before: Changes,
        rest: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo>;

    /// Tells those who wait for changes such as these. The commit is as durable by now as was asked for, and no lock is held.
    fn announce(&mut self) {}
}
