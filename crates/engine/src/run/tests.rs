//! Runs written and read back, whole.

mod aggregates;
mod ahead;
mod damage;
mod groups;
mod parts;
mod pieces;
mod pruning;
mod ranges;
mod selected;
mod types;
mod undamaged;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::SchemaRef;
use timestrata_format::manifest::Merge;
use timestrata_format::{RunFormat, RunId, RunMeta, SeqNo, StoreId, StreamId};
use timestrata_io::Io;

use super::{BlockCache, Lineage, Provenance, RunReader, RunWriter};
use crate::scan::Source;
use crate::{ErrorKind, Result, SERIES_PROPERTY, Settings, Stream, StreamSpec};

const STORE: StoreId = StoreId([9; 16]);
const FORMATS: [RunFormat; 2] = [RunFormat::Hot, RunFormat::Cold];

const PROVENANCE: Provenance = Provenance {
    seq_min: SeqNo(3),
    seq_max: SeqNo(8),
    tombstones_applied_through: SeqNo(2),
    level: 1,
    created_wall_ns: 1_700_000_000_000_000_000,
};

/// A place for runs of one stream.
struct Place {
    io: Io,
    dir: PathBuf,
    stream: Arc<Stream>,
    settings: Settings,
    cache: Arc<BlockCache>,
}

impl Place {
    fn new(schema: SchemaRef) -> Self {
        Self::with_key(schema, &[], Merge::Keep)
    }

    /// `more_key` are key columns behind the first column.
    fn with_key(schema: SchemaRef, more_key: &[&str], merge: Merge) -> Self {
        let mut spec = StreamSpec::new("s", schema);
        spec.key.extend(more_key.iter().map(|name| (*name).to_owned()));
        spec.merge = merge;
        let io = Io::memory();
        let dir = PathBuf::from("/store/runs");
        io.disk.create_dir(&dir).unwrap();
        let settings = Settings { run_batch_rows: 100, ..Settings::default() };
        let stream = Arc::new(Stream::new(StreamId(7), spec).unwrap());
        Self { io, dir, stream, settings, cache: Arc::new(BlockCache::new(1 << 24)) }
    }

    /// Whose rows are told apart by these columns.
    fn by_series(schema: SchemaRef, columns: &[&str]) -> Self {
        let mut place = Self::new(schema);
        let mut spec = place.stream.spec().clone();
        let named = columns.iter().map(|name| (SERIES_PROPERTY.to_owned(), (*name).to_owned()));
        spec.properties.extend(named);
        place.stream = Arc::new(Stream::new(StreamId(7), spec).unwrap());
        place
    }

    /// With these rows as run 1.
    fn holding(rows: &RecordBatch, format: RunFormat) -> (Self, RunMeta) {
        let place = Self::new(rows.schema());
        let meta = place.write(1, format, std::slice::from_ref(rows));
        (place, meta)
    }

    fn writer(&self, id: u64, format: RunFormat) -> Result<RunWriter> {
        let (id, settings) = (RunId(id), &self.settings);
        RunWriter::create(&self.io, &self.dir, STORE, &self.stream, id, format, settings)
    }

    fn write(&self, id: u64, format: RunFormat, batches: &[RecordBatch]) -> RunMeta {
        let mut writer = self.writer(id, format).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.finish(PROVENANCE, Lineage::default()).unwrap()
    }

    fn reader(&self, meta: &RunMeta) -> RunReader {
        self.reader_with(meta, &Arc::new(BlockCache::new(1 << 24)))
    }

    /// One that keeps what it decodes in that cache.
    fn reader_with(&self, meta: &RunMeta, cache: &Arc<BlockCache>) -> RunReader {
        let (path, cache) = (self.path(meta), Arc::clone(cache));
        RunReader::open(&self.io, path, STORE, &self.stream, meta.clone(), cache).unwrap()
    }

    fn path(&self, meta: &RunMeta) -> PathBuf {
        self.dir.join(super::file_name(meta.id, meta.format))
    }

    fn bytes(&self, path: &Path) -> Vec<u8> {
        let file = self.io.disk.open(path, timestrata_io::OpenMode::Read).unwrap();
        file.map().unwrap().to_vec()
    }
}

/// All rows, all columns.
fn read_all(reader: &RunReader) -> Result<RecordBatch> {
    let schema = reader.stream().stored_schema().clone();
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    let blocks = reader.blocks()?.len();
    let batches: Vec<_> =
        (0..blocks).map(|block| reader.read(block, &columns)).collect::<Result<_>>()?;
    Ok(arrow_select::concat::concat_batches(&schema, &batches).unwrap())
}

fn batch_of<const N: usize>(columns: [(&str, ArrayRef, bool); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// A time, a float that may be missing, and a text.
fn series(rows: i64) -> RecordBatch {
    let values = (0..rows).map(|row| (row % 7 != 3).then_some(row as f64 / 3.0));
    let texts = (0..rows).map(|row| Some(format!("sensor-{}", row % 5)));
    batch_of([
        ("t", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row * 10 - 500))), false),
        ("v", Arc::new(Float64Array::from_iter(values)), true),
        ("s", Arc::new(StringArray::from_iter(texts)), true),
    ])
}

fn id16(row: u64) -> [u8; 16] {
    u128::from(row).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes()
}

/// Sorted ids that are spread over all values, and a payload.
fn ids(rows: u64) -> RecordBatch {
    let mut ids: Vec<_> = (0..rows).map(id16).collect();
    ids.sort_unstable();
    let payload = (0..rows).collect::<Vec<_>>();
    batch_of([
        ("id", Arc::new(FixedSizeBinaryArray::try_from_iter(ids.iter()).unwrap()), false),
        ("n", Arc::new(UInt64Array::from(payload)), false),
    ])
}

#[test]
fn rows_come_back_as_written() {
    let rows = series(1234);
    for format in FORMATS {
        let place = Place::new(rows.schema());
        let meta = place.write(0x2a, format, &[rows.slice(0, 50), rows.slice(50, 1184)]);
        assert_eq!((meta.rows, meta.level, meta.format), (1234, 1, format));
        assert_eq!((meta.seq_min, meta.seq_max), (SeqNo(3), SeqNo(8)));
        let bytes = place.bytes(&place.path(&meta));
        assert_eq!(bytes.len() as u64, meta.file_bytes);
        assert_eq!(timestrata_format::checksum::crc32c(&bytes), meta.file_crc);
        let reader = place.reader(&meta);
        assert_eq!(read_all(&reader).unwrap(), rows);
        assert_eq!(read_all(&reader).unwrap(), rows, "a second time, from memory");
        assert!(reader.blocks().unwrap().iter().all(|block| block.rows <= 100));
        let report = reader.verify_all().unwrap();
        assert_eq!((report.rows, report.bytes), (1234, meta.file_bytes));
    }
}

#[test]
fn every_kind_of_leading_key_comes_back_with_its_zone_maps() {
    let n = 250_u64;
    let offsets: ArrayRef =
        Arc::new(UInt64Array::from_iter_values((0..n).map(|row| u64::MAX - n + 1 + row)));
    let ends: ArrayRef = Arc::new(Int64Array::from_iter_values(
        std::iter::once(i64::MIN).chain(0..n as i64 - 2).chain([i64::MAX]),
    ));
    let wide: Vec<[u8; 32]> = (0..n).map(|row| [row as u8; 32]).collect();
    let wide: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(wide.iter()).unwrap());
    let ids = ids(n);
    for keys in [offsets, ends, wide, ids.column(0).clone()] {
        let rows = batch_of([("k", keys, false), ("n", ids.column(1).clone(), false)]);
        for format in FORMATS {
            let (place, meta) = Place::holding(&rows, format);
            let reader = place.reader(&meta);
            assert_eq!(read_all(&reader).unwrap(), rows);
            let view = crate::key::KeyView::of(&place.stream, &rows).unwrap();
            let blocks = reader.blocks().unwrap();
            assert_eq!(blocks.len(), 3);
            assert_eq!((blocks[1].key_min, blocks[1].key_max), (view.get(100), view.get(199)));
            assert_eq!((reader.key_min(), reader.key_max()), (view.get(0), view.get(249)));
            reader.verify_all().unwrap();
        }
    }
}

#[test]
fn a_stream_of_latest_rows_counts_its_delete_markers() {
    let rows = series(300);
    for format in FORMATS {
        let place = Place::with_key(rows.schema(), &[], Merge::Latest);
        let marks: ArrayRef =
            Arc::new((0..300).map(|row| Some(row % 3 == 0)).collect::<arrow_array::BooleanArray>());
        let mut columns = rows.columns().to_vec();
        columns.push(marks);
        let stored = RecordBatch::try_new(place.stream.stored_schema().clone(), columns).unwrap();
        let meta = place.write(1, format, &[stored.slice(0, 130), stored.slice(130, 170)]);
        assert_eq!(meta.delete_markers, 100);
        let reader = place.reader(&meta);
        assert_eq!(read_all(&reader).unwrap(), stored);
        reader.verify_all().unwrap();
    }
}

#[test]
fn an_abandoned_run_leaves_no_file() {
    let rows = series(500);
    for format in FORMATS {
        let place = Place::new(rows.schema());
        let mut writer = place.writer(1, format).unwrap();
        writer.write(&rows).unwrap();
        writer.sync_data().unwrap();
        assert!(writer.bytes_written() > 0);
        drop(writer);
        assert!(place.io.disk.list(&place.dir).unwrap().is_empty());
    }
}

#[test]
fn a_run_never_overwrites_another() {
    let rows = series(5);
    let (place, meta) = Place::holding(&rows, RunFormat::Hot);
    assert_eq!(place.writer(1, RunFormat::Hot).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(read_all(&place.reader(&meta)).unwrap(), rows);
}

#[test]
fn an_open_run_outlives_its_name() {
    let rows = series(500);
    for format in FORMATS {
        let (place, meta) = Place::holding(&rows, format);
        let reader = place.reader(&meta);
        reader.blocks().unwrap();
        place.io.disk.remove(&place.path(&meta)).unwrap();
        assert_eq!(read_all(&reader).unwrap(), rows);
    }
}

#[test]
#[should_panic(expected = "in key order")]
fn rows_out_of_order_never_reach_the_disk() {
    let rows = series(10);
    let place = Place::new(rows.schema());
    let mut writer = place.writer(1, RunFormat::Hot).unwrap();
    writer.write(&rows.slice(5, 5)).unwrap();
    let _ = writer.write(&rows.slice(0, 5));
}

#[test]
fn the_same_batches_give_the_same_bytes() {
    let rows = series(700);
    for format in FORMATS {
        let pieces: Vec<_> = (0..35).map(|piece| rows.slice(piece * 20, 20)).collect();
        let (place, other) = (Place::new(rows.schema()), Place::new(rows.schema()));
        let (one, two) = (place.write(1, format, &pieces), other.write(1, format, &pieces));
        assert_eq!(one, two);
        assert!(place.bytes(&place.path(&one)) == other.bytes(&other.path(&two)));
    }
}

#[test]
fn a_cold_run_of_a_time_series_is_much_smaller() {
    let rows = series(20_000);
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = 8192;
    let hot = place.write(1, RunFormat::Hot, std::slice::from_ref(&rows));
    let cold = place.write(2, RunFormat::Cold, std::slice::from_ref(&rows));
    assert!(cold.file_bytes * 3 < hot.file_bytes, "{} {}", cold.file_bytes, hot.file_bytes);
}
