//! What a topic publishes: checkpoints of all partitions, keys of their logs, and that one follows from another.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use timestrata_engine::{ErrorKind, Io, Settings, Store};
use timestrata_merkle::{Checkpoint, Hash, KeyName, NoteError, Signer};
use timestrata_topic::{
    KeyFile, PartitionCheckpoint, Record, SendOptions, Topic, TopicOptions, hashes_of_text,
    text_of_hashes, verifier_of_log, verify_checkpoints,
};

fn open(directory: &Path, partitions: u32) -> (Store, Topic) {
    let store = Store::open(directory, Settings::default()).unwrap();
    let options = TopicOptions { partitions, ..TopicOptions::default() };
    let topic = Topic::create(&store, "payments", &options).unwrap();
    (store, topic)
}

fn send(topic: &Topic, partition: u32, text: &str) {
    let record = Record { value: Some(text.as_bytes()), ..Record::default() };
    let options = SendOptions { partition: Some(partition), ..SendOptions::default() };
    topic.send(&record, &options).unwrap();
}

fn new_ones(all: &[PartitionCheckpoint]) -> Vec<u32> {
    all.iter().filter(|each| each.is_new).map(|each| each.partition).collect()
}

#[test]
fn partitions_are_signed_together_and_those_without_new_records_are_left_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let (_store, topic) = open(&directory.path().join("store"), 3);
    let key =
        KeyFile::generate(&Io::os(), &directory.path().join("key"), "example.org/log").unwrap();
    send(&topic, 1, "a");
    let first = topic.checkpoint_all(&key).unwrap();
    assert_eq!(new_ones(&first), [0, 1, 2], "an empty one is signed too, once");
    for (partition, size) in [(0, 0), (1, 1), (2, 0)] {
        let verifier = verifier_of_log(key.signer().verifier(), "payments", partition).unwrap();
        let stored = topic.last_checkpoint(partition).unwrap().unwrap();
        let checkpoint = Checkpoint::open(&stored, &verifier).unwrap();
        assert_eq!(checkpoint.origin, format!("example.org/log/payments/{partition}"));
        assert_eq!(checkpoint.size, size);
        let beside = directory.path().join(format!("key.checkpoints/payments/{partition}"));
        #[expect(clippy::disallowed_methods, reason = "what is kept beside a key")]
        let beside = std::fs::read(beside).unwrap();
        assert_eq!(beside, stored);
    }
    send(&topic, 2, "b");
    let second = topic.checkpoint_all(&key).unwrap();
    assert_eq!(new_ones(&second), [2]);
    assert_eq!((&second[0].note, &second[1].note), (&first[0].note, &first[1].note));
    // Another key has signed nothing of it yet.
    let other = KeyFile::generate(&Io::os(), &directory.path().join("other"), "example.org/log");
    assert_eq!(new_ones(&topic.checkpoint_all(&other.unwrap()).unwrap()), [0, 1, 2]);
    topic.set_partitions(4).unwrap();
    assert!(new_ones(&topic.checkpoint_all(&key).unwrap()).contains(&3));
}

/// One partition that was put back must neither be signed nor keep the others from that.
#[test]
fn a_partition_that_may_not_be_signed_holds_up_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let key =
        KeyFile::generate(&Io::os(), &directory.path().join("key"), "example.org/log").unwrap();
    let (live, backup) = (directory.path().join("live"), directory.path().join("backup"));
    let (store, topic) = open(&live, 2);
    store.backup(&backup).unwrap();
    send(&topic, 0, "a");
    topic.checkpoint_by(0, &key).unwrap();
    store.close().unwrap();
    drop((store, topic));

    let (_store, topic) = open(&backup, 2);
    send(&topic, 1, "b");
    let error = topic.checkpoint_all(&key).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("payments/0"), "{error}");
    assert!(topic.last_checkpoint(0).unwrap().is_none());
    assert!(topic.last_checkpoint(1).unwrap().is_some());
}

#[test]
fn a_later_checkpoint_is_believed_only_with_a_proof_that_it_begins_with_the_earlier_one() {
    let directory = tempfile::tempdir().unwrap();
    let (store, topic) = open(directory.path(), 1);
    let signer = Signer::from_seed(KeyName::new("example.org/log").unwrap(), [7; 32]);
    let trusted = signer.verifier();
    let own = verifier_of_log(trusted, "payments", 0).unwrap();
    let sign = |topic: &Topic| topic.checkpoint(0, &signer, None).unwrap();
    let nothing = sign(&topic);
    (0..300).for_each(|n| send(&topic, 0, &n.to_string()));
    let old = sign(&topic);
    (0..50).for_each(|n| send(&topic, 0, &n.to_string()));
    let new = sign(&topic);
    let proof = topic.consistency_proof(0, 300, 350).unwrap();
    assert_eq!(hashes_of_text(&text_of_hashes(&proof)).unwrap(), proof);
    let verify = |old: &str, new: &str, proof: &[Hash]| {
        verify_checkpoints(old.as_bytes(), new.as_bytes(), proof, trusted)
    };
    for key in [trusted, &own] {
        let (before, after) =
            verify_checkpoints(old.as_bytes(), new.as_bytes(), &proof, key).unwrap();
        assert_eq!((before.size, after.size), (300, 350));
    }
    verify(&nothing, &new, &[]).unwrap();
    verify(&new, &new, &[]).unwrap();
    // In the wrong order, without the proof, with one hash another, or with too many.
    assert!(verify(&new, &old, &proof).is_err());
    assert!(verify(&old, &new, &[]).is_err());
    assert!(verify(&nothing, &new, &proof).is_err());
    let mut altered = proof.clone();
    altered[0].0[0] ^= 1;
    assert!(verify(&old, &new, &altered).is_err());
    // By another key, of another log, and a size that was not signed.
    let stranger = Signer::from_seed(KeyName::new("example.org/log").unwrap(), [8; 32]);
    let by_stranger =
        verify_checkpoints(old.as_bytes(), new.as_bytes(), &proof, stranger.verifier());
    assert!(matches!(by_stranger, Err(NoteError::Unsigned { .. })), "{by_stranger:?}");
    let other = Topic::create(&store, "refunds", &TopicOptions::default()).unwrap();
    let of_other = sign(&other);
    assert!(matches!(verify(&of_other, &new, &[]), Err(NoteError::Origin { .. })));
    assert!(matches!(
        verify(&old.replace("\n300\n", "\n301\n"), &new, &proof),
        Err(NoteError::Forged { .. })
    ));
    assert!(verify_checkpoints(b"no note", new.as_bytes(), &proof, trusted).is_err());
    assert!(hashes_of_text("no hash\n").is_err());
}
