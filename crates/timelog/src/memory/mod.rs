//! A time log of values in memory, whatever their type: what a program's own objects need,
//! which no file can hold.
//!
//! Rows lie in leaves of up to [`LEAF_ROWS`] in order of time. What is appended in order fills
//! the tail, which becomes a leaf when it is full. What comes late waits, and is merged into
//! its leaves with others like it before the next read. A leaf that a reader or the published
//! state shares is copied before it changes, so a [`Slice`] never changes, and costs a
//! few references: slices of much share a list of leaves. Deleting drops rows at once: there is nothing to compact, and nothing is kept that
//! can't be read.
//!
//! Programs written for a log with flushes can ask for its physical state ([`Memory::pages`]):
//! the rows as of the last [`Memory::publish`], with those deleted since the last
//! [`Memory::compact`].
//!
//! Values are dropped only where the caller drops what a call returned, never inside of one:
//! dropping a program's object may run its code, which may come back here.

mod leaf;
mod log;
mod parts;
mod physical;
mod slice;

use std::ops::{Bound, RangeBounds};

pub use leaf::{LEAF_ROWS, Leaf};
pub use log::{Found, Memory, Removed};
pub use physical::Physical;
pub use slice::{Part, Slice};

/// A range of times as its first and last; `None` where no time is in it.
fn closed(range: impl RangeBounds<i64>) -> Option<(i64, i64)> {
    let first = match range.start_bound() {
        Bound::Unbounded => i64::MIN,
        Bound::Included(first) => *first,
        Bound::Excluded(before) => before.checked_add(1)?,
    };
    let last = match range.end_bound() {
        Bound::Unbounded => i64::MAX,
        Bound::Included(last) => *last,
        Bound::Excluded(end) => end.checked_sub(1)?,
    };
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests;
