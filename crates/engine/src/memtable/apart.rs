//! Merging chunks for a reader without holding up the writers.
//!
//! What a reader has merged before it looks may be a quarter of a million late rows: an append beside that waited
//! for 30 to 60 ms. So the memtable, under the commit lock, only says which chunks those are; they are
//! immutable and are merged without the lock; and what came of it takes their place if they are
//! still there. If they aren't (a flush, a range delete, or a writer whose own merge came first), it is thrown
//! away: the rows are where they were.
//!
//! Called by [`crate::store`]'s engine for all who want a view.

use std::sync::Arc;

use timestrata_format::SeqNo;
use timestrata_io::sync::is_scheduled;

use super::Memtable;
use super::chunk::Chunk;
use super::chunks::{MergeRules, Settled, merge, size_of_chunks};
use crate::key::KeyOrder;
use crate::tombstones::Tombstones;
use crate::{Result, Stream};

/// What is smaller is merged at once: it takes less than a millisecond.
pub(super) const AT_ONCE_MAX: Settled = Settled { rows: 8_192, bytes: 1 << 20 };
/// The same where the simulator chooses the order of threads: its memtables have few rows.
const AT_ONCE_MAX_SCHEDULED: Settled = Settled { rows: 4, bytes: 1 << 20 };

/// Neighbours of one list of a memtable, to be merged.
#[derive(Debug)]
pub(crate) struct Merging {
    stream: Arc<Stream>,
    is_late: bool,
    chunks: Vec<Arc<Chunk>>,
    tombstones: Tombstones,
    heeded_through: SeqNo,
}

/// What takes their place: nothing where range deletes hide all of their rows.
#[derive(Debug)]
pub(crate) struct Merged(Option<Chunk>);

impl Merging {
    /// Merges them; without any lock.
    ///
    /// # Errors
    /// What Arrow can't concatenate: it stays apart.
    pub(crate) fn run(&self) -> Result<Merged> {
        let order = KeyOrder::new(&self.stream)?;
        let rules = MergeRules {
            stream: &self.stream,
            order: &order,
            tombstones: &self.tombstones,
            heeded_through: self.heeded_through,
        };
        merge(&self.chunks, rules).map(Merged)
    }
}

impl Memtable {
    /// The next large merge that a view would make now, to be called between commits; `None` if there is
    /// none left. Makes the small ones.
    pub(crate) fn next_large_merge(&mut self) -> Option<Merging> {
        if self.view.is_some() {
            return None;
        }
        self.seal_builders();
        let at_once_max = if is_scheduled() { AT_ONCE_MAX_SCHEDULED } else { self.at_once_max };
        for is_late in [false, true] {
            let heeded_through = self.newest();
            let (stream, order, tombstones) = (&self.stream, &self.order, &self.tombstones);
            let rules = MergeRules { stream, order, tombstones, heeded_through };
            let list = if is_late { &mut self.late } else { &mut self.in_order };
            while let Some(range) = list.next_merge(SeqNo(u64::MAX)) {
                let size = size_of_chunks(&list.list()[range.clone()]);
                if at_once_max.is_reached(size.rows, size.bytes) {
                    let chunks = list.list()[range].to_vec();
                    let (stream, tombstones) = (Arc::clone(stream), tombstones.clone());
                    return Some(Merging { stream, is_late, chunks, tombstones, heeded_through });
                }
                list.merge_range(range, rules);
            }
        }
        None
    }

    /// Puts what was merged in the place of its parts, if they are all still there; to be called between
    /// commits. What could not be merged stays apart, and isn't asked for again.
    pub(crate) fn adopt(&mut self, merging: &Merging, merged: Result<Merged>) {
        let chained = if merging.is_late { 0 } else { self.chains.chunks };
        let list = if merging.is_late { &mut self.late } else { &mut self.in_order };
        let Some(range) = list.find(&merging.chunks).filter(|range| range.start >= chained) else {
            return;
        };
        // The view of before is as right as it was; it only has more sources.
        match merged {
            Ok(Merged(merged)) => list.replace(range, merged),
            Err(_) => list.leave_apart(&range),
        }
    }
}
