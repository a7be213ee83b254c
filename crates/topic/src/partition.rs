//! One partition: its streams, and its state in memory for appending and proving.
//!
//! The right edge of its hash tree is derived from stored data when the partition is first used: at most 255
//! records and 255 roots for each level of tiles, however long the partition is. It changes only with a commit; when a
//! commit fails it is dropped, and derived again.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use arrow_schema::SchemaRef;
use timestrata_engine::planted::{Plant, is_planted};
use timestrata_engine::{
    Changes, Durability, Error, ErrorKind, KeyRange, LeadKey, Result, RowAppender, ScanSpec, SeqNo,
    Snapshot, Store, Stream, StreamId,
};
use timestrata_io::sync::{Mutex, MutexGuard};
use timestrata_merkle::{Edge, Hash, Place, TILE_HEIGHT, Tile, TileKind};

use super::envelope::{RecordPlace, write_envelope};
use super::options::TopicOptions;
use super::record::{self, Record, Records, record_schema};
use super::sender::Sender;
use super::state::{self, StateKind};
use super::tiles::{Earlier, NewTiles, Span, Tiles, WIDTH};

/// Idempotent producers whose last sequence is kept in memory; others' are read when they send.
const SENDERS_MAX: usize = 1_024;

/// A partition of a topic.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) topic: String,
    pub(super) number: u32,
    /// The topic's own stream.
    pub(super) state: StreamId,
    pub(super) records: StreamId,
    pub(super) tiles: StreamId,
    /// Entries of records that are gone, where the topic keeps them.
    pub(super) entries: Option<StreamId>,
    pub(super) schema: SchemaRef,
    live: Mutex<Live>,
}

pub(super) fn records_name(topic: &str, partition: u32) -> String {
    format!("{topic}/{partition}")
}

pub(super) fn tiles_name(topic: &str, partition: u32) -> String {
    format!("{topic}/{partition}t")
}

pub(super) fn entries_name(topic: &str, partition: u32) -> String {
    format!("{topic}/{partition}e")
}

/// What of a partition is in memory.
#[derive(Debug, Default)]
struct Live {
    /// Whether it was derived, and no commit has failed since.
    is_known: bool,
    edge: Edge,
    /// What the records of each level's partial tile span.
    spans: Vec<Span>,
    /// The first offset that is kept.
    floor: u64,
    envelope: Vec<u8>,
    /// Idempotent producers that sent lately.
    senders: HashMap<String, Sender>,
    /// The commit that it is of, where another process makes them.
    followed: Option<SeqNo>,
}

impl Partition {
    /// A partition of which nothing is in memory yet.
    pub(super) fn open(store: &Store, topic: &Stream, number: u32) -> Result<Self> {
        let name = topic.name();
        let id = |part: String| match store.stream(&part) {
            Some(stream) => Ok(stream.id()),
            None => Err(Error::new(
                ErrorKind::Corruption,
                format!(
                    "topic '{name}' is broken: its stream '{part}' was removed; remove the topic, then it \
                     can be made anew"
                ),
            )),
        };
        let keeps_entries = TopicOptions::of(topic)?.keep_entries;
        Ok(Self {
            topic: name.to_owned(),
            number,
            state: topic.id(),
            records: id(records_name(name, number))?,
            tiles: id(tiles_name(name, number))?,
            entries: keeps_entries.then(|| id(entries_name(name, number))).transpose()?,
            schema: record_schema(),
            live: Mutex::default(),
        })
    }

    /// The partition, for one caller at a time.
    pub(super) fn lock<'a>(&'a self, store: &Store) -> Result<LivePartition<'a>> {
        let mut live = self.live.lock();
        // What is in memory goes with the commits of this process; another's come by a refresh.
        let followed = match store.is_read_only() {
            true => Some(store.snapshot_of(self.records)?.seq()),
            false => None,
        };
        if !live.is_known || live.followed != followed {
            *live = Live { followed, ..self.restore(&self.snapshot(store)?)? };
        }
        Ok(LivePartition { partition: self, live })
    }

    /// All that the partition is made of, at one instant; the store may have thousands of others.
    pub(super) fn snapshot(&self, store: &Store) -> Result<Snapshot> {
        let parts = [self.state, self.records, self.tiles];
        store.snapshot_of_streams(&parts.into_iter().chain(self.entries).collect::<Vec<_>>())
    }

    /// Its full tiles as a snapshot has them.
    pub(super) fn tiles_in<'a>(&self, snapshot: &'a Snapshot) -> Tiles<'a> {
        Tiles { snapshot, stream: self.tiles }
    }

    /// Its offsets as keys tell them, of which runs know the last without reading a row.
    pub(super) fn offsets_by_keys(&self, store: &Store) -> Result<Range<u64>> {
        let snapshot = self.snapshot(store)?;
        let floor = state::find(&snapshot, self.state, StateKind::Floor, "", self.number)?;
        let floor = floor.map_or(0, |floor| floor.offset);
        let end = match snapshot.max_key(self.records, &KeyRange::ALL)? {
            Some(LeadKey::Offset(last)) => last.saturating_add(1),
            _ => 0,
        };
        // The last records may be gone, as later ones of their key stood for them.
        let full = self.tiles_in(&snapshot).leaves_of_all().unwrap_or(0);
        Ok(floor..end.max(full).max(floor))
    }

    /// The bytes that are hashed for a record.
    pub(super) fn entry(
        &self,
        offset: u64,
        timestamp_ns: i64,
        record: &Record<'_>,
        entry: &mut Vec<u8>,
    ) -> Result<()> {
        entry.clear();
        let topic = self.topic.as_str();
        let place = RecordPlace { topic, partition: self.number, offset, timestamp_ns };
        write_envelope(&place, record, entry)
    }

    /// Reads what is stored of the partition's end.
    fn restore(&self, snapshot: &Snapshot) -> Result<Live> {
        let full = self.tiles_in(snapshot).leaves_of_all()?;
        let mut live = Live { is_known: true, ..Live::default() };
        let floor = state::find(snapshot, self.state, StateKind::Floor, "", self.number)?;
        // Hashes of records that are gone, and that no full tile has.
        let mut gone = Vec::new();
        if let Some(floor) = floor {
            live.floor = floor.offset;
            gone = Hash::all_of(&floor.bytes.unwrap_or_default())
                .map_err(|error| self.damaged("its floor", &error))?;
            gone.truncate(usize::try_from(floor.offset.saturating_sub(full)).unwrap_or(0));
        }
        let mut partial = vec![Vec::new()];
        live.spans.push(Span::NONE);
        let mut left = full >> TILE_HEIGHT;
        let mut level = 0_u8;
        while left > 0 {
            let width = left % WIDTH;
            let (roots, span) = self.tiles_in(snapshot).roots(level, left - width..left)?;
            if roots.len() as u64 != width {
                return Err(self.first_lacking(snapshot, level, left - width..left)?);
            }
            partial.push(roots);
            live.spans.push(span);
            left >>= TILE_HEIGHT;
            level += 1;
        }
        live.edge = Edge::restore(full, partial)
            .ok_or_else(|| self.damaged("its tiles", &"they don't fit together"))?;
        for hash in gone {
            live.edge.append(hash, |_, _, _| {});
        }
        self.restore_records(snapshot, &mut live)?;
        Ok(live)
    }

    /// Hashes the records behind the last full tile.
    fn restore_records(&self, snapshot: &Snapshot, live: &mut Live) -> Result<()> {
        let first = live.edge.size();
        let range = KeyRange { lo: Some(LeadKey::Offset(first)), hi: None };
        let spec = ScanSpec { range, ..ScanSpec::default() };
        for batch in snapshot.scan(self.records, &spec)? {
            let records = Records::of(&batch?)?;
            let forgotten = usize::from(is_planted(Plant::OffsetTwice));
            for (offset, record) in records.iter().take(records.len().saturating_sub(forgotten)) {
                if offset != live.edge.size() {
                    let found = format!("offset {offset} where {} was due", live.edge.size());
                    return Err(self.damaged("its end", &found));
                }
                let time = record.timestamp_ns.unwrap_or(0);
                self.entry(offset, time, &record, &mut live.envelope)?;
                let span = Span::of(&record, time);
                if let Some(first) = live.spans.first_mut() {
                    *first = first.with(span);
                }
                live.edge.append(Hash::of_leaf(&live.envelope), |_, _, _| {});
            }
        }
        Ok(())
    }

    /// The error for a tile that is missing among these.
    fn first_lacking(&self, snapshot: &Snapshot, level: u8, indexes: Range<u64>) -> Result<Error> {
        for index in indexes.clone() {
            if self.tiles_in(snapshot).find(level, index)?.is_none() {
                return Ok(self.lacks(level, index));
            }
        }
        Ok(self.damaged("its tiles", &format!("tiles {level}/{indexes:?} are there twice")))
    }

    pub(super) fn lacks(&self, level: u8, index: u64) -> Error {
        self.damaged("its tiles", &format!("there is no tile {level}/{index}"))
    }

    fn damaged(&self, what: &str, why: &dyn fmt::Display) -> Error {
        Error::new(ErrorKind::Corruption, format!("{self}: {what}: {why}"))
    }
}

/// As errors name it.
impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "topic '{}' partition {}", self.topic, self.number)
    }
}

/// A partition that nobody else appends to meanwhile.
pub(super) struct LivePartition<'a> {
    partition: &'a Partition,
    live: MutexGuard<'a, Live>,
}

impl LivePartition<'_> {
    /// The offset that comes next, and how many leaves the tree has.
    pub(super) fn end(&self) -> u64 {
        self.live.edge.size()
    }

    /// How many of them are in full tiles.
    pub(super) fn full(&self) -> u64 {
        self.end() - self.end() % WIDTH
    }

    /// The first offset that is kept.
    pub(super) fn floor(&self) -> u64 {
        self.live.floor
    }

    /// The right edge of its tree.
    pub(super) fn edge(&self) -> Edge {
        self.live.edge.clone()
    }

    /// The leaves below `floor` that no full tile has.
    pub(super) fn partial_below(&self, floor: u64) -> Vec<Hash> {
        let hashes = self.live.edge.tile(0);
        let count = usize::try_from(floor.saturating_sub(self.full())).unwrap_or(usize::MAX);
        hashes.get(..count.min(hashes.len())).unwrap_or_default().to_vec()
    }

    /// The first offset that is kept is this from now on.
    pub(super) fn set_floor(&mut self, floor: u64) {
        self.live.floor = floor;
    }

    /// A node of the tree that no full tile has yet.
    pub(super) fn node(&self, place: Place) -> Option<Hash> {
        self.live.edge.node(place)
    }

    /// Adds to `changes` what appending these records, with these times, is; once that is committed they are to be
    /// [taken in](Self::take_in). Whoever can't commit it must [`forget`](Self::forget).
    pub(super) fn stage(
        &mut self,
        store: &Store,
        records: &[&Record<'_>],
        times: &[i64],
        now_ns: i64,
        changes: &mut Changes,
    ) -> Result<()> {
        let (partition, first) = (self.partition, self.end());
        // Full tiles are part of the commit.
        let tiles = match self.fills_a_tile(records.len()) {
            true => self.hash(records, times)?,
            false => NewTiles::default(),
        };
        if record::are_rows(records) {
            let encoder = store.row_encoder(partition.records)?;
            for ((offset, time), record) in (first..).zip(times).zip(records) {
                encoder.put(changes, &record::cells(offset, *time, record))?;
            }
        } else {
            let batch = record::to_batch(&partition.schema, first, times.to_vec(), records)?;
            *changes = std::mem::take(changes).insert(partition.records, batch);
        }
        if !tiles.is_empty() {
            let rows = tiles.into_batch(now_ns)?;
            *changes = std::mem::take(changes).insert(partition.tiles, rows);
        }
        Ok(())
    }

    /// Takes in the records from `first` on, which have been committed, if [staging](Self::stage) them didn't. Large ones are
    /// on their way to the disk meanwhile, and to hash them takes half as long as that.
    pub(super) fn take_in(
        &mut self,
        first: u64,
        records: &[&Record<'_>],
        times: &[i64],
    ) -> Result<()> {
        if self.end() == first {
            self.hash(records, times)?;
        }
        Ok(())
    }

    /// Whether so many more records fill a tile.
    fn fills_a_tile(&self, records: usize) -> bool {
        self.end() % WIDTH + records as u64 >= WIDTH
    }

    /// Appends records to the tree; gives the tiles that they fill.
    fn hash(&mut self, records: &[&Record<'_>], times: &[i64]) -> Result<NewTiles> {
        let (partition, live) = (self.partition, &mut *self.live);
        let mut tiles = NewTiles::default();
        for (record, &time) in records.iter().zip(times) {
            partition.entry(live.edge.size(), time, record, &mut live.envelope)?;
            let leaf = Hash::of_leaf(&live.envelope);
            live.append(leaf, Span::of(record, time), &mut tiles);
        }
        Ok(tiles)
    }

    /// Appends one record without headers as a row, in the hope that it fills no tile; `None`, and nothing
    /// was written, if it does, or is too large for a row. Whoever has an error must
    /// [`forget`](Self::forget).
    pub(super) fn append_alone(
        &mut self,
        appender: &mut RowAppender,
        record: &Record<'_>,
        time: i64,
        durability: Durability,
    ) -> Result<Option<SeqNo>> {
        if self.fills_a_tile(1) {
            return Ok(None);
        }
        let offset = self.end();
        match appender.append_leaving_sync(&record::cells(offset, time, record), durability) {
            Ok(seq) => {
                self.take_in(offset, &[record], &[time])?;
                Ok(Some(seq))
            }
            Err(error) if error.kind() == ErrorKind::TooLarge => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives up what is in memory, which is ahead of what is stored.
    pub(super) fn forget(mut self) {
        *self.live = Live::default();
    }

    /// What an idempotent producer sent last.
    pub(super) fn sender(&self, store: &Store, id: &str) -> Result<Sender> {
        let partition = self.partition;
        if let Some(sender) = self.live.senders.get(id) {
            return Ok(sender.clone());
        }
        let snapshot = store.snapshot_of(partition.state)?;
        let row =
            state::find(&snapshot, partition.state, StateKind::Producer, id, partition.number)?;
        row.map_or_else(|| Ok(Sender::default()), |row| Sender::of(&row))
    }

    /// Remembers what an idempotent producer sent last.
    pub(super) fn set_sender(&mut self, id: &str, sender: Sender) {
        let senders = &mut self.live.senders;
        if senders.len() >= SENDERS_MAX {
            senders.clear();
        }
        senders.insert(id.to_owned(), sender);
    }
}

impl Live {
    /// Adds a leaf, and to `tiles` what it fills.
    fn append(&mut self, leaf: Hash, span: Span, tiles: &mut NewTiles) {
        let Self { edge, spans, .. } = self;
        let mut carried = span;
        add(spans, 0, carried);
        edge.append(leaf, |tile: Tile, subtree, roots| {
            let TileKind::Hashes(level) = tile.kind else { return };
            let level = usize::from(level);
            carried = spans.get(level).copied().unwrap_or(carried);
            // Tiles of leaves are many, and lie side by side.
            let earlier = (level > 0).then(|| {
                let span = spans.get(level + 1).copied().unwrap_or(Span::NONE);
                Earlier { roots: roots.to_vec(), span }
            });
            tiles.push(tile, subtree, carried, earlier.as_ref());
            if let Some(span) = spans.get_mut(level) {
                *span = Span::NONE;
            }
            add(spans, level + 1, carried);
        });
    }
}

/// Adds to what the partial tile of a level spans.
fn add(spans: &mut Vec<Span>, level: usize, span: Span) {
    if spans.len() <= level {
        spans.resize(level + 1, Span::NONE);
    }
    if let Some(of_level) = spans.get_mut(level) {
        *of_level = of_level.with(span);
    }
}
