//! The stream of a partition's hash tiles: one row a full tile, committed with the record that fills
//! it.
//!
//! Such a tree has a hash for each record at its bottom, and each node above is the hash of two. It is cut into
//! tiles of 256 hashes (`timestrata_merkle` draws them); only full ones are rows. The right edge, which is not
//! full yet, is made anew from the last records when a partition is opened. With 70,000 records:
//!
//! ```text
//!   level 1    [ row 524289: roots of tiles 0 to 255 ] [ 17 roots in memory  )
//!                 |                              |         |            |
//!   level 0    [ 2048 ] [ 4096 ]  ...    [ 524288 ]    [ 526336 ] ... [ 559104 ] [ 112 hashes in memory )
//!              records  records          records        records        records     records
//!              0-255    256-511          65280-65535    65536-65791    69632-69887 69888-69999
//! ```
//!
//! A row's key is where its tile ends, in leaves, times eight, and its level: tile 0 of level 0 ends behind leaf
//! 255, so its key is 256 * 8 + 0 = 2048; tile 0 of level 1 ends where tile 255 of level 0 does, and its key,
//! 65,536 * 8 + 1, stands right behind that one's. So rows are only ever added behind the last.
//!
//! To prove that record 300 is among the 70,000, 17 hashes are needed: those beside its way up to the root. Eight
//! of them come from the row 4096 and eight from the row 524289; the last one is made of the edge in memory.
//!
//! With the tile's 256 hashes a row keeps the sixteen nodes four levels above them (a proof hashes 22 nodes of a
//! tile then, and not 247) and its root, and what time and bytes its records span. Above the leaves, where there
//! is one row for 65,536 records, it keeps all nodes, and the roots of those before it: rows of one level lie far
//! apart there, and opening a partition reads one of them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeBinaryArray, Int64Array, RecordBatch, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    BLOCK_ROWS_PROPERTY, COLD_BLOCK_ROWS_PROPERTY, Cell, Error, ErrorKind, KeyRange, LeadKey,
    Result, Row, ScanSpec, Snapshot, StreamId, StreamSpec,
};
use timestrata_merkle::{Hash, Subtree, TILE_HEIGHT, TILE_WIDTH, Tile, TileKind};

use super::options;
use super::record::Record;

/// Records of a full tile.
pub(super) const WIDTH: u64 = TILE_WIDTH as u64;

/// A key is the leaf behind a tile, and the tile's level in these bits.
const LEVEL_BITS: u32 = 3;
/// Level within a tile of the nodes that are stored with its hashes.
const MIDDLE_LEVEL: u8 = TILE_HEIGHT / 2;
/// How many those are.
const MIDDLE_NODES: usize = TILE_WIDTH >> MIDDLE_LEVEL;
/// Bytes of all nodes of a tile, level by level.
const ALL_NODES_BYTES: usize = (2 * TILE_WIDTH - 1) * Hash::BYTES;
/// Bytes of the nodes that are stored of a tile of leaves.
const NODES_BYTES: usize = (TILE_WIDTH + MIDDLE_NODES) * Hash::BYTES;
/// Bytes of a span behind the roots of earlier tiles.
const SPAN_BYTES: usize = 24;
/// Rows of a block: half a megabyte, which is verified for the first proof in it. Fewer would be
/// verified sooner, and decoded more often.
const BLOCK_ROWS: usize = 64;
/// And of one that was compacted: two megabytes. That is what a compaction holds of a tree, however large it
/// is, and what is verified for the first proof.
const COLD_BLOCK_ROWS: usize = 256;

mod column {
    pub(super) const PLACE: usize = 0;
    pub(super) const HASHES: usize = 1;
    pub(super) const ROOT: usize = 2;
    /// The first of three that tell what its records span: the largest time and the bytes come behind it.
    pub(super) const TIME_MIN: usize = 3;
    pub(super) const APPENDED: usize = 6;
}

/// What the records of a tile span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// Least and greatest time, nanoseconds since the epoch.
    pub(super) time_min: i64,
    pub(super) time_max: i64,
    /// Bytes of keys, values and headers.
    pub(super) bytes: u64,
}

/// The full tiles of a level before one, back to where the tile above them begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Earlier {
    pub(super) roots: Vec<Hash>,
    /// What the records of all of them span.
    pub(super) span: Span,
}

impl Earlier {
    /// Behind the nodes of a tile: nothing, or the roots and the span.
    fn write(&self, bytes: &mut Vec<u8>) {
        if self.roots.is_empty() {
            return;
        }
        bytes.extend(self.roots.iter().flat_map(|root| root.0));
        bytes.extend(self.span.time_min.to_be_bytes());
        bytes.extend(self.span.time_max.to_be_bytes());
        bytes.extend(self.span.bytes.to_be_bytes());
    }

    /// `None` for other bytes than [`write`](Self::write) makes.
    fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self { roots: Vec::new(), span: Span::NONE });
        }
        let (roots, span) = bytes.split_at_checked(bytes.len().checked_sub(SPAN_BYTES)?)?;
        let ([time_min, time_max, bytes], []) = span.as_chunks::<8>() else { return None };
        let span = Span {
            time_min: i64::from_be_bytes(*time_min),
            time_max: i64::from_be_bytes(*time_max),
            bytes: u64::from_be_bytes(*bytes),
        };
        Some(Self { roots: Hash::all_of(roots).ok()?, span })
    }
}

/// A full tile of leaves without its hashes: the first offset of its records, its root, what they span, and the
/// store's clock when the last came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeafTile {
    pub(super) first: u64,
    root: Hash,
    pub(super) span: Span,
    pub(super) appended_ns: i64,
}

impl LeafTile {
    /// Behind the last of its records.
    pub(super) fn end(&self) -> u64 {
        self.first.saturating_add(WIDTH)
    }

    /// The youngest of its records by their times, of which none counts that was to come yet when it
    /// was appended: else one wrong clock would keep everything for ever.
    pub(super) fn youngest_ns(&self) -> i64 {
        self.span.time_max.min(self.appended_ns)
    }
}

impl Span {
    /// Of no record.
    pub(super) const NONE: Self = Self { time_min: i64::MAX, time_max: i64::MIN, bytes: 0 };

    pub(super) fn of(record: &Record<'_>, time: i64) -> Self {
        Self { time_min: time, time_max: time, bytes: record.bytes() }
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self {
            time_min: self.time_min.min(other.time_min),
            time_max: self.time_max.max(other.time_max),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

fn schema() -> SchemaRef {
    let root_bytes = i32::try_from(Hash::BYTES).unwrap_or(i32::MAX);
    Arc::new(Schema::new(vec![
        Field::new("place", DataType::UInt64, false),
        Field::new("hashes", DataType::Binary, false),
        Field::new("root", DataType::FixedSizeBinary(root_bytes), false),
        Field::new("time_min", DataType::Int64, false),
        Field::new("time_max", DataType::Int64, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("appended", DataType::Int64, false),
    ]))
}

/// The stream of a partition's tiles.
pub(super) fn spec(name: String) -> StreamSpec {
    let mut properties = options::part_properties();
    properties.push((BLOCK_ROWS_PROPERTY.to_owned(), BLOCK_ROWS.to_string()));
    properties.push((COLD_BLOCK_ROWS_PROPERTY.to_owned(), COLD_BLOCK_ROWS.to_string()));
    StreamSpec { properties, ..StreamSpec::new(name, schema()) }
}

/// The key of a full tile, by its level and index.
fn key_of(level: u8, index: u64) -> Option<u64> {
    let leaves = (u32::from(level) + 1) * u32::from(TILE_HEIGHT);
    let end = index.checked_add(1)?.checked_mul(1_u64.checked_shl(leaves)?)?;
    end.checked_mul(1 << LEVEL_BITS)?.checked_add(level.into())
}

/// Rows of tiles that records have filled, not committed yet.
#[derive(Debug, Default)]
pub(super) struct NewTiles {
    places: Vec<u64>,
    hashes: Vec<Vec<u8>>,
    roots: Vec<[u8; Hash::BYTES]>,
    spans: Vec<Span>,
}

impl NewTiles {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds a full tile; one above the leaves with what is before it. Of leaves that isn't kept: it would
    /// cost a twentieth of the records' space.
    pub(super) fn push(
        &mut self,
        tile: Tile,
        subtree: &Subtree,
        span: Span,
        earlier: Option<&Earlier>,
    ) {
        let TileKind::Hashes(level) = tile.kind else { return };
        let root = subtree.node(TILE_HEIGHT, 0);
        let (Some(place), Some(root)) = (key_of(level, tile.index), root) else { return };
        let mut bytes = nodes_of(subtree, earlier.is_some());
        if let Some(earlier) = earlier {
            earlier.write(&mut bytes);
        }
        self.places.push(place);
        self.hashes.push(bytes);
        self.roots.push(root.0);
        self.spans.push(span);
    }

    /// The rows, appended at this time.
    pub(super) fn into_batch(self, now_ns: i64) -> Result<RecordBatch> {
        let unmade = |error| {
            Error::new(ErrorKind::InvalidData, "the tiles make no columns").caused_by(error)
        };
        let roots = FixedSizeBinaryArray::try_from_iter(self.roots.into_iter()).map_err(unmade)?;
        let times = |of: fn(&Span) -> i64| Int64Array::from_iter_values(self.spans.iter().map(of));
        let tiles = self.places.len();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(self.places)),
            Arc::new(BinaryArray::from_iter_values(self.hashes)),
            Arc::new(roots),
            Arc::new(times(|span| span.time_min)),
            Arc::new(times(|span| span.time_max)),
            Arc::new(UInt64Array::from_iter_values(self.spans.iter().map(|span| span.bytes))),
            Arc::new(Int64Array::from_iter_values(std::iter::repeat_n(now_ns, tiles))),
        ];
        RecordBatch::try_new(schema(), columns).map_err(unmade)
    }
}

/// The nodes that are stored of a full tile: all of them, or those of two levels.
fn nodes_of(subtree: &Subtree, all: bool) -> Vec<u8> {
    let levels = (0..=TILE_HEIGHT).filter(|level| all || [0, MIDDLE_LEVEL].contains(level));
    levels.flat_map(|level| subtree.at_level(level)).flat_map(|hash| hash.0).collect()
}

/// What the bytes of a row are.
struct TileParts<'a> {
    nodes: &'a [u8],
    /// Whether those are all nodes of the tile.
    all: bool,
    /// What [`Earlier::write`] made.
    earlier: &'a [u8],
}

/// A full tile as it is stored.
#[derive(Debug, Clone)]
pub(super) struct StoredTile {
    row: Row,
}

impl StoredTile {
    /// What its records span.
    pub(super) fn span(&self) -> Result<Span> {
        let spans = spans_in(&self.row.batch, column::TIME_MIN);
        spans.and_then(|mut spans| spans.nth(self.row.index)).ok_or_else(|| self.bad())
    }

    /// The tile's hashes.
    pub(super) fn hashes(&self) -> Result<Vec<Hash>> {
        let nodes = self.parts()?.nodes;
        let bytes = nodes.get(..TILE_WIDTH * Hash::BYTES).ok_or_else(|| self.bad())?;
        Hash::all_of(bytes).map_err(|_| self.bad())
    }

    /// A complete node in the tile, by its level there and its index at that level.
    pub(super) fn node(&self, level: u8, index: usize) -> Result<Hash> {
        let TileParts { nodes, all, .. } = self.parts()?;
        let (from, below) = match level.checked_sub(MIDDLE_LEVEL) {
            // Each level has half as many nodes as the one below it.
            _ if all => (2 * TILE_WIDTH - ((2 * TILE_WIDTH) >> level.min(TILE_HEIGHT)), 0),
            Some(below) => (TILE_WIDTH, below),
            None => (0, level),
        };
        let count = 1 << below;
        let first = (from + index * count) * Hash::BYTES;
        let bytes = nodes.get(first..first + count * Hash::BYTES);
        let (hashes, _) = bytes.ok_or_else(|| self.bad())?.as_chunks::<{ Hash::BYTES }>();
        // Sixteen at most; each pair becomes one, in place, until one is left.
        let mut nodes = [Hash([0; Hash::BYTES]); TILE_WIDTH >> MIDDLE_LEVEL];
        nodes.iter_mut().zip(hashes).for_each(|(node, bytes)| *node = Hash(*bytes));
        for level in (0..below).rev() {
            for pair in 0..1 << level {
                if let (Some(left), Some(right)) = (nodes.get(2 * pair), nodes.get(2 * pair + 1)) {
                    let above = Hash::of_node(*left, *right);
                    nodes.get_mut(pair).map(|node| *node = above).ok_or_else(|| self.bad())?;
                }
            }
        }
        nodes.first().copied().ok_or_else(|| self.bad())
    }

    fn column(&self, index: usize) -> Option<&ArrayRef> {
        self.row.batch.columns().get(index)
    }

    /// Whether it is what these hashes make, with these roots before it.
    pub(super) fn is_of(&self, subtree: &Subtree, roots: &[Hash]) -> Result<bool> {
        let TileParts { nodes, all, .. } = self.parts()?;
        let earlier = self.earlier()?.roots;
        let is_of_roots = earlier.is_empty() || earlier == roots;
        let root = subtree.node(TILE_HEIGHT, 0);
        Ok(nodes == nodes_of(subtree, all) && Some(self.root()?) == root && is_of_roots)
    }

    fn root(&self) -> Result<Hash> {
        let roots = self.column(column::ROOT).and_then(|roots| roots.as_fixed_size_binary_opt());
        let root = roots.and_then(|roots| roots.value(self.row.index).try_into().ok());
        root.map(Hash).ok_or_else(|| self.bad())
    }

    /// What it says of the tiles before it.
    fn earlier(&self) -> Result<Earlier> {
        Earlier::read(self.parts()?.earlier).ok_or_else(|| self.bad())
    }

    /// Rows of tiles above the leaves that were written first are as those of leaves.
    fn parts(&self) -> Result<TileParts<'_>> {
        let bytes = self.bytes()?;
        if bytes.len() == NODES_BYTES {
            return Ok(TileParts { nodes: bytes, all: false, earlier: &[] });
        }
        let whole = bytes.split_at_checked(ALL_NODES_BYTES);
        let (nodes, earlier) = whole.ok_or_else(|| self.bad())?;
        Ok(TileParts { nodes, all: true, earlier })
    }

    fn bytes(&self) -> Result<&[u8]> {
        let hashes = self.column(column::HASHES).and_then(|hashes| hashes.as_binary_opt::<i32>());
        hashes.map(|hashes| hashes.value(self.row.index)).ok_or_else(|| self.bad())
    }

    fn bad(&self) -> Error {
        let places = self.column(column::PLACE).and_then(|p| p.as_primitive_opt::<UInt64Type>());
        let place = places.map_or(0, |places| places.value(self.row.index));
        let what = format!("the stored hash tile {place} has other columns or fewer hashes");
        Error::new(ErrorKind::Corruption, what)
    }
}

/// The full tiles of a partition as they are stored at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tiles<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) stream: StreamId,
}

impl Tiles<'_> {
    /// A tile; `None` if it is not stored.
    pub(super) fn find(self, level: u8, index: u64) -> Result<Option<StoredTile>> {
        let Some(key) = key_of(level, index) else { return Ok(None) };
        Ok(self.snapshot.get(self.stream, &[Cell::UInt(key)])?.map(|row| StoredTile { row }))
    }

    /// How many leaves all full tiles together have.
    pub(super) fn leaves_of_all(self) -> Result<u64> {
        let last = self.snapshot.max_key(self.stream, &KeyRange::ALL)?;
        Ok(match last {
            Some(LeadKey::Offset(place)) => place >> LEVEL_BITS,
            _ => 0,
        })
    }

    /// The roots of full tiles of a level, and what their records span; fewer where tiles are missing.
    pub(super) fn roots(self, level: u8, indexes: Range<u64>) -> Result<(Vec<Hash>, Span)> {
        match level {
            _ if indexes.is_empty() => Ok((Vec::new(), Span::NONE)),
            0 => self.roots_of_leaves(indexes),
            _ => self.roots_above(level, indexes),
        }
    }

    /// Tiles of leaves lie side by side.
    fn roots_of_leaves(self, indexes: Range<u64>) -> Result<(Vec<Hash>, Span)> {
        let (mut found, mut all) = (Vec::new(), Span::NONE);
        let key = |index: u64| Some(LeadKey::Offset(key_of(0, index)?));
        for tile in self.of_leaves(KeyRange { lo: key(indexes.start), hi: key(indexes.end) })? {
            let tile = tile?;
            found.push(tile.root);
            all = all.with(tile.span);
        }
        Ok((found, all))
    }

    /// Tiles above leaves lie far apart, and know those before them.
    fn roots_above(self, level: u8, indexes: Range<u64>) -> Result<(Vec<Hash>, Span)> {
        let (mut found, mut all) = (Vec::new(), Span::NONE);
        let mut left = indexes;
        while !left.is_empty() {
            let Some(tile) = self.find(level, left.end - 1)? else { break };
            let Earlier { roots, span } = tile.earlier()?;
            left.end = (left.end - 1)
                .checked_sub(roots.len() as u64)
                .filter(|end| *end >= left.start)
                .ok_or_else(|| tile.bad())?;
            // From the last to the first.
            found.push(tile.root()?);
            found.extend(roots.into_iter().rev());
            all = all.with(tile.span()?).with(span);
        }
        found.reverse();
        Ok((found, all))
    }

    /// The full tiles of leaves that have any of these offsets, in order.
    pub(super) fn spans(
        self,
        offsets: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<LeafTile>>> {
        let first_end = (offsets.start / WIDTH + 1).saturating_mul(WIDTH);
        let last_end = offsets.end.max(first_end - 1);
        let key = |end: u64| Some(LeadKey::Offset(end.saturating_mul(1 << LEVEL_BITS)));
        self.of_leaves(KeyRange { lo: key(first_end), hi: key(last_end.saturating_add(1)) })
    }

    /// The full tiles of leaves among rows with these keys, in order. Of their hashes nothing is read.
    fn of_leaves(self, range: KeyRange) -> Result<impl Iterator<Item = Result<LeafTile>>> {
        let columns = (0..=column::APPENDED).filter(|column| *column != column::HASHES).collect();
        let spec = ScanSpec { range, columns: Some(columns), ..ScanSpec::default() };
        let rows = self.snapshot.scan(self.stream, &spec)?.flat_map(|batch| match batch {
            Ok(batch) => leaf_tiles_in(&batch).unwrap_or_else(|| {
                let what = "a partition's tiles have other columns";
                vec![Err(Error::new(ErrorKind::Corruption, what))]
            }),
            Err(error) => vec![Err(error)],
        });
        Ok(rows)
    }
}

/// What the records of each row's tile span, which three columns from `first` on have; `None` for other columns.
fn spans_in(batch: &RecordBatch, first: usize) -> Option<impl Iterator<Item = Span>> {
    let time = |index: usize| batch.columns().get(index)?.as_primitive_opt::<Int64Type>();
    let (mins, maxs) = (time(first)?.values(), time(first + 1)?.values());
    let bytes = batch.columns().get(first + 2)?.as_primitive_opt::<UInt64Type>()?.values();
    let rows = mins.iter().zip(maxs).zip(bytes);
    Some(rows.map(|((min, max), bytes)| Span { time_min: *min, time_max: *max, bytes: *bytes }))
}

/// The rows of full tiles of leaves; `None` for other columns.
fn leaf_tiles_in(batch: &RecordBatch) -> Option<Vec<Result<LeafTile>>> {
    let places = batch.columns().first()?.as_primitive_opt::<UInt64Type>()?.values();
    let roots = batch.columns().get(1)?.as_fixed_size_binary_opt()?;
    let appended = batch.columns().get(5)?.as_primitive_opt::<Int64Type>()?.values();
    let rows = places.iter().zip(roots).zip(spans_in(batch, 2)?).zip(appended);
    let of_leaves = rows.filter(|(((place, _), _), _)| **place % (1 << LEVEL_BITS) == 0);
    let tiles = of_leaves.map(|(((place, root), span), appended_ns)| {
        let first = (place >> LEVEL_BITS).checked_sub(WIDTH)?;
        let root = Hash(root?.try_into().ok()?);
        Some(Ok(LeafTile { first, root, span, appended_ns: *appended_ns }))
    });
    tiles.collect()
}
