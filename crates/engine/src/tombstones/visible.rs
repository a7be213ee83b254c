//! Range deletes, turned round: the parts of a range that a source still shows.
//!
//! They are found as a reading comes to them, so that one that ends early, or never comes to most of
//! its range, doesn't pay for the deletes there. No row is ever compared with a tombstone.
//!
//! The verdict is one for a whole source: a delete hides its keys there if it is newer than `than`, which is the
//! greater of the source's last commit and of the delete through which it has been cleaned. A source whose commits
//! are on both sides of a delete can't be: what is in memory is sealed, and runs are merged, so that there is none.
//!
//! ```text
//!   keys                 0         10        20        30        40        50
//!   delete of commit 7             [---------)
//!   delete of commit 4                                 [---------)
//!
//!   run of commits 1-3   [=========]         [=========]         [==========]    than = 3: both hide
//!   run of commits 5-6   [=========]         [===============================]    than = 6: 7 hides, 4 doesn't
//!   run of commit 8      [===================================================]    than = 8: nothing hides
//! ```
//!
//! From the first run, with the range [0, 50), [`Visible::from`] gives [0, 10), asked again from 10 on
//! [20, 30), and from 30 on [40, 50). Where deletes lie over each other in several layers, the search goes on
//! until no layer moves the beginning any more.

use timestrata_format::{KeyRange, LeadKey, SeqNo, Tombstone};

use super::Tombstones;
use super::layer::least_end;

/// What may be seen of a source.
#[derive(Debug, Clone)]
pub(crate) struct Visible {
    range: KeyRange,
    holes: Tombstones,
    /// Deletes up to this hide nothing.
    than: SeqNo,
}

impl Visible {
    /// The parts of `range` that no delete newer than `than` hides.
    pub(super) fn new(range: KeyRange, holes: Tombstones, than: SeqNo) -> Self {
        Self { range, holes, than }
    }

    /// The same within another range too.
    pub(crate) fn within(&self, range: &KeyRange) -> Self {
        Self { range: self.range.intersect(range), holes: self.holes.clone(), than: self.than }
    }

    /// The same without some ranges.
    pub(crate) fn without(&self, ranges: &[KeyRange]) -> Self {
        let seq = SeqNo(u64::MAX);
        let hidden = Tombstones::of(ranges.iter().map(|range| Tombstone { range: *range, seq }));
        Self { holes: Tombstones::union([&self.holes, &hidden]), ..self.clone() }
    }

    /// Of the first part that ends after `key` (`None`: the first of all) what is not before `key`.
    pub(crate) fn from(&self, key: Option<LeadKey>) -> Option<KeyRange> {
        // No `lo` is the least, as `None` is.
        let mut lo = self.range.lo.max(key);
        let mut hi = self.range.hi;
        loop {
            let whole = KeyRange { lo, hi: self.range.hi };
            if whole.is_empty() {
                return None;
            }
            let before = lo;
            for layer in self.holes.layers() {
                let Some(hole) = layer.first_after(lo, self.than) else { continue };
                if hole.lo <= lo {
                    lo = Some(hole.hi?);
                } else {
                    hi = least_end(hi, hole.lo);
                }
            }
            if lo == before {
                return Some(KeyRange { lo, hi });
            }
            hi = self.range.hi;
        }
    }

    /// The last part, as if nothing from `key` on were there (`None`: the last of all).
    pub(crate) fn last_before(&self, key: Option<LeadKey>) -> Option<KeyRange> {
        let mut hi = least_end(self.range.hi, key);
        let mut lo = self.range.lo;
        loop {
            let whole = KeyRange { lo: self.range.lo, hi };
            if whole.is_empty() {
                return None;
            }
            let before = hi;
            for layer in self.holes.layers() {
                let Some(hole) = layer.last_before(hi, self.than) else { continue };
                if hole.hi.is_none_or(|end| hi.is_some_and(|hi| hi <= end)) {
                    hi = Some(hole.lo?);
                } else {
                    lo = lo.max(hole.hi);
                }
            }
            if hi == before {
                return Some(KeyRange { lo, hi });
            }
            lo = self.range.lo;
        }
    }

    /// All parts: disjoint, ascending, none empty.
    pub(crate) fn parts(&self) -> impl Iterator<Item = KeyRange> {
        self.parts_from(None)
    }

    /// The keys that are looked at, deleted ones included.
    pub(crate) fn range(&self) -> &KeyRange {
        &self.range
    }

    /// The parts that meet the inclusive `[min, max]`; of the first one what is not before `min`.
    pub(crate) fn parts_over(&self, min: LeadKey, max: LeadKey) -> impl Iterator<Item = KeyRange> {
        self.parts_from(Some(min)).take_while(move |part| part.lo.is_none_or(|lo| lo <= max))
    }

    fn parts_from(&self, key: Option<LeadKey>) -> impl Iterator<Item = KeyRange> {
        let mut next = self.from(key);
        std::iter::from_fn(move || {
            let part = next?;
            next = part.hi.and_then(|hi| self.from(Some(hi)));
            Some(part)
        })
    }

    /// The parts of the range that are hidden: disjoint, ascending, none empty.
    pub(crate) fn holes(&self) -> impl Iterator<Item = KeyRange> {
        let mut parts = self.parts();
        let mut rest = Some(self.range).filter(|range| !range.is_empty());
        std::iter::from_fn(move || {
            loop {
                let whole = rest?;
                let part = parts.next();
                let hole = KeyRange { lo: whole.lo, hi: part.map_or(whole.hi, |part| part.lo) };
                let behind = part.and_then(|part| part.hi);
                rest = behind.map(|hi| KeyRange { lo: Some(hi), hi: whole.hi });
                rest = rest.filter(|rest| !rest.is_empty());
                let begins_later = part.is_none_or(|part| whole.lo < part.lo);
                if begins_later && !hole.is_empty() {
                    return Some(hole);
                }
            }
        })
    }

    /// The least key at which a part can meet the inclusive `[min, max]`.
    pub(crate) fn first_overlap(&self, min: LeadKey, max: LeadKey) -> Option<LeadKey> {
        let key = self.from(Some(min))?.lo.map_or(min, |lo| lo.max(min));
        (key <= max).then_some(key)
    }

    /// Whether every key is visible, whatever it is.
    pub(crate) fn is_all(&self) -> bool {
        self.from(None) == Some(KeyRange::ALL)
    }

    /// Whether one part holds every key of the inclusive `[min, max]`.
    pub(crate) fn covers(&self, min: LeadKey, max: LeadKey) -> bool {
        self.from(Some(min)).is_some_and(|part| part.covers(min, max))
    }
}
