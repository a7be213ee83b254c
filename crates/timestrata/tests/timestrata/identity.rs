//! A topic is itself, whatever has its name: parts of it go with it alone, what was read of one says
//! nothing of the next, and one that is broken holds up no other.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use timestrata::drop_by_name;
use timestrata_engine::{Access, ErrorKind, Io, Settings, Store};
use timestrata_graph::{Graph, GraphOptions};
use timestrata_logs::{Logs, LogsOptions};
use timestrata_topic::{
    Consumer, ConsumerOptions, PollLimits, Record, SendOptions, Topic, TopicOptions,
    TopicPartition, TopicRetention,
};

fn memory() -> Store {
    Store::memory(Settings::default()).unwrap()
}

fn topic(store: &Store, name: &str) -> Topic {
    Topic::create(store, name, &TopicOptions::default()).unwrap()
}

fn send(topic: &Topic, partition: u32, count: usize) {
    let records = vec![Record { value: Some(b"value"), ..Record::default() }; count];
    let options = SendOptions { partition: Some(partition), ..SendOptions::default() };
    topic.send_batch(&records, &options).unwrap();
}

fn place(topic: &str, partition: u32) -> TopicPartition {
    TopicPartition { topic: topic.to_owned(), partition }
}

fn consumer(store: &Store, group: Option<&str>) -> Consumer {
    let group = group.map(str::to_owned);
    Consumer::new(store, ConsumerOptions { group, ..ConsumerOptions::default() }).unwrap()
}

fn poll(consumer: &mut Consumer) -> timestrata_engine::Result<Vec<(u32, u64)>> {
    let polled = consumer.poll(Duration::ZERO, PollLimits::default())?;
    let offsets = polled.iter().flat_map(|polled| {
        polled.records.iter().map(|(offset, _)| (polled.place.partition, offset))
    });
    Ok(offsets.collect())
}

#[test]
fn a_part_of_what_is_there_is_not_removed_by_its_name_and_what_is_removed_goes_whole() {
    let store = memory();
    send(&topic(&store, "ev"), 0, 3);
    Graph::create(&store, "code", &GraphOptions::default()).unwrap();
    for (part, owner) in
        [("ev/0", "topic 'ev'"), ("ev/0t", "topic 'ev'"), ("code/edges", "graph 'code'")]
    {
        let error = drop_by_name(&store, part).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(owner), "{error}");
    }
    drop_by_name(&store, "ev").unwrap();
    drop_by_name(&store, "code").unwrap();
    assert!(store.streams().is_empty(), "{:?}", store.streams());
    assert_eq!(drop_by_name(&store, "ev").unwrap_err().kind(), ErrorKind::NotFound);
    // What another build has left behind of a topic is nobody's.
    send(&topic(&store, "ev"), 0, 3);
    store.drop_stream("ev").unwrap();
    drop_by_name(&store, "ev/0").unwrap();
    assert_eq!(store.streams().len(), 1);
}

#[test]
fn a_broken_topic_holds_up_no_other_and_can_be_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    let retention = TopicRetention { records: Some(1), ..TopicRetention::default() };
    let options = TopicOptions { retention, ..TopicOptions::default() };
    for name in ["a", "b", "c"] {
        Topic::create(&store, name, &options).unwrap();
    }
    let last = Topic::open(&store, "c").unwrap();
    send(&last, 0, 3);
    drop(last);
    // As a build did that didn't know whose it is; the handle in memory goes with a reopening.
    store.drop_stream("b/0").unwrap();
    store.close().unwrap();
    drop(store);
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    assert_eq!(Topic::names(&store), ["a", "b", "c"]);
    let error = Topic::open(&store, "b").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains("'b/0'"), "{error}");
    // Retention tells of the broken one, and goes on behind it.
    assert_eq!(Topic::retain_all(&store).unwrap_err().kind(), ErrorKind::Corruption);
    assert_eq!(Topic::open(&store, "c").unwrap().offsets(0).unwrap(), 2..3);
    Topic::drop(&store, "b").unwrap();
    send(&topic(&store, "b"), 0, 1);
    Topic::retain_all(&store).unwrap();
}

#[test]
fn a_reader_sees_partitions_that_were_added_in_a_consumer_that_is_open_too() {
    let directory = tempfile::tempdir().unwrap();
    let writer = Store::open(directory.path(), Settings::default()).unwrap();
    let written = topic(&writer, "t");
    send(&written, 0, 1);
    let reader =
        Store::open_with(Io::os(), directory.path(), Access::Read, Settings::default()).unwrap();
    let read = Topic::open(&reader, "t").unwrap();
    let mut consumer = consumer(&reader, None);
    consumer.subscribe(["t"]).unwrap();
    assert_eq!(poll(&mut consumer).unwrap(), [(0, 0)]);
    written.set_partitions(3).unwrap();
    send(&written, 2, 2);
    assert_eq!(poll(&mut consumer).unwrap(), [(2, 0), (2, 1)]);
    assert_eq!((read.partitions(), read.offsets(2).unwrap()), (3, 0..2));
    assert_eq!(Topic::open(&reader, "t").unwrap().partitions(), 3);
}

#[test]
fn what_was_read_of_a_topic_says_nothing_of_one_that_gets_its_name() {
    let store = memory();
    let old = topic(&store, "t");
    send(&old, 0, 10);
    let mut members = [consumer(&store, Some("g")), consumer(&store, None), consumer(&store, None)];
    let [member, alone, assigned] = &mut members;
    member.subscribe(["t"]).unwrap();
    alone.subscribe(["t"]).unwrap();
    assigned.assign([place("t", 0)]).unwrap();
    for each in [&mut *member, &mut *alone, &mut *assigned] {
        assert_eq!(poll(each).unwrap().len(), 10);
    }
    Topic::drop(&store, "t").unwrap();
    let new = topic(&store, "t");
    send(&new, 0, 15);
    // The offsets of the one aren't committed for the other.
    let error = member.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("topic 't' was removed"), "{error}");
    assert_eq!(new.committed("g", 0).unwrap(), None);
    for each in [&mut *alone, &mut *assigned] {
        let error = poll(each).unwrap_err();
        assert!(error.to_string().contains("topic 't' was removed"), "{error}");
    }
    for each in [&mut *member, &mut *alone, &mut *assigned] {
        assert_eq!(poll(each).unwrap().len(), 15, "all of the new one is read");
    }
    member.commit().unwrap();
    assert_eq!(new.committed("g", 0).unwrap(), Some(15));
}

#[test]
fn a_handle_of_what_was_removed_says_so_and_removes_nothing_that_came_later() {
    let store = memory();
    let old = topic(&store, "t");
    send(&old, 0, 1);
    let graph = Graph::create(&store, "g", &GraphOptions::default()).unwrap();
    let logs = Logs::create(&store, "l", &LogsOptions::default()).unwrap();
    old.clone().remove().unwrap();
    graph.clone().remove().unwrap();
    logs.clone().remove().unwrap();
    let new = topic(&store, "t");
    send(&new, 0, 2);
    Graph::create(&store, "g", &GraphOptions::default()).unwrap();
    Logs::create(&store, "l", &LogsOptions::default()).unwrap();
    for gone in [
        old.remove().unwrap_err(),
        old.offsets(0).unwrap_err(),
        old.send(&Record::default(), &SendOptions::default()).unwrap_err(),
        old.set_partitions(2).unwrap_err(),
        graph.remove().unwrap_err(),
        logs.remove().unwrap_err(),
    ] {
        assert_eq!(gone.kind(), ErrorKind::NotFound, "{gone}");
        assert!(gone.to_string().contains("was removed"), "{gone}");
    }
    assert_eq!(new.offsets(0).unwrap(), 0..2);
    assert!(Graph::open(&store, "g").is_ok() && Logs::open(&store, "l").is_ok());
}

#[test]
fn an_offset_that_is_to_come_yet_is_waited_for() {
    let store = memory();
    let of = topic(&store, "t");
    of.set_partitions(2).unwrap();
    send(&of, 0, 5);
    send(&of, 1, 2);
    let mut consumer = consumer(&store, None);
    consumer.subscribe(["t"]).unwrap();
    consumer.refresh().unwrap();
    for partition in 0..2 {
        consumer.seek_or_wait(&place("t", partition), 4).unwrap();
    }
    assert_eq!(poll(&mut consumer).unwrap(), [(0, 4)]);
    send(&of, 1, 2);
    assert!(poll(&mut consumer).unwrap().is_empty());
    send(&of, 1, 1);
    assert_eq!(poll(&mut consumer).unwrap(), [(1, 4)]);
}
