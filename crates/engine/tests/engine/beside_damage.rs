//! A run that is damaged or missing costs its own rows: a reader opens and reads the others, and a backup says
//! what is wrong and copies the others where that is asked for.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::{Path, PathBuf};

use crate::support::*;
use timestrata_engine::{
    Access, BackupOptions, Durability, Error, ErrorKind, Io, RepairOptions, ScanSpec, Settings,
    Store, repair,
};

/// What was done to a run's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Harm {
    Missing,
    Cut,
    Tail,
    Block,
}

const HARMS: [Harm; 4] = [Harm::Missing, Harm::Cut, Harm::Tail, Harm::Block];

fn settings() -> Settings {
    Settings { run_batch_rows: 100, ..manual() }
}

fn rows(from: i64) -> Vec<Pair> {
    (from..from + 300).map(|n| (n, n.wrapping_mul(0x9E37_79B9).to_be_bytes().repeat(9))).collect()
}

/// `events` with two runs, of 0 to 299 and of 1,000 to 1,299; `other` with one, and a row in the log.
fn three_runs() -> (Machine, Store) {
    let machine = Machine::new();
    let store = machine.open(settings());
    let events = store.create_stream(keep("events")).unwrap();
    let other = store.create_stream(keep("other")).unwrap();
    for from in [0, 1_000] {
        insert(&store, events, &rows(from), Durability::Synced);
        store.flush().unwrap();
    }
    insert(&store, other, &rows(500), Durability::Synced);
    store.flush().unwrap();
    insert(&store, other, &rows(5_000), Durability::Synced);
    (machine, store)
}

/// Harms the second run of `events`.
fn harm(machine: &Machine, harm: Harm) -> PathBuf {
    let path = machine.run_files().remove(1);
    let mut bytes = machine.read_file(&path);
    let value = &rows(1_000)[150].1;
    let place = bytes.windows(value.len()).position(|window| window == value).unwrap();
    match harm {
        Harm::Missing => {
            machine.io.disk.remove(&path).unwrap();
            return path;
        }
        Harm::Cut => bytes.truncate(place),
        Harm::Tail => {
            let end = bytes.len() - 20;
            bytes[end] ^= 1;
        }
        Harm::Block => bytes[place] ^= 1,
    }
    machine.write_file(&path, &bytes);
    path
}

fn read_range(store: &Store, name: &str, lo: i64, hi: i64) -> Result<Vec<Pair>, Error> {
    let stream = store.expect_stream(name)?.id();
    read_spec(&store.snapshot()?, stream, &ScanSpec { range: range(lo, hi), ..ScanSpec::default() })
}

/// All but the damaged rows can be read, and who reads those is told which they are.
fn assert_reads_around(store: &Store, path: &Path, harm: Harm) {
    let all_of_other: Vec<Pair> = rows(500).into_iter().chain(rows(5_000)).collect();
    assert!(read(store, "other") == all_of_other, "{harm:?}");
    assert!(read_range(store, "events", 0, 900).unwrap() == rows(0), "{harm:?}");
    let error = read_range(store, "events", 0, 5_000).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(path)), "{error}");
    let missing = error.missing().unwrap();
    let lost = if harm == Harm::Block { (1_100, 1_199, 100) } else { (1_000, 1_299, 300) };
    let found = (missing.key_min, missing.key_max, missing.rows);
    assert_eq!((missing.stream.as_str(), found), ("events", (time(lost.0), time(lost.1), lost.2)));
    let events = store.expect_stream("events").unwrap().id();
    let skipping = ScanSpec { skip_damaged: true, ..ScanSpec::default() };
    let left = read_spec(&store.snapshot().unwrap(), events, &skipping).unwrap();
    assert_eq!(left.len() as u64, 600 - lost.2, "{harm:?}");
}

/// A reader looked at the ends of all runs when it opened, and gave up at the first that was damaged or missing.
#[test]
fn a_reader_opens_beside_a_run_that_is_damaged_or_missing_and_reads_the_others() {
    for what in HARMS {
        let (machine, store) = three_runs();
        let path = harm(&machine, what);
        let reader = machine.try_open(Access::Read, settings()).unwrap();
        assert_reads_around(&reader, &path, what);
        let told = reader.recovery_report().damaged_runs.clone();
        let expected = if what == Harm::Block { vec![] } else { vec![path.clone()] };
        assert_eq!(told, expected, "{what:?}");
        assert_eq!(reader.stats().damaged.len(), 1, "{what:?}");
        // It goes on following the writer, whose edits name the run still.
        let other = store.stream("other").unwrap().id();
        insert(&store, other, &[pair(9_000, "later")], Durability::Synced);
        store.flush().unwrap();
        reader.refresh().unwrap();
        assert_eq!(read_range(&reader, "other", 9_000, 9_001).unwrap(), [pair(9_000, "later")]);
        let error = read_range(&reader, "events", 1_100, 1_101).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    }
}

/// The manifest of an earlier time names runs that were compacted since: what it tells of other streams
/// is old, so no reader may take it for today's.
#[test]
fn a_reader_refuses_a_manifest_of_another_time() {
    let (machine, store) = three_runs();
    let stale = machine.read_file(&machine.dir.join("MANIFEST"));
    store.compact(None).unwrap();
    store.close().unwrap();
    machine.write_file(&machine.dir.join("MANIFEST"), &stale);
    machine.io.disk.remove(&machine.dir.join("MANIFEST.copy")).unwrap();
    let error = machine.try_open(Access::Read, settings()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.message().contains("another time"), "{error}");
}

fn copied(io: &Io, clock: &Machine, dir: &Path) -> Machine {
    Machine { io: io.clone(), clock: clock.clock.clone(), dir: dir.to_path_buf() }
}

#[test]
fn a_backup_beside_damage_says_how_to_go_on_and_copies_the_rest_where_that_is_asked_for() {
    for what in HARMS {
        let (machine, store) = three_runs();
        let path = harm(&machine, what);
        let destination = Path::new("/backup");
        let reader = machine.try_open(Access::Read, settings()).unwrap();
        for from in [&store, &reader] {
            let error = from.backup(destination).unwrap_err();
            assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(&*path)));
            assert_eq!(error.missing().unwrap().stream, "events");
            for word in ["timestrata repair", "--with-damage"] {
                assert!(error.hint().contains(word), "{}", error.hint());
            }
            assert!(!machine.io.disk.exists(&destination.join("MANIFEST")).unwrap());
        }
        let options = BackupOptions { with_damage: true };
        let report = reader.backup_with(destination, options).unwrap();
        let lost = if what == Harm::Block { 100 } else { 300 };
        let damaged: Vec<_> = report.damaged.iter().map(|at| (&*at.stream, at.rows)).collect();
        assert_eq!(damaged, [("events", lost)], "{what:?}");
        let copy = copied(&machine.io, &machine, destination);
        let runs = machine.run_files().len() + 1;
        assert_eq!((copy.run_files().len(), report.files), (runs, runs as u64 + 1), "{what:?}");
        let reader = copy.try_open(Access::Read, settings()).unwrap();
        let path = destination.join("runs").join(path.file_name().unwrap());
        assert_reads_around(&reader, &path, what);
        drop(reader);
        // And the copy can be repaired as the original can.
        let repaired = repair(&copy.io, &copy.dir, &RepairOptions::default()).unwrap();
        assert!(!repaired.lost_nothing(), "{repaired}");
        let new = copied(&copy.io, &copy, repaired.to.as_deref().unwrap()).open(settings());
        assert_eq!(read(&new, "other").len(), 600);
        assert!(read_range(&new, "events", 0, 900).unwrap() == rows(0));
    }
}
