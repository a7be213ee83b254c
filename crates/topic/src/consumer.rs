//! Consumers: they read on in several partitions from where they stopped, alone or as members of a group.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result, SeqNo, Store, StreamId};

use super::Topic;
use super::group::{self, TopicPartition};
use super::hub::Hub;
use super::membership::AssignmentChanges;
use super::polling::{ConsumerOptions, PollLimits, Polled, Reset, Waiting};
use super::record::Records;

/// What topics a consumer reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Subscription {
    #[default]
    Nothing,
    /// Names, or beginnings of names with a star behind; partitions by the group, or all.
    Subscribed(BTreeSet<String>),
    /// These partitions, whoever else reads them.
    Assigned(BTreeSet<TopicPartition>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadPosition {
    /// The topic that it is in: another one may get its name.
    pub(super) topic: StreamId,
    pub(super) next: u64,
    /// Whether the next offset may be one that is to come yet.
    pub(super) may_wait: bool,
    /// The offset that is committed.
    pub(super) committed: Option<u64>,
    pub(super) is_paused: bool,
}

/// Reads partitions of topics in order of their offsets, and remembers how far.
///
/// A member of a group that isn't polled for its session's time is taken for dead; its next poll joins
/// again. What polls gave is taken as done by the next poll: with `auto_commit`, and before a partition
/// goes to another member, its offset is committed then.
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
/// let options = ConsumerOptions { group: Some("alarms".into()), ..Default::default() };
/// let mut alarms = Consumer::new(&store, options)?;
/// alarms.subscribe(["events"])?;
/// assert_eq!(alarms.poll(Duration::ZERO, PollLimits::default())?.len(), 1);
/// alarms.commit()?;
/// assert_eq!(events.committed("alarms", 0)?, Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Consumer {
    pub(super) store: Store,
    pub(super) options: ConsumerOptions,
    pub(super) member: String,
    pub(super) source: Subscription,
    pub(super) is_member: bool,
    /// Partitions that others wait for, and of which whoever polls has been told.
    pub(super) revoking: BTreeSet<TopicPartition>,
    /// What whoever polls has not been told yet.
    pub(super) changes: AssignmentChanges,
    pub(super) positions: BTreeMap<TopicPartition, ReadPosition>,
    /// Whose turn it is to be read first.
    turn: usize,
    committed_at_ns: u64,
}

impl Consumer {
    /// A consumer that reads nothing yet.
    ///
    /// # Errors
    /// `InvalidArgument` for a group's name that can't be.
    pub fn new(store: &Store, options: ConsumerOptions) -> Result<Self> {
        if let Some(group) = &options.group {
            timestrata_values::name::check("group", group)?;
        }
        let hub = store.model_state::<Hub>();
        let member = options.member.clone().unwrap_or_else(|| hub.new_member());
        Ok(Self {
            store: store.clone(),
            options,
            member,
            source: Subscription::Nothing,
            is_member: false,
            revoking: BTreeSet::new(),
            changes: AssignmentChanges::default(),
            positions: BTreeMap::new(),
            turn: 0,
            committed_at_ns: store.monotonic_ns(),
        })
    }

    /// The member's name in its group.
    #[must_use]
    pub fn member(&self) -> &str {
        &self.member
    }

    /// The group that it is to be a member of.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.options.group.as_deref()
    }

    /// Reads these topics from now on, those that will be made too: names, or beginnings of names with
    /// a star behind. In a group its members share the partitions.
    ///
    /// # Errors
    /// As [`Consumer::commit`], of what was read before.
    pub fn subscribe<'a>(&mut self, topics: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let topics = topics.into_iter().map(str::to_owned).collect();
        if !matches!(self.source, Subscription::Subscribed(_)) {
            self.positions.clear();
        }
        self.source = Subscription::Subscribed(topics);
        Ok(())
    }

    /// Reads these partitions from now on, whoever else reads them.
    ///
    /// # Errors
    /// `NotFound` and `InvalidArgument` for partitions that aren't there.
    pub fn assign(&mut self, partitions: impl IntoIterator<Item = TopicPartition>) -> Result<()> {
        let partitions: BTreeSet<_> = partitions.into_iter().collect();
        for place in &partitions {
            self.topic(place)?.partition(place.partition)?;
        }
        self.leave();
        self.positions.retain(|place, _| partitions.contains(place));
        self.source = Subscription::Assigned(partitions);
        Ok(())
    }

    /// The partitions that are read now.
    pub fn assignment(&self) -> impl Iterator<Item = &TopicPartition> {
        self.positions.keys()
    }

    pub(super) fn topic(&self, place: &TopicPartition) -> Result<Topic> {
        Topic::open(&self.store, &place.topic)
    }

    /// Gives what there is, or waits for it, `timeout` at most; nothing then.
    ///
    /// # Errors
    /// `OutOfRange` where records that come next are not kept any more and the options say so;
    /// `Corruption` for records that can't be read, with their offsets: [`Consumer::skip`] goes on
    /// behind them.
    pub fn poll(&mut self, timeout: Duration, limits: PollLimits) -> Result<Vec<Polled>> {
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let end = self.store.monotonic_ns().saturating_add(timeout_ns);
        loop {
            let (found, waiting) = self.try_poll(limits)?;
            let now = self.store.monotonic_ns();
            if !found.is_empty() || now >= end || !self.changes.is_empty() {
                return Ok(found);
            }
            waiting.wait(Duration::from_nanos(end - now));
        }
    }

    /// Gives what there is, and what to wait for before it is worth asking again: without the consumer,
    /// which others may use meanwhile.
    ///
    /// # Errors
    /// As [`Consumer::poll`].
    pub fn try_poll(&mut self, limits: PollLimits) -> Result<(Vec<Polled>, Waiting)> {
        let hub = self.store.model_state::<Hub>();
        let seen = hub.appends();
        self.refresh()?;
        // Who wants to be told of them is told before records of them are given.
        let found = match self.changes.is_empty() {
            true => self.fetch(limits)?,
            false => Vec::new(),
        };
        // Members come and go without a record.
        let session_ns = u64::try_from(self.options.session.as_nanos()).unwrap_or(u64::MAX);
        let most = match self.changes.is_empty() {
            true => Duration::from_nanos((session_ns / 3).min(self.look_ns())),
            false => Duration::ZERO,
        };
        Ok((found, Waiting { hub, seen, most }))
    }

    /// How long to wait for what wakes nobody: other processes, and members that are heard of no more.
    fn look_ns(&self) -> u64 {
        match self.store.is_read_only() {
            true => FOLLOW_NS,
            false => MEMBERS_NS,
        }
    }

    /// Learns which partitions are to be read, and where reading each begins, as a poll does.
    ///
    /// # Errors
    /// As [`Consumer::poll`].
    pub fn refresh(&mut self) -> Result<()> {
        if self.store.is_read_only() {
            self.store.refresh()?;
        }
        self.auto_commit()?;
        let wanted = match &self.source {
            Subscription::Nothing => BTreeSet::new(),
            Subscription::Assigned(partitions) => partitions.clone(),
            Subscription::Subscribed(names) => {
                let partitions = self.matching(names)?;
                match self.options.group.clone() {
                    Some(group) => self.share(&group, &partitions)?,
                    None => group::all(&partitions).collect(),
                }
            }
        };
        self.positions.retain(|place, _| wanted.contains(place));
        for place in wanted {
            if !self.positions.contains_key(&place) {
                let position = self.begin(&place)?;
                if self.options.tells_changes {
                    self.changes.assigned.insert(place.clone());
                }
                self.positions.insert(place, position);
            }
        }
        Ok(())
    }

    /// Topics that are there and wanted, with how many partitions each has.
    fn matching(&self, names: &BTreeSet<String>) -> Result<BTreeMap<String, u32>> {
        let beginnings: Vec<&str> = names.iter().filter_map(|n| n.strip_suffix('*')).collect();
        let mut wanted: BTreeSet<String> =
            names.iter().filter(|name| !name.ends_with('*')).cloned().collect();
        if !beginnings.is_empty() {
            let is_wanted = |topic: &String| beginnings.iter().any(|b| topic.starts_with(b));
            wanted.extend(Topic::names(&self.store).into_iter().filter(is_wanted));
        }
        let mut found = BTreeMap::new();
        for name in wanted {
            match Topic::open(&self.store, &name) {
                Ok(topic) => drop(found.insert(name, topic.partitions())),
                // One that is to be made yet.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Where a partition is read on.
    fn begin(&self, place: &TopicPartition) -> Result<ReadPosition> {
        let topic = self.topic(place)?;
        let committed = match &self.options.group {
            Some(group) => topic.committed(group, place.partition)?,
            None => None,
        };
        let next = match committed {
            Some(offset) => offset,
            None => self.reset(&topic, place.partition, None)?,
        };
        let (topic, may_wait, is_paused) = (topic.shared.id, false, false);
        Ok(ReadPosition { topic, next, may_wait, committed, is_paused })
    }

    /// The topic of a position. If that is not the one that was read, the position goes: offsets of one say
    /// nothing of the other.
    fn topic_read(&mut self, place: &TopicPartition) -> Result<Topic> {
        let known = self.positions.get(place).map(|position| position.topic);
        match self.topic(place) {
            Ok(topic) if known.is_none_or(|known| known == topic.shared.id) => return Ok(topic),
            Err(error) if error.kind() != ErrorKind::NotFound || known.is_none() => {
                return Err(error);
            }
            Ok(_) | Err(_) => {}
        }
        let name = &place.topic;
        self.positions.retain(|other, _| other.topic != *name);
        let what = format!(
            "topic '{name}' was removed since it was read here; if one of that name was made anew, what \
             is asked for next is its records, from where a new reader begins"
        );
        Err(Error::new(ErrorKind::NotFound, what))
    }

    /// Where the options say that reading begins.
    fn reset(&self, topic: &Topic, partition: u32, at: Option<u64>) -> Result<u64> {
        let offsets = topic.offsets(partition)?;
        match self.options.reset {
            Reset::Earliest => Ok(offsets.start),
            Reset::Latest => Ok(offsets.end),
            Reset::Error => {
                let why = at.map_or("no offset is committed".to_owned(), |at| {
                    format!("offset {at} comes next and is not there")
                });
                let what = format!(
                    "topic '{}' partition {partition}: {why}; it has offsets {} to {}",
                    topic.name(),
                    offsets.start,
                    offsets.end
                );
                Err(Error::new(ErrorKind::OutOfRange, what))
            }
        }
    }

    fn fetch(&mut self, limits: PollLimits) -> Result<Vec<Polled>> {
        let places: Vec<TopicPartition> = self.positions.keys().cloned().collect();
        let (mut found, mut left) = (Vec::new(), limits);
        let circle = places.iter().cycle().skip(self.turn).take(places.len());
        for place in circle {
            if left.records == 0 || left.bytes == 0 {
                break;
            }
            match self.fetch_from(place, left) {
                Ok(Some(polled)) => {
                    left.records -= polled.records.len().min(left.records);
                    left.bytes = left.bytes.saturating_sub(polled.records.bytes());
                    found.push(polled);
                }
                Ok(None) => {}
                // What was found first is given first; the next poll says what is wrong.
                Err(_) if !found.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        self.turn = match places.len() {
            0 => 0,
            count => (self.turn + 1) % count,
        };
        Ok(found)
    }

    fn fetch_from(&mut self, place: &TopicPartition, left: PollLimits) -> Result<Option<Polled>> {
        let Some(position) = self.positions.get(place).copied() else { return Ok(None) };
        if position.is_paused || self.revoking.contains(place) {
            return Ok(None);
        }
        let topic = self.topic_read(place)?;
        let offsets = topic.offsets(place.partition)?;
        let mut next = position.next;
        if position.may_wait && next > offsets.end {
            return Ok(None);
        }
        if !(offsets.start..=offsets.end).contains(&next) {
            next = self.reset(&topic, place.partition, Some(next))?;
        }
        let mut scan = topic.scan(place.partition, next..u64::MAX, Some(left.records))?;
        let batch = match scan.next() {
            None => {
                // Records up to the end may be gone, as later ones of their key stood for them: nothing
                // of that is still to come.
                let read = next.max(offsets.end);
                if let Some(position) = self.positions.get_mut(place) {
                    position.next = read;
                }
                return Ok(None);
            }
            Some(Ok(batch)) => batch,
            Some(Err(error)) if error.kind() == ErrorKind::Corruption => {
                let before = topic.before_damage(place.partition, next, left.records)?;
                before.ok_or_else(|| topic.unreadable(place, next, error))?
            }
            Some(Err(error)) => return Err(topic.unreadable(place, next, error)),
        };
        let records = Records::of(&batch)?.within(left.bytes);
        let Some((last, _)) = records.len().checked_sub(1).and_then(|row| records.get(row)) else {
            return Ok(None);
        };
        if let Some(position) = self.positions.get_mut(place) {
            position.next = last + 1;
            position.may_wait = false;
        }
        Ok(Some(Polled { place: place.clone(), records }))
    }

    /// The store that it reads.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Commits how far all partitions have been read, durably.
    ///
    /// # Errors
    /// `InvalidArgument` without a group; `Conflict` if a partition is another member's meanwhile, or
    /// if an offset would go back: nothing is committed then.
    pub fn commit(&mut self) -> Result<()> {
        self.commit_with(Changes::new())
    }

    /// Commits how far all partitions have been read in one commit with other changes, such as the
    /// rows that came of the records: both are there or none, so nothing is done twice.
    ///
    /// # Errors
    /// As [`Consumer::commit`]; none of the changes are made then.
    pub fn commit_with(&mut self, others: Changes) -> Result<()> {
        let changed = self.uncommitted();
        self.commit_offsets(&changed, others)
    }

    /// How far each partition has been read that was read on since the last commit.
    #[must_use]
    pub fn uncommitted(&self) -> BTreeMap<TopicPartition, u64> {
        self.next_where(|position| position.committed != Some(position.next))
    }

    /// The next offset of each partition whose position is so.
    fn next_where(&self, is_so: impl Fn(&ReadPosition) -> bool) -> BTreeMap<TopicPartition, u64> {
        let such = self.positions.iter().filter(|(_, position)| is_so(position));
        such.map(|(place, position)| (place.clone(), position.next)).collect()
    }

    /// Commits these offsets, each the one that comes next, with other changes.
    ///
    /// # Errors
    /// As [`Consumer::commit_with`].
    pub fn commit_offsets(
        &mut self,
        offsets: &BTreeMap<TopicPartition, u64>,
        others: Changes,
    ) -> Result<()> {
        let store = self.store.clone();
        let commit = &mut |changes: Changes| match changes.is_empty() {
            // Where the group is already there, somebody may have committed that a moment ago.
            true => store.acknowledge(Durability::Written),
            // Synced once the offsets are free again for others, who share the sync.
            false => store.commit_leaving_sync(changes, Durability::Synced),
        };
        let seq = self.commit_offsets_by(offsets, others, commit)?;
        store.sync_through(seq).map(|_| ())
    }

    /// Has `commit` commit these offsets with other changes.
    pub(super) fn commit_offsets_by(
        &mut self,
        offsets: &BTreeMap<TopicPartition, u64>,
        others: Changes,
        commit: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        let Some(group) = self.options.group.clone() else {
            let what = "offsets are committed for a group: name one";
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        };
        for place in offsets.keys() {
            self.topic_read(place)?;
        }
        let hub = self.store.model_state::<Hub>();
        let member = self.is_member.then_some(self.member.as_str());
        let seq = hub.commit_offsets(&self.store, &group, member, offsets, others, commit)?;
        for (place, offset) in offsets {
            if let Some(position) = self.positions.get_mut(place) {
                position.committed = Some(*offset);
            }
        }
        self.committed_at_ns = self.store.monotonic_ns();
        Ok(seq)
    }

    /// Commits forward what the last polls gave, if it is time. Who has lost its partitions meanwhile
    /// learns that when it shares them next.
    fn auto_commit(&mut self) -> Result<()> {
        let Some(every) = self.options.auto_commit else { return Ok(()) };
        let passed = self.store.monotonic_ns().saturating_sub(self.committed_at_ns);
        if u128::from(passed) < every.as_nanos() {
            return Ok(());
        }
        let ahead =
            self.next_where(|position| position.committed.is_none_or(|at| at < position.next));
        if ahead.is_empty() {
            self.committed_at_ns = self.store.monotonic_ns();
            return Ok(());
        }
        match self.commit_offsets(&ahead, Changes::new()) {
            Err(error) if error.kind() == ErrorKind::Conflict && self.is_member => Ok(()),
            done => done,
        }
    }

    /// Leaves the group, with what was read committed if the options say so.
    ///
    /// # Errors
    /// As [`Consumer::commit`].
    pub fn close(mut self) -> Result<()> {
        self.leave_group()
    }

    /// The same of a consumer that others have a part in; its next poll would join again.
    ///
    /// # Errors
    /// As [`Consumer::commit`].
    pub fn leave_group(&mut self) -> Result<()> {
        let committed = match self.options.auto_commit.is_some() {
            true => self.commit(),
            false => Ok(()),
        };
        self.leave();
        self.positions.clear();
        committed
    }
}

/// How often a reader looks for what another process wrote.
const FOLLOW_NS: u64 = 50_000_000;
/// How often one who waits looks for members whose session is over.
const MEMBERS_NS: u64 = 500_000_000;

impl Drop for Consumer {
    fn drop(&mut self) {
        self.leave();
    }
}
