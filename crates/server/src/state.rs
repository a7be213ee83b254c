//! What all handlers share.

use std::sync::Arc;
use std::time::Duration;

use timestrata_engine::{ErrorKind, Io, RunningQuery, Store, duration_of_text};
use timestrata_graph::Graph;
use timestrata_ingest::lines::LogFormats;
use timestrata_logs::{Logs, LogsOptions};
use timestrata_sql::Sql;
use timestrata_table::Table;
use timestrata_timelog::Timelog;
use timestrata_topic::{KeyFile, Topic};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinError;

use crate::auth::Door;
use crate::config::Config;
use crate::endpoint::Endpoints;
use crate::error::{Failure, Result};
use crate::making_tables::MakingTables;
use crate::members::Members;
use crate::metrics::Metrics;
use crate::search_limits::SearchLimits;
use crate::shared_sync::SharedSync;
use crate::topic_handles::TopicHandles;

/// Cheap to clone: one for all.
#[derive(Debug, Clone)]
pub(crate) struct AppState {
    pub(crate) shared: Arc<ServerState>,
    /// The store as a request wants it, where that is not as it is now.
    pub(crate) then: Option<Store>,
}

/// The store, and what all requests to it go by and count on.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub(crate) store: Store,
    pub(crate) sql: Sql,
    pub(crate) config: Config,
    pub(crate) door: Door,
    pub(crate) metrics: Metrics,
    /// Clocks and randomness, and the disk for what isn't the store's.
    pub(crate) io: Io,
    /// One permit a request under way.
    pub(crate) requests: Arc<Semaphore>,
    /// How much searches of logs have in memory.
    pub(crate) searches: Arc<SearchLimits>,
    /// One permit a log that is followed.
    pub(crate) tails: Arc<Semaphore>,
    /// One permit a request that waits for records.
    pub(crate) waits: Arc<Semaphore>,
    /// What there is at which path.
    pub(crate) endpoints: Endpoints,
    /// What has small writes synced together.
    pub(crate) shared_sync: SharedSync,
    /// Tables that bodies are making whose rows tell the columns.
    pub(crate) making_tables: MakingTables,
    /// Topics that were used lately.
    pub(crate) topics: TopicHandles,
    /// Members of groups that are clients of this server.
    pub(crate) members: Members,
    /// How often something was appended to a topic.
    pub(crate) appended: watch::Receiver<u64>,
    /// Formats of lines that are known, with those of the files.
    pub(crate) log_formats: LogFormats,
    /// What signs checkpoints.
    pub(crate) key: Option<KeyFile>,
    /// Whether the server was told to stop: what has no end of its own ends then.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl std::ops::Deref for AppState {
    type Target = ServerState;

    fn deref(&self) -> &ServerState {
        &self.shared
    }
}

impl AppState {
    /// The store to read.
    pub(crate) fn read(&self) -> &Store {
        self.then.as_ref().unwrap_or(&self.store)
    }

    /// SQL over the store to read; over that of now it writes too.
    pub(crate) fn sql(&self) -> Result<Sql> {
        match &self.then {
            None => Ok(self.sql.clone()),
            Some(then) => Ok(self.sql.at_snapshot(then.snapshot()?)),
        }
    }

    /// A table that exists.
    pub(crate) fn table(&self, name: &str) -> Result<Table> {
        Ok(Table::open(self.read(), name)?)
    }

    /// A log that exists.
    pub(crate) fn logs(&self, name: &str) -> Result<Logs> {
        Ok(Logs::open(self.read(), name)?)
    }

    /// A topic that exists.
    pub(crate) fn topic(&self, name: &str) -> Result<Topic> {
        match &self.then {
            None => Ok(self.topics.open(&self.store, name)?),
            Some(then) => Ok(Topic::open(then, name)?),
        }
    }

    /// A graph that exists.
    pub(crate) fn graph(&self, name: &str) -> Result<Graph> {
        Ok(Graph::open(self.read(), name)?)
    }

    /// A time log that exists.
    pub(crate) fn timelog(&self, name: &str) -> Result<Timelog> {
        Ok(Timelog::open(self.read(), name)?)
    }

    /// A log, which is made with `options` if it isn't there. One that is there may have been made with any.
    ///
    /// # Errors
    /// What opening it, or making it, may fail with.
    pub(crate) fn logs_to_write(
        &self,
        name: &str,
        options: &LogsOptions,
    ) -> timestrata_engine::Result<Logs> {
        let make = || Logs::create(&self.store, name, options);
        or_made(Logs::open(&self.store, name), make)
    }

    /// Begins a query: what a client asks, and for how long it wants it to be worked on.
    ///
    /// # Errors
    /// `400` for more time than the server gives.
    pub(crate) fn begin(&self, text: &str, timeout: Option<&str>) -> Result<RunningQuery> {
        let most = self.config.query_time_max;
        let wrong = |given: &str| {
            let shown: String = given.chars().take(60).collect();
            Failure::bad_request(format!(
                "timeout={shown}: it must be a duration such as 30s, of at most {} ms \
                 (limits.query_time_max)",
                most.as_millis()
            ))
        };
        let time_max = match timeout {
            None => most,
            Some(given) => duration_of_text(given)
                .filter(|wanted| *wanted > Duration::ZERO && *wanted <= most)
                .ok_or_else(|| wrong(given))?,
        };
        Ok(self.store.begin_query(text, Some(time_max)))
    }

    /// Looks which tokens there are by now.
    ///
    /// # Errors
    /// Where the folder can't be listed.
    pub(crate) async fn look_at_tokens(&self) -> Result<()> {
        let state = self.clone();
        blocking(move || Ok(state.door.look()?)).await
    }

    /// The same where the last look is too long ago. Where it fails, those go on being taken that were known.
    pub(crate) async fn look_at_tokens_if_due(&self) {
        if self.door.is_due()
            && let Err(failure) = self.look_at_tokens().await
        {
            tracing::error!(?failure, "can't look at the store's tokens");
        }
    }

    /// Waits until the server is told to stop.
    pub(crate) async fn stopped(&self) {
        // Nobody can tell any more: that is the end too.
        let _ = self.stopping.clone().wait_for(|told| *told).await;
    }
}

/// What is there, or is made now.
pub(crate) fn or_made<M>(
    opened: timestrata_engine::Result<M>,
    make: impl FnOnce() -> timestrata_engine::Result<M>,
) -> timestrata_engine::Result<M> {
    match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => make(),
        opened => opened,
    }
}

/// Does what may wait on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    done(tokio::task::spawn_blocking(work).await)
}

/// What came of work on another thread.
pub(crate) fn done<T>(ended: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    ended.unwrap_or_else(|error| {
        tracing::error!(%error, "a handler died");
        Err(Failure::of_a_bug())
    })
}
