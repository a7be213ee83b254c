//! Writes the golden stores of this build's format: `write_golden_store DIR`, where `DIR` is
//! `fixtures/format-N` and does not exist yet. The same build writes the same bytes each time.
//!
//! `closed` was closed in good order. `killed` is what a killed process leaves: commits that
//! only the log holds, the last of them torn. Beside each stands a text with what it holds, and
//! one with what it was at each commit.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a tool: a failure ends it")]

#[path = "../tests/engine/golden/mod.rs"]
mod golden;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeBinaryArray, Float64Array, Int64Array, RecordBatch,
    StringArray, TimestampMillisecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use timestrata_engine::{
    Access, COLD_BLOCK_ROWS_PROPERTY, Cell, Changes, Durability, Io, KeyRange, LeadKey,
    Maintenance, Merge, Result, RowChange, RunFormat, SERIES_PROPERTY, Settings, Store, StreamId,
    StreamSpec,
};
use timestrata_io::{ManualClock, MemoryDisk, OpenMode, SeededRng};

const WRITTEN: Durability = Durability::Written;
const START_NS: i64 = 1_700_000_000_000_000_000;

fn main() -> Result<()> {
    let target = PathBuf::from(std::env::args().nth(1).expect("usage: write_golden_store DIR"));
    let disk = Io::os().disk;
    assert!(!disk.exists(&target).unwrap(), "{} exists: it stays as it is", target.display());
    for (name, is_killed) in [("closed", false), ("killed", true)] {
        let machine = Machine::new();
        let store = machine.open(Access::Write);
        let streams = Streams::create(&store);
        write_runs(&store, &streams);
        write_altered(&store);
        write_by_series(&store)?;
        write_added_up(&store)?;
        write_finer(&store)?;
        write_log(&store, &streams)?;
        if is_killed {
            machine.tear(&store, &streams);
        } else {
            store.close().unwrap();
        }
        machine.save(&target.join(name));
        // A reader changes nothing, so the files that were saved are those it reads.
        let reader = machine.open(Access::Read);
        let text = golden::describe(&reader);
        write_file(&Io::os(), &target.join(format!("{name}.txt")), text.as_bytes());
        let past = golden::describe_past(&reader);
        write_file(&Io::os(), &target.join(format!("{name}.past.txt")), past.as_bytes());
        // The killed store may not close in good order now.
        std::mem::forget(store);
    }
    Ok(())
}

fn settings() -> Settings {
    Settings {
        wal_segment_bytes: 8 << 10,
        wal_bytes_max: 64 << 10,
        memtable_bytes_max: 64 << 10,
        memory_bytes_max: 1 << 20,
        run_batch_rows: 8,
        maintenance: Maintenance::Manual,
        ..Settings::default()
    }
}

/// A computer in memory, with a clock and a source of randomness that never vary.
struct Machine {
    io: Io,
    dir: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let io = Io {
            disk: Arc::new(MemoryDisk::new()),
            clock: Arc::new(ManualClock::new(START_NS)),
            rng: Arc::new(SeededRng::new(1)),
        };
        Self { io, dir: PathBuf::from("/store") }
    }

    fn open(&self, access: Access) -> Store {
        Store::open_with(self.io.clone(), &self.dir, access, settings()).unwrap()
    }

    /// Makes one more commit and takes the second half of its bytes in the log away again.
    fn tear(&self, store: &Store, streams: &Streams) {
        let dir = self.dir.join("wal");
        let mut names: Vec<_> = self.io.disk.list(&dir).unwrap();
        names.retain(|entry| entry.name.ends_with(".wal"));
        let last = names.into_iter().map(|entry| entry.name).max().unwrap();
        let path = dir.join(last);
        let before = read_file(&self.io, &path);
        let text = "a commit that was never finished".repeat(3);
        append_event(store, streams.events, 9_000, &text, None);
        let after = read_file(&self.io, &path);
        let changed: Vec<usize> =
            (0..before.len()).filter(|&place| before[place] != after[place]).collect();
        let (first, last) = (changed[0], changed[changed.len() - 1]);
        let middle = (first + last) / 2;
        let file = self.io.disk.open(&path, OpenMode::ReadWrite).unwrap();
        file.write_at(middle as u64, &before[middle..]).unwrap();
    }

    /// Copies the store to the real disk.
    fn save(&self, target: &Path) {
        let os = Io::os();
        for inner in ["", "runs", "wal"] {
            let (from, to) = (self.dir.join(inner), target.join(inner));
            os.disk.create_dir(&to).unwrap();
            for entry in self.io.disk.list(&from).unwrap() {
                if !entry.is_dir && entry.name != "LOCK" && entry.name != "RESERVE" {
                    let bytes = read_file(&self.io, &from.join(&entry.name));
                    write_file(&os, &to.join(&entry.name), &bytes);
                }
            }
        }
    }
}

fn read_file(io: &Io, path: &Path) -> Vec<u8> {
    let file = io.disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn write_file(io: &Io, path: &Path, bytes: &[u8]) {
    io.disk.open(path, OpenMode::CreateNew).unwrap().write_at(0, bytes).unwrap();
}

/// One stream of each kind of key and merge rule.
struct Streams {
    /// Keep, by time; compacts to cold runs.
    events: StreamId,
    /// Latest, by time and name.
    state: StreamId,
    /// Latest, by 16-byte id.
    blocks: StreamId,
    /// Keep, by offset.
    topic: StreamId,
}

impl Streams {
    fn create(store: &Store) -> Self {
        let schema = |fields: Vec<(&str, DataType, bool)>| {
            let fields = fields.into_iter().map(|(name, kind, null)| Field::new(name, kind, null));
            Arc::new(Schema::new(fields.collect::<Vec<_>>()))
        };
        let time = DataType::Timestamp(TimeUnit::Millisecond, None);
        let events = StreamSpec {
            run_format: RunFormat::Cold,
            properties: vec![("model".to_owned(), "golden".to_owned())],
            ..StreamSpec::new(
                "events",
                schema(vec![
                    ("time", time, false),
                    ("text", DataType::Utf8, true),
                    ("value", DataType::Float64, true),
                ]),
            )
        };
        let state = StreamSpec {
            merge: Merge::Latest,
            key: vec!["time".to_owned(), "name".to_owned()],
            ..StreamSpec::new(
                "state",
                schema(vec![
                    ("time", DataType::Int64, false),
                    ("name", DataType::Utf8, false),
                    ("value", DataType::Int64, true),
                ]),
            )
        };
        let id = DataType::FixedSizeBinary(16);
        let blocks = StreamSpec {
            merge: Merge::Latest,
            ..StreamSpec::new(
                "blocks",
                schema(vec![("id", id, false), ("body", DataType::Binary, false)]),
            )
        };
        let topic = StreamSpec::new(
            "topic",
            schema(vec![("offset", DataType::UInt64, false), ("body", DataType::Binary, true)]),
        );
        let create = |spec| store.create_stream(spec).unwrap();
        Self {
            events: create(events),
            state: create(state),
            blocks: create(blocks),
            topic: create(topic),
        }
    }
}

/// Cold runs, a pin of them, hot runs over them, a range delete that both heed.
fn write_runs(store: &Store, streams: &Streams) {
    let rows: Vec<(i64, String)> = (0..40).map(|i| (i * 100, format!("event {i}"))).collect();
    let all = Changes::new()
        .insert(streams.events, events(&rows))
        .insert(streams.state, state(&[(1, "a", 10), (1, "b", 11), (2, "a", 12)]))
        .insert(streams.blocks, blocks(&[(3, "three"), (1, "one"), (2, "two")]))
        .insert(streams.topic, topic(0..20));
    store.commit(all, WRITTEN).unwrap();
    store.compact(None).unwrap();
    store.pin("first").unwrap();
    let all = Changes::new()
        .delete_range(streams.events, KeyRange::times(500, 1_000))
        .insert(streams.events, events(&[(700, "in place of the deleted".to_owned())]))
        .insert(streams.state, state(&[(1, "b", 21), (3, "c", 22)]))
        .delete_keys(streams.state, state_keys(&[(2, "a")]))
        .insert(streams.blocks, blocks(&[(1, "one, changed")]))
        .insert(streams.topic, topic(20..30));
    store.commit(all, WRITTEN).unwrap();
    append_event(store, streams.events, 150, "late", Some(0.5));
    store.flush().unwrap();
}

/// A stream that got another name, a wider type and a new column while it had rows of each kind:
/// in a run of the old columns, in the log, in a run of a bulk commit.
fn write_altered(store: &Store) {
    let fields = |value: DataType| {
        vec![Field::new("time", DataType::Int64, false), Field::new("value", value, true)]
    };
    let first = Arc::new(Schema::new(fields(DataType::Int64)));
    let id = store.create_stream(StreamSpec::new("drafts", first)).unwrap();
    let plain = |times: std::ops::Range<i64>| {
        let values =
            Int64Array::from_iter(times.clone().map(|time| (time % 3 != 0).then_some(time)));
        let times = Int64Array::from_iter_values(times);
        batch(vec![("time", Arc::new(times)), ("value", Arc::new(values))])
    };
    store.commit(Changes::new().insert(id, plain(0..10)), WRITTEN).unwrap();
    store.flush().unwrap();
    store.commit(Changes::new().insert(id, plain(10..20)), WRITTEN).unwrap();
    let mut wider = fields(DataType::Float64);
    wider.push(Field::new("note", DataType::Utf8, true));
    store.alter_stream(id, Arc::new(Schema::new(wider))).unwrap();
    store.rename_stream(id, "series").unwrap();
    let noted = |times: std::ops::Range<i64>| {
        let values = Float64Array::from_iter_values(times.clone().map(|time| time as f64 / 4.0));
        let notes = StringArray::from_iter_values(times.clone().map(|time| format!("note {time}")));
        let times = Int64Array::from_iter_values(times);
        batch(vec![
            ("time", Arc::new(times)),
            ("value", Arc::new(values)),
            ("note", Arc::new(notes)),
        ])
    };
    let mut bulk = store.bulk().unwrap();
    bulk.insert(id, noted(20..200)).unwrap();
    bulk.insert(id, noted(200..300)).unwrap();
    bulk.commit().unwrap();
    store.commit(Changes::new().insert(id, noted(5..8)), WRITTEN).unwrap();
}

/// A stream whose times got a finer unit while it had rows in a compacted run, which a pin has too, in a flushed one and in the log,
/// and range deletes that some of these heed.
fn write_finer(store: &Store) -> Result<()> {
    let columns = |unit: TimeUnit| {
        let time = Field::new("time", DataType::Timestamp(unit, Some("UTC".into())), false);
        Arc::new(Schema::new(vec![time, Field::new("n", DataType::Int64, true)]))
    };
    let no_rows = |why: arrow_schema::ArrowError| {
        timestrata_engine::Error::new(timestrata_engine::ErrorKind::InvalidData, why.to_string())
    };
    let rows = |unit: TimeUnit, times: &[i64]| {
        let numbers: ArrayRef = Arc::new(Int64Array::from(times.to_vec()));
        let schema = columns(unit);
        let times = arrow_cast::cast(&numbers, schema.field(0).data_type()).map_err(no_rows)?;
        RecordBatch::try_new(schema, vec![times, numbers]).map_err(no_rows)
    };
    let seconds = |times: std::ops::Range<i64>| rows(TimeUnit::Second, &times.collect::<Vec<_>>());
    let spec = StreamSpec {
        run_format: RunFormat::Cold,
        ..StreamSpec::new("clock", columns(TimeUnit::Second))
    };
    let id = store.create_stream(spec)?;
    store.commit(Changes::new().insert(id, seconds(-20..40)?), WRITTEN)?;
    store.compact(Some(id))?;
    store.commit(Changes::new().delete_range(id, KeyRange::times(-3, 5)), WRITTEN)?;
    store.pin("in seconds")?;
    store.commit(Changes::new().insert(id, seconds(3..9)?), WRITTEN)?;
    store.commit(Changes::new().delete_range(id, KeyRange::times(30, 33)), WRITTEN)?;
    store.alter_stream(id, columns(TimeUnit::Microsecond))?;
    let fine = rows(TimeUnit::Microsecond, &[3_000_001, 3_500_000, 31_000_000])?;
    let changes = Changes::new().delete_range(id, KeyRange::times(8_000_000, 8_000_001));
    store.commit(changes.insert(id, fine), WRITTEN)?;
    Ok(())
}

/// A stream of cold runs, whose series a column tells apart, with so many rows a block.
fn cold_by_series(name: &str, fields: Vec<Field>, column: &str, block_rows: &str) -> StreamSpec {
    let properties = [(SERIES_PROPERTY, column), (COLD_BLOCK_ROWS_PROPERTY, block_rows)];
    StreamSpec {
        run_format: RunFormat::Cold,
        properties: properties.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
        ..StreamSpec::new(name, Arc::new(Schema::new(fields)))
    }
}

/// A stream whose rows lie by series in its cold run, with floats that are stored as decimal numbers.
fn write_by_series(store: &Store) -> Result<()> {
    const ROWS: i64 = 1_500;
    let fields = vec![
        Field::new("time", DataType::Int64, false),
        Field::new("sensor", DataType::Utf8, true),
        Field::new("celsius", DataType::Float64, true),
    ];
    let id = store.create_stream(cold_by_series("readings", fields, "sensor", "512"))?;
    let sensors = (0..ROWS).map(|row| (row % 20 != 7).then(|| format!("sensor {}", row % 20)));
    // Each sensor has a temperature of its own, which is off by some hundredths without a pattern.
    let noise = |row: i64| (row * 2_654_435_761) >> 9 & 0x3f;
    let celsius = (0..ROWS).map(|row| (row % 9 != 5).then(|| row % 20 * 300 + noise(row)));
    let celsius = celsius.map(|hundredths| hundredths.map(|n| n as f64 / 100.0));
    let rows = batch(vec![
        ("time", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row / 20)))),
        ("sensor", Arc::new(StringArray::from_iter(sensors))),
        ("celsius", Arc::new(Float64Array::from_iter(celsius))),
    ]);
    store.commit(Changes::new().insert(id, rows), WRITTEN)?;
    store.compact(Some(id))?;
    store.commit(Changes::new().delete_range(id, KeyRange::times(30, 40)), WRITTEN)?;
    Ok(())
}

/// A run with rows enough of each series that what they come to is kept beside them, and rows behind it.
fn write_added_up(store: &Store) -> Result<()> {
    const ROWS: i64 = 3_200;
    let fields = vec![
        Field::new("time", DataType::Int64, false),
        Field::new("meter", DataType::Utf8, true),
        Field::new("litres", DataType::Int64, true),
        Field::new("price", DataType::Float64, true),
        Field::new("ratio", DataType::Float64, true),
    ];
    let id = store.create_stream(cold_by_series("meters", fields, "meter", "800"))?;
    let rows = |rows: std::ops::Range<i64>| {
        let each = || rows.clone();
        let meters = each().map(|row| (row % 3 != 1).then(|| format!("meter {}", row % 3)));
        let litres = each().map(|row| (row % 5 != 2).then_some(row % 50));
        let prices = each().map(|row| (row % 7 != 3).then_some((row % 400) as f64 / 100.0));
        let ratios = each().map(|row| (row > 0).then_some(1.0 / (row % 10) as f64));
        batch(vec![
            ("time", Arc::new(Int64Array::from_iter_values(each()))),
            ("meter", Arc::new(StringArray::from_iter(meters))),
            ("litres", Arc::new(Int64Array::from_iter(litres))),
            ("price", Arc::new(Float64Array::from_iter(prices))),
            ("ratio", Arc::new(Float64Array::from_iter(ratios))),
        ])
    };
    store.commit(Changes::new().insert(id, rows(0..ROWS)), WRITTEN)?;
    store.compact(Some(id))?;
    store.commit(Changes::new().insert(id, rows(ROWS..ROWS + 9)), WRITTEN)?;
    Ok(())
}

/// Commits of each kind that only the log holds, until the store is closed.
fn write_log(store: &Store, streams: &Streams) -> Result<()> {
    append_event(store, streams.events, 5_000, "a single row", Some(-1.5));
    append_event(store, streams.events, i64::MAX, "the end of time", None);
    let all = Changes::new()
        .insert(streams.events, events(&[(4_500, "a batch".to_owned())]))
        .delete_range(streams.events, KeyRange::times(2_000, 3_500))
        .delete_keys(streams.blocks, block_keys(&[2]))
        .insert(streams.topic, topic(30..33));
    store.commit(all, WRITTEN).unwrap();
    let expired = KeyRange { lo: None, hi: Some(LeadKey::Offset(15)) };
    store.commit(Changes::new().delete_range(streams.topic, expired), WRITTEN).unwrap();
    store.commit(Changes::new().insert(streams.state, state(&[(2, "a", 32)])), WRITTEN).unwrap();
    // Rows and keys of two streams, of cells.
    let mut both = store.group_appender(&[streams.state, streams.blocks])?;
    let row = [Cell::Int(7), Cell::Text("g"), Cell::Int(70)];
    let (key, id) = ([Cell::Int(3), Cell::Text("c")], [Cell::Bytes(&[3; 16])]);
    let changes =
        [RowChange::Put(0, &row), RowChange::DeleteKey(0, &key), RowChange::DeleteKey(1, &id)];
    both.commit(&changes, WRITTEN)?;
    Ok(())
}

fn append_event(store: &Store, events: StreamId, time: i64, text: &str, value: Option<f64>) {
    let value = value.map_or(Cell::Null, Cell::Float);
    let row = [Cell::Int(time), Cell::Text(text), value];
    store.appender(events).unwrap().append(&row, WRITTEN).unwrap();
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn events(rows: &[(i64, String)]) -> RecordBatch {
    let times = TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.0));
    let texts = StringArray::from_iter_values(rows.iter().map(|row| &row.1));
    let values: Float64Array =
        rows.iter().map(|row| (row.0 % 300 != 0).then_some(row.0 as f64 / 8.0)).collect();
    batch(vec![("time", Arc::new(times)), ("text", Arc::new(texts)), ("value", Arc::new(values))])
}

fn state(rows: &[(i64, &str, i64)]) -> RecordBatch {
    let times = Int64Array::from_iter_values(rows.iter().map(|row| row.0));
    let names = StringArray::from_iter_values(rows.iter().map(|row| row.1));
    let values = Int64Array::from_iter_values(rows.iter().map(|row| row.2));
    batch(vec![("time", Arc::new(times)), ("name", Arc::new(names)), ("value", Arc::new(values))])
}

fn state_keys(keys: &[(i64, &str)]) -> RecordBatch {
    let times = Int64Array::from_iter_values(keys.iter().map(|key| key.0));
    let names = StringArray::from_iter_values(keys.iter().map(|key| key.1));
    batch(vec![("time", Arc::new(times)), ("name", Arc::new(names))])
}

fn ids(ids: impl Iterator<Item = u8>) -> ArrayRef {
    Arc::new(FixedSizeBinaryArray::try_from_iter(ids.map(|id| [id; 16])).unwrap())
}

fn blocks(rows: &[(u8, &str)]) -> RecordBatch {
    let bodies = BinaryArray::from_iter_values(rows.iter().map(|row| row.1));
    batch(vec![("id", ids(rows.iter().map(|row| row.0))), ("body", Arc::new(bodies))])
}

fn block_keys(keys: &[u8]) -> RecordBatch {
    batch(vec![("id", ids(keys.iter().copied()))])
}

fn topic(offsets: std::ops::Range<u64>) -> RecordBatch {
    let bodies = BinaryArray::from_iter_values(offsets.clone().map(|offset| vec![offset as u8; 3]));
    let offsets = UInt64Array::from_iter_values(offsets);
    batch(vec![("offset", Arc::new(offsets)), ("body", Arc::new(bodies))])
}
