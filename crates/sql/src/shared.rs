//! What all clones of one [`Sql`](crate::Sql) share: the store, the session, and threads.

use std::sync::{Arc, OnceLock};

use datafusion::execution::TaskContext;
use timestrata_engine::locks::Mutex;
use timestrata_engine::{Error, ErrorKind, Result, Store};
use tokio::runtime::Runtime;

use crate::error::from_datafusion;
use crate::materialized::Folding;
use crate::options::SqlOptions;
use crate::planning_states::PlanningStates;
use crate::schema::SqlModel;
use crate::session;
use crate::writer::SqlWriter;

pub(crate) struct SharedSession {
    pub(crate) store: Store,
    pub(crate) options: SqlOptions,
    /// What queries are planned in.
    pub(crate) states: Arc<PlanningStates>,
    pub(crate) task: Arc<TaskContext>,
    pub(crate) models: Arc<[Arc<dyn SqlModel>]>,
    pub(crate) writer: Option<Arc<dyn SqlWriter>>,
    /// Materialised views that are kept up to date.
    pub(crate) folding: Folding,
    /// For those who call from no runtime of their own.
    runtime: OnceLock<Runtime>,
    starting: Mutex<()>,
}

impl SharedSession {
    pub(crate) fn new(
        store: &Store,
        options: SqlOptions,
        models: Vec<Arc<dyn SqlModel>>,
        writer: Option<Arc<dyn SqlWriter>>,
    ) -> Result<Self> {
        let state = session::build(&options).map_err(from_datafusion)?;
        let of_few_rows = session::of_few_rows(&state);
        Ok(Self {
            store: store.clone(),
            task: state.task_ctx(),
            states: Arc::new(PlanningStates::new(state, of_few_rows)),
            models: models.into(),
            writer: writer.filter(|_| !options.read_only),
            options,
            folding: Folding::default(),
            runtime: OnceLock::new(),
            starting: Mutex::new(()),
        })
    }

    /// The threads, started if they aren't yet.
    pub(crate) fn runtime(&self) -> Result<&Runtime> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let _starting = self.starting.lock();
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(self.options.threads.max(1))
            .thread_name("timestrata-sql")
            .enable_time()
            .build()
            .map_err(|cause| {
                let message = format!("could not start threads for queries: {cause}");
                Error::new(ErrorKind::Io, message).caused_by(cause)
            })?;
        Ok(self.runtime.get_or_init(|| runtime))
    }
}

impl Drop for SharedSession {
    fn drop(&mut self) {
        // It may be dropped on a thread that must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
