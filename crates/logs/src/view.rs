//! A log frozen at one commit: all that can be read from it.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use timestrata_engine::{
    Error, ErrorKind, KeyRange, LeadKey, Result, RunningQuery, SeqNo, Snapshot, StreamId,
};

use super::layout::Layout;
use super::options::{clock_of, is_logs};
use super::{Clock, Query};

/// A log as it was at one commit. Cheap to clone, safe to share between threads; nothing that is
/// written later changes it.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// app.write(&NewEntry::new("started"))?;
/// let before = app.snapshot()?;
/// app.write(&NewEntry::new("stopped"))?;
/// assert_eq!((before.len()?, app.count(&Query::default())?), (1, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LogsView {
    snapshot: Snapshot,
    layout: Arc<Layout>,
}

impl LogsView {
    pub(super) fn new(snapshot: Snapshot, id: StreamId) -> Result<Self> {
        let stream = snapshot.streams().find(|stream| stream.id() == id).map(Arc::clone);
        match stream.filter(|stream| is_logs(stream)) {
            Some(stream) => Ok(Self { snapshot, layout: Arc::new(Layout::new(stream)) }),
            None => {
                let message =
                    format!("the snapshot at commit {} doesn't have this log", snapshot.seq());
                Err(Error::new(ErrorKind::NotFound, message))
            }
        }
    }

    /// The log's name.
    pub fn name(&self) -> &str {
        self.layout.stream.name()
    }

    /// The stream that keeps it.
    pub fn stream_id(&self) -> StreamId {
        self.layout.stream.id()
    }

    /// The columns of its entries, as [`Entries::columns`](super::Entries::columns) has them.
    pub fn schema(&self) -> SchemaRef {
        self.layout.stream.schema().clone()
    }

    /// The clock that queries go by which name none.
    pub fn clock(&self) -> Clock {
        clock_of(&self.layout.stream)
    }

    /// The clock that a query goes by.
    pub fn clock_of(&self, query: &Query) -> Clock {
        query.by.unwrap_or_else(|| self.clock())
    }

    /// The snapshot that it reads from.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The same view, read for a query: reading stops when that is no longer wanted.
    #[must_use]
    pub fn for_query(&self, query: &RunningQuery) -> Self {
        Self { snapshot: self.snapshot.for_query(query), ..self.clone() }
    }

    /// The last commit that it sees.
    pub fn seq(&self) -> SeqNo {
        self.snapshot.seq()
    }

    pub(super) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// How many entries there are.
    pub fn len(&self) -> Result<u64> {
        self.snapshot.count(self.stream_id(), &KeyRange::ALL)
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.first_timestamp()?.is_none())
    }

    /// When the oldest entry arrived, in nanoseconds since 1970-01-01 UTC.
    pub fn first_timestamp(&self) -> Result<Option<i64>> {
        Ok(self.snapshot.min_key(self.stream_id(), &KeyRange::ALL)?.and_then(LeadKey::time))
    }

    /// When the newest entry arrived.
    pub fn last_timestamp(&self) -> Result<Option<i64>> {
        Ok(self.snapshot.max_key(self.stream_id(), &KeyRange::ALL)?.and_then(LeadKey::time))
    }
}
