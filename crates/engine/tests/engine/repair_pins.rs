//! Repair keeps pins, and streams without a run, where the manifest or what is left of it tells of them.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::{Path, PathBuf};

use crate::support::*;
use timestrata_engine::{
    Durability, ErrorKind, RepairOptions, RepairReport, ScanSpec, Settings, Store, repair,
};

fn settings() -> Settings {
    Settings { run_batch_rows: 100, ..manual() }
}

fn rows(turn: i64) -> Vec<Pair> {
    (0..300).map(|n| (n * 4 + turn, n.wrapping_mul(0x9E37_79B9).to_be_bytes().repeat(9))).collect()
}

/// A stream of which a pin keeps two runs that compaction has replaced since, and one that has nothing.
fn pinned_store() -> (Machine, Vec<Pair>, Vec<Pair>) {
    let machine = Machine::new();
    let store = machine.open(settings());
    let events = store.create_stream(keep("events")).unwrap();
    store.create_stream(latest("empty")).unwrap();
    for turn in 0..2 {
        insert(&store, events, &rows(turn), Durability::Synced);
        store.flush().unwrap();
    }
    store.pin("then").unwrap();
    let then = read_pin(&store, "then");
    assert_eq!(then, read(&store, "events"));
    insert(&store, events, &rows(2), Durability::Synced);
    delete(&store, events, 0, 100);
    store.compact(None).unwrap();
    let now = read(&store, "events");
    store.close().unwrap();
    assert!(then.len() == 600 && now.len() < 900 && machine.run_files().len() > 2);
    (machine, then, now)
}

fn read_pin(store: &Store, name: &str) -> Vec<Pair> {
    let events = store.expect_stream("events").unwrap().id();
    read_spec(&store.snapshot_at(name).unwrap(), events, &ScanSpec::default()).unwrap()
}

fn repaired(machine: &Machine) -> (RepairReport, Store) {
    let dry = RepairOptions { dry_run: true, ..RepairOptions::default() };
    let foretold = repair(&machine.io, &machine.dir, &dry).unwrap();
    let report = repair(&machine.io, &machine.dir, &RepairOptions::default()).unwrap();
    assert_eq!(RepairReport { to: None, ..report.clone() }, foretold);
    let (io, clock) = (machine.io.clone(), machine.clock.clone());
    let store = Machine { io, clock, dir: PathBuf::from("/store-repaired") }.open(settings());
    (report, store)
}

/// The last edit, of closing, can't be read: what is left of the manifest knows all that there is.
fn damage_last_edit(machine: &Machine) {
    for name in ["MANIFEST", "MANIFEST.copy"] {
        let path = machine.dir.join(name);
        let mut bytes = machine.read_file(&path);
        let end = bytes.len() - 4;
        bytes[end] ^= 1;
        machine.write_file(&path, &bytes);
    }
}

/// Pins went with any repair.
#[test]
fn pins_and_streams_without_runs_are_kept_where_a_manifest_tells_of_them() {
    for is_whole in [true, false] {
        let (machine, then, now) = pinned_store();
        if !is_whole {
            damage_last_edit(&machine);
        }
        let (report, store) = repaired(&machine);
        assert!(report.lost_nothing() && report.doubts.is_empty(), "{report}");
        assert_eq!(
            (&*report.pins, report.manifest_lost.is_none()),
            (&["then".to_owned()][..], is_whole)
        );
        assert!(read_pin(&store, "then") == then && read(&store, "events") == now, "{report}");
        assert!(read(&store, "empty").is_empty());
        // What only the pin keeps goes with it.
        store.unpin("then").unwrap();
        assert_eq!(store.snapshot_at("then").unwrap_err().kind(), ErrorKind::NotFound);
        store.compact(None).unwrap();
        assert!(read(&store, "events") == now);
    }
}

#[test]
fn a_pin_whose_run_is_damaged_keeps_the_rest_and_the_report_says_what_it_lacks() {
    for is_missing in [true, false] {
        let (machine, then, now) = pinned_store();
        let path: &Path = &machine.run_files()[0];
        let mut bytes = machine.read_file(path);
        match is_missing {
            true => machine.io.disk.remove(path).unwrap(),
            false => {
                let value = &rows(0)[150].1;
                let place = bytes.windows(value.len()).position(|window| window == value).unwrap();
                bytes[place] ^= 1;
                machine.write_file(path, &bytes);
            }
        }
        let (report, store) = repaired(&machine);
        let lost: u64 = report.missing.iter().map(|missing| missing.rows).sum();
        assert_eq!(lost, if is_missing { 300 } else { 100 }, "{report}");
        assert!(
            report.doubts.iter().any(|doubt| doubt.contains("the pin 'then' lacks")),
            "{report}"
        );
        let left = read_pin(&store, "then");
        assert_eq!(left.len() as u64, 600 - lost, "{report}");
        assert!(left.iter().all(|row| then.contains(row)));
        assert!(read(&store, "events") == now, "{report}");
    }
}

/// A manifest of which the end is lost tells of pins that may have been removed since.
#[test]
fn a_pin_of_an_earlier_time_whose_runs_are_gone_is_left_out_and_told() {
    let (machine, _, now) = pinned_store();
    let store = machine.open(settings());
    store.unpin("then").unwrap();
    store.close().unwrap();
    let (whole, _, _) = pinned_store();
    for name in ["MANIFEST", "MANIFEST.copy"] {
        machine.write_file(&machine.dir.join(name), &whole.read_file(&whole.dir.join(name)));
    }
    damage_last_edit(&machine);
    let (report, store) = repaired(&machine);
    assert!(report.pins.is_empty() && report.lost_nothing(), "{report}");
    assert!(
        report.doubts.iter().any(|doubt| doubt.contains("the pin 'then' was left out")),
        "{report}"
    );
    assert!(read(&store, "events") == now && store.pins().is_empty());
}
