//! Hits in the order of when they happened, in a log that is kept in the order of arrivals.
//!
//! Compacted blocks tell between what the times of their senders lie. The blocks are read in the order of the first
//! place that one may have; a hit is given out once no block that is still unread can have one before it. So the
//! last few hits of a log whose files were loaded in any order take the blocks of these few.
//!
//! ```text
//!   blocks, by their first    [a      b]
//!   place in the order             [c   d]
//!                                          [e    f]   unread: hits up to e are certain
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use timestrata_engine::{KeyRange, LeadKey, PartBounds, Result};
use timestrata_io::sync::processors;

use super::filtered_scan::FilteredScan;
use super::{Clock, Position, Query};
use crate::LogsView;
use crate::options::SOURCE_TIME;

/// Blocks that a thread may look through before their hits are handed out.
const PARTS_A_THREAD: usize = 4;

/// A hit's place, so that those of what comes first are less: its time, and when it arrived. In the order of the
/// newest first both have all bits turned round, which turns their order round and overflows nowhere.
pub(super) type Place = (i64, i64);

/// How times become places, and which are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    newest_first: bool,
    after: Option<Place>,
}

impl Places {
    fn of(query: &Query) -> Self {
        let places = Self { newest_first: query.newest_first, after: None };
        let after = query.after.map(|after: Position| places.turned((after.time, after.timestamp)));
        Self { after, ..places }
    }

    /// What becomes a place, and the place what it was.
    fn turned(self, (time, timestamp): Place) -> Place {
        if self.newest_first { (!time, !timestamp) } else { (time, timestamp) }
    }

    /// An entry's place; `None` where it isn't behind what the query goes on behind.
    pub(super) fn place(self, time: i64, timestamp: i64) -> Option<Place> {
        let place = self.turned((time, timestamp));
        self.after.is_none_or(|after| place > after).then_some(place)
    }
}

/// Some blocks' entries, and the ends of the times by which they may have happened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) range: KeyRange,
    first: i64,
    last: i64,
}

impl Part {
    fn new(of: &PartBounds) -> Self {
        let PartBounds { range, bounds } = *of;
        let unknown = Self { range, first: i64::MIN, last: i64::MAX };
        let Some(bounds) = bounds else { return unknown };
        if !bounds.may_be_null
            && let Some((first, last)) = bounds.values
        {
            return Self { range, first, last };
        }
        // Who doesn't say when it happened is placed by its arrival.
        let (Some(LeadKey::Time(lo)), Some(LeadKey::Time(hi))) = (range.lo, range.hi) else {
            return unknown;
        };
        let (lo, hi) = (lo, hi.saturating_sub(1));
        match bounds.values {
            Some((first, last)) => Self { range, first: first.min(lo), last: last.max(hi) },
            None => Self { range, first: lo, last: hi },
        }
    }
}

/// The parts of a log that may have hits of a query that goes by what senders say, in the order of arrivals.
pub(super) fn parts(view: &LogsView, query: &Query) -> Result<Vec<Part>> {
    let range = query.arrivals(Clock::SourceTime)?;
    let found = view.snapshot().block_bounds(view.stream_id(), &range, SOURCE_TIME)?;
    let parts = found.iter().map(Part::new).filter(|part| {
        query.from.is_none_or(|from| from <= part.last) && query.to.is_none_or(|to| part.first < to)
    });
    Ok(parts.collect())
}

/// Hits in the order of when they happened.
#[derive(Debug)]
pub(super) struct EventOrder {
    places: Places,
    /// What is still unread, with the first time that it may have, as places have it; those first that come first.
    rest: VecDeque<(i64, KeyRange)>,
    /// How many of them are looked through at once.
    at_once: usize,
    /// Hits that were found.
    found: BinaryHeap<Reverse<Place>>,
}

impl EventOrder {
    pub(super) fn new(view: &LogsView, query: &Query) -> Result<Self> {
        let places = Places::of(query);
        let turned = |time: i64| places.turned((time, 0)).0;
        let parts = parts(view, query)?.into_iter().map(|part| match query.newest_first {
            false => (part.first, part.last, part.range),
            true => (turned(part.last), turned(part.first), part.range),
        });
        let is_behind = |last: i64| places.after.is_none_or(|(time, _)| last >= time);
        let mut rest: Vec<(i64, KeyRange)> = parts
            .filter(|(_, last, _)| is_behind(*last))
            .map(|(first, _, range)| (first, range))
            .collect();
        rest.sort_unstable_by_key(|(first, range)| (*first, range.lo));
        // Who wants a few finds them mostly in the first.
        let at_once = if query.limit.is_some() { 1 } else { processors() };
        Ok(Self { places, rest: rest.into(), at_once, found: BinaryHeap::new() })
    }

    /// The timestamps of the next hits, `wanted` where there are as many; `left` are wanted in all.
    pub(super) fn next(
        &mut self,
        view: &LogsView,
        query: &Query,
        wanted: usize,
        left: usize,
    ) -> Result<Vec<i64>> {
        let mut next = Vec::new();
        loop {
            while next.len() < wanted
                && let Some(Reverse(place)) = self.found.peek().copied()
                && self.rest.front().is_none_or(|(first, _)| place.0 < *first)
            {
                self.found.pop();
                next.push(self.places.turned(place).1);
            }
            if next.len() >= wanted || self.rest.is_empty() {
                return Ok(next);
            }
            let parts = self.rest.drain(..self.rest.len().min(self.at_once));
            let parts: Vec<KeyRange> = parts.map(|(_, range)| range).collect();
            let found = FilteredScan::new(view, query, &[]).places(&parts, self.places, left)?;
            self.found.extend(found.into_iter().map(Reverse));
            self.keep(left.saturating_sub(next.len()));
            self.at_once = (self.at_once * 2).min(processors() * PARTS_A_THREAD);
        }
    }

    /// Forgets hits that nobody wants, as those before them are enough.
    fn keep(&mut self, left: usize) {
        if self.found.len() / 2 > left {
            let mut found = std::mem::take(&mut self.found).into_vec();
            found.sort_unstable_by_key(|Reverse(place)| *place);
            found.truncate(left);
            self.found = found.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use timestrata_engine::BlockBounds;

    use super::*;

    #[test]
    fn places_of_the_newest_first_are_turned_round() {
        let newest = Places { newest_first: true, after: None };
        let mut places: Vec<Place> = [(i64::MIN, 1), (i64::MAX, 2), (0, 3), (0, 4)]
            .into_iter()
            .filter_map(|(time, timestamp)| newest.place(time, timestamp))
            .collect();
        places.sort_unstable();
        let timestamps = places.into_iter().map(|place| newest.turned(place).1);
        assert_eq!(timestamps.collect::<Vec<_>>(), [2, 4, 3, 1]);
    }

    #[test]
    fn a_part_where_senders_may_say_nothing_has_its_arrivals_too() {
        let range = KeyRange::times(50, 60);
        let ends = |values, may_be_null| {
            let bounds = Some(BlockBounds { values, may_be_null });
            let part = Part::new(&PartBounds { range, bounds });
            (part.first, part.last)
        };
        assert_eq!(ends(Some((5, 7)), false), (5, 7));
        assert_eq!(ends(Some((5, 7)), true), (5, 59));
        assert_eq!(ends(Some((55, 70)), true), (50, 70));
        assert_eq!(ends(None, true), (50, 59));
    }
}
