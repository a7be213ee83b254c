//! The server itself: listening, bounds that hold for all requests, stopping.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use timestrata_engine::{Error, ErrorKind, Io, Result, Store};
use timestrata_ingest::lines::LogFormats;
use timestrata_sql::{Sql, SqlOptions};
use timestrata_topic::{KeyFile, Topic};
use tokio::sync::{Semaphore, watch};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::auth::{Door, Tokens};
use crate::checkpoints;
use crate::config::Config;
use crate::connections;
use crate::endpoint::Endpoints;
use crate::log_tcp::LogTcp;
use crate::making_tables::MakingTables;
use crate::members::Members;
use crate::metrics::Metrics;
use crate::routes;
use crate::shared_sync::SharedSync;
use crate::small_file;
use crate::state::{AppState, ServerState};
use crate::tls::{self, Tls};
use crate::topic_handles::TopicHandles;
use crate::write_timeout::Listener;

/// A server that listens, and answers once it runs.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    log_tcp: Option<LogTcp>,
    tls: Option<Arc<Tls>>,
    state: AppState,
    /// Tells everything that the server was told to stop.
    stop: watch::Sender<bool>,
}

impl Server {
    /// Listens for requests to a store. To be called in a Tokio runtime. `tokens` is the text of
    /// the file that [`Config::token_file`] names.
    ///
    /// # Errors
    /// `InvalidArgument` for an address that other machines reach, where nobody has a token, and for a log of
    /// the line protocol that can't be; `Io` for an address that can't be listened on; what reading the key that signs
    /// checkpoints, and certificates, may fail with.
    pub async fn bind(store: Store, config: Config, tokens: Option<&str>) -> Result<Self> {
        let file = tokens.map(|text| Tokens::parse(text, "the token file")).transpose()?;
        let io = Io::os();
        let door = Door::new(&store, file.unwrap_or_default(), Arc::clone(&io.clock))?;
        let needs_none = config.listen.ip().is_loopback() || config.is_open_to_all;
        if !needs_none && !door.has_tokens() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "{} can be reached from other machines: make a token ('timestrata token create'), give a \
                     token file (server.token_file), or say server.open_to_all = true",
                    config.listen
                ),
            ));
        }
        let tls = config.tls.clone().map(|files| Tls::open(&io, files)).transpose()?;
        let listener = Listener::bind(config.listen, config.answer_idle_max).await?;
        let options = SqlOptions {
            memory_bytes_max: usize::try_from(config.sql_memory_bytes_max).unwrap_or(usize::MAX),
            read_only: !config.sql_may_write,
            ..SqlOptions::default()
        };
        let sql = Sql::open(&store, options)?;
        let (stop, stopping) = watch::channel(false);
        let (told, appended) = watch::channel(0_u64);
        Topic::listen(&store, move || told.send_modify(|count| *count = count.wrapping_add(1)));
        let key = config.key_file.as_deref().map(|path| KeyFile::open(&io, path)).transpose()?;
        let log_formats = log_formats(&io, &config)?;
        let shared = ServerState {
            requests: Arc::new(Semaphore::new(config.requests_max)),
            searches: Arc::default(),
            tails: Arc::new(Semaphore::new(config.tails_max)),
            waits: Arc::new(Semaphore::new(config.waits_max)),
            endpoints: Endpoints::new(routes::all(config.compat).map(|route| route.description)),
            topics: TopicHandles::default(),
            making_tables: MakingTables::default(),
            members: Members::new(&store),
            shared_sync: SharedSync::new(&store),
            appended,
            key,
            log_formats,
            metrics: Metrics::new(),
            io,
            store,
            sql,
            config,
            door,
            stopping,
        };
        let state = AppState { shared: Arc::new(shared), then: None };
        let log_tcp = match &state.config.log_tcp {
            Some(config) => Some(LogTcp::bind(state.clone(), config).await?),
            None => None,
        };
        Ok(Self { listener, log_tcp, tls: tls.map(Arc::new), state, stop })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// `Io` if the system doesn't say.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.address()
    }

    /// Where it is found: `https` where it has a certificate.
    ///
    /// # Errors
    /// `Io` if the system doesn't say.
    pub fn url(&self) -> Result<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}", self.address()?))
    }

    /// Where it speaks the line protocol of logs, if it does.
    ///
    /// # Errors
    /// `Io` if the system doesn't say.
    pub fn log_tcp_address(&self) -> Result<Option<SocketAddr>> {
        self.log_tcp.as_ref().map(LogTcp::address).transpose()
    }

    /// Answers requests until `stop` is done; then takes no new ones, gives those under way their
    /// time, syncs and closes the store.
    ///
    /// # Errors
    /// What closing the store may fail with.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        self.run_until(stop.boxed()).await
    }

    /// One future of known types, so that it is compiled here and not where it is waited for.
    fn run_until(self, stop: BoxFuture<'static, ()>) -> BoxFuture<'static, Result<()>> {
        self.serve_until(stop).boxed()
    }

    async fn serve_until(self, stop: BoxFuture<'static, ()>) -> Result<()> {
        let Self { listener, log_tcp, tls, state, stop: told } = self;
        let stopping = async move {
            stop.await;
            tracing::info!("stopping");
            let _ = told.send(true);
        };
        tokio::spawn(stopping);
        if let Some(tls) = &tls {
            tokio::spawn(tls::follow(Arc::clone(tls), state.clone()));
        }
        if let Some(every) = state.config.checkpoint_interval {
            tokio::spawn(checkpoints::sign_every(every, state.clone()));
        }
        let http = connections::serve(listener, tls, routes::router(&state), &state);
        let lines = async {
            if let Some(log_tcp) = log_tcp {
                log_tcp.serve().await;
            }
        };
        let serving = async { tokio::join!(http, lines) };
        let overdue = async {
            state.stopped().await;
            tokio::time::sleep(state.config.stop_grace).await;
        };
        tokio::select! {
            _ = serving => {}
            () = overdue => tracing::warn!("requests were cut off: they took longer than stop_grace"),
        }
        // Their threads must not keep the process.
        for query in state.store.queries() {
            state.store.cancel_query(query.id);
        }
        let store = state.store.clone();
        tokio::task::spawn_blocking(move || store.close())
            .await
            .map_err(|error| Error::new(ErrorKind::Io, "closing died").caused_by(error))?
    }
}

/// Lines of the log that wait for stderr at most.
const LOG_LINES_WAITING_MAX: usize = 8_192;

/// Has lines of the log go to stderr, until what is given back is dropped. A thread writes them, and those are left out that it
/// has no room for: where stderr is a pipe that nobody reads, answers don't wait for it.
pub fn init_logs(config: &Config) -> WorkerGuard {
    let (stderr, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(LOG_LINES_WAITING_MAX)
        .thread_name("timestrata-log")
        .finish(std::io::stderr());
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr).with_target(false);
    let lines = match config.log_is_json {
        true => lines.json().flatten_event(true).boxed(),
        false => lines.boxed(),
    };
    let filtered = lines.with_filter(config.log_filter.clone());
    // Somebody may have set it up already; theirs stays.
    let _ = tracing_subscriber::registry().with(filtered).try_init();
    guard
}

/// Formats that are known, with those of the files that the configuration names.
fn log_formats(io: &Io, config: &Config) -> Result<LogFormats> {
    let mut formats = LogFormats::default();
    for path in &config.log_format_files {
        let text = small_file::read(io, path, "a file of formats (logs.format_files)")?;
        let text = String::from_utf8_lossy(&text);
        formats = formats.with_file(&text, &path.display().to_string())?;
    }
    Ok(formats)
}
