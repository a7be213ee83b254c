//! Sessions that queries are planned in, each for one at a time.

use std::ops::Deref;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::execution::SessionState;
use timestrata_engine::locks::Mutex;

/// Sessions that are kept for queries to come.
const KEPT_MAX: usize = 8;

/// A session, and copies of it. To make one takes as long as many a query: it has some hundred functions.
pub(crate) struct PlanningStates {
    state: SessionState,
    /// Copies that no query is planned in now.
    kept: Mutex<Vec<SessionState>>,
    /// The same for what one thread reads alone.
    of_few_rows: SessionState,
    /// Settings for plans that need one pass of the optimizer.
    once: Arc<ConfigOptions>,
}

impl PlanningStates {
    pub(crate) fn new(state: SessionState, of_few_rows: SessionState) -> Self {
        let mut once = ConfigOptions::clone(state.config_options());
        once.optimizer.max_passes = 1;
        Self { state, kept: Mutex::default(), of_few_rows, once: Arc::new(once) }
    }

    /// The settings of a session, with one pass of the optimizer.
    pub(crate) fn once(&self) -> &Arc<ConfigOptions> {
        &self.once
    }

    /// Where operators are made for an optimized plan that reads a few rows.
    pub(crate) fn of_few_rows(&self) -> &SessionState {
        &self.of_few_rows
    }

    /// One that knows what time it is.
    pub(crate) fn begin(self: &Arc<Self>) -> PlanningState {
        let kept = self.kept.lock().pop();
        let mut state = kept.unwrap_or_else(|| self.state.clone());
        state.mark_start_execution();
        PlanningState { state: Some(state), all: Arc::clone(self) }
    }
}

impl std::fmt::Debug for PlanningStates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlanningStates")
    }
}

/// A session that one query is planned in.
pub(crate) struct PlanningState {
    /// `None` only at the very end.
    state: Option<SessionState>,
    all: Arc<PlanningStates>,
}

impl Deref for PlanningState {
    type Target = SessionState;

    fn deref(&self) -> &SessionState {
        // What all are copies of is the same but for the time.
        self.state.as_ref().unwrap_or(&self.all.state)
    }
}

impl Drop for PlanningState {
    fn drop(&mut self) {
        let mut kept = self.all.kept.lock();
        if kept.len() < KEPT_MAX {
            kept.extend(self.state.take());
        }
    }
}
