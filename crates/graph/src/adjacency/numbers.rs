//! Ids of blocks and their dense numbers.

use timestrata_engine::{Error, ErrorKind, Result};

use super::id::BlockId;

/// Nodes of a graph at most.
pub const NODES_MAX: usize = 1 << 31;

/// A slot without a number. No other is like it: the highest bit of a slot's number is not set.
const EMPTY: u32 = u32::MAX;

/// Slots of the smallest table.
const SLOTS_MIN: usize = 16;

/// A table with open addressing: twice as many slots as ids, or more.
///
/// A slot has as many bits for the number as the count of slots needs, and in the others some of
/// the id's spread bits: a slot of another id is mostly passed by without a look at that id, which
/// lies far off.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    ids: Vec<BlockId>,
    /// A power of two of them, or none.
    slots: Vec<u32>,
}

impl Numbers {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn id(&self, number: u32) -> Option<BlockId> {
        self.ids.get(number as usize).copied()
    }

    pub(super) fn bytes(&self) -> usize {
        self.ids.capacity() * size_of::<BlockId>() + self.slots.capacity() * size_of::<u32>()
    }

    /// The bits of a slot that hold the number.
    #[inline]
    fn number_mask(&self) -> u32 {
        (self.slots.len().wrapping_sub(1)) as u32
    }

    #[inline]
    pub(super) fn get(&self, id: BlockId) -> Option<u32> {
        let spread = id.spread();
        let mask = self.number_mask();
        let tag = (spread >> 32) as u32 & !mask;
        let mut at = spread as u32 & mask;
        loop {
            let slot = *self.slots.get(at as usize)?;
            if slot == EMPTY {
                return None;
            }
            if slot & !mask == tag && self.id(slot & mask) == Some(id) {
                return Some(slot & mask);
            }
            at = at.wrapping_add(1) & mask;
        }
    }

    /// The number of an id, which it is given if it has none.
    pub(super) fn intern(&mut self, id: BlockId) -> Result<u32> {
        if let Some(number) = self.get(id) {
            return Ok(number);
        }
        let number = self.len();
        if number >= NODES_MAX {
            return Err(too_many());
        }
        if (number + 1) * 2 > self.slots.len() {
            self.grow();
        }
        self.ids.push(id);
        self.place(id, number as u32);
        Ok(number as u32)
    }

    /// Puts a number into the next empty slot; there is one.
    fn place(&mut self, id: BlockId, number: u32) {
        let spread = id.spread();
        let mask = self.number_mask();
        let mut at = spread as u32 & mask;
        while let Some(slot) = self.slots.get_mut(at as usize) {
            if *slot == EMPTY {
                *slot = (spread >> 32) as u32 & !mask | number;
                return;
            }
            at = at.wrapping_add(1) & mask;
        }
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(SLOTS_MIN);
        self.slots.clear();
        self.slots.resize(slots, EMPTY);
        for number in 0..self.len() as u32 {
            if let Some(id) = self.id(number) {
                self.place(id, number);
            }
        }
    }

    /// Gives back memory that only further ids would need.
    pub(super) fn shrink(&mut self) {
        self.ids.shrink_to_fit();
    }
}

/// The error of one node too many.
pub(super) fn too_many() -> Error {
    Error::new(ErrorKind::TooLarge, format!("a graph has at most {NODES_MAX} nodes"))
}
