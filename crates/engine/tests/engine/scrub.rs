//! The scrubber reads all runs against their checksums, in rounds, at the pace that is set, and tells
//! what is damaged.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::PathBuf;

use crate::support::*;
use timestrata_engine::{Durability, Maintenance, RunFormat, ScanSpec, Settings, Store};

/// A row of 200 bytes that no other row has.
fn wide(time: i64) -> Pair {
    let mut state = (time as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let bytes = (0..200).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    (time, bytes.collect())
}

fn settings() -> Settings {
    Settings { run_batch_rows: 500, ..manual() }
}

/// Three runs of 10,000 rows, about 2 MiB each.
fn three_runs(format: RunFormat) -> (Machine, Store) {
    let machine = Machine::new();
    let store = machine.open(settings());
    let mut spec = keep("events");
    spec.run_format = format;
    let stream = store.create_stream(spec).unwrap();
    for run in 0..3 {
        let rows: Vec<Pair> = (run * 10_000..(run + 1) * 10_000).map(wide).collect();
        insert(&store, stream, &rows, Durability::Written);
        store.flush().unwrap();
    }
    if format == RunFormat::Cold {
        store.compact(None).unwrap();
    }
    store.close().unwrap();
    let store = machine.open(settings());
    (machine, store)
}

fn damage(machine: &Machine, row: i64) -> PathBuf {
    let wanted = wide(row).1;
    for path in machine.run_files() {
        let mut bytes = machine.read_file(&path);
        if let Some(place) = bytes.windows(32).position(|window| window == &wanted[..32]) {
            bytes[place] ^= 1;
            machine.write_file(&path, &bytes);
            return path;
        }
    }
    panic!("row {row} is in no file");
}

fn round(store: &Store) {
    while !store.scrub_step(1 << 20).unwrap() {}
}

#[test]
fn a_round_reads_every_byte_and_tells_which_rows_are_damaged() {
    for format in [RunFormat::Hot, RunFormat::Cold] {
        let (machine, store) = three_runs(format);
        round(&store);
        let stats = store.stats();
        assert_eq!((stats.scrub.rounds, stats.scrub.found_damage), (1, false));
        assert_eq!(stats.scrub.bytes, stats.streams[0].run_bytes);
        assert_eq!(stats.scrub.round_ended_wall_ns, Some(store.wall_ns()));
        assert_eq!(stats.damaged, []);
        store.close().unwrap();
        let path = damage(&machine, 12_345);
        let store = machine.open(settings());
        round(&store);
        let stats = store.stats();
        assert!(stats.scrub.found_damage);
        let [damaged] = stats.damaged.as_slice() else { panic!("{:?}", stats.damaged) };
        assert_eq!((damaged.key_min, damaged.key_max), (time(12_000), time(12_499)), "{format:?}");
        assert_eq!((damaged.rows, &damaged.file), (500, &path));
        // What it says is missing is what reading misses.
        let stream = store.stream("events").unwrap().id();
        let spec = ScanSpec { skip_damaged: true, ..ScanSpec::default() };
        let mut scan = store.snapshot().unwrap().scan(stream, &spec).unwrap();
        let rows: usize = scan.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, 29_500);
        assert_eq!(scan.missing()[0].key_min, damaged.key_min);
    }
}

#[test]
fn a_run_that_is_whole_again_is_no_longer_told_as_damaged() {
    let (machine, store) = three_runs(RunFormat::Hot);
    store.close().unwrap();
    let before = machine.run_files().into_iter().map(|path| (machine.read_file(&path), path));
    let before: Vec<_> = before.collect();
    let path = damage(&machine, 500);
    let store = machine.open(settings());
    round(&store);
    assert_eq!(store.stats().damaged.len(), 1);
    let (bytes, _) = before.iter().find(|(_, known)| *known == path).unwrap();
    machine.write_file(&path, bytes);
    round(&store);
    let stats = store.stats();
    assert_eq!((stats.damaged.len(), stats.scrub.found_damage, stats.scrub.rounds), (0, false, 2));
}

#[test]
fn the_scrubber_goes_on_where_an_earlier_process_was() {
    let machine = Machine::new();
    let store = machine.open(settings());
    let stream = store.create_stream(keep("events")).unwrap();
    for run in 0..10 {
        let rows: Vec<Pair> = (run * 10_000..(run + 1) * 10_000).map(wide).collect();
        insert(&store, stream, &rows, Durability::Written);
        store.flush().unwrap();
    }
    assert!(!store.scrub_step(18 << 20).unwrap(), "a round is longer");
    store.close().unwrap();
    let store = machine.open(settings());
    let begun = store.stats().scrub;
    assert!(begun.round_bytes >= 16 << 20 && begun.bytes == 0, "{begun:?}");
    round(&store);
    let bytes = store.stats().scrub.bytes;
    assert!(bytes < 8 << 20, "{bytes} bytes were read to end the round");
    store.close().unwrap();
    // A mark that is damaged is none.
    let path = machine.dir.join("SCRUB");
    let mut mark = machine.read_file(&path);
    mark[40] ^= 1;
    machine.write_file(&path, &mark);
    let store = machine.open(settings());
    assert_eq!(store.stats().scrub.round_bytes, 0);
    assert!(store.check().unwrap().findings.is_empty());
}

#[test]
fn in_the_background_no_more_is_read_than_the_pace_allows_and_a_round_a_day() {
    const RATE: u64 = 2 << 20;
    let (machine, store) = three_runs(RunFormat::Hot);
    let all = store.stats().streams[0].run_bytes;
    store.close().unwrap();
    let store = machine.open(Settings {
        maintenance: Maintenance::Background,
        scrub_bytes_per_second: Some(RATE),
        ..settings()
    });
    let mut seconds = 0;
    // The store's thread looks at the clock, which only this test moves on.
    while store.stats().scrub.rounds == 0 {
        let bytes = store.stats().scrub.bytes;
        // The last piece of a turn may go beyond, by a piece.
        assert!(bytes <= (seconds + 1) * RATE + (1 << 20), "{bytes} bytes in {seconds} s");
        // A little ahead: of what passes between two looks of the thread only a second counts.
        if bytes + 3 * RATE >= seconds * RATE {
            machine.clock.advance_ns(1_000_000_000);
            seconds += 1;
        }
        std::thread::yield_now();
    }
    assert_eq!(store.stats().scrub.bytes, all);
    assert!(seconds >= all / RATE, "{seconds} s");
    store.close().unwrap();
}
