//! A scan that filters: it reads the blocks of a range that may have hits, with several threads where there
//! is much to read.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_buffer::BooleanBuffer;
use timestrata_engine::{KeyRange, LeadKey, PruneFilter, Result, ScanSpec};
use timestrata_io::sync::Mutex;
use timestrata_io::sync::processors;

use super::event_order::{Place, Places};
use super::matching::{self, SearchedRows};
use super::read_columns::ReadColumns;
use super::{Clock, Query, event_order};
use crate::LogsView;
use crate::options::SOURCE_TIME;

/// A search: what it looks for, and how.
#[derive(Debug)]
pub(super) struct FilteredScan<'a> {
    view: &'a LogsView,
    query: &'a Query,
    /// The clock that the query goes by.
    by: Clock,
    read: ReadColumns,
    prune_filter: PruneFilter,
    newest_first: bool,
}

/// Some rows, with the columns that were asked for, and which of them are hits: at least one.
pub(super) struct HitBatch<'a> {
    pub(super) rows: SearchedRows<'a>,
    pub(super) hits: BooleanBuffer,
}

impl<'a> FilteredScan<'a> {
    /// `columns` are those that the caller needs of each hit, besides those that the filter looks at.
    pub(super) fn new(view: &'a LogsView, query: &'a Query, columns: &[usize]) -> Self {
        let mut read = ReadColumns::of(&query.filter, view.layout());
        columns.iter().for_each(|column| read.add(*column));
        let by = view.clock_of(query);
        if by == Clock::SourceTime {
            read.add(SOURCE_TIME);
        }
        let prune_filter = ReadColumns::prune_filter(&query.filter);
        let newest_first = query.newest_first && by == Clock::Timestamp;
        Self { view, query, by, read, prune_filter, newest_first }
    }

    /// The clock that the query goes by.
    pub(super) fn clock(&self) -> Clock {
        self.by
    }

    /// The pieces of arrivals that may have hits, in the order in which they are read.
    pub(super) fn pieces(&self) -> Result<Vec<KeyRange>> {
        let range = self.query.arrivals(self.by)?;
        if range.is_empty() {
            return Ok(Vec::new());
        }
        if self.by == Clock::SourceTime && (self.query.from.is_some() || self.query.to.is_some()) {
            let parts = event_order::parts(self.view, self.query)?;
            return Ok(parts.into_iter().map(|part| part.range).collect());
        }
        let mut pieces = self.view.snapshot().pieces(self.view.stream_id(), &range)?;
        if self.newest_first {
            pieces.reverse();
        }
        Ok(pieces)
    }

    /// The parts of a piece whose rows are looked at, in the order in which they are read.
    fn parts(&self, piece: &KeyRange) -> Result<Vec<KeyRange>> {
        let mut parts = match self.prune_filter.is_empty() {
            true => vec![*piece],
            false => {
                self.view.snapshot().prune(self.view.stream_id(), piece, &self.prune_filter)?
            }
        };
        if self.newest_first {
            parts.reverse();
        }
        Ok(parts)
    }

    /// How many rows are looked at, whatever the limit.
    pub(super) fn rows(&self) -> Result<u64> {
        let mut rows = 0;
        for piece in self.pieces()? {
            for part in self.parts(&piece)? {
                rows += self.view.snapshot().estimate(self.view.stream_id(), &[part])?.rows_max;
            }
        }
        Ok(rows)
    }

    /// Calls `take` with the hits of a piece, batch by batch, until it says that this is enough.
    pub(super) fn piece(
        &self,
        piece: &KeyRange,
        mut take: impl FnMut(&HitBatch<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let (snapshot, stream) = (self.view.snapshot(), self.view.stream_id());
        for range in self.parts(piece)? {
            let spec = ScanSpec {
                range,
                columns: Some(self.read.columns().to_vec()),
                reverse: self.newest_first,
                ..ScanSpec::default()
            };
            for batch in snapshot.scan(stream, &spec)? {
                let batch = batch?;
                let rows = SearchedRows::new(&batch, self.read.columns(), self.view.layout());
                let hits = self.hits(&rows);
                if hits.count_set_bits() == 0 {
                    continue;
                }
                if take(&HitBatch { rows, hits }).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn hits(&self, rows: &SearchedRows<'_>) -> BooleanBuffer {
        let all = BooleanBuffer::new_set(rows.len());
        let within = match self.by {
            Clock::Timestamp => all,
            by => rows.times_between(by, self.query.from, self.query.to, &all),
        };
        matching::hits(self.query.filter.root(), rows, &within)
    }

    /// What `step` makes of the hits of all pieces, in no order: each thread has its own `make`, and
    /// `merge` puts them together.
    pub(super) fn fold<A: Send>(
        &self,
        make: impl Fn() -> A + Sync + Copy,
        step: impl Fn(&mut A, &HitBatch<'_>) + Sync,
        mut merge: impl FnMut(&mut A, A),
    ) -> Result<A> {
        let parts = self.in_threads(&self.pieces()?, make, |part, piece| {
            self.piece(piece, |batch| {
                step(part, batch);
                ControlFlow::Continue(())
            })
        })?;
        let all = parts.into_iter().reduce(|mut all, part| {
            merge(&mut all, part);
            all
        });
        // One thread has run at least.
        Ok(all.unwrap_or_else(make))
    }

    /// Does `work` for each piece, by as many threads as there are processors.
    fn in_threads<A: Send>(
        &self,
        pieces: &[KeyRange],
        make: impl Fn() -> A + Sync,
        work: impl Fn(&mut A, &KeyRange) -> Result<()> + Sync,
    ) -> Result<Vec<A>> {
        let next = AtomicUsize::new(0);
        let is_over = AtomicBool::new(false);
        let run = || -> Result<A> {
            let mut part = make();
            while !is_over.load(Ordering::Relaxed)
                && let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed))
            {
                work(&mut part, piece).inspect_err(|_| is_over.store(true, Ordering::Relaxed))?;
            }
            Ok(part)
        };
        let others = processors().min(pieces.len()).saturating_sub(1);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..others {
                scope.spawn(|| done.lock().push(run()));
            }
            let own = run();
            done.lock().push(own);
        });
        done.into_inner().into_iter().collect()
    }

    /// The places of the hits of some pieces as [`Places`] tell them, in no order; of each piece at most `limit`,
    /// the first ones.
    pub(super) fn places(
        &self,
        pieces: &[KeyRange],
        places: Places,
        limit: usize,
    ) -> Result<Vec<Place>> {
        let found = self.in_threads(pieces, Vec::new, |found: &mut Vec<Place>, piece| {
            let mut hits = Vec::new();
            self.piece(piece, |batch| {
                let rows = batch.hits.set_indices();
                let times = rows.map(|row| batch.rows.time(self.by, row));
                let read = times.zip(batch.timestamps());
                hits.extend(read.filter_map(|(time, timestamp)| places.place(time, timestamp)));
                if hits.len() / 2 > limit {
                    hits.sort_unstable();
                    hits.truncate(limit);
                }
                ControlFlow::Continue(())
            })?;
            found.extend(hits);
            Ok(())
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The timestamps of the hits of some pieces, in their order, at most so many of each.
    pub(super) fn timestamps(&self, pieces: &[KeyRange], limit: usize) -> Result<Vec<i64>> {
        let found = self.in_threads(pieces, Vec::new, |found, piece| {
            let mut hits = Vec::new();
            self.piece(piece, |batch| {
                hits.extend(batch.timestamps());
                if hits.len() >= limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            hits.truncate(limit);
            found.push((piece.lo, hits));
            Ok(())
        })?;
        let mut found: Vec<(Option<LeadKey>, Vec<i64>)> = found.into_iter().flatten().collect();
        found.sort_unstable_by_key(|(lo, _)| *lo);
        if self.newest_first {
            found.reverse();
        }
        Ok(found.into_iter().flat_map(|(_, hits)| hits).collect())
    }
}

impl HitBatch<'_> {
    /// The hits' timestamps, in their order.
    pub(super) fn timestamps(&self) -> impl Iterator<Item = i64> {
        let times = self.rows.timestamps();
        self.hits.set_indices().map(move |row| times.get(row).copied().unwrap_or_default())
    }
}
