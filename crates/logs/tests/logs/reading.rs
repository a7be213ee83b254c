//! What is read: ranges, orders, limits, positions, context, tail.

use std::time::Duration;

use timestrata_engine::Durability;
use timestrata_logs::filter::Filter;
use timestrata_logs::{Clock, Logs, LogsOptions, NewEntry, Query};

use crate::support::{SECOND, at, fill, found, log, messages, settle, with_clock};

#[test]
fn entries_come_by_range_newest_or_oldest_first_with_a_limit() {
    let logs = log();
    let first = fill(&logs, 100, |index| NewEntry::new(format!("m{index}")));
    let query = Query { from: Some(first + 10), to: Some(first + 20), ..Query::default() };
    let ten: Vec<String> = (10..20).map(|index| format!("m{index}")).collect();
    assert_eq!(found(&logs, &query), ten);
    assert_eq!(logs.count(&query).unwrap(), 10);
    let newest = Query { newest_first: true, limit: Some(3), ..query.clone() };
    assert_eq!(found(&logs, &newest), ["m19", "m18", "m17"]);
    let empty = Query { from: Some(first + 10), to: Some(first + 10), ..Query::default() };
    assert!(found(&logs, &empty).is_empty());
    let inverted = Query { from: Some(5), to: Some(4), ..Query::default() };
    assert!(logs.search(&inverted).is_err());
}

#[test]
fn a_position_goes_on_where_an_answer_ended() {
    let logs = log();
    fill(&logs, 5_000, |index| at(index, (index as i64 * 7_919) % 5_000));
    settle(&logs);
    for by in [Clock::Timestamp, Clock::SourceTime].map(Some) {
        for newest_first in [false, true] {
            let all = found(&logs, &Query { by, newest_first, ..Query::default() });
            assert_eq!(all.len(), 5_000);
            let mut seen = Vec::new();
            let mut after = None;
            loop {
                let query = Query { by, newest_first, after, limit: Some(700), ..Query::default() };
                let batches: Vec<_> =
                    logs.search(&query).unwrap().collect::<Result<_, _>>().unwrap();
                let Some(last) = batches.last().and_then(|batch| batch.iter().next_back()) else {
                    break;
                };
                after = by.map(|by| last.position(by));
                seen.extend(messages(&batches));
            }
            assert_eq!(seen, all, "{by:?} {newest_first}");
        }
    }
}

#[test]
fn both_clocks_place_entries() {
    let logs = log();
    let times = [30, 10, 20, 10];
    for (index, time) in times.into_iter().enumerate() {
        logs.write(&at(index, time * SECOND)).unwrap();
    }
    logs.write(&NewEntry::new("without")).unwrap();
    for _ in 0..2 {
        let by_source = Query { by: Some(Clock::SourceTime), ..Query::default() };
        assert_eq!(found(&logs, &by_source), ["m1", "m3", "m2", "m0", "without"]);
        let newest = Query { newest_first: true, limit: Some(3), ..by_source.clone() };
        assert_eq!(found(&logs, &newest), ["without", "m0", "m2"]);
        let range = Query { from: Some(10 * SECOND), to: Some(30 * SECOND), ..by_source.clone() };
        assert_eq!(found(&logs, &range), ["m1", "m3", "m2"]);
        assert_eq!(logs.count(&range).unwrap(), 3);
        let since = Query { from: Some(30 * SECOND), ..by_source.clone() };
        assert_eq!(found(&logs, &since), ["m0", "without"], "one that doesn't say has its arrival");
        settle(&logs);
    }
}

#[test]
fn a_log_has_a_clock_of_its_own() {
    let logs = log();
    assert_eq!(logs.snapshot().unwrap().clock(), Clock::Timestamp);
    for (index, time) in [30, 10, 20].into_iter().enumerate() {
        logs.write(&at(index, time * SECOND)).unwrap();
    }
    assert_eq!(found(&logs, &Query::default()), ["m0", "m1", "m2"]);
    let options = LogsOptions { clock: Some(Clock::SourceTime), ..LogsOptions::default() };
    Logs::create(logs.store(), logs.name(), &options).unwrap();
    assert_eq!(logs.options().unwrap().clock, Some(Clock::SourceTime));
    let hits = logs.search(&Query::default()).unwrap();
    assert_eq!(hits.clock(), Clock::SourceTime);
    assert_eq!(found(&logs, &Query::default()), ["m1", "m2", "m0"]);
    let range = Query { to: Some(30 * SECOND), ..Query::default() };
    assert_eq!(logs.count(&range).unwrap(), 2);
    let arrivals = Query { by: Some(Clock::Timestamp), ..Query::default() };
    assert_eq!(found(&logs, &arrivals), ["m0", "m1", "m2"]);
    // What goes by arrivals goes on to.
    let first = logs.snapshot().unwrap().first_timestamp().unwrap().unwrap();
    let around = logs.context(first, 1, 1).unwrap();
    assert_eq!(around.iter().map(|batch| batch.len()).sum::<usize>(), 2);
    let mut tail = logs.tail(Filter::default(), Some(first)).unwrap();
    let next = tail.next(Duration::ZERO).unwrap().unwrap();
    assert_eq!(
        next.iter().map(|entry| entry.message().to_owned()).collect::<Vec<_>>(),
        ["m1", "m2"]
    );
    let deleted = logs.delete_range(Some(first), Some(first + 1), Durability::Written).unwrap();
    assert_eq!(deleted.entries, 1);
    logs.set_clock(Clock::Timestamp).unwrap();
    assert_eq!(found(&logs, &Query::default()), ["m1", "m2"]);
    Logs::create(logs.store(), logs.name(), &LogsOptions::default()).unwrap();
    assert_eq!(
        logs.snapshot().unwrap().clock(),
        Clock::Timestamp,
        "who says nothing changes nothing"
    );
}

/// The story: the last hundred by the times of senders took all entries to be looked through, however they lay.
#[test]
fn the_first_and_last_that_happened_take_the_blocks_of_these() {
    let logs = log();
    // The later half arrived first, and some of each say nothing.
    let time = |index: usize| ((index as i64 + 10_000) % 20_000) * SECOND;
    fill(&logs, 20_000, |index| match index % 5_000 {
        7 => NewEntry::new(format!("m{index}")),
        _ => at(index, time(index)),
    });
    settle(&logs);
    let by = Some(Clock::SourceTime);
    for newest_first in [false, true] {
        let all = found(&logs, &Query { by, newest_first, ..Query::default() });
        assert_eq!(all.len(), 20_000);
        let limit = Some(100);
        let few = found(&logs, &Query { by, newest_first, limit, ..Query::default() });
        assert_eq!(few, all[..100], "{newest_first}");
        let filtered = Query { by, newest_first, limit: Some(3), ..Query::of("/9$/").unwrap() };
        let expected: Vec<_> = all.iter().filter(|text| text.ends_with('9')).take(3).collect();
        assert_eq!(found(&logs, &filtered).iter().collect::<Vec<_>>(), expected);
    }
    let within = Query { by, from: Some(50 * SECOND), to: Some(60 * SECOND), ..Query::default() };
    assert_eq!(logs.count(&within).unwrap(), 10);
    assert!(logs.snapshot().unwrap().rows_to_look_at(&within).unwrap() < 10_000);
}

#[test]
fn context_is_what_arrived_around_an_entry() {
    let logs = log();
    let first = fill(&logs, 1_000, |index| NewEntry::new(format!("m{index}")));
    let around =
        |timestamp, before, after| messages(&logs.context(timestamp, before, after).unwrap());
    assert_eq!(around(first + 500, 2, 1), ["m498", "m499", "m500", "m501"]);
    assert_eq!(around(first, 2, 0), ["m0"]);
    assert_eq!(around(first + 999, 1, 5), ["m998", "m999"]);
    assert!(around(first + 1_000, 5, 5).is_empty());
}

#[test]
fn a_tail_leaves_nothing_out_while_threads_write() {
    const WRITERS: usize = 3;
    const EACH: usize = 2_000;
    let logs = log();
    fill(&logs, 10, |_| NewEntry::new("before"));
    let mut tail = logs.tail("".parse().unwrap(), None).unwrap();
    let mut seen: Vec<String> = Vec::new();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let logs = logs.clone();
            scope.spawn(move || {
                for index in 0..EACH {
                    let entry = NewEntry::new(format!("{writer} {index}"));
                    match index % 3 {
                        0 => drop(logs.write_many(&[entry], Durability::Written).unwrap()),
                        _ => drop(logs.write(&entry).unwrap()),
                    }
                }
            });
        }
        while seen.len() < WRITERS * EACH {
            let new = tail.next(Duration::from_secs(20)).unwrap().expect("more was written");
            seen.extend(new.iter().map(|entry| entry.message().to_owned()));
        }
    });
    for writer in 0..WRITERS {
        let own = seen.iter().filter(|text| text.starts_with(&format!("{writer} ")));
        let expected: Vec<String> = (0..EACH).map(|index| format!("{writer} {index}")).collect();
        assert_eq!(own.cloned().collect::<Vec<_>>(), expected);
    }
    assert!(tail.next(Duration::ZERO).unwrap().is_none());
}

#[test]
fn a_tail_goes_on_from_a_position() {
    let (logs, _) = with_clock();
    let first = fill(&logs, 10, |index| NewEntry::new(format!("m{index}")));
    let mut tail = logs.tail("".parse().unwrap(), Some(first + 6)).unwrap();
    let new = tail.next(Duration::ZERO).unwrap().unwrap();
    assert_eq!(messages(&[new]), ["m7", "m8", "m9"]);
    let mut again = logs.tail("".parse().unwrap(), Some(tail.position())).unwrap();
    assert!(again.next(Duration::ZERO).unwrap().is_none());
}
