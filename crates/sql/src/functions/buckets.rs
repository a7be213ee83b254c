//! Buckets of time, one behind the other without a gap: by UTC, or by the clock of a zone.
//!
//! Of a zone, those of more than an hour begin where its clock reads what begins one, so that a day has 23 or 25 hours where
//! the clock is put forward or back. Those of an hour or less are counted from its midnight, so that an hour that a clock
//! passes twice is two of them. In any case a bucket begins where the one before it ends.

use datafusion::arrow::datatypes::TimeUnit;
use datafusion::common::Result;

use super::clock::Clock;
use super::step::Step;
use crate::instant::{DAY_NS, nanoseconds};

/// The longest bucket that is counted from midnight.
const COUNTED_SECONDS_MAX: i64 = 3_600;

/// How buckets lie, in units of a time column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Buckets {
    /// From an origin on, in UTC.
    Plain { step: Step, origin: i64 },
    /// By a clock, whose readings count from `origin`.
    Local { step: Step, origin: i64, clock: Clock, day: i64 },
}

/// Where a bucket begins, and where the next one does; `None` where the column can't hold that.
type Bounds = (i64, Option<i64>);

impl Buckets {
    /// Those of a zone.
    ///
    /// # Errors
    /// `InvalidArgument` where there is no such zone.
    pub(crate) fn local(step: Step, zone: &str, unit: TimeUnit) -> Result<Self> {
        let (clock, day) = (Clock::named(zone, unit)?, (DAY_NS / nanoseconds(unit)) as i64);
        Ok(Self::Local { step, origin: step.origin(unit), clock, day })
    }

    /// The bucket that a time is in. `None` for one that begins before all times.
    pub(crate) fn at(&self, time: i64) -> Option<Bounds> {
        match *self {
            Self::Plain { step, origin } => step.bucket(time, origin),
            Self::Local { step: Step::Width(width), clock, day, .. }
                if width <= COUNTED_SECONDS_MAX * clock.second() =>
            {
                let (midnight, next) = by_clock(Step::Width(day), 0, clock, time)?;
                let start = time - time.checked_sub(midnight)?.rem_euclid(width);
                let end = start.checked_add(width);
                Some((start, end.map(|end| next.map_or(end, |next| end.min(next)))))
            }
            Self::Local { step, origin, clock, .. } => by_clock(step, origin, clock, time),
        }
    }

    /// The bucket that begins where one ends; `None` where that has to be looked up.
    pub(super) fn from(&self, start: i64) -> Option<Bounds> {
        match self {
            Self::Plain { step, .. } => step.bucket_from(start),
            Self::Local { .. } => None,
        }
    }

    /// The time one step later: of where a bucket begins, where the next one does.
    pub(crate) fn next(&self, time: i64) -> Option<i64> {
        let (step, clock) = match self {
            Self::Plain { step, .. } => return step.next(time),
            Self::Local { step, clock, .. } => (step, clock),
        };
        match self.at(time)? {
            (start, end) if start == time => end,
            _ => clock.first(step.next(clock.reading(time)?)?),
        }
    }

    /// The first time from `start` on that is any number of steps away from `time`.
    pub(crate) fn first_from(&self, start: i64, time: i64) -> Option<i64> {
        let as_far = match *self {
            Self::Plain { step, .. } => Self::Plain { step, origin: time },
            local @ Self::Local { .. } => local,
        };
        match as_far.at(start)? {
            (first, _) if first == start => Some(start),
            (_, next) => next,
        }
    }
}

fn by_clock(step: Step, origin: i64, clock: Clock, time: i64) -> Option<Bounds> {
    let (reading, next) = step.bucket(clock.reading(time)?, origin)?;
    let start = clock.first(reading)?;
    let end = next.and_then(|next| clock.first(next));
    match (end, next) {
        // Put back over midnight it reads the day before once more, behind the beginning of this one.
        (Some(end), Some(next)) if end <= time => {
            let behind = step.bucket(next, origin).and_then(|(_, behind)| clock.first(behind?));
            Some((end, behind))
        }
        _ => (start <= time).then_some((start, end)),
    }
}

#[cfg(test)]
mod tests;
