//! What somebody changes who can write to the store is found, and named.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch};
use timestrata_engine::{
    Changes, Durability, ErrorKind, KeyRange, LeadKey, Result, ScanSpec, Settings, Store,
};
use timestrata_merkle::{KeyName, Signer};
use timestrata_models::topic::{Audited, Record, SendOptions, Topic, TopicOptions, TopicRetention};

const RECORDS: u64 = 66_000;

fn filled() -> (Store, Topic) {
    let store = Store::memory(Settings::default()).unwrap();
    let topic = Topic::create(&store, "t", &TopicOptions::default()).unwrap();
    for first in (0..RECORDS).step_by(1_000) {
        let texts: Vec<String> = (first..first + 1_000).map(|n| n.to_string()).collect();
        let records: Vec<Record<'_>> = texts
            .iter()
            .map(|text| Record { value: Some(text.as_bytes()), ..Record::default() })
            .collect();
        let options = SendOptions { durability: Durability::Written, ..SendOptions::default() };
        topic.send_batch(&records, &options).unwrap();
    }
    (store, topic)
}

fn checkpoint(topic: &Topic) {
    let key = Signer::from_seed(KeyName::new("example.org").unwrap(), [1; 32]);
    topic.checkpoint(0, &key, None).unwrap();
}

/// Puts other bytes into a binary column of one row of a stream, in the way of somebody who knows the
/// format: all checksums fit.
fn alter(store: &Store, stream: &str, key: u64, column: usize, change: fn(&mut [u8])) {
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
    alter(&store, "t/0", 40_000, 3, flip_last);
    assert!(found(topic.audit(0)).contains("the record at offset 40000 was altered"));
}

#[test]
fn an_altered_tile_is_named() {
    let (store, topic) = filled();
    // The leaves of the third tile, whose last record ends at 768: its key is that times eight.
    alter(&store, "t/0t", 768 << 3, 1, flip_first);
    assert!(found(topic.audit(0)).contains("the record at offset 512 was altered"));
    // The tile above 256 of them.
    let (store, topic) = filled();
    alter(&store, "t/0t", (65_536 << 3) + 1, 1, flip_first);
    assert!(found(topic.audit(0)).contains("its stored tile 1/0 was altered"));
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
