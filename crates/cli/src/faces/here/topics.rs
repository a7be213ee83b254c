//! Topics of a store that was opened.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use timestrata::merkle::{AddCheckpoint, Witness};
use timestrata::topic::{
    Consumer, ConsumerOptions, GroupStart, KeyFile, OwnedRecord, PartitionCheckpoint, PollLimits,
    Polled, Record, SendOptions, Stamp, Topic, TopicOptions, TopicPartition, TopicRetention,
    text_of_hashes,
};
use timestrata::{ErrorKind, Io, Store};

use super::super::{
    ExportedTiles, GroupPlace, RecordsFace, RetentionChange, Start, StartPlace, TakeRecord,
    TopicFace,
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
        let TopicOptions {
            partitions,
            record_bytes_max,
            stamp,
            retention,
            compression,
            keep_entries,
        } = self.topic.options();
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
            "retention_groups_age_seconds": retention.groups_age_ns.map(|age| age as f64 / 1e9),
            "compression": compression.unwrap_or_default().to_string(),
            "keep_entries": keep_entries,
            "partitions": list,
        }))
    }

    fn partitions(&self) -> Result<u32> {
        Ok(self.topic.partitions())
    }

    fn change(&self, partitions: Option<u32>, retention: &RetentionChange) -> Result<()> {
        if let Some(partitions) = partitions {
            self.topic.set_partitions(partitions)?;
        }
        let before = self.topic.options().retention;
        let kept = if retention.keep_all { TopicRetention::default() } else { before };
        let TopicRetention { age_ns, bytes, records, compact, groups_age_ns } = retention.named;
        let wanted = TopicRetention {
            age_ns: age_ns.or(kept.age_ns),
            bytes: bytes.or(kept.bytes),
            records: records.or(kept.records),
            compact: compact || kept.compact,
            groups_age_ns: groups_age_ns.or(kept.groups_age_ns),
        };
        if wanted != before {
            self.topic.set_retention(wanted)?;
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
                found.push(GroupPlace {
                    group: group.clone(),
                    partition: Some(partition),
                    committed: Some(committed),
                    end: Some(self.topic.offsets(partition)?.end),
                    // Whoever opens a store for one command has no members in it.
                    member: None,
                });
            }
        }
        Ok(found)
    }

    fn reset_group(&self, group: &str, partition: u32, to: GroupStart) -> Result<u64> {
        Ok(self.topic.reset_group_to(group, partition, to)?)
    }

    fn delete_group(&self, group: &str) -> Result<u64> {
        Ok(self.topic.delete_group(group)? as u64)
    }

    fn offsets_at(&self, place: StartPlace) -> Result<BTreeMap<u32, u64>> {
        let of = |partition| {
            let offsets = self.topic.offsets(partition)?;
            let offset = match place {
                StartPlace::Earliest => offsets.start,
                StartPlace::Latest => offsets.end,
                StartPlace::Offset(offset) => offset,
                StartPlace::Last(records) => offsets.end.saturating_sub(records).max(offsets.start),
                StartPlace::Time(time) => {
                    self.topic.offset_at_time(partition, time)?.unwrap_or(offsets.end)
                }
            };
            Ok((partition, offset))
        };
        (0..self.topic.partitions()).map(of).collect()
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

    fn checkpoint_all(&self, key: Option<&Path>) -> Result<Vec<PartitionCheckpoint>> {
        Ok(self.topic.checkpoint_all(&key_file(key)?)?)
    }

    fn cosignature_request(&self, partition: u32, old: u64) -> Result<AddCheckpoint> {
        Ok(self.topic.cosignature_request(partition, old)?)
    }

    fn add_cosignatures(
        &self,
        partition: u32,
        asked: &AddCheckpoint,
        answer: &str,
        witnesses: &[Witness],
        key: Option<&Path>,
    ) -> Result<Vec<String>> {
        let key = key.map(|key| key_file(Some(key))).transpose()?;
        let seen =
            self.topic.add_cosignatures(partition, asked, answer, witnesses, key.as_ref())?;
        Ok(seen.iter().map(ToString::to_string).collect())
    }

    fn has_checkpoint(&self, partition: u32) -> Result<bool> {
        Ok(self.topic.last_checkpoint(partition)?.is_some())
    }

    fn consistency(&self, partition: u32, old: u64, new: Option<u64>) -> Result<String> {
        let (new, _) = self.topic.root(partition, new)?;
        Ok(text_of_hashes(&self.topic.consistency_proof(partition, old, new)?))
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
        let Start::At(_, start) = start else { return Ok(consumer) };
        let offsets = self.offsets_at(*start)?;
        let places: Vec<TopicPartition> = consumer.assignment().cloned().collect();
        for place in &places {
            let Some(offset) = offsets.get(&place.partition) else { continue };
            match start {
                // Past the end of a partition, nothing is printed before it has come so far.
                StartPlace::Offset(_) => consumer.seek_or_wait(place, *offset)?,
                _ => consumer.seek(place, *offset)?,
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
