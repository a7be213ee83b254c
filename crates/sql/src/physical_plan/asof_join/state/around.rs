//! What a join with the nearest row remembers: of each key the last row that is not later, and those behind it that have been read.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::{KEY_OVERHEAD_BYTES, NewestRow};

/// Rows of each key in the order of their times.
#[derive(Default)]
pub(super) struct RowsAround {
    keys: HashMap<Box<[u8]>, VecDeque<NewestRow>>,
    rows: usize,
    key_bytes: usize,
}

/// The rows on both sides of a time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Neighbours {
    pub(super) earlier: Option<NewestRow>,
    pub(super) later: Option<NewestRow>,
}

impl RowsAround {
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn bytes(&self) -> usize {
        self.key_bytes + self.rows * size_of::<NewestRow>()
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut NewestRow> {
        self.keys.values_mut().flatten()
    }

    pub(super) fn remember(&mut self, key: &[u8], row: NewestRow) {
        self.rows += 1;
        match self.keys.get_mut(key) {
            Some(rows) => rows.push_back(row),
            None => {
                self.key_bytes += key.len() + KEY_OVERHEAD_BYTES;
                self.keys.insert(key.into(), VecDeque::from([row]));
            }
        }
    }

    /// The rows around a time that no one asks behind of again: of those before all but the last are let go of.
    pub(super) fn at(&mut self, key: &[u8], time: i128, allow_exact: bool) -> Neighbours {
        let Some(rows) = self.keys.get_mut(key) else { return Neighbours::default() };
        let is_earlier = |row: &NewestRow| row.time < time || (allow_exact && row.time == time);
        while rows.get(1).is_some_and(is_earlier) {
            rows.pop_front();
            self.rows -= 1;
        }
        let earlier = rows.front().copied().filter(is_earlier);
        let later = rows.iter().find(|row| row.time > time).copied();
        Neighbours { earlier, later }
    }
}

impl Neighbours {
    /// The nearer one; of two that are as near the earlier one.
    pub(super) fn nearest(self, time: i128) -> Option<NewestRow> {
        match (self.earlier, self.later) {
            (Some(earlier), Some(later)) => {
                Some(if time - earlier.time <= later.time - time { earlier } else { later })
            }
            (one, other) => one.or(other),
        }
    }

    /// The last time at which one that is nearer may be; `None` where there is no such bound.
    pub(super) fn reach(self, time: i128, tolerance: Option<i128>) -> Option<i128> {
        let nearer = self.earlier.map(|earlier| time + (time - earlier.time) - 1);
        let within = tolerance.map(|most| time + most);
        match (nearer, within) {
            (Some(nearer), Some(within)) => Some(nearer.min(within)),
            (one, other) => one.or(other),
        }
    }
}
