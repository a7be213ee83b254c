//! The entries that a query finds, batch by batch, and how many they are.

use std::collections::VecDeque;
use std::sync::Arc;

use timestrata_engine::{KeyRange, Result, Scan, ScanSpec};
use timestrata_io::sync::processors;

use super::event_order::EventOrder;
use super::filtered_scan::FilteredScan;
use super::{Clock, Position, Query, fetch};
use crate::filter::Expr;
use crate::{Entries, EntryRef, Logs, LogsView};

/// Entries that are fetched at once.
const FETCH_ROWS: usize = 4096;
/// Pieces that a thread may look through before their hits are handed out.
const PIECES_A_THREAD: usize = 4;

/// Hits in the order of their query, batch by batch. After an error comes nothing.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// app.write(&NewEntry::new("disk is full"))?;
/// app.write(&NewEntry::new("disk is full again"))?;
/// let hits = app.search(&Query { limit: Some(1), ..Query::of("disk")? })?;
/// let found = hits.map(|entries| entries.map(|entries| entries.len()));
/// assert_eq!(found.sum::<Result<usize, _>>()?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Hits {
    view: LogsView,
    query: Query,
    /// The clock that the query goes by.
    by: Clock,
    left: usize,
    source: HitSource,
}

#[derive(Debug)]
enum HitSource {
    /// Everything in a range is wanted.
    All(Scan),
    /// What is looked through next, how many pieces at once, and hits that were found.
    Pieces { rest: VecDeque<KeyRange>, at_once: usize, found: VecDeque<i64> },
    /// Hits in the order of another clock, and those of them that are fetched next.
    ByEvent { order: EventOrder, found: VecDeque<i64> },
}

impl Hits {
    fn new(view: &LogsView, query: &Query) -> Result<Self> {
        let left = query.limit.unwrap_or(usize::MAX);
        let by = view.clock_of(query);
        let source = match (by, query.filter.root()) {
            (Clock::SourceTime, _) => {
                let order = EventOrder::new(view, query)?;
                HitSource::ByEvent { order, found: VecDeque::new() }
            }
            (Clock::Timestamp, Expr::All) => HitSource::All(all(view, query)?),
            (Clock::Timestamp, _) => {
                let rest = FilteredScan::new(view, query, &[]).pieces()?.into();
                // Who wants a few finds them mostly in the first.
                let at_once = if query.limit.is_some() { 1 } else { processors() };
                HitSource::Pieces { rest, at_once, found: VecDeque::new() }
            }
        };
        Ok(Self { view: view.clone(), query: query.clone(), by, left, source })
    }

    /// The clock by which they are in order.
    pub fn clock(&self) -> Clock {
        self.by
    }

    fn next_batch(&mut self) -> Result<Option<Entries>> {
        loop {
            let found = match &mut self.source {
                HitSource::All(scan) => {
                    let Some(batch) = scan.next().transpose()? else { return Ok(None) };
                    return Ok(Some(Entries::new(batch, Arc::clone(self.view.layout()))));
                }
                HitSource::ByEvent { order, found } => {
                    if found.is_empty() {
                        let wanted = self.left.min(FETCH_ROWS);
                        found.extend(order.next(&self.view, &self.query, wanted, self.left)?);
                    }
                    found
                }
                HitSource::Pieces { rest, at_once, found } => {
                    while found.is_empty() && !rest.is_empty() {
                        let pieces: Vec<_> = rest.drain(..rest.len().min(*at_once)).collect();
                        let scan = FilteredScan::new(&self.view, &self.query, &[]);
                        found.extend(scan.timestamps(&pieces, self.left)?);
                        *at_once = (*at_once * 2).min(processors() * PIECES_A_THREAD);
                    }
                    found
                }
            };
            let wanted = found.len().min(self.left).min(FETCH_ROWS);
            if wanted == 0 {
                return Ok(None);
            }
            let timestamps: Vec<i64> = found.iter().take(wanted).copied().collect();
            let (entries, taken) = fetch::in_order(&self.view, &timestamps)?;
            found.drain(..taken);
            if !entries.is_empty() {
                return Ok(Some(entries));
            }
        }
    }
}

impl Iterator for Hits {
    type Item = Result<Entries>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let batch = self.next_batch().transpose();
        match &batch {
            Some(Ok(entries)) => self.left -= entries.len().min(self.left),
            _ => self.left = 0,
        }
        batch
    }
}

/// A scan of all entries that a query without a filter wants.
fn all(view: &LogsView, query: &Query) -> Result<Scan> {
    let spec = ScanSpec {
        range: query.arrivals(Clock::Timestamp)?,
        limit: query.limit,
        reverse: query.newest_first,
        ..ScanSpec::default()
    };
    view.snapshot().scan(view.stream_id(), &spec)
}

impl LogsView {
    /// The entries that a query wants, batch by batch in its order.
    ///
    /// # Errors
    /// `InvalidArgument` if its range ends before it begins; the batches may be `Corruption`, `Io`.
    pub fn search(&self, query: &Query) -> Result<Hits> {
        Hits::new(self, query)
    }

    /// How many entries a query wants, whatever its limit.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn count(&self, query: &Query) -> Result<u64> {
        let by = self.clock_of(query);
        let has_range = query.from.is_some() || query.to.is_some();
        if *query.filter.root() == Expr::All && (by == Clock::Timestamp || !has_range) {
            return self.snapshot().count(self.stream_id(), &query.arrivals(by)?);
        }
        let step = |sum: &mut u64, batch: &super::filtered_scan::HitBatch<'_>| {
            *sum += batch.hits.count_set_bits() as u64;
        };
        FilteredScan::new(self, query, &[]).fold(|| 0, step, |all, part| *all += part)
    }

    /// How many rows a search of everything that a query wants looks at: those of the blocks that can't
    /// tell unread that they have no hit.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn rows_to_look_at(&self, query: &Query) -> Result<u64> {
        FilteredScan::new(self, query, &[]).rows()
    }

    /// The entry that arrived at `timestamp`, with up to `before` entries before and `after` behind
    /// it; oldest first. Empty if there is no such entry.
    pub fn context(&self, timestamp: i64, before: usize, after: usize) -> Result<Vec<Entries>> {
        if fetch::in_order(self, &[timestamp])?.0.is_empty() {
            return Ok(Vec::new());
        }
        let (by, after_it) = (Some(Clock::Timestamp), Position { time: timestamp, timestamp });
        let earlier = Query {
            by,
            newest_first: true,
            limit: Some(before),
            after: Some(after_it),
            ..Query::default()
        };
        let (mut first, mut count) = (timestamp, after.saturating_add(1));
        for entries in self.search(&earlier)? {
            let entries = entries?;
            first = entries.iter().next_back().map_or(first, |entry| entry.timestamp());
            count = count.saturating_add(entries.len());
        }
        let around = Query { by, from: Some(first), limit: Some(count), ..Query::default() };
        self.search(&around)?.collect()
    }
}

impl EntryRef<'_> {
    /// Its place in the order of a clock, to go on behind it.
    pub fn position(&self, by: Clock) -> Position {
        let timestamp = self.timestamp();
        Position { time: by.time(timestamp, self.source_time()), timestamp }
    }
}

impl Logs {
    /// See [`LogsView::search`].
    pub fn search(&self, query: &Query) -> Result<Hits> {
        self.snapshot()?.search(query)
    }

    /// See [`LogsView::count`].
    pub fn count(&self, query: &Query) -> Result<u64> {
        self.snapshot()?.count(query)
    }

    /// See [`LogsView::context`].
    pub fn context(&self, timestamp: i64, before: usize, after: usize) -> Result<Vec<Entries>> {
        self.snapshot()?.context(timestamp, before, after)
    }
}
