//! Checkpoints and proofs that stand alone: what is believed of them, and what is never signed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use timestrata_engine::{ErrorKind, Settings, Store};
use timestrata_merkle::{Checkpoint, KeyName, NoteError, Signer, TlogProof, Verifier};
use timestrata_topic::{
    ClaimedPlace, Record, SendOptions, Topic, TopicOptions, origin_of, verify_record,
};

fn signer(seed: u8) -> Signer {
    Signer::from_seed(KeyName::new("example.com/log").unwrap(), [seed; 32])
}

fn open(directory: &Path) -> (Store, Topic) {
    let store = Store::open(directory, Settings::default()).unwrap();
    let topic = Topic::create(&store, "payments", &TopicOptions::default()).unwrap();
    (store, topic)
}

fn record(text: &str) -> Record<'_> {
    Record {
        key: Some(b"k"),
        value: Some(text.as_bytes()),
        timestamp_ns: Some(5),
        ..Default::default()
    }
}

fn send(topic: &Topic, text: &str) {
    topic.send(&record(text), &SendOptions::default()).unwrap();
}

/// Checkpoints of a key under the log's own name.
fn log_key(key: &Signer) -> Verifier {
    key.verifier().named(origin_of(key.verifier().name(), "payments", 0).unwrap())
}

#[test]
fn a_record_is_proved_to_whoever_has_the_proof_and_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let (_store, topic) = open(directory.path());
    let key = signer(1);
    assert_eq!(topic.prove(0, 0).unwrap_err().kind(), ErrorKind::OutOfRange);
    for n in 0..300 {
        send(&topic, &n.to_string());
    }
    let note = topic.checkpoint(0, &key, None).unwrap();
    let checkpoint = Checkpoint::open(note.as_bytes(), &log_key(&key)).unwrap();
    assert_eq!((checkpoint.origin.as_str(), checkpoint.size), ("example.com/log/payments/0", 300));
    assert_eq!(checkpoint.root, topic.root(0, None).unwrap().1);

    let text = topic.prove(0, 7).unwrap().to_string();
    let proof = TlogProof::parse(text.as_bytes()).unwrap();
    for key in [key.verifier().clone(), log_key(&key)] {
        let proved = verify_record(&proof, &record("7"), &key).unwrap();
        assert_eq!((proved.topic.as_str(), proved.partition, proved.offset), ("payments", 0, 7));
    }
    // Behind the checkpoint there is no proof yet.
    send(&topic, "300");
    let error = topic.prove(0, 300).unwrap_err();
    assert!(error.to_string().contains("the last checkpoint has 300 records"), "{error}");
    topic.checkpoint(0, &key, None).unwrap();
    topic.prove(0, 300).unwrap();
}

#[test]
fn a_proof_for_another_record_time_topic_place_or_key_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let (store, topic) = open(directory.path());
    let key = signer(1);
    (0..10).for_each(|n| send(&topic, &n.to_string()));
    topic.checkpoint(0, &key, None).unwrap();
    let proof = topic.prove(0, 7).unwrap();
    let fails = |proof: &TlogProof, record: &Record<'_>, key: &Verifier| {
        verify_record(proof, record, key).unwrap_err()
    };
    let trusted = key.verifier();
    assert!(matches!(fails(&proof, &record("8"), trusted), NoteError::Proof(_)));
    let later = Record { timestamp_ns: Some(6), ..record("7") };
    assert!(matches!(fails(&proof, &later, trusted), NoteError::Proof(_)));
    let timeless = Record { timestamp_ns: None, ..record("7") };
    assert!(matches!(fails(&proof, &timeless, trusted), NoteError::Text(_)));
    let keyless = Record { key: None, ..record("7") };
    assert!(matches!(fails(&proof, &keyless, trusted), NoteError::Proof(_)));
    let moved = TlogProof { index: 6, ..proof.clone() };
    assert!(matches!(fails(&moved, &record("7"), trusted), NoteError::Proof(_)));
    assert!(matches!(
        fails(&proof, &record("7"), signer(2).verifier()),
        NoteError::Unsigned { .. }
    ));
    let stranger = Signer::from_seed(KeyName::new("example.org").unwrap(), [1; 32]);
    assert!(matches!(fails(&proof, &record("7"), stranger.verifier()), NoteError::Origin { .. }));
    // The same records in a topic of another name are another log.
    let other = Topic::create(&store, "refunds", &TopicOptions::default()).unwrap();
    (0..10).for_each(|n| send(&other, &n.to_string()));
    other.checkpoint(0, &key, None).unwrap();
    let of_other = other.prove(0, 7).unwrap();
    assert_eq!(verify_record(&of_other, &record("7"), trusted).unwrap().topic, "refunds");
    let mixed = TlogProof { checkpoint: of_other.checkpoint, ..proof };
    assert!(matches!(fails(&mixed, &record("7"), trusted), NoteError::Proof(_)));
}

/// The story: JSON with another offset, or another topic, was said to be proved.
#[test]
fn a_record_that_says_another_place_than_is_proved_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let (_store, topic) = open(directory.path());
    let key = signer(1);
    (0..10).for_each(|n| send(&topic, &n.to_string()));
    topic.checkpoint(0, &key, None).unwrap();
    let proof = topic.prove(0, 7).unwrap();
    let proved = verify_record(&proof, &record("7"), key.verifier()).unwrap();
    let says = |json: &str| {
        let claimed = ClaimedPlace::of_json(&serde_json::from_str(json).unwrap()).unwrap();
        proved.expect_at(&claimed).map_err(|error| error.to_string())
    };
    let read = record("7").to_json(topic.name(), 0, 7).to_string();
    for right in ["{}", r#"{"offset": 7}"#, r#"{"topic": null, "partition": 0}"#, &read] {
        assert_eq!(says(right), Ok(()), "{right}");
    }
    for (wrong, part) in [
        (r#"{"topic": "other", "offset": 7}"#, "topic"),
        (r#"{"partition": 1}"#, "partition"),
        (r#"{"offset": 6}"#, "offset"),
    ] {
        assert!(says(wrong).unwrap_err().contains(part), "{wrong}");
    }
    let odd = serde_json::from_str(r#"{"offset": "7"}"#).unwrap();
    assert!(ClaimedPlace::of_json(&odd).is_err());
}

#[test]
fn a_store_put_back_to_an_older_copy_does_not_sign_against_what_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let (live, backup) = (directory.path().join("live"), directory.path().join("backup"));
    let key = signer(1);
    let (store, topic) = open(&live);
    (0..3).for_each(|n| send(&topic, &n.to_string()));
    store.backup(&backup).unwrap();
    (3..6).for_each(|n| send(&topic, &n.to_string()));
    let known = topic.checkpoint(0, &key, None).unwrap();
    store.close().unwrap();
    drop((store, topic));

    let (_store, topic) = open(&backup);
    let error = topic.checkpoint(0, &key, Some(known.as_bytes())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("has 6 records and the partition 3"), "{error}");
    // It went on, and differently.
    (3..9).for_each(|n| send(&topic, &format!("other {n}")));
    let error = topic.checkpoint(0, &key, Some(known.as_bytes())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("its records are others"), "{error}");
    assert!(topic.last_checkpoint(0).unwrap().is_none(), "nothing was signed");
}

#[test]
fn a_known_checkpoint_of_another_log_or_key_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (store, topic) = open(directory.path());
    send(&topic, "a");
    let other = Topic::create(&store, "refunds", &TopicOptions::default()).unwrap();
    send(&other, "a");
    let of_other = other.checkpoint(0, &signer(1), None).unwrap();
    let by_other = topic.checkpoint(0, &signer(2), None).unwrap();
    for known in [of_other.as_bytes(), by_other.as_bytes(), b"no note"] {
        let error = topic.checkpoint(0, &signer(1), Some(known)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    // The topic's own last one is compared whoever signed it: keys may change.
    topic.checkpoint(0, &signer(1), None).unwrap();
}

#[test]
fn every_later_checkpoint_is_consistent_with_every_earlier_one() {
    let directory = tempfile::tempdir().unwrap();
    let key = signer(1);
    let mut signed: Vec<Checkpoint> = Vec::new();
    for round in 0..6_u64 {
        let (store, topic) = open(directory.path());
        (0..round * 97).for_each(|n| send(&topic, &format!("{round} {n}")));
        let note = topic.checkpoint(0, &key, None).unwrap();
        let now = Checkpoint::open(note.as_bytes(), &log_key(&key)).unwrap();
        for earlier in signed.iter().filter(|earlier| earlier.size > 0) {
            let proof = topic.consistency_proof(0, earlier.size, now.size).unwrap();
            let (old, new) = (earlier.root, now.root);
            timestrata_merkle::verify_consistency(earlier.size, now.size, &proof, old, new)
                .unwrap();
        }
        signed.push(now);
        store.close().unwrap();
    }
}
