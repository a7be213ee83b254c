//! What a tool works with: the store as its call wants it, for as long and as much as it may.

use std::time::Duration;

use timestrata::sql::Sql;
use timestrata::{RunningQuery, Snapshot, Store, duration_of_text};

use crate::failure::{Failure, Result};
use crate::room::Room;
use crate::source::Opened;

/// What one answer may be and take, at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Rows, entries, records, or whatever it has many of.
    pub(crate) items_max: usize,
    pub(crate) bytes_max: usize,
    pub(crate) time_max: Duration,
}

impl Bounds {
    /// How long a call may be worked on that asks for a time of its own.
    ///
    /// # Errors
    /// For what is no duration, or more than it may be.
    pub(crate) fn time(&self, asked: Option<&str>) -> Result<Duration> {
        let Some(text) = asked else { return Ok(self.time_max) };
        let within = |time: &Duration| !time.is_zero() && *time <= self.time_max;
        duration_of_text(text).filter(within).ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            let most = self.time_max.as_millis();
            Failure::new(
                format!("timeout: {shown:?} must be a duration of at most {most} ms"),
                "write it as '500ms' or '10s', or leave it out",
            )
        })
    }
}

/// A call under way.
pub(crate) struct Asked {
    pub(crate) opened: Opened,
    pub(crate) query: RunningQuery,
    pub(crate) bounds: Bounds,
}

impl Asked {
    pub(crate) fn store(&self) -> &Store {
        &self.opened.store
    }

    /// SQL for one statement of this call. Rows that are let go of end the query that they are of, so each
    /// statement has its own, which ends with the call's.
    pub(crate) fn sql(&self) -> Sql {
        let call = self.query.clone();
        let text = call.info().text;
        let statement = self.store().begin_query_for(&text, None, move || call.check().is_ok());
        self.opened.sql.for_query(&statement)
    }

    /// The store at one instant, read for this call.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.store().snapshot()?.for_query(&self.query))
    }

    /// Room for as many items as are asked for, or `default`; never for more than there may be.
    pub(crate) fn room(&self, limit: Option<u32>, default: usize) -> Room {
        let wanted = limit.map_or(default, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Room::new(wanted.min(self.bounds.items_max), self.bounds.bytes_max)
    }

    /// An error where nobody wants the answer any more, or it has taken too long.
    pub(crate) fn check(&self) -> timestrata::Result<()> {
        self.query.check()
    }
}
