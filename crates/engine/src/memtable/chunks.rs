//! A list of chunks in commit order, merged so that there are never many small ones.
//!
//! The rule is geometric: a chunk joins those before it that are no larger, so sizes fall
//! by halves towards the end, and a row is copied a logarithmic number of times. Chunks that
//! have reached their settled size are left alone. Writers let small chunks gather, which are
//! then merged at once; a reader has them merged before it looks.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use timestrata_format::{SeqNo, Tombstone};

use super::chunk::{Chunk, Commits};
use super::memory::compacted;
use crate::key::KeyOrder;
use crate::scan::Source;
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, Result, Stream, memory};

/// From which size on a chunk is merged no more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settled {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

impl Settled {
    pub(super) fn is_reached(&self, rows: usize, bytes: usize) -> bool {
        rows >= self.rows || bytes >= self.bytes
    }
}

/// Chunks that gather at most before they are merged: each costs memory beyond its rows, and the
/// sort takes runs that are shorter than the root of all rows for unsorted.
pub(super) const GATHERED_MAX: usize = 128;

/// Chunks in commit order.
#[derive(Debug)]
pub(super) struct Chunks {
    settled: Settled,
    /// Small chunks gather up to this size before they are merged.
    gathered: Settled,
    list: Vec<Arc<Chunk>>,
    /// Chunks from here on have not been looked at by the geometric rule yet.
    fresh_from: usize,
    /// Size of those chunks.
    fresh: Settled,
    rows: usize,
    bytes: usize,
}

/// What a merge needs to know of its stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeRules<'a> {
    pub(super) stream: &'a Arc<Stream>,
    pub(super) order: &'a KeyOrder,
    pub(super) tombstones: &'a Tombstones,
    /// Through which commit the tombstones are heeded by what comes out.
    pub(super) heeded_through: SeqNo,
}

impl Chunks {
    pub(super) fn new(settled: Settled, gathered: Settled) -> Self {
        let fresh = Settled { rows: 0, bytes: 0 };
        Self { settled, gathered, list: Vec::new(), fresh_from: 0, fresh, rows: 0, bytes: 0 }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.settled, self.gathered);
    }

    pub(super) fn list(&self) -> &[Arc<Chunk>] {
        &self.list
    }

    /// How many from the front will never be merged any more.
    pub(super) fn settled_len(&self) -> usize {
        let looked_at = &self.list[..self.fresh_from];
        let last = looked_at.iter().rposition(|c| self.is_settled(c.rows(), c.bytes()));
        last.map_or(0, |last| last + 1)
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.list.capacity() * size_of::<Arc<Chunk>>()
    }

    /// Adds a chunk whose rows are newer than all others (of a list in key order: greater
    /// as well).
    pub(super) fn push(&mut self, chunk: Chunk) {
        self.fresh.rows += chunk.rows();
        self.fresh.bytes += chunk.bytes();
        self.add(chunk);
    }

    fn add(&mut self, chunk: Chunk) {
        self.rows += chunk.rows();
        self.bytes += chunk.bytes();
        self.list.push(Arc::new(chunk));
    }

    /// Drops the chunks that a range delete hides wholly; true if there were any.
    pub(super) fn drop_covered(&mut self, tombstone: &Tombstone) -> bool {
        if !self.list.iter().any(|chunk| chunk.is_covered_by(tombstone)) {
            return false;
        }
        let fresh = self.list.split_off(self.fresh_from);
        self.list.retain(|chunk| !chunk.is_covered_by(tombstone));
        self.fresh_from = self.list.len();
        self.list.extend(fresh.into_iter().filter(|chunk| !chunk.is_covered_by(tombstone)));
        let all = size_of_chunks(&self.list);
        (self.rows, self.bytes) = (all.rows, all.bytes);
        self.fresh = size_of_chunks(&self.list[self.fresh_from..]);
        true
    }

    /// Whether so much has been added since the last [`Chunks::settle`] that a writer should
    /// not wait for a reader to ask for it.
    pub(super) fn is_due(&self) -> bool {
        self.list.len() - self.fresh_from >= GATHERED_MAX
            || self.gathered.is_reached(self.fresh.rows, self.fresh.bytes)
    }

    /// Merges small neighbours whose commits are all before `seq`: those of an unfinished
    /// commit stay apart, because a range delete of the same commit hides what is older only.
    pub(super) fn settle(&mut self, seq: SeqNo, rules: MergeRules<'_>) {
        while let Some(range) = self.next_merge(seq) {
            self.merge_range(range, rules);
        }
    }

    /// The first neighbours that [`Chunks::settle`] merges; what need not be merged counts as looked at.
    pub(super) fn next_merge(&mut self, seq: SeqNo) -> Option<Range<usize>> {
        let ready = self.list.partition_point(|chunk| chunk.commits().max < seq);
        while self.fresh_from < ready {
            let end = self.gathered_end(ready);
            // A large chunk is left alone; what gathered before it must not move behind it.
            let is_alone = self.is_settled_at(self.fresh_from);
            let start = if is_alone { end } else { self.tail_start(self.fresh_from, end) };
            if end - start >= 2 {
                return Some(start..end);
            }
            self.look_at(end);
        }
        None
    }

    /// Where the chunks end that are merged with the first fresh one.
    fn gathered_end(&self, ready: usize) -> usize {
        let (mut rows, mut bytes) = (0, 0);
        let mut end = self.fresh_from;
        while end < ready && !self.gathered.is_reached(rows, bytes) && !self.is_settled_at(end) {
            rows += self.list[end].rows();
            bytes += self.list[end].bytes();
            end += 1;
        }
        end.max(self.fresh_from + 1)
    }

    /// Merges neighbours. What Arrow can't concatenate (the values of two dictionaries may be too many
    /// for their key type) stays apart: more chunks, the same rows.
    pub(super) fn merge_range(&mut self, range: Range<usize>, rules: MergeRules<'_>) {
        match merge(&self.list[range.clone()], rules) {
            Ok(merged) => self.replace(range, merged),
            Err(_) => self.leave_apart(&range),
        }
    }

    /// Where these chunks are, if they are all there and neighbours.
    pub(super) fn find(&self, chunks: &[Arc<Chunk>]) -> Option<Range<usize>> {
        let first = chunks.first()?;
        let start = self.list.iter().position(|chunk| Arc::ptr_eq(chunk, first))?;
        let range = start..start + chunks.len();
        let found = self.list.get(range.clone())?;
        found.iter().zip(chunks).all(|(found, chunk)| Arc::ptr_eq(found, chunk)).then_some(range)
    }

    /// Puts one chunk, or none, in the place of neighbours that it was made of. It counts as looked at.
    pub(super) fn replace(&mut self, range: Range<usize>, merged: Option<Chunk>) {
        let replaced = size_of_chunks(&self.list[range.clone()]);
        self.rows -= replaced.rows;
        self.bytes -= replaced.bytes;
        if let Some(merged) = &merged {
            self.rows += merged.rows();
            self.bytes += merged.bytes();
        }
        let put = usize::from(merged.is_some());
        let looked_at = self.fresh_from.max(range.end) - range.len() + put;
        self.list.splice(range, merged.map(Arc::new));
        self.look_at(looked_at);
    }

    /// Counts neighbours as looked at.
    pub(super) fn leave_apart(&mut self, range: &Range<usize>) {
        self.look_at(self.fresh_from.max(range.end));
    }

    fn look_at(&mut self, end: usize) {
        self.fresh_from = end;
        self.fresh = size_of_chunks(&self.list[end..]);
    }

    fn is_settled_at(&self, place: usize) -> bool {
        self.list.get(place).is_some_and(|chunk| self.is_settled(chunk.rows(), chunk.bytes()))
    }

    fn is_settled(&self, rows: usize, bytes: usize) -> bool {
        self.settled.is_reached(rows, bytes)
    }

    /// Where the tail begins that the geometric rule merges into one; what is from `from` to `end`
    /// belongs to it.
    fn tail_start(&self, from: usize, end: usize) -> usize {
        let Settled { mut rows, mut bytes } = size_of_chunks(&self.list[from..end]);
        let mut start = from;
        for chunk in self.list[..from].iter().rev() {
            let joins = chunk.rows() <= rows
                && !self.is_settled(rows, bytes)
                && !self.is_settled(chunk.rows(), chunk.bytes());
            if !joins {
                break;
            }
            rows += chunk.rows();
            bytes += chunk.bytes();
            start -= 1;
        }
        start
    }
}

pub(super) fn size_of_chunks(chunks: &[Arc<Chunk>]) -> Settled {
    let rows = chunks.iter().map(|chunk| chunk.rows()).sum();
    Settled { rows, bytes: chunks.iter().map(|chunk| chunk.bytes()).sum() }
}

/// One chunk of neighbours in commit order; `None` if range deletes hide all of their rows.
pub(super) fn merge(chunks: &[Arc<Chunk>], rules: MergeRules<'_>) -> Result<Option<Chunk>> {
    let MergeRules { stream, order, tombstones, heeded_through } = rules;
    let mut parts = Vec::with_capacity(chunks.len());
    let mut commits: Option<Commits> = None;
    let mut applied_through = heeded_through;
    for chunk in chunks {
        parts.extend(chunk.visible_parts(tombstones)?);
        commits = Some(commits.map_or(chunk.commits(), |all| all.union(chunk.commits())));
        applied_through = applied_through.max(chunk.summary().tombstones_applied_through);
    }
    let Some(commits) = commits.filter(|_| !parts.is_empty()) else { return Ok(None) };
    memory::ask_for_copy(&parts, "to join rows")?;
    let mut all = concat_batches(stream.stored_schema(), &parts).map_err(failed)?;
    drop(parts);
    if !order.is_sorted(&all, stream.is_latest())? {
        memory::ask_for_order(&all, "to put rows in order")?;
        all = in_order(stream, order, &all)?;
    }
    let batch = compacted(all)?;
    let applied_through = applied_through.max(commits.max);
    Chunk::new(Arc::clone(stream), batch, commits, applied_through).map(Some)
}

/// The rows in key order; equal keys stay in the order they have, or for `Latest` leave the
/// last one.
pub(crate) fn sorted(stream: &Stream, order: &KeyOrder, batch: RecordBatch) -> Result<RecordBatch> {
    match order.is_sorted(&batch, stream.is_latest())? {
        true => Ok(batch),
        false => in_order(stream, order, &batch),
    }
}

/// The same of rows that are known to be in another order.
pub(super) fn in_order(
    stream: &Stream,
    order: &KeyOrder,
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    let keys = order.rows(batch)?;
    let mut rows = keys.sort_indices();
    if stream.is_latest() {
        keys.keep_last(&mut rows);
    }
    take_record_batch(batch, &UInt32Array::from(rows)).map_err(failed)
}

pub(super) fn failed(error: ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the rows can't be put in order: {error}"))
        .caused_by(error)
}
