//! What materialised views ask of their tables: that rows which are to be counted again are still there.
//!
//! A view is kept up to date from changes. Where rows went or were replaced, it counts their bucket again, from the rows that the table has; and of a
//! bucket that retention has taken rows of, these are not all. So such a bucket is closed: what would change rows in it is refused, from
//! [`MARGIN`] before the first of its rows may expire, in which the view has long seen what was written before.
//!
//! ```text
//!           buckets that begin before the horizon          open buckets
//!    ... |------------------|------------------|----------|----------|--->  time
//!             expired            ^ now - age + margin     ^ from here on rows are taken
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use timestrata_engine::{Cell, Error, ErrorKind, KeyRange, LeadKey, Result, Retention, Stream};
use timestrata_values::time as time_values;

use super::Table;
use super::layout::Layout;
use super::time;
use super::write::unmade;

/// The property of a table for each materialised view of it: width and origin of the view's buckets in units of the table's times, and its name.
const VIEW_PROPERTY: &str = "materialized";

/// How long before rows may expire their bucket is closed.
pub const MARGIN: Duration = Duration::from_secs(60);

/// The buckets of a materialised view, in units of its table's times: as wide as that, and one of them begins at the origin.
///
/// ```
/// let hours = timestrata_table::Buckets { width: 3_600, origin: 0 };
/// assert_eq!(hours.first_from(3_601), 7_200);
/// assert_eq!(hours.first_from(7_200), 7_200);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    /// More than nothing.
    pub width: i64,
    /// Where one of them begins.
    pub origin: i64,
}

impl Buckets {
    /// Where the first one begins that begins at a time or later.
    #[must_use]
    pub fn first_from(self, time: i64) -> i64 {
        let width = self.width.max(1);
        let past = (time.rem_euclid(width) - self.origin.rem_euclid(width)).rem_euclid(width);
        if past == 0 { time } else { time.saturating_add(width - past) }
    }
}

/// Whether a table of the store has ever had a materialised view since it was opened: single rows are not asked more than that.
#[derive(Debug, Default)]
pub(super) struct Watched(pub(super) AtomicBool);

/// A materialised view, as its table knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watcher {
    pub(super) view: String,
    buckets: Buckets,
}

impl Watcher {
    /// Those of a table.
    pub(super) fn all(stream: &Stream) -> Vec<Self> {
        let properties = stream.spec().properties.iter();
        let named = properties.filter(|(key, _)| key == VIEW_PROPERTY);
        named.filter_map(|(_, value)| Self::parse(value)).collect()
    }

    fn parse(value: &str) -> Option<Self> {
        let mut parts = value.splitn(3, ' ');
        let mut number = || parts.next()?.parse::<i64>().ok();
        let buckets = Buckets { width: number().filter(|width| *width > 0)?, origin: number()? };
        Some(Self { buckets, view: parts.next()?.to_owned() })
    }

    /// The property that says it.
    pub(super) fn property(view: &str, buckets: Buckets) -> (String, String) {
        let Buckets { width, origin } = buckets;
        (VIEW_PROPERTY.to_owned(), format!("{width} {origin} {view}"))
    }

    /// The properties of a table without this view's.
    pub(super) fn without(stream: &Stream, view: &str) -> Vec<(String, String)> {
        let is_its = |(key, value): &&(String, String)| {
            key == VIEW_PROPERTY && Self::parse(value).is_some_and(|found| found.view == view)
        };
        stream.spec().properties.iter().filter(|property| !is_its(property)).cloned().collect()
    }
}

/// Rows before this time, in units of a stream's times, may have expired, or will do so soon; `None` where nothing expires by its age.
pub fn expiring_before(stream: &Stream, wall_ns: i64, soon: Duration) -> Option<i64> {
    let age_ns = stream.spec().retention.age_ns?;
    let soon_ns = i64::try_from(soon.as_nanos()).unwrap_or(i64::MAX);
    let horizon_ns = i128::from(wall_ns) - i128::from(age_ns) + i128::from(soon_ns);
    let unit_ns = i128::from(stream.time_unit_ns().unwrap_or(1));
    let horizon = horizon_ns.div_euclid(unit_ns);
    Some(i64::try_from(horizon).unwrap_or(if horizon < 0 { i64::MIN } else { i64::MAX }))
}

/// Until when a table takes no changes, and for whose sake.
pub(super) struct Closed<'a> {
    layout: &'a Layout,
    before: i64,
    view: &'a str,
}

impl Closed<'_> {
    /// Refuses what changes rows at a time, if it is in a closed bucket.
    pub(super) fn check(&self, time: Option<i64>, what: &str) -> Result<()> {
        if time.is_some_and(|time| time >= self.before) {
            return Ok(());
        }
        let Self { layout, before, view } = self;
        let unit = layout.stream.time_unit_ns().unwrap_or(1);
        let text = |time: i64| match time.checked_mul(unit) {
            Some(ns) => time_values::text(ns),
            None => time.to_string(),
        };
        let at = time.map_or_else(|| "the earliest time".to_owned(), text);
        let message = format!(
            "table '{}': {what} {at} would change a bucket of the materialised view '{view}' of which rows have expired, or will \
             soon: rows before {} neither come nor go any more",
            layout.name(),
            text(*before)
        );
        Err(Error::new(ErrorKind::InvalidData, message))
    }

    /// The same for rows that come.
    pub(super) fn check_rows(&self, rows: &RecordBatch) -> Result<()> {
        let times = time::values(rows.column(self.layout.time()))?;
        times.into_iter().min().map_or(Ok(()), |first| self.check(Some(first), "a row at"))
    }

    /// The same for the rows of a batch that are picked to go.
    pub(super) fn check_picked(&self, rows: &RecordBatch, picked: &BooleanArray) -> Result<()> {
        if picked.len() != rows.num_rows() {
            return Ok(()); // that is refused by itself
        }
        let gone = filter_record_batch(rows, picked).map_err(unmade)?;
        let times = time::values(gone.column(self.layout.time()))?;
        times.into_iter().min().map_or(Ok(()), |first| self.check(Some(first), "deleting a row at"))
    }

    /// The same for a range whose rows go.
    pub(super) fn check_range(&self, range: &KeyRange) -> Result<()> {
        match range.is_empty() {
            true => Ok(()),
            false => self.check(range.lo.and_then(LeadKey::time), "a delete from"),
        }
    }
}

impl Layout {
    /// Until when the table takes no changes; `None` where it takes all.
    pub(super) fn closed(&self, wall_ns: i64) -> Option<Closed<'_>> {
        let watchers = &self.definition.watchers;
        if watchers.is_empty() {
            return None;
        }
        let horizon = expiring_before(&self.stream, wall_ns, MARGIN)?;
        let closed = watchers.iter().map(|watcher| (watcher.buckets.first_from(horizon), watcher));
        let (before, watcher) = closed.max_by_key(|(before, _)| *before)?;
        Some(Closed { layout: self, before, view: &watcher.view })
    }
}

impl Table {
    /// Refuses ranges whose rows are to go where one of them is in a closed bucket.
    pub(super) fn check_ranges(&self, ranges: &[KeyRange]) -> Result<()> {
        let layout = self.layout()?;
        match layout.closed(self.shared.store.wall_ns()) {
            Some(closed) => ranges.iter().try_for_each(|range| closed.check_range(range)),
            None => Ok(()),
        }
    }

    /// The same for rows that come.
    pub(super) fn check_rows(&self, layout: &Layout, rows: &RecordBatch) -> Result<()> {
        layout.closed(self.shared.store.wall_ns()).map_or(Ok(()), |closed| closed.check_rows(rows))
    }

    /// The same for a row that comes as cells.
    pub(super) fn check_cells(&self, cells: &[Cell<'_>]) -> Result<()> {
        if !self.shared.watched.0.load(Ordering::SeqCst) {
            return Ok(());
        }
        let layout = self.layout()?;
        let Some(closed) = layout.closed(self.shared.store.wall_ns()) else { return Ok(()) };
        match cells.get(layout.time()) {
            Some(Cell::Int(time)) => closed.check(Some(*time), "a row at"),
            // What has no time fits no table.
            _ => Ok(()),
        }
    }

    /// Refuses what a table with materialised views can't do.
    pub(super) fn check_unwatched(&self, layout: &Layout, what: &str) -> Result<()> {
        let is_there = |watcher: &&Watcher| self.shared.store.stream(&watcher.view).is_some();
        let Some(watcher) = layout.definition.watchers.iter().find(is_there) else { return Ok(()) };
        let (table, view) = (layout.name(), &watcher.view);
        let message =
            format!("table '{table}' can't be {what}: drop its materialised view '{view}' first");
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// Retention that materialised views can do with: by age alone, as by size it isn't known before what goes.
    pub(super) fn check_retention(&self, layout: &Layout, retention: Retention) -> Result<()> {
        match retention.bytes {
            Some(_) => self.check_unwatched(layout, "kept within a number of bytes"),
            None => Ok(()),
        }
    }
}
