//! Counters for Prometheus and whoever reads its text.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{self, Registry, Unit};
use timestrata_engine::StoreStats;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
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
    requests: Family<Request, Counter>,
    seconds: Family<Route, Histogram>,
    pub(crate) under_way: Gauge,
    pub(crate) rows_ingested: Counter,
    pub(crate) log_entries: Counter,
    pub(crate) log_searches: Counter,
    pub(crate) log_tails: Gauge,
    pub(crate) waits: Gauge,
    pub(crate) group_members: Gauge,
    pub(crate) records_sent: Counter,
    pub(crate) records_given: Counter,
    pub(crate) timelog_entries: Counter,
    pub(crate) log_tcp_clients: Gauge,
    wal_bytes: Gauge,
    memtable_bytes: Gauge,
    run_bytes: Gauge,
    debt_bytes: Gauge,
    troubles: Gauge,
    damaged_rows: Gauge,
    cache_hits: Counter,
    cache_misses: Counter,
    cache_bytes: Gauge,
    cache_bytes_max: Gauge,
    scrubbed_bytes: Gauge,
    scrub_round_ended: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("timestrata");
        let into = &mut registry;
        let requests = Family::default();
        into.register("http_requests", "Requests answered", requests.clone());
        let buckets: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0001, 4.0, 10));
        let seconds = Family::new_with_constructor(buckets);
        let about = "Time from a request's head to the head of its answer";
        into.register_with_unit("http_request", about, Unit::Seconds, seconds.clone());
        Self {
            requests,
            seconds,
            under_way: metric(into, "http_requests_under_way", "Requests being answered"),
            wal_bytes: metric(into, "wal_bytes", "Write-ahead log that recovery would read"),
            memtable_bytes: metric(into, "memtable_bytes", "Rows in memory"),
            run_bytes: metric(into, "run_bytes", "Run files"),
            debt_bytes: metric(into, "compaction_debt_bytes", "What compaction would rewrite now"),
            troubles: metric(
                into,
                "background_troubles",
                "Background work that fails and is tried again",
            ),
            damaged_rows: metric(
                into,
                "damaged_rows",
                "Rows in blocks that are known to be damaged",
            ),
            cache_hits: metric(into, "cache_hits", "Questions that the cache of blocks answered"),
            cache_misses: metric(into, "cache_misses", "Questions that it did not"),
            cache_bytes: metric(into, "cache_bytes", "What the cache of blocks holds"),
            cache_bytes_max: metric(into, "cache_bytes_max", "What it may hold"),
            scrubbed_bytes: metric(into, "scrubbed_bytes", "Read by the scrubber since the start"),
            scrub_round_ended: metric(
                into,
                "scrub_round_ended_seconds",
                "When the scrubber's last round ended, seconds since 1970; 0: never",
            ),
            waits: metric(into, "topic_waits", "Requests that wait for records of topics"),
            group_members: metric(
                into,
                "topic_group_members",
                "Members of groups that are clients of this server",
            ),
            records_sent: metric(into, "topic_records_sent", "Records acknowledged"),
            timelog_entries: metric(
                into,
                "timelog_entries_appended",
                "Entries of time logs acknowledged",
            ),
            records_given: metric(into, "topic_records_given", "Records given to readers"),
            log_tails: metric(into, "log_tails_open", "Logs being followed"),
            log_tcp_clients: metric(
                into,
                "log_tcp_clients",
                "Clients of the line protocol of logs",
            ),
            rows_ingested: metric(into, "rows_ingested", "Rows acknowledged"),
            log_entries: metric(into, "log_entries_ingested", "Entries of logs acknowledged"),
            log_searches: metric(into, "log_searches", "Searches, counts and the like of logs"),
            registry: Mutex::new(registry),
        }
    }

    /// Counts a request that was answered.
    pub(crate) fn answered(&self, method: String, route: String, status: u16, seconds: f64) {
        self.seconds.get_or_create(&Route { route: route.clone() }).observe(seconds);
        self.requests.get_or_create(&Request { method, route, status }).inc();
    }

    /// All that is counted, and these figures of the store, as Prometheus reads it.
    pub(crate) fn text(&self, stats: &StoreStats) -> String {
        let set = |gauge: &Gauge, value: u64| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        set(&self.wal_bytes, stats.wal_bytes);
        set(&self.memtable_bytes, stats.memtable_bytes);
        set(&self.run_bytes, stats.streams.iter().map(|stream| stream.run_bytes).sum());
        let debt = stats.streams.iter().map(|stream| stream.compaction_debt_bytes).sum();
        set(&self.debt_bytes, debt);
        set(&self.troubles, stats.troubles.len() as u64);
        set(&self.damaged_rows, stats.damaged.iter().map(|missing| missing.rows).sum());
        // They never fall, as long as the store is open.
        self.cache_hits.inner().store(stats.cache.hits, Ordering::Relaxed);
        self.cache_misses.inner().store(stats.cache.misses, Ordering::Relaxed);
        set(&self.cache_bytes, stats.cache.bytes);
        set(&self.cache_bytes_max, stats.cache.bytes_max);
        set(&self.scrubbed_bytes, stats.scrub.bytes);
        self.scrub_round_ended.set(stats.scrub.round_ended_wall_ns.unwrap_or(0) / 1_000_000_000);
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if encode(&mut text, &registry).is_err() {
            text.clear();
        }
        text
    }
}

/// A metric that is registered.
fn metric<M: registry::Metric + Clone + Default>(
    registry: &mut Registry,
    name: &str,
    about: &str,
) -> M {
    let metric = M::default();
    registry.register(name, about, metric.clone());
    metric
}
