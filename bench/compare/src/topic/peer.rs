//! The peer: merkql as its documentation begins, called as its own benchmarks call it.

use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use merkql::broker::{Broker, BrokerConfig, BrokerRef};
use merkql::consumer::{ConsumerConfig, OffsetReset};
use merkql::partition::Partition;
use merkql::producer::Producer;
use merkql::record::{ProducerRecord, Record};
use timestrata_bench::Result;

use crate::data::{Maker, Seen};
use crate::expect_count;

/// Its name.
pub(crate) const NAME: &str = "merkql";
pub(crate) const TOPIC: &str = "events";
/// Records that one sync is for while it is filled: its calls sync each record otherwise.
const FILL: usize = 20_000;
const POISONED: &str = "its lock is poisoned";

/// An open broker with one topic of one partition.
pub(crate) struct Peer {
    broker: BrokerRef,
    producer: Producer,
}

impl Peer {
    /// Opens the topic, or makes it.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let broker = Broker::open(BrokerConfig::new(dir))?;
        broker.create_topic(TOPIC, 1)?;
        let producer = Broker::producer(&broker);
        Ok(Self { broker, producer })
    }

    /// Opens a topic that is there, ready to be read.
    pub(crate) fn reopen(dir: &Path) -> Result<(Self, u64)> {
        let broker = Broker::open(BrokerConfig::new(dir))?;
        let producer = Broker::producer(&broker);
        let peer = Self { broker, producer };
        let end = peer.with(|partition| Ok(partition.next_offset()))?;
        Ok((peer, end))
    }

    /// A broker with so many records.
    pub(crate) fn filled(dir: &Path, maker: &mut Maker, records: u64) -> Result<Self> {
        let peer = Self::open(dir)?;
        let mut left = usize::try_from(records)?;
        if left == 0 {
            return Ok(peer);
        }
        // The call for batches wants records with all that a sent one has.
        let first = peer.producer.send(&ProducerRecord::new(TOPIC, None, maker.text()))?;
        left -= 1;
        while left > 0 {
            let texts = maker.texts(left.min(FILL));
            let record = |value| Record { value, ..first.clone() };
            let mut records: Vec<Record> = texts.into_iter().map(record).collect();
            let partition = peer.partition()?;
            let mut partition = partition.write().map_err(|_| POISONED)?;
            left -= partition.append_batch(&mut records)?.len();
        }
        Ok(peer)
    }

    fn partition(&self) -> Result<Arc<RwLock<Partition>>> {
        let topic = self.broker.topic(TOPIC).ok_or("the topic is missing")?;
        Ok(topic.partition(0).ok_or("the partition is missing")?)
    }

    fn with<T>(&self, work: impl FnOnce(&Partition) -> Result<T>) -> Result<T> {
        let partition = self.partition()?;
        let partition = partition.read().map_err(|_| POISONED)?;
        work(&partition)
    }

    /// A record that is to be sent.
    pub(crate) fn record(maker: &mut Maker) -> ProducerRecord {
        ProducerRecord::new(TOPIC, None, maker.text())
    }

    /// Sends one record; synced, as all of its sends are.
    pub(crate) fn send(&self, record: &ProducerRecord) -> Result<()> {
        self.producer.send(record)?;
        Ok(())
    }

    /// Reads all records in order, as a consumer.
    pub(crate) fn poll(&self) -> Result<Seen> {
        let config = ConsumerConfig {
            group_id: "all".to_owned(),
            auto_commit: false,
            offset_reset: OffsetReset::Earliest,
        };
        let mut consumer = Broker::consumer(&self.broker, config);
        consumer.subscribe(&[TOPIC])?;
        let mut seen = Seen::default();
        let records = consumer.poll(Duration::ZERO)?;
        records.iter().for_each(|record| seen.record(record.offset, record.value.as_bytes()));
        Ok(seen)
    }

    /// Reads a range in order.
    pub(crate) fn range(&self, from: u64, to: u64) -> Result<Seen> {
        let mut seen = Seen::default();
        let records = self.with(|partition| Ok(partition.read_range(from, to)?))?;
        records.iter().for_each(|record| seen.record(record.offset, record.value.as_bytes()));
        Ok(seen)
    }

    /// Reads one record.
    pub(crate) fn get(&self, offset: u64) -> Result<Seen> {
        let mut seen = Seen::default();
        let record = self.with(|partition| Ok(partition.read(offset)?))?;
        let record = record.ok_or("a record is missing")?;
        seen.record(record.offset, record.value.as_bytes());
        expect_count("one offset", seen.records, 1)?;
        Ok(seen)
    }

    /// Makes the proof of a record.
    pub(crate) fn prove(&self, offset: u64) -> Result<merkql::tree::Proof> {
        self.with(|partition| Ok(partition.proof(offset)?.ok_or("there is no proof")?))
    }

    /// Whether it takes a proof for true.
    pub(crate) fn verify(&self, proof: &merkql::tree::Proof) -> Result<bool> {
        self.with(|partition| Ok(partition.verify_proof(proof)?))
    }
}
