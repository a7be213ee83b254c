//! Neighbouring in-order chunks as one source.
//!
//! In-order chunks follow each other in key order, so together they are what one large chunk
//! would be: a reader then meets a few sources, however many rows the memtable holds.
//! A chain keeps what every source promises: whatever range delete touches it is newer than
//! all its rows or has been heeded by all of them, and in `Latest` streams no key is in it
//! twice. Where that would not hold a new chain begins. Made by the memtable's view.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_format::{LeadKey, SeqNo, Zone};

use super::chunk::{Chunk, Commits};
use crate::scan::{Source, SourceSummary};
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, Result};

/// Several chunks, each behind the one before it in key order and in commit order.
#[derive(Debug)]
pub(super) struct Chain {
    chunks: Vec<Arc<Chunk>>,
    /// Zone maps of all chunks.
    blocks: Vec<Zone>,
    /// Of each block: its chunk, and its number there.
    places: Vec<(usize, usize)>,
    summary: SourceSummary,
}

/// Chains of in-order chunks, as few as can be. `tombstones` are all of the memtable's.
pub(super) fn chained(
    chunks: &[Arc<Chunk>],
    latest: bool,
    tombstones: &Tombstones,
) -> Vec<Arc<dyn Source>> {
    let mut sources: Vec<Arc<dyn Source>> = Vec::new();
    let mut rest = chunks;
    while let Some(first) = rest.first() {
        let mut reach = Reach::of(first);
        let mut len = 1;
        while let Some(longer) = rest.get(len).and_then(|next| reach.with(next, latest, tombstones))
        {
            reach = longer;
            len += 1;
        }
        let (members, others) = rest.split_at(len);
        sources.push(match members {
            [alone] => Arc::clone(alone) as Arc<dyn Source>,
            _ => Arc::new(Chain::new(members, &reach)),
        });
        rest = others;
    }
    sources
}

/// How far a chain goes.
struct Reach {
    keys: (LeadKey, LeadKey),
    commits: Commits,
    heeded_through: SeqNo,
}

impl Reach {
    fn of(chunk: &Chunk) -> Self {
        Self {
            keys: (chunk.key_min(), chunk.key_max()),
            commits: chunk.commits(),
            heeded_through: chunk.heeded_through(),
        }
    }

    /// With one more chunk, if it may belong to the chain.
    fn with(&self, next: &Chunk, latest: bool, tombstones: &Tombstones) -> Option<Self> {
        let (key_min, key_max) = self.keys;
        let behind = if latest { key_max < next.key_min() } else { true };
        let of_next = (next.key_min(), next.key_max());
        let heeded_through = self.heeded_through.max(next.heeded_through());
        // What has been heeded by one of them only may not touch the other.
        let undivided = [(self.keys, self.heeded_through), (of_next, next.heeded_through())]
            .into_iter()
            .all(|(keys, through)| !tombstones.has_between(keys, through, heeded_through));
        (behind && undivided).then(|| Self {
            keys: (key_min, next.key_max()),
            commits: self.commits.union(next.commits()),
            heeded_through,
        })
    }
}

impl Chain {
    fn new(chunks: &[Arc<Chunk>], reach: &Reach) -> Self {
        let mut blocks = Vec::new();
        let mut places = Vec::new();
        for (index, chunk) in chunks.iter().enumerate() {
            let zones = chunk.zones();
            blocks.extend_from_slice(zones);
            places.extend((0..zones.len()).map(|block| (index, block)));
        }
        let (key_min, key_max) = reach.keys;
        let summary = SourceSummary {
            key_min,
            key_max,
            rows: chunks.iter().map(|chunk| Source::rows(chunk.as_ref())).sum(),
            delete_markers: chunks.iter().map(|chunk| chunk.delete_markers()).sum(),
            seq_max: reach.commits.max,
            tombstones_applied_through: reach.heeded_through,
        };
        Self { chunks: chunks.to_vec(), blocks, places, summary }
    }

    fn place(&self, block: usize) -> Result<(&Chunk, usize)> {
        match self.places.get(block) {
            Some(&(chunk, block)) => Ok((&self.chunks[chunk], block)),
            None => {
                let message = format!("block {block} of a chain of {} blocks", self.blocks.len());
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }
}

impl Source for Chain {
    fn summary(&self) -> SourceSummary {
        self.summary
    }

    fn blocks(&self) -> Result<&[Zone]> {
        Ok(&self.blocks)
    }

    fn read(&self, block: usize, columns: &[usize]) -> Result<RecordBatch> {
        let (chunk, block) = self.place(block)?;
        chunk.read(block, columns)
    }

    fn read_rows(&self, block: usize, count: usize) -> Result<Cow<'_, RecordBatch>> {
        let (chunk, block) = self.place(block)?;
        chunk.read_rows(block, count)
    }
}
