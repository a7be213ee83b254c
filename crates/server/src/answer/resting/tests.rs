use timestrata_engine::{Durability, Settings, Store};
use timestrata_logs::{Clock, Logs, LogsOptions, NewEntry};

use super::*;
use crate::search_limits::AHEAD_MAX;

/// Entries of which some are long, in an order of their senders that is not that of their arrivals.
fn logs() -> Logs {
    let store = Store::memory(Settings::default()).unwrap();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    let entry = |number: usize| {
        let length = if number.is_multiple_of(50) { 700_000 } else { 10 };
        let mut entry = NewEntry::new(format!("m{number} {}", "x".repeat(length)));
        entry.source_time = Some(((number * 37) % 500) as i64);
        entry
    };
    let entries: Vec<_> = (0..500).map(entry).collect();
    logs.write_many(&entries, Durability::Written).unwrap();
    logs
}

fn numbers(batches: impl Iterator<Item = Result<Entries>>) -> Vec<String> {
    let mut numbers = Vec::new();
    for batch in batches {
        let batch = batch.unwrap();
        let bytes = batch.bytes(0..batch.len());
        assert!(bytes <= BATCH_BYTES, "{bytes} bytes are on their way at once");
        let names = batch.iter().map(|entry| entry.message().split(' ').next().map(str::to_owned));
        numbers.extend(names.flatten());
    }
    numbers
}

#[test]
fn hits_that_rest_go_on_where_they_were() {
    let logs = logs();
    let view = logs.snapshot().unwrap();
    for by in [Clock::Timestamp, Clock::SourceTime] {
        for (newest_first, limit) in [(false, None), (true, None), (false, Some(123))] {
            for filter in ["", "/m\\d*[13579] /"] {
                let mut query = Query::of(filter).unwrap();
                (query.by, query.newest_first, query.limit) = (Some(by), newest_first, limit);
                let expected: Vec<String> = view
                    .search(&query)
                    .unwrap()
                    .flat_map(|batch| {
                        let batch = batch.unwrap();
                        let name = |text: &str| text.split(' ').next().unwrap().to_owned();
                        batch.iter().map(|entry| name(entry.message())).collect::<Vec<_>>()
                    })
                    .collect();
                let mut hits = RestingHits::new(&view, &query).unwrap();
                assert_eq!(numbers(&mut hits), expected);
                let mut hits = RestingHits::new(&view, &query).unwrap();
                let resting = std::iter::from_fn(|| {
                    hits.rest();
                    hits.next()
                });
                assert_eq!(numbers(resting), expected, "{by} {newest_first} {limit:?} {filter}");
            }
        }
    }
}

#[test]
fn of_many_searches_whose_clients_take_nothing_few_have_read_ahead_and_all_go_on_where_they_were() {
    let logs = logs();
    let view = logs.snapshot().unwrap();
    let query = Query::of("").unwrap();
    let expected = numbers(RestingHits::new(&view, &query).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    let limits = Arc::new(SearchLimits::default());
    let search = || {
        let runtime = runtime.handle().clone();
        ForClient::search((&view, &query), Arc::clone(&limits), runtime).unwrap()
    };
    let mut searches: Vec<ForClient> = std::iter::repeat_with(search).take(60).collect();
    let begun: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            searches.iter_mut().map(|hits| scope.spawn(|| hits.next().unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let is_ahead = |of: &&ForClient| !of.watched.lock().unwrap().hits.is_resting();
    assert!(searches.iter().filter(is_ahead).count() <= AHEAD_MAX);
    for (first, rest) in begun.into_iter().zip(searches) {
        assert_eq!(numbers(std::iter::once(first).chain(rest)), expected);
    }
    assert_eq!(limits.ahead.available_permits(), AHEAD_MAX);
}
