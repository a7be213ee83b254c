//! Reading a topic by offset.

use std::ops::Range;

use arrow_array::RecordBatch;
use timestrata_engine::{
    Cell, Error, ErrorKind, LeadKey, Result, Row, Scan, ScanSpec, Snapshot, StreamId,
};
use timestrata_merkle::Hash;

use super::Topic;
use super::entries::KeptEntries;
use super::group::TopicPartition;
use super::partition::Partition;
use super::record::Records;
use super::retain::range;
use super::tiles::WIDTH;
use super::tree::PartitionTree;

/// Records that are given at once before damaged ones: they are read several times to find where these begin.
const BEFORE_DAMAGE_MAX: u64 = 4_096;

/// The records of a partition at one moment.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// let before = events.view(0)?;
/// events.send(&opened, &SendOptions::default())?;
/// let rows = before.scan(0..u64::MAX, None)?.map(|batch| batch.map(|batch| batch.num_rows()));
/// assert_eq!(rows.sum::<Result<usize, _>>()?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TopicView {
    snapshot: Snapshot,
    records: StreamId,
}

impl TopicView {
    /// Records in order of their offsets; see [`Topic::scan`].
    ///
    /// # Errors
    /// As [`Topic::scan`].
    pub fn scan(&self, offsets: Range<u64>, limit: Option<usize>) -> Result<Scan> {
        let range = range(offsets);
        let spec = ScanSpec { range, limit, sequential: true, ..ScanSpec::default() };
        self.snapshot.scan(self.records, &spec)
    }
}

/// The first of these for which it holds, if it holds from there on; else the end.
fn first_where(among: Range<u64>, holds: impl Fn(u64) -> bool) -> u64 {
    let Range { mut start, mut end } = among;
    while start < end {
        let middle = start + (end - start) / 2;
        match holds(middle) {
            true => end = middle,
            false => start = middle + 1,
        }
    }
    end
}

impl Topic {
    /// The offsets of a partition: from the first that is kept up to the one that comes next. They are known of a
    /// partition, too, whose last records can't be read, so that nothing can be appended to it: those before can be.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such partition; what reading may fail with.
    pub fn offsets(&self, partition: u32) -> Result<Range<u64>> {
        let partition = self.partition(partition)?;
        match partition.lock(&self.store) {
            Ok(live) => Ok(live.floor()..live.end()),
            Err(error) if error.kind() == ErrorKind::Corruption => {
                partition.offsets_by_keys(&self.store).map_err(|_| error)
            }
            Err(error) => Err(error),
        }
    }

    /// Records of a partition in order of their offsets, as Arrow batches with the columns of
    /// [`record_schema`](super::record_schema). Offsets that are not there are passed over.
    ///
    /// # Errors
    /// As [`Topic::offsets`]; the batches themselves may be `Corruption` or `Io`.
    pub fn scan(&self, partition: u32, offsets: Range<u64>, limit: Option<usize>) -> Result<Scan> {
        self.view(partition)?.scan(offsets, limit)
    }

    /// The records that a partition has now, whatever comes later.
    ///
    /// # Errors
    /// As [`Topic::offsets`].
    pub fn view(&self, partition: u32) -> Result<TopicView> {
        let records = self.partition(partition)?.records;
        Ok(TopicView { snapshot: self.store.snapshot_of(records)?, records })
    }

    /// One record, as a batch of one row; `None` if there is none at this offset (any more).
    ///
    /// # Errors
    /// As [`Topic::scan`].
    pub fn get(&self, partition: u32, offset: u64) -> Result<Option<Records>> {
        let partition = self.partition(partition)?;
        self.row(&partition, offset)?.map(Records::of_row).transpose()
    }

    fn row(&self, partition: &Partition, offset: u64) -> Result<Option<Row>> {
        let snapshot = self.store.snapshot_of(partition.records)?;
        match snapshot.get(partition.records, &[Cell::UInt(offset)]) {
            // A scan is given rows of a damaged block that are whole themselves.
            Err(error) if error.kind() == ErrorKind::Corruption => {
                let spec = ScanSpec {
                    range: range(offset..offset.saturating_add(1)),
                    ..ScanSpec::default()
                };
                let rows = snapshot.collect(partition.records, &spec).map_err(|_| error)?;
                Ok((rows.num_rows() == 1).then_some(Row { batch: rows, index: 0 }))
            }
            found => found,
        }
    }

    /// Records from an offset on up to the first that can't be read, and no more than that; `None` where it is the first of
    /// them.
    pub(super) fn before_damage(
        &self,
        partition: u32,
        from: u64,
        limit: usize,
    ) -> Result<Option<RecordBatch>> {
        let part = self.partition(partition)?;
        let snapshot = self.store.snapshot_of(part.records)?;
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).min(BEFORE_DAMAGE_MAX);
        let most = from.saturating_add(limit);
        let read = |end: u64| {
            let spec = ScanSpec { range: range(from..end), ..ScanSpec::default() };
            snapshot.collect(part.records, &spec)
        };
        let end = first_where(from..most.min(self.offsets(partition)?.end), |last| {
            read(last.saturating_add(1)).is_err()
        });
        Ok(Some(read(end)?).filter(|batch| batch.num_rows() > 0))
    }

    /// The offset behind the records from `offset` on that can't be read.
    pub(super) fn readable_from(&self, partition: u32, offset: u64) -> Result<u64> {
        let part = self.partition(partition)?;
        let snapshot = self.store.snapshot_of(part.records)?;
        let end = self.offsets(partition)?.end;
        let is_readable = |offsets: Range<u64>| {
            let spec = ScanSpec { range: range(offsets), ..ScanSpec::default() };
            let scan = snapshot.scan(part.records, &spec);
            scan.is_ok_and(|mut batches| batches.all(|batch| batch.is_ok()))
        };
        for piece in snapshot.pieces(part.records, &range(offset..end))? {
            let at = |key: Option<LeadKey>, open: u64| match key {
                Some(LeadKey::Offset(offset)) => offset,
                _ => open,
            };
            let (first, behind) = (at(piece.lo, offset), at(piece.hi, end));
            if is_readable(first..first.saturating_add(1)) {
                return Ok(first);
            }
            // Many are damaged together: a look here and there finds where these end.
            let mut unreadable = first;
            let last = behind.saturating_sub(1);
            while unreadable < last {
                let next = last.min(unreadable + WIDTH);
                if is_readable(next..next + 1) {
                    return Ok(first_where(unreadable + 1..next, |at| is_readable(at..at + 1)));
                }
                unreadable = next;
            }
        }
        Ok(end)
    }

    /// The error for records that can't be read, with their offsets.
    pub(super) fn unreadable(&self, place: &TopicPartition, offset: u64, error: Error) -> Error {
        let behind = self.readable_from(place.partition, offset);
        let to = behind.map_or("the next ones".to_owned(), |behind| behind.to_string());
        let what = format!("{place}: records from offset {offset} to before {to}: {error}");
        Error::new(error.kind(), what).caused_by(error)
    }

    /// A record's time.
    pub(super) fn record_time(&self, partition: &Partition, offset: u64) -> Result<Option<i64>> {
        let record = self.row(partition, offset)?.map(Records::of_row).transpose()?;
        Ok(record.and_then(|record| record.get(0)?.1.timestamp_ns))
    }

    /// The bytes that a record is hashed as, which are the entry of its partition's tree.
    ///
    /// # Errors
    /// `OutOfRange` if there is no record at this offset (any more), and its entry isn't kept.
    pub fn entry(&self, partition: u32, offset: u64) -> Result<Vec<u8>> {
        let part = self.partition(partition)?;
        let missing =
            || Error::new(ErrorKind::OutOfRange, format!("{part} has no record {offset}"));
        let Some(records) = self.get(partition, offset)? else {
            let snapshot = part.snapshot(&self.store)?;
            let behind = offset.saturating_add(1);
            let mut kept = KeptEntries::of(&snapshot, &part, offset..behind)?;
            return kept.next().ok_or_else(missing)?.map(|(_, entry)| entry);
        };
        let (offset, record) = records.get(0).ok_or_else(missing)?;
        let mut entry = Vec::new();
        part.entry(offset, record.timestamp_ns.unwrap_or_default(), &record, &mut entry)?;
        Ok(entry)
    }

    /// Size and root of a partition's tree, when it had `size` records; `None`: now.
    ///
    /// # Errors
    /// `OutOfRange` for more records than there are.
    pub fn root(&self, partition: u32, size: Option<u64>) -> Result<(u64, Hash)> {
        let partition = self.partition(partition)?;
        let tree = PartitionTree::lock(&partition, &self.store)?;
        let size = size.unwrap_or_else(|| tree.size());
        Ok((size, tree.root(size)?))
    }

    /// The proof that a record is in the tree that its partition had at `size` records.
    ///
    /// # Errors
    /// `OutOfRange` for more records than there are, `InvalidArgument` for a record behind `size`.
    pub fn inclusion_proof(&self, partition: u32, offset: u64, size: u64) -> Result<Vec<Hash>> {
        let partition = self.partition(partition)?;
        PartitionTree::lock(&partition, &self.store)?.inclusion_proof(offset, size)
    }

    /// The proof that a partition's tree of `old` records is the beginning of that of `new`.
    ///
    /// # Errors
    /// `OutOfRange` for more records than there are, `InvalidArgument` if `old` is 0 or larger
    /// than `new`.
    pub fn consistency_proof(&self, partition: u32, old: u64, new: u64) -> Result<Vec<Hash>> {
        let partition = self.partition(partition)?;
        PartitionTree::lock(&partition, &self.store)?.consistency_proof(old, new)
    }
}
