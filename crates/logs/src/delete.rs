//! Deleting entries by the time of their arrival.

use timestrata_engine::{Changes, Durability, KeyRange, LeadKey, Result, SeqNo};

use super::{Clock, Logs, Query};

/// What a delete has taken.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_logs::{Logs, LogsOptions, NewEntry};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// let first = app.write(&NewEntry::new("started"))?;
/// app.write(&NewEntry::new("stopped"))?;
/// let deleted = app.delete_range(None, Some(first + 1), Durability::Written)?;
/// assert_eq!(deleted.entries, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletedEntries {
    /// How many entries.
    pub entries: u64,
    /// The commit; `None` where there were none.
    pub seq: Option<SeqNo>,
}

impl Logs {
    /// Deletes the entries that arrived from `from` on and before `to` (nanoseconds since 1970; `None`: no bound), in one
    /// commit. What arrives meanwhile stays.
    ///
    /// # Errors
    /// `NotFound` if the log was removed; what reading and committing may fail with. Nothing is deleted then.
    pub fn delete_range(
        &self,
        from: Option<i64>,
        to: Option<i64>,
        durability: Durability,
    ) -> Result<DeletedEntries> {
        let view = self.snapshot()?;
        // Later ones have later timestamps, so that those which were counted go and no others.
        let Some(last) = view.last_timestamp()? else { return Ok(DeletedEntries::default()) };
        let behind = last.saturating_add(1);
        let to = to.map_or(behind, |to| to.min(behind));
        let by = Some(Clock::Timestamp);
        let entries = view.count(&Query { by, from, to: Some(to), ..Query::default() })?;
        if entries == 0 {
            return Ok(DeletedEntries::default());
        }
        let range = KeyRange::new(from.map(LeadKey::Time), Some(LeadKey::Time(to)));
        let changes = Changes::new().delete_range(self.stream_id(), range);
        let seq = self.store().commit(changes, durability)?;
        Ok(DeletedEntries { entries, seq: Some(seq) })
    }
}
