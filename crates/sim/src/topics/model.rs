//! The reference model of topics: lists of records, and a naive tree of each.

use std::collections::BTreeMap;

use timestrata_merkle::{Hash, Tree};
use timestrata_topic::{Record, RecordPlace, write_envelope};

use crate::story::Model;

/// A partition of one of the topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The only one of a topic that has all that topics have.
    Log,
    /// The first of a topic of two.
    Left,
    /// The second.
    Right,
}

impl Part {
    pub(super) const ALL: [Self; 3] = [Self::Log, Self::Left, Self::Right];

    /// Topic and partition.
    pub(super) fn place(self) -> (&'static str, u32) {
        match self {
            Self::Log => ("log", 0),
            Self::Left => ("pair", 0),
            Self::Right => ("pair", 1),
        }
    }
}

/// A record, with nothing that isn't needed to tell it from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicRecord {
    pub(super) key: Option<&'static str>,
    pub(super) value: String,
    pub(super) time: i64,
}

impl TopicRecord {
    pub(super) fn record(&self) -> Record<'_> {
        Record {
            key: self.key.map(str::as_bytes),
            value: Some(self.value.as_bytes()),
            headers: Vec::new(),
            timestamp_ns: Some(self.time),
            partition: None,
        }
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicChange {
    /// Records at the end of a partition.
    Sent(Part, Vec<TopicRecord>),
    /// As many more of the idempotent producer's.
    Sequence(u64),
    /// A checkpoint of what the partition is.
    Checkpoint(Part),
    /// The group goes on here.
    Group(Part, u64),
    /// A row beside.
    Beside(i64),
    /// Records below this offset are gone.
    Floor(Part, u64),
    /// Of the records below this offset, those are gone that have a later one of their key there.
    Superseded(Part, u64),
}

/// What a partition has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PartModel {
    /// Those that are kept, by offset.
    pub(super) records: BTreeMap<u64, TopicRecord>,
    pub(super) floor: u64,
    /// Of all that ever were.
    leaves: Vec<Hash>,
    /// Sizes and roots that were signed.
    pub(super) signed: Vec<(u64, Hash)>,
    pub(super) group: Option<u64>,
}

/// Topics after some number of commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicsModel {
    pub(super) parts: BTreeMap<Part, PartModel>,
    pub(super) sequence: u64,
    pub(super) beside: Vec<i64>,
}

impl PartModel {
    pub(super) fn end(&self) -> u64 {
        self.leaves.len() as u64
    }

    /// The tree of its first records.
    pub(super) fn root(&self, size: u64) -> Hash {
        let mut tree = Tree::new();
        self.leaves.iter().take(size as usize).for_each(|leaf| tree.append(*leaf));
        tree.root()
    }

    pub(super) fn leaf(&self, offset: u64) -> Option<Hash> {
        self.leaves.get(offset as usize).copied()
    }

    fn send(&mut self, part: Part, record: &TopicRecord) {
        let (topic, partition) = part.place();
        let (offset, timestamp_ns) = (self.end(), record.time);
        let mut entry = Vec::new();
        let place = RecordPlace { topic, partition, offset, timestamp_ns };
        // The topics' names are short: it can't fail.
        let _ = write_envelope(&place, &record.record(), &mut entry);
        self.leaves.push(Hash::of_leaf(&entry));
        self.records.insert(offset, record.clone());
    }
}

impl TopicsModel {
    pub(super) fn part(&self, part: Part) -> PartModel {
        self.parts.get(&part).cloned().unwrap_or_default()
    }
}

impl Model for TopicsModel {
    type Change = TopicChange;

    fn apply(&mut self, change: &TopicChange) {
        match change {
            TopicChange::Sent(part, records) => {
                let of = self.parts.entry(*part).or_default();
                records.iter().for_each(|record| of.send(*part, record));
            }
            TopicChange::Sequence(count) => self.sequence += count,
            TopicChange::Checkpoint(part) => {
                let of = self.parts.entry(*part).or_default();
                of.signed.push((of.end(), of.root(of.end())));
            }
            TopicChange::Group(part, offset) => {
                self.parts.entry(*part).or_default().group = Some(*offset);
            }
            TopicChange::Beside(row) => self.beside.push(*row),
            TopicChange::Floor(part, floor) => {
                let of = self.parts.entry(*part).or_default();
                of.floor = *floor;
                of.records.retain(|offset, _| offset >= floor);
            }
            TopicChange::Superseded(part, end) => {
                let of = self.parts.entry(*part).or_default();
                let below = || of.records.range(..end).rev();
                let mut last = BTreeMap::new();
                for (offset, record) in below() {
                    record.key.map(|key| *last.entry(key).or_insert(*offset));
                }
                of.records.retain(|offset, record| {
                    let known = record.key.and_then(|key| last.get(key));
                    offset >= end || known.is_none_or(|last| last == offset)
                });
            }
        }
    }
}
