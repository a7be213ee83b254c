//! A topic of ours in a store of its own.

use std::path::Path;

use timestrata_bench::{Result, settle};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_topic::{Record, Records, SendOptions, Topic, TopicOptions};

use crate::data::{Maker, Seen};
use crate::expect_count;

/// Name of the topic.
pub(crate) const TOPIC: &str = "events";
/// Records of a batch.
pub(crate) const BATCH: usize = 1_000;

/// Sends that survive the process, not a power cut.
pub(crate) const WRITTEN: SendOptions<'static> = SendOptions {
    partition: None,
    durability: Durability::Written,
    expected_offset: None,
    sequence: None,
    sequences: &[],
    epoch: None,
};

/// An open store and its topic.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) store: Store,
    pub(crate) topic: Topic,
}

impl Ours {
    /// Opens the topic, or makes it.
    pub(crate) fn open(dir: &Path, partitions: u32) -> Result<Self> {
        let store = Store::open(dir, Settings::default())?;
        let options = TopicOptions { partitions, ..TopicOptions::default() };
        let topic = Topic::create(&store, TOPIC, &options)?;
        Ok(Self { store, topic })
    }

    /// A store with so many records in one partition, on which no maintenance is due.
    pub(crate) fn filled(dir: &Path, maker: &mut Maker, records: u64) -> Result<Self> {
        let ours = Self::open(dir, 1)?;
        ours.fill(maker, records, &WRITTEN)?;
        settle(&ours.store)?;
        ours.store.sync()?;
        Ok(ours)
    }

    pub(crate) fn fill(
        &self,
        maker: &mut Maker,
        records: u64,
        options: &SendOptions<'_>,
    ) -> Result<()> {
        let mut left = usize::try_from(records)?;
        while left > 0 {
            let batch = maker.batch(left.min(BATCH));
            left -= self.topic.send_batch(&batch.records(), options)?.len();
        }
        Ok(())
    }

    /// Reads records in order, each as a record.
    pub(crate) fn scan(&self, partition: u32, from: u64, to: u64) -> Result<Seen> {
        let mut seen = Seen::default();
        for batch in self.topic.scan(partition, from..to, None)? {
            see(&Records::of(&batch?)?, &mut seen);
        }
        Ok(seen)
    }

    /// Sends one record.
    pub(crate) fn send(&self, record: &Record<'_>) -> Result<()> {
        self.topic.send(record, &SendOptions::default())?;
        Ok(())
    }

    /// Reads one record.
    pub(crate) fn get(&self, offset: u64) -> Result<Seen> {
        let mut seen = Seen::default();
        let found = self.topic.get(0, offset)?;
        see(&found.ok_or("a record is missing")?, &mut seen);
        expect_count("one offset", seen.records, 1)?;
        Ok(seen)
    }

    pub(crate) fn close(self) -> Result<()> {
        Ok(self.store.close()?)
    }
}

/// Takes in read records.
pub(crate) fn see(records: &Records, seen: &mut Seen) {
    records.iter().for_each(|(offset, record)| {
        seen.record(offset, record.value.unwrap_or_default());
    });
}
