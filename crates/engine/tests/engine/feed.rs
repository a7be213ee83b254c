//! Whoever follows the changes has what the store has, behind each commit.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use timestrata_engine::{
    Access, ChangeFeed, ChangeKind, Changes, Clock, CommittedChanges, Durability, ErrorKind,
    KeyRange, LeadKey, Moment, Retention, SeqNo, Settings, Store, StreamChange, StreamId,
};

use crate::moments::{Step, kept, last, step, stream_of, take, value};
use crate::support::*;

/// All that has come by now.
fn all_of(feed: &mut ChangeFeed, bytes_max: usize) -> Vec<CommittedChanges> {
    let mut all = Vec::new();
    loop {
        let found = feed.poll(bytes_max).unwrap();
        if found.is_empty() {
            return all;
        }
        all.extend(found);
    }
}

fn rows_of(change: &StreamChange) -> Vec<Pair> {
    change.batches().unwrap().flat_map(|batch| pairs(&batch.unwrap())).collect()
}

fn keys_of(change: &StreamChange) -> Vec<i64> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::TimestampMillisecondType as Time;
    let batches = change.batches().unwrap();
    let keys = |batch: arrow_array::RecordBatch| {
        assert_eq!(batch.num_columns(), 1, "the key alone");
        batch.column(0).as_primitive::<Time>().values().to_vec()
    };
    batches.flat_map(|batch| keys(batch.unwrap())).collect()
}

fn is_in(range: KeyRange, time: i64) -> bool {
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

/// What somebody has who began with the store as it was and made all changes since.
#[derive(Default)]
struct Mirror(BTreeMap<StreamId, (String, Vec<Pair>)>);

impl Mirror {
    fn of(store: &Store, seq: SeqNo) -> Self {
        let then = store.at(&Moment::Commit(seq)).unwrap();
        let of_stream = |name: &str| (name.to_owned(), read(&then, name));
        let streams = then.streams();
        Self(streams.iter().map(|stream| (stream.id(), of_stream(stream.name()))).collect())
    }

    fn make(&mut self, change: &StreamChange) {
        let stream = change.stream();
        let at = (stream.name().to_owned(), Vec::new());
        let (_, rows) = self.0.entry(stream.id()).or_insert(at);
        let is_latest = stream.spec().merge == timestrata_engine::Merge::Latest;
        match change.kind() {
            ChangeKind::Inserted => {
                for (time, value) in rows_of(change) {
                    if is_latest {
                        rows.retain(|(other, _)| *other != time);
                    }
                    let place = rows.partition_point(|(other, _)| *other <= time);
                    rows.insert(place, (time, value));
                }
            }
            ChangeKind::DeletedKeys => {
                let keys = keys_of(change);
                rows.retain(|(time, _)| !keys.contains(time));
            }
            ChangeKind::DeletedRange => {
                let range = change.range().unwrap();
                rows.retain(|(time, _)| !is_in(range, *time));
            }
            ChangeKind::DeletedRows => {
                for gone in rows_of(change) {
                    let place = rows.iter().position(|row| *row == gone).unwrap();
                    rows.remove(place);
                }
            }
            ChangeKind::Dropped => drop(self.0.remove(&stream.id())),
            ChangeKind::Expired => panic!("nothing expires here"),
        }
    }

    /// Holds it against the store as of its commit, if that is still kept.
    fn check(&self, store: &Store, seq: SeqNo) {
        let Ok(then) = store.at(&Moment::Commit(seq)) else { return };
        for stream in then.streams() {
            let wanted = read(&then, stream.name());
            let found = self.0.get(&stream.id()).map(|(_, rows)| rows.clone()).unwrap_or_default();
            assert_eq!(found, wanted, "'{}' behind commit {seq}", stream.name());
        }
    }

    /// Makes all changes that there are, and looks behind each commit.
    fn follow(&mut self, store: &Store, feed: &mut ChangeFeed, bytes_max: usize) {
        let mut before = feed.last_seq();
        for commit in all_of(feed, bytes_max) {
            let is_commit = commit.changes.iter().all(|change| change.kind().is_commit());
            match is_commit {
                true => assert_eq!(commit.seq, before.next(), "each commit once, in order"),
                false => assert_eq!(commit.seq, before),
            }
            before = commit.seq;
            commit.changes.iter().for_each(|change| self.make(change));
            // A stream that is dropped is there as of the last commit, and goes with the next one.
            if is_commit {
                self.check(store, commit.seq);
            }
        }
        assert_eq!(feed.last_seq(), last(store), "all of them");
    }
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

/// What is done to the store in a random test, beside what [`Step`] has.
#[derive(Debug, Clone)]
enum FeedStep {
    Other(Step),
    DeleteKeys(i64, i64),
    /// Deletes the rows of a range that have an even value.
    Rewrite(i64, i64),
    Both(i64, u8),
    Follow(usize),
}

fn feed_step() -> impl Strategy<Value = FeedStep> {
    let time = 0..20_i64;
    prop_oneof![
        12 => step().prop_map(FeedStep::Other),
        2 => (time.clone(), 1..6_i64).prop_map(|(t, n)| FeedStep::DeleteKeys(t, n)),
        2 => (time.clone(), 1..9_i64).prop_map(|(t, n)| FeedStep::Rewrite(t, t + n)),
        2 => (time, any::<u8>()).prop_map(|(t, v)| FeedStep::Both(t, v)),
        2 => (1..100_000_usize).prop_map(FeedStep::Follow),
    ]
}

fn rewrite(store: &Store, lo: i64, hi: i64) {
    let stream = stream_of(store, 0);
    let rows = read(store, "stream 0");
    let in_range: Vec<Pair> =
        rows.into_iter().filter(|(time, _)| (lo..hi).contains(time)).collect();
    let stays = |row: &&Pair| row.1.first().is_none_or(|byte| byte % 2 == 1);
    let stay: Vec<Pair> = in_range.iter().filter(stays).cloned().collect();
    if stay.len() == in_range.len() {
        return;
    }
    let mut bulk = store.bulk().unwrap();
    bulk.rewrites(stream).unwrap();
    bulk.delete_range(stream, range(lo, hi)).unwrap();
    bulk.insert(stream, batch(&stay)).unwrap();
    bulk.commit().unwrap();
}

fn take_step(machine: &mut Machine, store: Store, step: &FeedStep) -> Store {
    match step {
        FeedStep::Other(step) => return take(machine, store, step),
        FeedStep::DeleteKeys(time, count) => {
            let gone: Vec<i64> = (*time..time + count).collect();
            let changes = Changes::new().delete_keys(stream_of(&store, 1), keys(&gone));
            store.commit(changes, Durability::Written).unwrap();
        }
        FeedStep::Rewrite(lo, hi) => rewrite(&store, *lo, *hi),
        FeedStep::Both(time, byte) => {
            let rows = batch(&[pair(*time, &value(*byte)), pair(time + 1, &value(*byte))]);
            let changes = Changes::new()
                .delete_keys(stream_of(&store, 1), keys(&[*time, time + 2]))
                .insert(stream_of(&store, 0), rows.clone())
                .insert(stream_of(&store, 1), rows)
                .delete_range(stream_of(&store, 0), range(*time, time + 1));
            store.commit(changes, Durability::Written).unwrap();
        }
        FeedStep::Follow(_) => {}
    }
    store
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn who_makes_all_changes_has_what_the_store_has(
        steps in prop::collection::vec(feed_step(), 1..60)
    ) {
        let mut machine = Machine::new();
        let long = Settings { history_min: Duration::from_secs(86_400), ..tiny() };
        let open = |machine: &Machine| machine.open(Settings { history_bytes_max: 1 << 30, ..long.clone() });
        let mut store = open(&machine);
        let begin = last(&store);
        let mut mirror = Mirror::of(&store, begin);
        let mut seen = begin;
        for step in &steps {
            let is_opened = matches!(step, FeedStep::Other(Step::Reopen | Step::Kill));
            store = take_step(&mut machine, store, step);
            if is_opened {
                // With as much history again.
                store.close().unwrap();
                drop(store);
                store = open(&machine);
            }
            if let FeedStep::Follow(bytes_max) = step
                && let Ok(mut feed) = store.changes_since(seen)
            {
                mirror.follow(&store, &mut feed, *bytes_max);
                seen = feed.last_seq();
            }
        }
        let beside = machine.try_open(Access::Read, kept(tiny())).unwrap();
        for reader in [&store, &beside] {
            let oldest = reader.oldest_commit().unwrap();
            let mut mirror = Mirror::of(reader, oldest);
            let mut feed = reader.changes_since(oldest).unwrap();
            mirror.follow(reader, &mut feed, 1 << 14);
        }
    }
}
