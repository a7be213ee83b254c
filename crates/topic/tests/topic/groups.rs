//! Groups from outside, and members who are told before they lose a partition.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::time::Duration;

use timestrata_engine::{ErrorKind, Store};
use timestrata_topic::{
    AssignmentChanges, Consumer, ConsumerOptions, GroupStart, PollLimits, Record, SendOptions,
    Topic, TopicOptions, TopicPartition, TopicRetention,
};

use crate::standing::{DAY_S, SECOND_NS, standing};

const NOW: Duration = Duration::ZERO;

fn topic(store: &Store, name: &str, partitions: u32) -> Topic {
    let options = TopicOptions { partitions, ..TopicOptions::default() };
    Topic::create(store, name, &options).unwrap()
}

fn send(topic: &Topic, partition: u32, records: u32) {
    for _ in 0..records {
        let record = Record { value: Some(b"x"), partition: Some(partition), ..Record::default() };
        topic.send(&record, &SendOptions::default()).unwrap();
    }
}

fn options(group: &str) -> ConsumerOptions {
    ConsumerOptions { group: Some(group.to_owned()), ..ConsumerOptions::default() }
}

fn joined(store: &Store, options: ConsumerOptions, topic: &str) -> Consumer {
    let mut consumer = Consumer::new(store, options).unwrap();
    consumer.subscribe([topic]).unwrap();
    consumer
}

/// How many records a poll gives now.
fn poll(consumer: &mut Consumer) -> usize {
    let polled = consumer.poll(NOW, PollLimits::default()).unwrap();
    polled.iter().map(|polled| polled.records.len()).sum()
}

fn places(partitions: &[u32]) -> BTreeSet<TopicPartition> {
    let place = |partition: &u32| TopicPartition { topic: "t".to_owned(), partition: *partition };
    partitions.iter().map(place).collect()
}

fn kept(consumer: &Consumer) -> BTreeSet<TopicPartition> {
    consumer.assignment().cloned().collect()
}

#[test]
fn a_group_is_deleted_once_nobody_is_in_it() {
    let (store, _) = standing();
    let of = topic(&store, "t", 2);
    send(&of, 0, 3);
    let mut consumer = joined(&store, options("g"), "t");
    assert_eq!(poll(&mut consumer), 3);
    consumer.commit().unwrap();
    of.reset_group("other", 0, 1).unwrap();
    let error = of.delete_group("g").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    consumer.close().unwrap();
    of.delete_group("g").unwrap();
    assert_eq!(of.committed("g", 0).unwrap(), None);
    assert_eq!(of.committed("other", 0).unwrap(), Some(1));
    assert_eq!(of.delete_group("g").unwrap_err().kind(), ErrorKind::NotFound);
    // Who comes by that name is new: it begins at the beginning, and may commit what was committed before.
    let mut consumer = joined(&store, options("g"), "t");
    assert_eq!(poll(&mut consumer), 3);
    consumer.commit().unwrap();
    assert_eq!(of.committed("g", 0).unwrap(), Some(3));
}

#[test]
fn groups_that_nobody_uses_go_and_those_with_members_stay_though_they_commit_nothing() {
    let (store, clock) = standing();
    let of = topic(&store, "t", 1);
    let days = |days: i64| Some((days * DAY_S * SECOND_NS).unsigned_abs());
    let retention = TopicRetention { groups_age_ns: days(7), ..TopicRetention::default() };
    of.set_retention(retention).unwrap();
    assert_eq!(of.options().retention, retention);
    send(&of, 0, 2);
    let long = ConsumerOptions {
        session: Duration::MAX,
        poll_interval_max: Duration::MAX,
        ..options("alive")
    };
    let mut alive = joined(&store, long, "t");
    poll(&mut alive);
    alive.commit().unwrap();
    of.reset_group("idle", 0, 1).unwrap();
    clock.go_on(7 * DAY_S);
    assert_eq!(of.retain().unwrap().groups, 0, "not older than that yet");
    clock.go_on(1);
    assert_eq!(of.retain().unwrap().groups, 1);
    assert_eq!(of.committed("idle", 0).unwrap(), None);
    assert_eq!(of.committed("alive", 0).unwrap(), Some(2));
    // Its members were there a moment ago: its time begins now.
    alive.close().unwrap();
    clock.go_on(6 * DAY_S);
    assert_eq!(of.retain().unwrap().groups, 0);
    clock.go_on(2 * DAY_S);
    assert_eq!(of.retain().unwrap().groups, 1);
    assert!(of.groups().unwrap().is_empty());
}

#[test]
fn a_group_is_put_at_a_time_and_at_either_end() {
    let (store, _) = standing();
    let of = topic(&store, "t", 1);
    for timestamp_ns in [10, 20, 30] {
        let record = Record { timestamp_ns: Some(timestamp_ns), ..Record::default() };
        of.send(&record, &SendOptions::default()).unwrap();
    }
    for (to, offset) in [
        (GroupStart::Time(20), 1),
        (GroupStart::Time(21), 2),
        (GroupStart::Time(31), 3),
        (GroupStart::Earliest, 0),
        (GroupStart::Latest, 3),
        (GroupStart::Offset(2), 2),
    ] {
        assert_eq!(of.reset_group_to("g", 0, to).unwrap(), offset, "{to:?}");
        assert_eq!(of.committed("g", 0).unwrap(), Some(offset), "{to:?}");
    }
    let error = of.reset_group_to("g", 1, GroupStart::Latest).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn all_groups_of_a_store_are_told_with_their_members() {
    let (store, _) = standing();
    let (of, other) = (topic(&store, "t", 2), topic(&store, "u", 1));
    of.reset_group("a", 1, 0).unwrap();
    other.reset_group("a", 0, 0).unwrap();
    let mut member =
        joined(&store, ConsumerOptions { member: Some("m".into()), ..options("b") }, "t");
    poll(&mut member);
    let groups = Topic::groups_of(&store).unwrap();
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let of_a: Vec<String> = groups[0].offsets.keys().map(ToString::to_string).collect();
    assert_eq!(of_a.len(), 2, "{of_a:?}");
    assert!(groups[0].members.is_empty() && groups[1].offsets.is_empty());
    let reads: BTreeSet<_> = groups[1].members["m"].iter().cloned().collect();
    assert_eq!(reads, places(&[0, 1]));
    member.close().unwrap();
    assert_eq!(Topic::groups_of(&store).unwrap().len(), 1);
}

#[test]
fn a_heartbeat_keeps_partitions_and_commits_nothing() {
    let (store, clock) = standing();
    let of = topic(&store, "t", 1);
    send(&of, 0, 1);
    let given = ConsumerOptions { auto_commit: Some(NOW), ..options("g") };
    let mut slow = joined(&store, given, "t");
    assert!(slow.heartbeat().unwrap().is_empty(), "it has not joined yet");
    assert_eq!(poll(&mut slow), 1);
    let mut other = joined(&store, options("g"), "t");
    for _ in 0..10 {
        clock.go_on(29);
        slow.heartbeat().unwrap();
        assert_eq!(poll(&mut other), 0);
    }
    assert_eq!(of.committed("g", 0).unwrap(), None);
    // 300 seconds is the longest that it may go without a poll.
    clock.go_on(11);
    assert_eq!(slow.heartbeat().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(poll(&mut other), 1);
}

/// The story: who commits by hand could not commit before a partition was another member's, so that its last records were
/// done twice.
#[test]
fn who_wants_to_be_told_can_commit_before_a_partition_goes() {
    let (store, _) = standing();
    let of = topic(&store, "t", 2);
    send(&of, 0, 5);
    send(&of, 1, 7);
    let told = |member: &str| ConsumerOptions {
        tells_changes: true,
        member: Some(member.to_owned()),
        ..options("g")
    };
    let mut a = joined(&store, told("a"), "t");
    // Told of its partitions before it is given records of them.
    assert_eq!(poll(&mut a), 0);
    let changes = a.take_changes();
    assert_eq!(changes, AssignmentChanges { assigned: places(&[0, 1]), ..Default::default() });
    assert_eq!(poll(&mut a), 12);
    let mut b = joined(&store, told("b"), "t");
    assert_eq!(poll(&mut b), 0);
    send(&of, 1, 1);
    assert_eq!(poll(&mut a), 0);
    let changes = a.take_changes();
    assert_eq!(changes.revoked, places(&[1]));
    // It is a's as long as a does not poll again.
    assert_eq!(poll(&mut b), 0);
    a.commit().unwrap();
    assert_eq!(poll(&mut a), 0);
    assert_eq!(kept(&a), places(&[0]));
    assert_eq!(poll(&mut b), 0);
    assert_eq!(b.take_changes().assigned, places(&[1]));
    assert_eq!(poll(&mut b), 1, "what a has done is not given again");
    assert!(a.take_changes().is_empty());
}

#[test]
fn who_was_taken_for_dead_is_told_what_is_lost() {
    let (store, clock) = standing();
    let of = topic(&store, "t", 1);
    send(&of, 0, 1);
    let told = ConsumerOptions { tells_changes: true, ..options("g") };
    let mut dead = joined(&store, told, "t");
    poll(&mut dead);
    dead.take_changes();
    assert_eq!(poll(&mut dead), 1);
    let mut other = joined(&store, options("g"), "t");
    clock.go_on(31);
    assert_eq!(poll(&mut other), 1);
    assert_eq!(poll(&mut dead), 0);
    let changes = dead.take_changes();
    assert_eq!((changes.lost, changes.revoked), (places(&[0]), BTreeSet::new()));
}
