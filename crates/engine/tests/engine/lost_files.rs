//! Opening a store destroys nothing, whatever has become of its manifest and its log.
//!
//! The story: four flushes, close, open again, compact, kill. One bit in the last edit of the manifest
//! turned over counted as the torn end of a crash, the compacted run as one that was never finished,
//! and it was removed; the runs that the manifest then named had gone with the compaction. The
//! store opened, empty of all its rows. And a log whose files were all gone passed for an empty one.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::{Path, PathBuf};

use crate::support::*;
use timestrata_engine::{Access, Durability, ErrorKind, Result, Settings, Store, StreamId, check};

const FLUSHES: i64 = 4;
const ROWS_A_FLUSH: i64 = 25;

fn rows(flush: i64) -> Vec<Pair> {
    let first = flush * ROWS_A_FLUSH;
    (first..first + ROWS_A_FLUSH).map(|time| pair(time, "a row of the story")).collect()
}

fn all_rows() -> Vec<Pair> {
    (0..FLUSHES).flat_map(rows).collect()
}

/// As a kill after the compaction leaves it, or as closing does.
fn story(closed: bool) -> Machine {
    let (machine, store, stream) = with_events();
    for flush in 0..FLUSHES {
        insert(&store, stream, &rows(flush), Durability::Written);
        store.flush().unwrap();
    }
    store.close().unwrap();
    let store = machine.open(tiny());
    store.compact(None).unwrap();
    if closed {
        store.close().unwrap();
        return machine;
    }
    machine.copy()
}

fn manifest(machine: &Machine) -> PathBuf {
    machine.dir.join("MANIFEST")
}

fn copy_of_manifest(machine: &Machine) -> PathBuf {
    machine.dir.join("MANIFEST.copy")
}

fn open_and_read(machine: &Machine) -> Result<(Store, Vec<Pair>)> {
    let store = machine.try_open(Access::Write, tiny())?;
    let stream = store.expect_stream("events")?;
    let rows = read_spec(&store.snapshot()?, stream.id(), &Default::default())?;
    Ok((store, rows))
}

/// The contents of all run files, wherever they are.
fn run_contents(machine: &Machine) -> Vec<Vec<u8>> {
    let is_run = |path: &PathBuf| path.extension().is_some_and(|end| end == "arrow");
    let mut runs: Vec<Vec<u8>> = machine
        .files()
        .iter()
        .filter(|path| is_run(path))
        .map(|path| machine.read_file(path))
        .collect();
    runs.sort();
    runs
}

/// All files with their contents, but for the lock's.
fn machine_files(machine: &Machine) -> Vec<(PathBuf, Vec<u8>)> {
    let files = machine.files().into_iter().filter(|path| !path.ends_with("LOCK"));
    files.map(|path| (path.clone(), machine.read_file(&path))).collect()
}

#[test]
fn a_damaged_or_cut_end_of_the_manifest_costs_no_row() {
    for closed in [false, true] {
        let machine = story(closed);
        let whole = machine.read_file(&manifest(&machine));
        let ends = edit_ends(&whole);
        assert!(ends.len() > 3, "several edits: {ends:?}");
        let (last_two, end) = (ends[ends.len() - 3], ends[ends.len() - 1]);
        let flips = (last_two * 8..end * 8).map(|bit| {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            (format!("bit {bit}"), damaged)
        });
        let cuts = ends[..ends.len() - 1].iter().copied().chain(last_two..end);
        let cuts = cuts.map(|cut| (format!("cut at {cut}"), whole[..cut].to_vec()));
        for (what, bytes) in flips.chain(cuts) {
            let damaged = machine.copy();
            damaged.write_file(&manifest(&machine), &bytes);
            let (store, found) = open_and_read(&damaged).unwrap();
            assert_eq!(found, all_rows(), "{what}");
            let report = store.recovery_report();
            assert!(report.manifest_mended.is_some() && !report.clean, "{what}: {report:?}");
            std::mem::forget(store);
            assert_eq!(read(&damaged.copy().open(tiny()), "events"), all_rows(), "{what}");
        }
        let checked = machine.copy();
        checked.write_file(&manifest(&machine), &whole[..last_two]);
        let report = check(&checked.io, &checked.dir).unwrap();
        assert!(!report.is_sound() && report.findings[0].path == manifest(&machine), "{report:?}");
    }
}

#[test]
fn the_manifest_has_room_behind_its_edits_in_which_nothing_is_lost() {
    let machine = story(false);
    let whole = machine.read_file(&manifest(&machine));
    let end = edit_ends(&whole).pop().unwrap();
    assert!(
        whole.len().is_multiple_of(16_384) && whole[end..].iter().all(|byte| *byte == 0),
        "{end}"
    );
    assert_eq!(machine.read_file(&copy_of_manifest(&machine)), whole[..end]);
    let is_sound = |machine: &Machine| check(&machine.io, &machine.dir).unwrap().is_sound();
    assert!(is_sound(&machine));
    let report = open_and_read(&machine.copy()).unwrap().0.recovery_report().clone();
    assert!(report.torn_tail.is_none() && report.manifest_mended.is_none(), "{report:?}");
    let flips = (end..whole.len()).step_by(617).map(|at| {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        damaged
    });
    // Room that is cut off, or was never there, is none the worse.
    for bytes in flips.chain([whole[..end].to_vec(), whole[..end + 5].to_vec()]) {
        let machine = machine.copy();
        machine.write_file(&manifest(&machine), &bytes);
        let (store, found) = open_and_read(&machine).unwrap();
        assert_eq!(found, all_rows());
        assert!(store.recovery_report().manifest_mended.is_none());
        store.close().unwrap();
        let closed = machine.read_file(&manifest(&machine));
        assert_eq!(edit_ends(&closed).pop(), Some(closed.len()), "a closed store has none");
        assert!(is_sound(&machine));
    }
}

#[test]
fn without_its_copy_a_manifest_that_is_cut_removes_no_run() {
    let mut refused = 0;
    for closed in [false, true] {
        let machine = story(closed);
        let whole = machine.read_file(&manifest(&machine));
        let ends = edit_ends(&whole);
        for cut in ends[1]..ends[ends.len() - 1] {
            let damaged = machine.copy();
            damaged.write_file(&manifest(&machine), &whole[..cut]);
            damaged.io.disk.remove(&copy_of_manifest(&machine)).unwrap();
            let before = run_contents(&damaged);
            let files = machine_files(&damaged);
            match open_and_read(&damaged) {
                Ok((store, found)) => {
                    assert_eq!(found, all_rows(), "cut at {cut}");
                    assert!(!store.recovery_report().clean || closed, "cut at {cut}");
                    std::mem::forget(store);
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.kind(), ErrorKind::Corruption, "cut at {cut}: {error}");
                    assert!(error.to_string().contains("is missing"), "cut at {cut}: {error}");
                    assert_eq!(machine_files(&damaged), files, "cut at {cut}");
                }
            }
            assert_eq!(run_contents(&damaged), before, "cut at {cut}: a run has gone");
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_manifest_that_has_gone_is_read_from_its_copy() {
    let machine = story(false);
    machine.io.disk.remove(&manifest(&machine)).unwrap();
    let reader = machine.try_open(Access::Read, tiny()).unwrap();
    assert_eq!(read(&reader, "events"), all_rows());
    let (store, found) = open_and_read(&machine).unwrap();
    assert_eq!(found, all_rows());
    assert!(store.recovery_report().manifest_mended.is_some());
    store.close().unwrap();
    // A copy that says nothing is no leave to begin anew.
    machine.io.disk.remove(&manifest(&machine)).unwrap();
    machine.write_file(&copy_of_manifest(&machine), b"nothing of the kind");
    let error = machine.try_open(Access::Write, tiny()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
}

#[test]
fn a_manifest_without_a_copy_or_beside_a_damaged_one_is_enough() {
    for copy in [None, Some(&b""[..]), Some(b"TSTRATA\0 and nothing more")] {
        let machine = story(false);
        machine.io.disk.remove(&copy_of_manifest(&machine)).unwrap();
        if let Some(bytes) = copy {
            machine.write_file(&copy_of_manifest(&machine), bytes);
        }
        let (store, found) = open_and_read(&machine).unwrap();
        assert_eq!(found, all_rows());
        assert_eq!(store.recovery_report().manifest_mended, None);
        store.close().unwrap();
        let whole = machine.read_file(&manifest(&machine));
        assert_eq!(machine.read_file(&copy_of_manifest(&machine)), whole);
    }
}

#[test]
fn while_a_named_run_is_damaged_opening_sets_nothing_aside() {
    let machine = story(false);
    let orphan = machine.dir.join("runs/00000000000000ff.arrow");
    machine.write_file(&orphan, b"the beginning of a run");
    let sound = machine.copy();
    let run = machine.run_files().remove(0);
    let mut bytes = machine.read_file(&run);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    machine.write_file(&run, &bytes);
    let store = machine.open(tiny());
    assert_eq!(store.recovery_report().damaged_runs, std::slice::from_ref(&run));
    assert_eq!(machine.read_file(&orphan), b"the beginning of a run");
    // What is written from now on meets no file of that name.
    let stream = store.expect_stream("events").unwrap().id();
    append(&store, stream, &[pair(1000, "on")]);
    store.flush().unwrap();
    drop(store);

    let store = sound.open(tiny());
    let report = store.recovery_report();
    let [aside] = report.orphans_quarantined.as_slice() else { panic!("{report:?}") };
    assert_eq!(sound.read_file(aside), b"the beginning of a run");
    assert!(!sound.io.disk.exists(&orphan).unwrap());
    assert_eq!(store.quarantine().unwrap()[0].path, *aside);
    assert!(store.check().unwrap().is_sound());
}

#[test]
fn the_quarantine_is_bounded_by_bytes_and_by_age() {
    let machine = story(true);
    let settings = |bytes| Settings { quarantine_bytes_max: bytes, ..tiny() };
    let age_ns = i64::try_from(tiny().quarantine_age_max.as_nanos()).unwrap();
    for round in 0..5_u8 {
        let orphan = machine.dir.join(format!("runs/00000000000f000{round}.arrow"));
        machine.write_file(&orphan, &[round; 100]);
        machine.clock.advance_ns(1_000_000_000);
        machine.open(settings(250)).close().unwrap();
    }
    let first = |path: &Path| machine.read_file(path)[0];
    let store = machine.open(settings(250));
    let kept: Vec<u8> = store.quarantine().unwrap().iter().map(|file| first(&file.path)).collect();
    assert_eq!(kept, [3, 4], "the newest that there is room for");
    store.close().unwrap();
    machine.clock.advance_ns(age_ns + 1_000_000_000);
    let store = machine.open(settings(250));
    assert_eq!(store.recovery_report().orphans_removed.len(), 2);
    assert_eq!(store.quarantine().unwrap(), []);
}

/// Nothing is flushed by itself.
fn unflushed() -> Settings {
    Settings {
        memtable_bytes_max: 1 << 20,
        memory_bytes_max: 4 << 20,
        wal_bytes_max: 1 << 20,
        ..tiny()
    }
}

/// A store that was killed with synced commits in several segments of its log.
fn synced_store(sessions: usize) -> (Machine, Vec<Pair>) {
    let mut machine = Machine::new();
    let mut rows = Vec::new();
    for session in 0..sessions {
        let store = machine.open(unflushed());
        let stream = match store.stream("events") {
            Some(stream) => stream.id(),
            None => store.create_stream(keep("events")).unwrap(),
        };
        for number in 0..18 {
            let row = (session as i64 * 100 + number, vec![b'x'; 1000]);
            insert(&store, stream, std::slice::from_ref(&row), Durability::Synced);
            rows.push(row);
        }
        machine = machine.copy();
        std::mem::forget(store);
    }
    (machine, rows)
}

fn segments(machine: &Machine) -> Vec<PathBuf> {
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|end| end == "wal");
    machine.files().into_iter().filter(is_segment).collect()
}

fn expect_missing(machine: &Machine, what: &str) {
    for access in [Access::Write, Access::Read] {
        let error = machine.try_open(access, tiny()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
        assert!(error.to_string().contains("missing"), "{what}: {error}");
    }
    let report = check(&machine.io, &machine.dir).unwrap();
    assert!(!report.is_sound(), "{what}: {report:?}");
}

#[test]
fn missing_log_files_are_noticed_whichever_they_are() {
    for sessions in [1, 2, 3] {
        let (machine, rows) = synced_store(sessions);
        let segments = segments(&machine);
        assert!(segments.len() >= 2 * sessions, "{segments:?}");
        assert_eq!(read(&machine.copy().open(unflushed()), "events"), rows);
        let last = segments.len() - 1;
        let tails = (0..=last).map(|from| from..=last);
        let singles = (0..=last).map(|one| one..=one);
        for removed in tails.chain(singles) {
            let damaged = machine.copy();
            let what = format!("{sessions} sessions, without {removed:?} of {segments:?}");
            segments[removed].iter().for_each(|path| damaged.io.disk.remove(path).unwrap());
            expect_missing(&damaged, &what);
        }
    }
}

#[test]
fn a_store_that_is_used_again_after_a_clean_close_needs_its_log() {
    let (machine, store, stream) = with_events();
    insert(&store, stream, &[pair(1, "first")], Durability::Synced);
    store.close().unwrap();
    let without_log = machine.copy();
    segments(&machine).iter().for_each(|path| without_log.io.disk.remove(path).unwrap());
    let store = without_log.open(tiny());
    assert!(store.recovery_report().clean, "nothing was in it");
    assert_eq!(read(&store, "events"), [pair(1, "first")]);
    let store = machine.open(tiny());
    insert(&store, stream, &[pair(2, "second")], Durability::Synced);
    let killed = machine.copy();
    assert_eq!(read(&killed.copy().open(tiny()), "events").len(), 2);
    segments(&machine).iter().for_each(|path| killed.io.disk.remove(path).unwrap());
    expect_missing(&killed, "all of the log");
    std::mem::forget(store);
}

#[test]
fn commits_are_numbered_on_behind_a_clean_close_whose_streams_have_gone() {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(1, "a"), pair(2, "b"), pair(3, "c")]);
    let other = store.create_stream(keep("other")).unwrap();
    store.drop_stream("events").unwrap();
    let before = store.snapshot().unwrap().seq();
    store.close().unwrap();
    let store = machine.open(tiny());
    let numbered = |store: &Store, other: StreamId| {
        append(store, other, &[pair(1, "x")]);
        store.snapshot().unwrap().seq()
    };
    store.create_stream(keep("more")).unwrap();
    let killed = machine.copy().open(tiny());
    assert!(numbered(&killed, other) > before);
    assert!(numbered(&store, other) > before);
}

/// It was told to lack a segment, which would have been damage.
#[test]
fn a_store_in_memory_has_no_log_to_lose() {
    let store = Store::memory(Settings::default()).unwrap();
    let stream = store.create_stream(keep("events")).unwrap();
    insert(&store, stream, &rows(0), Durability::Written);
    for _ in 0..2 {
        let report = store.check().unwrap();
        assert!(report.findings.is_empty() && report.is_sound(), "{report:?}");
        store.flush().unwrap();
    }
    assert_eq!(store.check().unwrap().rows, ROWS_A_FLUSH as u64);
}
