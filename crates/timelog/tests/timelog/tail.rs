//! Following a log: each entry once, and on from any place.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use timestrata_engine::{
    Access, Changes, CommitPart, Durability, ErrorKind, Io, KeyRange, Maintenance, Settings, Store,
};
use timestrata_timelog::{
    EntryBatch, Tail, TailCursor, TailOptions, Timelog, TimelogOptions, TimelogWrite,
};

fn settings() -> Settings {
    Settings {
        history_min: Duration::from_secs(600),
        maintenance: Maintenance::Manual,
        ..Settings::default()
    }
}

fn log(store: &Store) -> Timelog {
    Timelog::create(store, "log", TimelogOptions::default()).unwrap()
}

fn late() -> TailOptions {
    TailOptions { late: true, ..TailOptions::default() }
}

fn since(time: i64) -> TailOptions {
    TailOptions { since: Some(time), ..TailOptions::default() }
}

/// All that a tail gives by now, entry by entry, each with the place behind it.
fn given(tail: &mut Tail) -> Vec<(i64, String, TailCursor)> {
    let mut all = Vec::new();
    while let Some(found) = tail.next(Duration::ZERO).unwrap() {
        let mut place = found.begin;
        for (row, time) in found.block.times().iter().enumerate() {
            place.advance(*time);
            let value = String::from_utf8(found.block.value(row).unwrap().to_vec()).unwrap();
            all.push((*time, value, place));
        }
        // A commit of which all was given is done.
        let is_done = found.end.commit() > found.begin.commit();
        assert!(place == found.end || is_done, "{place} is not {}", found.end);
    }
    all
}

fn entries(tail: &mut Tail) -> Vec<(i64, String)> {
    given(tail).into_iter().map(|(time, value, _)| (time, value)).collect()
}

fn wanted(entries: &[(i64, &str)]) -> Vec<(i64, String)> {
    entries.iter().map(|(time, value)| (*time, (*value).to_owned())).collect()
}

#[test]
fn what_comes_is_given_once_in_order_of_time_and_what_has_been_passed_is_not() {
    let store = Store::memory(settings()).unwrap();
    let log = log(&store);
    log.extend(&[1, 5, 5], &["old", "old", "old"]).unwrap();
    let (mut from_now, mut from_one) =
        (log.tail(&TailOptions::default()).unwrap(), log.tail(&since(5)).unwrap());
    assert_eq!(entries(&mut from_one), wanted(&[(5, "old"), (5, "old")]));
    log.append(5, b"a").unwrap();
    assert_eq!(entries(&mut from_now), wanted(&[(5, "a")]));
    log.extend(&[9, 3, 7], &["c", "late", "b"]).unwrap();
    assert_eq!(entries(&mut from_now), wanted(&[(7, "b"), (9, "c")]));
    assert_eq!(entries(&mut from_one), wanted(&[(5, "a"), (7, "b"), (9, "c")]));
    let (mut write, mut rows) = (TimelogWrite::new(&log), EntryBatch::new());
    rows.push(8, b"passed").unwrap();
    rows.push(9, b"d").unwrap();
    write.append(rows).unwrap();
    write
        .commit(Changes::new(), &mut |changes| store.commit(changes, Durability::Written))
        .unwrap();
    assert_eq!(entries(&mut from_now), wanted(&[(9, "d")]));
    assert_eq!(entries(&mut from_one), wanted(&[(9, "d")]));
}

#[test]
fn late_entries_are_given_too_if_wished_each_once_in_the_order_of_commits() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"), settings()).unwrap();
    let (log, other) = (log(&store), Timelog::create(&store, "other", TimelogOptions::default()));
    let other = other.unwrap();
    log.extend(&[5, 1], &["five", "one"]).unwrap();
    let mut from_now = log.tail(&late()).unwrap();
    let mut from_all = log.tail(&TailOptions { since: Some(0), ..late() }).unwrap();
    log.append(3, b"late").unwrap();
    other.append(4, b"of another log").unwrap();
    log.extend(&[9, 2], &["nine", "later"]).unwrap();
    // What was deleted since was there, and so it is told; flushing and compaction change nothing.
    log.delete_range(3..4).unwrap();
    store.flush().unwrap();
    log.compact().unwrap();
    let mut bulk = log.bulk().unwrap();
    let mut rows = EntryBatch::new();
    rows.push(2, b"in bulk").unwrap();
    rows.push(8, b"in bulk too").unwrap();
    bulk.append(rows).unwrap();
    bulk.commit().unwrap();
    let since = [(3, "late"), (9, "nine"), (2, "later"), (2, "in bulk"), (8, "in bulk too")];
    assert_eq!(entries(&mut from_now), wanted(&since));
    assert_eq!(entries(&mut from_all), wanted(&[&[(1, "one"), (5, "five")], &since[..]].concat()));
    assert!(from_now.next(Duration::ZERO).unwrap().is_none());
}

#[test]
fn from_each_place_that_was_told_it_goes_on_in_another_process_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    for with_late in [false, true] {
        let options =
            TailOptions { since: Some(i64::MIN), late: with_late, ..TailOptions::default() };
        let (places, all);
        {
            let store = Store::open(&path, settings()).unwrap();
            let log = Timelog::create(&store, "log", TimelogOptions::default()).unwrap();
            log.delete_range(..).unwrap();
            log.extend(&[i64::MIN, 4, 4], &["a", "b", "c"]).unwrap();
            let mut tail = log.tail(&options).unwrap();
            let mut found = given(&mut tail);
            log.append(6, b"d").unwrap();
            log.extend(&[6, 2, 9], &["e", "late", "f"]).unwrap();
            found.extend(given(&mut tail));
            assert_eq!(found.len(), if with_late { 7 } else { 6 });
            places = found.iter().map(|(.., place)| place.to_string()).collect::<Vec<_>>();
            all = found.into_iter().map(|(time, value, _)| (time, value)).collect::<Vec<_>>();
            store.flush().unwrap();
            store.close().unwrap();
        }
        for access in [Access::Read, Access::Write] {
            let store = Store::open_with(Io::os(), &path, access, settings()).unwrap();
            let log = Timelog::open(&store, "log").unwrap();
            for (row, place) in places.iter().enumerate() {
                let after = Some(place.parse().unwrap());
                let options = TailOptions { after, late: with_late, ..TailOptions::default() };
                let rest = entries(&mut log.tail(&options).unwrap());
                // The late one has been passed, but for who has not come so far.
                let behind: Vec<_> = all[row + 1..].to_vec();
                let has_passed = with_late || all[row].0 >= 2;
                let rest: Vec<_> =
                    rest.into_iter().filter(|(_, value)| has_passed || value != "late").collect();
                assert_eq!(rest, behind, "behind {place}");
            }
            store.close().unwrap();
        }
    }
}

#[test]
fn entries_that_come_where_others_were_deleted_are_new_also_when_they_are_equal() {
    let store = Store::memory(settings()).unwrap();
    let log = log(&store);
    let mut tail = log.tail(&since(0)).unwrap();
    log.extend(&[10, 10, 12], &["a", "a", "b"]).unwrap();
    assert_eq!(entries(&mut tail).len(), 3);
    log.delete_range(..).unwrap();
    log.append(12, b"b").unwrap();
    assert_eq!(entries(&mut tail), wanted(&[(12, "b")]));
    // A delete that the tail has seen is none any more, and one elsewhere never was one.
    log.delete_range(..12).unwrap();
    log.append(12, b"c").unwrap();
    assert_eq!(entries(&mut tail), wanted(&[(12, "c")]));
    // What is gone before it is read is not given.
    log.append(15, b"gone").unwrap();
    log.delete_range(15..16).unwrap();
    assert_eq!(entries(&mut tail), []);
    // A compaction forgets the delete: of fewer entries than were given all are new.
    log.delete_range(..).unwrap();
    store.flush().unwrap();
    log.compact().unwrap();
    log.append(12, b"b").unwrap();
    assert_eq!(entries(&mut tail), wanted(&[(12, "b")]));
}

#[test]
fn who_waits_is_woken_by_the_commit() {
    let store = Store::memory(settings()).unwrap();
    let log = log(&store);
    let mut tail = log.tail(&TailOptions::default()).unwrap();
    let waiting = std::thread::spawn(move || {
        let mut seen = Vec::new();
        while seen.len() < 100 {
            let found = tail.next(Duration::from_secs(600)).unwrap().unwrap();
            seen.extend(found.block.times().to_vec());
        }
        seen
    });
    for time in 0..100 {
        log.append(time, b"x").unwrap();
    }
    assert_eq!(waiting.join().unwrap(), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_store_for_reading_is_told_of_what_another_one_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Store::open(&path, settings()).unwrap();
    let writer = log(&store);
    writer.append(1, b"old").unwrap();
    let reader = Store::open_with(Io::os(), &path, Access::Read, settings()).unwrap();
    let read = Timelog::open(&reader, "log").unwrap();
    let (mut by_time, mut with_late) =
        (read.tail(&TailOptions::default()).unwrap(), read.tail(&late()).unwrap());
    writer.extend(&[5, 0], &["new", "late"]).unwrap();
    let wait = Duration::from_secs(600);
    assert_eq!(by_time.next(wait).unwrap().unwrap().block.times(), [5]);
    assert_eq!(with_late.next(wait).unwrap().unwrap().block.times(), [5, 0]);
}

#[test]
fn what_is_not_kept_any_more_is_said_and_a_place_by_time_never_grows_too_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let settings = Settings { history_min: Duration::ZERO, ..settings() };
    let store = Store::open(&path, settings).unwrap();
    let log = log(&store);
    log.append(5, b"a").unwrap();
    let mut tail = log.tail(&since(0)).unwrap();
    assert_eq!(entries(&mut tail), wanted(&[(5, "a")]));
    let place = tail.cursor();
    log.extend(&[5, 7], &["b", "c"]).unwrap();
    store.flush().unwrap();
    log.compact().unwrap();
    let after = Some("c.1.0".parse().unwrap());
    let lost = log.tail(&TailOptions { after, ..late() }).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::HistoryLost);
    let options = TailOptions { after: Some(place), ..TailOptions::default() };
    assert_eq!(entries(&mut log.tail(&options).unwrap()), wanted(&[(5, "b"), (7, "c")]));
}

#[test]
fn a_tail_ends_with_its_log_and_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"), settings()).unwrap();
    let log = log(&store);
    let mut tails = [log.tail(&TailOptions::default()).unwrap(), log.tail(&late()).unwrap()];
    store
        .commit(Changes::new().delete_range(log.stream_id(), KeyRange::ALL), Durability::Written)
        .unwrap();
    Timelog::drop(&store, "log").unwrap();
    for tail in &mut tails {
        assert_eq!(tail.next(Duration::from_secs(600)).unwrap_err().kind(), ErrorKind::NotFound);
    }
    store.close().unwrap();
    for tail in &mut tails {
        assert_eq!(tail.next(Duration::from_secs(600)).unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[test]
fn what_is_no_place_is_refused() {
    let store = Store::memory(settings()).unwrap();
    let log = log(&store);
    for text in ["", "5", "t.5", "t.5.1", "t.x.1.2", "t..1.2", "t.5.-1.2", "c.1.x", "b.1.2.3.4"] {
        let error = text.parse::<TailCursor>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text:?}");
    }
    let after = |text: &str| Some(text.parse::<TailCursor>().unwrap());
    let of = |after, since, late| log.tail(&TailOptions { since, after, late, look_every: None });
    for refused in [
        of(after("t.5.1.0"), Some(1), false),
        of(after("t.5.1.0"), None, true),
        of(after("c.0.0"), None, false),
        // A store in memory keeps no history.
        of(None, None, true),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
