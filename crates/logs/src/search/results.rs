//! The entries that a query finds, batch by batch, and how many they are.

use std::collections::VecDeque;
use std::sync::Arc;

use timestrata_engine::{KeyRange, Result, Scan, ScanSpec};
use timestrata_io::sync::processors;

use super::filtered_scan::FilteredScan;
use super::{Clock, Position, Query, fetch};
use crate::filter::Expr;
use crate::options::SOURCE_TIME;
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
    left: usize,
    source: HitSource,
}

#[derive(Debug)]
enum HitSource {
    /// Everything in a range is wanted.
    All(Scan),
    /// What is looked through next, how many pieces at once, and hits that were found.
    Pieces { rest: VecDeque<KeyRange>, at_once: usize, found: VecDeque<i64> },
    /// Hits in the order of another clock.
    Sorted(VecDeque<i64>),
}

impl Hits {
    fn new(view: &LogsView, query: &Query) -> Result<Self> {
        let left = query.limit.unwrap_or(usize::MAX);
        let source = match (query.by, query.filter.root()) {
            (Clock::SourceTime, _) => HitSource::Sorted(by_source_time(view, query)?.into()),
            (Clock::Timestamp, Expr::All) => HitSource::All(all(view, query)?),
            (Clock::Timestamp, _) => {
                let rest = FilteredScan::new(view, query, &[]).pieces()?.into();
                // Who wants a few finds them mostly in the first.
                let at_once = if query.limit.is_some() { 1 } else { processors() };
                HitSource::Pieces { rest, at_once, found: VecDeque::new() }
            }
        };
        Ok(Self { view: view.clone(), query: query.clone(), left, source })
    }

    fn next_batch(&mut self) -> Result<Option<Entries>> {
        loop {
            let found = match &mut self.source {
                HitSource::All(scan) => {
                    let Some(batch) = scan.next().transpose()? else { return Ok(None) };
                    return Ok(Some(Entries::new(batch, Arc::clone(self.view.layout()))));
                }
                HitSource::Sorted(found) => found,
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
        range: query.arrivals()?,
        limit: query.limit,
        reverse: query.newest_first,
        ..ScanSpec::default()
    };
    view.snapshot().scan(view.stream_id(), &spec)
}

/// The timestamps of all hits, in the order of what their senders say.
fn by_source_time(view: &LogsView, query: &Query) -> Result<Vec<i64>> {
    let scan = FilteredScan::new(view, query, &[]);
    let limit = query.limit.unwrap_or(usize::MAX);
    let cut = |found: &mut Vec<(i64, i64)>| {
        match query.newest_first {
            false => found.sort_unstable(),
            true => found.sort_unstable_by(|a, b| b.cmp(a)),
        }
        found.truncate(limit);
    };
    let is_behind = |place: (i64, i64)| match query.after {
        None => true,
        Some(after) if query.newest_first => place < (after.time, after.timestamp),
        Some(after) => place > (after.time, after.timestamp),
    };
    let mut found = scan.fold(
        Vec::new,
        |found: &mut Vec<(i64, i64)>, batch| {
            let (rows, hits) = (&batch.rows, &batch.hits);
            let Some(times) = rows.columns.times(SOURCE_TIME) else { return };
            let places = hits.set_indices().map(|row| times.value(row)).zip(batch.timestamps());
            found.extend(places.filter(|place| is_behind(*place)));
            if found.len() / 2 > limit {
                cut(found);
            }
        },
        |all, part| all.extend(part),
    )?;
    cut(&mut found);
    Ok(found.into_iter().map(|(_, timestamp)| timestamp).collect())
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
        if let (Clock::Timestamp, Expr::All) = (query.by, query.filter.root()) {
            return self.snapshot().count(self.stream_id(), &query.arrivals()?);
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
        let place = Some(Position { time: timestamp, timestamp });
        let earlier =
            Query { newest_first: true, limit: Some(before), after: place, ..Query::default() };
        let (mut first, mut count) = (timestamp, after.saturating_add(1));
        for entries in self.search(&earlier)? {
            let entries = entries?;
            first = entries.iter().next_back().map_or(first, |entry| entry.timestamp());
            count = count.saturating_add(entries.len());
        }
        let around = Query { from: Some(first), limit: Some(count), ..Query::default() };
        self.search(&around)?.collect()
    }
}

impl EntryRef<'_> {
    /// Its place in the order of a clock, to go on behind it; `None` if it has none there.
    pub fn position(&self, by: Clock) -> Option<Position> {
        let timestamp = self.timestamp();
        let time = match by {
            Clock::Timestamp => timestamp,
            Clock::SourceTime => self.source_time()?,
        };
        Some(Position { time, timestamp })
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
