//! Producers of one name: the one that began last sends, and no other.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;

use timestrata_engine::{Durability, ErrorKind, Settings, Store};
use timestrata_topic::{Receipt, Record, SendOptions, Topic, TopicOptions};

fn topic(store: &Store) -> Topic {
    let options = TopicOptions { partitions: 2, ..TopicOptions::default() };
    Topic::create(store, "payments", &options).unwrap()
}

fn send(topic: &Topic, producer: &str, epoch: u64, partition: u32) -> Result<Receipt, ErrorKind> {
    let options = SendOptions {
        partition: Some(partition),
        durability: Durability::Written,
        sequence: Some((producer, None)),
        epoch: Some(epoch),
        ..SendOptions::default()
    };
    let record = Record { value: Some(b"10"), ..Record::default() };
    topic.send(&record, &options).map_err(|error| error.kind())
}

#[test]
fn a_producer_sends_nothing_once_another_of_its_name_has_begun() {
    let store = Store::memory(Settings::default()).unwrap();
    let topic = topic(&store);
    let mut epoch = topic.begin_producer("till").unwrap();
    for _ in 0..50 {
        let (mine, is_over) = (epoch, Err(ErrorKind::Conflict));
        let sent = thread::scope(|scope| {
            // Both go on until they are refused.
            let senders: Vec<_> = (0..2)
                .map(|partition| {
                    let topic = &topic;
                    scope.spawn(move || {
                        let mut last = None;
                        loop {
                            match send(topic, "till", mine, partition) {
                                Ok(receipt) => last = Some(receipt.offset),
                                Err(kind) => return (last, kind),
                            }
                        }
                    })
                })
                .collect();
            epoch = topic.begin_producer("till").unwrap();
            let ends = [0, 1].map(|partition| topic.offsets(partition).unwrap().end);
            let sent = senders.into_iter().map(|sender| sender.join().unwrap());
            sent.zip(ends).collect::<Vec<_>>()
        });
        assert_eq!(epoch, mine + 1);
        for ((last, kind), end) in sent {
            assert_eq!(kind, ErrorKind::Conflict);
            assert!(last.is_none_or(|last| last < end), "{last:?} was sent behind {end}");
        }
        assert_eq!(send(&topic, "till", mine, 0), is_over);
        send(&topic, "till", epoch, 0).unwrap();
    }
    // One that never began, and another name.
    assert_eq!(send(&topic, "till", epoch + 1, 0), Err(ErrorKind::Conflict));
    assert_eq!(send(&topic, "none", 1, 0), Err(ErrorKind::Conflict));
    let other = topic.begin_producer("other").unwrap();
    send(&topic, "other", other, 1).unwrap();
    send(&topic, "till", epoch, 1).unwrap();
}

#[test]
fn epochs_go_on_after_a_reopen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut last = 0;
    for _ in 0..3 {
        let store = Store::open(&path, Settings::default()).unwrap();
        let topic = topic(&store);
        // Of the last process, which some client may still have.
        if last > 0 {
            send(&topic, "till", last, 0).unwrap();
        }
        let epoch = topic.begin_producer("till").unwrap();
        assert_eq!(epoch, last + 1);
        if last > 0 {
            assert_eq!(send(&topic, "till", last, 0), Err(ErrorKind::Conflict));
        }
        send(&topic, "till", epoch, 0).unwrap();
        last = epoch;
        store.close().unwrap();
    }
}
