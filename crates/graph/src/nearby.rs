//! Answers from the edges of a few blocks, which are read one block after the other, while not all edges of
//! the graph are in memory.
//!
//! The first questions read only the edges that they need. After several questions, or one that reaches
//! far, all edges are loaded. If they would take more memory than allowed, every question reads its own.
//!
//! Invariant: an answer is the same as with all edges in memory. So an answer counts only once the
//! edges of every block that the walk went through have been read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::{HashMap, HashSet};
use timestrata_engine::{Error, ErrorKind, Result, ScanSpec};

use super::adjacency::{BlockId, Builder, Delta, Edge, Kinds, View};
use super::edge::EdgeSide;
use super::loading::{columns_needed, edges_in};
use super::read;
use super::view::GraphView;
use super::walks::Along;

/// The first questions read the edges of one block in so many edges that there are, all together: to read all
/// edges takes about twice as long.
const EDGES_PER_BLOCK: u64 = 256;
/// So many questions at most do so: each makes what it reads with anew.
const QUESTIONS: usize = 16;

/// What a question can be put to.
pub(super) enum Edges<'a, 'v> {
    /// All edges, in memory.
    All(&'a View),
    /// Those that are read for it.
    Near(&'a mut Nearby<'v>),
}

/// Edges that were read, and which are to be read next.
pub(super) struct Nearby<'v> {
    of: &'v GraphView,
    along: &'v Along<'v>,
    blocks_max: usize,
    edges: Vec<Edge>,
    kinds: Kinds,
    read: HashSet<BlockId>,
    /// How many edges away each block is that was read, or that an edge which counts leads to; about.
    seen: HashMap<BlockId, u32>,
    /// Those that were not read, nearer ones first.
    ahead: VecDeque<BlockId>,
}

impl GraphView {
    /// Puts a question to all edges, or to those that it reads; `question` gives nothing where that would be
    /// more than it may read, and is then put to all.
    pub(super) fn ask<T>(
        &self,
        along: &Along<'_>,
        question: &mut dyn FnMut(Edges<'_, '_>) -> Result<Option<T>>,
    ) -> Result<T> {
        if let Some(most) = self.blocks_at_first()? {
            let read = self.shared.blocks_near.load(Ordering::Relaxed);
            let mut near = Nearby::new(self, along, most.saturating_sub(read));
            let answer = question(Edges::Near(&mut near))?;
            let blocks = near.read.len() + most / QUESTIONS;
            self.shared.blocks_near.fetch_add(blocks, Ordering::Relaxed);
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
        let answer = match self.adjacency()? {
            Some(view) => question(Edges::All(&view))?,
            None => question(Edges::Near(&mut Nearby::new(self, along, usize::MAX)))?,
        };
        answer.ok_or_else(|| {
            Error::new(
                ErrorKind::TooLarge,
                "a question to a graph needs more blocks than there are",
            )
        })
    }

    /// Of how many blocks the edges may be read one by one; `None` if all edges are in memory, or are to be.
    fn blocks_at_first(&self) -> Result<Option<usize>> {
        if self.adjacency.get().is_some() {
            return Ok(None);
        }
        let most = usize::try_from(self.edges_at_most()? / EDGES_PER_BLOCK).unwrap_or(usize::MAX);
        let is_left = most > self.shared.blocks_near.load(Ordering::Relaxed);
        let is_loaded =
            || self.shared.resident.lock().at(self.snapshot.seq(), self.follows).is_some();
        Ok((is_left && !is_loaded()).then_some(most))
    }
}

impl<'v> Nearby<'v> {
    fn new(of: &'v GraphView, along: &'v Along<'v>, blocks_max: usize) -> Self {
        Self {
            of,
            along,
            blocks_max,
            edges: Vec::new(),
            kinds: Kinds::default(),
            read: HashSet::new(),
            seen: HashMap::new(),
            ahead: VecDeque::new(),
        }
    }

    /// Whether the edges of a block were read.
    pub(super) fn has_read(&self, id: BlockId) -> bool {
        self.read.contains(&id)
    }

    /// Reads the edges of blocks; `false` if that would be more than may be read.
    pub(super) fn read(&mut self, wanted: &[BlockId]) -> Result<bool> {
        for id in wanted {
            if self.read.contains(id) {
                continue;
            }
            if self.read.len() >= self.blocks_max {
                return Ok(false);
            }
            self.read_block(*id)?;
        }
        Ok(true)
    }

    /// Reads those of as many blocks again, of those that are near and may be asked for next: so the number
    /// of times that a question is put grows with the logarithm of what it needs.
    pub(super) fn read_ahead(&mut self) -> Result<()> {
        let most = self.read.len().saturating_mul(2).min(self.blocks_max);
        while self.read.len() < most
            && let Some(id) = self.ahead.pop_front()
        {
            if !self.read.contains(&id) {
                self.read_block(id)?;
            }
        }
        Ok(())
    }

    /// Reads the edges of all blocks that can be reached from one, nearer ones first, until there are more
    /// than twice `nodes_max` of them. Whether those were all; `None` if that would be more than may be read.
    pub(super) fn read_all_from(
        &mut self,
        start: BlockId,
        nodes_max: usize,
    ) -> Result<Option<bool>> {
        if !self.read(&[start])? {
            return Ok(None);
        }
        while let Some(id) = self.ahead.pop_front() {
            if self.seen.len() / 2 > nodes_max {
                return Ok(Some(false));
            }
            if !self.read(&[id])? {
                return Ok(None);
            }
        }
        Ok(Some(true))
    }

    fn read_block(&mut self, id: BlockId) -> Result<()> {
        let Self { of, along, edges, kinds, seen, ahead, .. } = self;
        let depth = *seen.entry(id).or_insert(0);
        for side in EdgeSide::of(along.direction) {
            let spec = ScanSpec { range: read::range_of(id), ..columns_needed() };
            for rows in of.snapshot.scan(of.shared.edges(*side), &spec)? {
                edges_in(*side, &rows?, kinds, |edge, kind| {
                    edges.push(*edge);
                    let other = if *side == EdgeSide::Out { edge.target } else { edge.source };
                    // One step more than the walk goes: it tells whether there was more.
                    if depth < along.depth_max && along.counts(kind, edge) {
                        seen.entry(other).or_insert_with(|| {
                            ahead.push_back(other);
                            depth + 1
                        });
                    }
                    Ok(())
                })?;
            }
        }
        self.read.insert(id);
        Ok(())
    }

    /// The edges that were read.
    pub(super) fn view(&self) -> Result<View> {
        let mut builder = Builder::with_capacity(self.edges.len());
        self.edges.iter().try_for_each(|edge| builder.push(edge))?;
        let base = Arc::new(builder.finish());
        let delta = Arc::new(Delta::new(&base));
        Ok(View::new(base, delta, Arc::new(self.kinds.clone())))
    }
}
