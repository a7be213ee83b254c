//! What a consumer has read, given, and not given yet.

use std::collections::{BTreeMap, VecDeque};

use pyo3::prelude::*;
use timestrata_engine::ErrorKind;
use timestrata_topic::{Consumer as ConsumerModel, Polled, TopicPartition};

use super::Record;
use crate::error::refused;

#[derive(Debug)]
pub(crate) struct ConsumerState {
    /// None once closed.
    pub(super) consumer: Option<ConsumerModel>,
    /// What iterating has read and not given yet, and the next row of the first.
    pub(super) ahead: VecDeque<Polled>,
    pub(super) row: usize,
    /// What the last call gave, by its first offsets: done once the next one is asked for.
    pub(super) undone: BTreeMap<TopicPartition, u64>,
    /// While a commit over several models is made of the records up to one: only these are done.
    pub(super) only: Option<BTreeMap<TopicPartition, u64>>,
}

impl ConsumerState {
    pub(crate) fn open(&mut self) -> PyResult<&mut ConsumerModel> {
        self.consumer
            .as_mut()
            .ok_or_else(|| refused(ErrorKind::Closed, "the consumer has been closed"))
    }

    /// The next record of those that were read.
    pub(super) fn take(&mut self, py: Python<'_>) -> Option<Record> {
        loop {
            let polled = self.ahead.front()?;
            if let Some((offset, record)) = polled.records.get(self.row) {
                self.row += 1;
                let place = &polled.place;
                self.undone = BTreeMap::from([(place.clone(), offset)]);
                return Some(Record::read(py, &place.topic, place.partition, offset, &record));
            }
            self.ahead.pop_front();
            self.row = 0;
        }
    }

    /// The next offset of each partition of which something was given since it was committed last.
    pub(crate) fn given_so_far(&mut self) -> PyResult<BTreeMap<TopicPartition, u64>> {
        if let Some(only) = &self.only {
            return Ok(only.clone());
        }
        let mut offsets = self.given();
        for (place, offset) in self.open()?.uncommitted() {
            offsets.entry(place).or_insert(offset);
        }
        Ok(offsets)
    }

    pub(super) fn given(&self) -> BTreeMap<TopicPartition, u64> {
        let mut given = BTreeMap::new();
        for (index, polled) in self.ahead.iter().enumerate() {
            let row = if index == 0 { self.row } else { 0 };
            if let Some((offset, _)) = polled.records.get(row) {
                given.entry(polled.place.clone()).or_insert(offset);
            }
        }
        given
    }

    /// Goes back to before what was read and not given.
    pub(super) fn put_back(&mut self) -> PyResult<()> {
        let given = self.given();
        self.ahead.clear();
        self.row = 0;
        let consumer = self.open()?;
        for (place, offset) in given {
            // One that is another member's meanwhile has no position here.
            let _ = consumer.seek(&place, offset);
        }
        Ok(())
    }
}
