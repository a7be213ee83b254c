//! Settings are of the process that opens a store: each has its effect, and whatever a store was written with, it opens
//! with any others.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use timestrata_engine::{
    Access, Cell, Durability, ErrorKind, Io, Maintenance, Setting, SettingForm, Settings, Store,
};

use crate::support::*;
use crate::watched_disk::{Step, WatchedDisk, Watcher};

/// Values of a setting far from its default, that can be.
fn odd(setting: &Setting) -> &'static str {
    match (setting.form(), setting.name()) {
        (_, "memory_bytes_max") => "300MiB",
        (_, "wal_segment_bytes") => "4KiB",
        (_, "wal_bytes_max") => "40MiB",
        (SettingForm::Size | SettingForm::SizeOrNone, _) => "2KiB",
        (SettingForm::Count | SettingForm::CountOrNone, _) => "3",
        (SettingForm::Time, _) => "3ms",
        (SettingForm::Word, "maintenance") => "background",
        (SettingForm::Word, _) => "flush",
    }
}

#[test]
fn a_store_written_with_any_setting_opens_with_the_defaults_and_the_other_way_round() {
    let rows = |from: i64| (from..from + 200).map(|time| pair(time, "value")).collect::<Vec<_>>();
    // What a disk holds can be copied only while nobody works on it in the background.
    let usual = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    for setting in Setting::all() {
        let machine = Machine::new();
        let mut settings = usual.clone();
        setting.set(&mut settings, odd(setting)).unwrap();
        let mut expected = Vec::new();
        let mut round = |settings: &Settings, from: i64| {
            let store = machine.open(settings.clone());
            let stream = match store.stream("events") {
                Some(stream) => stream.id(),
                None => store.create_stream(keep("events")).unwrap(),
            };
            append(&store, stream, &rows(from));
            expected.extend(rows(from));
            expected.sort_by_key(|(time, _)| *time);
            assert_eq!(read(&store, "events"), expected, "{}", setting.name());
            store.sync().unwrap();
            store
        };
        round(&settings, 0).close().unwrap();
        round(&usual, 100).close().unwrap();
        let store = round(&settings, 200);
        // As if it had been killed: nothing in memory is flushed.
        let opened = match settings.maintenance {
            Maintenance::Manual => machine.copy().open(Settings::default()),
            Maintenance::Background => {
                store.close().unwrap();
                machine.open(Settings::default())
            }
        };
        assert_eq!(read(&opened, "events"), expected, "{}", setting.name());
        assert!(opened.check().unwrap().is_sound(), "{}", setting.name());
    }
}

#[test]
fn a_memtable_is_flushed_once_it_has_so_many_rows() {
    let machine = Machine::new();
    let store =
        machine.open(Settings { memtable_rows_max: Some(10), level0_runs_max: 99, ..manual() });
    let stream = store.create_stream(keep("events")).unwrap();
    let other = store.create_stream(keep("other")).unwrap();
    let runs = || store.stats().streams[0].runs;
    for time in 0..25 {
        append(&store, stream, &[pair(time, "one by one")]);
        append(&store, other, &[]);
    }
    assert_eq!((runs(), store.stats().streams[0].memtable_rows), (2, 5));
    // A row that may wait for nothing waits for no flush either: it is left to be appended in another way.
    let mut appender = store.appender(other).unwrap();
    let mut hurried = |time| {
        let cells = [Cell::Int(time), Cell::Bytes(b"in a hurry")];
        appender.try_append(&cells).unwrap().is_some()
    };
    assert!((0..9).all(&mut hurried));
    assert!(!hurried(9));
    // A commit is whole in one memtable, also where that has more rows by it.
    insert(
        &store,
        stream,
        &(25..60).map(|time| pair(time, "at once")).collect::<Vec<_>>(),
        Durability::Written,
    );
    assert_eq!((runs(), store.stats().streams[0].memtable_rows), (3, 0));
    assert_eq!(store.stats().streams[1].runs, 0);
    assert_eq!(read(&store, "events").len(), 60);
    store.close().unwrap();
    // Recovery replays rows beyond the bound of who opens, and they are flushed as any others.
    let store = machine.open(manual());
    let stream = store.expect_stream("events").unwrap().id();
    append(&store, stream, &(60..100).map(|time| pair(time, "more")).collect::<Vec<_>>());
    let store = machine.copy().open(Settings { memtable_rows_max: Some(10), ..manual() });
    append(&store, stream, &[pair(100, "last")]);
    assert_eq!(store.stats().streams[0].memtable_rows, 0);
    assert_eq!(read(&store, "events").len(), 101);
}

/// Counts syncs of files.
#[derive(Debug, Default)]
struct Syncs(AtomicU64);

impl Watcher for Syncs {
    fn before(&self, step: Step, _: &Path) -> std::io::Result<()> {
        self.0.fetch_add(u64::from(step == Step::Sync), Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn whoever_comes_while_the_first_one_waits_shares_its_sync() {
    let machine = Machine::new();
    let syncs = Arc::new(Syncs::default());
    let disk = WatchedDisk::new(Arc::clone(&machine.io.disk), Arc::clone(&syncs) as _);
    let io = Io { disk: Arc::new(disk), ..machine.io.clone() };
    // Long enough for all to come, however slow the machine is.
    let settings = Settings { group_commit_delay: Duration::from_secs(1), ..manual() };
    let store = Store::open_with(io, &machine.dir, Access::Write, settings).unwrap();
    let stream = store.create_stream(keep("events")).unwrap();
    let before = syncs.0.load(Ordering::Relaxed);
    let together = Barrier::new(4);
    std::thread::scope(|scope| {
        for time in 0..4 {
            let (store, together) = (&store, &together);
            scope.spawn(move || {
                together.wait();
                insert(store, stream, &[pair(time, "synced")], Durability::Synced);
            });
        }
    });
    assert_eq!(syncs.0.load(Ordering::Relaxed) - before, 1);
    assert_eq!(store.stats().synced_seq, store.stats().last_seq);
    assert_eq!(read(&machine.copy().open(manual()), "events").len(), 4);
}

#[test]
fn values_that_can_not_be_are_refused_by_name() {
    for (settings, named) in [
        (Settings { memtable_rows_max: Some(0), ..manual() }, "memtable_rows_max"),
        (Settings { group_commit_delay: Duration::from_secs(2), ..manual() }, "group_commit_delay"),
        (Settings { level0_runs_max: 0, ..manual() }, "level0_runs_max"),
    ] {
        let error = Machine::new().try_open(Access::Write, settings).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(named), "{error}");
    }
}
