//! Topics: what is sent is read back, in its partition, at its offset, once.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use timestrata_engine::{Changes, Durability, ErrorKind, RunCompression, Settings, Store};
use timestrata_topic::{
    Record, Records, SendOptions, Stamp, Topic, TopicOptions, murmur2, partition_of,
};

fn store() -> Store {
    Store::memory(Settings::default()).unwrap()
}

fn topic(store: &Store, partitions: u32) -> Topic {
    let options = TopicOptions { partitions, ..TopicOptions::default() };
    Topic::create(store, "payments", &options).unwrap()
}

fn value(text: &str) -> Record<'_> {
    Record { value: Some(text.as_bytes()), ..Record::default() }
}

/// Offsets and values of a partition.
fn values(topic: &Topic, partition: u32) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    for batch in topic.scan(partition, 0..u64::MAX, None).unwrap() {
        let records = Records::of(&batch.unwrap()).unwrap();
        found.extend(records.iter().map(|(offset, record)| {
            (offset, String::from_utf8_lossy(record.value.unwrap_or(b"null")).into_owned())
        }));
    }
    found
}

#[test]
fn a_record_comes_back_with_all_its_parts_and_null_is_not_empty() {
    let store = store();
    let topic = topic(&store, 1);
    let sent = [
        Record {
            key: Some(b"key"),
            value: Some(b"\x00\xff"),
            headers: vec![("trace", b"1"), ("trace", b""), ("", b"2")],
            timestamp_ns: Some(-5),
            partition: None,
        },
        Record { key: Some(b""), value: Some(b""), timestamp_ns: Some(7), ..Record::default() },
        Record { timestamp_ns: Some(i64::MIN), ..Record::default() },
    ];
    for (offset, record) in (0..).zip(&sent) {
        let receipt = topic.send(record, &SendOptions::default()).unwrap();
        assert_eq!((receipt.partition, receipt.offset), (0, offset));
        assert_eq!(Some(receipt.timestamp_ns), record.timestamp_ns);
    }
    for (offset, record) in (0..).zip(&sent) {
        let found = topic.get(0, offset).unwrap().unwrap();
        assert_eq!(found.get(0).unwrap(), (offset, record.clone()));
    }
    assert!(topic.get(0, 3).unwrap().is_none());
    assert_eq!(topic.offsets(0).unwrap(), 0..3);
}

#[test]
fn keys_go_where_kafka_puts_them() {
    // Of the tests of Kafka's own clients.
    let published: [(&[u8], i32); 7] = [
        (b"21", -973_932_308),
        (b"foobar", -790_332_482),
        (b"a-little-bit-long-string", -985_981_536),
        (b"a-little-bit-longer-string", -1_486_304_829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        (b"abc", 479_470_107),
        (b"", 275_646_681),
    ];
    for (key, hash) in published {
        assert_eq!(murmur2(key), hash.cast_unsigned(), "{key:?}");
    }
    let store = store();
    let topic = topic(&store, 5);
    for n in 0..50 {
        let key = format!("key {n}");
        let record = Record { key: Some(key.as_bytes()), ..Record::default() };
        let receipt = topic.send(&record, &SendOptions::default()).unwrap();
        assert_eq!(receipt.partition, partition_of(key.as_bytes(), 5));
    }
}

#[test]
fn records_without_a_key_take_turns_and_a_batch_stays_together() {
    let store = store();
    let topic = topic(&store, 3);
    for round in 0..6 {
        let batch = [value("a"), value("b"), value("c")];
        let receipts = topic.send_batch(&batch, &SendOptions::default()).unwrap();
        assert!(receipts.iter().all(|receipt| receipt.partition == round % 3), "{receipts:?}");
    }
    assert_eq!((0..3).map(|p| values(&topic, p).len()).collect::<Vec<_>>(), [6, 6, 6]);
}

#[test]
fn a_batch_over_several_partitions_is_one_commit() {
    let store = store();
    let topic = topic(&store, 4);
    let keys: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let record = |key: &'static str| Record { key: Some(key.as_bytes()), ..Record::default() };
    let before = store.snapshot().unwrap().seq();
    let batch: Vec<Record<'_>> = keys
        .iter()
        .map(|key| Record { key: Some(key.as_bytes()), value: Some(b"v"), ..Record::default() })
        .collect();
    let receipts = topic.send_batch(&batch, &SendOptions::default()).unwrap();
    assert_eq!(store.snapshot().unwrap().seq().0, before.0 + 1);
    let mut next = BTreeMap::new();
    for (record, receipt) in batch.iter().zip(&receipts) {
        assert_eq!(receipt.partition, partition_of(record.key.unwrap(), 4));
        let offset = next.entry(receipt.partition).or_insert(0);
        assert_eq!(receipt.offset, *offset);
        *offset += 1;
    }
    // One record too large: none is there.
    let large = vec![0; (1 << 20) + 1];
    let wrong = [record("a"), Record { value: Some(&large), ..record("b") }];
    let error = topic.send_batch(&wrong, &SendOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("record 1 has 1048578 bytes"), "{error}");
    assert_eq!(store.snapshot().unwrap().seq().0, before.0 + 1);
}

#[test]
fn an_append_that_expects_another_offset_is_refused() {
    let store = store();
    let topic = topic(&store, 1);
    let at = |expected| SendOptions { expected_offset: Some(expected), ..SendOptions::default() };
    topic.send(&value("a"), &at(0)).unwrap();
    let error = topic.send(&value("b"), &at(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("offset 1 is next, 0 was expected"), "{error}");
    topic.send(&value("b"), &at(1)).unwrap();
    assert_eq!(values(&topic, 0), [(0, "a".to_owned()), (1, "b".to_owned())]);
    assert_eq!(topic.root(0, None).unwrap().0, 2);
}

#[test]
fn what_an_idempotent_producer_repeats_is_answered_and_not_stored_again() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Store::open(directory.path(), Settings::default()).unwrap();
    let send = |topic: &Topic, texts: &[&str], sequence: u64| {
        let batch: Vec<Record<'_>> = texts.iter().map(|text| value(text)).collect();
        let options = SendOptions {
            partition: Some(0),
            sequence: Some(("loader", Some(sequence))),
            ..SendOptions::default()
        };
        topic.send_batch(&batch, &options)
    };
    let store = open();
    let of = topic(&store, 2);
    let first = send(&of, &["a", "b"], 0).unwrap();
    of.send(&value("other"), &SendOptions { partition: Some(0), ..Default::default() }).unwrap();
    let second = send(&of, &["c"], 2).unwrap();
    assert_eq!(second[0].offset, 3);
    assert_eq!(send(&of, &["a", "b"], 0).unwrap(), first);
    store.close().unwrap();
    // Nor after the store was opened again.
    let store = open();
    let of = Topic::open(&store, "payments").unwrap();
    assert_eq!(send(&of, &["a", "b"], 0).unwrap(), first);
    assert_eq!(send(&of, &["c"], 2).unwrap(), second);
    let gap = send(&of, &["e"], 4).unwrap_err();
    assert_eq!(gap.kind(), ErrorKind::Conflict);
    assert!(gap.to_string().contains("3 is next"), "{gap}");
    for sequence in 3..9 {
        send(&of, &["more"], sequence).unwrap();
    }
    assert_eq!(send(&of, &["a", "b"], 0).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(values(&of, 0).len(), 10);
    // Another producer, and another partition, count for themselves.
    let options = SendOptions {
        partition: Some(1),
        sequence: Some(("loader", Some(0))),
        ..Default::default()
    };
    assert_eq!(of.send(&value("x"), &options).unwrap().offset, 0);
}

#[test]
fn a_batch_over_partitions_is_repeated_as_a_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Store::open(directory.path(), Settings::default()).unwrap();
    let texts: Vec<String> = (0..20).map(|n| format!("k{n}")).collect();
    let batch: Vec<Record<'_>> =
        texts.iter().map(|text| Record { key: Some(text.as_bytes()), ..value(text) }).collect();
    let send = |topic: &Topic, records: &[Record<'_>], sequences: &[(u32, u64)]| {
        let sequence = Some(("loader", None));
        topic.send_batch(records, &SendOptions { sequence, sequences, ..SendOptions::default() })
    };
    let store = open();
    let of = topic(&store, 3);
    let first = send(&of, &batch, &[(0, 0), (1, 0), (2, 0)]).unwrap();
    assert!((0..3).all(|partition| of.offsets(partition).unwrap().end > 0));
    store.close().unwrap();
    let store = open();
    let of = Topic::open(&store, "payments").unwrap();
    assert_eq!(send(&of, &batch, &[(0, 0), (1, 0), (2, 0)]).unwrap(), first);
    // Without numbers it is another batch, whose numbers are those that come next.
    let next = |partition| of.next_sequence(partition, "loader").unwrap();
    let behind = [(0, next(0)), (1, next(1)), (2, next(2))];
    let second = send(&of, &batch, &[]).unwrap();
    assert_ne!(second, first);
    assert_eq!(send(&of, &batch, &behind).unwrap(), second);
    let sizes = [of.offsets(0), of.offsets(1), of.offsets(2)].map(|offsets| offsets.unwrap().end);
    // One of its partitions anew and the others again is no repetition, and nothing is stored.
    let mixed = send(&of, &batch, &[(0, next(0)), behind[1], behind[2]]).unwrap_err();
    assert_eq!(mixed.kind(), ErrorKind::Conflict, "{mixed}");
    let gap = send(&of, &batch, &[(0, next(0)), (1, next(1) + 1), (2, next(2))]).unwrap_err();
    assert_eq!(gap.kind(), ErrorKind::Conflict, "{gap}");
    let odd = send(&of, &batch, &[(7, 0)]).unwrap_err();
    assert!(odd.to_string().contains("sequence for partition 7"), "{odd}");
    let one = SendOptions { sequence: Some(("loader", Some(0))), ..SendOptions::default() };
    assert_eq!(of.send_batch(&batch, &one).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let now = [of.offsets(0), of.offsets(1), of.offsets(2)].map(|offsets| offsets.unwrap().end);
    assert_eq!(now, sizes);
}

#[test]
fn names_that_could_be_paths_and_numbers_that_make_no_sense_are_refused() {
    let store = store();
    let long = "x".repeat(250);
    for name in ["", ".", "..", "../../../escaped", "a/b", "a\\b", "a b", "ä", "a\0", "__x", &long]
    {
        let error = Topic::create(&store, name, &TopicOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name:?}");
        assert_eq!(Topic::open(&store, name).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert!(store.streams().is_empty(), "nothing is left of what was refused");
    Topic::create(&store, &long[1..], &TopicOptions::default()).unwrap();
    let create = |options| Topic::create(&store, "t", &options).map(|_| ()).map_err(|e| e.kind());
    let none = TopicOptions { partitions: 0, ..TopicOptions::default() };
    assert_eq!(create(none), Err(ErrorKind::InvalidArgument));
    let many = TopicOptions { partitions: 5_000, ..TopicOptions::default() };
    assert_eq!(create(many), Err(ErrorKind::InvalidArgument));
    assert_eq!(Topic::open(&store, "t").unwrap_err().kind(), ErrorKind::NotFound);
    let two = TopicOptions { partitions: 2, ..TopicOptions::default() };
    assert_eq!(create(two), Ok(()));
    assert_eq!(create(two), Ok(()));
    assert_eq!(create(TopicOptions::default()), Err(ErrorKind::AlreadyExists));
    let options = SendOptions { partition: Some(2), ..SendOptions::default() };
    let topic = Topic::open(&store, "t").unwrap();
    let error = topic.send(&value("a"), &options).unwrap_err();
    assert!(error.to_string().contains("no partition 2: it has 2"), "{error}");
}

#[test]
fn partitions_are_added_and_topics_removed() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    let of = topic(&store, 1);
    of.send(&value("a"), &SendOptions::default()).unwrap();
    of.set_partitions(3).unwrap();
    let at = SendOptions { partition: Some(2), ..SendOptions::default() };
    of.send(&value("b"), &at).unwrap();
    assert_eq!(of.set_partitions(2).unwrap_err().kind(), ErrorKind::InvalidArgument);
    store.close().unwrap();
    drop((of, store));
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    let of = Topic::open(&store, "payments").unwrap();
    assert_eq!((of.partitions(), values(&of, 0).len(), values(&of, 2).len()), (3, 1, 1));
    assert_eq!(Topic::names(&store), ["payments"]);
    Topic::drop(&store, "payments").unwrap();
    assert!(Topic::names(&store).is_empty() && store.streams().is_empty());
    // One of the same name has nothing of the old one.
    assert_eq!(topic(&store, 1).offsets(0).unwrap(), 0..0);
}

#[test]
fn the_store_s_clock_is_taken_where_the_topic_says_so() {
    let store = store();
    let options = TopicOptions { stamp: Stamp::Store, ..TopicOptions::default() };
    let topic = Topic::create(&store, "t", &options).unwrap();
    let record = Record { timestamp_ns: Some(5), ..value("a") };
    let receipt = topic.send(&record, &SendOptions::default()).unwrap();
    assert!(receipt.timestamp_ns > 1_600_000_000_000_000_000, "{receipt:?}");
}

#[test]
fn many_senders_at_once_get_each_offset_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    let topic = topic(&store, 2);
    let (senders, each) = (8_u64, 100_u64);
    let mut offsets: Vec<(u32, u64)> = std::thread::scope(|scope| {
        let sender = |sender: u64| {
            let topic = topic.clone();
            scope.spawn(move || {
                let text = |n: u64| format!("{sender} {n}");
                (0..each)
                    .map(|n| topic.send(&value(&text(n)), &SendOptions::default()).unwrap())
                    .map(|receipt| (receipt.partition, receipt.offset))
                    .collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..senders).map(sender).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    offsets.sort_unstable();
    let of = |partition: u32| offsets.iter().filter(move |(p, _)| *p == partition).map(|(_, o)| *o);
    for partition in 0..2 {
        assert!(of(partition).eq(topic.offsets(partition).unwrap()));
    }
    assert_eq!(offsets.len() as u64, senders * each);
}

/// Exactly once within a store: the rows and the record are there together or not at all.
#[test]
fn a_commit_with_other_changes_is_whole_or_absent() {
    let store = store();
    let topic = topic(&store, 1);
    let other = topic_of(&store, "copies");
    let wrong = Changes::new().delete_range(timestrata_engine::StreamId(999), Default::default());
    let options = SendOptions { durability: Durability::Written, ..SendOptions::default() };
    let error = topic.send_batch_with(&[value("a")], &options, wrong).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(topic.offsets(0).unwrap(), 0..0);
    topic.send(&value("a"), &options).unwrap();
    assert_eq!((values(&topic, 0).len(), values(&other, 0).len()), (1, 0));
}

fn topic_of(store: &Store, name: &str) -> Topic {
    Topic::create(store, name, &TopicOptions::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_sent_is_read_in_order_through_flushes_and_reopening(
        steps in prop::collection::vec((0_usize..400, 0_u8..4), 1..8),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let settings = || Settings { memtable_bytes_max: 1 << 20, ..Settings::default() };
        let mut store = Store::open(directory.path(), settings()).unwrap();
        let mut of = topic(&store, 1);
        let mut expected: Vec<(u64, String)> = Vec::new();
        for (records, then) in steps {
            let texts: Vec<String> =
                (0..records).map(|n| format!("{} {n}", expected.len())).collect();
            let batch: Vec<Record<'_>> = texts.iter().map(|text| value(text)).collect();
            of.send_batch(&batch, &SendOptions::default()).unwrap();
            let first = expected.len() as u64;
            expected.extend((first..).zip(texts));
            match then {
                0 => store.flush().unwrap(),
                1 => store.compact(None).unwrap(),
                2 => {
                    drop(of);
                    store.close().unwrap();
                    store = Store::open(directory.path(), settings()).unwrap();
                    of = Topic::open(&store, "payments").unwrap();
                }
                _ => {}
            }
            prop_assert_eq!(of.offsets(0).unwrap(), 0..expected.len() as u64);
            prop_assert_eq!(&values(&of, 0), &expected);
        }
    }
}

#[test]
fn packed_topics_take_less_and_give_the_same_records_and_proofs() {
    let texts: Vec<String> = (0..10_000)
        .map(|n| format!("order {} of customer {} has arrived", n * 7, n % 97))
        .collect();
    let mut taken = Vec::new();
    let mut roots = Vec::new();
    for compression in [RunCompression::Usual, RunCompression::Lz4, RunCompression::None] {
        let store = store();
        let options = TopicOptions { compression: Some(compression), ..TopicOptions::default() };
        let topic = Topic::create(&store, "payments", &options).unwrap();
        let records: Vec<Record<'_>> = texts
            .iter()
            .map(|text| Record { timestamp_ns: Some(1), headers: vec![("a", b"1")], ..value(text) })
            .collect();
        topic.send_batch(&records, &SendOptions::default()).unwrap();
        store.compact(None).unwrap();
        assert_eq!(topic.options().packing(), compression);
        let found = values(&topic, 0);
        assert!(found.iter().map(|(_, text)| text).eq(&texts), "{compression:?}");
        let one = topic.get(0, 4_321).unwrap().unwrap();
        assert_eq!(one.get(0).unwrap(), (4_321, records[4_321].clone()));
        roots.push(topic.root(0, None).unwrap());
        let stats = store.stats();
        taken.push(stats.streams.iter().map(|stream| stream.run_bytes).sum::<u64>());
        // It is what it was made as, for who asks for nothing as well: a topic of before isn't packed.
        Topic::create(&store, "payments", &TopicOptions::default()).unwrap();
        let other = TopicOptions { compression: Some(RunCompression::Zstd(9)), ..options };
        let error = Topic::create(&store, "payments", &other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        topic.set_partitions(2).unwrap();
        assert_eq!(topic.options().packing(), compression);
    }
    assert!(taken.is_sorted_by(|less, more| less < more), "{taken:?}");
    assert!(roots.iter().all(|root| *root == roots[0]));
}
