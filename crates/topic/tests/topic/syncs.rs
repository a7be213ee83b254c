//! How often topics sync, and who waits for it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::watched_disk::{Step, WatchedDisk, Watcher};
use timestrata_engine::{Access, Disk, Io, Maintenance, Settings, Store};
use timestrata_io::sync::{Condvar, Mutex};
use timestrata_topic::{
    Consumer, ConsumerOptions, PollLimits, Record, SendOptions, Topic, TopicOptions,
};

/// Counts syncs, and can hold them back.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    syncs: u64,
    is_closed: bool,
}

impl Watcher for Gate {
    fn before(&self, step: Step, _: &Path) -> io::Result<()> {
        if step == Step::Sync {
            let mut state = self.state.lock();
            state.syncs += 1;
            self.changed.notify_all();
            while state.is_closed {
                self.changed.wait(&mut state);
            }
        }
        Ok(())
    }
}

impl Gate {
    fn syncs(&self) -> u64 {
        self.state.lock().syncs
    }

    fn close(&self) {
        self.state.lock().is_closed = true;
    }

    fn open(&self) {
        self.state.lock().is_closed = false;
        self.changed.notify_all();
    }

    /// Waits until somebody syncs.
    fn await_sync(&self, before: u64) {
        let mut state = self.state.lock();
        while state.syncs == before {
            self.changed.wait(&mut state);
        }
    }
}

fn topic() -> (Store, Topic, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let Io { disk, clock, rng } = Io::memory();
    let disk: Arc<dyn Disk> = Arc::new(WatchedDisk::new(disk, Arc::clone(&gate) as _));
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let io = Io { disk, clock, rng };
    let store = Store::open_with(io, Path::new("store"), Access::Write, settings).unwrap();
    let options = TopicOptions { partitions: 3, ..TopicOptions::default() };
    let topic = Topic::create(&store, "t", &options).unwrap();
    (store, topic, gate)
}

fn record(text: &str, partition: u32) -> Record<'_> {
    Record { value: Some(text.as_bytes()), partition: Some(partition), ..Record::default() }
}

#[test]
fn a_record_and_a_batch_of_many_are_one_sync_each() {
    let (_store, topic, gate) = topic();
    topic.send(&record("first", 0), &SendOptions::default()).unwrap();
    let before = gate.syncs();
    topic.send(&record("second", 0), &SendOptions::default()).unwrap();
    assert_eq!(gate.syncs() - before, 1);
    // Over three partitions, and so many that a tile of each gets full.
    let records: Vec<Record<'_>> = (0..1_000).map(|n| record("one of many", n % 3)).collect();
    topic.send_batch(&records, &SendOptions::default()).unwrap();
    assert_eq!(gate.syncs() - before, 2);
}

#[test]
fn senders_share_syncs_and_readers_wait_for_none() {
    let (store, topic, gate) = topic();
    topic.send(&record("first", 0), &SendOptions::default()).unwrap();
    let before = gate.syncs();
    gate.close();
    std::thread::scope(|scope| {
        let send = || scope.spawn(|| topic.send(&record("late", 0), &SendOptions::default()));
        let first = send();
        gate.await_sync(before);
        // Its sync is under way. These come too late for it, and share the next.
        let others: Vec<_> = (0..8).map(|_| send()).collect();
        while topic.offsets(0).unwrap().end < 10 {
            std::thread::yield_now();
        }
        let (sender, receiver) = channel();
        let reader = (store.clone(), topic.clone());
        std::thread::spawn(move || {
            let (store, topic) = reader;
            assert!(topic.get(0, 0).unwrap().is_some());
            let (size, _) = topic.root(0, None).unwrap();
            topic.inclusion_proof(0, 0, size).unwrap();
            let mut consumer = Consumer::new(&store, ConsumerOptions::default()).unwrap();
            consumer.subscribe(["t"]).unwrap();
            let polled = consumer.poll(Duration::ZERO, PollLimits::default()).unwrap();
            sender.send(polled.iter().map(|polled| polled.records.len()).sum::<usize>())
        });
        let read = receiver.recv_timeout(Duration::from_secs(60));
        gate.open();
        assert_eq!(read, Ok(10), "the reader waited for a sync");
        first.join().unwrap().unwrap();
        for sender in others {
            sender.join().unwrap().unwrap();
        }
    });
    assert_eq!(gate.syncs() - before, 2);
}
