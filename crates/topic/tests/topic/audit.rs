//! What somebody changes who can write to the store is found, and named.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch};
use timestrata_engine::{
    Changes, Durability, ErrorKind, KeyRange, LeadKey, Result, ScanSpec, Settings, Store,
};
use timestrata_merkle::{KeyName, Signer};
use timestrata_topic::{Audited, Record, SendOptions, Topic, TopicOptions, TopicRetention};

const RECORDS: u64 = 66_000;

fn filled() -> (Store, Topic) {
    let store = Store::memory(Settings::default()).unwrap();
    let topic = fill(&store, RECORDS);
    (store, topic)
}

fn fill(store: &Store, records: u64) -> Topic {
    let topic = Topic::open(store, "t")
        .or_else(|_| Topic::create(store, "t", &TopicOptions::default()))
        .unwrap();
    for first in (0..records).step_by(1_000) {
        let texts: Vec<String> = (first..first + 1_000).map(|n| n.to_string()).collect();
        let records: Vec<Record<'_>> = texts
            .iter()
            .map(|text| Record { value: Some(text.as_bytes()), ..Record::default() })
            .collect();
        let options = SendOptions { durability: Durability::Written, ..SendOptions::default() };
        topic.send_batch(&records, &options).unwrap();
    }
    topic
}

fn checkpoint(topic: &Topic) {
    let key = Signer::from_seed(KeyName::new("example.org").unwrap(), [1; 32]);
    topic.checkpoint(0, &key, None).unwrap();
}

/// Puts other bytes into a binary column of one row of a stream, in the way of somebody who knows the
/// format: all checksums fit.
fn alter(store: &Store, stream: &str, key: u64, column: usize, change: fn(&mut Vec<u8>)) {
    let id = store.stream(stream).unwrap().id();
    let range = KeyRange { lo: Some(LeadKey::Offset(key)), hi: Some(LeadKey::Offset(key + 1)) };
    let spec = ScanSpec { range, ..ScanSpec::default() };
    let row = store.snapshot().unwrap().collect(id, &spec).unwrap();
    assert_eq!(row.num_rows(), 1);
    let mut columns = row.columns().to_vec();
    let bytes = columns[column].as_any().downcast_ref::<BinaryArray>().unwrap();
    let mut bytes = bytes.value(0).to_vec();
    change(&mut bytes);
    columns[column] = Arc::new(BinaryArray::from_vec(vec![&bytes])) as ArrayRef;
    let row = RecordBatch::try_new(row.schema(), columns).unwrap();
    store.commit(Changes::new().delete_range(id, range), Durability::Written).unwrap();
    store.commit(Changes::new().insert(id, row), Durability::Written).unwrap();
}

fn flip_last(bytes: &mut [u8]) {
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
}

fn flip_first(bytes: &mut [u8]) {
    if let Some(first) = bytes.first_mut() {
        *first ^= 1;
    }
}

fn found(result: Result<Audited>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    error.to_string()
}

#[test]
fn a_sound_topic_passes_also_after_records_were_thrown_away() {
    let (_store, topic) = filled();
    checkpoint(&topic);
    let (size, root) = topic.root(0, None).unwrap();
    assert_eq!(topic.audit(0).unwrap(), Audited { records: RECORDS, size, root });
    let retention = TopicRetention { records: Some(1_000), ..TopicRetention::default() };
    topic.set_retention(retention).unwrap();
    topic.retain().unwrap();
    assert_eq!(topic.audit(0).unwrap(), Audited { records: 1_000, size, root });
}

#[test]
fn an_altered_record_is_named() {
    let (store, topic) = filled();
    alter(&store, "t/0", 40_000, 3, |bytes| flip_last(bytes));
    assert!(found(topic.audit(0)).contains("the record at offset 40000 was altered"));
}

/// The story: an audit ended with what it found first, so that nobody knew how much was changed.
#[test]
fn all_that_was_altered_is_named_up_to_a_bound() {
    let (store, topic) = filled();
    for offset in 0..25 {
        alter(&store, "t/0", 1_000 * offset, 3, |bytes| flip_last(bytes));
    }
    alter(&store, "t/0t", 768 << 3, 1, |bytes| flip_last(bytes));
    let found = found(topic.audit(0));
    for words in ["the record at offset 0 was altered", "offset 19000 was altered", "and 6 more"] {
        assert!(found.contains(words), "{found}");
    }
    assert!(!found.contains("offset 20000"), "{found}");
}

#[test]
fn an_altered_tile_is_named() {
    let (store, topic) = filled();
    // The leaves of the third tile, whose last record ends at 768: its key is that times eight.
    alter(&store, "t/0t", 768 << 3, 1, |bytes| flip_first(bytes));
    assert!(found(topic.audit(0)).contains("the record at offset 512 was altered"));
    // The tile above 256 of them.
    let (store, topic) = filled();
    alter(&store, "t/0t", (65_536 << 3) + 1, 1, |bytes| flip_first(bytes));
    assert!(found(topic.audit(0)).contains("its stored tile 1/0 was altered"));
    // A node that is stored with the leaves, above sixteen of them.
    let (store, topic) = filled();
    alter(&store, "t/0t", 768 << 3, 1, |bytes| flip_last(bytes));
    assert!(found(topic.audit(0)).contains("its stored tile 0/2 was altered"));
}

/// Keys of the two tiles above leaves in [`TWO_ABOVE`] records.
const ABOVE: [u64; 2] = [(65_536 << 3) + 1, (131_072 << 3) + 1];
const TWO_ABOVE: u64 = 132_000;

fn reopened(directory: &std::path::Path) -> (Store, Topic) {
    let store = Store::open(directory, Settings::default()).unwrap();
    let topic = Topic::open(&store, "t").unwrap();
    (store, topic)
}

#[test]
fn what_a_tile_says_of_those_before_it_is_held_against_them() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    let topic = fill(&store, TWO_ABOVE);
    let before = topic.root(0, None).unwrap();
    assert_eq!(topic.audit(0).unwrap().root, before.1);
    // The root of the first, as the second has it: behind its own 511 nodes.
    alter(&store, "t/0t", ABOVE[1], 1, |bytes| bytes[511 * 32] ^= 1);
    assert!(found(topic.audit(0)).contains("its stored tile 1/1 was altered"));
    alter(&store, "t/0t", ABOVE[1], 1, |bytes| bytes[511 * 32] ^= 1);
    // A node of the second's own.
    alter(&store, "t/0t", ABOVE[1], 1, |bytes| bytes[510 * 32] ^= 1);
    assert!(found(topic.audit(0)).contains("its stored tile 1/1 was altered"));
    // Half of what it says of the first.
    alter(&store, "t/0t", ABOVE[1], 1, |bytes| bytes.truncate(511 * 32 + 16));
    drop((topic, store));
    let (store, topic) = reopened(directory.path());
    let error = topic.root(0, None).unwrap_err();
    assert!(error.to_string().contains("hash tile 1048577"), "{error}");
    drop((topic, store));
}

#[test]
fn tiles_above_leaves_as_they_were_written_first_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    let topic = fill(&store, TWO_ABOVE);
    let (size, root) = topic.root(0, None).unwrap();
    let prove = |topic: &Topic| -> Vec<_> {
        let offsets = (0..size).step_by(7_001);
        offsets.map(|offset| topic.inclusion_proof(0, offset, size).unwrap()).collect()
    };
    let proofs = prove(&topic);
    // With the nodes of two levels, and nothing of other tiles.
    for key in ABOVE {
        alter(&store, "t/0t", key, 1, |bytes| {
            let middle: Vec<u8> = bytes[(256 + 128 + 64 + 32) * 32..][..16 * 32].to_vec();
            bytes.truncate(256 * 32);
            bytes.extend(middle);
        });
    }
    drop((topic, store));
    let (_store, topic) = reopened(directory.path());
    assert_eq!(topic.root(0, None).unwrap(), (size, root));
    assert_eq!(topic.audit(0).unwrap().root, root);
    assert!(prove(&topic) == proofs);
}

#[test]
fn a_missing_tile_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), Settings::default()).unwrap();
    let topic = fill(&store, TWO_ABOVE);
    let delete = |store: &Store, key: u64| {
        let id = store.stream("t/0t").unwrap().id();
        let range = KeyRange { lo: Some(LeadKey::Offset(key)), hi: Some(LeadKey::Offset(key + 1)) };
        store.commit(Changes::new().delete_range(id, range), Durability::Written).unwrap();
    };
    delete(&store, ABOVE[0]);
    assert!(found(topic.audit(0)).contains("there is no tile 1/0"));
    delete(&store, ABOVE[1]);
    drop((topic, store));
    let (_store, topic) = reopened(directory.path());
    let error = topic.root(0, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.to_string().contains("there is no tile 1/0"), "{error}");
}

#[test]
fn a_topic_that_was_written_anew_does_not_fit_its_checkpoint() {
    let (store, topic) = filled();
    checkpoint(&topic);
    // Another topic's records and tiles under this one's name, with its own checkpoint.
    let note = topic.last_checkpoint(0).unwrap().unwrap();
    let other = Topic::create(&store, "other", &TopicOptions::default()).unwrap();
    other.send(&Record::default(), &SendOptions::default()).unwrap();
    checkpoint(&other);
    let id = store.stream("other").unwrap().id();
    let state = store.snapshot().unwrap().collect(id, &ScanSpec::default()).unwrap();
    let forged = String::from_utf8(note).unwrap().replacen("66000", "1", 1);
    let mut columns = state.columns().to_vec();
    columns[7] = Arc::new(BinaryArray::from_vec(vec![forged.as_bytes()])) as ArrayRef;
    let row = RecordBatch::try_new(state.schema(), columns).unwrap();
    store.commit(Changes::new().insert(id, row), Durability::Written).unwrap();
    assert!(found(other.audit(0)).contains("its last checkpoint, of 1 records, has another root"));
}

#[test]
fn a_kept_entry_that_was_altered_is_named() {
    let store = Store::memory(Settings::default()).unwrap();
    let options = TopicOptions { keep_entries: true, ..TopicOptions::default() };
    let topic = Topic::create(&store, "t", &options).unwrap();
    fill(&store, 2_000);
    let retention = TopicRetention { records: Some(10), ..TopicRetention::default() };
    topic.set_retention(retention).unwrap();
    assert_eq!(topic.retain().unwrap().expired, 1_990);
    topic.audit(0).unwrap();
    alter(&store, "t/0e", 700, 1, |bytes| flip_last(bytes));
    let found = topic.audit(0).unwrap_err().to_string();
    assert!(found.contains("the kept entry at offset 700 was altered"), "{found}");
}
