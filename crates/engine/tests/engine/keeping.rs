//! Pins, backups, retention: what is kept stays readable, what may go goes.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::support::*;
use crate::watched_disk::{Step, WatchedDisk, Watcher};
use timestrata_engine::{
    Access, Changes, Durability, ErrorKind, Io, KeyRange, Maintenance, Retention, ScanSpec,
    Settings, Store,
};

fn pinned(store: &Store, pin: &str, name: &str) -> Vec<Pair> {
    let stream = store.expect_stream(name).unwrap();
    read_spec(&store.snapshot_at(pin).unwrap(), stream.id(), &ScanSpec::default()).unwrap()
}

#[test]
fn a_pin_outlives_deletes_compaction_and_reopening() {
    let (machine, store, stream) = with_events();
    let state = store.create_stream(latest("state")).unwrap();
    append(&store, stream, &[pair(2, "b"), pair(1, "a")]);
    insert(&store, state, &[pair(1, "old")], Durability::Written);
    let seq = store.pin("monday").unwrap();
    assert_eq!(store.pin("monday").unwrap_err().kind(), ErrorKind::AlreadyExists);
    delete(&store, stream, 0, 100);
    insert(&store, state, &[pair(1, "new")], Durability::Written);
    store.compact(None).unwrap();
    append(&store, stream, &[pair(3, "c")]);
    assert_eq!(pinned(&store, "monday", "events"), vec![pair(1, "a"), pair(2, "b")]);
    store.close().unwrap();

    let store = machine.open(tiny());
    assert_eq!(
        store.pins().iter().map(|pin| (pin.name.as_str(), pin.seq)).collect::<Vec<_>>(),
        [("monday", seq)]
    );
    assert_eq!(pinned(&store, "monday", "events"), vec![pair(1, "a"), pair(2, "b")]);
    assert_eq!(pinned(&store, "monday", "state"), vec![pair(1, "old")]);
    assert_eq!(read(&store, "events"), vec![pair(3, "c")]);
    assert_eq!(read(&store, "state"), vec![pair(1, "new")]);
    let reader = machine.try_open(Access::Read, tiny()).unwrap();
    assert_eq!(pinned(&reader, "monday", "events"), vec![pair(1, "a"), pair(2, "b")]);
    assert_eq!(store.drop_stream("events").unwrap_err().kind(), ErrorKind::InvalidArgument);
    store.compact(None).unwrap();
    let before = machine.files().len();
    store.unpin("monday").unwrap();
    assert!(machine.files().len() < before, "files that only the pin kept must go");
    assert_eq!(store.unpin("monday").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.snapshot_at("monday").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(store.check().unwrap().findings.is_empty());
}

#[test]
fn a_dropped_stream_takes_its_files_along_but_not_from_under_a_snapshot() {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(1, "a")]);
    store.flush().unwrap();
    let snapshot = store.snapshot().unwrap();
    store.drop_stream("events").unwrap();
    assert_eq!(read_spec(&snapshot, stream, &ScanSpec::default()).unwrap(), vec![pair(1, "a")]);
    drop(snapshot);
    assert!(machine.run_files().is_empty());
    assert!(store.stream("events").is_none());
    let insert = Changes::new().insert(stream, batch(&[pair(1, "a")]));
    assert_eq!(store.commit(insert, Durability::Written).unwrap_err().kind(), ErrorKind::NotFound);
    let again = store.create_stream(keep("events")).unwrap();
    assert_ne!(again, stream);
    store.close().unwrap();
    assert_eq!(read(&machine.open(tiny()), "events"), vec![]);
}

#[test]
fn a_backup_is_a_store_of_one_instant() {
    let (machine, store, stream) = with_events();
    let state = store.create_stream(latest("state")).unwrap();
    for i in 0..300 {
        let rows = [pair(i % 40, &format!("row {i}"))];
        let both = Changes::new().insert(stream, batch(&rows)).insert(state, batch(&rows));
        store.commit(both, Durability::Written).unwrap();
    }
    store.compact(Some(stream)).unwrap();
    delete(&store, stream, 3, 6);
    append(&store, stream, &[pair(4, "in memory")]);
    let (events, states) = (read(&store, "events"), read(&store, "state"));
    let destination = PathBuf::from("/backups/one");
    let report = store.backup(&destination).unwrap();
    assert_eq!(report.seq, store.snapshot().unwrap().seq());
    append(&store, stream, &[pair(9, "after the backup")]);
    store.compact(None).unwrap();
    let copy =
        Store::open_with(machine.io.clone(), &destination, Access::WriteExisting, tiny()).unwrap();
    assert!(copy.recovery_report().clean);
    assert_eq!(read(&copy, "events"), events);
    assert_eq!(read(&copy, "state"), states);
    assert!(copy.check().unwrap().findings.is_empty());
    append(&copy, stream, &[pair(1, "a life of its own")]);
    copy.compact(None).unwrap();
    let refused = store.backup(&destination).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists, "{refused}");
}

/// Runs that a writer had compacted away meanwhile were looked for by their names.
#[test]
fn a_backup_by_a_reader_beside_a_writer_that_compacts_is_of_what_the_reader_sees() {
    let (machine, store, stream) = with_events();
    for turn in 0..4 {
        append(&store, stream, &[pair(turn, "early"), pair(turn + 1, "again")]);
        store.flush().unwrap();
    }
    let reader = machine.try_open(Access::Read, tiny()).unwrap();
    let seen = read(&reader, "events");
    append(&store, stream, &[pair(9, "late")]);
    store.compact(None).unwrap();
    let destination = Path::new("/backups/beside");
    reader.backup(destination).unwrap();
    let io = machine.io.clone();
    let copy = Store::open_with(io, destination, Access::WriteExisting, tiny()).unwrap();
    assert_eq!(read(&copy, "events"), seen);
    assert!(copy.check().unwrap().findings.is_empty());
}

#[test]
fn an_interrupted_backup_is_no_store() {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(1, "a")]);
    store.flush().unwrap();
    let run = &machine.run_files()[0];
    let mut bytes = machine.read_file(run);
    bytes[100] ^= 1;
    machine.write_file(run, &bytes);
    let destination = Path::new("/backups/two");
    assert_eq!(store.backup(destination).unwrap_err().kind(), ErrorKind::Corruption);
    assert!(!machine.io.disk.exists(&destination.join("MANIFEST")).unwrap());
}

const SAME_DESTINATION: &str = "/backups/three";

/// Has another process make its backup to the same destination, just before the first file of ours.
#[derive(Debug)]
struct AnotherBackup {
    reader: Store,
    has_begun: AtomicBool,
}

impl Watcher for AnotherBackup {
    fn before(&self, _: Step, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn before_create(&self, path: &Path) -> io::Result<()> {
        if path.starts_with(SAME_DESTINATION) && !self.has_begun.swap(true, Ordering::Relaxed) {
            self.reader.backup(Path::new(SAME_DESTINATION)).unwrap();
        }
        Ok(())
    }
}

#[test]
fn of_two_backups_to_one_destination_the_second_takes_nothing_from_the_first() {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(1, "a"), pair(2, "b")]);
    store.close().unwrap();
    let reader = machine.try_open(Access::Read, tiny()).unwrap();
    let watcher = Arc::new(AnotherBackup { reader, has_begun: AtomicBool::new(false) });
    let disk = Arc::new(WatchedDisk::new(Arc::clone(&machine.io.disk), watcher));
    let io = Io { disk, ..machine.io.clone() };
    let store = Store::open_with(io, &machine.dir, Access::Write, tiny()).unwrap();
    let destination = Path::new(SAME_DESTINATION);
    assert!(store.backup(destination).is_err());
    let copy = Store::open_with(machine.io.clone(), destination, Access::Read, tiny()).unwrap();
    assert_eq!(read(&copy, "events"), vec![pair(1, "a"), pair(2, "b")]);
}

#[test]
fn retention_by_bytes_drops_the_oldest_and_keeps_the_newest() {
    let (machine, store, stream) = with_events();
    store.set_retention(stream, Retention { age_ns: None, bytes: Some(20_000) }).unwrap();
    for i in 0..40_i64 {
        let rows: Vec<Pair> = (0..20).map(|j| (i * 1000 + j, vec![b'x'; 100])).collect();
        insert(&store, stream, &rows, Durability::Written);
        store.flush().unwrap();
    }
    while store.maintain_step().unwrap() {}
    let times: Vec<i64> = read(&store, "events").into_iter().map(|(time, _)| time).collect();
    assert_eq!(times.last(), Some(&39_019));
    assert!(!times.contains(&0) && times.len() < 400, "{} rows are left", times.len());
    assert!(store.stats().streams[0].run_bytes <= 40_000, "{:?}", store.stats());
    store.close().unwrap();
    let spec = machine.open(tiny()).expect_stream("events").unwrap().spec().clone();
    assert_eq!(spec.retention.bytes, Some(20_000));
}

#[test]
fn retention_by_age_heeds_data_time_and_wall_clock() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let day_ns: i64 = 86_400_000_000_000;
    let mut spec = keep("events");
    spec.retention = Retention { age_ns: Some(30 * day_ns as u64), bytes: None };
    let stream = store.create_stream(spec).unwrap();
    let now_ms = 1_700_000_000_000_i64;
    let day_ms = day_ns / 1_000_000;
    append(&store, stream, &[pair(now_ms, "today")]);
    store.flush().unwrap();
    append(&store, stream, &[pair(now_ms + 3650 * day_ms, "dated ten years ahead")]);
    store.flush().unwrap();
    append(&store, stream, &[pair(now_ms - 3650 * day_ms, "dated ten years back")]);
    store.flush().unwrap();
    let settle = || while store.maintain_step().unwrap() {};
    settle();
    assert_eq!(read(&store, "events").len(), 3, "nothing is that old in the store");
    let before = store.wall_ns();
    machine.clock.advance_ns(31 * day_ns);
    assert_eq!(store.wall_ns(), before + 31 * day_ns);
    append(&store, stream, &[pair(now_ms + 31 * day_ms, "a month later")]);
    store.flush().unwrap();
    settle();
    store.compact(None).unwrap();
    let left = read(&store, "events");
    assert!(!left.contains(&pair(now_ms - 3650 * day_ms, "dated ten years back")), "{left:?}");
    assert!(left.contains(&pair(now_ms + 31 * day_ms, "a month later")));
    assert!(left.contains(&pair(now_ms + 3650 * day_ms, "dated ten years ahead")));
    assert_eq!(store.snapshot().unwrap().count(stream, &KeyRange::ALL).unwrap(), left.len() as u64);
}

/// Tells of writes to run files.
#[derive(Debug)]
struct RunWrites(Sender<PathBuf>);

impl Watcher for RunWrites {
    fn before(&self, step: Step, path: &Path) -> std::io::Result<()> {
        if step == Step::Write && path.parent().is_some_and(|dir| dir.ends_with("runs")) {
            // Nobody listens after the first.
            let _ = self.0.send(path.to_path_buf());
        }
        Ok(())
    }
}

#[test]
fn closing_gives_up_a_compaction_under_way_and_nothing_is_left_of_it() {
    let (machine, store, stream) = with_events();
    let rows: Vec<Pair> = (0..40_000).map(|time| pair(time, "value")).collect();
    for part in 0..4 {
        let rows: Vec<Pair> = rows.iter().skip(part).step_by(4).cloned().collect();
        insert(&store, stream, &rows, Durability::Written);
        store.flush().unwrap();
    }
    store.close().unwrap();
    let before = machine.run_files();
    // At this rate it would take minutes.
    let settings = Settings {
        maintenance: Maintenance::Background,
        compaction_bytes_per_second: Some(100),
        ..tiny()
    };
    let (told, written) = channel();
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::new(RunWrites(told)));
    let io = Io { disk: Arc::new(disk), ..machine.io.clone() };
    let store = Store::open_with(io, &machine.dir, Access::Write, settings).unwrap();
    let begun = written.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(!before.contains(&begun), "{}", begun.display());
    store.close().unwrap();
    assert_eq!(machine.run_files(), before);
    let store = machine.open(tiny());
    assert_eq!(read(&store, "events"), rows);
    store.compact(None).unwrap();
    assert_eq!(read(&store, "events"), rows);
}
