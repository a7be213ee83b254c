//! The store as it was, read while others write, flush, compact and let go of history.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use timestrata_engine::{
    Access, BusyPolicy, Cell, Durability, ErrorKind, Io, KeyRange, Maintenance, Moment, SeqNo,
    Settings, Store, StreamId,
};

use crate::support::*;

/// Commits of the writer.
const COMMITS: u64 = 60_000;
/// What each reader reads at least.
const MOMENTS_MIN: u64 = 50;

/// What all share.
#[derive(Default)]
struct Progress {
    /// The last commit that was acknowledged.
    acknowledged: AtomicU64,
    is_over: AtomicBool,
}

/// Commit n adds the row n, and takes nothing away.
fn write(store: &Store, events: StreamId, progress: &Progress) {
    let mut appender = store.appender(events).unwrap();
    for n in 1..=COMMITS {
        let text = [b'x'; 100];
        let cells = [Cell::Int(n as i64), Cell::Bytes(&text)];
        let seq = appender.append(&cells, Durability::Written).unwrap();
        assert_eq!(seq, SeqNo(n));
        progress.acknowledged.store(n, Ordering::SeqCst);
        if n % 5_000 == 0 {
            store.compact(Some(events)).unwrap();
        }
    }
    progress.is_over.store(true, Ordering::SeqCst);
}

/// Reads one moment after the other; gives how many were still there.
fn read_moments(store: &Store, events: StreamId, progress: &Progress, by_time: bool) -> u64 {
    let (mut read, mut tried) = (0, 0);
    while !progress.is_over.load(Ordering::SeqCst) || read < MOMENTS_MIN {
        let oldest = store.oldest_commit().unwrap().0;
        let newest = progress.acknowledged.load(Ordering::SeqCst);
        if newest == 0 {
            thread::yield_now();
            continue;
        }
        tried += 1;
        // From all that is kept, the newest included.
        let seq = newest - (tried * 7_919) % (newest.saturating_sub(oldest) + 1);
        let moment = match by_time {
            true => Moment::Time(store.wall_ns()),
            false => Moment::Commit(SeqNo(seq)),
        };
        match store.at(&moment) {
            Ok(then) => {
                let last = then.stats().last_seq.0;
                assert!(if by_time { last >= newest } else { last == seq }, "{last}, {moment:?}");
                let rows = then.snapshot().unwrap().count(events, &KeyRange::ALL);
                assert_eq!(rows.unwrap(), last, "rows as of commit {last}");
                read += 1;
            }
            // So much has been committed since that it is lost already.
            Err(error) => assert_eq!(error.kind(), ErrorKind::HistoryLost, "{moment:?}: {error}"),
        }
    }
    read
}

#[test]
fn the_past_is_read_beside_who_writes_and_lets_go_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        history_min: Duration::from_secs(60),
        // Some of what is written: old moments go all the time.
        history_bytes_max: 256 << 10,
        maintenance: Maintenance::Background,
        busy_policy: BusyPolicy::Block,
        ..tiny()
    };
    let store = Store::open(dir.path().join("store"), settings.clone()).unwrap();
    let events = store.create_stream(keep("events")).unwrap();
    let progress = Progress::default();
    let path = dir.path().join("store");
    let beside = Store::open_with(Io::os(), &path, Access::Read, settings).unwrap();
    thread::scope(|scope| {
        let (store, beside, progress) = (&store, &beside, &progress);
        let readers = [
            scope.spawn(|| read_moments(store, events, progress, false)),
            scope.spawn(|| read_moments(beside, events, progress, false)),
            scope.spawn(|| read_moments(store, events, progress, true)),
            scope.spawn(|| read_moments(beside, events, progress, true)),
        ];
        scope.spawn(|| write(store, events, progress));
        for reader in readers {
            assert!(reader.join().unwrap() >= MOMENTS_MIN);
        }
    });
    assert!(store.oldest_commit().unwrap() > SeqNo(1), "nothing of the past has gone");
}
