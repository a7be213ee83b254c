//! Groups from outside: all of a store, put elsewhere, deleted, and those thrown away that nobody uses any more.

use std::collections::{BTreeMap, BTreeSet};

use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result, Store};
use timestrata_values::name;

use super::Topic;
use super::group::TopicPartition;
use super::hub::{Hub, group_row};
use super::state::{self, StateKind, StateRow};

/// Offsets of a group that has members are as good as new once they are so old, as a part of the age at which they
/// would go.
const REFRESHED_AT: i64 = 8;

/// Where a group is put.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::{GroupStart, Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// for timestamp_ns in [10, 20, 30] {
///     let record = Record { timestamp_ns: Some(timestamp_ns), ..Record::default() };
///     events.send(&record, &SendOptions::default())?;
/// }
/// assert_eq!(events.reset_group_to("alarms", 0, GroupStart::Time(15))?, 1);
/// assert_eq!(events.reset_group_to("alarms", 0, GroupStart::Latest)?, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupStart {
    /// At the first record that is kept.
    Earliest,
    /// Behind the last one.
    Latest,
    /// At this offset.
    Offset(u64),
    /// At the first record whose time is this or later, nanoseconds since the epoch; behind the last where there is none.
    Time(i64),
}

/// A group with all that it has in a store.
///
/// ```
/// use std::time::Duration;
///
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::{Consumer, ConsumerOptions, PollLimits, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// let options = ConsumerOptions { group: Some("alarms".into()), ..Default::default() };
/// let mut alarms = Consumer::new(&store, options)?;
/// alarms.subscribe(["events"])?;
/// alarms.poll(Duration::ZERO, PollLimits::default())?;
/// let groups = Topic::groups_of(&store)?;
/// assert_eq!((groups[0].name.as_str(), groups[0].members.len()), ("alarms", 1));
/// assert!(groups[0].offsets.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupOfStore {
    /// Its name.
    pub name: String,
    /// Where it goes on in which partition of which topic.
    pub offsets: BTreeMap<TopicPartition, u64>,
    /// Its members of now, and what each of them reads.
    pub members: BTreeMap<String, Vec<TopicPartition>>,
}

impl Topic {
    /// All groups of a store that have committed something, or have members, by name. Of a topic that can't be opened nothing
    /// is told.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn groups_of(store: &Store) -> Result<Vec<GroupOfStore>> {
        let mut offsets: BTreeMap<String, BTreeMap<TopicPartition, u64>> = BTreeMap::new();
        for topic in Self::names(store) {
            // One that was removed meanwhile, or that lacks a part: it holds up no other.
            let Ok(opened) = Self::open(store, &topic) else { continue };
            let groups = match opened.groups() {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                groups => groups?,
            };
            for (group, committed) in groups {
                let place = |partition| TopicPartition { topic: topic.clone(), partition };
                let committed = committed.into_iter().map(|(partition, at)| (place(partition), at));
                offsets.entry(group).or_default().extend(committed);
            }
        }
        let hub = store.model_state::<Hub>();
        for group in hub.groups.names(store.monotonic_ns()) {
            offsets.entry(group).or_default();
        }
        let of = |(name, offsets): (String, _)| {
            let members = hub.groups.members(&name);
            GroupOfStore { name, offsets, members }
        };
        Ok(offsets.into_iter().map(of).collect())
    }

    /// Puts a group elsewhere in a partition, back too, and gives the offset that it goes on with.
    ///
    /// # Errors
    /// As [`Topic::reset_group`]; what reading may fail with.
    pub fn reset_group_to(&self, group: &str, partition: u32, to: GroupStart) -> Result<u64> {
        name::check("group", group)?;
        let offsets = self.offsets(partition)?;
        let offset = match to {
            GroupStart::Earliest => offsets.start,
            GroupStart::Latest => offsets.end,
            GroupStart::Offset(offset) => offset,
            GroupStart::Time(time) => self.offset_at_time(partition, time)?.unwrap_or(offsets.end),
        };
        self.reset_group(group, partition, offset)?;
        Ok(offset)
    }

    /// Forgets what a group has committed in this topic, durably. Gives of how many partitions.
    ///
    /// ```
    /// # use timestrata_engine::{Settings, Store};
    /// # use timestrata_topic::{Topic, TopicOptions};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
    /// events.reset_group("alarms", 0, 0)?;
    /// assert_eq!(events.delete_group("alarms")?, 1);
    /// assert!(events.groups()?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Conflict` while the group has members that share the topic, `NotFound` if it has committed nothing here.
    pub fn delete_group(&self, group: &str) -> Result<usize> {
        let hub = self.store.model_state::<Hub>();
        let mut known = hub.committing.lock();
        let now_ns = self.store.monotonic_ns();
        if let Some(member) = hub.groups.member_of_topic(group, self.name(), now_ns) {
            let what = format!(
                "group '{group}' has members, such as '{member}', who share topic '{}': have them leave first",
                self.name()
            );
            return Err(Error::new(ErrorKind::Conflict, what));
        }
        let snapshot = self.store.snapshot_of(self.shared.id)?;
        let all = state::names(&snapshot, self.shared.id, StateKind::Group)?;
        let partitions: Vec<u32> =
            all.into_iter().filter(|(name, _)| name == group).map(|(_, of)| of).collect();
        if partitions.is_empty() {
            let what = format!("group '{group}' has committed nothing in topic '{}'", self.name());
            return Err(Error::new(ErrorKind::NotFound, what));
        }
        let mut changes = Changes::new();
        for partition in &partitions {
            self.forget(&mut changes, group, *partition)?;
            known.forget(group, &[(self.shared.id, *partition, 0)]);
        }
        self.store.commit(changes, Durability::Synced)?;
        Ok(partitions.len())
    }

    fn forget(&self, changes: &mut Changes, group: &str, partition: u32) -> Result<()> {
        let topic = self.shared.id;
        state::delete(&self.store, changes, topic, StateKind::Group, group, partition)
    }

    /// Throws away what groups without members committed longer ago than this, and gives how many groups. A group that has
    /// members counts as if it had committed lately.
    pub(super) fn expire_groups(&self, age_ns: u64) -> Result<u64> {
        let hub = self.store.model_state::<Hub>();
        let mut known = hub.committing.lock();
        let topic = self.shared.id;
        let snapshot = self.store.snapshot_of(topic)?;
        let mut rows: BTreeMap<String, Vec<StateRow>> = BTreeMap::new();
        for (group, partition) in state::names(&snapshot, topic, StateKind::Group)? {
            let row = state::find(&snapshot, topic, StateKind::Group, &group, partition)?;
            rows.entry(group).or_default().extend(row);
        }
        let age_ns = i64::try_from(age_ns).unwrap_or(i64::MAX);
        let (now_ns, alive_at_ns) = (self.store.wall_ns(), self.store.monotonic_ns());
        let (mut changes, mut gone) = (Changes::new(), BTreeSet::new());
        for (group, rows) in rows {
            let last_ns = rows.iter().map(|row| row.timestamp_ns).max().unwrap_or(now_ns);
            let since_ns = now_ns.saturating_sub(last_ns);
            let has_members =
                hub.groups.member_of_topic(&group, self.name(), alive_at_ns).is_some();
            if has_members && since_ns > age_ns / REFRESHED_AT {
                for StateRow { partition, offset, number, bytes, .. } in rows {
                    let place = TopicPartition { topic: self.name().to_owned(), partition };
                    let row = group_row(&self.store, &group, &place, offset, number);
                    state::put(&self.store, &mut changes, topic, &StateRow { bytes, ..row })?;
                }
            } else if !has_members && since_ns > age_ns {
                for row in rows {
                    self.forget(&mut changes, &group, row.partition)?;
                    known.forget(&group, &[(topic, row.partition, 0)]);
                }
                gone.insert(group);
            }
        }
        if !changes.is_empty() {
            self.store.commit(changes, Durability::Written)?;
        }
        Ok(gone.len() as u64)
    }
}
