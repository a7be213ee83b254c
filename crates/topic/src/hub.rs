//! State that all topics of an open store share in memory: the topics in use, the consumer groups, and who
//! waits for records.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result, SeqNo, Store, StreamId};
use timestrata_io::sync::{Condvar, Mutex};

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
    committing: Mutex<()>,
    members: AtomicU64,
    /// Whether topics are looked at from time to time.
    pub(super) is_retaining: AtomicBool,
    /// How often something was appended, or changed hands, and who waits for that.
    appends: Mutex<u64>,
    appended: Condvar,
}

impl Hub {
    /// A member's name that no other has.
    pub(super) fn new_member(&self) -> String {
        format!("member-{}", self.members.fetch_add(1, Ordering::Relaxed))
    }

    /// How often something was appended.
    pub(super) fn appends(&self) -> u64 {
        *self.appends.lock()
    }

    /// Wakes who waits.
    pub(super) fn announce(&self) {
        *self.appends.lock() += 1;
        self.appended.notify_all();
    }

    /// Waits until something was appended since `seen`, `most` at most.
    pub(super) fn wait(&self, seen: u64, most: Duration) {
        let mut appends = self.appends.lock();
        if *appends == seen {
            self.appended.wait_for(&mut appends, most);
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
        let _committing = self.committing.lock();
        let mut changes = others;
        for (place, offset) in offsets {
            let topic = Topic::open(store, &place.topic)?;
            let generation = match member {
                Some(member) => self.groups.check_owner(group, member, place)?,
                None => {
                    self.groups.check_unowned(group, place, store.monotonic_ns())?;
                    0
                }
            };
            let committed = topic.committed(group, place.partition)?;
            if let Some(committed) = committed.filter(|committed| committed > offset) {
                let what = format!(
                    "group '{group}' has committed offset {committed} of {place}; {offset} would go back, \
                     which only a reset does"
                );
                return Err(Error::new(ErrorKind::Conflict, what));
            }
            let row = group_row(store, group, place, *offset, generation);
            state::put(store, &mut changes, topic.shared.id, &row)?;
        }
        commit(changes)
    }

    /// Puts a group's offset where the caller says, back too.
    pub(super) fn reset_offset(
        &self,
        store: &Store,
        group: &str,
        place: &TopicPartition,
        offset: u64,
    ) -> Result<()> {
        let _committing = self.committing.lock();
        let topic = Topic::open(store, &place.topic)?;
        topic.partition(place.partition)?;
        let mut changes = Changes::new();
        let row = group_row(store, group, place, offset, 0);
        state::put(store, &mut changes, topic.shared.id, &row)?;
        store.commit(changes, Durability::Synced)?;
        Ok(())
    }
}

fn group_row(
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
