//! Damage stays where it is: reads around it go on, reads over it say what is missing, compaction goes
//! on with the rest.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail as the test does"
)]

use std::path::Path;

use crate::support::*;
use timestrata_engine::{
    Durability, ErrorKind, KeyRange, MissingRange, RunFormat, ScanSpec, Settings, Snapshot, Store,
    StreamId, StreamSpec,
};

/// A row of 100 bytes that don't compress and that no other row has.
fn wide(time: i64) -> Pair {
    let mut state = (time as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let bytes = (0..100).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    (time, bytes.collect())
}

/// Blocks of 100 rows: about 11 KB, so that several share bytes under one checksum of 64 KiB.
fn small_blocks() -> Settings {
    Settings {
        run_batch_rows: 100,
        memtable_bytes_max: 1 << 20,
        memory_bytes_max: 4 << 20,
        ..tiny()
    }
}

/// A closed store with one stream of 2,000 rows in one run.
fn one_run(spec: StreamSpec) -> (Machine, Vec<Pair>) {
    let machine = Machine::new();
    let store = machine.open(small_blocks());
    let is_cold = spec.run_format == RunFormat::Cold;
    let stream = store.create_stream(spec).unwrap();
    let rows: Vec<Pair> = (0..2_000).map(wide).collect();
    insert(&store, stream, &rows, Durability::Written);
    if is_cold {
        store.compact(None).unwrap()
    } else {
        store.flush().unwrap()
    }
    store.close().unwrap();
    assert_eq!(machine.run_files().len(), 1);
    (machine, rows)
}

fn flip(machine: &Machine, path: &Path, offset: usize) {
    let mut bytes = machine.read_file(path);
    bytes[offset] ^= 4;
    machine.write_file(path, &bytes);
}

/// Where the value of a row lies in its file; values don't compress.
fn place_of(machine: &Machine, path: &Path, row: &Pair) -> usize {
    let bytes = machine.read_file(path);
    bytes.windows(32).position(|window| window == &row.1[..32]).expect("the row is in the file")
}

fn read_all(
    snapshot: &Snapshot,
    stream: StreamId,
    spec: &ScanSpec,
) -> (Vec<Pair>, Vec<MissingRange>) {
    let mut scan = snapshot.scan(stream, spec).unwrap();
    let mut rows = Vec::new();
    for batch in scan.by_ref() {
        rows.extend(pairs(&batch.unwrap()));
    }
    (rows, scan.missing())
}

fn opened(machine: &Machine) -> (Store, StreamId) {
    let store = machine.open(small_blocks());
    let stream = store.stream("events").unwrap().id();
    (store, stream)
}

#[test]
fn a_damaged_block_takes_down_its_own_rows_and_those_beside_it_are_read() {
    for format in [RunFormat::Hot, RunFormat::Cold] {
        let mut spec = keep("events");
        spec.run_format = format;
        let (machine, rows) = one_run(spec);
        let path = machine.run_files().remove(0);
        flip(&machine, &path, place_of(&machine, &path, &rows[950]));
        let (store, stream) = opened(&machine);
        let snapshot = store.snapshot().unwrap();
        for first in (0..2_000).step_by(100) {
            let spec = ScanSpec { range: range(first, first + 100), ..ScanSpec::default() };
            let found = read_spec(&snapshot, stream, &spec);
            if first != 900 {
                let expected = &rows[first as usize..first as usize + 100];
                assert!(found.unwrap() == expected, "{format:?} {first}");
                continue;
            }
            let error = found.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert_eq!(error.path(), Some(path.as_path()));
            assert!(error.offset().is_some());
            let missing = error.missing().expect("the error says what is missing");
            assert_eq!((missing.key_min, missing.key_max), (time(900), time(999)));
            assert_eq!((missing.rows, missing.stream.as_str()), (100, "events"));
            let text = error.to_string();
            assert!(text.contains("100 rows of stream 'events' with keys 900 to 999"), "{text}");
        }
        let point = |at: i64| snapshot.get(stream, &[timestrata_engine::Cell::Int(at)]);
        assert!(point(899).unwrap().is_some() && point(1_000).unwrap().is_some());
        assert!(point(950).unwrap_err().missing().is_some());
        assert_eq!(snapshot.count(stream, &KeyRange::ALL).unwrap(), 2_000, "by metadata");
        let damaged = store.stats().damaged;
        assert_eq!(damaged.len(), 1, "{damaged:?}");
        assert_eq!(damaged[0].key_min, time(900));
    }
}

#[test]
fn what_is_damaged_is_left_out_and_told_where_that_is_asked_for() {
    for format in [RunFormat::Hot, RunFormat::Cold] {
        let mut spec = keep("events");
        spec.run_format = format;
        let (machine, rows) = one_run(spec);
        let path = machine.run_files().remove(0);
        for row in [150, 1_950] {
            flip(&machine, &path, place_of(&machine, &path, &rows[row]));
        }
        let (store, stream) = opened(&machine);
        let snapshot = store.snapshot().unwrap();
        let mut expected = rows.clone();
        expected.retain(|(time, _)| !(100..200).contains(time) && *time < 1_900);
        for (reverse, limit) in [(false, None), (true, None), (false, Some(150)), (true, Some(7))] {
            let spec =
                ScanSpec { skip_damaged: true, reverse, limit, threads: 4, ..ScanSpec::default() };
            let (found, missing) = read_all(&snapshot, stream, &spec);
            let mut expected = expected.clone();
            if reverse {
                expected.reverse();
            }
            expected.truncate(limit.unwrap_or(usize::MAX));
            assert!(found == expected, "{format:?} {reverse} {limit:?}: {} rows", found.len());
            let mut keys: Vec<_> = missing.iter().map(|m| (m.key_min, m.key_max)).collect();
            keys.sort_unstable();
            let all = [(time(100), time(199)), (time(1_900), time(1_999))];
            match (reverse, limit) {
                (_, None) => assert_eq!(keys, all),
                (true, _) => assert_eq!(keys, all[1..]),
                (false, _) => assert_eq!(keys, all[..1]),
            }
        }
        let whole = ScanSpec { skip_damaged: true, range: range(200, 400), ..ScanSpec::default() };
        let (found, missing) = read_all(&snapshot, stream, &whole);
        assert!(found == rows[200..400] && missing.is_empty(), "{format:?}");
    }
}

#[test]
fn a_run_whose_end_is_damaged_is_left_out_as_a_whole() {
    let (machine, _) = one_run(keep("events"));
    let (store, stream) = opened(&machine);
    insert(&store, stream, &[pair(5_000, "later")], Durability::Written);
    store.close().unwrap();
    let path = machine.run_files().remove(0);
    let end = machine.read_file(&path).len() - 30;
    flip(&machine, &path, end);
    let (store, stream) = opened(&machine);
    for reverse in [false, true] {
        let spec = ScanSpec { skip_damaged: true, reverse, ..ScanSpec::default() };
        let (found, missing) = read_all(&store.snapshot().unwrap(), stream, &spec);
        assert_eq!(found, [pair(5_000, "later")]);
        assert_eq!(missing.len(), 1);
        assert_eq!((missing[0].key_min, missing[0].key_max), (time(0), time(1_999)));
        assert_eq!(missing[0].rows, 2_000);
    }
    let later = ScanSpec { range: range(2_000, 9_000), ..ScanSpec::default() };
    assert_eq!(read_spec(&store.snapshot().unwrap(), stream, &later).unwrap().len(), 1);
}

/// A newer version, or the mark of a delete, may have been in the damaged block.
#[test]
fn nothing_that_a_damaged_block_may_have_replaced_comes_back() {
    let (machine, old) = one_run(latest("events"));
    let (store, stream) = opened(&machine);
    let newer: Vec<Pair> =
        (500..700).map(|at| wide(at + 100_000)).map(|(at, v)| (at - 100_000, v)).collect();
    insert(&store, stream, &newer, Durability::Written);
    store.flush().unwrap();
    insert(&store, stream, &[pair(520, "newest")], Durability::Written);
    store.close().unwrap();
    let path = machine.run_files().remove(1);
    flip(&machine, &path, place_of(&machine, &path, &newer[50]));
    let (store, stream) = opened(&machine);
    for reverse in [false, true] {
        for limit in [None, Some(1_700)] {
            let spec = ScanSpec { skip_damaged: true, reverse, limit, ..ScanSpec::default() };
            let (mut found, missing) = read_all(&store.snapshot().unwrap(), stream, &spec);
            let mut expected: Vec<Pair> = old[..500].to_vec();
            expected.push(pair(520, "newest"));
            expected.extend_from_slice(&newer[100..]);
            expected.extend_from_slice(&old[700..]);
            if reverse {
                expected.reverse();
            }
            expected.truncate(limit.unwrap_or(usize::MAX));
            found.truncate(expected.len());
            assert!(found == expected, "{reverse} {limit:?}: {} rows", found.len());
            assert_eq!((missing[0].key_min, missing[0].key_max), (time(500), time(599)));
        }
    }
}

#[test]
fn compaction_sets_a_damaged_run_aside_and_goes_on_with_the_others() {
    let machine = Machine::new();
    let store = machine.open(small_blocks());
    let stream = store.create_stream(keep("events")).unwrap();
    let rows_of = |turn: i64| -> Vec<Pair> { (0..50).map(|n| wide(n * 20 + turn)).collect() };
    for turn in 0..6 {
        insert(&store, stream, &rows_of(turn), Durability::Written);
        store.flush().unwrap();
    }
    store.close().unwrap();
    let files = machine.run_files();
    assert_eq!(files.len(), 6);
    flip(&machine, &files[2], place_of(&machine, &files[2], &rows_of(2)[25]));
    let (store, stream) = opened(&machine);
    while store.maintain_step().unwrap() {}
    let stats = store.stats();
    assert!(stats.troubles.is_empty(), "{:?}", stats.troubles);
    assert_eq!(stats.damaged.len(), 1);
    assert_eq!(stats.damaged[0].file, files[2]);
    // The two older ones, the damaged one, and what came of the three newer ones.
    let runs = stats.streams[0].runs;
    assert!(runs < 6, "{runs} runs");
    assert!(machine.run_files().contains(&files[2]));
    // By hand all that can be done is done, and then the damage is told.
    let error = store.compact(None).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(files[2].as_path())));
    assert_eq!(store.stats().streams[0].runs, 3);
    let spec = ScanSpec { skip_damaged: true, ..ScanSpec::default() };
    let (found, missing) = read_all(&store.snapshot().unwrap(), stream, &spec);
    assert_eq!((found.len(), missing.len()), (250, 1));
    // What is let go of as a whole needs no reading.
    delete(&store, stream, 0, 10_000);
    store.compact(None).unwrap();
    assert_eq!(store.stats().streams[0].runs, 0);
    assert_eq!(store.stats().damaged, []);
    store.close().unwrap();
}
