//! A topic that keeps entries can be exported as a whole, whatever was thrown away of it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use timestrata_engine::{Durability, Settings, Store};
use timestrata_merkle::{Hash, KeyName, Signer, tiles_of};
use timestrata_topic::{Record, SendOptions, Topic, TopicOptions, TopicRetention};

const RECORDS: u64 = 3_000;

/// Records of a few keys, with headers here and there, the same in each store.
fn fill(topic: &Topic) {
    for first in (0..RECORDS).step_by(500) {
        let values: Vec<String> = (first..first + 500).map(|n| format!("value {n}")).collect();
        let keys: Vec<String> = (first..first + 500).map(|n| format!("key {}", n % 9)).collect();
        let records: Vec<Record<'_>> = (first..)
            .zip(values.iter().zip(&keys))
            .map(|(n, (value, key))| Record {
                key: (n % 11 != 0).then_some(key.as_bytes()),
                value: (n % 13 != 0).then_some(value.as_bytes()),
                headers: if n % 5 == 0 { vec![("by", b"ann")] } else { Vec::new() },
                timestamp_ns: Some(n as i64),
                ..Record::default()
            })
            .collect();
        let options = SendOptions { durability: Durability::Written, ..SendOptions::default() };
        topic.send_batch(&records, &options).unwrap();
    }
}

/// All files of the last checkpoint's export; `None` in place of those that can't be made.
fn exported(topic: &Topic) -> Vec<Option<Vec<u8>>> {
    let key = Signer::from_seed(KeyName::new("example.org").unwrap(), [1; 32]);
    topic.checkpoint(0, &key, None).unwrap();
    tiles_of(RECORDS).map(|tile| topic.tile(0, &tile).unwrap()).collect()
}

/// What two passes of retention leave of a topic that was made so; and the same topic where nothing was thrown away.
fn pruned(keep_entries: bool) -> (Store, Topic, Topic) {
    let store = Store::memory(Settings::default()).unwrap();
    let whole =
        Topic::create(&Store::memory(Settings::default()).unwrap(), "t", &TopicOptions::default());
    let whole = whole.unwrap();
    let options = TopicOptions { keep_entries, ..TopicOptions::default() };
    let topic = Topic::create(&store, "t", &options).unwrap();
    fill(&whole);
    fill(&topic);
    let by_key = TopicRetention { compact: true, ..TopicRetention::default() };
    topic.set_retention(by_key).unwrap();
    assert!(topic.retain().unwrap().superseded > 2_000);
    // Past records that are gone already, and into the tile that isn't full.
    let by_number = TopicRetention { records: Some(100), compact: true, ..by_key };
    topic.set_retention(by_number).unwrap();
    assert!(topic.retain().unwrap().expired > 0);
    store.flush().unwrap();
    store.compact(None).unwrap();
    (store, topic, whole)
}

#[test]
fn exports_of_a_topic_that_keeps_entries_are_those_of_one_that_keeps_records() {
    let (store, topic, whole) = pruned(true);
    let expected = exported(&whole);
    assert!(expected.iter().all(Option::is_some));
    assert_eq!(exported(&topic), expected);
    // Also of a handle that opens it anew.
    assert_eq!(exported(&Topic::open(&store, "t").unwrap()), expected);
    assert_eq!(topic.audit(0).unwrap().root, whole.root(0, None).unwrap().1);
    let gone = 5;
    assert!(topic.get(0, gone).unwrap().is_none());
    let entry = topic.entry(0, gone).unwrap();
    assert_eq!(entry, whole.entry(0, gone).unwrap());
    let proof = topic.inclusion_proof(0, gone, RECORDS).unwrap();
    assert_eq!(proof, whole.inclusion_proof(0, gone, RECORDS).unwrap());
    assert_eq!(topic.tile(0, &"tile/0/000".parse().unwrap()).unwrap().unwrap()[..32], {
        Hash::of_leaf(&whole.entry(0, 0).unwrap()).0
    });
}

#[test]
fn a_topic_that_keeps_no_entries_leaves_out_what_is_gone() {
    let (_store, topic, whole) = pruned(false);
    let (found, expected) = (exported(&topic), exported(&whole));
    assert!(found.iter().any(Option::is_none));
    let is_same = |(found, expected): (&Option<_>, &_)| found.is_none() || found == expected;
    assert!(found.iter().zip(&expected).all(is_same));
}

#[test]
fn partitions_that_are_added_keep_entries_too_and_all_go_with_the_topic() {
    let store = Store::memory(Settings::default()).unwrap();
    let options = TopicOptions { keep_entries: true, ..TopicOptions::default() };
    let topic = Topic::create(&store, "t", &options).unwrap();
    topic.set_partitions(2).unwrap();
    let sent = Record { value: Some(b"x"), partition: Some(1), ..Record::default() };
    topic.send(&sent, &SendOptions::default()).unwrap();
    let entry = topic.entry(1, 0).unwrap();
    let none = TopicRetention { records: Some(0), ..TopicRetention::default() };
    topic.set_retention(none).unwrap();
    assert_eq!(topic.retain().unwrap().expired, 1);
    assert_eq!(topic.entry(1, 0).unwrap(), entry);
    let other = Topic::create(&store, "t", &TopicOptions::default()).unwrap_err();
    assert!(other.to_string().contains("keep_entries is true"), "{other}");
    topic.remove().unwrap();
    assert!(store.streams().iter().all(|stream| !stream.name().starts_with('t')));
}
