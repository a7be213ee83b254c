//! Logs of a store that was opened.

use std::time::Duration;

use timestrata::logs::filter::Filter;
use timestrata::logs::{
    Bucket, Clock, Entries, Facet, FacetsOptions, Logs, LogsOptions, LogsView, Query, ShownColumns,
    Tail,
};
use timestrata::{Retention, Store};

use super::super::{LogsChange, LogsFace, TailFace};
use super::DURABILITY;
use crate::failure::Result;
use crate::output::FoundEntries;

/// How long a look for new entries takes at most: as long it may take to end.
const LOOK: Duration = Duration::from_millis(250);

pub(super) struct OpenedLogs {
    store: Store,
    logs: Logs,
    view: LogsView,
}

impl OpenedLogs {
    pub(super) fn new(store: &Store, logs: Logs) -> Result<Self> {
        let view = logs.snapshot()?;
        Ok(Self { store: store.clone(), logs, view })
    }
}

impl LogsFace for OpenedLogs {
    fn search(&self, query: &Query) -> Result<FoundEntries> {
        let hits = self.view.search(query)?;
        let shown = ShownColumns::of(&self.store.expect_stream(self.logs.name())?)?;
        Ok(FoundEntries { shown, clock: hits.clock(), batches: Box::new(hits) })
    }

    fn count(&self, query: &Query) -> Result<u64> {
        Ok(self.view.count(query)?)
    }

    fn histogram(&self, query: &Query, step: Option<i64>) -> Result<(i64, Vec<Bucket>)> {
        Ok(self.view.histogram(query, step)?)
    }

    fn facets(&self, query: &Query, options: &FacetsOptions) -> Result<Vec<Facet>> {
        Ok(self.view.facets(query, options)?)
    }

    fn context(&self, timestamp: i64, before: usize, after: usize) -> Result<Vec<Entries>> {
        Ok(self.view.context(timestamp, before, after)?)
    }

    fn last_timestamp(&self) -> Result<Option<i64>> {
        Ok(self.view.last_timestamp()?)
    }

    fn clock(&self) -> Result<Clock> {
        Ok(self.view.clock())
    }

    fn tail(&self, filter: Filter, after: i64) -> Result<Box<dyn TailFace>> {
        Ok(Box::new(OpenedTail(self.logs.tail(filter, Some(after))?)))
    }

    fn change(&self, change: &LogsChange) -> Result<()> {
        let before = self.logs.options()?;
        let LogsChange { clock, keep_all, age_ns, bytes } = *change;
        let kept = before.retention.filter(|_| !keep_all).unwrap_or_default();
        let retention =
            Some(Retention { age_ns: age_ns.or(kept.age_ns), bytes: bytes.or(kept.bytes) });
        let options = LogsOptions { clock: clock.or(before.clock), retention, ..before };
        Logs::create(&self.store, self.logs.name(), &options)?;
        Ok(())
    }

    fn delete(&self, query: &Query) -> Result<u64> {
        Ok(self.logs.delete_range(query.from, query.to, DURABILITY)?.entries)
    }
}

struct OpenedTail(Tail);

impl TailFace for OpenedTail {
    fn next(&mut self) -> Result<Option<Entries>> {
        Ok(self.0.next(LOOK)?)
    }
}
