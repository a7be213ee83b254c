//! State that all topics of an open store share in memory: the topics in use, the consumer groups, and who
//! waits for records.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result, SeqNo, Store, StreamId};
use timestrata_io::sync::{Condvar, Mutex, RwLock};

use super::group::{Groups, TopicPartition};
use super::handle::{SharedTopic, Topic};
use super::state::{self, StateKind, StateRow};

/// One for each open store.
#[derive(Debug, Default)]
pub(super) struct Hub {
    pub(super) topics: Mutex<HashMap<StreamId, Arc<SharedTopic>>>,
    /// Held while a topic is made or removed, which are several steps.
    pub(super) changing: Mutex<()>,
    pub(super) groups: Groups,
    /// Held while offsets are committed, which looks at those that are there first.
    pub(super) committing: Mutex<KnownOffsets>,
    members: AtomicU64,
    /// Whether topics are looked at from time to time.
    pub(super) is_retaining: AtomicBool,
    appends: Mutex<Appends>,
    appended: Condvar,
    listeners: Listeners,
}

/// How often something was appended, or changed hands, and how many wait for that: to wake nobody would still be a call of the
/// system for each record.
#[derive(Debug, Default)]
struct Appends {
    count: u64,
    waiting: usize,
}

/// What a program has called when something was appended.
type Listener = Box<dyn Fn() + Send + Sync>;

/// Those of all who listen.
#[derive(Default)]
struct Listeners(RwLock<Vec<Listener>>);

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listeners({})", self.0.read().len())
    }
}

impl Hub {
    /// A member's name that no other has.
    pub(super) fn new_member(&self) -> String {
        format!("member-{}", self.members.fetch_add(1, Ordering::Relaxed))
    }

    /// How often something was appended.
    pub(super) fn appends(&self) -> u64 {
        self.appends.lock().count
    }

    /// Wakes who waits.
    pub(super) fn announce(&self) {
        let mut appends = self.appends.lock();
        appends.count += 1;
        let is_awaited = appends.waiting > 0;
        drop(appends);
        if is_awaited {
            self.appended.notify_all();
        }
        self.listeners.0.read().iter().for_each(|tell| tell());
    }

    /// Has `tell` called whenever somebody who waits is woken, for as long as the store is open.
    pub(super) fn listen(&self, tell: Listener) {
        self.listeners.0.write().push(tell);
    }

    /// Waits until something was appended since `seen`, `most` at most.
    pub(super) fn wait(&self, seen: u64, most: Duration) {
        let mut appends = self.appends.lock();
        if appends.count == seen {
            appends.waiting += 1;
            self.appended.wait_for(&mut appends, most);
            appends.waiting -= 1;
        }
    }

    /// Has `commit` commit offsets of a group, each the one that comes next, with other changes.
    /// `member`: who, if it is a member; else somebody who reads partitions of its own choice.
    ///
    /// # Errors
    /// `Conflict` if a partition is not the member's, or, of somebody who is none, one that the group's
    /// members share; or if an offset would go back.
    pub(super) fn commit_offsets(
        &self,
        store: &Store,
        group: &str,
        member: Option<&str>,
        offsets: &BTreeMap<TopicPartition, u64>,
        others: Changes,
        commit: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        let mut known = self.committing.lock();
        let (mut changes, mut new) = (others, Vec::with_capacity(offsets.len()));
        for (place, offset) in offsets {
            let topic = Topic::open(store, &place.topic)?;
            let generation = match member {
                Some(member) => self.groups.check_owner(group, member, place)?,
                None => {
                    self.groups.check_unowned(group, place, store.monotonic_ns())?;
                    0
                }
            };
            let committed = match known.of(topic.shared.id, place.partition, group) {
                Some(offset) => Some(offset),
                None => topic.committed(group, place.partition)?,
            };
            if let Some(committed) = committed.filter(|committed| committed > offset) {
                let what = format!(
                    "group '{group}' has committed offset {committed} of {place}; {offset} would go back, \
                     which only a reset does"
                );
                return Err(Error::new(ErrorKind::Conflict, what));
            }
            let row = group_row(store, group, place, *offset, generation);
            state::put(store, &mut changes, topic.shared.id, &row)?;
            new.push((topic.shared.id, place.partition, *offset));
        }
        // Whoever fails may have left them in doubt.
        known.forget(group, &new);
        let seq = commit(changes)?;
        known.add(group, &new);
        Ok(seq)
    }

    /// Puts a group's offset where the caller says, back too.
    pub(super) fn reset_offset(
        &self,
        store: &Store,
        group: &str,
        place: &TopicPartition,
        offset: u64,
    ) -> Result<()> {
        let mut known = self.committing.lock();
        let topic = Topic::open(store, &place.topic)?;
        topic.partition(place.partition)?;
        let mut changes = Changes::new();
        let row = group_row(store, group, place, offset, 0);
        state::put(store, &mut changes, topic.shared.id, &row)?;
        known.forget(group, &[(topic.shared.id, place.partition, offset)]);
        store.commit(changes, Durability::Synced)?;
        Ok(())
    }
}

/// Groups whose offsets are known at once, at most, for each partition.
const KNOWN_GROUPS_MAX: usize = 1_024;

/// Offsets that groups have committed since the store was opened, so that each commit need not read what the last one wrote.
#[derive(Debug, Default)]
pub(super) struct KnownOffsets {
    /// By topic and partition.
    groups: HashMap<(StreamId, u32), HashMap<String, u64>>,
}

impl KnownOffsets {
    fn of(&self, topic: StreamId, partition: u32, group: &str) -> Option<u64> {
        self.groups.get(&(topic, partition))?.get(group).copied()
    }

    pub(super) fn forget(&mut self, group: &str, offsets: &[(StreamId, u32, u64)]) {
        for (topic, partition, _) in offsets {
            if let Some(known) = self.groups.get_mut(&(*topic, *partition)) {
                known.remove(group);
            }
        }
    }

    fn add(&mut self, group: &str, offsets: &[(StreamId, u32, u64)]) {
        for (topic, partition, offset) in offsets {
            let known = self.groups.entry((*topic, *partition)).or_default();
            if known.len() >= KNOWN_GROUPS_MAX {
                known.clear();
            }
            known.insert(group.to_owned(), *offset);
        }
    }
}

pub(super) fn group_row(
    store: &Store,
    group: &str,
    place: &TopicPartition,
    offset: u64,
    generation: u64,
) -> StateRow {
    let now_ns = store.wall_ns();
    let row = StateRow::of_partition(StateKind::Group, place.partition, offset, now_ns);
    StateRow { name: group.to_owned(), number: generation, ..row }
}
