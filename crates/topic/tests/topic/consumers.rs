//! Consumers and groups: each record is read by one member, offsets never go back by themselves.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use timestrata_engine::{Changes, ErrorKind, Settings, Store};
use timestrata_topic::{
    Assignor, Consumer, ConsumerOptions, PollLimits, Record, Records, Reset, SendOptions, Topic,
    TopicOptions, TopicPartition,
};

const NOW: Duration = Duration::ZERO;

fn store() -> Store {
    Store::memory(Settings::default()).unwrap()
}

fn topic(store: &Store, name: &str, partitions: u32) -> Topic {
    let options = TopicOptions { partitions, ..TopicOptions::default() };
    Topic::create(store, name, &options).unwrap()
}

fn send(topic: &Topic, partition: u32, texts: &[&str]) {
    let records: Vec<Record<'_>> = texts
        .iter()
        .map(|text| Record { value: Some(text.as_bytes()), ..Record::default() })
        .collect();
    let options = SendOptions { partition: Some(partition), ..SendOptions::default() };
    topic.send_batch(&records, &options).unwrap();
}

fn place(topic: &str, partition: u32) -> TopicPartition {
    TopicPartition { topic: topic.to_owned(), partition }
}

fn member(store: &Store, group: &str) -> Consumer {
    let options = ConsumerOptions { group: Some(group.to_owned()), ..ConsumerOptions::default() };
    Consumer::new(store, options).unwrap()
}

fn texts(records: &Records) -> Vec<String> {
    let text = |(_, record): (u64, Record<'_>)| {
        String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned()
    };
    records.iter().map(text).collect()
}

/// What a poll gives now, as text.
fn poll(consumer: &mut Consumer) -> Vec<String> {
    let polled = consumer.poll(NOW, PollLimits::default()).unwrap();
    polled.iter().flat_map(|polled| texts(&polled.records)).collect()
}

#[test]
fn a_poll_gives_no_more_than_it_was_asked_for() {
    let store = store();
    let of = topic(&store, "t", 1);
    send(&of, 0, &["1", "22", "333", "4444", "5"]);
    let mut consumer = member(&store, "g");
    consumer.subscribe(["t"]).unwrap();
    let mut take = |records: usize, bytes: u64| {
        let polled = consumer.poll(NOW, PollLimits { records, bytes }).unwrap();
        polled.iter().flat_map(|polled| texts(&polled.records)).collect::<Vec<_>>()
    };
    assert_eq!(take(1, 100), ["1"]);
    assert_eq!(take(10, 5), ["22", "333"]);
    // One always comes, however large.
    assert_eq!(take(10, 1), ["4444"]);
    assert_eq!(take(10, 100), ["5"]);
    assert!(take(10, 100).is_empty());
}

#[test]
fn a_poll_waits_for_what_is_not_there_yet_and_no_longer() {
    let store = store();
    let of = topic(&store, "t", 1);
    let mut consumer = member(&store, "g");
    consumer.subscribe(["t"]).unwrap();
    let begin = store.monotonic_ns();
    let passed = || Duration::from_nanos(store.monotonic_ns() - begin);
    assert!(consumer.poll(Duration::from_millis(60), PollLimits::default()).unwrap().is_empty());
    assert!(passed() >= Duration::from_millis(60));
    let found = std::thread::scope(|scope| {
        let waiting = scope
            .spawn(|| consumer.poll(Duration::from_secs(60), PollLimits::default()).unwrap().len());
        send(&of, 0, &["a"]);
        waiting.join().unwrap()
    });
    assert_eq!(found, 1);
    assert!(passed() < Duration::from_secs(50), "it was woken");
}

#[test]
fn topics_and_partitions_that_come_later_are_read() {
    let store = store();
    let mut consumer = member(&store, "g");
    consumer.subscribe(["later", "log-*"]).unwrap();
    assert!(poll(&mut consumer).is_empty());
    let later = topic(&store, "later", 1);
    send(&later, 0, &["a"]);
    send(&topic(&store, "log-x", 1), 0, &["b"]);
    send(&topic(&store, "other", 1), 0, &["never"]);
    assert_eq!(poll(&mut consumer), ["a", "b"]);
    later.set_partitions(2).unwrap();
    send(&later, 1, &["c"]);
    assert_eq!(poll(&mut consumer), ["c"]);
}

#[test]
fn members_share_partitions_and_each_record_is_read_once() {
    for strategy in [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky] {
        let store = store();
        let of = topic(&store, "t", 4);
        let mut members: Vec<Consumer> = (0..3)
            .map(|_| {
                let group = Some("g".to_owned());
                let options = ConsumerOptions { group, strategy, ..ConsumerOptions::default() };
                let mut consumer = Consumer::new(&store, options).unwrap();
                consumer.subscribe(["t"]).unwrap();
                consumer
            })
            .collect();
        let mut read = Vec::new();
        for round in 0..30 {
            let text = round.to_string();
            send(&of, round % 4, &[&text]);
            for consumer in &mut members {
                read.extend(poll(consumer));
                consumer.commit().unwrap();
            }
        }
        // Once more round, for what changed hands last.
        members.iter_mut().for_each(|consumer| read.extend(poll(consumer)));
        read.sort_by_key(|text| text.parse::<u32>().unwrap());
        let sent: Vec<String> = (0..30).map(|round| round.to_string()).collect();
        assert_eq!(read, sent, "{strategy:?}");
        let shares: Vec<usize> = members.iter().map(|each| each.assignment().count()).collect();
        assert_eq!(shares.iter().sum::<usize>(), 4);
        assert!(shares.iter().all(|share| (1..=2).contains(share)), "{strategy:?} {shares:?}");
    }
}

#[test]
fn a_member_goes_on_where_the_group_had_committed() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Store::open(directory.path(), Settings::default()).unwrap();
    let store = open();
    let of = topic(&store, "t", 1);
    send(&of, 0, &["a", "b", "c"]);
    let mut first = member(&store, "g");
    first.subscribe(["t"]).unwrap();
    let polled = first.poll(NOW, PollLimits { records: 2, ..PollLimits::default() }).unwrap();
    assert_eq!(texts(&polled[0].records), ["a", "b"]);
    first.commit().unwrap();
    assert_eq!(poll(&mut first), ["c"]);
    drop(first);
    store.close().unwrap();
    drop((of, store));
    // What was read and not committed comes again, after the store was opened again too.
    let store = open();
    let mut second = member(&store, "g");
    second.subscribe(["t"]).unwrap();
    assert_eq!(poll(&mut second), ["c"]);
    // Another group has read nothing.
    let mut other = member(&store, "h");
    other.subscribe(["t"]).unwrap();
    assert_eq!(poll(&mut other), ["a", "b", "c"]);
    let of = Topic::open(&store, "t").unwrap();
    assert_eq!(of.groups().unwrap(), BTreeMap::from([("g".to_owned(), BTreeMap::from([(0, 2)]))]));
    assert_eq!(of.members("g").len(), 1);
}

#[test]
fn a_stale_member_can_not_move_the_group() {
    let store = store();
    let of = topic(&store, "t", 1);
    send(&of, 0, &["a", "b"]);
    let options = ConsumerOptions {
        group: Some("g".to_owned()),
        session: Duration::from_millis(1),
        ..ConsumerOptions::default()
    };
    let mut stale = Consumer::new(&store, options).unwrap();
    stale.subscribe(["t"]).unwrap();
    assert_eq!(poll(&mut stale).len(), 2);
    let mut fresh = member(&store, "g");
    fresh.subscribe(["t"]).unwrap();
    // Polled until the other's session is over.
    let found = fresh.poll(Duration::from_secs(30), PollLimits::default()).unwrap();
    assert_eq!(found.len(), 1);
    fresh.commit().unwrap();
    let error = stale.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(of.committed("g", 0).unwrap(), Some(2));
}

#[test]
fn an_offset_goes_back_by_a_reset_only() {
    let store = store();
    let of = topic(&store, "t", 1);
    send(&of, 0, &["a", "b", "c"]);
    let mut consumer = member(&store, "g");
    consumer.subscribe(["t"]).unwrap();
    poll(&mut consumer);
    consumer.commit().unwrap();
    consumer.seek(&place("t", 0), 1).unwrap();
    let error = consumer.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("which only a reset does"), "{error}");
    assert_eq!(poll(&mut consumer), ["b", "c"]);
    of.reset_group("g", 0, 1).unwrap();
    drop(consumer);
    let mut consumer = member(&store, "g");
    consumer.subscribe(["t"]).unwrap();
    assert_eq!(poll(&mut consumer), ["b", "c"]);
}

#[test]
fn rows_and_the_offset_they_came_of_are_one_commit() {
    let store = store();
    let of = topic(&store, "t", 1);
    send(&of, 0, &["a"]);
    let mut consumer = member(&store, "g");
    consumer.subscribe(["t"]).unwrap();
    poll(&mut consumer);
    let wrong = Changes::new().delete_range(timestrata_engine::StreamId(999), Default::default());
    assert_eq!(consumer.commit_with(wrong).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(of.committed("g", 0).unwrap(), None);
    let before = store.snapshot().unwrap().seq().0;
    let rows = of.scan(0, 0..1, None).unwrap().next().unwrap().unwrap();
    let copies = topic(&store, "copies", 1);
    let stream = store.expect_stream("copies/0").unwrap().id();
    let made = store.snapshot().unwrap().seq().0;
    consumer.commit_with(Changes::new().insert(stream, rows)).unwrap();
    assert_eq!(store.snapshot().unwrap().seq().0, made + 1, "from {before}");
    assert_eq!(of.committed("g", 0).unwrap(), Some(1));
    assert!(copies.get(0, 0).unwrap().is_some());
}

#[test]
fn without_a_committed_offset_it_begins_where_the_options_say() {
    let store = store();
    let of = topic(&store, "t", 1);
    send(&of, 0, &["a"]);
    let begin = |reset| {
        let mut consumer =
            Consumer::new(&store, ConsumerOptions { reset, ..ConsumerOptions::default() }).unwrap();
        consumer.subscribe(["t"]).unwrap();
        let first = consumer.poll(NOW, PollLimits::default());
        (consumer, first.map(|polled| polled.len()).map_err(|error| error.kind()))
    };
    assert_eq!(begin(Reset::Earliest).1, Ok(1));
    assert_eq!(begin(Reset::Error).1, Err(ErrorKind::OutOfRange));
    let (mut latest, found) = begin(Reset::Latest);
    assert_eq!(found, Ok(0));
    send(&of, 0, &["b"]);
    assert_eq!(poll(&mut latest), ["b"]);
    // An offset that is not there is no silent jump either.
    let (mut consumer, _) = begin(Reset::Earliest);
    consumer.seek(&place("t", 0), 99).unwrap();
    assert_eq!(poll(&mut consumer), ["a", "b"]);
}

#[test]
fn partitions_are_paused_and_chosen_and_their_lag_is_told() {
    let store = store();
    let of = topic(&store, "t", 2);
    send(&of, 0, &["a", "b"]);
    send(&of, 1, &["c"]);
    let mut consumer = Consumer::new(&store, ConsumerOptions::default()).unwrap();
    consumer.assign([place("t", 0), place("t", 1)]).unwrap();
    assert!(consumer.assign([place("t", 2)]).is_err());
    let one = PollLimits { records: 1, ..PollLimits::default() };
    consumer.poll(NOW, one).unwrap();
    let lags = |consumer: &mut Consumer| {
        (consumer.lag(&place("t", 0)).unwrap(), consumer.lag(&place("t", 1)).unwrap())
    };
    assert_eq!(lags(&mut consumer), (1, 1));
    consumer.pause(&place("t", 0), true).unwrap();
    assert_eq!(poll(&mut consumer), ["c"]);
    assert!(poll(&mut consumer).is_empty());
    consumer.pause(&place("t", 0), false).unwrap();
    assert_eq!(poll(&mut consumer), ["b"]);
    assert_eq!(consumer.position(&place("t", 0)), Some(2));
    assert_eq!(consumer.commit().unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(consumer.lag(&place("t", 9)).is_err());
    let names: BTreeSet<_> = consumer.assignment().map(|place| place.partition).collect();
    assert_eq!(names, BTreeSet::from([0, 1]));
}

#[test]
fn what_polls_gave_is_committed_by_itself_where_the_options_say_so() {
    let store = store();
    let of = topic(&store, "t", 1);
    send(&of, 0, &["a", "b"]);
    let options = ConsumerOptions {
        group: Some("g".to_owned()),
        auto_commit: Some(Duration::ZERO),
        ..ConsumerOptions::default()
    };
    let mut consumer = Consumer::new(&store, options).unwrap();
    consumer.subscribe(["t"]).unwrap();
    poll(&mut consumer);
    // Given is not done.
    assert_eq!(of.committed("g", 0).unwrap(), None);
    poll(&mut consumer);
    assert_eq!(of.committed("g", 0).unwrap(), Some(2));
    send(&of, 0, &["c"]);
    poll(&mut consumer);
    consumer.close().unwrap();
    assert_eq!(of.committed("g", 0).unwrap(), Some(3));
}

#[test]
fn who_reads_a_partition_of_its_own_choice_commits_nothing_over_a_member() {
    let store = store();
    let of = topic(&store, "t", 1);
    send(&of, 0, &["a", "b", "c"]);
    let mut other = member(&store, "g");
    other.assign([place("t", 0)]).unwrap();
    assert_eq!(poll(&mut other), ["a", "b", "c"]);
    let mut first = member(&store, "g");
    first.subscribe(["t"]).unwrap();
    let one = PollLimits { records: 1, ..PollLimits::default() };
    first.poll(NOW, one).unwrap();
    let error = other.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("has members"), "{error}");
    first.commit().unwrap();
    assert_eq!(of.committed("g", 0).unwrap(), Some(1));
    // Once nobody shares the topic any more, whoever reads it may say how far.
    drop(first);
    other.commit().unwrap();
    assert_eq!(of.committed("g", 0).unwrap(), Some(3));
}

#[test]
fn what_is_put_back_is_committed_by_nobody_and_what_is_committed_stays() {
    let store = store();
    let of = topic(&store, "t", 1);
    send(&of, 0, &["a", "b", "c", "d"]);
    let options = ConsumerOptions {
        group: Some("g".to_owned()),
        auto_commit: Some(Duration::from_secs(3_600)),
        ..ConsumerOptions::default()
    };
    let mut consumer = Consumer::new(&store, options).unwrap();
    consumer.subscribe(["t"]).unwrap();
    poll(&mut consumer);
    let from = |offset| BTreeMap::from([(place("t", 0), offset)]);
    consumer.commit_offsets(&from(2), Changes::new()).unwrap();
    consumer.put_back(&from(3));
    assert_eq!(consumer.position(&place("t", 0)), Some(3));
    consumer.put_back(&from(0));
    assert_eq!(consumer.position(&place("t", 0)), Some(2));
    consumer.close().unwrap();
    assert_eq!(of.committed("g", 0).unwrap(), Some(2));
}
