//! Following what commits change.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use timestrata_engine::{
    Access, ChangeFeed, ChangeKind, Changes, Clock, CommittedChanges, Durability, ErrorKind, Io,
    KeyRange, LeadKey, Moment, Retention, SeqNo, Settings, Store, StreamChange, StreamId,
};

use crate::moments::{kept, last, value};
use crate::support::*;
use crate::until::until;
use crate::watched_disk::{Step, WatchedDisk, Watcher};

/// All that has come by now.
pub(crate) fn all_of(feed: &mut ChangeFeed, bytes_max: usize) -> Vec<CommittedChanges> {
    let mut all = Vec::new();
    loop {
        let found = feed.poll(bytes_max).unwrap();
        if found.is_empty() {
            return all;
        }
        all.extend(found);
    }
}

pub(crate) fn rows_of(change: &StreamChange) -> Vec<Pair> {
    change.batches().unwrap().flat_map(|batch| pairs(&batch.unwrap())).collect()
}

pub(crate) fn keys_of(change: &StreamChange) -> Vec<i64> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::TimestampMillisecondType as Time;
    let batches = change.batches().unwrap();
    let keys = |batch: arrow_array::RecordBatch| {
        assert_eq!(batch.num_columns(), 1, "the key alone");
        batch.column(0).as_primitive::<Time>().values().to_vec()
    };
    batches.flat_map(|batch| keys(batch.unwrap())).collect()
}

pub(crate) fn is_in(range: KeyRange, time: i64) -> bool {
    range.contains(LeadKey::Time(time))
}

/// Changes in short: what was done, and to which times.
fn short(commits: &[CommittedChanges]) -> Vec<String> {
    let of_change = |seq: SeqNo, change: &StreamChange| {
        let times: Vec<String> = match change.kind() {
            ChangeKind::DeletedKeys => keys_of(change).iter().map(i64::to_string).collect(),
            _ => rows_of(change).iter().map(|(time, _)| time.to_string()).collect(),
        };
        let name = change.stream().name();
        format!("{seq} {name} {:?} {}", change.kind(), times.join(" ")).trim_end().to_owned()
    };
    let of_commit = |commit: &CommittedChanges| {
        let seq = commit.seq;
        commit.changes.iter().map(|change| of_change(seq, change)).collect::<Vec<_>>()
    };
    commits.iter().flat_map(of_commit).collect()
}

#[test]
fn changes_are_told_as_they_were_asked_for() {
    let machine = Machine::new();
    let store = machine.open(kept(manual()));
    let events = store.create_stream(keep("events")).unwrap();
    let state = store.create_stream(latest("state")).unwrap();
    let begin = last(&store);
    append(&store, events, &[pair(1, "a")]);
    let both = Changes::new()
        .insert(events, batch(&[pair(3, "c"), pair(2, "b")]))
        .insert(state, batch(&[pair(7, "x"), pair(8, "y")]))
        .delete_range(events, range(0, 2));
    store.commit(both, Durability::Synced).unwrap();
    store.flush().unwrap();
    store.commit(Changes::new().delete_keys(state, keys(&[7])), Durability::Written).unwrap();
    store.compact(None).unwrap();
    store.drop_stream("state").unwrap();
    append(&store, events, &[pair(9, "z")]);
    let mut feed = store.changes_since(begin).unwrap();
    let wanted = [
        "1 events Inserted 1",
        "2 events DeletedRange",
        "2 events Inserted 3 2",
        "2 state Inserted 7 8",
        "3 state DeletedKeys 7",
        "3 state Dropped",
        "4 events Inserted 9",
    ];
    assert_eq!(short(&all_of(&mut feed, usize::MAX)), wanted);
    assert!(feed.poll(usize::MAX).unwrap().is_empty());
    let beside = machine.try_open(Access::Read, kept(manual())).unwrap();
    let mut feed = beside.changes_since(begin).unwrap();
    // As little at once as it can be.
    assert_eq!(short(&all_of(&mut feed, 1)), wanted);
    assert_eq!(feed.last_seq(), last(&store));
    store.close().unwrap();
    assert_eq!(feed.poll(1).unwrap().len(), 0, "a store that was closed has not changed");
}

#[test]
fn commits_have_the_times_at_which_they_can_be_read() {
    let machine = Machine::new();
    let store = machine.open(kept(manual()));
    let events = store.create_stream(keep("events")).unwrap();
    let mut feed = store.changes_since(last(&store)).unwrap();
    for round in 0..4 {
        machine.clock.advance_ns(5_000_000);
        let text = value(7).repeat(if round % 2 == 0 { 1 } else { 400 << 10 });
        insert(&store, events, &[pair(round, &text), pair(round, &text)], Durability::Written);
    }
    let commits = all_of(&mut feed, usize::MAX);
    assert_eq!(commits.len(), 4);
    for commit in commits {
        let time_ns = i64::try_from(commit.time_ms.unwrap()).unwrap() * 1_000_000;
        assert_eq!(last(&store.at(&Moment::Time(time_ns)).unwrap()), commit.seq);
    }
}

#[test]
fn rows_that_stay_are_not_told_of() {
    for large in [false, true] {
        let machine = Machine::new();
        let store = machine.open(kept(manual()));
        let events = store.create_stream(keep("events")).unwrap();
        // The log takes a few; many go straight to runs.
        let text = value(b'a').repeat(if large { 100 << 10 } else { 1 });
        let rows: Vec<Pair> = (0..30).map(|i| pair(i / 3, &format!("{i}{text}"))).collect();
        insert(&store, events, &rows, Durability::Written);
        let mut feed = store.changes_since(last(&store)).unwrap();
        let gone = |row: &Pair| row.1.starts_with(b"1");
        let stay: Vec<Pair> = rows.iter().filter(|row| !gone(row)).cloned().collect();
        let mut bulk = store.bulk().unwrap();
        bulk.rewrites(events).unwrap();
        bulk.delete_range(events, range(0, 5)).unwrap();
        bulk.delete_range(events, range(5, 99)).unwrap();
        bulk.insert(events, batch(&stay)).unwrap();
        bulk.commit().unwrap();
        assert_eq!(read(&store, "events"), stay);
        store.compact(None).unwrap();
        let commits = all_of(&mut feed, usize::MAX);
        assert_eq!(commits.len(), 1);
        let [change] = commits[0].changes.as_slice() else { panic!("{commits:?}") };
        assert_eq!(change.kind(), ChangeKind::DeletedRows);
        let wanted: Vec<Pair> = rows.iter().filter(|row| gone(row)).cloned().collect();
        assert_eq!(rows_of(change), wanted);
        // Rows are there for as long as the change is, whatever becomes of the store.
        drop((store, feed));
        assert_eq!(rows_of(change), wanted);
    }
}

#[test]
fn what_has_expired_is_told_with_its_times() {
    let machine = Machine::new();
    let store = machine.open(kept(manual()));
    let events = store.create_stream(keep("events")).unwrap();
    for round in 0..3 {
        append(&store, events, &[pair(round * 10, "old"), pair(round * 10 + 5, "old")]);
        store.flush().unwrap();
    }
    let begin = last(&store);
    let mut feed = store.changes_since(begin).unwrap();
    let retention = Retention { bytes: Some(1), ..Retention::default() };
    store.set_retention(events, retention).unwrap();
    store.compact(Some(events)).unwrap();
    let left = read(&store, "events");
    assert!(left.len() < 6, "{left:?}");
    let found = all_of(&mut feed, usize::MAX);
    assert!(!found.is_empty());
    for commit in &found {
        assert_eq!(commit.seq, begin);
        let [change] = commit.changes.as_slice() else { panic!("{commit:?}") };
        assert_eq!((change.kind(), rows_of(change)), (ChangeKind::Expired, Vec::new()));
        let range = change.range().unwrap();
        assert!(left.iter().all(|(time, _)| !is_in(range, *time)), "{range:?}: {left:?}");
    }
    // Who goes on from the commit before is told again; who stayed is not.
    assert_eq!(store.changes_since(begin).unwrap().poll(1).unwrap().len(), 1);
    assert!(feed.poll(1).unwrap().is_empty());
}

#[test]
fn what_is_not_kept_is_said_so() {
    let machine = Machine::new();
    let store = machine.open(kept(tiny()));
    let events = store.create_stream(keep("events")).unwrap();
    append(&store, events, &[pair(1, "one")]);
    let mut slow = store.changes_since(SeqNo(0)).unwrap();
    let ahead = store.changes_since(SeqNo(2)).unwrap_err();
    assert_eq!(ahead.kind(), ErrorKind::InvalidArgument, "{ahead}");
    assert!(ahead.to_string().contains("commit 2 has not been made: the last one is 1"), "{ahead}");
    for round in 0..40 {
        append(&store, events, &[pair(round, &value(1).repeat(900))]);
        store.flush().unwrap();
        machine.clock.advance_ns(10_000_000_000);
    }
    let oldest = store.oldest_commit().unwrap();
    assert!(oldest > SeqNo(1), "{oldest}");
    for lost in [slow.poll(1).unwrap_err(), store.changes_since(SeqNo(0)).unwrap_err()] {
        assert_eq!(lost.kind(), ErrorKind::HistoryLost, "{lost}");
        assert!(
            lost.to_string().contains(&format!("the oldest one that can be is {oldest}")),
            "{lost}"
        );
    }
    let mut feed = store.changes_since(oldest).unwrap();
    assert_eq!(all_of(&mut feed, 1).len() as u64, last(&store).0 - oldest.0);
    let memory = Store::memory(Settings::default()).unwrap();
    assert_eq!(memory.changes_since(SeqNo(0)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let none = Machine::new().open(tiny());
    assert_eq!(none.changes_since(SeqNo(0)).unwrap_err().kind(), ErrorKind::HistoryLost);
}

/// What compaction takes away behind the last commit can be folded before there is another commit.
#[test]
fn the_last_commit_is_read_and_followed_when_all_before_it_is_let_go_of() {
    let machine = Machine::new();
    let store = machine.open(kept(manual()));
    let events = store.create_stream(keep("events")).unwrap();
    for time in 0..3 {
        append(&store, events, &[pair(time, "row")]);
        store.flush().unwrap();
    }
    store.compact(None).unwrap();
    machine.clock.advance_ns(3_600_000_000_000);
    let end = last(&store);
    // An edit lets go of what is too old, and is no commit.
    store.follow("copy", Some(end)).unwrap();
    assert_eq!(store.oldest_commit().unwrap(), end);
    let beside = machine.try_open(Access::Read, kept(manual())).unwrap();
    let again = machine.copy().open(kept(manual()));
    for reader in [&store, &beside, &again] {
        assert_eq!(read(&reader.at(&Moment::Commit(end)).unwrap(), "events").len(), 3);
        assert!(reader.changes_since(end).unwrap().poll(1).unwrap().is_empty());
    }
    let lost = store.changes_since(SeqNo(end.0 - 1)).err().map(|error| error.kind());
    assert_eq!(lost, Some(ErrorKind::HistoryLost));
    assert_eq!(store.follow("copy", None).unwrap().save(end).unwrap(), end);
    append(&store, events, &[pair(9, "row")]);
    let mut feed = beside.follow("copy", None).unwrap();
    assert_eq!(short(&all_of(&mut feed, 1)), ["4 events Inserted 9"]);
}

/// Finds the history as it was before an edit, or none, for so many looks at the manifest.
#[derive(Debug)]
struct LateHistory {
    machine: Machine,
    now: Vec<u8>,
    looks: AtomicUsize,
}

impl Watcher for LateHistory {
    fn before(&self, _: Step, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn before_read(&self, path: &Path, _: u64) -> io::Result<()> {
        if path.ends_with("MANIFEST") && self.looks.fetch_add(1, Ordering::SeqCst) == 20 {
            self.machine.write_file(&self.machine.dir.join("HISTORY"), &self.now);
        }
        Ok(())
    }
}

#[test]
fn a_reader_waits_for_the_writer_to_note_an_edit_in_its_history() {
    let machine = Machine::new();
    let store = machine.open(kept(manual()));
    let events = store.create_stream(keep("events")).unwrap();
    append(&store, events, &[pair(1, "row")]);
    let path = machine.dir.join("HISTORY");
    let before = machine.read_file(&path);
    store.flush().unwrap();
    let now = machine.read_file(&path);
    assert_ne!(before, now);
    machine.write_file(&path, &before);
    let (io, dir) = (machine.io.clone(), machine.dir.clone());
    let late = Arc::new(LateHistory { machine, now, looks: AtomicUsize::new(0) });
    let disk = WatchedDisk::new(Arc::clone(&io.disk), Arc::clone(&late) as _);
    let io = Io { disk: Arc::new(disk), ..io };
    let beside = Store::open_with(io, &dir, Access::Read, kept(manual())).unwrap();
    let mut feed = beside.changes_since(SeqNo(0)).unwrap();
    assert_eq!(short(&all_of(&mut feed, 1)), ["1 events Inserted 1"]);
    assert!(late.looks.load(Ordering::SeqCst) > 20);
    // Where it never comes, since the writer was killed, the manifest tells of that edit.
    late.machine.write_file(&path, &before);
    let mut feed = beside.changes_since(SeqNo(0)).unwrap();
    assert_eq!(short(&all_of(&mut feed, 1)), ["1 events Inserted 1"]);
    // Of two it does not.
    store.create_stream(keep("other")).unwrap();
    late.machine.write_file(&path, &before);
    let lost = beside.changes_since(SeqNo(0)).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::HistoryLost, "{lost}");
}

#[test]
fn a_reader_of_a_store_that_is_being_made_waits_for_its_history() {
    let machine = Machine::new();
    let store = machine.open(kept(manual()));
    let path = machine.dir.join("HISTORY");
    let now = machine.read_file(&path);
    machine.io.disk.remove(&path).unwrap();
    let (io, dir) = (machine.io.clone(), machine.dir.clone());
    let late = Arc::new(LateHistory { machine, now, looks: AtomicUsize::new(0) });
    let disk = WatchedDisk::new(Arc::clone(&io.disk), Arc::clone(&late) as _);
    let io = Io { disk: Arc::new(disk), ..io };
    let beside = Store::open_with(io, &dir, Access::Read, kept(manual())).unwrap();
    let mut feed = beside.changes_since(SeqNo(0)).unwrap();
    assert!(late.looks.load(Ordering::SeqCst) > 20);
    assert!(feed.poll(1 << 20).unwrap().is_empty());
    drop(store);
}

/// Rounds of rows that are flushed, ten seconds apart.
fn write_for_minutes(machine: &Machine, store: &Store, events: StreamId) {
    for round in 0..40 {
        append(store, events, &[pair(round, &value(1).repeat(900))]);
        store.flush().unwrap();
        machine.clock.advance_ns(10_000_000_000);
    }
}

#[test]
fn a_follower_by_name_goes_on_where_it_saved_and_what_it_has_not_seen_stays() {
    let mut machine = Machine::new();
    let store = machine.open(kept(tiny()));
    let events = store.create_stream(keep("events")).unwrap();
    let begin = last(&store);
    let feed = store.follow("copy", None).unwrap();
    assert_eq!((feed.last_seq(), store.followers().unwrap()["copy"]), (begin, begin));
    write_for_minutes(&machine, &store, events);
    assert_eq!(store.oldest_commit().unwrap(), begin);
    drop((feed, store));
    // What a process leaves that is gone: all that it wrote.
    let now = machine.clock.wall_ns();
    machine = machine.copy();
    machine.clock.advance_ns(now - machine.clock.wall_ns());
    let store = machine.open(kept(tiny()));
    let mut feed = store.follow("copy", Some(last(&store))).unwrap();
    let half = SeqNo(begin.0 + 20);
    let commits = all_of(&mut feed, 1);
    assert_eq!(commits.first().map(|commit| commit.seq), Some(begin.next()));
    assert_eq!(feed.last_seq(), last(&store));
    assert_eq!(feed.save(half).unwrap(), half);
    assert_eq!(feed.save(begin).unwrap(), half, "it never goes back");
    let ahead = feed.save(SeqNo(last(&store).0 + 1)).unwrap_err();
    assert_eq!(ahead.kind(), ErrorKind::InvalidArgument, "{ahead}");
    assert_eq!(
        store.changes_since(half).unwrap().save(half).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    write_for_minutes(&machine, &store, events);
    let oldest = store.oldest_commit().unwrap();
    assert!(begin < oldest && oldest <= half, "{oldest}");
    let beside = machine.try_open(Access::Read, kept(tiny())).unwrap();
    let feed = beside.follow("copy", None).unwrap();
    assert_eq!(feed.last_seq(), half);
    assert_eq!(feed.save(half).unwrap_err().kind(), ErrorKind::ReadOnly);
    store.remove_follower("copy").unwrap();
    assert!(store.oldest_commit().unwrap() > half);
    assert_eq!(store.remove_follower("copy").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.follow("", None).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_follower_that_holds_too_much_has_to_begin_anew() {
    let machine = Machine::new();
    let settings = Settings { followed_bytes_max: 8 << 10, ..kept(tiny()) };
    let store = machine.open(settings);
    let events = store.create_stream(keep("events")).unwrap();
    let mut feed = store.follow("copy", None).unwrap();
    write_for_minutes(&machine, &store, events);
    let lost = feed.poll(1).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::HistoryLost, "{lost}");
    assert_eq!(store.follow("copy", None).unwrap_err().kind(), ErrorKind::HistoryLost);
    store.remove_follower("copy").unwrap();
    assert_eq!(store.follow("copy", None).unwrap().last_seq(), last(&store));
}

/// Were it to wait for what is there, each call would take a minute.
#[test]
fn who_follows_is_given_what_is_there_and_then_what_comes() {
    const A_MINUTE: Duration = Duration::from_secs(60);
    let machine = Machine::new();
    let store = machine.open(kept(Settings::default()));
    let events = store.create_stream(keep("events")).unwrap();
    let begin = last(&store);
    let mut feed = store.changes_since(begin).unwrap();
    (0..200).for_each(|time| append(&store, events, &[pair(time, "row")]));
    let mut seen = Vec::new();
    while seen.len() < 200 {
        let found = feed.follow(1, A_MINUTE).unwrap();
        assert_eq!(found.len(), 1);
        seen.extend(found.iter().map(|commit| commit.seq));
    }
    assert!(feed.follow(1, Duration::ZERO).unwrap().is_empty());
    std::thread::scope(|threads| {
        threads.spawn(|| (0..200).for_each(|time| append(&store, events, &[pair(time, "row")])));
        while seen.len() < 400 {
            let found = feed.follow(1 << 20, A_MINUTE).unwrap();
            seen.extend(found.iter().map(|commit| commit.seq));
        }
    });
    assert_eq!(seen, (begin.0 + 1..=begin.0 + 400).map(SeqNo).collect::<Vec<_>>());
    store.close().unwrap();
    assert_eq!(feed.follow(1 << 20, A_MINUTE).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn who_waits_is_told_of_the_next_commit_and_of_the_end() {
    let machine = Machine::new();
    let store = machine.open(kept(Settings::default()));
    let events = store.create_stream(keep("events")).unwrap();
    let mut feed = store.changes_since(last(&store)).unwrap();
    let following = std::thread::spawn(move || {
        let mut seen = Vec::new();
        loop {
            match feed.wait(Duration::from_secs(60)) {
                Ok(_) => match feed.poll(1 << 20) {
                    Ok(found) => seen.extend(found.iter().map(|commit| commit.seq)),
                    Err(error) => return (seen, error.kind()),
                },
                Err(error) => return (seen, error.kind()),
            }
            if seen.len() == 500 {
                return (seen, ErrorKind::Closed);
            }
        }
    });
    for time in 0..500 {
        append(&store, events, &[pair(time, "row")]);
    }
    let (seen, _) = following.join().unwrap();
    assert_eq!(seen, (1..=500).map(SeqNo).collect::<Vec<_>>());
    let feed = store.changes_since(last(&store)).unwrap();
    let waiting = std::thread::spawn(move || {
        loop {
            if let Err(error) = feed.wait(Duration::from_secs(60)) {
                return error.kind();
            }
        }
    });
    store.close().unwrap();
    assert_eq!(waiting.join().unwrap(), ErrorKind::Closed);
}

/// A store is written, flushed and compacted by some threads while others follow it.
#[test]
fn followers_beside_writers_miss_nothing() {
    let machine = Machine::new();
    let settings = Settings { maintenance: Settings::default().maintenance, ..tiny() };
    let store = machine.open(Settings { history_bytes_max: 1 << 30, ..kept(settings) });
    let streams = [keep("a"), latest("b")].map(|spec| store.create_stream(spec).unwrap());
    let begin = last(&store);
    let count = 600;
    let beside = machine.try_open(Access::Read, kept(tiny())).unwrap();
    std::thread::scope(|threads| {
        for stream in streams {
            let store = &store;
            threads.spawn(move || {
                for time in 0..count {
                    let bytes = if time % 50 == 0 { 12 << 10 } else { 1 };
                    let text = value(u8::try_from(time % 250).unwrap()).repeat(bytes);
                    let rows = [pair(time % 40, &text), pair(time % 40 + 1, &text)];
                    insert(store, stream, &rows, Durability::Written);
                }
            });
        }
        for store in [&store, &beside] {
            threads.spawn(move || {
                let mut feed = store.changes_since(begin).unwrap();
                let mut seen = begin;
                while seen.0 < begin.0 + 2 * count as u64 {
                    feed.wait(Duration::from_secs(1)).unwrap();
                    for commit in feed.poll(4 << 10).unwrap() {
                        assert_eq!(commit.seq, seen.next());
                        let rows: usize = commit.changes.iter().map(|c| rows_of(c).len()).sum();
                        assert_eq!(rows, 2, "{commit:?}");
                        seen = commit.seq;
                    }
                }
            });
        }
    });
}

/// In one process one of them reads the log for the others, who come sooner or later, take more or less at once, and go.
#[test]
fn several_who_follow_are_each_given_all_of_it_whatever_their_pace() {
    let machine = Machine::new();
    let settings = Settings { maintenance: Settings::default().maintenance, ..tiny() };
    let store = machine.open(Settings { history_bytes_max: 1 << 30, ..kept(settings) });
    let streams = [keep("a"), latest("b")].map(|spec| store.create_stream(spec).unwrap());
    let begin = last(&store);
    let count = 500_i64;
    let (store, streams) = (&store, &streams);
    let write = |time: i64| {
        let [a, b] = *streams;
        let bytes = if time % 40 == 0 { 12 << 10 } else { 1 };
        let text = value(u8::try_from(time % 250).unwrap()).repeat(bytes);
        match time % 100 {
            // Straight to runs, so that the log has nothing of it.
            50 => {
                let mut bulk = store.bulk().unwrap();
                bulk.insert(a, batch(&[pair(time, &text), pair(time + 1, &text)])).unwrap();
                bulk.commit().unwrap();
            }
            70 => {
                let range = KeyRange::times(time - 20, time);
                store.commit(Changes::new().delete_range(b, range), Durability::Written).unwrap();
            }
            _ => insert(
                store,
                if time % 3 == 0 { a } else { b },
                &[pair(time, &text)],
                Durability::Written,
            ),
        }
    };
    let told = std::thread::scope(|threads| {
        // Bytes at once, and how many commits each lets come before it looks.
        let followers = [(1 << 20, 1), (1 << 20, 30), (1 << 10, 2), (1, 1), (16 << 10, 70)];
        let followers = followers.map(|(bytes_max, behind)| {
            threads.spawn(move || {
                let mut feed = store.changes_since(begin).unwrap();
                let mut told = Vec::new();
                let end = begin.0 + count as u64;
                while feed.last_seq().0 < end {
                    let wanted = SeqNo((feed.last_seq().0 + behind).min(end));
                    until(|| last(store) >= wanted);
                    let found = feed.follow(bytes_max, Duration::from_secs(1)).unwrap();
                    told.extend(short(&found));
                    // One that begins anew where it was.
                    if behind == 70 {
                        feed = store.changes_since(feed.last_seq()).unwrap();
                    }
                }
                told
            })
        });
        (1..=count).for_each(write);
        followers.map(|follower| follower.join().unwrap())
    });
    // Alone, and when all of it is there.
    let mut feed = store.changes_since(begin).unwrap();
    let expected = short(&all_of(&mut feed, 1 << 20));
    assert!(expected.len() >= count as usize);
    for told in told {
        assert_eq!(told, expected);
    }
}

#[test]
fn who_would_make_a_follower_where_nothing_is_kept_is_told_which_setting_to_change() {
    let machine = Machine::new();
    let store = machine.open(manual());
    store.create_stream(keep("events")).unwrap();
    for since in [None, Some(SeqNo(0)), Some(last(&store))] {
        let error = store.follow("index", since).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HistoryLost, "{error}");
        assert!(error.message().contains("follower 'index'"), "{error}");
        assert!(error.hint().contains("history_min") && error.hint().contains("open"), "{error}");
    }
    assert!(store.followers().unwrap().is_empty());
    store.close().unwrap();
    let store = machine.open(kept(manual()));
    store.follow("index", None).unwrap();
    assert_eq!(store.followers().unwrap().len(), 1);
}
