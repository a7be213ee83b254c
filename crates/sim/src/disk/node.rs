//! The contents of one file: what is seen, what is durable, what lies between.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use timestrata_io::{Rng, SeededRng};

/// What a disk writes whole or not at all.
pub(super) const SECTOR_BYTES: u64 = 512;

/// A change of contents that is not durable yet.
#[derive(Debug, Clone)]
pub(super) enum FileOp {
    Write { offset: u64, bytes: Arc<[u8]> },
    SetLen(u64),
}

/// How likely what was not synced survives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chances {
    pub(super) keep_of_8: u64,
    /// Of pieces that survive, so many are torn at some byte.
    pub(super) torn_of_8: u64,
}

/// A file, whatever its names.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// What the running process sees.
    pub(super) seen: Arc<Vec<u8>>,
    /// What a power cut leaves at least.
    pub(super) durable: Arc<Vec<u8>>,
    /// Since the last sync, in order.
    pub(super) pending: Vec<FileOp>,
    /// Whether a failed sync marked unsynced bytes clean: they are seen, never to be durable.
    lost_pages: bool,
    /// What was durable before the last sync that changed something.
    pub(super) before_last_sync: Option<Arc<Vec<u8>>>,
    /// The last write that was synced.
    pub(super) last_synced_write: Option<Range<usize>>,
}

impl FileOp {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes: written } => {
                let (start, end) = (*offset as usize, *offset as usize + written.len());
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[start..end].copy_from_slice(written);
            }
            Self::SetLen(length) => bytes.resize(*length as usize, 0),
        }
    }
}

impl Node {
    /// A file whose contents are durable.
    pub(super) fn durable(bytes: Arc<Vec<u8>>) -> Self {
        Self { seen: Arc::clone(&bytes), durable: bytes, ..Self::default() }
    }

    pub(super) fn len(&self) -> u64 {
        self.seen.len() as u64
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.change(FileOp::Write { offset, bytes: Arc::from(bytes) });
        }
    }

    pub(super) fn set_len(&mut self, bytes: u64) {
        if bytes != self.len() {
            self.change(FileOp::SetLen(bytes));
        }
    }

    fn change(&mut self, op: FileOp) {
        op.apply(Arc::make_mut(&mut self.seen));
        self.pending.push(op);
    }

    pub(super) fn sync(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let flushed = self.flushed();
        self.before_last_sync = Some(std::mem::replace(&mut self.durable, flushed));
        for op in self.pending.drain(..) {
            if let FileOp::Write { offset, bytes } = op {
                self.last_synced_write = Some(offset as usize..offset as usize + bytes.len());
            }
        }
    }

    /// A sync that fails and forgets what it was to write.
    pub(super) fn lose_pages(&mut self) {
        self.lost_pages |= !self.pending.is_empty();
        self.pending.clear();
    }

    /// What is durable once everything unsynced has been written.
    pub(super) fn flushed(&self) -> Arc<Vec<u8>> {
        if !self.lost_pages {
            return Arc::clone(&self.seen);
        }
        let mut bytes = Arc::clone(&self.durable);
        for op in &self.pending {
            op.apply(Arc::make_mut(&mut bytes));
        }
        bytes
    }

    /// Whether every byte is durable.
    pub(super) fn is_settled(&self) -> bool {
        self.pending.is_empty() && !self.lost_pages
    }

    pub(super) fn flip_bit(&mut self, bit: u64) -> bool {
        let index = (bit / 8) as usize;
        if index >= self.seen.len() {
            return false;
        }
        for side in [&mut self.seen, &mut self.durable] {
            if let Some(byte) = Arc::make_mut(side).get_mut(index) {
                *byte ^= 1 << (bit % 8);
            }
        }
        true
    }

    /// Contents of which each unsynced sector independently reached the disk, as of any of
    /// the writes to it, and whose length is any that it had. `in_flight` is one more write.
    pub(super) fn mixture(
        &self,
        in_flight: Option<&FileOp>,
        rng: &SeededRng,
        Chances { keep_of_8, torn_of_8 }: Chances,
    ) -> Vec<u8> {
        let mut versions: BTreeMap<u64, u64> = BTreeMap::new();
        let mut lengths = vec![self.durable.len() as u64];
        let ops = || self.pending.iter().chain(in_flight);
        let mut length = self.durable.len() as u64;
        for op in ops() {
            for (sector, ..) in pieces(op, &mut length) {
                *versions.entry(sector).or_default() += 1;
            }
            lengths.push(length);
        }
        // How many of its writes each sector keeps: often all, else any number.
        for count in versions.values_mut() {
            if rng.next_u64() % 8 >= keep_of_8 {
                *count = rng.next_u64() % (*count + 1);
            }
        }
        let mut bytes = self.durable.to_vec();
        let mut length = bytes.len() as u64;
        for op in ops() {
            for (_, offset, piece) in pieces(op, &mut length)
                .into_iter()
                .filter(|(sector, ..)| take(&mut versions, *sector))
            {
                let is_torn = torn_of_8 > 0 && rng.next_u64() % 8 < torn_of_8;
                let (offset, piece) =
                    if is_torn { torn(offset, &piece, rng) } else { (offset, piece) };
                FileOp::Write { offset, bytes: piece.into() }.apply(&mut bytes);
            }
        }
        let last = lengths.len() - 1;
        let chosen = if rng.next_u64() % 8 < keep_of_8 {
            last
        } else {
            (rng.next_u64() % lengths.len() as u64) as usize
        };
        bytes.resize(lengths[chosen] as usize, 0);
        bytes
    }
}

/// A part of a piece: its beginning or its end, of any length.
fn torn(offset: u64, piece: &[u8], rng: &SeededRng) -> (u64, Vec<u8>) {
    let cut = (rng.next_u64() % (piece.len() as u64 + 1)) as usize;
    match rng.next_u64() % 4 {
        0 => (offset + cut as u64, piece[cut..].to_vec()),
        _ => (offset, piece[..cut].to_vec()),
    }
}

/// Counts down; true while something is left.
fn take(left: &mut BTreeMap<u64, u64>, sector: u64) -> bool {
    match left.get_mut(&sector) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    }
}

/// What a change writes, sector by sector: (sector, offset, bytes). Cutting a file writes
/// zeros behind the cut, as far as the file went; `length` is brought up to date.
fn pieces(op: &FileOp, length: &mut u64) -> Vec<(u64, u64, Vec<u8>)> {
    let (offset, bytes) = match op {
        FileOp::Write { offset, bytes } => {
            *length = (*length).max(offset + bytes.len() as u64);
            (*offset, Arc::clone(bytes))
        }
        FileOp::SetLen(new) => {
            let cut: Arc<[u8]> = vec![0; length.saturating_sub(*new) as usize].into();
            *length = *new;
            (*new, cut)
        }
    };
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let position = offset + at as u64;
        let room = (SECTOR_BYTES - position % SECTOR_BYTES) as usize;
        let end = bytes.len().min(at + room);
        pieces.push((position / SECTOR_BYTES, position, bytes[at..end].to_vec()));
        at = end;
    }
    pieces
}
