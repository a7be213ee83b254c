//! Retention: the oldest records are deleted by age, bytes and number; with compaction, all but the last
//! record of each key.
//!
//! Records are deleted, their hashes are kept: every proof that could be made before can still be made. If
//! deleted records belong to a tile that is not full yet, their hashes are kept with the partition's floor. Topics that
//! keep entries get those of the records in the same commit.

use std::ops::Range;
use std::time::Duration;

use arrow_array::BooleanArray;
use arrow_select::filter::filter_record_batch;
use timestrata_engine::{
    Changes, Durability, Error, ErrorKind, KeyRange, LeadKey, Result, Scan, ScanSpec, Snapshot,
    Store, StreamId,
};

use super::Topic;
use super::entries::GoneEntries;
use super::hub::Hub;
use super::last_of_key::{Keys, last_of_each_key};
use super::options::TopicRetention;
use super::partition::Partition;
use super::record::{Record, Records};
use super::state::{self, StateKind, StateRow};
use super::tiles;

/// A key whose record is gone stays told as gone for this long: consumers that are behind learn of it.
const TOMBSTONE_NS: i64 = 24 * 3_600 * 1_000_000_000;
/// Records whose entries are kept go in commits of so many: what one holds in memory, and keeps senders waiting for.
const ENTRIES_A_COMMIT: u64 = 65_536;
/// How often all topics are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// What was thrown away of a topic.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::{Topic, TopicOptions, TopicRetention};
/// # use timestrata_topic::{Record, SendOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// # events.send(&opened, &SendOptions::default())?;
/// // Two records were sent.
/// events.set_retention(TopicRetention { records: Some(1), ..TopicRetention::default() })?;
/// assert_eq!(events.retain()?.expired, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Thrown {
    /// Records from the beginning of partitions, and offsets among them whose records were gone.
    pub expired: u64,
    /// Records that later ones of the same key stand for.
    pub superseded: u64,
    /// Groups that nobody used any more.
    pub groups: u64,
}

/// When records that later ones stand for are worth the rewriting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compacting {
    /// Whenever there may be any.
    Now,
    /// Once there are as many new records as old ones that are kept: each record is rewritten a
    /// number of times then that grows with the logarithm of their number.
    WhenWorthIt,
}

/// Looks at all topics of a store from time to time, if it does such things by itself.
pub(super) fn begin(store: &Store, hub: &Hub) -> Result<()> {
    if hub.is_retaining.swap(true, std::sync::atomic::Ordering::Relaxed) {
        return Ok(());
    }
    store.every("timestrata-topics", LOOK_INTERVAL, Topic::retain_all)
}

impl Topic {
    /// Throws away what the topic's retention says, now. An open store does it by itself twice a
    /// minute; disk space is free once it has compacted the partition.
    ///
    /// # Errors
    /// What reading and committing may fail with.
    pub fn retain(&self) -> Result<Thrown> {
        let thrown = self.retain_as(Compacting::Now)?;
        self.store.acknowledge(Durability::Written)?;
        Ok(thrown)
    }

    /// Throws away what each topic's retention says, where it is worth it, as an open store does by
    /// itself. A topic that can't be opened or read holds up no other.
    ///
    /// # Errors
    /// The first that came, once all topics were looked at.
    #[doc(hidden)]
    pub fn retain_all(store: &Store) -> Result<()> {
        let mut all = Ok(());
        for name in Self::names(store) {
            let one = Self::open(store, &name).and_then(|t| t.retain_as(Compacting::WhenWorthIt));
            all = all.and(one.map(drop));
        }
        all
    }

    fn retain_as(&self, compacting: Compacting) -> Result<Thrown> {
        let _retaining = self.shared.retaining.lock();
        let retention = self.options().retention;
        let mut thrown = Thrown::default();
        if retention == TopicRetention::default() {
            return Ok(thrown);
        }
        if let Some(age_ns) = retention.groups_age_ns {
            thrown.groups = self.expire_groups(age_ns)?;
        }
        for number in 0..self.partitions() {
            let partition = self.partition(number)?;
            thrown.expired += self.expire(&partition, &retention)?;
            if retention.compact {
                thrown.superseded += self.supersede(&partition, compacting)?;
            }
        }
        Ok(thrown)
    }

    /// Moves a partition's floor up to where its retention says.
    fn expire(&self, partition: &Partition, retention: &TopicRetention) -> Result<u64> {
        let kept = {
            let live = partition.lock(&self.store)?;
            live.floor()..live.end()
        };
        let old = KeptRecords {
            partition,
            snapshot: partition.snapshot(&self.store)?,
            offsets: kept.clone(),
        };
        let mut floor = kept.start;
        if let Some(records) = retention.records {
            floor = floor.max(old.floor_by(&Measure::Records, records)?);
        }
        if let Some(bytes) = retention.bytes {
            floor = floor.max(old.floor_by(&Measure::Bytes, bytes)?);
        }
        if let Some(age) = retention.age_ns {
            let age = i64::try_from(age).unwrap_or(i64::MAX);
            let now_ns = self.store.wall_ns();
            let seen = self.seen(&old, now_ns)?;
            floor = floor.max(old.floor_by_age(now_ns.saturating_sub(age), seen)?);
        }
        let mut from = kept.start;
        while from < floor {
            let next = match partition.entries {
                Some(_) => floor.min(from.saturating_add(ENTRIES_A_COMMIT)),
                None => floor,
            };
            self.move_floor(partition, &old.snapshot, from..next)?;
            from = next;
        }
        Ok(floor - kept.start)
    }

    /// Throws away the records before the end of a range, which begins at the floor.
    fn move_floor(&self, partition: &Partition, at: &Snapshot, gone: Range<u64>) -> Result<()> {
        let floor = gone.end;
        let mut entries = GoneEntries::new(partition);
        if partition.entries.is_some() {
            for batch in records(at, partition.records, gone)? {
                for (offset, record) in Records::of(&batch?)?.iter() {
                    entries.add(offset, &record)?;
                }
            }
        }
        let entries = entries.into_rows()?;
        let mut live = partition.lock(&self.store)?;
        let hashes = live.partial_below(floor).iter().flat_map(|hash| hash.0).collect();
        let gone = KeyRange { lo: None, hi: Some(LeadKey::Offset(floor)) };
        let mut changes = Changes::new().delete_range(partition.records, gone);
        if let Some((stream, rows)) = entries {
            changes = changes.insert(stream, rows);
        }
        self.mark(StateKind::Floor, partition, floor, Some(hashes), &mut changes)?;
        self.store.commit(changes, Durability::Written)?;
        live.set_floor(floor);
        Ok(())
    }

    /// Up to where records were there at some moment, if that is needed to tell how old one is: the
    /// oldest that isn't in a full tile may have a time that is to come, by a clock that is ahead. It is
    /// noted then when it was seen first, and it is no younger than that.
    fn seen(&self, kept: &KeptRecords<'_>, now_ns: i64) -> Result<Option<SeenRecords>> {
        let partition = kept.partition;
        let row =
            state::find(&kept.snapshot, partition.state, StateKind::Seen, "", partition.number)?;
        let known = row.map(|row| SeenRecords { end: row.offset, at_ns: row.timestamp_ns });
        let is_known = |offset: u64| known.is_some_and(|known| offset < known.end);
        match kept.first_to_come(now_ns)? {
            Some(offset) if !is_known(offset) => {
                let mut changes = Changes::new();
                self.mark(StateKind::Seen, partition, kept.offsets.end, None, &mut changes)?;
                self.store.commit(changes, Durability::Written)?;
                Ok(Some(SeenRecords { end: kept.offsets.end, at_ns: now_ns }))
            }
            _ => Ok(known),
        }
    }

    /// Adds to changes what the topic's state says of up to which offset something is done.
    fn mark(
        &self,
        kind: StateKind,
        partition: &Partition,
        offset: u64,
        bytes: Option<Vec<u8>>,
        changes: &mut Changes,
    ) -> Result<()> {
        let now_ns = self.store.wall_ns();
        let row = StateRow::of_partition(kind, partition.number, offset, now_ns);
        state::put(&self.store, changes, partition.state, &StateRow { bytes, ..row })
    }

    /// Removes records of full tiles that later ones of the same key stand for.
    fn supersede(&self, partition: &Partition, compacting: Compacting) -> Result<u64> {
        let (floor, full) = {
            let live = partition.lock(&self.store)?;
            (live.floor(), live.full())
        };
        let snapshot = partition.snapshot(&self.store)?;
        let done = compacted_to(&snapshot, partition)?.max(floor);
        let kept = snapshot.count(partition.records, &range(floor..done))?;
        if full <= done || (compacting == Compacting::WhenWorthIt && full - done < kept) {
            return Ok(0);
        }
        let Keys { last, end } = last_of_each_key(&snapshot, partition.records, done..full)?;
        let cutoff = self.store.wall_ns().saturating_sub(TOMBSTONE_NS);
        // By when they were appended, and not by their own times: records that are filled in later may
        // be as old as they like, and consumers have to learn that their keys are gone all the same.
        let mut appended = Appended {
            tiles: partition.tiles_in(&snapshot).spans(floor..end)?,
            tile: (0, i64::MAX),
        };
        let mut stays = |offset: u64, record: &Record<'_>| -> Result<bool> {
            let Some(key) = record.key else { return Ok(true) };
            if last.of(key).is_some_and(|last| last > offset) {
                return Ok(false);
            }
            Ok(record.value.is_some() || appended.at(offset)? >= cutoff)
        };
        let all = range(floor..end);
        let mut gone = 0;
        let mut bulk = self.store.bulk()?;
        bulk.rewrites(partition.records)?;
        bulk.delete_range(partition.records, all)?;
        for batch in records(&snapshot, partition.records, floor..end)? {
            let batch = batch?;
            let (mut entries, mut mask) = (GoneEntries::new(partition), Vec::new());
            for (offset, record) in Records::of(&batch)?.iter() {
                let is_kept = stays(offset, &record)?;
                mask.push(is_kept);
                if !is_kept {
                    entries.add(offset, &record)?;
                }
            }
            if let Some((stream, rows)) = entries.into_rows()? {
                bulk.insert(stream, rows)?;
            }
            let mask = BooleanArray::from(mask);
            gone += mask.false_count() as u64;
            let rows = filter_record_batch(&batch, &mask).map_err(|error| {
                Error::new(ErrorKind::InvalidData, "records can't be picked").caused_by(error)
            })?;
            bulk.insert(partition.records, rows)?;
        }
        let mut changes = Changes::new();
        self.mark(StateKind::Compacted, partition, end, None, &mut changes)?;
        if gone == 0 {
            drop(bulk);
            self.store.commit(changes, Durability::Written)?;
            return Ok(0);
        }
        bulk.change(changes)?;
        bulk.commit()?;
        Ok(gone)
    }
}

/// Records below an offset that were there at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeenRecords {
    end: u64,
    at_ns: i64,
}

/// When records of full tiles were appended, at the latest. They are asked for in their order.
struct Appended<T> {
    tiles: T,
    /// The tile that was read last: what is behind it, and when its last record came.
    tile: (u64, i64),
}

impl<T: Iterator<Item = Result<tiles::LeafTile>>> Appended<T> {
    fn at(&mut self, offset: u64) -> Result<i64> {
        while self.tile.0 <= offset {
            self.tile = match self.tiles.next() {
                Some(tile) => {
                    let tile = tile?;
                    (tile.end(), tile.appended_ns)
                }
                // What is in no full tile came a moment ago, for all that is known.
                None => (u64::MAX, i64::MAX),
            };
        }
        Ok(self.tile.1)
    }
}

/// Up to where records that later ones stand for are gone.
fn compacted_to(snapshot: &Snapshot, partition: &Partition) -> Result<u64> {
    let row = state::find(snapshot, partition.state, StateKind::Compacted, "", partition.number)?;
    Ok(row.map_or(0, |row| row.offset))
}

pub(super) fn range(offsets: Range<u64>) -> KeyRange {
    KeyRange { lo: Some(LeadKey::Offset(offsets.start)), hi: Some(LeadKey::Offset(offsets.end)) }
}

pub(super) fn records(at: &Snapshot, stream: StreamId, offsets: Range<u64>) -> Result<Scan> {
    at.scan(stream, &ScanSpec { range: range(offsets), ..ScanSpec::default() })
}

/// The offset of the first of these records that has such a time.
pub(super) fn first_record(
    snapshot: &Snapshot,
    stream: StreamId,
    offsets: Range<u64>,
    is_such: impl Fn(i64) -> bool,
) -> Result<Option<u64>> {
    for batch in records(snapshot, stream, offsets)? {
        let batch = Records::of(&batch?)?;
        let found = batch.iter().find(|(_, record)| record.timestamp_ns.is_some_and(&is_such));
        if let Some((offset, _)) = found {
            return Ok(Some(offset));
        }
    }
    Ok(None)
}

/// What is limited.
enum Measure {
    Records,
    Bytes,
}

impl Measure {
    fn of(&self, record: &Record<'_>) -> u64 {
        match self {
            Self::Records => 1,
            Self::Bytes => record.bytes(),
        }
    }
}

/// The records of a partition that are kept.
struct KeptRecords<'a> {
    partition: &'a Partition,
    snapshot: Snapshot,
    offsets: Range<u64>,
}

impl KeptRecords<'_> {
    /// The first offset from which on the records measure no more than that.
    fn floor_by(&self, measure: &Measure, most: u64) -> Result<u64> {
        let mut total = 0_u64;
        for stretch in self.stretches(measure)? {
            total = total.saturating_add(stretch?.1);
        }
        let mut surplus = total.saturating_sub(most);
        if surplus == 0 {
            return Ok(self.offsets.start);
        }
        let mut stretches = self.stretches(measure)?;
        let floor = loop {
            let Some(stretch) = stretches.next() else { return Ok(self.offsets.end) };
            let (first, measured) = stretch?;
            if surplus == 0 || surplus < measured {
                break first;
            }
            surplus -= measured;
        };
        self.floor_within(floor, |_, record| {
            let goes = surplus > 0;
            surplus = surplus.saturating_sub(measure.of(record));
            goes
        })
    }

    /// The first record in no full tile whose time is to come yet.
    fn first_to_come(&self, now_ns: i64) -> Result<Option<u64>> {
        let full = self.offsets.end - self.offsets.end % tiles::WIDTH;
        let partial = self.offsets.start.max(full)..self.offsets.end;
        let is_to_come = |time_ns: i64| time_ns > now_ns;
        first_record(&self.snapshot, self.partition.records, partial, is_to_come)
    }

    /// The first offset of a record that is not older than that.
    fn floor_by_age(&self, cutoff_ns: i64, seen: Option<SeenRecords>) -> Result<u64> {
        let mut floor = self.offsets.start;
        for tile in self.partition.tiles_in(&self.snapshot).spans(self.offsets.clone())? {
            let tile = tile?;
            if tile.youngest_ns() >= cutoff_ns {
                break;
            }
            floor = floor.max(tile.end());
        }
        self.floor_within(floor, |offset, record| {
            let seen_ns = seen.filter(|seen| offset < seen.end).map(|seen| seen.at_ns);
            let time_ns = record.timestamp_ns.unwrap_or(i64::MAX);
            seen_ns.map_or(time_ns, |seen_ns| time_ns.min(seen_ns)) < cutoff_ns
        })
    }

    /// The first offset from `floor` on of a record that doesn't go.
    fn floor_within(
        &self,
        floor: u64,
        mut goes: impl FnMut(u64, &Record<'_>) -> bool,
    ) -> Result<u64> {
        let mut floor = floor;
        for batch in records(&self.snapshot, self.partition.records, floor..self.offsets.end)? {
            for (offset, record) in Records::of(&batch?)?.iter() {
                if !goes(offset, &record) {
                    return Ok(offset);
                }
                floor = offset + 1;
            }
        }
        Ok(floor)
    }

    /// Neighbouring records, each with its first offset and what it measures, in order: tile by tile
    /// where tiles tell, record by record where some of a tile's are gone, or it isn't full yet.
    fn stretches(&self, measure: &Measure) -> Result<impl Iterator<Item = Result<(u64, u64)>>> {
        let Range { start, end } = self.offsets;
        let width = tiles::WIDTH;
        let full = end - end % width;
        let compacted = compacted_to(&self.snapshot, self.partition)?;
        let told = start.max(compacted).next_multiple_of(width).min(full).max(start);
        let behind = full.max(told);
        let tiles = self.partition.tiles_in(&self.snapshot).spans(told..behind)?;
        let tiles = tiles.map(move |tile| {
            let tile = tile?;
            Ok(match measure {
                Measure::Records => (tile.first, width),
                Measure::Bytes => (tile.first, tile.span.bytes),
            })
        });
        Ok(self
            .singly(start..told, measure)?
            .chain(tiles)
            .chain(self.singly(behind..end, measure)?))
    }

    fn singly(
        &self,
        offsets: Range<u64>,
        measure: &Measure,
    ) -> Result<impl Iterator<Item = Result<(u64, u64)>>> {
        let measured = |batch: Result<_>| -> Result<Vec<(u64, u64)>> {
            let records = Records::of(&batch?)?;
            Ok(records.iter().map(|(offset, record)| (offset, measure.of(&record))).collect())
        };
        let batches = records(&self.snapshot, self.partition.records, offsets)?;
        Ok(batches.flat_map(move |batch| match measured(batch) {
            Ok(each) => each.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        }))
    }
}
