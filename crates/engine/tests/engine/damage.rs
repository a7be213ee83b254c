//! Bytes on disk are input: damage is named, never answered with wrong rows or a panic.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail as the test does"
)]

use std::path::{Path, PathBuf};

use crate::support::*;
use timestrata_engine::{Access, Changes, Durability, ErrorKind, Result, RunFormat};

/// A small store of every kind of file, closed or as a killed process leaves it.
fn small_store(clean: bool) -> (Machine, Vec<Pair>, Vec<Pair>) {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let mut spec = keep("events");
    spec.run_format = RunFormat::Cold;
    let events = store.create_stream(spec).unwrap();
    let state = store.create_stream(latest("state")).unwrap();
    append(&store, events, &[pair(3, "c"), pair(1, "a"), pair(2, "b")]);
    insert(&store, state, &[pair(1, "x"), pair(2, "y")], Durability::Written);
    store.compact(None).unwrap();
    append(&store, events, &[pair(4, "d"), pair(2, "late")]);
    store.flush().unwrap();
    delete(&store, events, 3, 4);
    store.commit(Changes::new().delete_keys(state, keys(&[1])), Durability::Synced).unwrap();
    append(&store, events, &[pair(5, "e")]);
    store.sync().unwrap();
    if clean {
        store.close().unwrap();
    }
    let (events, state) = (read_closed(&machine, "events"), read_closed(&machine, "state"));
    // The handle of the killed store must not flush when it is dropped.
    if !clean {
        std::mem::forget(store);
    }
    (machine, events, state)
}

fn read_closed(machine: &Machine, name: &str) -> Vec<Pair> {
    read(&machine.copy().try_open(Access::Read, tiny()).unwrap(), name)
}

/// Opens for writing and reads everything.
fn open_and_read(machine: &Machine) -> Result<(Vec<Pair>, Vec<Pair>)> {
    let store = machine.try_open(Access::Write, tiny())?;
    let all = |name: &str| -> Result<Vec<Pair>> {
        let stream = store.expect_stream(name)?;
        read_spec(&store.snapshot()?, stream.id(), &Default::default())
    };
    Ok((all("events")?, all("state")?))
}

/// Damage must give the right rows or the right error; `check` must see what reading sees.
fn judge(damaged: &Machine, what: &str, events: &[Pair], state: &[Pair]) {
    let checked = timestrata_engine::check(&damaged.io, &damaged.dir);
    match open_and_read(damaged) {
        Ok((found_events, found_state)) => {
            assert_eq!(found_events, events, "{what}: wrong rows");
            assert_eq!(found_state, state, "{what}: wrong rows");
        }
        Err(error) => {
            let kind = error.kind();
            assert!(
                matches!(kind, ErrorKind::Corruption | ErrorKind::UnsupportedVersion),
                "{what}: {kind:?} {error}"
            );
            assert!(error.path().is_some(), "{what}: no path in {error}");
            match checked {
                Ok(report) => {
                    assert!(!report.is_sound(), "{what}: check found nothing, but: {error}")
                }
                Err(checked) => assert_eq!(checked.kind(), kind, "{what}: {checked}"),
            }
        }
    }
}

/// WAL segments are mostly empty: only the part that was written is flipped.
pub(crate) fn used_bytes(path: &Path, bytes: &[u8]) -> usize {
    let is_wal = path.extension().is_some_and(|extension| extension == "wal");
    if !is_wal {
        return bytes.len();
    }
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(64, |last| last + 1);
    (used + 40).min(bytes.len())
}

fn flip_every_byte(clean: bool) {
    let (machine, events, state) = small_store(clean);
    let mut flips = 0;
    let mut noticed = 0;
    for path in machine.files() {
        let bytes = machine.read_file(&path);
        for offset in 0..used_bytes(&path, &bytes) {
            let mut flipped = bytes.clone();
            flipped[offset] ^= 1 << (offset % 8);
            let damaged = machine.copy();
            damaged.write_file(&path, &flipped);
            let what = format!("{} byte {offset}", path.display());
            judge(&damaged, &what, &events, &state);
            noticed += usize::from(open_and_read(&damaged).is_err());
            flips += 1;
        }
    }
    println!("{flips} bytes flipped, {noticed} noticed, the rest changed no row");
    assert!(noticed > flips / 4, "{noticed} of {flips}");
}

#[test]
fn every_byte_of_a_closed_store_flipped_gives_right_rows_or_a_named_error() {
    flip_every_byte(true);
}

#[test]
fn every_byte_of_a_killed_store_flipped_gives_right_rows_or_a_named_error() {
    flip_every_byte(false);
}

fn expect_corruption(damaged: &Machine, path: &Path, what: &str) {
    let error = open_and_read(damaged).expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
    assert_eq!(error.path(), Some(path), "{what}: {error}");
    assert!(!error.hint().is_empty());
}

#[test]
fn truncated_zero_length_and_missing_runs_are_named() {
    let (machine, _, _) = small_store(true);
    for path in machine.run_files() {
        let bytes = machine.read_file(&path);
        for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            let damaged = machine.copy();
            damaged.write_file(&path, &bytes[..length]);
            expect_corruption(&damaged, &path, &format!("{} cut to {length}", path.display()));
        }
        let damaged = machine.copy();
        damaged.io.disk.remove(&path).unwrap();
        expect_corruption(&damaged, &path, "a missing run");
    }
}

#[test]
fn swapped_and_stale_runs_are_named() {
    let (machine, _, _) = small_store(true);
    let runs = machine.run_files();
    assert!(runs.len() >= 2, "{runs:?}");
    let same_kind: Vec<_> =
        runs.iter().filter(|path| path.extension() == runs[0].extension()).collect();
    let damaged = machine.copy();
    let (a, b) = (same_kind[0], same_kind[same_kind.len() - 1]);
    damaged.write_file(a, &machine.read_file(b));
    damaged.write_file(b, &machine.read_file(a));
    let error = open_and_read(&damaged).expect_err("swapped runs");
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    // The same run id of another store with the same content.
    let (other, _, _) = small_store(true);
    let damaged = machine.copy();
    damaged.write_file(a, &other.read_file(a));
    if other.read_file(a) != machine.read_file(a) {
        expect_corruption(&damaged, a, "a run of another store");
    }
}

#[test]
fn a_stale_manifest_is_noticed() {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(1, "a")]);
    let stale = machine.read_file(&machine.dir.join("MANIFEST"));
    for i in 0..600 {
        append(&store, stream, &[pair(i, "rows enough to fill several segments of the log")]);
    }
    store.close().unwrap();
    machine.write_file(&machine.dir.join("MANIFEST"), &stale);
    let mended = machine.copy().open(tiny());
    assert_eq!(read(&mended, "events").len(), 601);
    assert!(mended.recovery_report().manifest_mended.is_some());
    machine.io.disk.remove(&machine.dir.join("MANIFEST.copy")).unwrap();
    let error = machine.try_open(Access::Write, tiny()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
}

#[test]
fn a_missing_manifest_beside_data_is_not_a_new_store() {
    let (machine, _, _) = small_store(true);
    let runs = machine.run_files();
    for name in ["MANIFEST", "MANIFEST.copy"] {
        machine.io.disk.remove(&machine.dir.join(name)).unwrap();
    }
    let error = machine.try_open(Access::Write, tiny()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(machine.run_files(), runs, "nothing may be removed");
}

#[test]
fn stray_files_are_reported_and_left_alone() {
    let (machine, events, state) = small_store(true);
    let strays = ["/store/notes.txt", "/store/runs/README", "/store/wal/x.wal"].map(PathBuf::from);
    for stray in &strays {
        machine.write_file(stray, b"mine");
    }
    assert_eq!(open_and_read(&machine).unwrap(), (events, state));
    let store = machine.open(tiny());
    assert_eq!(store.recovery_report().strays.len(), strays.len());
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.findings.len(), strays.len(), "{report:?}");
    for stray in &strays {
        assert_eq!(machine.read_file(stray), b"mine");
    }
}

#[test]
fn a_directory_that_holds_something_else_is_not_touched() {
    let machine = Machine::new();
    machine.io.disk.create_dir(&machine.dir).unwrap();
    machine.write_file(&machine.dir.join("thesis.doc"), b"years of work");
    for access in [Access::Write, Access::WriteExisting, Access::Read] {
        let error = machine.try_open(access, tiny()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAStore, "{error}");
        assert!(error.to_string().contains("thesis.doc"), "{error}");
    }
    assert_eq!(machine.files(), vec![machine.dir.join("thesis.doc")]);
    let nowhere = Machine::new();
    for access in [Access::WriteExisting, Access::Read] {
        assert_eq!(nowhere.try_open(access, tiny()).unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn a_store_of_a_newer_format_is_refused_with_its_version() {
    let (machine, _, _) = small_store(true);
    let path = machine.dir.join("MANIFEST");
    let mut bytes = machine.read_file(&path);
    bytes[8..12].copy_from_slice(&99_u32.to_le_bytes());
    let crc = timestrata_format::checksum::crc32c(&bytes[..12]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    machine.write_file(&path, &bytes);
    for access in [Access::Write, Access::Read] {
        let error = machine.try_open(access, tiny()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedVersion, "{error}");
        assert!(error.to_string().contains("99"), "{error}");
    }
    let unchanged: Vec<u8> = machine.read_file(&path);
    assert_eq!(unchanged, bytes);
}

#[test]
fn a_sound_store_checks_sound_while_it_is_written() {
    let (_, store, stream) = with_events();
    for i in 0..200 {
        append(&store, stream, &[pair(i % 17, "value")]);
        if i % 40 == 0 {
            let report = store.check().unwrap();
            assert!(report.findings.is_empty(), "{report:?}");
            assert!(report.bytes > 0 && report.files > 0);
        }
    }
}
