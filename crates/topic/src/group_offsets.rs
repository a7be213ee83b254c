//! Committed offsets of consumer groups, from a topic's point of view.

use std::collections::BTreeMap;

use timestrata_engine::Result;
use timestrata_values::name;

use super::Topic;
use super::group::TopicPartition;
use super::hub::Hub;
use super::state::{self, StateKind};

impl Topic {
    /// Where a group goes on in a partition; `None` if it has committed nothing there.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn committed(&self, group: &str, partition: u32) -> Result<Option<u64>> {
        let snapshot = self.store.snapshot_of(self.shared.id)?;
        let row = state::find(&snapshot, self.shared.id, StateKind::Group, group, partition)?;
        Ok(row.map(|row| row.offset))
    }

    /// All groups that have committed offsets, with where each goes on in which partition.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn groups(&self) -> Result<BTreeMap<String, BTreeMap<u32, u64>>> {
        let snapshot = self.store.snapshot_of(self.shared.id)?;
        let mut groups: BTreeMap<String, BTreeMap<u32, u64>> = BTreeMap::new();
        for (group, partition) in state::names(&snapshot, self.shared.id, StateKind::Group)? {
            if let Some(offset) = self.committed(&group, partition)? {
                groups.entry(group).or_default().insert(partition, offset);
            }
        }
        Ok(groups)
    }

    /// Members that a group has now, and the partitions of all topics that each reads.
    #[must_use]
    pub fn members(&self, group: &str) -> BTreeMap<String, Vec<TopicPartition>> {
        self.store.model_state::<Hub>().groups.members(group)
    }

    /// Puts a group's offset where the caller says, which may be back.
    ///
    /// # Errors
    /// `InvalidArgument` for a group's name that can't be, or a partition that isn't there.
    pub fn reset_group(&self, group: &str, partition: u32, offset: u64) -> Result<()> {
        name::check("group", group)?;
        let place = TopicPartition { topic: self.name().to_owned(), partition };
        self.store.model_state::<Hub>().reset_offset(&self.store, group, &place, offset)
    }
}
