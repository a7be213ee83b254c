//! Members of consumer groups that are clients of this server: what a member is between two requests.
//!
//! Invariant: records that a poll found reach the client, or are found again. If the request went before it was
//! answered they are put back at once; if only the answer was lost, the next request says so (`seen`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use timestrata_engine::Store;
use timestrata_engine::locks::Mutex;
use timestrata_topic::{Consumer, PollLimits, Polled, TopicPartition};

use crate::error::{Failure, Result};
use crate::metrics::Metrics;

/// Members at once.
const MEMBERS_MAX: usize = 1_024;

/// What a member is known by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct MemberKey {
    pub(crate) topic: String,
    pub(crate) group: String,
    pub(crate) member: String,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Members {
    store: Store,
    members: Mutex<HashMap<MemberKey, Arc<Member>>>,
}

/// One who consumes by requests.
#[derive(Debug)]
pub(crate) struct Member {
    reading: Mutex<MemberReading>,
    session_ns: u64,
    heard_ns: AtomicU64,
    /// Polls that have begun: of several at once only the last goes on.
    begun: AtomicU64,
    under_way: AtomicUsize,
}

#[derive(Debug)]
struct MemberReading {
    consumer: Consumer,
    /// The number of the last poll that gave records.
    number: u64,
    /// The first offset that it gave of each partition.
    given: BTreeMap<TopicPartition, u64>,
}

impl Members {
    pub(crate) fn new(store: &Store) -> Self {
        Self { store: store.clone(), members: Mutex::default() }
    }

    /// Keeps a member that has joined.
    ///
    /// # Errors
    /// `503` if there are too many.
    pub(crate) fn add(
        &self,
        metrics: &Metrics,
        key: MemberKey,
        consumer: Consumer,
        session: Duration,
    ) -> Result<()> {
        let (number, given) = (0, BTreeMap::new());
        let member = Member {
            reading: Mutex::new(MemberReading { consumer, number, given }),
            session_ns: u64::try_from(session.as_nanos()).unwrap_or(u64::MAX),
            heard_ns: AtomicU64::new(self.store.monotonic_ns()),
            begun: AtomicU64::new(0),
            under_way: AtomicUsize::new(0),
        };
        // Leaving takes locks of the groups: not under this one.
        let _gone = self.remove_silent(metrics);
        let mut members = self.members.lock();
        if members.len() >= MEMBERS_MAX {
            drop(members);
            return Err(Failure::for_now("too many members of groups are here; try again later"));
        }
        members.insert(key, Arc::new(member));
        metrics.group_members.set(members.len() as i64);
        Ok(())
    }

    /// Takes out those that were not heard of for longer than their sessions last. They leave their groups when what
    /// this gives is dropped.
    pub(crate) fn remove_silent(&self, metrics: &Metrics) -> Vec<Arc<Member>> {
        let now_ns = self.store.monotonic_ns();
        let mut members = self.members.lock();
        let silent = members.extract_if(|_, member| member.is_silent(now_ns));
        let gone = silent.map(|(_, member)| member).collect();
        metrics.group_members.set(members.len() as i64);
        gone
    }

    /// A member.
    ///
    /// # Errors
    /// `404` if there is none, or it was not heard of for too long.
    pub(crate) fn find(&self, metrics: &Metrics, key: &MemberKey) -> Result<Arc<Member>> {
        let _gone = self.remove_silent(metrics);
        self.members.lock().get(key).cloned().ok_or_else(|| no_member(key))
    }

    /// Has a member leave its group.
    ///
    /// # Errors
    /// `404` if there is none; what committing may fail with.
    pub(crate) fn remove(&self, metrics: &Metrics, key: &MemberKey) -> Result<()> {
        let member = {
            let mut members = self.members.lock();
            let member = members.remove(key);
            metrics.group_members.set(members.len() as i64);
            member.ok_or_else(|| no_member(key))?
        };
        // A poll that is under way ends, and lets go of it.
        member.begun.fetch_add(1, Ordering::SeqCst);
        member.reading.lock().consumer.leave_group()?;
        Ok(())
    }

    /// Names of the groups that members of a topic are of.
    pub(crate) fn groups_of(&self, topic: &str) -> BTreeSet<String> {
        let members = self.members.lock();
        members.keys().filter(|key| key.topic == topic).map(|key| key.group.clone()).collect()
    }
}

/// The partitions that a consumer reads, and where it goes on in each.
pub(crate) fn assignment_json(consumer: &Consumer) -> Value {
    let of = |place: &TopicPartition| {
        json!({
            "topic": place.topic,
            "partition": place.partition,
            "next": consumer.position(place),
        })
    };
    consumer.assignment().map(of).collect()
}

fn no_member(MemberKey { topic, group, member }: &MemberKey) -> Failure {
    Failure::new(
        StatusCode::NOT_FOUND,
        format!(
            "group '{group}' of topic '{topic}' has no member '{member}' here (any more): it was not \
             heard of for longer than its session lasts, has left, or the server began anew; join again"
        ),
    )
}

impl Member {
    fn is_silent(&self, now_ns: u64) -> bool {
        let silent_ns = now_ns.saturating_sub(self.heard_ns.load(Ordering::SeqCst));
        self.under_way.load(Ordering::SeqCst) == 0 && silent_ns > self.session_ns
    }

    /// Begins a poll, which ends those that are under way.
    pub(crate) fn begin_poll(self: &Arc<Self>, store: &Store) -> BegunPoll {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        BegunPoll { member: Arc::clone(self), number, store: store.clone() }
    }

    /// Looks for records, for the poll that has this number among all that have begun.
    ///
    /// # Errors
    /// `409` if a later one has begun, and for a `seen` that can't be; what polling may fail with.
    pub(crate) fn look(
        self: &Arc<Self>,
        begun: u64,
        seen: Option<u64>,
        limits: PollLimits,
    ) -> Result<Given> {
        let mut reading = self.reading.lock();
        if self.begun.load(Ordering::SeqCst) != begun {
            return Err(Failure::new(
                StatusCode::CONFLICT,
                "a later poll of this member has begun, or it has left: this one ends",
            ));
        }
        reading.confirm(seen)?;
        let (polled, _) = reading.consumer.try_poll(limits)?;
        if !polled.is_empty() {
            reading.number += 1;
            let first = |of: &Polled| Some((of.place.clone(), of.records.get(0)?.0));
            reading.given = polled.iter().filter_map(first).collect();
        }
        let (number, assignment) = (reading.number, reading.assignment());
        Ok(Given { member: Arc::clone(self), number, polled, assignment, is_told: false })
    }

    /// Hears of it while it works on what it was given. What others wait for of what it has.
    ///
    /// # Errors
    /// `409` if it was taken for dead meanwhile.
    pub(crate) fn heartbeat(&self, store: &Store) -> Result<BTreeSet<TopicPartition>> {
        let wanted = self.reading.lock().consumer.heartbeat()?;
        self.heard_ns.store(store.monotonic_ns(), Ordering::SeqCst);
        Ok(wanted)
    }

    /// Does `work` with what it consumes by.
    ///
    /// # Errors
    /// `409` for a `seen` that can't be; those of `work`.
    pub(crate) fn with<T>(
        &self,
        seen: Option<u64>,
        work: impl FnOnce(&mut Consumer) -> Result<T>,
    ) -> Result<T> {
        let mut reading = self.reading.lock();
        reading.confirm(seen)?;
        work(&mut reading.consumer)
    }
}

impl MemberReading {
    /// Takes note of the last poll whose answer came to the client.
    fn confirm(&mut self, seen: Option<u64>) -> Result<()> {
        let Some(seen) = seen else { return Ok(()) };
        if seen == self.number {
            return Ok(());
        }
        if seen.checked_add(1) != Some(self.number) {
            return Err(Failure::new(
                StatusCode::CONFLICT,
                format!("seen={seen}: the last poll that gave records has number {}", self.number),
            ));
        }
        self.take_back();
        Ok(())
    }

    /// What the last poll gave was not given.
    fn take_back(&mut self) {
        self.consumer.put_back(&self.given);
        self.given.clear();
        self.number = self.number.saturating_sub(1);
    }

    fn assignment(&self) -> Value {
        assignment_json(&self.consumer)
    }
}

/// A poll that is under way.
pub(crate) struct BegunPoll {
    member: Arc<Member>,
    number: u64,
    store: Store,
}

impl BegunPoll {
    pub(crate) fn member(&self) -> Arc<Member> {
        Arc::clone(&self.member)
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for BegunPoll {
    fn drop(&mut self) {
        self.member.heard_ns.store(self.store.monotonic_ns(), Ordering::SeqCst);
        self.member.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a poll gives. If nobody is told of it, it is put back.
pub(crate) struct Given {
    member: Arc<Member>,
    /// The number of the last poll that gave records: this one, if it does.
    pub(crate) number: u64,
    pub(crate) polled: Vec<Polled>,
    pub(crate) assignment: Value,
    is_told: bool,
}

impl Given {
    /// The client is told of it.
    pub(crate) fn told(mut self) {
        self.is_told = true;
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        if self.is_told || self.polled.is_empty() {
            return;
        }
        let mut reading = self.member.reading.lock();
        if reading.number == self.number {
            reading.take_back();
        }
    }
}
