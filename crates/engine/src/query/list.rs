//! The list of a store's queries.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use timestrata_io::Clock;
use timestrata_io::sync::Mutex;

use super::{Ear, QueryInfo, RunningQuery, SharedQuery};

type Listing = Mutex<BTreeMap<u64, Weak<SharedQuery>>>;

/// All queries that are worked on.
#[derive(Default)]
pub(crate) struct Queries {
    last_id: AtomicU64,
    running: Arc<Listing>,
}

impl fmt::Debug for Queries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}

/// A query's place on the list, which it leaves when it is dropped.
pub(super) struct Listed {
    pub(super) id: u64,
    running: Weak<Listing>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(running) = self.running.upgrade() {
            running.lock().remove(&self.id);
        }
    }
}

impl Queries {
    pub(crate) fn begin(
        &self,
        clock: &Arc<dyn Clock>,
        text: &str,
        time_max: Option<Duration>,
        ear: Option<Box<Ear>>,
    ) -> RunningQuery {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let listed = Listed { id, running: Arc::downgrade(&self.running) };
        let query = RunningQuery::new(clock, text, time_max, ear, listed);
        self.running.lock().insert(id, Arc::downgrade(&query.shared));
        query
    }

    /// Those that somebody still holds. They are let go of outside of the lock: the last one to go
    /// takes it.
    fn held(&self) -> Vec<RunningQuery> {
        let running: Vec<Weak<SharedQuery>> = self.running.lock().values().cloned().collect();
        let held = running.iter().filter_map(Weak::upgrade);
        held.map(|shared| RunningQuery { shared }).collect()
    }

    pub(crate) fn list(&self) -> Vec<QueryInfo> {
        self.held().iter().map(RunningQuery::info).collect()
    }

    pub(crate) fn cancel(&self, id: u64) -> bool {
        let found = self.running.lock().get(&id).cloned();
        let query = found.and_then(|found| found.upgrade()).map(|shared| RunningQuery { shared });
        query.inspect(RunningQuery::cancel).is_some()
    }
}
