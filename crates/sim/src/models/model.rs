//! What is in a table, a log, a topic, a graph and a time log after some number of commits.

use std::collections::BTreeSet;

use crate::story::Model;

/// One change, part of a commit over several models. Each thing has a number, which tells its time too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelsChange {
    /// A row of the table.
    Row(i64),
    /// An entry of the log.
    Entry(i64),
    /// A record of the topic.
    Record(i64),
    /// A block with an edge to itself.
    Block(i64),
    /// A value of the time log.
    Value(i64),
    /// What is older than this goes from the table and the time log, and the block of the number before it goes.
    Older(i64),
    /// A group has read all records of the topic.
    Read,
}

/// A store after some number of commits: the numbers that each of its models has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelsModel {
    pub(super) rows: BTreeSet<i64>,
    pub(super) entries: Vec<i64>,
    pub(super) records: Vec<i64>,
    pub(super) blocks: BTreeSet<i64>,
    pub(super) values: BTreeSet<i64>,
    /// The offset that a group reads next.
    pub(super) read_to: Option<u64>,
}

impl Model for ModelsModel {
    type Change = ModelsChange;

    fn apply(&mut self, change: &ModelsChange) {
        match change {
            ModelsChange::Row(number) => drop(self.rows.insert(*number)),
            ModelsChange::Entry(number) => self.entries.push(*number),
            ModelsChange::Record(number) => self.records.push(*number),
            ModelsChange::Block(number) => drop(self.blocks.insert(*number)),
            ModelsChange::Value(number) => drop(self.values.insert(*number)),
            ModelsChange::Older(than) => {
                self.rows.retain(|number| number >= than);
                self.values.retain(|number| number >= than);
                self.blocks.remove(&(than - 1));
            }
            ModelsChange::Read => self.read_to = Some(self.records.len() as u64),
        }
    }
}
