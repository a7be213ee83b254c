//! Topics of a store that was opened.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use timestrata::topic::{
    Consumer, ConsumerOptions, KeyFile, OwnedRecord, PollLimits, Polled, Record, SendOptions,
    Stamp, Topic, TopicOptions, TopicPartition, TopicRetention,
};
use timestrata::{ErrorKind, Io, Store};

use super::super::{
    ExportedTiles, GroupPlace, RecordsFace, Start, StartPlace, TakeRecord, TopicFace,
};
use super::DURABILITY;
use crate::failure::{Failure, Result};
use crate::secret;

pub(super) struct OpenedTopic {
    store: Store,
    topic: Topic,
}

impl OpenedTopic {
    pub(super) fn new(store: Store, topic: Topic) -> Self {
        Self { store, topic }
    }
}

/// The key that signs, of whoever asks.
fn key_file(key: Option<&Path>) -> Result<KeyFile> {
    let key = key.ok_or_else(|| {
        Failure::usage("which key signs it?", "name its file with --key; 'keygen' makes one")
    })?;
    secret::check(key, "the signing key")?;
    Ok(KeyFile::open(&Io::os(), key)?)
}

impl TopicFace for OpenedTopic {
    fn described(&self) -> Result<Value> {
        let TopicOptions { partitions, record_bytes_max, stamp, retention, compression } =
            self.topic.options();
        let mut list = Vec::new();
        for partition in 0..partitions {
            let offsets = self.topic.offsets(partition)?;
            let (_, root) = self.topic.root(partition, None)?;
            list.push(json!({
                "partition": partition,
                "first": offsets.start,
                "end": offsets.end,
                "root": root.to_string(),
            }));
        }
        Ok(json!({
            "name": self.topic.name(),
            "record_bytes_max": record_bytes_max,
            "timestamp": if stamp == Stamp::Store { "store" } else { "producer" },
            "retention_age_seconds": retention.age_ns.map(|age| age as f64 / 1e9),
            "retention_bytes": retention.bytes,
            "retention_records": retention.records,
            "compact": retention.compact,
            "compression": compression.map(|packed| packed.to_string()),
            "partitions": list,
        }))
    }

    fn partitions(&self) -> Result<u32> {
        Ok(self.topic.partitions())
    }

    fn change(&self, partitions: Option<u32>, retention: Option<TopicRetention>) -> Result<()> {
        if let Some(partitions) = partitions {
            self.topic.set_partitions(partitions)?;
        }
        if let Some(retention) = retention {
            self.topic.set_retention(retention)?;
        }
        Ok(())
    }

    fn retain(&self) -> Result<(u64, u64)> {
        let thrown = self.topic.retain()?;
        Ok((thrown.expired, thrown.superseded))
    }

    fn audit(&self, partition: u32) -> Result<(u64, u64, String)> {
        let audited = self.topic.audit(partition)?;
        Ok((audited.records, audited.size, audited.root.to_string()))
    }

    fn send(&self, records: &[OwnedRecord], partition: Option<u32>) -> Result<()> {
        let records: Vec<Record<'_>> = records.iter().map(OwnedRecord::record).collect();
        let options = SendOptions { partition, durability: DURABILITY, ..SendOptions::default() };
        self.topic.send_batch(&records, &options)?;
        Ok(())
    }

    fn read(&self, start: &Start) -> Result<Box<dyn RecordsFace>> {
        Ok(Box::new(OpenedRecords { consumer: self.consumer(start)? }))
    }

    fn groups(&self) -> Result<Vec<GroupPlace>> {
        let mut found = Vec::new();
        for (group, offsets) in self.topic.groups()? {
            for (partition, committed) in offsets {
                let end = self.topic.offsets(partition)?.end;
                found.push(GroupPlace { group: group.clone(), partition, committed, end });
            }
        }
        Ok(found)
    }

    fn reset_group(&self, group: &str, partition: u32, offset: u64) -> Result<()> {
        Ok(self.topic.reset_group(group, partition, offset)?)
    }

    fn prove(&self, partition: u32, offset: u64, key: Option<&Path>) -> Result<String> {
        let proof = match (self.topic.prove(partition, offset), key) {
            (Err(error), Some(_)) if error.kind() == ErrorKind::OutOfRange => {
                self.topic.checkpoint_by(partition, &key_file(key)?)?;
                self.topic.prove(partition, offset)?
            }
            (proof, _) => proof?,
        };
        Ok(proof.to_string())
    }

    fn checkpoint(&self, partition: u32, key: Option<&Path>) -> Result<String> {
        Ok(self.topic.checkpoint_by(partition, &key_file(key)?)?)
    }

    fn export_tiles(&self, partition: u32, folder: &Path) -> Result<ExportedTiles> {
        let done = self.topic.export_tiles(&Io::os(), partition, folder)?;
        Ok(ExportedTiles { tiles: done.tiles, size: done.size, gone: done.gone })
    }
}

impl OpenedTopic {
    fn consumer(&self, start: &Start) -> Result<Consumer> {
        let group = match start {
            Start::Group(group) => Some(group.clone()),
            _ => None,
        };
        let auto_commit = group.is_some().then_some(Duration::ZERO);
        let options = ConsumerOptions { group, auto_commit, ..ConsumerOptions::default() };
        let mut consumer = Consumer::new(&self.store, options)?;
        match start {
            Start::At(Some(partition), _) => {
                let topic = self.topic.name().to_owned();
                consumer.assign([TopicPartition { topic, partition: *partition }])?;
            }
            // Those that are added while it follows are read too, from their beginning.
            _ => consumer.subscribe([self.topic.name()])?,
        }
        if matches!(start, Start::Group(_) | Start::At(_, StartPlace::Earliest)) {
            return Ok(consumer);
        }
        consumer.refresh()?;
        let places: Vec<TopicPartition> = consumer.assignment().cloned().collect();
        for place in &places {
            let offsets = self.topic.offsets(place.partition)?;
            match start {
                Start::Last(records) => {
                    let first = offsets.end.saturating_sub(*records).max(offsets.start);
                    consumer.seek(place, first)?;
                }
                Start::At(_, StartPlace::Latest) => consumer.seek(place, offsets.end)?,
                // Past the end of a partition, nothing is printed before it has come so far.
                Start::At(_, StartPlace::Offset(offset)) => {
                    consumer.seek_or_wait(place, *offset)?;
                }
                Start::At(_, StartPlace::Time(time)) => {
                    consumer.seek_to_time(place, *time)?;
                }
                Start::Group(_) | Start::At(_, StartPlace::Earliest) => {}
            }
        }
        Ok(consumer)
    }
}

struct OpenedRecords {
    consumer: Consumer,
}

impl RecordsFace for OpenedRecords {
    fn poll(&mut self, timeout: Duration, most: usize, take: TakeRecord<'_>) -> Result<usize> {
        let limits = PollLimits { records: most, ..PollLimits::default() };
        let mut taken = 0;
        for Polled { place, records } in &self.consumer.poll(timeout, limits)? {
            for (offset, record) in records.iter() {
                take(place.partition, offset, &record)?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.consumer.close()?)
    }
}
