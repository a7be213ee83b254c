//! Records are thrown away as the topic says, now and after a reopen; every proof stays.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;

use timestrata_engine::{Clock, Durability, Io, Settings, Store};
use timestrata_merkle::{Hash, verify_consistency, verify_inclusion};
use timestrata_topic::{
    Consumer, ConsumerOptions, PollLimits, Record, Records, SendOptions, Thrown, Topic,
    TopicOptions, TopicPartition, TopicRetention,
};

use crate::standing::{DAY_S, SECOND_NS, standing};

const WRITTEN: SendOptions<'static> = SendOptions {
    partition: None,
    durability: Durability::Written,
    expected_offset: None,
    sequence: None,
    sequences: &[],
    epoch: None,
};

fn topic(store: &Store, retention: TopicRetention) -> Topic {
    let options = TopicOptions { retention, ..TopicOptions::default() };
    Topic::create(store, "t", &options).unwrap()
}

fn memory() -> Store {
    Store::memory(Settings::default()).unwrap()
}

/// Sends records of ten bytes, at seconds that are their numbers.
fn send(topic: &Topic, numbers: std::ops::Range<u64>) {
    let texts: Vec<String> = numbers.clone().map(|number| format!("{number:010}")).collect();
    let records: Vec<Record<'_>> = numbers
        .zip(&texts)
        .map(|(number, text)| Record {
            value: Some(text.as_bytes()),
            timestamp_ns: Some(number as i64 * 1_000_000_000),
            ..Record::default()
        })
        .collect();
    topic.send_batch(&records, &WRITTEN).unwrap();
}

fn kept(topic: &Topic) -> Vec<u64> {
    let batches = topic.scan(0, 0..u64::MAX, None).unwrap();
    let offsets = |batch| Records::of(&batch).unwrap().iter().map(|(offset, _)| offset).collect();
    batches.flat_map(|batch| -> Vec<u64> { offsets(batch.unwrap()) }).collect()
}

#[test]
fn the_oldest_records_go_by_number() {
    let store = memory();
    let of = topic(&store, TopicRetention { records: Some(300), ..TopicRetention::default() });
    send(&of, 0..1_000);
    assert_eq!(of.retain().unwrap(), Thrown { expired: 700, superseded: 0, groups: 0 });
    assert_eq!(of.offsets(0).unwrap(), 700..1_000);
    assert_eq!(kept(&of), (700..1_000).collect::<Vec<_>>());
    assert_eq!(of.retain().unwrap(), Thrown::default());
    send(&of, 1_000..1_001);
    assert_eq!(of.retain().unwrap().expired, 1);
}

#[test]
fn the_oldest_records_go_by_bytes() {
    let store = memory();
    let of = topic(&store, TopicRetention { bytes: Some(3_005), ..TopicRetention::default() });
    send(&of, 0..1_000);
    of.retain().unwrap();
    // 300 records have 3,000 bytes, one more is too much.
    assert_eq!(of.offsets(0).unwrap(), 700..1_000);
    of.set_retention(TopicRetention { bytes: Some(0), ..TopicRetention::default() }).unwrap();
    of.retain().unwrap();
    assert_eq!(of.offsets(0).unwrap(), 1_000..1_000);
    assert!(kept(&of).is_empty());
}

#[test]
fn records_go_by_age_and_one_wrong_clock_keeps_nothing_for_ever() {
    let store = memory();
    let of = topic(&store, TopicRetention::default());
    let now_s = store.wall_ns() as u64 / 1_000_000_000;
    send(&of, now_s - 600..now_s - 300);
    // From a clock that is far ahead.
    send(&of, now_s + 9_000_000..now_s + 9_000_001);
    send(&of, now_s - 299..now_s);
    let age = |seconds: u64| TopicRetention {
        age_ns: Some(seconds * 1_000_000_000),
        ..TopicRetention::default()
    };
    of.set_retention(age(400)).unwrap();
    of.retain().unwrap();
    let floor = of.offsets(0).unwrap().start;
    // The clock of the store may have gone on by some seconds.
    assert!((200..=230).contains(&floor), "{floor}");
    of.set_retention(age(1)).unwrap();
    of.retain().unwrap();
    // All of the first tile is too old: the record that is to come is in the second, not full yet.
    assert!(of.offsets(0).unwrap().start >= 300);
}

#[test]
fn of_each_key_the_last_record_stays() {
    let store = memory();
    let of = topic(&store, TopicRetention { compact: true, ..TopicRetention::default() });
    let send = |number: u64, key: &str, value: Option<&str>| {
        let record = Record {
            key: Some(key.as_bytes()),
            value: value.map(str::as_bytes),
            timestamp_ns: Some(number as i64),
            ..Record::default()
        };
        of.send(&record, &WRITTEN).unwrap();
    };
    for number in 0..512 {
        let key = format!("key {}", number % 100);
        send(number, &key, (number != 411).then_some("value"));
    }
    // Of the last tile, which isn't full, nothing goes.
    for number in 512..520 {
        send(number, "key 0", Some("new"));
    }
    let before: Vec<Hash> = (0..520).map(|offset| leaf(&of, offset)).collect();
    let thrown = of.retain().unwrap();
    // Key 11 was gone for a while.
    let expected: Vec<u64> = (412..520).collect();
    assert_eq!(thrown, Thrown { expired: 0, superseded: 412, groups: 0 });
    assert_eq!(kept(&of), expected);
    assert_eq!(of.retain().unwrap(), Thrown::default());
    assert!(of.get(0, 411).unwrap().is_none());
    all_proofs_hold(&of, &before);
}

fn leaf(topic: &Topic, offset: u64) -> Hash {
    Hash::of_leaf(&topic.entry(0, offset).unwrap())
}

/// Each leaf that ever was is proved by the root of each later size that is looked at.
fn all_proofs_hold(topic: &Topic, leaves: &[Hash]) {
    let size = leaves.len() as u64;
    let (_, root) = topic.root(0, Some(size)).unwrap();
    for (offset, leaf) in (0..size).zip(leaves) {
        let proof = topic.inclusion_proof(0, offset, size).unwrap();
        verify_inclusion(*leaf, offset, size, &proof, root).unwrap();
        if offset > 0 {
            let (_, old_root) = topic.root(0, Some(offset)).unwrap();
            let proof = topic.consistency_proof(0, offset, size).unwrap();
            verify_consistency(offset, size, &proof, old_root, root).unwrap();
        }
    }
}

fn open(directory: &Path) -> Store {
    Store::open(directory, Settings::default()).unwrap()
}

#[test]
fn retention_is_in_force_after_a_reopen_and_proofs_of_all_records_hold() {
    let directory = tempfile::tempdir().unwrap();
    let mut leaves = Vec::new();
    {
        let store = open(directory.path());
        let of = topic(&store, TopicRetention { records: Some(100), ..TopicRetention::default() });
        send(&of, 0..400);
        leaves.extend((0..400).map(|offset| leaf(&of, offset)));
        of.retain().unwrap();
        store.close().unwrap();
    }
    let store = open(directory.path());
    let of = Topic::open(&store, "t").unwrap();
    assert_eq!(of.offsets(0).unwrap(), 300..400);
    all_proofs_hold(&of, &leaves);
    send(&of, 400..700);
    leaves.extend((400..700).map(|offset| leaf(&of, offset)));
    assert_eq!(of.retain().unwrap().expired, 300);
    // The floor is in a tile that is not full: what is below it has no record any more.
    store.flush().unwrap();
    store.close().unwrap();
    let store = open(directory.path());
    let of = Topic::open(&store, "t").unwrap();
    assert_eq!(kept(&of), (600..700).collect::<Vec<_>>());
    all_proofs_hold(&of, &leaves);
}

#[test]
fn what_is_thrown_away_frees_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let of = topic(&store, TopicRetention { records: Some(256), ..TopicRetention::default() });
    let mut noise = vec![0; 1 << 10];
    for _ in 0..20_000 {
        Io::os().rng.fill(&mut noise);
        let record = Record { value: Some(&noise), ..Record::default() };
        of.send(&record, &WRITTEN).unwrap();
    }
    let bytes =
        |store: &Store| store.stats().streams.iter().map(|stream| stream.run_bytes).sum::<u64>();
    store.flush().unwrap();
    store.compact(None).unwrap();
    let before = bytes(&store);
    assert!(before > 20_000 << 10, "{before}");
    of.retain().unwrap();
    store.flush().unwrap();
    store.compact(None).unwrap();
    let after = bytes(&store);
    assert!(after < before / 10, "{after} of {before} bytes are left");
}

#[test]
fn an_offset_is_found_by_time_wherever_it_is() {
    let store = memory();
    let of = topic(&store, TopicRetention::default());
    assert_eq!(of.offset_at_time(0, 0).unwrap(), None);
    for first in (0..70_000).step_by(1_000) {
        send(&of, first..first + 1_000);
    }
    let second = 1_000_000_000;
    for number in [0, 1, 255, 256, 257, 40_000, 65_535, 65_536, 65_537, 69_888, 69_999] {
        let time = number as i64 * second;
        assert_eq!(of.offset_at_time(0, time).unwrap(), Some(number), "{number}");
        assert_eq!(of.offset_at_time(0, time - 1).unwrap(), Some(number), "before {number}");
    }
    assert_eq!(of.offset_at_time(0, 70_000 * second).unwrap(), None);
    assert_eq!(of.offset_at_time(0, i64::MIN).unwrap(), Some(0));
    of.set_retention(TopicRetention { records: Some(1_000), ..TopicRetention::default() }).unwrap();
    of.retain().unwrap();
    assert_eq!(of.offset_at_time(0, 0).unwrap(), Some(69_000));
}

/// Records of a backfill are older than a day when they come; consumers that are behind must learn all
/// the same that a key is gone.
#[test]
fn a_null_value_is_kept_for_a_day_from_when_it_came_and_consumers_get_to_the_end_behind_it() {
    let (store, clock) = standing();
    let of = topic(&store, TopicRetention { compact: true, ..TopicRetention::default() });
    let send = |key: &str, value: Option<&str>| {
        let record = Record {
            key: Some(key.as_bytes()),
            value: value.map(str::as_bytes),
            timestamp_ns: Some(1),
            ..Record::default()
        };
        of.send(&record, &WRITTEN).unwrap();
    };
    send("gone", Some("value"));
    for _ in 1..255 {
        send("stays", Some("value"));
    }
    send("gone", None);
    of.retain().unwrap();
    assert_eq!(kept(&of), [254, 255]);
    let mut consumer = Consumer::new(&store, ConsumerOptions::default()).unwrap();
    consumer.subscribe(["t"]).unwrap();
    let polled = consumer.poll(Duration::ZERO, PollLimits::default()).unwrap();
    assert!(polled[0].records.get(1).unwrap().1.value.is_none());
    clock.go_on(2 * DAY_S);
    for _ in 0..255 {
        send("stays", Some("newer"));
    }
    send("stays", None);
    // The first is gone with the next compaction; and after two more days with nobody looking, what is
    // the last that there is.
    clock.go_on(2 * DAY_S);
    of.retain().unwrap();
    assert!(kept(&of).is_empty(), "{:?}", kept(&of));
    let place = TopicPartition { topic: "t".to_owned(), partition: 0 };
    assert_eq!(consumer.lag(&place).unwrap(), 256);
    assert!(consumer.poll(Duration::ZERO, PollLimits::default()).unwrap().is_empty());
    assert_eq!(consumer.lag(&place).unwrap(), 0);
}

/// A record of a clock that is ahead, in a tile that isn't full, held up all behind it.
#[test]
fn a_record_that_is_dated_ahead_goes_by_when_it_was_seen_first() {
    let (store, clock) = standing();
    let age = TopicRetention { age_ns: Some(100 * SECOND_NS as u64), ..TopicRetention::default() };
    let of = topic(&store, age);
    let now_s = clock.wall_ns() / SECOND_NS;
    let send_at = |seconds: i64| {
        let timestamp_ns = Some(seconds * SECOND_NS);
        of.send(&Record { timestamp_ns, ..Record::default() }, &WRITTEN).unwrap();
    };
    send_at(now_s);
    send_at(now_s + 1_000_000);
    assert_eq!(of.retain().unwrap(), Thrown::default());
    clock.go_on(50);
    send_at(now_s + 50);
    assert_eq!(of.retain().unwrap(), Thrown::default());
    clock.go_on(51);
    // No younger than the moment at which it was seen.
    assert_eq!(of.retain().unwrap().expired, 2);
    clock.go_on(50);
    assert_eq!(of.retain().unwrap().expired, 1);
    assert_eq!(of.offsets(0).unwrap(), 3..3);
}
