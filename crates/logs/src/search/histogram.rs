//! Histograms: the number of hits for each stretch of time.

use std::collections::BTreeMap;

use timestrata_engine::{Error, ErrorKind, Result};

use super::filtered_scan::{FilteredScan, HitBatch};
use super::{Clock, Query};
use crate::options::{LEVEL, SOURCE_TIME, TIMESTAMP};
use crate::{Level, Logs, LogsView};

/// Most buckets of a histogram.
pub const HISTOGRAM_BUCKETS_MAX: usize = 10_000;
/// Buckets that are aimed at where nobody says how long they are.
const BUCKETS: i64 = 60;

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
    /// Its first nanosecond since 1970-01-01 UTC. The next one's is its end.
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
    /// Stretches begin at multiples of `step` since 1970-01-01 UTC. `None`: a length is chosen that
    /// makes about 60. Gives the length, too.
    ///
    /// # Errors
    /// `InvalidArgument` for a step that isn't positive, or makes more than
    /// [`HISTOGRAM_BUCKETS_MAX`]; and as [`search`](Self::search).
    pub fn histogram(&self, query: &Query, step: Option<i64>) -> Result<(i64, Vec<Bucket>)> {
        let step = match step {
            Some(step) if step <= 0 => {
                let message = format!("a histogram's step of {step} ns: must be positive");
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            Some(step) => step,
            None => self.readable_step(query)?,
        };
        let column = column_of(query.by);
        let counts = FilteredScan::new(self, query, &[LEVEL, column]).fold(
            Counts::new,
            |counts, batch| count(counts, batch, column, step),
            |all, part| {
                for (start, more) in part {
                    let bucket = all.entry(start).or_insert(Bucket { start, ..EMPTY });
                    bucket.count += more.count;
                    bucket.levels.iter_mut().zip(more.levels).for_each(|(sum, n)| *sum += n);
                }
            },
        )?;
        Ok((step, filled(&counts, step)?))
    }

    fn readable_step(&self, query: &Query) -> Result<i64> {
        let column = column_of(query.by);
        let (first, last) = FilteredScan::new(self, query, &[column]).fold(
            || (i64::MAX, i64::MIN),
            |(first, last), batch| {
                let Some(times) = batch.rows.columns.times(column) else { return };
                for row in batch.hits.set_indices() {
                    *first = times.value(row).min(*first);
                    *last = times.value(row).max(*last);
                }
            },
            |(first, last), part| {
                *first = part.0.min(*first);
                *last = part.1.max(*last);
            },
        )?;
        // Without a hit, the last is before the first.
        let wanted = last.saturating_sub(first).max(0) / BUCKETS;
        let seconds = SECONDS.into_iter().map(|seconds| seconds * 1_000_000);
        let mut steps = MICROSECONDS.into_iter().chain(seconds).map(|step| step * 1_000);
        Ok(steps.find(|step| *step >= wanted).unwrap_or(wanted.max(1)))
    }
}

const EMPTY: Bucket = Bucket { start: 0, count: 0, levels: [0; Level::ALL.len()] };

fn column_of(by: Clock) -> usize {
    match by {
        Clock::Timestamp => TIMESTAMP,
        Clock::SourceTime => SOURCE_TIME,
    }
}

fn count(counts: &mut Counts, batch: &HitBatch<'_>, column: usize, step: i64) {
    let Some(times) = batch.rows.columns.times(column) else { return };
    for row in batch.hits.set_indices() {
        let time = times.value(row);
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

/// The buckets from the first to the last, with those without hits.
fn filled(counts: &Counts, step: i64) -> Result<Vec<Bucket>> {
    let (Some((first, _)), Some((last, _))) = (counts.first_key_value(), counts.last_key_value())
    else {
        return Ok(Vec::new());
    };
    let buckets = (i128::from(*last) - i128::from(*first)) / i128::from(step) + 1;
    if buckets > HISTOGRAM_BUCKETS_MAX as i128 {
        let message = format!(
            "a histogram of {buckets} buckets; at most {HISTOGRAM_BUCKETS_MAX} are given: take a \
             longer step or a shorter range"
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let mut all = Vec::new();
    let mut start = *first;
    loop {
        all.push(counts.get(&start).copied().unwrap_or(Bucket { start, ..EMPTY }));
        match start.checked_add(step) {
            Some(next) if next <= *last => start = next,
            _ => return Ok(all),
        }
    }
}

impl Logs {
    /// See [`LogsView::histogram`].
    pub fn histogram(&self, query: &Query, step: Option<i64>) -> Result<(i64, Vec<Bucket>)> {
        self.snapshot()?.histogram(query, step)
    }
}
