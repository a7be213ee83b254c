//! What programs say through `tracing` is in the log, whole, and nobody waits for it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use timestrata::logs::{Entries, Level, Logs, LogsOptions, Query};
use timestrata::{Settings, Store};
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
    let mut expected = timestrata::logs::Fields::default();
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

#[test]
fn one_that_the_log_does_not_take_takes_no_others_with_it() {
    let logs = log();
    let writer = said(&logs, 100, || {
        tracing::info!("before");
        tracing::info!("{}", "x".repeat(2_000));
        tracing::info!("behind");
    });
    drop(writer);
    assert_eq!(logs.count(&Query::of("before or behind").unwrap()).unwrap(), 2);
    assert_eq!(logs.count(&Query::default()).unwrap(), 2);
}
