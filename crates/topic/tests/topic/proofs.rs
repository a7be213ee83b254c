//! Proofs of topics: every record, at every size, after whatever the store went through.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use timestrata_engine::{COLD_BLOCK_ROWS_PROPERTY, ErrorKind, Settings, Store};
use timestrata_merkle::{Hash, Tree, verify_consistency, verify_inclusion};
use timestrata_topic::{Record, RecordPlace, SendOptions, Topic, TopicOptions, write_envelope};

fn record(text: &str) -> Record<'_> {
    Record { value: Some(text.as_bytes()), timestamp_ns: Some(1), ..Record::default() }
}

fn send(topic: &Topic, from: u64, records: u64) {
    let texts: Vec<String> = (from..from + records).map(|n| format!("record {n}")).collect();
    let batch: Vec<Record<'_>> = texts.iter().map(|text| record(text)).collect();
    topic.send_batch(&batch, &SendOptions::default()).unwrap();
}

/// The tree that somebody makes of the records alone.
fn tree(records: u64) -> Tree {
    let mut tree = Tree::new();
    for offset in 0..records {
        let place = RecordPlace { topic: "payments", partition: 0, offset, timestamp_ns: 1 };
        let mut entry = Vec::new();
        write_envelope(&place, &record(&format!("record {offset}")), &mut entry).unwrap();
        tree.append(Hash::of_leaf(&entry));
    }
    tree
}

#[test]
fn the_envelope_has_the_bytes_that_the_format_says() {
    let place = RecordPlace { topic: "abc", partition: 1, offset: 2, timestamp_ns: 3 };
    let entry = |record: &Record<'_>| {
        let mut entry = Vec::new();
        write_envelope(&place, record, &mut entry).unwrap();
        entry
    };
    let head = |tags: u8| {
        let mut head = vec![1, tags, 3];
        head.extend(b"abc\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03");
        head
    };
    assert_eq!(entry(&Record::default()), head(0));
    let empty = Record { key: Some(b""), value: Some(b""), ..Record::default() };
    let hash = Hash::of_bytes(b"").0;
    assert_eq!(entry(&empty), [head(5), hash.to_vec(), hash.to_vec()].concat());
    let headers = Record { headers: vec![("n", b"vv")], ..Record::default() };
    let hashed = b"\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01n\0\0\0\0\0\0\0\x02vv";
    assert_eq!(entry(&headers), [head(2), Hash::of_bytes(hashed).0.to_vec()].concat());
    // The largest is far below what a tile's entry may have.
    let long = "x".repeat(249);
    let place = RecordPlace { topic: &long, ..place };
    let mut entry = Vec::new();
    write_envelope(&place, &Record { key: Some(b"k"), ..headers }, &mut entry).unwrap();
    assert!(entry.len() < 400, "{}", entry.len());
}

#[test]
fn proofs_of_sizes_and_records_that_are_not_there_are_refused() {
    let store = Store::memory(Settings::default()).unwrap();
    let topic = Topic::create(&store, "payments", &TopicOptions::default()).unwrap();
    assert_eq!(topic.root(0, None).unwrap(), (0, Hash::of_empty_tree()));
    send(&topic, 0, 3);
    let kind = |result: timestrata_engine::Result<Vec<Hash>>| result.unwrap_err().kind();
    assert_eq!(kind(topic.inclusion_proof(0, 0, 4)), ErrorKind::OutOfRange);
    assert_eq!(kind(topic.inclusion_proof(0, 2, 2)), ErrorKind::InvalidArgument);
    assert_eq!(kind(topic.inclusion_proof(1, 0, 1)), ErrorKind::InvalidArgument);
    assert_eq!(kind(topic.consistency_proof(0, 3, 2)), ErrorKind::InvalidArgument);
    assert_eq!(kind(topic.consistency_proof(0, 0, 2)), ErrorKind::InvalidArgument);
    assert_eq!(kind(topic.consistency_proof(0, 1, 4)), ErrorKind::OutOfRange);
    assert_eq!(topic.root(0, Some(4)).unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(topic.entry(0, 3).unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(topic.entry(0, 2).unwrap().len(), 1 + 1 + 1 + 8 + 4 + 8 + 8 + 32);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn proofs_are_those_of_a_tree_of_the_records(
        steps in prop::collection::vec((1_u64..700, 0_u8..4), 1..6),
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 8),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path(), Settings::default()).unwrap();
        let mut topic = Topic::create(&store, "payments", &TopicOptions::default()).unwrap();
        let mut size = 0;
        for (records, then) in steps {
            send(&topic, size, records);
            size += records;
            match then {
                0 => store.flush().unwrap(),
                1 => store.compact(None).unwrap(),
                2 => {
                    drop(topic);
                    store.close().unwrap();
                    store = Store::open(directory.path(), Settings::default()).unwrap();
                    topic = Topic::open(&store, "payments").unwrap();
                }
                _ => {}
            }
        }
        let tree = tree(size);
        prop_assert_eq!(topic.root(0, None).unwrap(), (size, tree.root()));
        for (of, to) in picks {
            let size = of.index(usize::try_from(size).unwrap()) as u64 + 1;
            let offset = to.index(usize::try_from(size).unwrap()) as u64;
            let root = topic.root(0, Some(size)).unwrap().1;
            let leaf = Hash::of_leaf(&topic.entry(0, offset).unwrap());
            let proof = topic.inclusion_proof(0, offset, size).unwrap();
            prop_assert_eq!(&proof, &tree.inclusion_proof(offset, size).unwrap());
            prop_assert_eq!(verify_inclusion(leaf, offset, size, &proof, root), Ok(()));
            let old = offset + 1;
            let proof = topic.consistency_proof(0, old, size).unwrap();
            let before = topic.root(0, Some(old)).unwrap().1;
            prop_assert_eq!(verify_consistency(old, size, &proof, before, root), Ok(()));
        }
    }
}

/// Above two levels of tiles, and after reopening, which reads a few hundred rows of it.
#[test]
fn a_long_topic_proves_its_first_record_and_its_last() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    let topic = Topic::create(&store, "payments", &TopicOptions::default()).unwrap();
    let size = 70_000;
    (0..7).for_each(|part| send(&topic, part * size / 7, size / 7));
    let tree = tree(size);
    drop(topic);
    store.close().unwrap();
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    let topic = Topic::open(&store, "payments").unwrap();
    assert_eq!(topic.root(0, None).unwrap(), (size, tree.root()));
    for offset in [0, 255, 256, 65_535, 65_536, 69_999] {
        let proof = topic.inclusion_proof(0, offset, size).unwrap();
        assert_eq!(proof, tree.inclusion_proof(offset, size).unwrap(), "{offset}");
    }
    send(&topic, size, 1);
    assert_eq!(topic.offsets(0).unwrap(), 0..size + 1);
}

/// What a compaction holds of a tree, and a first proof verifies, is bounded by a block.
#[test]
fn a_compacted_tree_lies_in_blocks_of_a_few_megabytes() {
    let store = Store::memory(Settings::default()).unwrap();
    let topic = Topic::create(&store, "payments", &TopicOptions::default()).unwrap();
    let size = 70_000;
    for part in 0..7 {
        send(&topic, part * size / 7, size / 7);
        store.flush().unwrap();
    }
    store.compact(None).unwrap();
    let tiles = store.expect_stream("payments/0t").unwrap();
    let properties = &tiles.spec().properties;
    let rows = properties.iter().find(|(name, _)| name == COLD_BLOCK_ROWS_PROPERTY);
    let rows: u64 = rows.unwrap().1.parse().unwrap();
    let figures = store.stats().streams.into_iter().find(|stream| stream.name == "payments/0t");
    let figures = figures.unwrap();
    assert_eq!((figures.level0_runs, figures.run_rows), (0, size / 256 + 1));
    assert!(rows * figures.run_bytes / figures.run_rows < 4 << 20);
    let tree = tree(size);
    for offset in [0, 255, 65_535, 65_536, 69_999] {
        let proof = topic.inclusion_proof(0, offset, size).unwrap();
        assert_eq!(proof, tree.inclusion_proof(offset, size).unwrap(), "{offset}");
    }
}
