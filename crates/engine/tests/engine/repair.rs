//! Repair makes a store of what can be read, tells what was lost, and changes nothing of the original.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::{Path, PathBuf};

use crate::support::*;
use timestrata_engine::{
    Access, Changes, Durability, ErrorKind, RepairOptions, RepairReport, RunFormat, Settings,
    Store, repair,
};

/// What a machine's store directory holds.
fn bytes_of(machine: &Machine) -> Vec<(PathBuf, Vec<u8>)> {
    // The lock's file holds the id of whoever holds it.
    let files = machine.files().into_iter().filter(|path| !path.ends_with("LOCK"));
    files.map(|path| (path.clone(), machine.read_file(&path))).collect()
}

/// Repairs, once dry and once for good, and gives the new store.
fn repaired(machine: &Machine) -> (RepairReport, Machine) {
    let before = bytes_of(machine);
    let dry = RepairOptions { dry_run: true, ..RepairOptions::default() };
    let foretold = repair(&machine.io, &machine.dir, &dry).unwrap();
    assert_eq!(foretold.to, None);
    assert!(!machine.io.disk.exists(Path::new("/store-repaired")).unwrap());
    let report = repair(&machine.io, &machine.dir, &RepairOptions::default()).unwrap();
    assert_eq!(report.to.as_deref(), Some(Path::new("/store-repaired")));
    assert_eq!(RepairReport { to: None, ..report.clone() }, foretold);
    assert!(bytes_of(machine) == before, "the original was changed");
    let new = Machine {
        io: machine.io.clone(),
        clock: machine.clock.clone(),
        dir: PathBuf::from("/store-repaired"),
    };
    (report, new)
}

fn remove(machine: &Machine, name: &str) {
    machine.io.disk.remove(&machine.dir.join(name)).unwrap();
}

fn lose_manifest(machine: &Machine) {
    remove(machine, "MANIFEST");
    remove(machine, "MANIFEST.copy");
}

/// What a kill leaves of a store.
fn killed(machine: &Machine, store: Store) -> Machine {
    let left = machine.copy();
    // Its handle must not flush when it is dropped.
    std::mem::forget(store);
    left
}

/// Rows over two streams, with compaction, late rows, deletes by range and by key, and an unflushed end.
fn busy_store(format: RunFormat) -> (Machine, Store) {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let mut spec = keep("events");
    spec.run_format = format;
    spec.properties = vec![("kind".into(), "test".into())];
    let events = store.create_stream(spec).unwrap();
    let state = store.create_stream(latest("state")).unwrap();
    for turn in 0..8 {
        let rows: Vec<Pair> = (0..60).map(|n| (n * 8 + turn, vec![turn as u8; 40])).collect();
        insert(&store, events, &rows, Durability::Written);
        let rows: Vec<Pair> = (0..40).map(|n| (n, vec![turn as u8 + 1; 20])).collect();
        insert(&store, state, &rows, Durability::Written);
        if turn % 3 == 1 {
            delete(&store, events, turn * 50, turn * 50 + 20);
        }
        let gone = Changes::new().delete_keys(state, keys(&[turn, turn + 20]));
        store.commit(gone, Durability::Written).unwrap();
        store.flush().unwrap();
        if turn == 4 {
            store.compact(Some(events)).unwrap();
        }
    }
    while store.maintain_step().unwrap() {}
    delete(&store, events, 100, 110);
    store.flush().unwrap();
    append(&store, events, &[pair(1_000, "only in the log"), pair(101, "late")]);
    delete(&store, events, 0, 3);
    store.sync().unwrap();
    (machine, store)
}

fn assert_same_rows(new: &Machine, expected: &[(&str, Vec<Pair>)]) {
    let report = timestrata_engine::check(&new.io, &new.dir).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let store = new.open(tiny());
    for (name, rows) in expected {
        assert!(&read(&store, name) == rows, "{name}");
    }
    let stream = store.stream("events").unwrap();
    assert_eq!(stream.spec().properties, [("kind".to_owned(), "test".to_owned())]);
    // It goes on as any other.
    insert(&store, stream.id(), &[pair(5_000, "new")], Durability::Synced);
    store.compact(None).unwrap();
    for (name, rows) in expected {
        let found = read(&store, name);
        assert!(found[..rows.len()] == rows[..], "{name}, compacted");
    }
    store.close().unwrap();
    assert_eq!(
        new.try_open(Access::Write, tiny()).unwrap().snapshot().unwrap().streams().count(),
        2
    );
}

#[test]
fn a_store_without_its_manifest_is_made_anew_from_what_its_runs_and_its_log_say() {
    for format in [RunFormat::Hot, RunFormat::Cold] {
        for is_closed in [false, true] {
            let (machine, store) = busy_store(format);
            let expected = [("events", read(&store, "events")), ("state", read(&store, "state"))];
            let machine = match is_closed {
                true => store.close().map(|()| machine).unwrap(),
                false => killed(&machine, store),
            };
            lose_manifest(&machine);
            let error = machine.try_open(Access::Write, tiny()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert!(error.hint().contains("timestrata repair"), "{}", error.hint());
            let (report, new) = repaired(&machine);
            assert!(report.lost_nothing(), "{report}");
            assert!(report.manifest_lost.is_some());
            assert_same_rows(&new, &expected);
        }
    }
}

#[test]
fn a_sound_store_is_repaired_to_the_same() {
    let (machine, store) = busy_store(RunFormat::Hot);
    let expected = [("events", read(&store, "events")), ("state", read(&store, "state"))];
    let machine = killed(&machine, store);
    let (report, new) = repaired(&machine);
    assert!(report.lost_nothing() && report.manifest_lost.is_none(), "{report}");
    assert_same_rows(&new, &expected);
}

/// A flipped bit in the last edit, with the copy gone too, once made opening delete the compacted
/// run, the only copy of its rows: the edits before named its inputs, which were long gone.
#[test]
fn rows_that_a_damaged_manifest_knows_nothing_of_are_given_back() {
    for cut in [false, true] {
        let machine = Machine::new();
        let settings = Settings { run_batch_rows: 1_000, ..manual() };
        let store = machine.open(settings.clone());
        let events = store.create_stream(keep("events")).unwrap();
        for turn in 0..4 {
            let rows: Vec<Pair> = (0..1_000).map(|n| (n * 4 + turn, vec![7; 30])).collect();
            insert(&store, events, &rows, Durability::Synced);
            store.flush().unwrap();
        }
        store.close().unwrap();
        let store = machine.open(settings.clone());
        store.compact(None).unwrap();
        let expected = read(&store, "events");
        assert_eq!(expected.len(), 4_000);
        let machine = killed(&machine, store);
        for name in ["MANIFEST", "MANIFEST.copy"] {
            let path = machine.dir.join(name);
            let mut bytes = machine.read_file(&path);
            // In the last edit.
            let end = edit_ends(&bytes).pop().unwrap() - 10;
            if cut {
                bytes.truncate(end)
            } else {
                bytes[end] ^= 1
            }
            machine.write_file(&path, &bytes);
        }
        let error = machine.try_open(Access::Write, settings.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        let (report, new) = repaired(&machine);
        assert!(report.lost_nothing(), "{report}");
        assert!(read(&new.open(settings), "events") == expected);
    }
}

#[test]
fn what_can_be_read_of_a_damaged_run_is_taken_over_and_the_rest_is_told() {
    for with_manifest in [true, false] {
        let machine = Machine::new();
        let settings = Settings { run_batch_rows: 100, ..manual() };
        let store = machine.open(settings.clone());
        let events = store.create_stream(keep("events")).unwrap();
        let rows: Vec<Pair> = (0..1_000_i64)
            .map(|n| (n, n.wrapping_mul(0x9E37_79B9).to_be_bytes().repeat(9)))
            .collect();
        insert(&store, events, &rows, Durability::Synced);
        store.close().unwrap();
        let path = machine.run_files().remove(0);
        let mut bytes = machine.read_file(&path);
        let place = bytes.windows(72).position(|window| window == rows[450].1).unwrap();
        bytes[place] ^= 8;
        machine.write_file(&path, &bytes);
        if !with_manifest {
            lose_manifest(&machine);
        }
        let (report, new) = repaired(&machine);
        let [missing] = report.missing.as_slice() else { panic!("{report}") };
        assert_eq!((missing.key_min, missing.key_max), (time(400), time(499)));
        assert_eq!((missing.rows, missing.file.as_path()), (100, path.as_path()));
        assert_eq!(report.streams[0].rows, 900);
        let mut expected = rows.clone();
        expected.drain(400..500);
        assert!(read(&new.open(settings), "events") == expected, "{with_manifest}");
    }
}

#[test]
fn a_run_that_is_missing_is_told_by_its_keys_and_the_others_are_kept() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let events = store.create_stream(keep("events")).unwrap();
    for turn in 0..3 {
        insert(
            &store,
            events,
            &[pair(turn * 10, "a"), pair(turn * 10 + 5, "b")],
            Durability::Synced,
        );
        store.flush().unwrap();
    }
    store.close().unwrap();
    let path = machine.run_files().remove(1);
    machine.io.disk.remove(&path).unwrap();
    assert_eq!(machine.try_open(Access::Write, tiny()).unwrap_err().kind(), ErrorKind::Corruption);
    let (report, new) = repaired(&machine);
    let [missing] = report.missing.as_slice() else { panic!("{report}") };
    assert_eq!((missing.key_min, missing.key_max), (time(10), time(15)));
    assert_eq!(missing.file, path);
    let kept = [pair(0, "a"), pair(5, "b"), pair(20, "a"), pair(25, "b")];
    assert_eq!(read(&new.open(tiny()), "events"), kept);
}

/// Killed at each step of a compaction, with the manifest gone: each row once, no deleted one.
#[test]
fn whatever_a_crash_leaves_of_a_compaction_each_row_is_there_once() {
    let machine = Machine::new();
    let settings = Settings { memtable_bytes_max: 1 << 20, memory_bytes_max: 4 << 20, ..tiny() };
    let store = machine.open(settings);
    let events = store.create_stream(keep("events")).unwrap();
    for turn in 0..4 {
        let rows: Vec<Pair> = (0..8_000).map(|n| (n * 4 + turn, vec![n as u8; 20])).collect();
        insert(&store, events, &rows, Durability::Synced);
        store.flush().unwrap();
    }
    delete(&store, events, 500, 900);
    store.flush().unwrap();
    let expected = read(&store, "events");
    let inputs: Vec<(PathBuf, Vec<u8>)> = machine
        .run_files()
        .into_iter()
        .map(|path| (path.clone(), machine.read_file(&path)))
        .collect();
    store.compact(None).unwrap();
    let outputs: Vec<PathBuf> =
        machine.run_files().into_iter().filter(|p| !inputs.iter().any(|(i, _)| i == p)).collect();
    assert!(outputs.len() > 2, "{} outputs", outputs.len());
    store.close().unwrap();
    lose_manifest(&machine);
    for there in 0..=outputs.len() {
        for with_inputs in [true, false] {
            if !with_inputs && there < outputs.len() {
                continue;
            }
            let crashed = machine.copy();
            for output in &outputs[there..] {
                crashed.io.disk.remove(output).unwrap();
            }
            for (path, bytes) in inputs.iter().filter(|_| with_inputs) {
                crashed.write_file(path, bytes);
            }
            let (report, new) = repaired(&crashed);
            assert!(report.lost_nothing(), "{report}");
            let found = read(&new.open(tiny()), "events");
            assert!(found == expected, "{there} outputs: {} rows", found.len());
        }
    }
}

#[test]
fn commits_behind_a_hole_in_the_log_are_kept_and_the_hole_is_told() {
    let machine = Machine::new();
    let settings = Settings {
        memtable_bytes_max: 1 << 20,
        memory_bytes_max: 4 << 20,
        wal_bytes_max: 1 << 20,
        ..tiny()
    };
    let store = machine.open(settings);
    let events = store.create_stream(keep("events")).unwrap();
    for n in 0..200 {
        insert(&store, events, &[(n, vec![1; 300])], Durability::Synced);
    }
    assert_eq!(store.stats().flushes, 0);
    let machine = killed(&machine, store);
    let logs: Vec<PathBuf> = machine
        .files()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "wal"))
        .collect();
    assert!(logs.len() > 3);
    let mut bytes = machine.read_file(&logs[1]);
    bytes[2_000] ^= 1;
    machine.write_file(&logs[1], &bytes);
    assert_eq!(machine.try_open(Access::Write, tiny()).unwrap_err().kind(), ErrorKind::Corruption);
    let (report, new) = repaired(&machine);
    assert_eq!(report.lost.len(), 1, "{report}");
    assert!(report.lost[0].contains("0000000000000002.wal"), "{report}");
    let found = read(&new.open(tiny()), "events");
    assert!((100..200).contains(&found.len()), "{} rows", found.len());
    assert_eq!((found[0].0, found[found.len() - 1].0), (0, 199));
}

#[test]
fn a_repair_refuses_what_it_may_not_touch() {
    let (machine, store) = busy_store(RunFormat::Hot);
    let refused = |options: &RepairOptions| repair(&machine.io, &machine.dir, options).unwrap_err();
    assert_eq!(refused(&RepairOptions::default()).kind(), ErrorKind::Locked);
    store.close().unwrap();
    let taken = RepairOptions { to: Some(PathBuf::from("/store/runs")), dry_run: false };
    assert_eq!(refused(&taken).kind(), ErrorKind::AlreadyExists);
    let nowhere = repair(&machine.io, Path::new("/none"), &RepairOptions::default()).unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::NotFound);
}
