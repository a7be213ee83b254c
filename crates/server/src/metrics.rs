//! Figures for Prometheus and whoever reads its text: what the server counts, and what the store is.
//!
//! Invariant: no label has a value that a client can choose freely, so their number is bounded.

mod store;

use std::sync::Mutex;
use std::sync::PoisonError;

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{self, Registry, Unit};

pub(crate) use store::StoreFigures;

/// What the names of all figures begin with.
const PREFIX: &str = "timestrata";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
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
    pub(crate) connections: Gauge,
    pub(crate) connections_accepted: Counter,
    pub(crate) connections_refused: Counter,
    pub(crate) tls_failures: Counter,
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
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let into = &mut registry;
        let requests = Family::default();
        let about = "Requests answered; 499: their client had gone";
        into.register("http_requests", about, requests.clone());
        let buckets: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0001, 4.0, 10));
        let seconds = Family::new_with_constructor(buckets);
        let about = "Time from a request's head to the head of its answer";
        into.register_with_unit("http_request", about, Unit::Seconds, seconds.clone());
        Self {
            requests,
            seconds,
            under_way: metric(into, "http_requests_under_way", "Requests being answered"),
            connections: metric(into, "connections_open", "Connections over HTTP"),
            connections_accepted: metric(into, "connections", "Connections that were taken"),
            connections_refused: metric(
                into,
                "connections_refused",
                "Connections that were sent away: limits.connections_max were open",
            ),
            tls_failures: metric(
                into,
                "tls_failures",
                "Connections that ended before client and server had agreed on TLS",
            ),
            rows_ingested: metric(into, "rows_ingested", "Rows of tables acknowledged"),
            log_entries: metric(into, "log_entries_ingested", "Entries of logs acknowledged"),
            log_searches: metric(into, "log_searches", "Searches, counts and the like of logs"),
            log_tails: metric(into, "log_tails_open", "Logs being followed"),
            waits: metric(into, "topic_waits", "Requests that wait for records of topics"),
            group_members: metric(
                into,
                "topic_group_members",
                "Members of groups that are clients of this server",
            ),
            records_sent: metric(into, "topic_records_sent", "Records acknowledged"),
            records_given: metric(into, "topic_records_given", "Records given to readers"),
            timelog_entries: metric(
                into,
                "timelog_entries_appended",
                "Entries of time logs acknowledged",
            ),
            log_tcp_clients: metric(
                into,
                "log_tcp_clients",
                "Clients of the line protocol of logs",
            ),
            registry: Mutex::new(registry),
        }
    }

    /// Counts a request that was answered.
    pub(crate) fn answered(&self, method: &Method, route: String, status: u16, seconds: f64) {
        // Anybody may make up words.
        let method = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
            .into_iter()
            .find(|known| *known == method.as_str())
            .unwrap_or("other");
        self.seconds.get_or_create(&Route { route: route.clone() }).observe(seconds);
        self.requests.get_or_create(&Request { method, route, status }).inc();
    }

    /// All that is counted, and these figures of the store, as Prometheus reads it.
    ///
    /// # Errors
    /// That of a formatter.
    pub(crate) fn text(&self, store: StoreFigures) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        encode_registry(&mut text, &registry)?;
        drop(registry);
        let mut of_store = Registry::with_prefix(PREFIX);
        of_store.register_collector(Box::new(store));
        encode_registry(&mut text, &of_store)?;
        encode_eof(&mut text)?;
        Ok(text)
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
