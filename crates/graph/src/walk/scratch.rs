//! Memory that walks reuse.

use std::collections::BinaryHeap;

use timestrata_io::sync::Mutex;

use super::traverse::Step;
use super::weighted::{Cost, Reached};
use crate::adjacency::Cursor;

/// Marks of nodes, of which a new walk need not clear those of the walks before: a mark is the
/// number of the walk that set it.
#[derive(Debug, Default)]
pub(super) struct Marks {
    marks: Vec<u16>,
    newest: u16,
}

impl Marks {
    /// So many new marks for a graph of so many nodes; gives the first of them, none of which is
    /// set anywhere.
    pub(super) fn begin(&mut self, nodes: usize, marks: u16) -> u16 {
        let Some(newest) = self.newest.checked_add(marks) else {
            // Once in thousands of walks the old ones have to go.
            self.marks.fill(0);
            self.newest = 0;
            return self.begin(nodes, marks);
        };
        let first = self.newest + 1;
        self.newest = newest;
        if self.marks.len() < nodes {
            self.marks.resize(nodes, 0);
        }
        first
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> u16 {
        self.marks.get(number as usize).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn set(&mut self, number: u32, mark: u16) {
        if let Some(own) = self.marks.get_mut(number as usize) {
            *own = mark;
        }
    }

    /// Sets a mark; true if the node didn't have it. What is no node has every mark.
    #[inline]
    pub(super) fn enter(&mut self, number: u32, mark: u16) -> bool {
        match self.marks.get_mut(number as usize) {
            Some(own) if *own != mark => {
                *own = mark;
                true
            }
            _ => false,
        }
    }
}

/// One node on the way down of a walk into the depth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The edges still to be gone through.
    pub(super) cursor: Cursor,
    /// The node's place among the steps, and its depth.
    pub(super) place: u32,
    pub(super) depth: u32,
}

/// What walks need besides what they give. It grows to what the largest needed.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) marks: Marks,
    pub(super) frames: Vec<Frame>,
    /// The steps of a search from both ends.
    pub(super) ends: [Vec<Step>; 2],
    pub(super) reached: Vec<Reached>,
    pub(super) heap: BinaryHeap<Cost>,
}

impl Scratch {
    /// A list of steps.
    pub(super) fn first_steps(&mut self) -> &mut Vec<Step> {
        let [steps, _] = &mut self.ends;
        steps
    }

    /// With no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.marks.marks.capacity() * size_of::<u16>()
            + self.frames.capacity() * size_of::<Frame>()
            + self.ends.iter().map(|steps| steps.capacity() * size_of::<Step>()).sum::<usize>()
            + self.reached.capacity() * size_of::<Reached>()
            + self.heap.capacity() * size_of::<Cost>()
    }
}

/// Scratches that wait for a walk.
#[derive(Debug, Default)]
pub struct ScratchPool {
    waiting: Mutex<Vec<Scratch>>,
}

/// Scratches that wait at most; more are only there while more walks go on at once.
const WAITING_MAX: usize = 16;

impl ScratchPool {
    /// What is done with a scratch, which waits for the next walk then.
    pub fn with<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = self.waiting.lock().pop().unwrap_or_default();
        let done = work(&mut scratch);
        let mut waiting = self.waiting.lock();
        if waiting.len() < WAITING_MAX {
            waiting.push(scratch);
        }
        done
    }

    /// The memory of the scratches that wait, in bytes.
    pub fn bytes(&self) -> usize {
        self.waiting.lock().iter().map(Scratch::bytes).sum()
    }

    /// Gives back the memory of those that wait.
    pub fn clear(&self) {
        self.waiting.lock().clear();
    }
}
