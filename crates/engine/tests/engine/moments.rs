//! The store as it was: what was there behind each commit is read again, whatever came later.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use timestrata_engine::{
    Access, Changes, Clock, Durability, ErrorKind, Merge, Moment, RepairOptions, SeqNo, Settings,
    Store, StreamId, check, repair,
};

use crate::support::*;

pub(crate) fn kept(settings: Settings) -> Settings {
    Settings { history_min: Duration::from_secs(60), ..settings }
}

/// In nanoseconds.
const MS: i64 = 1_000_000;

/// All streams by name, with their rows.
type Rows = BTreeMap<String, Vec<Pair>>;

fn all_of(store: &Store) -> Rows {
    let streams = store.streams();
    streams.iter().map(|stream| (stream.name().to_owned(), read(store, stream.name()))).collect()
}

/// Rows as a message has them.
fn short(rows: &[Pair]) -> String {
    let each = |(time, value): &Pair| {
        format!("{time}:{}x{}", value.first().map_or(' ', |byte| char::from(*byte)), value.len())
    };
    rows.iter().map(each).collect::<Vec<_>>().join(" ")
}

pub(crate) fn last(store: &Store) -> SeqNo {
    store.stats().last_seq
}

/// What the store was behind each commit, as it was seen then.
#[derive(Default)]
struct Seen(BTreeMap<SeqNo, Rows>, Vec<(i64, SeqNo)>);

impl Seen {
    /// A stream that is dropped goes with the next commit, and one of its name comes with that; one of a new name is
    /// there behind the last commit.
    fn note(&mut self, store: &Store) {
        let behind = self.0.entry(last(store)).or_default();
        for (name, rows) in all_of(store) {
            behind.entry(name).or_insert(rows);
        }
    }

    /// The same, with the time.
    fn note_at(&mut self, store: &Store, machine: &Machine) {
        self.note(store);
        self.1.push((machine.clock.wall_ns(), last(store)));
        machine.clock.advance_ns(MS);
    }

    /// By each time what was the last commit then is found.
    fn check_times(&self, store: &Store) {
        let oldest = store.oldest_commit().unwrap();
        for (time_ns, seq) in &self.1 {
            match store.at(&Moment::Time(*time_ns)) {
                Ok(then) => assert_eq!(last(&then), *seq, "at {time_ns}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::HistoryLost, "{error}");
                    assert!(*seq <= oldest, "commit {seq}, with {oldest} the oldest one: {error}");
                }
            }
        }
    }

    /// Every commit from the oldest on that can be read is what it was; gives how many can.
    fn check(&self, store: &Store) -> usize {
        let oldest = store.oldest_commit().unwrap();
        let mut checked = 0;
        for (seq, rows) in &self.0 {
            match store.at(&Moment::Commit(*seq)) {
                Ok(then) => {
                    assert_eq!(last(&then), *seq);
                    for (name, rows) in rows {
                        let found = then.stream(name).map(|_| read(&then, name));
                        let same = found.as_ref() == Some(rows);
                        assert!(
                            same,
                            "'{name}' as of commit {seq}: {}, was {}",
                            short(&found.unwrap_or_default()),
                            short(rows)
                        );
                    }
                    checked += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::HistoryLost, "{error}");
                    assert!(*seq < oldest, "commit {seq}, with {oldest} the oldest one: {error}");
                }
            }
        }
        checked
    }
}

/// A store with a stream of events.
fn events_in(settings: Settings) -> (Machine, Store, StreamId) {
    let machine = Machine::new();
    let store = machine.open(settings);
    let events = store.create_stream(keep("events")).unwrap();
    (machine, store, events)
}

/// A store of three rows, whose history has the runs that were compacted.
fn compacted_thrice() -> (Machine, Store, StreamId) {
    let (machine, store, events) = events_in(kept(manual()));
    for round in 0..3 {
        append(&store, events, &[pair(round, "row")]);
        store.flush().unwrap();
        store.compact(Some(events)).unwrap();
    }
    (machine, store, events)
}

pub(crate) fn value(byte: u8) -> String {
    char::from(b'a' + byte % 26).to_string()
}

#[test]
fn the_store_is_read_as_it_was_behind_each_commit() {
    let machine = Machine::new();
    let store = machine.open(kept(manual()));
    let mut seen = Seen::default();
    let events = store.create_stream(keep("events")).unwrap();
    let newest = store.create_stream(latest("newest")).unwrap();
    seen.note(&store);
    for round in 0..4_i64 {
        for time in 0..5_i64 {
            append(&store, events, &[pair(round * 10 + time, "row")]);
            seen.note(&store);
            insert(&store, newest, &[pair(time, &value(round as u8))], Durability::Written);
            seen.note(&store);
        }
        delete(&store, events, round * 10 + 2, round * 10 + 3);
        seen.note(&store);
        store.flush().unwrap();
        seen.check(&store);
    }
    store.compact(Some(events)).unwrap();
    store.compact(Some(newest)).unwrap();
    assert_eq!(seen.check(&store), seen.0.len());
    store.drop_stream("newest").unwrap();
    append(&store, events, &[pair(1_000, "last")]);
    seen.note(&store);
    assert_eq!(seen.check(&store), seen.0.len());
}

#[test]
fn the_past_outlives_a_close_and_a_kill() {
    let mut machine = Machine::new();
    let mut seen = Seen::default();
    for round in 0..4_i64 {
        let store = machine.open(kept(manual()));
        let events = store.create_stream(keep("events")).unwrap();
        assert_eq!(seen.check(&store), seen.0.len(), "round {round}");
        for time in 0..3 {
            append(&store, events, &[pair(round * 3 + time, "row")]);
            seen.note(&store);
        }
        if round % 2 == 0 {
            store.close().unwrap();
        } else {
            // What a process leaves that is gone: all that it wrote.
            machine = machine.copy();
        }
        let reader = machine.try_open(Access::Read, kept(manual())).unwrap();
        assert_eq!(seen.check(&reader), seen.0.len(), "read beside, round {round}");
    }
}

#[test]
fn commits_are_dated_by_a_clock_that_never_goes_back() {
    let (machine, store, events) = events_in(kept(manual()));
    let began = machine.clock.wall_ns();
    let by = |store: &Store, time_ns| store.at(&Moment::Time(time_ns)).map(|then| last(&then));
    machine.clock.advance_ns(5 * MS);
    append(&store, events, &[pair(1, "one")]);
    let first = last(&store);
    machine.clock.advance_ns(5 * MS);
    append(&store, events, &[pair(2, "two")]);
    let second = last(&store);
    assert_eq!(by(&store, began + 4 * MS).unwrap(), SeqNo(0), "before the first");
    assert_eq!(by(&store, began + 7 * MS).unwrap(), first);
    assert_eq!(by(&store, began + 10 * MS).unwrap(), second);
    let early = by(&store, began + 11 * MS).unwrap_err();
    assert_eq!(early.kind(), ErrorKind::InvalidArgument, "{early}");
    for is_closed in [true, false] {
        // The clock is set back while the store is closed, or the process is gone.
        let machine = machine.copy();
        let store = if is_closed {
            let store = machine.open(kept(manual()));
            store.close().unwrap();
            drop(store);
            machine.open(kept(manual()))
        } else {
            machine.open(kept(manual()))
        };
        machine.clock.advance_ns(-8 * MS);
        append(&store, store.stream("events").unwrap().id(), &[pair(3, "three")]);
        let third = last(&store);
        for store in [&store, &machine.try_open(Access::Read, kept(manual())).unwrap()] {
            assert_eq!(by(store, began + 7 * MS).unwrap(), first);
            assert_eq!(by(store, began + 10 * MS).unwrap(), third, "dated as the second is");
            assert_eq!(by(store, began + 11 * MS).unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
    }
}

#[test]
fn without_a_history_a_time_finds_the_last_commit() {
    let (machine, store, events) = events_in(manual());
    append(&store, events, &[pair(1, "one")]);
    let then = machine.clock.wall_ns();
    machine.clock.advance_ns(5 * MS);
    append(&store, events, &[pair(2, "two")]);
    let second = last(&store);
    for is_closed in [false, true] {
        if is_closed {
            store.close().unwrap();
        }
        let reader = machine.try_open(Access::Read, manual()).unwrap();
        let stores = if is_closed { vec![&reader] } else { vec![&store, &reader] };
        for store in stores {
            let lost = store.at(&Moment::Time(then)).unwrap_err();
            assert_eq!(lost.kind(), ErrorKind::HistoryLost, "{lost}");
            let now = store.at(&Moment::Time(machine.clock.wall_ns())).unwrap();
            assert_eq!(last(&now), second);
        }
    }
    let memory = Store::memory(Settings::default()).unwrap();
    assert_eq!(memory.at(&Moment::Time(0)).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_backup_is_not_read_as_of_a_time_before_it_was_made() {
    let (machine, store, events) = events_in(manual());
    let began = machine.clock.wall_ns();
    machine.clock.advance_ns(5 * MS);
    append(&store, events, &[pair(1, "one")]);
    machine.clock.advance_ns(5 * MS);
    let backup = std::path::Path::new("/backup");
    store.backup(backup).unwrap();
    for access in [Access::Read, Access::WriteExisting] {
        let restored = Store::open_with(machine.io.clone(), backup, access, manual()).unwrap();
        let lost = restored.at(&Moment::Time(began)).unwrap_err();
        assert_eq!(lost.kind(), ErrorKind::HistoryLost, "{lost}");
        let now = restored.at(&Moment::Time(machine.clock.wall_ns())).unwrap();
        assert_eq!(read(&now, "events"), [pair(1, "one")]);
    }
}

#[test]
fn a_moment_never_changes_and_takes_no_writes() {
    let (machine, store, events) = with_events();
    append(&store, events, &[pair(1, "one")]);
    let then = store.at(&Moment::Commit(last(&store))).unwrap();
    append(&store, events, &[pair(2, "two")]);
    store.flush().unwrap();
    assert_eq!(read(&then, "events"), [pair(1, "one")]);
    assert!(then.is_read_only());
    assert_eq!(then.refresh().unwrap(), last(&then));
    let changes = || Changes::new().insert(events, batch(&[pair(3, "three")]));
    let refused = then.commit(changes(), Durability::Written).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ReadOnly);
    assert!(refused.to_string().contains("as of commit"), "{refused}");
    // It outlives what it is of, and the files that it reads.
    store.drop_stream("events").unwrap();
    store.close().unwrap();
    drop(store);
    drop(machine.open(tiny()));
    assert_eq!(read(&then, "events"), [pair(1, "one")]);
}

#[test]
fn a_pin_is_a_moment_for_as_long_as_it_is_there() {
    let (machine, store, events) = events_in(manual());
    append(&store, events, &[pair(1, "one")]);
    store.pin("then").unwrap();
    append(&store, events, &[pair(2, "two")]);
    store.flush().unwrap();
    store.compact(Some(events)).unwrap();
    let live: u64 = store.stats().streams.iter().map(|of| of.run_bytes).sum();
    let kept = store.history().unwrap();
    assert_eq!((kept.run_bytes, kept.pinned_bytes), (0, machine.bytes_of_runs() - live));
    assert!(kept.pinned_bytes > 0);
    let pinned = Moment::Pin("then".to_owned());
    let rows = |store: &Store| read(&store.at(&pinned).unwrap(), "events");
    assert_eq!(rows(&store), [pair(1, "one")]);
    store.close().unwrap();
    let store = machine.open(manual());
    assert_eq!(rows(&store), [pair(1, "one")]);
    store.unpin("then").unwrap();
    assert_eq!(store.at(&pinned).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_commit_that_was_not_made_or_is_lost_is_said_so() {
    let (_machine, store, events) = events_in(manual());
    append(&store, events, &[pair(1, "one"), pair(2, "two")]);
    let now = last(&store);
    assert_eq!(store.oldest_commit().unwrap(), now);
    assert!(store.at(&Moment::Commit(now)).is_ok());
    let lost = store.at(&Moment::Commit(SeqNo(now.0 - 1))).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::HistoryLost);
    assert!(lost.to_string().contains(&now.to_string()), "{lost}");
    let early = store.at(&Moment::Commit(now.next())).unwrap_err();
    assert_eq!(early.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn history_goes_by_age_and_by_bytes_and_its_files_with_it() {
    let machine = Machine::new();
    let settings = kept(manual());
    let store = machine.open(settings.clone());
    let events = store.create_stream(keep("events")).unwrap();
    let write = |from: i64| {
        for round in from..from + 3 {
            append(&store, events, &[pair(round, "row")]);
            store.flush().unwrap();
        }
        store.compact(Some(events)).unwrap();
    };
    write(0);
    let of_first = last(&store);
    assert_eq!(machine.run_files().len(), 4, "three that were replaced, and one");
    let bytes =
        |store: &Store| -> u64 { store.stats().streams.iter().map(|of| of.run_bytes).sum() };
    let history = store.history().unwrap();
    let on_disk = machine.bytes_of_runs();
    assert_eq!((history.run_bytes, history.pinned_bytes), (on_disk - bytes(&store), 0));
    assert_eq!(
        machine.try_open(Access::Read, settings.clone()).unwrap().history().unwrap(),
        history
    );
    machine.clock.advance_ns(61_000_000_000);
    write(10);
    assert!(store.oldest_commit().unwrap() >= of_first);
    // The first round's have gone; what it came to was replaced just now.
    assert_eq!(machine.run_files().len(), 5);
    store.close().unwrap();
    drop(store);
    let none = Settings { history_bytes_max: 0, ..settings };
    let store = machine.open(none);
    append(&store, events, &[pair(100, "row")]);
    store.flush().unwrap();
    assert_eq!(machine.run_files().len(), 2);
    assert!(store.at(&Moment::Commit(of_first)).is_err());
}

#[test]
fn a_manifest_of_an_earlier_time_is_told_by_the_history() {
    let (machine, store, events) = events_in(kept(manual()));
    append(&store, events, &[pair(1, "one")]);
    store.flush().unwrap();
    let names = ["MANIFEST", "MANIFEST.copy"].map(|name| machine.dir.join(name));
    let earlier = names.each_ref().map(|path| machine.read_file(path));
    append(&store, events, &[pair(2, "two")]);
    store.flush().unwrap();
    store.compact(Some(events)).unwrap();
    store.close().unwrap();
    drop(store);
    // All runs that it names are there, for the history.
    names.iter().zip(&earlier).for_each(|(path, bytes)| machine.write_file(path, bytes));
    for settings in [kept(manual()), manual()] {
        let error = machine.try_open(Access::Write, settings).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.to_string().contains("HISTORY"), "{error}");
    }
}

#[test]
fn a_store_that_keeps_history_is_checked_backed_up_and_repaired_without_it() {
    let (machine, store, events) = compacted_thrice();
    assert!(store.check().unwrap().findings.is_empty());
    let rows = read(&store, "events");
    let [copy, repaired] = ["copy", "repaired"].map(|name| machine.dir.with_file_name(name));
    store.backup(&copy).unwrap();
    store.close().unwrap();
    let options = RepairOptions { to: Some(repaired.clone()), ..RepairOptions::default() };
    repair(&machine.io, &machine.dir, &options).unwrap();
    for dir in [copy, repaired] {
        let other = Store::open_with(machine.io.clone(), &dir, Access::Write, kept(manual()));
        let other = other.unwrap();
        assert_eq!(read(&other, "events"), rows);
        assert_eq!(other.oldest_commit().unwrap(), last(&other));
        append(&other, events, &[pair(100, "of the copy")]);
        other.close().unwrap();
        assert!(check(&machine.io, &dir).unwrap().findings.is_empty());
    }
}

#[test]
fn history_that_is_switched_off_leaves_no_file() {
    let (machine, store, _) = compacted_thrice();
    assert!(machine.run_files().len() > 1);
    store.close().unwrap();
    drop(store);
    let store = machine.open(manual());
    let report = store.recovery_report();
    assert!(report.orphans_quarantined.is_empty() && report.orphans_removed.is_empty());
    assert_eq!(machine.run_files().len(), 1);
    assert!(!machine.io.disk.exists(&machine.dir.join("HISTORY")).unwrap());
    assert_eq!(read(&store, "events").len(), 3);
}

#[test]
fn the_number_of_a_commit_is_not_given_again_though_its_stream_is_gone() {
    let machine = Machine::new();
    let store = machine.open(tiny());
    let events = store.create_stream(keep("events")).unwrap();
    // More than the log takes: straight to a run, which goes with its stream.
    let text = "x".repeat(12 << 10);
    let rows: Vec<Pair> = (0..6).map(|time| pair(time, &text)).collect();
    insert(&store, events, &rows, Durability::Written);
    let first = last(&store);
    store.drop_stream("events").unwrap();
    assert_eq!(last(&machine.try_open(Access::Read, tiny()).unwrap()), first);
    // What a process leaves that is gone: all that it wrote.
    let machine = machine.copy();
    let store = machine.open(tiny());
    assert_eq!(last(&store), first);
    append(&store, store.create_stream(keep("other")).unwrap(), &[pair(1, "one")]);
    assert_eq!(last(&store), first.next());
}

/// What is done to a store in a random test.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Row(usize, i64, u8),
    Batch(usize, i64, u8),
    Large(usize, i64, u8),
    DeleteRange(usize, i64, i64),
    Flush,
    Compact(usize),
    Drop(usize),
    Pin,
    Reopen,
    Kill,
    Wait(i64),
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let stream = 0..3_usize;
    let time = 0..20_i64;
    prop_oneof![
        8 => (stream.clone(), time.clone(), any::<u8>()).prop_map(|(s, t, v)| Step::Row(s, t, v)),
        4 => (stream.clone(), time.clone(), any::<u8>()).prop_map(|(s, t, v)| Step::Batch(s, t, v)),
        2 => (stream.clone(), time.clone(), any::<u8>()).prop_map(|(s, t, v)| Step::Large(s, t, v)),
        2 => (stream.clone(), time.clone(), 1..6_i64)
            .prop_map(|(s, t, n)| Step::DeleteRange(s, t, t + n)),
        3 => Just(Step::Flush),
        2 => stream.clone().prop_map(Step::Compact),
        1 => stream.prop_map(Step::Drop),
        1 => Just(Step::Pin),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
        1 => (1..40_i64).prop_map(Step::Wait),
    ]
}

pub(crate) fn stream_of(store: &Store, number: usize) -> StreamId {
    let name = format!("stream {number}");
    let merge = if number == 1 { Merge::Latest } else { Merge::Keep };
    store.create_stream(timestrata_engine::StreamSpec { merge, ..keep(&name) }).unwrap()
}

pub(crate) fn take(machine: &mut Machine, store: Store, step: &Step) -> Store {
    match step {
        Step::Row(stream, time, byte) => {
            append(&store, stream_of(&store, *stream), &[pair(*time, &value(*byte))]);
        }
        Step::Batch(stream, time, byte) => {
            let rows: Vec<Pair> = (0..4).map(|i| pair(time + i, &value(*byte))).collect();
            insert(&store, stream_of(&store, *stream), &rows, Durability::Synced);
        }
        Step::Large(stream, time, byte) => {
            // More than the log takes: straight to a run.
            let text = value(*byte).repeat(12 << 10);
            let rows: Vec<Pair> = (0..6).map(|i| pair(time + i, &text)).collect();
            insert(&store, stream_of(&store, *stream), &rows, Durability::Written);
        }
        Step::DeleteRange(stream, lo, hi) => delete(&store, stream_of(&store, *stream), *lo, *hi),
        Step::Flush => store.flush().unwrap(),
        Step::Compact(stream) => store.compact(Some(stream_of(&store, *stream))).unwrap(),
        Step::Drop(stream) => {
            stream_of(&store, *stream);
            // Refused while a pin keeps it.
            let _ = store.drop_stream(&format!("stream {stream}"));
        }
        Step::Pin => {
            let _ = store.unpin("pin");
            store.pin("pin").unwrap();
        }
        Step::Reopen => {
            store.close().unwrap();
            drop(store);
            return machine.open(kept(tiny()));
        }
        Step::Kill => {
            // What a process leaves that is gone: all that it wrote.
            let now = machine.clock.wall_ns();
            *machine = machine.copy();
            machine.clock.advance_ns(now - machine.clock.wall_ns());
            return machine.open(kept(tiny()));
        }
        Step::Wait(seconds) => machine.clock.advance_ns(seconds * 1_000_000_000),
    }
    store
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_commit_that_is_kept_is_read_as_it_was(steps in prop::collection::vec(step(), 1..60)) {
        let mut machine = Machine::new();
        let mut store = machine.open(kept(tiny()));
        let mut seen = Seen::default();
        for (place, step) in steps.iter().enumerate() {
            store = take(&mut machine, store, step);
            seen.note_at(&store, &machine);
            if place % 7 == 6 {
                seen.check(&store);
                seen.check_times(&store);
            }
        }
        seen.check(&store);
        seen.check_times(&store);
        let beside = machine.try_open(Access::Read, kept(tiny())).unwrap();
        seen.check(&beside);
        seen.check_times(&beside);
    }
}
