//! Consumer groups: their members, which partitions each of them has, and who may commit offsets.
//!
//! It is memory only: members are of this process, and die with it. What outlives it, the committed
//! offsets, is rows of the topic's own stream.
//!
//! Invariant: a partition has one owner at most. When members come or go, a new *target* is made, and
//! a partition changes hands only after its owner has let go of it, has left, or has not been heard of
//! for its session's time. So no record is read by two members at once, and an owner that was taken
//! for dead can't commit any more.

mod assign;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_io::sync::Mutex;

pub(super) use self::assign::all;
pub use self::assign::{Assignor, TopicPartition};
use self::assign::{Owners, Wishes, assign};

/// All groups of an open store that have members.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: Mutex<HashMap<String, Group>>,
}

/// What a member says when it is heard of.
#[derive(Debug, Clone)]
pub(super) struct Beat<'a> {
    pub(super) group: &'a str,
    pub(super) member: &'a str,
    /// Names of the topics it wants.
    pub(super) topics: &'a BTreeSet<String>,
    /// How many partitions each topic has that is there.
    pub(super) partitions: &'a BTreeMap<String, u32>,
    /// Nanoseconds of a clock that only goes forward.
    pub(super) now_ns: u64,
    /// After how long without a word it is taken for dead.
    pub(super) session_ns: u64,
    /// The same without a poll, whatever else is heard of it.
    pub(super) poll_interval_max_ns: u64,
}

/// What a member has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// Goes up whenever partitions are shared out anew.
    pub(super) generation: u64,
    pub(super) owned: BTreeSet<TopicPartition>,
    /// Of those, what others are waiting for: to be let go of once its offsets are committed.
    pub(super) wanted_back: BTreeSet<TopicPartition>,
}

#[derive(Debug, Default)]
struct Group {
    generation: u64,
    strategy: Assignor,
    members: BTreeMap<String, Member>,
    partitions: BTreeMap<String, u32>,
    target: Owners,
    owned: Owners,
}

#[derive(Debug)]
struct Member {
    topics: BTreeSet<String>,
    heard_ns: u64,
    polled_ns: u64,
    session_ns: u64,
    poll_interval_max_ns: u64,
}

impl Member {
    fn is_alive(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.heard_ns) <= self.session_ns
            && now_ns.saturating_sub(self.polled_ns) <= self.poll_interval_max_ns
    }
}

impl Group {
    /// Removes members that have not been heard of; whether there were any.
    fn bury(&mut self, now_ns: u64) -> bool {
        let before = self.members.len();
        self.members.retain(|_, member| member.is_alive(now_ns));
        let is_changed = self.members.len() < before;
        if is_changed {
            let members = &self.members;
            self.owned.retain(|_, owner| members.contains_key(owner));
        }
        is_changed
    }

    fn share_out(&mut self) {
        let wishes: Wishes = self
            .members
            .iter()
            .map(|(name, member)| (name.clone(), member.topics.clone()))
            .collect();
        self.target = assign(self.strategy, &wishes, &self.partitions, &self.target);
        self.generation += 1;
    }

    /// Gives a member what is its by the target and nobody's now.
    fn share_of(&mut self, member: &str) -> Share {
        for (partition, owner) in &self.target {
            if owner == member && !self.owned.contains_key(partition) {
                self.owned.insert(partition.clone(), member.to_owned());
            }
        }
        let owned = self.owned.iter().filter(|(_, owner)| *owner == member);
        let owned: BTreeSet<_> = owned.map(|(partition, _)| partition.clone()).collect();
        let wanted_back = self.wanted_back_of(member);
        Share { generation: self.generation, owned, wanted_back }
    }

    /// What a member has and by the target is another's.
    fn wanted_back_of(&self, member: &str) -> BTreeSet<TopicPartition> {
        let is_its = |partition: &TopicPartition| {
            self.target.get(partition).is_some_and(|owner| owner == member)
        };
        let owned = self.owned.iter().filter(|(_, owner)| *owner == member);
        owned.map(|(partition, _)| partition).filter(|its| !is_its(its)).cloned().collect()
    }
}

impl Groups {
    /// Makes a member of a group, with a strategy that all its members must have.
    ///
    /// # Errors
    /// `Conflict` if the group has a member of that name, or another strategy.
    pub(super) fn join(&self, beat: &Beat<'_>, strategy: Assignor) -> Result<Share> {
        let mut groups = self.groups.lock();
        let group = groups.entry(beat.group.to_owned()).or_default();
        group.bury(beat.now_ns);
        let conflict = |what: String| {
            Err(Error::new(ErrorKind::Conflict, format!("group '{}' {what}", beat.group)))
        };
        if group.members.contains_key(beat.member) {
            return conflict(format!("has a member '{}' already", beat.member));
        }
        if group.members.is_empty() {
            group.strategy = strategy;
        } else if group.strategy != strategy {
            return conflict(format!(
                "shares partitions by {:?}; {strategy:?} was asked for",
                group.strategy
            ));
        }
        let member = Member {
            topics: beat.topics.clone(),
            heard_ns: beat.now_ns,
            polled_ns: beat.now_ns,
            session_ns: beat.session_ns,
            poll_interval_max_ns: beat.poll_interval_max_ns,
        };
        group.members.insert(beat.member.to_owned(), member);
        group.partitions.clone_from(beat.partitions);
        group.share_out();
        Ok(group.share_of(beat.member))
    }

    /// Hears of a member, and tells what it has now.
    ///
    /// # Errors
    /// `Conflict` if it was taken for dead meanwhile: it has nothing, and must join again.
    pub(super) fn beat(&self, beat: &Beat<'_>) -> Result<Share> {
        let mut groups = self.groups.lock();
        let group = groups.get_mut(beat.group).ok_or_else(|| fenced(beat.group, beat.member))?;
        let mut is_changed = group.bury(beat.now_ns);
        let member =
            group.members.get_mut(beat.member).ok_or_else(|| fenced(beat.group, beat.member))?;
        member.heard_ns = beat.now_ns;
        member.polled_ns = beat.now_ns;
        if member.topics != *beat.topics {
            member.topics.clone_from(beat.topics);
            is_changed = true;
        }
        if group.partitions != *beat.partitions {
            group.partitions.clone_from(beat.partitions);
            is_changed = true;
        }
        if is_changed {
            group.share_out();
        }
        Ok(group.share_of(beat.member))
    }

    /// Hears of a member that does not ask for records just now. What others are waiting for of what it has.
    ///
    /// # Errors
    /// `Conflict` if it was taken for dead meanwhile.
    pub(super) fn heartbeat(
        &self,
        group: &str,
        member: &str,
        now_ns: u64,
    ) -> Result<BTreeSet<TopicPartition>> {
        let mut groups = self.groups.lock();
        let found = groups.get_mut(group).ok_or_else(|| fenced(group, member))?;
        if found.bury(now_ns) {
            found.share_out();
        }
        found.members.get_mut(member).ok_or_else(|| fenced(group, member))?.heard_ns = now_ns;
        Ok(found.wanted_back_of(member))
    }

    /// Lets go of partitions that others are waiting for.
    pub(super) fn release(&self, group: &str, member: &str, partitions: &BTreeSet<TopicPartition>) {
        if let Some(group) = self.groups.lock().get_mut(group) {
            group
                .owned
                .retain(|partition, owner| owner != member || !partitions.contains(partition));
        }
    }

    /// Removes a member; the others share its partitions.
    pub(super) fn leave(&self, group: &str, member: &str) {
        let mut groups = self.groups.lock();
        let Some(found) = groups.get_mut(group) else { return };
        if found.members.remove(member).is_some() {
            found.owned.retain(|_, owner| owner != member);
            found.share_out();
        }
        if found.members.is_empty() {
            groups.remove(group);
        }
    }

    /// An error unless a member has a partition. The generation that it has it in.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn check_owner(
        &self,
        group: &str,
        member: &str,
        partition: &TopicPartition,
    ) -> Result<u64> {
        let groups = self.groups.lock();
        let found = groups.get(group).filter(|found| found.members.contains_key(member));
        let found = found.ok_or_else(|| fenced(group, member))?;
        match found.owned.get(partition) {
            Some(owner) if owner == member => Ok(found.generation),
            other => {
                let who = other.map_or("nobody has".to_owned(), |owner| format!("'{owner}' has"));
                let what =
                    format!("member '{member}' of group '{group}' doesn't have {partition}: {who}");
                Err(Error::new(ErrorKind::Conflict, what))
            }
        }
    }

    /// An error if a group's members share a partition: only they know how far it has been read.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn check_unowned(
        &self,
        group: &str,
        partition: &TopicPartition,
        now_ns: u64,
    ) -> Result<()> {
        match self.member_of_topic(group, &partition.topic, now_ns) {
            None => Ok(()),
            Some(member) => Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "group '{group}' has members, such as '{member}', who share topic '{}': who reads \
                     partition {} by a choice of its own commits nothing for them",
                    partition.topic, partition.partition
                ),
            )),
        }
    }

    /// A member that a group has now and that shares a topic.
    pub(super) fn member_of_topic(&self, group: &str, topic: &str, now_ns: u64) -> Option<String> {
        let mut groups = self.groups.lock();
        let found = groups.get_mut(group)?;
        if found.bury(now_ns) {
            found.share_out();
        }
        let mut members = found.members.iter();
        members.find(|(_, member)| member.topics.contains(topic)).map(|(name, _)| name.clone())
    }

    /// Names of the groups that have members now.
    pub(super) fn names(&self, now_ns: u64) -> Vec<String> {
        let groups = self.groups.lock();
        let is_alive = |group: &Group| group.members.values().any(|member| member.is_alive(now_ns));
        groups.iter().filter(|(_, group)| is_alive(group)).map(|(name, _)| name.clone()).collect()
    }

    /// Members of a group and what each has.
    pub(super) fn members(&self, group: &str) -> BTreeMap<String, Vec<TopicPartition>> {
        let groups = self.groups.lock();
        let Some(found) = groups.get(group) else { return BTreeMap::new() };
        let of = |member: &String| {
            let owned = found.owned.iter().filter(|(_, owner)| *owner == member);
            owned.map(|(partition, _)| partition.clone()).collect()
        };
        found.members.keys().map(|member| (member.clone(), of(member))).collect()
    }
}

fn fenced(group: &str, member: &str) -> Error {
    let what = format!(
        "'{member}' is no member of group '{group}' (any more): it was not heard of for longer than \
         its session lasts, has not polled for longer than it may, or has left"
    );
    Error::new(ErrorKind::Conflict, what)
}

#[cfg(test)]
mod tests;
