//! The memtable: a stream's recent rows.
//!
//! The store holds one [`Memtable`] a stream under its commit lock; readers get an
//! immutable [`MemtableView`]. A row is *in order* if its whole key is not below the
//! greatest in-order key so far, else it is *late*. Each sort has its builder, which seals
//! into immutable chunks, and its list of chunks. In-order chunks never overlap: they chain.
//! A late row with some key came after every in-order row with that key, so in the list of
//! sources all in-order chunks go before all late ones, each list in commit order.

mod apart;
mod builder;
mod chain;
mod chunk;
mod chunks;
mod column;
mod filter;
mod memory;
mod prepared;
mod row;
mod row_batch;
mod view;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::{LeadKey, SeqNo, Tombstone};

use crate::key::{KeyOrder, KeyView, lead_key_of};
use crate::scan::Source;
use crate::tombstones::Tombstones;
use crate::{Cell, Result, Stream};

use apart::AT_ONCE_MAX;
use builder::RowBuilder;
use chain::chained;
use chunk::{Chunk, Commits};
pub(crate) use chunks::sorted;
use chunks::{Chunks, MergeRules, Settled};
pub(crate) use prepared::{PreparedBatch, check_batch};
pub(crate) use row::{check_keys, check_row, keeps_every_row};
pub use row_batch::RowBatch;
pub(crate) use view::MemtableView;

/// The builder of in-order rows is full at this size, and so are small batches that gather.
const IN_ORDER_BUILT: Settled = Settled { rows: 32_768, bytes: 2 << 20 };
/// In-order chunks are chained, not merged, so they settle as soon as a reader hardly notices
/// from one to the next: larger ones would only be copied more often.
const IN_ORDER_SETTLED: Settled = Settled { rows: 4_096, bytes: 256 << 10 };
/// Late rows are sorted when their builder is sealed, under the commit lock: so few that it takes no
/// time to speak of.
const LATE_BUILT: Settled = Settled { rows: 8_192, bytes: 512 << 10 };
/// Late chunks overlap, and every one makes reads dearer, so they grow larger.
const LATE_SETTLED: Settled = Settled { rows: 262_144, bytes: 16 << 20 };

/// A stream's recent rows and range deletes, in memory.
#[derive(Debug)]
pub(crate) struct Memtable {
    stream: Arc<Stream>,
    order: KeyOrder,
    /// `None` where the stream has a column that cells can't express.
    builders: Option<Builders>,
    greatest: Option<Greatest>,
    in_order: Chunks,
    late: Chunks,
    tombstones: Tombstones,
    /// Memory that they hold.
    tombstone_bytes: usize,
    tombstone_pieces: usize,
    commits: Option<Commits>,
    chains: Chains,
    view: Option<Arc<MemtableView>>,
    /// What is larger is merged for readers without the commit lock.
    at_once_max: Settled,
}

/// The settled in-order chunks as readers get them.
#[derive(Debug, Default)]
struct Chains {
    /// How many chunks they are made of.
    chunks: usize,
    sources: Vec<Arc<dyn Source>>,
}

#[derive(Debug)]
struct Builders {
    in_order: RowBuilder,
    late: RowBuilder,
}

impl Builders {
    #[inline]
    fn of(&mut self, late: bool) -> &mut RowBuilder {
        if late { &mut self.late } else { &mut self.in_order }
    }
}

/// The greatest in-order key so far. It never falls, not even when its row is deleted: late
/// rows may have gone behind it.
#[derive(Debug)]
struct Greatest {
    lead: LeadKey,
    /// One row of the key columns, where there are several; unless the key is the last of the in-order
    /// builder.
    whole: Option<RecordBatch>,
}

impl Memtable {
    /// An empty memtable.
    ///
    /// # Errors
    /// `InvalidData` if a key column has a type that can't be ordered.
    pub(crate) fn new(stream: Arc<Stream>) -> Result<Self> {
        let order = KeyOrder::new(&stream)?;
        let in_order = RowBuilder::new(Arc::clone(&stream), IN_ORDER_BUILT);
        let late = RowBuilder::new(Arc::clone(&stream), LATE_BUILT);
        let builders = in_order.zip(late).map(|(in_order, late)| Builders { in_order, late });
        Ok(Self {
            stream,
            order,
            builders,
            greatest: None,
            in_order: Chunks::new(IN_ORDER_SETTLED, IN_ORDER_BUILT),
            late: Chunks::new(LATE_SETTLED, LATE_SETTLED),
            tombstones: Tombstones::default(),
            tombstone_bytes: 0,
            tombstone_pieces: 0,
            commits: None,
            chains: Chains::default(),
            view: None,
            at_once_max: AT_ONCE_MAX,
        })
    }

    /// With chunks that settle early, so that a few rows make several.
    #[cfg(test)]
    fn settling_at(mut self, rows: usize) -> Self {
        let in_order = Settled { rows, ..IN_ORDER_SETTLED };
        self.in_order = Chunks::new(in_order, in_order);
        let late = Settled { rows, ..LATE_SETTLED };
        self.late = Chunks::new(late, late);
        self
    }

    /// With merges of so many rows left to readers.
    #[cfg(test)]
    fn merging_apart_from(mut self, rows: usize) -> Self {
        self.at_once_max.rows = rows;
        self
    }

    /// Appends one row that [`check_row`] has accepted, as a commit of its own. `seq` must
    /// not be below that of any change before.
    ///
    /// # Panics
    /// If the cells don't fit the stream.
    pub(crate) fn append_row(&mut self, seq: SeqNo, cells: &[Cell<'_>]) {
        self.append(seq, cells, false);
    }

    /// Deletes the key that some cells are, one a key column, which [`check_keys`] has accepted.
    /// `seq` as for [`append_row`](Self::append_row); of one commit, changes come in their order.
    ///
    /// # Panics
    /// If the cells don't fit the stream.
    pub(crate) fn delete_key(&mut self, seq: SeqNo, keys: &[Cell<'_>]) {
        let stream = Arc::clone(&self.stream);
        row::with_deletion(&stream, keys, |cells| self.append(seq, cells, true));
    }

    #[inline]
    fn append(&mut self, seq: SeqNo, cells: &[Cell<'_>], deletes: bool) {
        let late = !self.advance(cells[self.stream.lead_column()]) && !self.take_place(cells);
        self.note(seq);
        let Some(builders) = &mut self.builders else {
            panic!("a row was appended to a stream that takes batches only")
        };
        let builder = builders.of(late);
        builder.push(seq, cells);
        if deletes {
            builder.mark_deletion();
        }
        if builder.is_full() {
            self.seal_builder(late);
            self.settle_due(seq);
        }
    }

    /// The bytes that a row would add, at most; `None` if appending it could make a chunk.
    pub(crate) fn growth(&self, cells: &[Cell<'_>]) -> Option<usize> {
        let builders = self.builders.as_ref()?;
        let bytes = builders.in_order.bytes_of(cells);
        (builders.in_order.has_room(bytes) && builders.late.has_room(bytes)).then_some(bytes)
    }

    /// Adds the rows of a prepared batch. `seq` must not be below that of any change before;
    /// of one commit, changes come in their order.
    pub(crate) fn insert(&mut self, seq: SeqNo, prepared: PreparedBatch) {
        if prepared.rows() == 0 {
            return;
        }
        self.note(seq);
        self.seal_builders();
        self.settle_due(seq);
        let batch = prepared.into_batch();
        let rows = batch.num_rows();
        let late_rows = self.late_rows(&batch);
        if late_rows == 0 {
            self.push_in_order(batch, Commits::one(seq));
        } else if late_rows == rows {
            self.push_late(batch, Commits::one(seq));
        } else {
            let late = batch.slice(0, late_rows);
            let in_order = batch.slice(late_rows, rows - late_rows);
            // The two parts live on for different times, so at most one keeps the whole.
            let late = memory::copied(&late).unwrap_or(late);
            let in_order = match in_order.num_rows() < rows - rows / 4 {
                true => memory::copied(&in_order).unwrap_or(in_order),
                false => in_order,
            };
            self.push_in_order(in_order, Commits::one(seq));
            self.push_late(late, Commits::one(seq));
        }
    }

    /// Hides the rows of earlier commits in the tombstone's range. Rows of the same commit
    /// stay, whether they come before or after this.
    pub(crate) fn delete_range(&mut self, tombstone: Tombstone) {
        if tombstone.range.is_empty() {
            return;
        }
        self.note(tombstone.seq);
        self.seal_builders();
        // Or chunks would gather without end where appends and deletes take turns.
        self.settle_due(tombstone.seq);
        self.tombstones.add(tombstone);
        self.tombstone_bytes = self.tombstones.bytes();
        self.tombstone_pieces = self.tombstones.len();
        if self.in_order.drop_covered(&tombstone) {
            self.chains = Chains::default();
        }
        self.late.drop_covered(&tombstone);
    }

    /// Empties it; views keep what they hold.
    pub(crate) fn clear(&mut self) {
        if let Some(builders) = &mut self.builders {
            builders.in_order.seal();
            builders.late.seal();
        }
        self.greatest = None;
        self.in_order.clear();
        self.late.clear();
        self.tombstones = Tombstones::default();
        self.tombstone_bytes = 0;
        self.tombstone_pieces = 0;
        self.commits = None;
        self.chains = Chains::default();
        self.view = None;
    }

    /// Whether nothing has been committed into it.
    pub(crate) fn is_empty(&self) -> bool {
        self.commits.is_none()
    }

    /// Rows held, delete markers and rows that a range delete hides in part included.
    pub(crate) fn rows(&self) -> usize {
        let built = self.builders.as_ref().map_or(0, |b| b.in_order.rows() + b.late.rows());
        built + self.in_order.rows() + self.late.rows()
    }

    /// Those of its rows that came late and are sorted apart.
    pub(crate) fn late(&self) -> usize {
        self.late.rows() + self.builders.as_ref().map_or(0, |builders| builders.late.rows())
    }

    /// Memory held, in bytes; what only open views still hold is not counted.
    pub(crate) fn bytes(&self) -> usize {
        let built = self.builders.as_ref().map_or(0, |b| b.in_order.bytes() + b.late.bytes());
        built + self.tombstone_bytes + self.in_order.bytes() + self.late.bytes()
    }

    /// Range deletes held: those of one key count once, however many there were.
    pub(crate) fn tombstones(&self) -> usize {
        self.tombstone_pieces
    }

    /// Oldest commit, range deletes included.
    pub(crate) fn seq_min(&self) -> Option<SeqNo> {
        self.commits.map(|commits| commits.min)
    }

    /// Newest commit, range deletes included.
    pub(crate) fn seq_max(&self) -> Option<SeqNo> {
        self.commits.map(|commits| commits.max)
    }

    /// The memtable as of now, to be called between commits; the same view as before if
    /// nothing has changed since.
    pub(crate) fn view(&mut self) -> Arc<MemtableView> {
        if let Some(view) = &self.view {
            return Arc::clone(view);
        }
        self.seal_builders();
        self.settle_lists(SeqNo(u64::MAX), |_| true);
        self.chain();
        let (in_order, late) = (&self.in_order.list()[self.chains.chunks..], self.late.list());
        let len = self.chains.sources.len() + in_order.len() + late.len();
        let mut sources: Vec<Arc<dyn Source>> = Vec::with_capacity(len);
        sources.extend_from_slice(&self.chains.sources);
        for chunk in in_order.iter().chain(late) {
            sources.push(Arc::clone(chunk) as Arc<dyn Source>);
        }
        let view = Arc::new(MemtableView {
            sources,
            tombstones: self.tombstones.clone(),
            rows: self.rows(),
            bytes: self.bytes(),
            seq_min: self.seq_min(),
            seq_max: self.seq_max(),
        });
        self.view = Some(Arc::clone(&view));
        view
    }

    /// Chains the settled in-order chunks, if one has been added to them.
    fn chain(&mut self) {
        let chunks = self.in_order.settled_len();
        if chunks != self.chains.chunks {
            let settled = &self.in_order.list()[..chunks];
            let sources = chained(settled, self.stream.is_latest(), &self.tombstones);
            self.chains = Chains { chunks, sources };
        }
    }

    #[inline]
    fn note(&mut self, seq: SeqNo) {
        if self.view.is_some() {
            self.view = None;
        }
        match &mut self.commits {
            Some(commits) => commits.max = seq,
            None => self.commits = Some(Commits::one(seq)),
        }
    }

    /// The common case at once: a 64-bit leading key above all in-order ones becomes the
    /// greatest. False says nothing yet.
    #[inline]
    fn advance(&mut self, cell: Cell<'_>) -> bool {
        match (self.greatest.as_mut().map(|greatest| &mut greatest.lead), cell) {
            (Some(LeadKey::Time(greatest)), Cell::Int(time)) if time > *greatest => {
                *greatest = time;
                true
            }
            (Some(LeadKey::Offset(greatest)), Cell::UInt(offset)) if offset > *greatest => {
                *greatest = offset;
                true
            }
            _ => false,
        }
    }

    /// Makes a row's key the greatest in-order one; false if it is below that, so late.
    fn take_place(&mut self, cells: &[Cell<'_>]) -> bool {
        let (kind, cell) = (self.stream.lead_kind(), cells[self.stream.lead_column()]);
        let lead = lead_key_of(kind, cell)
            .unwrap_or_else(|| panic!("{cell:?} was appended as a key of kind {kind:?}"));
        let late = self.greatest.as_ref().is_some_and(|greatest| match lead.cmp(&greatest.lead) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => !self.order.is_single() && self.is_late_by_rest(greatest, cells),
        });
        if late {
            return false;
        }
        match &mut self.greatest {
            Some(greatest) => greatest.lead = lead,
            None => self.greatest = Some(Greatest { lead, whole: None }),
        }
        true
    }

    /// Whether a row with the greatest leading key is late by the other key columns.
    fn is_late_by_rest(&self, greatest: &Greatest, cells: &[Cell<'_>]) -> bool {
        let builder = self.builders.as_ref().map(|builders| &builders.in_order);
        for (position, &column) in self.stream.key_columns().iter().enumerate().skip(1) {
            let stored = match (builder, &greatest.whole) {
                (Some(builder), _) if builder.rows() > 0 => builder.column(column).last_cell(),
                (_, Some(whole)) => Cell::of(whole.column(position), 0).unwrap_or(Cell::Null),
                (_, None) => panic!("the greatest key is neither built nor sealed"),
            };
            let data_type = self.stream.schema().field(column).data_type();
            match row::compare_cells(data_type, stored, cells[column]) {
                Ordering::Less => return false,
                Ordering::Greater => return true,
                Ordering::Equal => {}
            }
        }
        false
    }

    /// How many of a sorted batch's rows are below the greatest in-order key.
    #[expect(clippy::expect_used, reason = "keys were checked when the batch was prepared")]
    fn late_rows(&self, batch: &RecordBatch) -> usize {
        let Some(greatest) = &self.greatest else { return 0 };
        let lead = KeyView::of(&self.stream, batch).expect("a prepared batch has its keys");
        let start = lead.lower_bound(greatest.lead);
        let end = greatest.lead.successor().map_or(lead.len(), |next| lead.lower_bound(next));
        match &greatest.whole {
            Some(whole) if start < end => {
                let ties = batch.slice(start, end - start);
                let ties = self.order.rows(&ties).expect("a prepared batch has its keys");
                let greatest = self.order.rows_of_keys(whole).expect("one row of keys");
                start + ties.lower_bound(&greatest, 0)
            }
            _ => start,
        }
    }

    fn push_in_order(&mut self, batch: RecordBatch, commits: Commits) {
        self.greatest = Some(self.greatest_of(&batch));
        let chunk = self.chunk(batch, commits);
        self.in_order.push(chunk);
    }

    fn push_late(&mut self, batch: RecordBatch, commits: Commits) {
        let chunk = self.chunk(batch, commits);
        self.late.push(chunk);
    }

    /// A chunk of rows that no range delete so far hides: they are newer or of its commit.
    #[expect(clippy::expect_used, reason = "only checked rows get here")]
    fn chunk(&self, batch: RecordBatch, commits: Commits) -> Chunk {
        Chunk::new(Arc::clone(&self.stream), batch, commits, commits.max)
            .expect("a chunk has rows with leading keys")
    }

    /// The key of the last row of a sorted batch.
    #[expect(clippy::expect_used, reason = "only checked rows get here")]
    fn greatest_of(&self, batch: &RecordBatch) -> Greatest {
        let keys = KeyView::of(&self.stream, batch).expect("a chunk has its keys");
        let lead = keys.last().expect("a chunk is never empty");
        let whole = (!self.order.is_single()).then(|| {
            let keys = batch.project(self.stream.key_columns()).expect("a chunk has its keys");
            let last = keys.slice(keys.num_rows() - 1, 1);
            // A copy, so that the key doesn't keep the chunk alive.
            memory::copied(&last).unwrap_or(last)
        });
        Greatest { lead, whole }
    }

    fn newest(&self) -> SeqNo {
        self.commits.map_or(SeqNo(0), |commits| commits.max)
    }

    fn seal_builders(&mut self) {
        self.seal_builder(false);
        self.seal_builder(true);
    }

    #[expect(clippy::expect_used, reason = "the types of builders can all be sorted and taken")]
    fn seal_builder(&mut self, late: bool) {
        let builder = self.builders.as_mut().map(|builders| builders.of(late));
        let Some((batch, commits)) = builder.and_then(RowBuilder::seal) else { return };
        let batch = chunks::sorted(&self.stream, &self.order, batch);
        let batch = batch.expect("built rows can be sorted");
        match late {
            true => self.push_late(batch, commits),
            false => self.push_in_order(batch, commits),
        }
    }

    /// Merges what was committed before `seq`, where enough has gathered that it pays.
    fn settle_due(&mut self, seq: SeqNo) {
        self.settle_lists(seq, Chunks::is_due);
    }

    /// Of range deletes of `seq` itself no chunk says that it has heeded them: it would miss a
    /// second one of the same commit.
    fn settle_lists(&mut self, seq: SeqNo, wanted: impl Fn(&Chunks) -> bool) {
        let heeded_through = self.newest().min(SeqNo(seq.0.saturating_sub(1)));
        let (stream, order, tombstones) = (&self.stream, &self.order, &self.tombstones);
        let rules = MergeRules { stream, order, tombstones, heeded_through };
        for list in [&mut self.in_order, &mut self.late] {
            if wanted(list) {
                list.settle(seq, rules);
            }
        }
    }
}

#[cfg(test)]
mod tests;
