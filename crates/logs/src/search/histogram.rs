//! Histograms: the number of hits for each stretch of time.

use std::collections::BTreeMap;

use timestrata_engine::{Error, ErrorKind, Result};

use super::filtered_scan::{FilteredScan, HitBatch};
use super::spread::Spread;
use super::{Clock, Query};
use crate::options::LEVEL;
use crate::{Level, Logs, LogsView};

/// Most buckets of a histogram.
pub const HISTOGRAM_BUCKETS_MAX: usize = 10_000;
/// Buckets that are aimed at where nobody says how long they are.
const BUCKETS: i64 = 60;
/// Most buckets of one where nobody says how long they are, with what strays have.
const READABLE_MAX: usize = 600;

/// Lengths that people read well: fractions of a second in microseconds, and seconds, those of minutes, of hours
/// and of 1, 7, 30 and 365 days among them.
const MICROSECONDS: [i64; 6] = [1, 10, 100, 1_000, 10_000, 100_000];
const SECONDS: [i64; 18] = [
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800,
    2_592_000, 31_536_000,
];

/// Hits of one stretch of time.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// app.write(&NewEntry::new("started"))?;
/// let (step, buckets) = app.histogram(&Query::default(), Some(60_000_000_000))?;
/// assert_eq!((step, buckets[0].count), (60_000_000_000, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Its first nanosecond since 1970-01-01 UTC.
    pub start: i64,
    /// Hits in it.
    pub count: u64,
    /// Those of each level, in the order of [`Level::ALL`]. Hits without a level are in `count` only.
    pub levels: [u64; Level::ALL.len()],
}

type Counts = BTreeMap<i64, Bucket>;

impl LogsView {
    /// How many entries a query wants of each stretch of `step` nanoseconds, by the query's clock and
    /// whatever its limit: from that of the first hit to that of the last, those without a hit too.
    /// Where these would be more than [`HISTOGRAM_BUCKETS_MAX`], the longest gaps are left out. Stretches
    /// begin at multiples of `step` since 1970-01-01 UTC. `None`: a length is chosen that makes about 60 of
    /// the time that all but a few hits lie in. Gives the length, too.
    ///
    /// # Errors
    /// `InvalidArgument` for a step that isn't positive, or where more than [`HISTOGRAM_BUCKETS_MAX`]
    /// stretches have hits; and as [`search`](Self::search).
    pub fn histogram(&self, query: &Query, step: Option<i64>) -> Result<(i64, Vec<Bucket>)> {
        match step {
            Some(step) if step <= 0 => {
                let message = format!("a histogram's step of {step} ns: must be positive");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
            Some(step) => {
                let counts = self.counts(query, step)?;
                Ok((step, filled(&counts, step, HISTOGRAM_BUCKETS_MAX)?))
            }
            None => {
                let (of_all, of_most) = self.readable_steps(query)?;
                let counts = self.counts(query, of_most)?;
                if counts.len() <= READABLE_MAX {
                    return Ok((of_most, filled(&counts, of_most, READABLE_MAX)?));
                }
                // What lies apart is more than a few strays.
                let counts = self.counts(query, of_all)?;
                Ok((of_all, filled(&counts, of_all, HISTOGRAM_BUCKETS_MAX)?))
            }
        }
    }

    fn counts(&self, query: &Query, step: i64) -> Result<Counts> {
        let scan = FilteredScan::new(self, query, &[LEVEL]);
        let by = scan.clock();
        scan.fold(
            Counts::new,
            |counts, batch| count(counts, batch, by, step),
            |all, part| {
                for (start, more) in part {
                    let bucket = all.entry(start).or_insert(Bucket { start, ..EMPTY });
                    bucket.count += more.count;
                    bucket.levels.iter_mut().zip(more.levels).for_each(|(sum, n)| *sum += n);
                }
            },
        )
    }

    /// Steps that make about 60 buckets of the time of all hits, and of that of all but stray ones.
    fn readable_steps(&self, query: &Query) -> Result<(i64, i64)> {
        let scan = FilteredScan::new(self, query, &[]);
        let by = scan.clock();
        let spread = scan.fold(
            Spread::default,
            |spread, batch| {
                for row in batch.hits.set_indices() {
                    spread.add(batch.rows.time(by, row), 1);
                }
            },
            Spread::merge,
        )?;
        let (all, most) = spread.lengths();
        Ok((readable(all / BUCKETS), readable(most / BUCKETS)))
    }
}

/// A length that people read well, and no shorter than the wanted one.
fn readable(wanted: i64) -> i64 {
    let seconds = SECONDS.into_iter().map(|seconds| seconds * 1_000_000);
    let mut steps = MICROSECONDS.into_iter().chain(seconds).map(|step| step * 1_000);
    steps.find(|step| *step >= wanted).unwrap_or(wanted.max(1))
}

const EMPTY: Bucket = Bucket { start: 0, count: 0, levels: [0; Level::ALL.len()] };

fn count(counts: &mut Counts, batch: &HitBatch<'_>, by: Clock, step: i64) {
    for row in batch.hits.set_indices() {
        let time = batch.rows.time(by, row);
        // The stretch before the first that `i64` holds begins where `i64` does.
        let start = time.checked_sub(time.rem_euclid(step)).unwrap_or(i64::MIN);
        let bucket = counts.entry(start).or_insert(Bucket { start, ..EMPTY });
        bucket.count += 1;
        let level = batch.rows.columns.level(row);
        let place = level.and_then(|level| bucket.levels.get_mut(level as usize));
        if let Some(place) = place {
            *place += 1;
        }
    }
}

/// The buckets from the first to the last, with those without hits as far as there is room for them: the shortest
/// gaps are filled first.
fn filled(counts: &Counts, step: i64, buckets_max: usize) -> Result<Vec<Bucket>> {
    if counts.len() > HISTOGRAM_BUCKETS_MAX {
        let message = format!(
            "a histogram of {} buckets with hits; at most {HISTOGRAM_BUCKETS_MAX} are given: take a \
             longer step or a shorter range",
            counts.len()
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let missing = |one: i64, next: i64| (next.abs_diff(one) / step.unsigned_abs()).max(1) - 1;
    let mut gaps: Vec<u64> =
        counts.keys().zip(counts.keys().skip(1)).map(|(one, next)| missing(*one, *next)).collect();
    gaps.sort_unstable();
    let mut room = buckets_max.saturating_sub(counts.len()) as u64;
    let too_long = gaps.into_iter().find(|gap| {
        let has_room = *gap <= room;
        room = room.saturating_sub(*gap);
        !has_room
    });
    let mut all: Vec<Bucket> = Vec::new();
    for (start, bucket) in counts {
        if let Some(last) = all.last()
            && too_long.is_none_or(|too_long| missing(last.start, *start) < too_long)
        {
            let after = last.start.checked_add(step);
            let starts = std::iter::successors(after, |at| at.checked_add(step));
            all.extend(starts.take_while(|at| at < start).map(|start| Bucket { start, ..EMPTY }));
        }
        all.push(*bucket);
    }
    Ok(all)
}

impl Logs {
    /// See [`LogsView::histogram`].
    pub fn histogram(&self, query: &Query, step: Option<i64>) -> Result<(i64, Vec<Bucket>)> {
        self.snapshot()?.histogram(query, step)
    }
}
