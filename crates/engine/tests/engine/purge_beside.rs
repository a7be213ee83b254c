//! Purging beside a full disk, beside threads that write all the while, and given up.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use timestrata_engine::{
    Changes, Durability, ErrorKind, Io, Maintenance, Settings, Store, StreamId, check,
};
use timestrata_io::OpenMode;
use timestrata_io::sync::Mutex;

use crate::moments::kept;
use crate::quota_disk::{Quota, QuotaDisk};
use crate::support::*;
use crate::until::until;

const PLENTY: u64 = 1 << 30;
const NUMBERS: i64 = 120;

/// A text that nothing else holds, long enough that a few fill a run.
fn secret(number: i64) -> String {
    format!("secret-{number:06}-{}", "of nobody else ".repeat(40))
}

/// What the text of a number begins with, before its number.
const MARK: &[u8] = b"secret-";

/// The numbers whose texts are in some bytes, be it in part.
fn numbers_in(bytes: &[u8]) -> impl Iterator<Item = i64> {
    let places = bytes.windows(MARK.len() + 6).filter(|part| part.starts_with(MARK));
    places.filter_map(|part| std::str::from_utf8(&part[MARK.len()..]).ok()?.parse().ok())
}

/// Which of these numbers some file has. Files that go meanwhile hold nothing.
fn found(machine: &Machine, numbers: &[i64]) -> BTreeSet<i64> {
    let (numbers, mut found) = (numbers.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::new());
    let disk = &*machine.io.disk;
    for dir in ["", "runs", "wal", "quarantine"] {
        let dir = machine.dir.join(dir);
        for entry in disk.list(&dir).unwrap_or_default().iter().filter(|entry| !entry.is_dir) {
            let Ok(file) = disk.open(&dir.join(&entry.name), OpenMode::Read) else { continue };
            let mut bytes = vec![0; file.len().unwrap() as usize];
            if file.read_at(0, &mut bytes).is_ok() {
                found.extend(numbers_in(&bytes).filter(|number| numbers.contains(number)));
            }
        }
    }
    found
}

/// Rows by time of which every third is deleted, and rows by key of which every third is replaced. Gives the rows that are
/// there, and the numbers of those that are not.
fn fill(store: &Store) -> (Vec<Pair>, Vec<Pair>, Vec<i64>) {
    let events = store.create_stream(keep("events")).unwrap();
    let newest = store.create_stream(latest("newest")).unwrap();
    let (mut kept_rows, mut newest_rows, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..NUMBERS {
        append(store, events, &[pair(number, &secret(number))]);
        let of_key = number + 1_000;
        insert(store, newest, &[pair(number, &secret(of_key))], Durability::Synced);
        if number % 40 == 20 {
            store.flush().unwrap();
        }
    }
    for number in 0..NUMBERS {
        let (by_key, replaced) = (secret(number + 1_000), secret(number + 2_000));
        if number % 3 == 0 {
            delete(store, events, number, number + 1);
            insert(store, newest, &[pair(number, &replaced)], Durability::Synced);
            gone.extend([number, number + 1_000]);
            newest_rows.push(pair(number, &replaced));
        } else {
            kept_rows.push(pair(number, &secret(number)));
            newest_rows.push(pair(number, &by_key));
        }
    }
    store.sync().unwrap();
    (kept_rows, newest_rows, gone)
}

#[test]
fn a_purge_on_a_full_disk_loses_nothing_says_so_and_can_be_made_once_there_is_room() {
    let (mut refused, mut made) = (0, 0);
    for settings in [tiny(), kept(tiny())] {
        for room in [0, 1, 2, 4, 8, 16, 32, 64, 128, 512].map(|kib: u64| kib << 10) {
            let quota = Arc::new(Quota::default());
            quota.set(PLENTY);
            let mut machine = Machine::new();
            machine.io = Io { disk: Arc::new(QuotaDisk::new(&quota)), ..machine.io };
            let store = machine.open(settings.clone());
            let (events, newest, gone) = fill(&store);
            let is_whole = |store: &Store| {
                assert!(read(store, "events") == events, "{room}");
                assert!(read(store, "newest") == newest, "{room}");
            };
            assert!(!found(&machine, &gone).is_empty());
            quota.set(quota.used() + room);
            match store.purge(None) {
                Ok(_) => {
                    made += 1;
                    assert_eq!(found(&machine, &gone), BTreeSet::new(), "{room}");
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.kind(), ErrorKind::NoSpace, "{room}: {error}");
                    assert!(!error.hint().is_empty() && !store.is_poisoned(), "{room}: {error}");
                }
            }
            is_whole(&store);
            // A kill then finds all of it.
            let killed = machine.copy();
            assert!(check(&killed.io, &killed.dir).unwrap().is_sound(), "{room}");
            is_whole(&killed.open(settings.clone()));
            quota.set(PLENTY);
            store.purge(None).unwrap();
            assert_eq!(found(&machine, &gone), BTreeSet::new(), "{room}");
            is_whole(&store);
            store.close().unwrap();
            assert!(check(&machine.io, &machine.dir).unwrap().is_sound(), "{room}");
            is_whole(&machine.open(settings.clone()));
        }
    }
    assert!(refused > 3 && made > 3, "{refused} refused, {made} made");
}

/// Threads that append rows, and delete each second of them again, until they are told to stop.
struct Writers {
    store: Store,
    stream: StreamId,
    next: AtomicI64,
    /// Numbers whose rows have been deleted again.
    gone: Mutex<Vec<i64>>,
    /// Behind this number they wait: a purge that takes long is not to be outrun by ever more rows.
    may: AtomicI64,
    is_over: AtomicBool,
}

impl Writers {
    fn write(&self) {
        while !self.is_over.load(Ordering::SeqCst) {
            if self.next.load(Ordering::SeqCst) >= self.may.load(Ordering::SeqCst) {
                std::thread::yield_now();
                continue;
            }
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            let rows = Changes::new().insert(self.stream, batch(&[pair(number, &secret(number))]));
            self.store.commit(rows, Durability::Written).unwrap();
            if number % 2 == 1 {
                let gone = Changes::new().delete_range(self.stream, range(number, number + 1));
                self.store.commit(gone, Durability::Written).unwrap();
                self.gone.lock().push(number);
            }
        }
    }
}

/// Tells the threads to stop, also where a test fails.
struct StopOnDrop<'a>(&'a Writers);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_purge_erases_beside_threads_that_write_all_the_while_and_takes_nothing_of_theirs() {
    const THREADS: usize = 3;
    let settings = Settings { maintenance: Maintenance::Background, ..tiny() };
    for settings in [settings.clone(), kept(settings)] {
        let machine = Machine::new();
        let store = machine.open(settings);
        let stream = store.create_stream(keep("events")).unwrap();
        let writers = Writers {
            store: store.clone(),
            stream,
            next: AtomicI64::new(0),
            gone: Mutex::default(),
            may: AtomicI64::new(0),
            is_over: AtomicBool::new(false),
        };
        std::thread::scope(|scope| {
            let _stopping = StopOnDrop(&writers);
            for _ in 0..THREADS {
                scope.spawn(|| writers.write());
            }
            for round in 1..=4 {
                // As many again may come while it is purged.
                writers.may.store(round * 300 + 300, Ordering::SeqCst);
                until(|| writers.next.load(Ordering::SeqCst) > round * 300);
                let gone = writers.gone.lock().clone();
                assert!(gone.len() as i64 > round * 120, "{round}: {}", gone.len());
                // Compaction beside it may read a run that goes, and lets go of it soon.
                store.purge(None).unwrap();
                until(|| found(&machine, &gone).is_empty());
                let rows = read(&store, "events");
                assert!(rows.iter().all(|(time, value)| *value == secret(*time).into_bytes()));
            }
        });
        let all: Vec<Pair> = (0..writers.next.load(Ordering::SeqCst))
            .filter(|number| number % 2 == 0)
            .map(|number| pair(number, &secret(number)))
            .collect();
        drop(writers);
        assert!(read(&store, "events") == all, "rows that were acknowledged are lost");
        store.close().unwrap();
        assert!(check(&machine.io, &machine.dir).unwrap().is_sound());
        assert!(read(&machine.open(tiny()), "events") == all);
    }
}

#[test]
fn a_purge_that_nobody_waits_for_ends_and_another_one_goes_on() {
    let machine = Machine::new();
    let store = machine.open(kept(tiny()));
    let (events, newest, gone) = fill(&store);
    for checks in 0..4 {
        let asked = Arc::new(AtomicI64::new(0));
        let counted = Arc::clone(&asked);
        let query = store.begin_query_for("purge", None, move || {
            counted.fetch_add(1, Ordering::SeqCst) < checks
        });
        let error = store.purge_for(None, &query).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        assert_eq!(asked.load(Ordering::SeqCst), checks + 1);
        assert!(read(&store, "events") == events && read(&store, "newest") == newest);
    }
    let query = store.begin_query("purge", None);
    store.purge_for(None, &query).unwrap();
    assert_eq!(found(&machine, &gone), BTreeSet::new());
    assert!(read(&store, "events") == events && read(&store, "newest") == newest);
}
