//! Counters for Prometheus and whoever reads its text.

use std::sync::Mutex;
use std::sync::PoisonError;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::error::Result;
use crate::state::AppState;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request_ {
    method: String,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

/// What is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<Request_, Counter>,
    seconds: Family<Route, Histogram>,
    under_way: Gauge,
    pub(crate) rows_ingested: Counter,
    pub(crate) log_entries: Counter,
    pub(crate) log_searches: Counter,
    pub(crate) log_tails: Gauge,
    pub(crate) log_tcp_clients: Gauge,
    wal_bytes: Gauge,
    memtable_bytes: Gauge,
    run_bytes: Gauge,
    debt_bytes: Gauge,
    troubles: Gauge,
    damaged_rows: Gauge,
    scrubbed_bytes: Gauge,
    scrub_round_ended: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("timestrata");
        let requests = Family::default();
        registry.register("http_requests", "Requests answered", requests.clone());
        let buckets: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0001, 4.0, 10));
        let seconds = Family::new_with_constructor(buckets);
        let about = "Time from a request's head to the head of its answer";
        registry.register_with_unit("http_request", about, Unit::Seconds, seconds.clone());
        let mut gauge = |name: &str, about: &str| {
            let gauge: Gauge = Gauge::default();
            registry.register(name, about, gauge.clone());
            gauge
        };
        let under_way = gauge("http_requests_under_way", "Requests being answered");
        let wal_bytes = gauge("wal_bytes", "Write-ahead log that recovery would read");
        let memtable_bytes = gauge("memtable_bytes", "Rows in memory");
        let run_bytes = gauge("run_bytes", "Run files");
        let debt_bytes = gauge("compaction_debt_bytes", "What compaction would rewrite now");
        let troubles =
            gauge("background_troubles", "Background work that fails and is tried again");
        let damaged_rows = gauge("damaged_rows", "Rows in blocks that are known to be damaged");
        let scrubbed_bytes = gauge("scrubbed_bytes", "Read by the scrubber since the start");
        let about = "When the scrubber's last round ended, seconds since 1970; 0: never";
        let scrub_round_ended = gauge("scrub_round_ended_seconds", about);
        let log_tails = gauge("log_tails_open", "Logs being followed");
        let log_tcp_clients = gauge("log_tcp_clients", "Clients of the line protocol of logs");
        let mut counter = |name: &str, about: &str| {
            let counter = Counter::default();
            registry.register(name, about, counter.clone());
            counter
        };
        let rows_ingested = counter("rows_ingested", "Rows acknowledged");
        let log_entries = counter("log_entries_ingested", "Entries of logs acknowledged");
        let log_searches = counter("log_searches", "Searches, counts and the like of logs");
        Self {
            registry: Mutex::new(registry),
            requests,
            seconds,
            under_way,
            rows_ingested,
            log_entries,
            log_searches,
            log_tails,
            log_tcp_clients,
            wal_bytes,
            memtable_bytes,
            run_bytes,
            debt_bytes,
            troubles,
            damaged_rows,
            scrubbed_bytes,
            scrub_round_ended,
        }
    }
}

/// Counts a request and its answer.
pub(crate) async fn count(State(state): State<AppState>, request: Request, next: Next) -> Response {
    // The route, not the path: names of tables are nobody's business here, and have no end.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let (route, method) = (route.to_owned(), request.method().to_string());
    let begun_ns = state.clock.monotonic_ns();
    state.metrics.under_way.inc();
    let answer = next.run(request).await;
    state.metrics.under_way.dec();
    let took_ns = state.clock.monotonic_ns().saturating_sub(begun_ns);
    let (seconds, status) = (took_ns as f64 / 1e9, answer.status().as_u16());
    tracing::info!(%method, %route, status, ms = seconds * 1e3, "request");
    let label = Route { route: route.clone() };
    state.metrics.seconds.get_or_create(&label).observe(seconds);
    state.metrics.requests.get_or_create(&Request_ { method, route, status }).inc();
    answer
}

/// `GET /metrics`.
pub(crate) async fn show(State(state): State<AppState>) -> Result<Response> {
    let (stats, metrics) = (state.store.stats(), &state.metrics);
    let set = |gauge: &Gauge, value: u64| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    set(&metrics.wal_bytes, stats.wal_bytes);
    set(&metrics.memtable_bytes, stats.memtable_bytes);
    set(&metrics.run_bytes, stats.streams.iter().map(|stream| stream.run_bytes).sum());
    let debt = stats.streams.iter().map(|stream| stream.compaction_debt_bytes).sum();
    set(&metrics.debt_bytes, debt);
    set(&metrics.troubles, stats.troubles.len() as u64);
    set(&metrics.damaged_rows, stats.damaged.iter().map(|missing| missing.rows).sum());
    set(&metrics.scrubbed_bytes, stats.scrub.bytes);
    metrics.scrub_round_ended.set(stats.scrub.round_ended_wall_ns.unwrap_or(0) / 1_000_000_000);
    let mut text = String::new();
    let registry = metrics.registry.lock().unwrap_or_else(PoisonError::into_inner);
    if encode(&mut text, &registry).is_err() {
        text.clear();
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
