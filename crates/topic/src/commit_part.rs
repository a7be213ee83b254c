//! A topic's part, and a consumer's, of a commit that several models make together.

use std::collections::BTreeMap;

use timestrata_engine::{
    Changes, CommitPart, Error, ErrorKind, LockRank, Result, SeqNo, Store, StreamId,
};

use super::hub::Hub;
use super::send::{Placed, Staged};
use super::{Consumer, Receipt, Record, SendOptions, Topic, TopicPartition};

/// The records that a commit over several models appends to a topic.
///
/// ```
/// use timestrata_engine::{Changes, CommitPart, Durability, Settings, Store};
/// use timestrata_topic::{Record, Topic, TopicOptions, TopicWrite};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// let mut write = TopicWrite::new(&events);
/// write.send(Record { value: Some(b"opened"), ..Record::default() });
/// // `timestrata::commit_together` does this for the parts of several models.
/// write.commit(Changes::new(), &mut |changes| store.commit(changes, Durability::Written))?;
/// assert_eq!(write.receipts()[0].offset, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TopicWrite<'a> {
    topic: Topic,
    records: Vec<Record<'a>>,
    expected_offset: Option<u64>,
    producer: Option<(&'a str, u64)>,
    receipts: Vec<Receipt>,
}

impl<'a> TopicWrite<'a> {
    /// Nothing yet.
    #[must_use]
    pub fn new(topic: &Topic) -> Self {
        let (records, receipts) = (Vec::new(), Vec::new());
        Self { topic: topic.clone(), records, expected_offset: None, producer: None, receipts }
    }

    /// Appends a record, behind those before.
    pub fn send(&mut self, record: Record<'a>) {
        self.records.push(record);
    }

    /// The offset that the first record must get; all have to be for one partition then. If it is another one, the commit is a
    /// `Conflict`.
    pub fn expect_offset(&mut self, offset: u64) {
        self.expected_offset = Some(offset);
    }

    /// Who sends them, with the epoch that it [began](Topic::begin_producer) with; all have to be for one partition then. If one of its
    /// name has begun since, the commit is a `Conflict`.
    pub fn by_producer(&mut self, producer: &'a str, epoch: u64) {
        self.producer = Some((producer, epoch));
    }

    /// Where the records are once they are committed, in their order.
    #[must_use]
    pub fn receipts(&self) -> &[Receipt] {
        &self.receipts
    }

    /// The same, without a copy.
    #[must_use]
    pub fn into_receipts(self) -> Vec<Receipt> {
        self.receipts
    }
}

impl CommitPart for TopicWrite<'_> {
    fn store(&self) -> &Store {
        self.topic.store()
    }

    fn rank(&self) -> LockRank {
        LockRank::Topic
    }

    fn stream(&self) -> StreamId {
        self.topic.shared.id
    }

    fn commit(
        &mut self,
        before: Changes,
        rest: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        if self.records.is_empty() {
            return rest(before);
        }
        let options = SendOptions {
            expected_offset: self.expected_offset,
            sequence: self.producer.map(|(id, _)| (id, None)),
            epoch: self.producer.map(|(_, epoch)| epoch),
            ..SendOptions::default()
        };
        if let ([record], None) = (self.records.as_slice(), self.producer) {
            let (seq, receipt) = self.topic.commit_record(record, &options, before, rest)?;
            self.receipts = vec![receipt];
            return Ok(seq);
        }
        let (seq, mut placed): (SeqNo, Placed) =
            match self.topic.commit_records(&self.records, &options, before, rest)? {
                Staged::New(sent) => sent,
                // Only a producer that says their numbers repeats records, and this is none.
                Staged::Repeated(_) => {
                    let what =
                        format!("topic '{}': the records were sent before", self.topic.name());
                    return Err(Error::new(ErrorKind::Conflict, what));
                }
            };
        placed.sort_unstable_by_key(|(place, _)| *place);
        self.receipts = placed.into_iter().map(|(_, receipt)| receipt).collect();
        Ok(seq)
    }

    fn announce(&mut self) {
        self.topic.store().model_state::<Hub>().announce();
    }
}

/// How far a consumer has read, which a commit over several models commits: what it makes of records and that they have been
/// read are both there or none, so nothing is done twice.
///
/// ```
/// # use std::time::Duration;
/// use timestrata_engine::{Changes, CommitPart, Durability, Settings, Store};
/// use timestrata_topic::{
///     Consumer, ConsumerOptions, OffsetsWrite, PollLimits, Record, SendOptions, Topic, TopicOptions,
/// };
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// let opened = Record { value: Some(b"opened"), ..Record::default() };
/// events.send(&opened, &SendOptions::default())?;
/// let options = ConsumerOptions { group: Some("billing".into()), ..ConsumerOptions::default() };
/// let mut consumer = Consumer::new(&store, options)?;
/// consumer.subscribe(["events"])?;
/// consumer.poll(Duration::ZERO, PollLimits::default())?;
/// let mut write = OffsetsWrite::new(&mut consumer);
/// // `timestrata::commit_together` does this for the parts of several models.
/// write.commit(Changes::new(), &mut |changes| store.commit(changes, Durability::Written))?;
/// assert_eq!(events.committed("billing", 0)?, Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OffsetsWrite<'a> {
    consumer: &'a mut Consumer,
    offsets: BTreeMap<TopicPartition, u64>,
}

impl<'a> OffsetsWrite<'a> {
    /// How far it has read each partition by now.
    #[must_use]
    pub fn new(consumer: &'a mut Consumer) -> Self {
        let offsets = consumer.uncommitted();
        Self { consumer, offsets }
    }

    /// How far it has read by the word of the caller, who may have read ahead: of each partition the offset that comes next.
    #[must_use]
    pub fn up_to(consumer: &'a mut Consumer, offsets: BTreeMap<TopicPartition, u64>) -> Self {
        Self { consumer, offsets }
    }
}

impl CommitPart for OffsetsWrite<'_> {
    fn store(&self) -> &Store {
        self.consumer.store()
    }

    fn rank(&self) -> LockRank {
        LockRank::Offsets
    }

    /// All offsets have one lock.
    fn stream(&self) -> StreamId {
        StreamId(0)
    }

    fn commit(
        &mut self,
        before: Changes,
        rest: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        self.consumer.commit_offsets_by(&self.offsets, before, rest)
    }
}
