//! What reaches the disk when, and what a disk that fails leaves of a store.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::*;
use crate::watched_disk::{Step, WatchedDisk, Watcher};
use timestrata_engine::{Access, Changes, Durability, ErrorKind, Io, Settings, Store, StreamId};
use timestrata_io::sync::Mutex;

/// Notes what is written and synced, and fails where it is told to.
#[derive(Debug, Default)]
struct Notes {
    /// `write` or `sync`, and the last part of the file's or directory's name.
    done: Mutex<Vec<String>>,
    syncs_fail: AtomicBool,
    /// Syncs of runs alone.
    runs_fail: AtomicBool,
    /// Syncs of the log's files alone.
    log_fails: AtomicBool,
    is_full: AtomicBool,
}

impl Watcher for Notes {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        match step {
            Step::OpenLog => self.write("segment"),
            Step::Write => self.write(&ending(path)),
            Step::Sync => self.sync(&ending(path)),
            Step::SyncDir => self.sync(&format!("names in {}", path.display())),
            Step::Rename => Ok(()),
        }
    }
}

/// The last part of a file's name; a log segment is opened by a spare's and renamed later.
fn ending(path: &Path) -> String {
    match path.extension().or(path.file_name()).unwrap_or_default().to_string_lossy() {
        ending if ending == "spare" => "wal".to_owned(),
        ending => ending.into_owned(),
    }
}

impl Notes {
    fn write(&self, name: &str) -> io::Result<()> {
        // A log segment has its blocks already.
        if self.is_full.load(Ordering::SeqCst) && name != "wal" {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.done.lock().push(format!("write {name}"));
        Ok(())
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        let of_run = name == "arrow" && self.runs_fail.load(Ordering::SeqCst);
        let of_log = name == "wal" && self.log_fails.load(Ordering::SeqCst);
        if of_run || of_log || self.syncs_fail.load(Ordering::SeqCst) {
            return Err(io::Error::other("planted failure of a sync"));
        }
        self.done.lock().push(format!("sync {name}"));
        Ok(())
    }

    /// What has been done since the last call, each kind of thing once where it repeats.
    fn take(&self) -> Vec<String> {
        let mut done = std::mem::take(&mut *self.done.lock());
        done.dedup();
        done
    }
}

/// A store on a disk that takes notes, with one stream.
fn noted() -> (Machine, Arc<Notes>, Store, StreamId) {
    noted_with(manual())
}

fn noted_with(settings: Settings) -> (Machine, Arc<Notes>, Store, StreamId) {
    let mut machine = Machine::new();
    let notes = Arc::new(Notes::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&notes) as _);
    machine.io = Io { disk: Arc::new(disk), ..machine.io };
    let store = machine.open(settings);
    let stream = store.create_stream(keep("events")).unwrap();
    notes.take();
    (machine, notes, store, stream)
}

fn place(done: &[String], what: &str) -> usize {
    done.iter().position(|note| note == what).unwrap_or_else(|| panic!("no {what} in {done:?}"))
}

#[test]
fn a_store_without_threads_syncs_when_it_is_told_to() {
    let (_, notes, store, stream) = noted();
    append(&store, stream, &[pair(1, "a"), pair(2, "b")]);
    assert_eq!(notes.take(), ["write wal"]);
    assert_eq!(store.sync().unwrap(), store.snapshot().unwrap().seq());
    assert!(notes.take().contains(&"sync wal".to_owned()));
    insert(&store, stream, &[pair(3, "c")], Durability::Synced);
    let done = notes.take();
    assert!(place(&done, "write wal") < place(&done, "sync wal"));
}

/// A flush that lets go of a full log file syncs the log first. When that sync failed, the log took no
/// more writes, but the store was not poisoned: the failure was taken for one of the run, and the
/// commit that had made the flush due was refused as if it had left no trace.
#[test]
fn a_sync_of_the_log_that_fails_in_a_flush_poisons_the_store() {
    let (_, notes, store, stream) = noted_with(Settings { wal_segment_bytes: 4096, ..manual() });
    for time in 0..40 {
        append(&store, stream, &[(time, vec![7; 200])]);
    }
    notes.log_fails.store(true, Ordering::SeqCst);
    assert_eq!(store.flush().unwrap_err().kind(), ErrorKind::Io);
    assert!(store.is_poisoned());
    let later = store
        .commit(Changes::new().insert(stream, batch(&[pair(50, "a")])), Durability::Written)
        .unwrap_err();
    assert_eq!(later.kind(), ErrorKind::Poisoned);
    assert_eq!(read(&store, "events").len(), 40);
}

#[test]
fn the_log_and_the_run_are_synced_before_the_manifest_names_the_run() {
    let (_, notes, store, stream) = noted();
    append(&store, stream, &[pair(1, "a")]);
    store.flush().unwrap();
    let done = notes.take();
    let named = place(&done, "write MANIFEST");
    for first in ["sync wal", "sync arrow", "sync names in /store/runs"] {
        assert!(place(&done, first) < named, "{done:?}");
    }
    assert!(named < place(&done, "sync MANIFEST"), "{done:?}");
}

#[test]
fn a_large_commit_is_durable_with_all_before_it_when_it_returns() {
    let (_, notes, store, stream) = noted();
    append(&store, stream, &[pair(1, "before")]);
    let rows: Vec<Pair> = (0..1000).map(|time| (time, vec![b'x'; 1024])).collect();
    insert(&store, stream, &rows, Durability::Buffered);
    let done = notes.take();
    let named = place(&done, "write MANIFEST");
    assert!(place(&done, "sync wal") < named && place(&done, "sync arrow") < named, "{done:?}");
    assert!(named < place(&done, "sync MANIFEST"), "{done:?}");
}

#[test]
fn a_poisoned_store_refuses_writes_reads_on_and_recovers_by_reopening() {
    let (machine, notes, store, stream) = noted();
    append(&store, stream, &[pair(1, "a")]);
    notes.syncs_fail.store(true, Ordering::SeqCst);
    assert_eq!(store.sync().unwrap_err().kind(), ErrorKind::Io);
    notes.syncs_fail.store(false, Ordering::SeqCst);
    notes.take();
    let again = Changes::new().insert(stream, batch(&[pair(2, "b")]));
    let refused = [
        store.commit(again, Durability::Written).unwrap_err(),
        store.sync().unwrap_err(),
        store.flush().unwrap_err(),
        store.create_stream(keep("more")).unwrap_err(),
        store.pin("monday").unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Poisoned, "{error}");
        assert!(error.to_string().contains("planted failure"), "{error}");
    }
    assert_eq!(read(&store, "events"), [pair(1, "a")]);
    assert_eq!(store.close().unwrap_err().kind(), ErrorKind::Poisoned);
    assert!(notes.take().is_empty(), "nothing may be written or synced any more");
    let store = machine.open(manual());
    assert!(!store.recovery_report().clean);
    assert_eq!(read(&store, "events"), [pair(1, "a")]);
    append(&store, stream, &[pair(2, "b")]);
}

#[test]
fn on_a_full_disk_a_commit_that_needs_a_file_is_not_made_and_others_are_kept() {
    let (machine, notes, store, stream) = noted();
    append(&store, stream, &[pair(1, "a")]);
    notes.is_full.store(true, Ordering::SeqCst);
    append(&store, stream, &[pair(2, "the segment has room")]);
    let large: Vec<Pair> = (0..1000).map(|time| (time, vec![b'x'; 1024])).collect();
    let large = Changes::new().insert(stream, batch(&large));
    let error = store.commit(large, Durability::Written).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert!(error.path().is_some(), "{error}");
    append(&store, stream, &[pair(3, "the segment has still room")]);
    let kept =
        [pair(1, "a"), pair(2, "the segment has room"), pair(3, "the segment has still room")];
    assert_eq!(read(&store, "events"), kept);
    assert!(machine.run_files().is_empty());
    store.close().unwrap();
    assert_eq!(read(&machine.try_open(Access::Read, manual()).unwrap(), "events"), kept);
    notes.is_full.store(false, Ordering::SeqCst);
    let store = machine.open(manual());
    assert_eq!(read(&store, "events"), kept);
    assert!(store.check().unwrap().findings.is_empty());
}

/// Where a disk was full for a run, or an edit of the manifest, the store took no more writes until it
/// was opened again.
#[test]
fn what_there_is_no_room_to_flush_is_flushed_when_there_is_room() {
    let (machine, notes, store, stream) = noted();
    append(&store, stream, &[pair(1, "a")]);
    notes.is_full.store(true, Ordering::SeqCst);
    let error = store.flush().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert_eq!(store.stats().troubles, [error.to_string()]);
    append(&store, stream, &[pair(2, "b")]);
    assert_eq!(store.create_stream(keep("more")).unwrap_err().kind(), ErrorKind::NoSpace);
    assert!(!store.is_poisoned());
    notes.is_full.store(false, Ordering::SeqCst);
    store.flush().unwrap();
    assert!(store.stats().troubles.is_empty());
    store.create_stream(keep("more")).unwrap();
    assert_eq!(machine.run_files().len(), 2);
    store.close().unwrap();
    assert_eq!(read(&machine.open(manual()), "events"), [pair(1, "a"), pair(2, "b")]);
}

#[test]
fn a_run_whose_sync_failed_is_thrown_away_and_written_anew_under_another_name() {
    let (machine, notes, store, stream) = noted();
    append(&store, stream, &[pair(1, "a")]);
    notes.runs_fail.store(true, Ordering::SeqCst);
    assert_eq!(store.flush().unwrap_err().kind(), ErrorKind::Io);
    assert!(machine.run_files().is_empty());
    notes.runs_fail.store(false, Ordering::SeqCst);
    append(&store, stream, &[pair(2, "b")]);
    store.flush().unwrap();
    let names = machine.run_files();
    assert!(names.iter().all(|path| !path.ends_with("0000000000000001.arrow")), "{names:?}");
    assert_eq!(read(&machine.copy().open(manual()), "events"), [pair(1, "a"), pair(2, "b")]);
}

#[test]
fn a_poisoned_store_names_the_first_failure_and_its_file_once() {
    let (_machine, notes, store, stream) = noted();
    append(&store, stream, &[pair(1, "a")]);
    notes.syncs_fail.store(true, Ordering::SeqCst);
    let path = store.sync().unwrap_err().path().unwrap().display().to_string();
    for error in [store.sync().unwrap_err(), store.flush().unwrap_err()] {
        let text = error.to_string();
        assert_eq!(text.matches(&path).count(), 1, "{text}");
        assert_eq!(text.matches("planted failure").count(), 1, "{text}");
        assert_eq!(text.matches("takes no").count(), 1, "{text}");
    }
}

/// One bad bit in a run of one stream once ended all writing, half a second after each open.
#[test]
fn damage_that_compaction_meets_in_one_stream_stops_neither_writes_nor_the_others() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let (bad, good) = (keep("bad"), keep("good"));
    let ids = [store.create_stream(bad).unwrap(), store.create_stream(good).unwrap()];
    for turn in 0..8 {
        for id in ids {
            let rows: Vec<Pair> = (0..50).map(|n| (n * 10 + turn, vec![b'x'; 50])).collect();
            insert(&store, id, &rows, Durability::Written);
        }
        store.flush().unwrap();
    }
    store.close().unwrap();
    let path = machine.run_files().into_iter().next().unwrap();
    let mut bytes = machine.read_file(&path);
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    machine.write_file(&path, &bytes);
    let store = machine.open(tiny());
    while store.maintain_step().unwrap() {}
    let stats = store.stats();
    assert_eq!(stats.troubles, Vec::<String>::new());
    let damaged: Vec<_> = stats.damaged.iter().map(|missing| missing.file.clone()).collect();
    assert_eq!(damaged, [path], "nobody met the damage");
    let runs_of = |name: &str| {
        let streams = store.stats().streams;
        streams.into_iter().find(|stream| stream.name == name).unwrap().runs
    };
    assert!(runs_of("good") < 8);
    assert_eq!(machine.run_files().len() as u64, runs_of("good") + runs_of("bad"));
    for id in ids {
        insert(&store, id, &[pair(5_000, "after")], Durability::Synced);
    }
    store.flush().unwrap();
    assert!(!store.is_poisoned());
    assert_eq!(read(&store, "good").len(), 401);
    store.close().unwrap();
}
