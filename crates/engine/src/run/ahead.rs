//! Blocks of a run that a thread decodes before somebody asks for them. Called by the reader.
//!
//! Who reads block after block has a thread decode some behind, and more once half of these are read. A block is decoded
//! by one of both: who comes second waits, or goes on with the next one.
//!
//! ```text
//!   reader   [ 4 ] rows of it .. [ 5 ] rows of it .. [ 6: waits ] rows of it .. [ 7: is there ]
//!   thread         [ 5: another has it; 6 ........................ ] [ 7 ... ] [ 8 ... ] ..
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use timestrata_io::sync::{Condvar, Mutex};

use super::reader::{Content, RunReader};
use crate::Result;
use crate::scan::{DecodesAhead, RowOrder, ViewedColumns};

/// So many blocks are decoded ahead at most,
const BLOCKS_MAX: usize = 8;
/// and no more once they have come to so many bytes.
const BYTES_MAX: usize = 4 << 20;

/// The blocks of one run that are decoded just now.
#[derive(Debug, Default)]
pub(super) struct BlocksAhead {
    /// The first block that no thread was asked for, by whoever reads on.
    next: AtomicUsize,
    /// How many threads are at it. Without any, nobody has to look at the rest.
    threads: AtomicUsize,
    decoded: Mutex<Vec<usize>>,
    changed: Condvar,
}

/// A block that somebody decodes, until this is dropped.
struct Decoded<'a>(&'a BlocksAhead, usize);

impl Drop for Decoded<'_> {
    fn drop(&mut self) {
        self.0.decoded.lock().retain(|block| *block != self.1);
        self.0.changed.notify_all();
    }
}

impl BlocksAhead {
    /// Which blocks are to be decoded for who has come to the one before `block`: none where enough are.
    fn wanted(&self, block: usize) -> Option<(usize, usize)> {
        let next = self.next.load(Ordering::Relaxed);
        // Elsewhere somebody else reads, or did.
        let first = if (block..=block + BLOCKS_MAX).contains(&next) { next } else { block };
        let end = block + BLOCKS_MAX;
        let is_short = first < block + BLOCKS_MAX.div_ceil(2);
        is_short.then_some((first, end))
    }

    /// Takes a block; `None` where somebody decodes it.
    fn take(&self, block: usize) -> Option<Decoded<'_>> {
        let mut decoded = self.decoded.lock();
        if decoded.contains(&block) {
            return None;
        }
        decoded.push(block);
        Some(Decoded(self, block))
    }

    /// Reads a block once nobody decodes it, and holds off the threads meanwhile.
    pub(super) fn read<T>(&self, block: usize, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.threads.load(Ordering::Acquire) == 0 {
            return read();
        }
        let Some(_taken) = self.take(block) else {
            let mut decoded = self.decoded.lock();
            while decoded.contains(&block) {
                self.changed.wait(&mut decoded);
            }
            drop(decoded);
            return read();
        };
        read()
    }
}

/// What a thread is going to decode.
struct Ahead {
    reader: Arc<RunReader>,
    blocks: std::ops::Range<usize>,
    columns: Vec<usize>,
}

impl Ahead {
    fn decode(self) {
        let wanted = ViewedColumns::plain(self.columns.clone());
        let mut bytes = 0;
        for block in self.blocks.clone() {
            if bytes >= BYTES_MAX {
                self.reader.ahead().next.store(block, Ordering::Relaxed);
                return;
            }
            let Some(_taken) = self.reader.ahead().take(block) else { continue };
            if self.is_cached(block, &wanted) {
                continue;
            }
            // Whoever asks for the block finds what is wrong with it.
            let read = self.reader.read_now(block, &wanted, None, RowOrder::ByKey);
            bytes += read.map_or(0, |rows: RecordBatch| rows.get_array_memory_size());
        }
    }

    fn is_cached(&self, block: usize, wanted: &ViewedColumns) -> bool {
        let Ok(opened) = self.reader.opened() else { return false };
        match (&opened.content, opened.zones.get(block)) {
            (Content::Cold(cold), Some(zone)) => cold.has_cached((block, zone), wanted),
            _ => false,
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.reader.ahead().threads.fetch_sub(1, Ordering::AcqRel);
    }
}

/// As [`Source::ahead`](crate::scan::Source::ahead).
pub(super) fn of_blocks(
    reader: Arc<RunReader>,
    block: usize,
    columns: &[usize],
) -> Option<DecodesAhead> {
    let (first, end) = reader.ahead().wanted(block)?;
    // Who asks has read a block of the run: it is open.
    let opened = reader.opened().ok()?;
    let Content::Cold(cold) = &opened.content else { return None };
    let end = end.min(opened.zones.len());
    let zone = opened.zones.get(first)?;
    reader.ahead().next.store(end, Ordering::Relaxed);
    let wanted = ViewedColumns::plain(columns.to_vec());
    let rows = u64::from(zone.rows).saturating_mul(BLOCKS_MAX as u64);
    // Of what was read before all is there, mostly.
    let is_there = cold.has_cached((first, zone), &wanted);
    if is_there || !cold.is_kept(first, &wanted, rows) {
        return None;
    }
    reader.ahead().threads.fetch_add(1, Ordering::AcqRel);
    let ahead = Ahead { reader, blocks: first..end, columns: columns.to_vec() };
    Some(Box::new(move || ahead.decode()))
}
