//! A set of node numbers whose copies share what they have in common.

use std::sync::Arc;

/// Words of a part: 1 KiB, which tells of 8,192 nodes.
const WORDS: usize = 128;

/// Nodes of a part.
const NODES: usize = WORDS * 64;

/// A bit a node, in parts that are only there if one of their bits is set.
#[derive(Debug, Clone, Default)]
pub(super) struct Bits {
    parts: Vec<Option<Arc<[u64; WORDS]>>>,
}

impl Bits {
    #[inline]
    pub(super) fn has(&self, number: u32) -> bool {
        let number = number as usize;
        let Some(Some(part)) = self.parts.get(number / NODES) else { return false };
        part.get(number % NODES / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(super) fn set(&mut self, number: u32) {
        if self.has(number) {
            return;
        }
        let number = number as usize;
        if self.parts.len() <= number / NODES {
            self.parts.resize(number / NODES + 1, None);
        }
        let Some(part) = self.parts.get_mut(number / NODES) else { return };
        let words = Arc::make_mut(part.get_or_insert_with(|| Arc::new([0; WORDS])));
        if let Some(word) = words.get_mut(number % NODES / 64) {
            *word |= 1 << (number % 64);
        }
    }
}
