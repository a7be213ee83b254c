//! What was acknowledged is there after a kill, and a clean close leaves nothing to replay.

use std::path::Path;
use std::sync::Arc;

use crate::support::*;
use crate::watched_disk::{Step, WatchedDisk, Watcher};
use timestrata_engine::{Access, BusyPolicy, Changes, Durability, ErrorKind, Io, Settings, Store};
use timestrata_io::OpenMode;

#[test]
fn a_killed_process_loses_nothing_that_was_written() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let first = store.create_stream(keep("events")).unwrap();
    let second = store.create_stream(latest("state")).unwrap();
    for i in 0..300 {
        let rows = [pair(i % 50, &format!("row {i}"))];
        store
            .commit(
                Changes::new().insert(first, batch(&rows)).insert(second, batch(&rows)),
                Durability::Written,
            )
            .unwrap();
        if i % 70 == 3 {
            delete(&store, first, 10, 12);
        }
        if i % 37 == 0 {
            let killed = machine.copy().open(tiny());
            assert_eq!(read(&killed, "events"), read(&store, "events"), "after {i}");
            assert_eq!(read(&killed, "state"), read(&store, "state"), "after {i}");
            assert!(!killed.recovery_report().clean);
            append(&killed, first, &[pair(1000, "on")]);
            let again = killed.snapshot().unwrap().seq();
            killed.close().unwrap();
            assert!(again > store.snapshot().unwrap().seq());
        }
    }
}

#[test]
fn what_is_acknowledged_while_another_thread_closes_the_store_is_kept() {
    for round in 0..20 {
        let machine = Machine::new();
        let store = machine.open(tiny());
        let stream = store.create_stream(keep("events")).unwrap();
        append(&store, stream, &[pair(0, "the first")]);
        let begun = std::sync::Barrier::new(2);
        let acknowledged = std::thread::scope(|threads| {
            let writer = threads.spawn(|| {
                begun.wait();
                (1..)
                    .take_while(|i| {
                        let rows = Changes::new().insert(stream, batch(&[pair(*i, "more")]));
                        let committed = store.commit(rows, Durability::Written);
                        committed.is_ok_and(|seq| seq.0 > 0)
                    })
                    .count()
            });
            begun.wait();
            store.close().unwrap();
            writer.join().unwrap()
        });
        let again = read(&machine.open(tiny()), "events");
        assert_eq!(again.len(), acknowledged + 1, "round {round}");
    }
}

#[test]
fn opening_after_a_clean_close_replays_nothing() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    assert!(store.recovery_report().created);
    let stream = store.create_stream(keep("events")).unwrap();
    append(&store, stream, &[pair(3, "c"), pair(1, "a")]);
    let seq = store.snapshot().unwrap().seq();
    store.close().unwrap();
    for _ in 0..5 {
        let store = machine.open(tiny());
        let report = store.recovery_report();
        assert_eq!((report.clean, report.created, report.commits_replayed), (true, false, 0));
        assert_eq!(store.snapshot().unwrap().seq(), seq);
        assert_eq!(read(&store, "events"), vec![pair(1, "a"), pair(3, "c")]);
        store.close().unwrap();
    }
    let wal_files =
        machine.files().iter().filter(|path| path.to_string_lossy().contains("wal")).count();
    assert!(wal_files <= 3, "segments pile up: {:?}", machine.files());
}

#[test]
fn a_closed_store_refuses_every_call() {
    let store = Machine::new().open(tiny());
    let stream = store.create_stream(keep("events")).unwrap();
    let mut appender = store.appender(stream).unwrap();
    store.close().unwrap();
    store.close().unwrap();
    let insert = Changes::new().insert(stream, batch(&[pair(1, "a")]));
    let errors = [
        store.commit(insert, Durability::Written).unwrap_err(),
        store.snapshot().unwrap_err(),
        store.flush().unwrap_err(),
        store.sync().unwrap_err(),
        store.compact(None).unwrap_err(),
        appender
            .append(
                &[timestrata_engine::Cell::Int(1), timestrata_engine::Cell::Bytes(b"a")],
                Durability::Written,
            )
            .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    }
}

#[test]
fn dropping_the_last_handle_closes_in_good_order() {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(1, "a")]);
    let clone = store.clone();
    drop(store);
    append(&clone, stream, &[pair(2, "b")]);
    drop(clone);
    let store = machine.open(tiny());
    assert!(store.recovery_report().clean);
    assert_eq!(read(&store, "events"), vec![pair(1, "a"), pair(2, "b")]);
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(1, "a")]);
    let refused = machine.try_open(Access::Write, tiny()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Locked);
    assert!(refused.to_string().contains("this process"), "{refused}");
    let reader = machine.try_open(Access::Read, tiny()).unwrap();
    assert_eq!(read(&reader, "events"), vec![pair(1, "a")]);
    let error =
        reader.commit(Changes::new().insert(stream, batch(&[pair(2, "b")])), Durability::Written);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ReadOnly);
    store.close().unwrap();
    machine.open(tiny()).close().unwrap();
}

#[test]
fn a_reader_follows_the_writer_through_flush_compaction_and_segments() {
    let (machine, store, stream) = with_events();
    let reader = machine.try_open(Access::Read, tiny()).unwrap();
    for i in 0..400_i64 {
        append(
            &store,
            stream,
            &[pair((i * 7) % 101, &format!("row number {i} {}", "x".repeat(40)))],
        );
        if i % 90 == 50 {
            delete(&store, stream, 20, 30);
        }
        if i % 60 == 20 {
            store.compact(None).unwrap();
        }
        if i % 7 == 0 {
            assert_eq!(reader.refresh().unwrap(), store.snapshot().unwrap().seq());
            assert_eq!(read(&reader, "events"), read(&store, "events"), "after {i}");
        }
    }
    let late = store.create_stream(latest("later")).unwrap();
    append(&store, late, &[pair(1, "x")]);
    reader.refresh().unwrap();
    assert_eq!(read(&reader, "later"), vec![pair(1, "x")]);
}

#[test]
fn a_reader_follows_a_store_whose_writer_was_closed_and_comes_again() {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(1, "a")]);
    store.close().unwrap();
    let reader = machine.try_open(Access::Read, tiny()).unwrap();
    for _ in 0..2 {
        reader.refresh().unwrap();
        assert_eq!(read(&reader, "events"), vec![pair(1, "a")]);
    }
    let store = machine.open(tiny());
    append(&store, stream, &[pair(2, "b")]);
    reader.refresh().unwrap();
    assert_eq!(read(&reader, "events"), vec![pair(1, "a"), pair(2, "b")]);
    store.close().unwrap();
    reader.refresh().unwrap();
    assert_eq!(read(&reader, "events"), vec![pair(1, "a"), pair(2, "b")]);
}

#[test]
fn an_idle_stream_does_not_pin_old_wal() {
    let machine = Machine::new();
    let settings = tiny();
    let store = machine.open(settings.clone());
    let idle = store.create_stream(keep("idle")).unwrap();
    let busy = store.create_stream(keep("busy")).unwrap();
    append(&store, idle, &[pair(1, "one row, never again")]);
    for i in 0..4000 {
        append(&store, busy, &[pair(i, "a row of the busy stream")]);
        let bound = settings.wal_bytes_max + 2 * settings.wal_segment_bytes;
        if i % 100 == 0 {
            assert!(store.stats().wal_bytes <= bound, "{:?}", store.stats());
        }
    }
    let killed = machine.copy().open(settings);
    assert_eq!(read(&killed, "idle"), vec![pair(1, "one row, never again")]);
    assert_eq!(read(&killed, "busy").len(), 4000);
}

#[test]
fn memory_is_bounded_under_every_busy_policy() {
    for policy in [BusyPolicy::Raise, BusyPolicy::Block, BusyPolicy::Flush] {
        let settings = Settings { busy_policy: policy, ..tiny() };
        let store = Store::memory(settings.clone()).unwrap();
        let streams: Vec<_> =
            (0..8).map(|i| store.create_stream(keep(&format!("s{i}"))).unwrap()).collect();
        let mut refused = 0;
        let mut kept = 0;
        for i in 0..2000 {
            let stream = streams[i % streams.len()];
            let rows = [(i as i64, vec![b'x'; 200])];
            match store.commit(Changes::new().insert(stream, batch(&rows)), Durability::Written) {
                Ok(_) => kept += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
                    refused += 1;
                    store.flush().unwrap();
                }
            }
            // One batch beyond the bound is the most that rounding of buffers may add.
            if i % 50 == 0 {
                assert!(store.stats().memtable_bytes <= settings.memory_bytes_max + 8192);
            }
        }
        assert_eq!(refused > 0, policy == BusyPolicy::Raise, "{policy:?}");
        let rows: usize = (0..8).map(|i| read(&store, &format!("s{i}")).len()).sum();
        assert_eq!(rows, kept, "{policy:?}");
    }
}

#[test]
fn background_maintenance_flushes_compacts_and_closes() {
    let machine = Machine::new();
    let settings = Settings { maintenance: timestrata_engine::Maintenance::Background, ..tiny() };
    let store = machine.open(settings.clone());
    let stream = store.create_stream(keep("events")).unwrap();
    let threads: Vec<_> = (0..4_i64)
        .map(|thread| {
            let store = store.clone();
            std::thread::spawn(move || {
                for i in 0..1000 {
                    append(&store, stream, &[pair(i * 4 + thread, "a row from a thread")]);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    store.close().unwrap();
    let store = machine.open(settings);
    let times: Vec<i64> = read(&store, "events").into_iter().map(|(time, _)| time).collect();
    assert_eq!(times, (0..4000).collect::<Vec<_>>());
}

/// A large commit parts what was committed before it from what comes after, also where the log
/// ends before it: rows of both sides in one memtable were taken for older, or for newer, than all
/// of it.
#[test]
fn commits_after_a_recovery_are_newer_than_large_ones_before_it() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let events = store.create_stream(keep("events")).unwrap();
    let state = store.create_stream(latest("state")).unwrap();
    for stream in [events, state] {
        insert(&store, stream, &[pair(1, "first"), pair(2, "first")], Durability::Written);
    }
    let mut large = store.bulk().unwrap();
    large.delete_range(events, range(1, 2)).unwrap();
    let rows: Vec<Pair> = (2..2_000).map(|time| pair(time, "large")).collect();
    large.insert(state, batch(&rows)).unwrap();
    large.commit().unwrap();
    let killed = machine.copy();
    let store = killed.open(tiny());
    for stream in [events, state] {
        insert(&store, stream, &[pair(2, "last"), pair(3, "last")], Durability::Written);
    }
    for _ in 0..2 {
        let in_events = [pair(2, "first"), pair(2, "last"), pair(3, "last")];
        assert_eq!(read(&store, "events"), in_events);
        let in_state = [pair(1, "first"), pair(2, "last"), pair(3, "last"), pair(4, "large")];
        assert_eq!(read(&store, "state")[..4], in_state);
        assert_eq!(read(&killed.copy().open(tiny()), "events"), in_events);
        assert_eq!(read(&killed.copy().open(tiny()), "state")[..4], in_state);
        store.compact(None).unwrap();
    }
}

/// A disk on which no file of the log can be mapped.
#[derive(Debug)]
struct NoMapOfLogs;

impl Watcher for NoMapOfLogs {
    fn before(&self, _: Step, _: &Path) -> std::io::Result<()> {
        Ok(())
    }

    fn before_map(&self, path: &Path) -> std::io::Result<()> {
        match path.starts_with("/store/wal") {
            true => Err(std::io::Error::other("a file of the log is mapped")),
            false => Ok(()),
        }
    }
}

/// Recovery mapped the log: a sector that couldn't be read was a SIGBUS at each opening, and no error.
#[test]
fn the_log_is_read_and_never_mapped() {
    let (machine, store, stream) = with_events();
    for time in 0..500 {
        append(&store, stream, &[pair(time, "rows enough for several segments of the log")]);
    }
    let expected = read(&store, "events");
    let left = machine.copy();
    std::mem::forget(store);
    let disk = WatchedDisk::new(Arc::clone(&left.io.disk), Arc::new(NoMapOfLogs));
    let io = Io { disk: Arc::new(disk), ..left.io.clone() };
    assert!(timestrata_engine::check(&io, &left.dir).unwrap().is_sound());
    let open = |access| Store::open_with(io.clone(), &left.dir, access, tiny()).unwrap();
    let reader = open(Access::Read);
    assert!(read(&reader, "events") == expected);
    let writer = open(Access::Write);
    assert!(writer.recovery_report().commits_replayed > 0 && read(&writer, "events") == expected);
    append(&writer, stream, &[pair(1_000, "later")]);
    reader.refresh().unwrap();
    assert_eq!(read(&reader, "events").len(), 501);
    writer.close().unwrap();
    assert_eq!(read(&open(Access::Write), "events").len(), 501);
}

/// A log of twenty segments, long enough for a second thread, with single rows and batches in turns.
fn long_log(machine: &Machine) -> (Settings, Store, Vec<Pair>) {
    const MIB: u64 = 1 << 20;
    let settings = Settings {
        memtable_bytes_max: 256 * MIB,
        memory_bytes_max: 512 * MIB,
        wal_segment_bytes: MIB,
        wal_bytes_max: 256 * MIB,
        ..tiny()
    };
    let store = machine.open(settings.clone());
    let stream = store.create_stream(keep("events")).unwrap();
    let mut rows = Vec::new();
    for turn in 0..100_i64 {
        let of = |count: i64, bytes: usize| -> Vec<Pair> {
            let row = |at: i64| (turn * 1_000 + at, vec![(turn + at) as u8; bytes]);
            (0..count).map(row).collect()
        };
        let (alone, together) = (of(100, 1_000), of(50, 3_000));
        append(&store, stream, &alone);
        insert(&store, stream, &together, Durability::Synced);
        rows.extend(alone.into_iter().chain(together));
    }
    rows.sort_by_key(|(time, _)| *time);
    (settings, store, rows)
}

#[test]
fn a_long_log_is_read_back_by_two_threads_as_by_one() {
    let machine = Machine::new();
    let (settings, store, rows) = long_log(&machine);
    assert!(store.stats().wal_bytes > 20 << 20);
    let killed = machine.copy().open(settings);
    assert_eq!(killed.recovery_report().commits_replayed, 100 * 101);
    let mut found = read(&killed, "events");
    // Of one time batches and single rows may come in any order.
    let mut rows = rows;
    rows.sort();
    found.sort();
    assert!(found == rows);
}

#[test]
fn damage_in_a_long_log_is_told_as_in_a_short_one() {
    let machine = Machine::new();
    let (settings, _store, _) = long_log(&machine);
    for segment in ["0000000000000003", "000000000000000a"] {
        let damaged = machine.copy();
        let path = Path::new("/store/wal").join(format!("{segment}.wal"));
        let file = damaged.io.disk.open(&path, OpenMode::ReadWrite).unwrap();
        file.write_at(500_000, &[0xA5; 4_096]).unwrap();
        let error = damaged.try_open(Access::Write, settings.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(error.to_string().contains(&format!("{segment}.wal")), "{error}");
    }
}

/// A disk of which a part of a log's file can't be read, or whoever reads it dies.
#[derive(Debug)]
struct BadLog {
    dies: bool,
}

impl Watcher for BadLog {
    fn before(&self, _: Step, _: &Path) -> std::io::Result<()> {
        Ok(())
    }

    fn before_read(&self, path: &Path, offset: u64) -> std::io::Result<()> {
        if !path.ends_with("wal/0000000000000009.wal") || offset < 300_000 {
            return Ok(());
        }
        assert!(!self.dies, "planted: who reads the log dies");
        Err(std::io::Error::other("a sector can't be read"))
    }
}

#[test]
fn a_reading_thread_that_fails_or_dies_fails_the_opening_and_changes_nothing() {
    let machine = Machine::new();
    let (settings, store, rows) = long_log(&machine);
    let left = machine.copy();
    let before = left.copy();
    for (dies, expected) in
        [(false, "a sector can't be read"), (true, "the thread that read the log died")]
    {
        let disk = WatchedDisk::new(Arc::clone(&left.io.disk), Arc::new(BadLog { dies }));
        let io = Io { disk: Arc::new(disk), ..left.io.clone() };
        for access in [Access::Write, Access::Read] {
            let opened = Store::open_with(io.clone(), &left.dir, access, settings.clone());
            let error = opened.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
    // What could not be read is there as soon as it can.
    assert_eq!(left.files(), before.files());
    let again = left.open(settings);
    assert_eq!(read(&again, "events").len(), rows.len());
    drop(store);
}

/// Counts how often a file of the log is read from.
#[derive(Debug, Default)]
struct LogReads(std::sync::atomic::AtomicUsize);

impl Watcher for LogReads {
    fn before(&self, _: Step, _: &Path) -> std::io::Result<()> {
        Ok(())
    }

    fn before_read(&self, path: &Path, _: u64) -> std::io::Result<()> {
        if path.extension().is_some_and(|extension| extension == "wal") {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }
}

#[test]
fn what_kills_have_left_unfilled_of_the_log_is_searched_once() {
    const KILLS: usize = 20;
    let settings = Settings { wal_segment_bytes: 16 << 20, ..manual() };
    let mut machine = Machine::new();
    let mut store = machine.open(settings.clone());
    let stream = store.create_stream(keep("events")).unwrap();
    for kill in 0..KILLS {
        append(&store, stream, &[pair(kill as i64, "before a kill")]);
        machine = machine.copy();
        store = machine.open(settings.clone());
    }
    let reads = Arc::new(LogReads::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&reads) as _);
    let io = Io { disk: Arc::new(disk), ..machine.io.clone() };
    let reader = Store::open_with(io, &machine.dir, Access::Read, settings).unwrap();
    assert_eq!(read(&reader, "events").len(), KILLS);
    // A few of each file; to go through the rest of each would be a dozen more.
    let count = reads.0.load(std::sync::atomic::Ordering::Relaxed);
    assert!(count < 8 * KILLS, "{count} reads");
}
