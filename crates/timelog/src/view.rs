//! A time log frozen at one commit: all that can be read from it.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use timestrata_engine::{KeyRange, LeadKey, Result, SeqNo, Snapshot, Stream};
use timestrata_values::range::key_range;

use super::{Codec, Entry, Selection, Unit, Value};

/// A time log as it was at one commit. Cheap to clone, safe to share between threads;
/// nothing that is written later changes it.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{Timelog, TimelogOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let log = Timelog::create(&store, "log", TimelogOptions::default())?;
/// log.append(1_000, b"one")?;
/// let before = log.snapshot()?;
/// log.append(2_000, b"two")?;
/// assert_eq!((before.len()?, log.len()?), (1, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TimelogView {
    snapshot: Snapshot,
    stream: Arc<Stream>,
    codec: Codec,
    unit: Unit,
}

impl TimelogView {
    pub(super) fn new(
        snapshot: Snapshot,
        stream: Arc<Stream>,
        (codec, unit): (Codec, Unit),
    ) -> Self {
        Self { snapshot, stream, codec, unit }
    }

    /// The log's name.
    pub fn name(&self) -> &str {
        self.stream.name()
    }

    /// What its values are.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The unit of its timestamps.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The stream that keeps it.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The snapshot it reads from.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The last commit it sees.
    pub fn seq(&self) -> SeqNo {
        self.snapshot.seq()
    }

    /// The entries whose time is in `range`, oldest first.
    ///
    /// # Errors
    /// `InvalidArgument` if the range ends before it begins. A range that begins where it
    /// ends is fine, and empty.
    pub fn range(&self, range: impl RangeBounds<i64>) -> Result<Selection> {
        Ok(Selection::new(self.clone(), key_range(&range)?))
    }

    /// All values at exactly this time, in commit order.
    pub fn at(&self, time: i64) -> Result<Vec<Value>> {
        self.range(time..=time)?.into_iter().map(|entry| entry.map(|entry| entry.value)).collect()
    }

    /// The first `entries`, oldest first.
    pub fn first(&self, entries: usize) -> Result<Vec<Entry>> {
        self.range(..)?.limit(entries).into_iter().collect()
    }

    /// The last `entries`, oldest first.
    pub fn last(&self, entries: usize) -> Result<Vec<Entry>> {
        let mut last: Vec<Entry> =
            self.range(..)?.reverse().limit(entries).into_iter().collect::<Result<_>>()?;
        last.reverse();
        Ok(last)
    }

    /// How many entries there are.
    pub fn len(&self) -> Result<u64> {
        self.snapshot.count(self.stream.id(), &KeyRange::ALL)
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.min_time()?.is_none())
    }

    /// Time of the oldest entry.
    pub fn min_time(&self) -> Result<Option<i64>> {
        self.smallest(&KeyRange::ALL)
    }

    /// Time of the newest entry.
    pub fn max_time(&self) -> Result<Option<i64>> {
        self.greatest(&KeyRange::ALL)
    }

    /// The smallest time that is later than `time` and has an entry.
    pub fn next_time(&self, time: i64) -> Result<Option<i64>> {
        self.smallest(&key_range(&(Bound::Excluded(time), Bound::Unbounded))?)
    }

    /// The greatest time that is earlier than `time` and has an entry.
    pub fn previous_time(&self, time: i64) -> Result<Option<i64>> {
        self.greatest(&key_range(&(..time))?)
    }

    fn smallest(&self, range: &KeyRange) -> Result<Option<i64>> {
        if range.is_empty() {
            return Ok(None);
        }
        self.snapshot.min_key(self.stream.id(), range).map(|key| key.and_then(LeadKey::time))
    }

    fn greatest(&self, range: &KeyRange) -> Result<Option<i64>> {
        self.snapshot.max_key(self.stream.id(), range).map(|key| key.and_then(LeadKey::time))
    }
}
