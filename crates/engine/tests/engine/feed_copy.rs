//! A copy that is kept by following: behind each commit it has what the store has.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use timestrata_engine::{
    Access, ChangeFeed, ChangeKind, Changes, Durability, Moment, SeqNo, Settings, Store,
    StreamChange, StreamId,
};

use crate::feed::{all_of, is_in, keys_of, rows_of};
use crate::moments::{Step, kept, last, step, stream_of, take, value};
use crate::support::*;

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
