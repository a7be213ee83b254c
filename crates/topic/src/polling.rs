//! How to consume, and what a poll is given and gives.

use std::sync::Arc;
use std::time::Duration;

use super::group::{Assignor, TopicPartition};
use super::hub::Hub;
use super::record::Records;

/// Where to begin without a committed offset, or where that is not kept any more.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use std::time::Duration;
///
/// use timestrata_topic::{Consumer, ConsumerOptions, PollLimits, Reset};
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// let options = ConsumerOptions { reset: Reset::Latest, ..ConsumerOptions::default() };
/// let mut from_now_on = Consumer::new(&store, options)?;
/// from_now_on.subscribe(["events"])?;
/// assert!(from_now_on.poll(Duration::ZERO, PollLimits::default())?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reset {
    /// With the first record that is kept.
    Earliest,
    /// With what is appended from now on.
    Latest,
    /// Not at all: `OutOfRange`.
    #[default]
    Error,
}

/// How to consume.
///
/// ```
/// use std::time::Duration;
///
/// use timestrata_topic::{ConsumerOptions, Reset};
///
/// // A member of a group that commits once a second what it was given.
/// let options = ConsumerOptions {
///     group: Some("alarms".into()),
///     reset: Reset::Latest,
///     auto_commit: Some(Duration::from_secs(1)),
///     ..ConsumerOptions::default()
/// };
/// assert!(options.member.is_none());
/// ```
#[derive(Debug, Clone)]
pub struct ConsumerOptions {
    /// The group whose members share partitions and committed offsets; `None`: alone, nothing is
    /// committed.
    pub group: Option<String>,
    /// The member's name in the group; `None`: one that no other member has.
    pub member: Option<String>,
    /// Where to begin without a committed offset.
    pub reset: Reset,
    /// How the group shares partitions.
    pub strategy: Assignor,
    /// After how long without a poll or a heartbeat the member is taken for dead.
    pub session: Duration,
    /// After how long without a poll it is taken for dead, though its heart beats: who hangs must not keep its
    /// partitions.
    pub poll_interval_max: Duration,
    /// Whether polls tell of partitions that come and go ([`Consumer::take_changes`](super::Consumer::take_changes)): a poll
    /// that learns of some gives no records, and the next one acts on it. So whoever commits by hand can, before a
    /// partition is another member's.
    pub tells_changes: bool,
    /// How often what polls gave is committed by the next poll; `None`: only when asked.
    pub auto_commit: Option<Duration>,
}

impl Default for ConsumerOptions {
    fn default() -> Self {
        Self {
            group: None,
            member: None,
            reset: Reset::Earliest,
            strategy: Assignor::default(),
            session: Duration::from_secs(30),
            poll_interval_max: Duration::from_secs(300),
            tells_changes: false,
            auto_commit: None,
        }
    }
}

/// What a poll that found nothing waits for. Given by [`Consumer::try_poll`](super::Consumer::try_poll).
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use std::time::Duration;
///
/// use timestrata_topic::{Consumer, ConsumerOptions, PollLimits};
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// let mut reader = Consumer::new(&store, ConsumerOptions::default())?;
/// reader.subscribe(["events"])?;
/// let (found, waiting) = reader.try_poll(PollLimits::default())?;
/// assert!(found.is_empty());
/// waiting.wait(Duration::from_millis(1)); // or until something is sent
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Waiting {
    pub(super) hub: Arc<Hub>,
    pub(super) seen: u64,
    pub(super) most: Duration,
}

impl Waiting {
    /// Waits until a poll may find something, `most` at most.
    pub fn wait(&self, most: Duration) {
        self.hub.wait(self.seen, most.min(self.most));
    }
}

/// Consecutive records of one partition.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use std::time::Duration;
///
/// use timestrata_topic::{Consumer, ConsumerOptions, PollLimits};
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// let mut reader = Consumer::new(&store, ConsumerOptions::default())?;
/// reader.subscribe(["events"])?;
/// for polled in reader.poll(Duration::ZERO, PollLimits::default())? {
///     assert_eq!((polled.place.topic.as_str(), polled.records.len()), ("events", 1));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Polled {
    /// Where they are.
    pub place: TopicPartition,
    /// The records, at least one.
    pub records: Records,
}

/// How much a poll may give.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use std::time::Duration;
///
/// use timestrata_topic::{Consumer, ConsumerOptions, PollLimits};
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// # events.send(&opened, &SendOptions::default())?;
/// let mut reader = Consumer::new(&store, ConsumerOptions::default())?;
/// reader.subscribe(["events"])?;
/// let one = PollLimits { records: 1, ..PollLimits::default() };
/// assert_eq!(reader.poll(Duration::ZERO, one)?[0].records.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PollLimits {
    /// Records at most.
    pub records: usize,
    /// Bytes of keys, values and headers at most; one record always fits.
    pub bytes: u64,
}

impl Default for PollLimits {
    fn default() -> Self {
        Self { records: 500, bytes: 50 << 20 }
    }
}
