//! The merge of sorted sources: rows in key order, equals in commit order.
//!
//! A cursor walks over one source, block by block. It *waits*, its next block unread, until the merge
//! comes to that block's least key, its *bound*; then the block is loaded, and the cursor is among the
//! *heads*, which are in the order of the rows that they are at. The first head gives all rows that go
//! before the second head's row, and before the least bound of those that wait, as one *piece*: a long piece is
//! a slice of its block, so sources that don't overlap are chained without copying. In streams that
//! keep the latest row a key, a row goes only if no newer source has its key.
//!
//! ```text
//!              oldest                                          bound
//!   cursor 0   [ 10 20 30 40 ]                                  10
//!   cursor 1          [ 25 30 ]                                 25
//!   cursor 2                       [ 50 60 70 80 ]              50
//!              newest
//!
//!   step                          heads (key, cursor)   waiting     given
//!   1  no head: load cursor 0     (10,0)                25, 50      10 20      up to the bound 25
//!   2  head at 30: load cursor 1  (25,1) (30,0)         50          25         up to the head 30
//!   3  equal keys: older first    (30,0) (30,1)         50          30         cursor 0's
//!   4                             (30,1) (40,0)         50          30         cursor 1's
//!   5  cursor 1 has ended         (40,0)                50          40         up to the bound 50
//!   6  no head: load cursor 2     (50,2)                            50 .. 80   to its end
//! ```
//!
//! In a stream that keeps the latest row a key, step 3 gives nothing: a newer source has the key 30. A range
//! delete is no source: it has taken rows out of a cursor's window before the merge comes to them (see
//! [`crate::tombstones`]).

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::KeyRange;

use super::Source;
use super::batch_builder::BatchBuilder;
use super::cursor::{Cursor, LoadedBlock};
use super::lead::{Id16, Id32, Lead, Offset, Time, gallop};
use super::pair::{Pacing, merge_pair};
use super::plan::{RowsMeeting, ScanPlan};
use super::ties::{At, Ties};
use crate::tombstones::Tombstones;
use crate::{LeadKind, Result, Stream};

/// Batches in key order, whatever the kind of key.
pub(super) trait Batches: Send {
    /// The next batch; with fewer rows where fewer are wanted. Nothing follows an error.
    fn next_batch(&mut self, rows_wanted: usize) -> Option<Result<RecordBatch>>;
}

/// A merge, whatever the kind of key.
pub(super) trait Merging: Batches {
    /// Counts what is left.
    fn count(&mut self) -> Result<u64>;
    /// The blocks that the cursors hold.
    fn into_spares(self: Box<Self>) -> Vec<Option<LoadedBlock>>;
}

/// What becomes of the rows and blocks of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Batches.
    Batches,
    /// Batches; each cursor keeps the block it read last.
    BatchesAndSpares,
    /// The number of rows only.
    Count,
}

/// A merge of cursors, which are in commit order.
pub(super) fn merge(
    plan: Arc<ScanPlan>,
    cursors: Vec<Cursor>,
    purpose: Purpose,
) -> Result<Box<dyn Merging>> {
    Ok(match plan.stream.lead_kind() {
        LeadKind::Time => Box::new(KeyedMerge::<Time>::new(plan, cursors, purpose)?),
        LeadKind::Offset => Box::new(KeyedMerge::<Offset>::new(plan, cursors, purpose)?),
        LeadKind::Id16 => Box::new(KeyedMerge::<Id16>::new(plan, cursors, purpose)?),
        LeadKind::Id32 => Box::new(KeyedMerge::<Id32>::new(plan, cursors, purpose)?),
    })
}

/// The head of a cursor that is at rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<V> {
    pub(super) key: V,
    pub(super) cursor: usize,
    /// Place among the lanes of a sweep.
    pub(super) slot: usize,
}

/// A cursor's window during a sweep.
pub(super) struct Lane<'a, S> {
    pub(super) keys: &'a [S],
    pub(super) row: usize,
    pub(super) end: usize,
    pub(super) loaded: &'a LoadedBlock,
    at: At<'a>,
    pub(super) held: Option<(u64, usize)>,
}

struct KeyedMerge<L: Lead> {
    plan: Arc<ScanPlan>,
    latest: bool,
    purpose: Purpose,
    cursors: Vec<Cursor>,
    /// Cursors that wait, by bound.
    waiting: BinaryHeap<Reverse<(L::Value, usize)>>,
    /// Cursors at rows, the one whose row goes first in front.
    heads: Vec<Head<L::Value>>,
    ties: Ties,
    builder: BatchBuilder,
    /// Blocks that may yet be read before the rows there are are given.
    patience: Patience,
    done: bool,
}

/// How many blocks a reading with a filter reads until it gives what has passed: one at first, for whoever wants
/// few rows, then ever more, for those who want all.
#[derive(Debug)]
struct Patience {
    blocks: u32,
    blocks_left: u32,
}

impl Patience {
    const BLOCKS_MAX: u32 = 64;

    fn is_over(&self) -> bool {
        self.blocks_left == 0
    }

    fn note_block(&mut self) {
        self.blocks_left = self.blocks_left.saturating_sub(1);
    }

    fn begin_anew(&mut self) {
        self.blocks = (self.blocks * 2).min(Self::BLOCKS_MAX);
        self.blocks_left = self.blocks;
    }
}

impl<L: Lead> KeyedMerge<L> {
    fn new(plan: Arc<ScanPlan>, cursors: Vec<Cursor>, purpose: Purpose) -> Result<Self> {
        let mut core = Self {
            latest: plan.stream.is_latest(),
            purpose,
            waiting: BinaryHeap::with_capacity(cursors.len()),
            cursors,
            heads: Vec::new(),
            ties: Ties::default(),
            builder: BatchBuilder::new(Arc::clone(&plan), purpose == Purpose::Count),
            patience: Patience { blocks: 1, blocks_left: 1 },
            plan,
            done: false,
        };
        for cursor in 0..core.cursors.len() {
            core.wait(cursor)?;
        }
        Ok(core)
    }

    /// One step towards the next batch.
    fn step(&mut self, rows_wanted: usize) -> Result<()> {
        self.open_reached()?;
        if self.is_late() {
            self.patience.begin_anew();
            return self.builder.flush();
        }
        if self.heads.is_empty() {
            self.done = true;
            return self.builder.flush();
        }
        if let Some(cursor) = self.sweep(rows_wanted)? {
            self.cursors[cursor].advance(&self.plan)?;
            self.place(cursor)?;
        }
        if self.builder.is_full(rows_wanted) {
            self.builder.flush()?;
        }
        Ok(())
    }

    /// Whether what has passed a filter has waited long enough.
    fn is_late(&self) -> bool {
        self.plan.filter.is_some() && self.patience.is_over() && self.builder.has_rows()
    }

    /// Reads the blocks of cursors whose turn may have come.
    fn open_reached(&mut self) -> Result<()> {
        while let Some(&Reverse((bound, cursor))) = self.waiting.peek() {
            if self.heads.first().is_some_and(|head| head.key < bound) || self.is_late() {
                break;
            }
            self.waiting.pop();
            if self.purpose == Purpose::Count && self.count_block(cursor)? {
                self.wait(cursor)?;
                continue;
            }
            self.ties.forget(cursor);
            self.cursors[cursor].load(&self.plan)?;
            self.patience.note_block();
            self.hide_older(cursor)?;
            self.place(cursor)?;
        }
        Ok(())
    }

    /// Where a block was left out: what is older within its keys goes too, if it may have been
    /// replaced or deleted there. None of it has been given yet, for the block's turn has just come.
    fn hide_older(&mut self, cursor: usize) -> Result<()> {
        let lost = self.cursors[cursor].take_lost();
        if !self.latest || lost.is_empty() {
            return Ok(());
        }
        for older in 0..cursor {
            let place = self.heads.iter().position(|head| head.cursor == older);
            self.cursors[older].hide(&self.plan, &lost)?;
            if let Some(place) = place {
                self.heads.remove(place);
                self.place(older)?;
            }
        }
        Ok(())
    }

    /// Counts the next block of a cursor unread, if it is before all other rows.
    fn count_block(&mut self, cursor: usize) -> Result<bool> {
        let Some((rows, key_max)) = self.cursors[cursor].countable()? else { return Ok(false) };
        let key_max = L::value_checked(key_max)?;
        let head = self.heads.first().map(|head| head.key);
        let waiting = self.waiting.peek().map(|Reverse((bound, _))| *bound);
        if [head, waiting].into_iter().flatten().any(|other| other <= key_max) {
            return Ok(false);
        }
        self.builder.count += rows as u64;
        self.cursors[cursor].skip_block();
        Ok(true)
    }

    /// Puts a cursor among the heads or the waiting.
    fn place(&mut self, cursor: usize) -> Result<()> {
        let Some(key) = self.head_key(cursor)? else {
            if self.purpose != Purpose::BatchesAndSpares {
                self.cursors[cursor].loaded = None;
            }
            return self.wait(cursor);
        };
        let head = Head { key, cursor, slot: 0 };
        let Self { plan, cursors, ties, heads, .. } = self;
        let goes_before = |other: &Head<L::Value>| {
            let order = other.key.cmp(&key).then_with(|| {
                match (row_of(cursors, other.cursor), row_of(cursors, cursor)) {
                    (Some(a), Some(b)) => ties.compare(plan, a, b),
                    _ => Ordering::Equal,
                }
            });
            order.then(other.cursor.cmp(&cursor)).is_lt()
        };
        let place = heads.partition_point(goes_before);
        heads.insert(place, head);
        self.ties.failure()
    }

    fn wait(&mut self, cursor: usize) -> Result<()> {
        if let Some(bound) = self.cursors[cursor].bound()? {
            self.waiting.push(Reverse((L::value_checked(bound)?, cursor)));
        }
        Ok(())
    }

    fn head_key(&self, cursor: usize) -> Result<Option<L::Value>> {
        let cursor = &self.cursors[cursor];
        match &cursor.loaded {
            Some(loaded) if !cursor.window.is_empty() => {
                let view = self.plan.keys_of(&loaded.batch)?;
                Ok(L::keys_checked(view)?.get(cursor.window.start).map(L::load))
            }
            _ => Ok(None),
        }
    }

    /// Moves rows from the heads to the gathering until a window ends (whose cursor is
    /// returned, no longer among the heads), a waiting cursor's turn comes, or a batch is full.
    fn sweep(&mut self, rows_wanted: usize) -> Result<Option<usize>> {
        let stop = self.waiting.peek().map(|Reverse((bound, _))| *bound);
        let Self { plan, cursors, heads, ties, builder, latest, .. } = self;
        let mut lanes: Vec<Lane<'_, L::Stored>> = Vec::with_capacity(heads.len());
        for head in heads.iter_mut() {
            let Some(lane) = lane_of::<L>(plan, cursors, head.cursor)? else { continue };
            head.slot = lanes.len();
            lanes.push(lane);
        }
        let mut ended = None;
        let mut pacing = Pacing::default();
        while let Some(&head) = heads.first()
            && stop.is_none_or(|stop| head.key < stop)
        {
            if plan.rest.is_empty() && pacing.is_due() {
                let room = builder.room(rows_wanted);
                let rows = merge_pair::<L>(heads, &mut lanes, builder, *latest, stop, room);
                pacing.note(rows);
                if rows > 0 {
                    reorder(plan, &mut heads[1..], &lanes, ties);
                    reorder(plan, heads, &lanes, ties);
                    if builder.must_stop(rows_wanted) {
                        break;
                    }
                    continue;
                }
            }
            let slot = head.slot;
            let rows = rows_before::<L>(plan, *latest, heads, &lanes, ties, stop);
            let lane = &mut lanes[slot];
            let next = lane.row + rows.max(1);
            // No row goes before an equal of a newer source: it is replaced by that one.
            if rows > 0 || !*latest {
                builder.push(lane.loaded, &mut lane.held, lane.row..next)?;
            }
            lane.row = next;
            if next >= lane.end {
                ended = Some(heads.remove(0).cursor);
                break;
            }
            heads[0].key = L::load(&lane.keys[next]);
            reorder(plan, heads, &lanes, ties);
            if builder.must_stop(rows_wanted) {
                break;
            }
        }
        ties.failure()?;
        let places: Vec<_> =
            lanes.iter().map(|lane| (lane.at.cursor, lane.row, lane.held)).collect();
        for (cursor, row, held) in places {
            cursors[cursor].window.start = row;
            cursors[cursor].held = held;
        }
        Ok(ended)
    }
}

fn row_of(cursors: &[Cursor], cursor: usize) -> Option<(At<'_>, usize)> {
    let place = &cursors[cursor];
    let batch = &place.loaded.as_ref()?.batch;
    Some((At { cursor, loads: place.loads, batch }, place.window.start))
}

fn lane_of<'a, L: Lead>(
    plan: &ScanPlan,
    cursors: &'a [Cursor],
    cursor: usize,
) -> Result<Option<Lane<'a, L::Stored>>> {
    let place = &cursors[cursor];
    let Some(loaded) = &place.loaded else { return Ok(None) };
    let keys = L::keys_checked(plan.keys_of(&loaded.batch)?)?;
    let at = At { cursor, loads: place.loads, batch: &loaded.batch };
    let (row, end) = (place.window.start, place.window.end);
    Ok(Some(Lane { keys, row, end, loaded, at, held: place.held }))
}

/// How many rows of the first head go before the second head and before `stop`.
#[inline]
fn rows_before<L: Lead>(
    plan: &ScanPlan,
    latest: bool,
    heads: &[Head<L::Value>],
    lanes: &[Lane<'_, L::Stored>],
    ties: &mut Ties,
    stop: Option<L::Value>,
) -> usize {
    let first = &heads[0];
    let lane = &lanes[first.slot];
    let keys = &lane.keys[lane.row..lane.end];
    let below = |bound| gallop(keys.len(), |row| L::load(&keys[row]) < bound);
    let Some(second) = heads.get(1) else { return stop.map_or(keys.len(), below) };
    if let Some(stop) = stop
        && stop <= second.key
    {
        return below(stop);
    }
    // Of equals the older go first, if they go at all.
    let equals_too = !latest && first.cursor < second.cursor;
    if plan.rest.is_empty() {
        return match equals_too {
            true => gallop(keys.len(), |row| L::load(&keys[row]) <= second.key),
            false => below(second.key),
        };
    }
    let lesser = below(second.key);
    let other = &lanes[second.slot];
    lesser
        + gallop(keys.len() - lesser, |row| {
            let row = lesser + row;
            L::load(&keys[row]) == second.key && {
                let order = ties.compare(plan, (lane.at, lane.row + row), (other.at, other.row));
                order.is_lt() || (order.is_eq() && equals_too)
            }
        })
}

/// Moves the first head, whose row has changed, to its place.
#[inline]
fn reorder<V: Ord + Copy, S>(
    plan: &ScanPlan,
    heads: &mut [Head<V>],
    lanes: &[Lane<'_, S>],
    ties: &mut Ties,
) {
    let first = heads[0];
    let before = gallop(heads.len() - 1, |index| {
        let other = &heads[index + 1];
        let order = other.key.cmp(&first.key).then_with(|| {
            let (a, b) = (&lanes[other.slot], &lanes[first.slot]);
            ties.compare(plan, (a.at, a.row), (b.at, b.row))
        });
        order.then(other.cursor.cmp(&first.cursor)).is_lt()
    });
    // A loop: mostly one step, which a general rotation takes many times as long for.
    for place in 0..before {
        heads[place] = heads[place + 1];
    }
    heads[before] = first;
}

impl<L: Lead> Batches for KeyedMerge<L> {
    fn next_batch(&mut self, rows_wanted: usize) -> Option<Result<RecordBatch>> {
        loop {
            if let Some(batch) = self.builder.pop() {
                return Some(Ok(batch));
            }
            if self.done {
                return None;
            }
            if let Err(error) = self.step(rows_wanted.max(1)) {
                self.done = true;
                self.builder.clear();
                return Some(Err(error));
            }
        }
    }
}

impl<L: Lead> Merging for KeyedMerge<L> {
    fn count(&mut self) -> Result<u64> {
        while !self.done {
            self.step(usize::MAX)?;
        }
        Ok(self.builder.count)
    }

    fn into_spares(self: Box<Self>) -> Vec<Option<LoadedBlock>> {
        self.cursors.into_iter().map(Cursor::into_spare).collect()
    }
}

/// Rows of some sources as batches of the stored schema, in key order: what flush and
/// compaction write.
pub(crate) struct Merge {
    batches: std::result::Result<Box<dyn Merging>, Option<crate::Error>>,
}

/// Merges `sources` (oldest first): applies the tombstones, keeps the newest row a key in
/// `Latest` streams, and drops delete markers unless they are to be kept for older rows
/// elsewhere.
pub(crate) fn merge_sources(
    stream: &Arc<Stream>,
    sources: Vec<Arc<dyn Source>>,
    tombstones: &Tombstones,
    keep_delete_markers: bool,
) -> Merge {
    let meeting = RowsMeeting {
        several: sources.len() > 1,
        drop_markers: !keep_delete_markers
            && sources.iter().any(|source| source.delete_markers() > 0),
        by_key: true,
    };
    let plan = Arc::new(ScanPlan::stored(stream, meeting));
    let cursors = sources.into_iter().filter_map(|source| {
        let visible = source.visible(&KeyRange::ALL, tombstones)?;
        Some(Cursor::new(source, visible, None))
    });
    Merge { batches: merge(plan, cursors.collect(), Purpose::Batches).map_err(Some) }
}

impl Iterator for Merge {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.batches {
            Ok(batches) => batches.next_batch(usize::MAX),
            Err(error) => error.take().map(Err),
        }
    }
}
