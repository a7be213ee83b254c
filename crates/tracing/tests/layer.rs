//! What programs say through `tracing` is in the log, whole, and nobody waits for it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use timestrata::logs::{Entries, Fields, Level, Logs, LogsOptions, NewEntry, Query};
use timestrata::{BusyPolicy, Maintenance, Settings, Store};
use timestrata_tracing::{LogsLayer, Writer};
use tracing::subscriber::with_default;
use tracing_subscriber::prelude::*;

fn log() -> Logs {
    let store = Store::memory(Settings::default()).unwrap();
    let options = LogsOptions { message_bytes_max: 1_000, ..LogsOptions::default() };
    Logs::create(&store, "app", &options).unwrap()
}

/// Does something that says something; who writes it is still there.
fn said(logs: &Logs, queue: usize, say: impl FnOnce()) -> Writer {
    let (layer, writer) = LogsLayer::with_queue(logs, queue).unwrap();
    with_default(tracing_subscriber::registry().with(layer), say);
    writer
}

fn all(logs: &Logs) -> Vec<Entries> {
    logs.search(&Query::default()).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn an_event_is_an_entry_with_its_fields_and_those_of_its_spans() {
    let logs = log();
    drop(said(&logs, 100, || {
        let outer = tracing::info_span!("request", id = 7_u64, user = tracing::field::Empty);
        outer.record("user", "ada");
        let _outer = outer.entered();
        let _inner = tracing::debug_span!("query", id = 8).entered();
        tracing::error!(ratio = 0.5, big = u64::MAX, ok = false, "it {} once more", "failed");
    }));
    let batches = all(&logs);
    let entry = batches[0].get(0).unwrap();
    assert_eq!((entry.level(), entry.message()), (Some(Level::Error), "it failed once more"));
    let mut fields = entry.to_owned().fields;
    for gone in ["line", "file"] {
        assert!(fields.get(gone).is_some());
        fields.remove(gone);
    }
    let mut expected = Fields::default();
    expected.int("id", 8).text("user", "ada").float("ratio", 0.5).uint("big", u64::MAX);
    expected.bool("ok", false).text("target", "layer").text("spans", "request.query");
    assert_eq!(fields, expected);
    assert!(entry.source_time().is_some_and(|time| time <= entry.timestamp()));
}

#[test]
fn levels_are_those_of_tracing() {
    let logs = log();
    drop(said(&logs, 100, || {
        tracing::trace!("a");
        tracing::debug!("b");
        tracing::info!("c");
        tracing::warn!("d");
        tracing::error!("e");
    }));
    let levels: Vec<_> = all(&logs)
        .iter()
        .flat_map(|batch| batch.iter().filter_map(|entry| entry.level()).collect::<Vec<_>>())
        .collect();
    assert_eq!(levels, Level::ALL[..5]);
}

#[test]
fn what_the_queue_can_not_take_is_counted_and_said() {
    let logs = log();
    let writer = said(&logs, 1, || (0..20_000).for_each(|n| tracing::info!(n, "one of many")));
    let lost = writer.lost();
    drop(writer);
    let written = logs.count(&Query::of("\"one of many\"").unwrap()).unwrap();
    assert_eq!(written + lost, 20_000);
    let told: u64 = all(&logs)
        .iter()
        .flat_map(|batch| batch.iter().map(|entry| entry.to_owned()).collect::<Vec<_>>())
        .filter_map(|entry| entry.message.split(' ').next()?.parse::<u64>().ok())
        .sum();
    assert!(told <= lost, "{told} said, {lost} lost");
}

/// The first entry of the log.
fn first(logs: &Logs) -> NewEntry {
    all(logs)[0].get(0).unwrap().to_owned()
}

/// A field of the program's own was replaced by the layer's of the same name.
#[test]
fn what_the_program_says_counts_before_what_the_layer_adds() {
    let logs = log();
    drop(said(&logs, 100, || {
        let _span = tracing::info_span!("copy", target = "disk", spans = 3).entered();
        tracing::info!(file = "rows.csv", line = 7, "a bad row");
    }));
    let fields = first(&logs).fields;
    let mut expected = Fields::default();
    expected.text("target", "disk").int("spans", 3).text("file", "rows.csv").int("line", 7);
    assert_eq!(fields, expected);
}

#[test]
fn what_is_too_long_is_written_shorter_and_takes_no_others_with_it() {
    let logs = log();
    let writer = said(&logs, 100, || {
        tracing::info!("before");
        tracing::info!(n = 1, "{}", "é".repeat(1_000));
        tracing::info!(long = "x".repeat(2_000), n = 2, "fields");
        tracing::info!("behind");
    });
    drop(writer);
    assert_eq!(logs.count(&Query::of("before or behind").unwrap()).unwrap(), 2);
    let found = |filter: &str| {
        let mut hits = logs.search(&Query::of(filter).unwrap()).unwrap();
        hits.next().unwrap().unwrap().get(0).unwrap().to_owned()
    };
    assert_eq!(found("shortened=true n=1").message, "é".repeat(500));
    let second = found("shortened=true n=2");
    assert_eq!((second.message.as_str(), second.fields.get("long")), ("fields", None));
    assert_eq!(logs.count(&Query::default()).unwrap(), 4);
}

/// Each entry that came while the store's flushes were behind was lost.
#[test]
fn where_the_store_is_busy_entries_wait() {
    let settings = Settings {
        memtable_bytes_max: 64 << 10,
        memory_bytes_max: 128 << 10,
        busy_policy: BusyPolicy::Raise,
        ..Settings::default()
    };
    let store = Store::memory(settings).unwrap();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    let long = "x".repeat(1_000);
    let mut tail = logs.tail("".parse().unwrap(), None).unwrap();
    let writer = said(&logs, 10_000, || (0..5_000).for_each(|n| tracing::info!(n, "{long}")));
    let mut written = 0;
    while written < 5_000 {
        let new = tail.next(Duration::from_secs(60)).unwrap();
        written += new.map_or_else(|| panic!("{written}, {} lost", writer.lost()), |new| new.len());
    }
    assert_eq!(writer.lost(), 0);
}

#[test]
fn a_log_that_takes_nothing_any_more_is_counted() {
    let logs = log();
    let (layer, writer) = LogsLayer::with_queue(&logs, 100).unwrap();
    Logs::drop(logs.store(), "app").unwrap();
    with_default(tracing_subscriber::registry().with(layer), || {
        (0..10).for_each(|n| tracing::info!(n, "gone"));
    });
    // It ends once it is done with what was said.
    let lost = writer.end();
    assert_eq!(lost, 10);
}

/// Each entry that is written may be what the engine tells of next.
#[test]
fn what_the_engine_says_itself_is_no_entry_unless_that_is_asked_for() {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let store = Store::memory(settings).unwrap();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    let say = |layer: LogsLayer| {
        with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(target: "timestrata_of_ours", "one");
            logs.write(&NewEntry::new("a row")).unwrap();
            store.flush().unwrap();
        });
    };
    let count = |filter: &str| logs.count(&Query::of(filter).unwrap()).unwrap();
    let (layer, writer) = LogsLayer::new(&logs).unwrap();
    say(layer);
    drop(writer);
    assert_eq!((count("one"), count("flushed")), (1, 0));
    let (layer, writer) = LogsLayer::new(&logs).unwrap();
    say(layer.with_engine_events());
    drop(writer);
    assert_eq!(count("one"), 2);
    assert!(count("flushed target=timestrata::flush") > 0);
}
