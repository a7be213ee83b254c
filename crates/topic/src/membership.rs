//! A consumer as a member of its group: what it is given, what it lets go of, and who is told of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use timestrata_engine::{ErrorKind, Result};

use super::Consumer;
use super::group::{Beat, Share, TopicPartition};
use super::hub::Hub;

/// Which partitions a consumer was given and is to lose, since it was asked last.
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
/// let options = ConsumerOptions {
///     group: Some("alarms".into()),
///     tells_changes: true,
///     ..ConsumerOptions::default()
/// };
/// let mut alarms = Consumer::new(&store, options)?;
/// alarms.subscribe(["events"])?;
/// alarms.poll(Duration::ZERO, PollLimits::default())?;
/// let changes = alarms.take_changes();
/// assert_eq!((changes.assigned.len(), changes.revoked.len()), (1, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssignmentChanges {
    /// Partitions that are read from now on. No record of them has been given yet.
    pub assigned: BTreeSet<TopicPartition>,
    /// Partitions that others wait for. Nothing more of them is given, and what was read of them can still be committed,
    /// before the next poll, which lets go of them.
    pub revoked: BTreeSet<TopicPartition>,
    /// Partitions that are others' already, as this member was taken for dead: nothing can be committed.
    pub lost: BTreeSet<TopicPartition>,
}

impl AssignmentChanges {
    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.assigned.is_empty() && self.revoked.is_empty() && self.lost.is_empty()
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Consumer {
    /// What has changed since this was asked last, where the options say that changes are told.
    pub fn take_changes(&mut self) -> AssignmentChanges {
        std::mem::take(&mut self.changes)
    }

    /// Says that this member is alive while it works on what a poll gave: its session begins anew. It commits nothing,
    /// lets go of nothing, and doesn't put off that a poll has to come (`poll_interval_max`). Gives the partitions that
    /// others wait for: they get them with the next poll, or once this member is taken for dead.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use timestrata_engine::{Settings, Store};
    /// # use timestrata_topic::{Consumer, ConsumerOptions, PollLimits, Topic, TopicOptions};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
    /// let options = ConsumerOptions { group: Some("alarms".into()), ..Default::default() };
    /// let mut alarms = Consumer::new(&store, options)?;
    /// alarms.subscribe(["events"])?;
    /// alarms.poll(Duration::ZERO, PollLimits::default())?;
    /// assert!(alarms.heartbeat()?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Conflict` if it was taken for dead meanwhile; the next poll joins again.
    pub fn heartbeat(&self) -> Result<BTreeSet<TopicPartition>> {
        match (self.is_member, &self.options.group) {
            (true, Some(group)) => {
                let hub = self.store.model_state::<Hub>();
                hub.groups.heartbeat(group, &self.member, self.store.monotonic_ns())
            }
            // Who has not joined yet, or reads alone, is in nobody's way.
            _ => Ok(BTreeSet::new()),
        }
    }

    /// What the group gives this member, once it has let go of what others are waiting for.
    pub(super) fn share(
        &mut self,
        group: &str,
        partitions: &BTreeMap<String, u32>,
    ) -> Result<BTreeSet<TopicPartition>> {
        let hub = self.store.model_state::<Hub>();
        let topics: BTreeSet<String> = partitions.keys().cloned().collect();
        let member = self.member.clone();
        let beat = Beat {
            group,
            member: &member,
            topics: &topics,
            partitions,
            now_ns: self.store.monotonic_ns(),
            session_ns: nanoseconds(self.options.session),
            poll_interval_max_ns: nanoseconds(self.options.poll_interval_max),
        };
        if self.is_member {
            match hub.groups.beat(&beat) {
                Ok(share) => return self.let_go(group, share),
                // Taken for dead: what it read is others' now.
                Err(error) if error.kind() == ErrorKind::Conflict => self.lose_all(),
                Err(error) => return Err(error),
            }
        }
        let share = hub.groups.join(&beat, self.options.strategy)?;
        self.is_member = true;
        hub.announce();
        self.let_go(group, share)
    }

    fn lose_all(&mut self) {
        self.is_member = false;
        self.revoking.clear();
        let lost = std::mem::take(&mut self.positions);
        if self.options.tells_changes {
            // What it was not even told to have is not lost.
            self.changes.revoked.clear();
            let assigned = std::mem::take(&mut self.changes.assigned);
            self.changes.lost.extend(lost.into_keys().filter(|place| !assigned.contains(place)));
        }
    }

    fn let_go(&mut self, group: &str, share: Share) -> Result<BTreeSet<TopicPartition>> {
        // Who wants to be told lets go with the poll behind the one that told it.
        let due: BTreeSet<TopicPartition> = match self.options.tells_changes {
            true => share.wanted_back.intersection(&self.revoking).cloned().collect(),
            false => share.wanted_back.clone(),
        };
        if !due.is_empty() {
            // What was given by the last poll is done.
            if self.options.auto_commit.is_some() {
                self.commit()?;
            }
            let hub = self.store.model_state::<Hub>();
            hub.groups.release(group, &self.member, &due);
            hub.announce();
        }
        let told = share.wanted_back.difference(&due).cloned().collect();
        self.revoking = told;
        self.changes.revoked.extend(self.revoking.iter().cloned());
        Ok(share.owned.difference(&due).cloned().collect())
    }

    pub(super) fn leave(&mut self) {
        if let (true, Some(group)) = (self.is_member, &self.options.group) {
            let hub = self.store.model_state::<Hub>();
            hub.groups.leave(group, &self.member);
            hub.announce();
        }
        self.is_member = false;
        self.revoking.clear();
        self.changes = AssignmentChanges::default();
    }
}
