//! The base: all edges at one time, as one row of neighbours for each node.

use std::ops::Range;

use super::numbers::Numbers;
use super::{ALWAYS, BlockId, EdgeSide, Neighbor, Weight, valid_from_of};

/// All edges of one side, row after row; in each row in order of kind and number.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) others: Vec<u32>,
    pub(super) kinds: Vec<u16>,
    /// Empty if no edge has one.
    pub(super) weights: Vec<Weight>,
    /// Empty if every edge is always valid.
    pub(super) valid_from: Vec<i64>,
}

impl Rows {
    #[inline]
    pub(super) fn weight(&self, place: usize) -> Weight {
        self.weights.get(place).copied().unwrap_or(Weight::NONE)
    }

    #[inline]
    pub(super) fn valid_from(&self, place: usize) -> i64 {
        self.valid_from.get(place).copied().unwrap_or(ALWAYS)
    }

    /// The kind and the other end of the edge at a place.
    #[inline]
    pub(super) fn key(&self, place: usize) -> Option<(u16, u32)> {
        Some((*self.kinds.get(place)?, *self.others.get(place)?))
    }

    /// What is known of the edge at a place, besides its key.
    #[inline]
    pub(super) fn neighbor(&self, place: usize, kind: u16, number: u32) -> Neighbor {
        let weight = self.weight(place).get();
        Neighbor { number, kind, weight, valid_from: valid_from_of(self.valid_from(place)) }
    }

    /// The part of a row that has the edges of a kind.
    #[inline]
    pub(super) fn of_kind(&self, row: Range<usize>, kind: u16) -> Range<usize> {
        /// Rows that are searched from their beginning: most are, and most have few kinds.
        const SHORT: usize = 16;
        let kinds = self.kinds.get(row.clone()).unwrap_or_default();
        let (start, end) = match kinds.len() <= SHORT {
            true => {
                let count = |is_before: fn(u16, u16) -> bool| {
                    kinds.iter().map(|own| usize::from(is_before(*own, kind))).sum::<usize>()
                };
                (count(|own, kind| own < kind), count(|own, kind| own <= kind))
            }
            false => {
                let start = kinds.partition_point(|own| *own < kind);
                (start, start + run_of(kinds.get(start..).unwrap_or_default(), kind))
            }
        };
        row.start + start..row.start + end
    }

    /// Where the edges of the kind at a place end, in a row that ends there.
    pub(super) fn end_of_kind(&self, place: usize, row_end: usize) -> usize {
        let kinds = self.kinds.get(place..row_end).unwrap_or_default();
        place + kinds.first().map_or(0, |kind| run_of(kinds, *kind))
    }

    /// The place of an edge in a row.
    fn find(&self, row: Range<usize>, kind: u16, other: u32) -> Option<usize> {
        let row = self.of_kind(row, kind);
        let within = self.others.get(row.clone())?.binary_search(&other).ok()?;
        Some(row.start + within)
    }

    fn bytes(&self) -> usize {
        self.others.capacity() * size_of::<u32>()
            + self.kinds.capacity() * size_of::<u16>()
            + self.weights.capacity() * size_of::<Weight>()
            + self.valid_from.capacity() * size_of::<i64>()
    }
}

/// How many kinds from the front are not above this one, in an ordered list. Looks near its front
/// first, where the end mostly is.
fn run_of(kinds: &[u16], kind: u16) -> usize {
    let mut step = 1;
    while kinds.get(step - 1).is_some_and(|own| *own <= kind) {
        step *= 2;
    }
    let (start, end) = (step / 2, kinds.len().min(step));
    let near = kinds.get(start..end).unwrap_or_default();
    start + near.partition_point(|own| *own <= kind)
}

/// Settled edges of a graph and the numbers of their nodes.
#[derive(Debug, Default)]
pub struct Base {
    pub(super) numbers: Numbers,
    /// Where each node's rows begin, out and in, and behind the last node's where they end: one
    /// look finds all four ends.
    pub(super) starts: Vec<[u32; 2]>,
    pub(super) out: Rows,
    pub(super) into: Rows,
}

impl Base {
    /// How many nodes it has: each is an end of some edge.
    pub fn nodes(&self) -> usize {
        self.numbers.len()
    }

    /// How many edges it has.
    pub fn edges(&self) -> usize {
        self.out.others.len()
    }

    /// The memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.numbers.bytes()
            + self.starts.capacity() * size_of::<[u32; 2]>()
            + self.out.bytes()
            + self.into.bytes()
    }

    /// The number of a block, if a settled edge names it.
    #[inline]
    pub fn number(&self, id: BlockId) -> Option<u32> {
        self.numbers.get(id)
    }

    /// The block of a number.
    pub fn id(&self, number: u32) -> Option<BlockId> {
        self.numbers.id(number)
    }

    #[inline]
    pub(super) fn rows(&self, side: EdgeSide) -> &Rows {
        match side {
            EdgeSide::Out => &self.out,
            EdgeSide::In => &self.into,
        }
    }

    /// Where a node's row lies; an empty range for what is no node of the base.
    #[inline]
    pub(super) fn row(&self, number: u32, side: EdgeSide) -> Range<usize> {
        let number = number as usize;
        let Some([starts, ends]) = self.starts.get(number..).and_then(|rest| rest.first_chunk())
        else {
            return 0..0;
        };
        match side {
            EdgeSide::Out => starts[0] as usize..ends[0] as usize,
            EdgeSide::In => starts[1] as usize..ends[1] as usize,
        }
    }

    /// The place of an edge among those that go out.
    pub(super) fn find(&self, source: u32, kind: u16, target: u32) -> Option<usize> {
        self.out.find(self.row(source, EdgeSide::Out), kind, target)
    }
}
