//! Writes a golden store of the models: `write_golden_models DIR`, where `DIR` is `fixtures/models-N` and
//! does not exist yet. `DIR/store` was closed in good order, `DIR/store.txt` says what it holds.

#[path = "../tests/golden_models/describe.rs"]
#[expect(clippy::unwrap_used, reason = "shared with a test, which fails by panicking")]
mod describe;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow_schema::{DataType, Field};
use timestrata_engine::{Access, Cell, Durability, Io, Maintenance, Retention, Settings, Store};
use timestrata_graph::{BlockId, Edge, EdgeKey, Graph, GraphChanges, GraphOptions, NewBlock};
use timestrata_io::OpenMode;
use timestrata_logs::{Level, Logs, LogsOptions, NewEntry};
use timestrata_merkle::{KeyName, Signer};
use timestrata_table::{Table, TableOptions, WriteOptions};
use timestrata_timelog::{Codec, EntryBatch, Timelog, TimelogOptions, Unit, ValueColumns};
use timestrata_topic::{
    Consumer, ConsumerOptions, PollLimits, Record, SendOptions, Topic, TopicOptions,
    TopicPartition, TopicRetention,
};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const START_MS: i64 = 1_700_000_000_000;
/// Encoded values, a line each in hexadecimal digits.
const VALUES: &str = include_str!("golden_values.txt");

fn main() -> Result {
    let target = std::env::args().nth(1).ok_or("usage: write_golden_models DIR")?;
    let target = PathBuf::from(target);
    let io = Io::os();
    if io.disk.exists(&target)? {
        return Err(format!("{} exists: it stays as it is", target.display()).into());
    }
    io.disk.create_dir(&target)?;
    let settings = Settings {
        wal_segment_bytes: 128 << 10,
        maintenance: Maintenance::Manual,
        ..Settings::default()
    };
    let store = Store::open_with(Io::os(), &target.join("store"), Access::Write, settings)?;
    // Rows in compacted runs first, then others in flushed ones, behind them.
    for round in 0..2 {
        put_timelogs(&store, round)?;
        put_tables(&store, round)?;
        put_topics(&store, round)?;
        put_graphs(&store, round)?;
        put_logs(&store, round)?;
        match round {
            0 => store.compact(None)?,
            _ => store.flush()?,
        }
    }
    let text = describe::describe(&store);
    store.close()?;
    // It names the process that had it.
    io.disk.remove(&target.join("store/LOCK"))?;
    let file = io.disk.open(&target.join("store.txt"), OpenMode::CreateNew)?;
    file.write_at(0, text.as_bytes())?;
    Ok(())
}

/// So many entries, first, that their fields get columns; then a few with everything that one can have.
fn put_logs(store: &Store, round: i64) -> Result {
    let options = LogsOptions { columns_max: 2, ..LogsOptions::default() };
    let logs = Logs::create(store, "app", &options)?;
    let mut entries = Vec::new();
    for at in 0..if round == 0 { 2_300 } else { 5 } {
        let mut entry = NewEntry::new(format!("Request {at} of round {round}"));
        entry.level = Some(Level::ALL[at % Level::ALL.len()]);
        entry.source_time = Some(START_MS * 1_000_000 + at as i64);
        entry.fields.int("status", 200 + at as i64 % 3).text("path", &format!("/{}", at % 7));
        entry.fields.bool("cached", at.is_multiple_of(2));
        entries.push(entry);
    }
    logs.write_many(&entries, Durability::Written)?;
    let mut odd = NewEntry::new("Größe \u{0} \"rare\"");
    odd.labels.set("service", "api")?;
    odd.fields.text("status", "none").uint("big", u64::MAX).null("nothing");
    // [1, {"a": 2(0x010000000000000000)}]
    let nested = b"\x82\x01\xa1\x61a\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00";
    odd.fields.item("nested", |out| out.extend_from_slice(nested));
    logs.write(&odd)?;
    Ok(())
}

fn put_timelogs(store: &Store, round: i64) -> Result {
    let door = Timelog::create(store, "door", TimelogOptions::default())?;
    let mut batch = EntryBatch::new();
    for at in 0..5 {
        batch.push_value(START_MS + 10 * at + round, &("state", at, round))?;
    }
    door.extend_batch(batch, Durability::Written)?;
    door.delete_range(START_MS + 10..START_MS + 20)?;
    put_values(store, round)?;
    put_trades(store, round)?;
    let columns = ValueColumns::scalar(DataType::Float64)?;
    let floats = Timelog::create(store, "floats", TimelogOptions::typed(columns))?;
    for at in 0..4 {
        let value = [Cell::Int(START_MS - at), Cell::Float(at as f64 / 3.0)];
        floats.append_cells(&value, Durability::Written)?;
    }
    Ok(())
}

/// What the codec of plain values writes of Python's objects, one of each kind: `python/tests/test_golden_values.py` reads
/// them. In a log that refuses times before one, and says what it may lose.
fn put_values(store: &Store, round: i64) -> Result {
    let options = TimelogOptions {
        codec: Codec::Cbor,
        unit: Unit::Nano,
        min_time: Some(-1),
        retention: Some(Retention { age_ns: None, bytes: Some(1 << 40) }),
        ..TimelogOptions::default()
    };
    let log = Timelog::create(store, "values", options)?;
    let mut batch = EntryBatch::new();
    for (time, hex) in (0..).zip(VALUES.lines()) {
        let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16));
        batch.push(1_000 * round + time, &bytes.collect::<std::result::Result<Vec<u8>, _>>()?)?;
    }
    log.extend_batch(batch, Durability::Written)?;
    Ok(())
}

/// A typed log that got a column when it had entries.
fn put_trades(store: &Store, round: i64) -> Result {
    if round == 0 {
        let price = ValueColumns::record([Field::new("price", DataType::Float64, false)])?;
        let log = Timelog::create(store, "trades", TimelogOptions::typed(price))?;
        log.append_cells(&[Cell::Int(START_MS), Cell::Float(7.5)], Durability::Written)?;
        log.add_columns(&[Field::new("shares", DataType::Int64, true).into()])?;
    }
    let log = Timelog::open(store, "trades")?;
    let cells = [Cell::Int(START_MS + 1), Cell::Float(8.0), Cell::Int(round)];
    log.append_cells(&cells, Durability::Written)?;
    Ok(())
}

/// Rows of a few series; those of the second round begin in the middle of the first's.
fn readings(round: i64) -> Result<RecordBatch> {
    let times = (0..12).map(|row| START_MS + 60_000 * (row + 6 * round));
    let rooms = (0..12).map(|row| ["kitchen", "cellar", "attic"][row % 3]);
    let values = (0..12).map(|row| (row != 7).then_some(20.5 - row as f64 + round as f64));
    let columns: [(&str, ArrayRef); 3] = [
        ("time", Arc::new(TimestampMillisecondArray::from_iter_values(times).with_timezone("UTC"))),
        ("room", Arc::new(StringArray::from_iter_values(rooms))),
        ("celsius", Arc::new(Float64Array::from_iter(values))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn put_tables(store: &Store, round: i64) -> Result {
    let tags = vec!["room".to_owned()];
    let by = |key: &[&str]| TableOptions {
        key: key.iter().map(|&column| column.to_owned()).collect(),
        tags: tags.clone(),
        ..TableOptions::default()
    };
    let numbered = TableOptions { hand_out_ids: true, ..by(&[]) };
    let tables = [
        ("kept", by(&[])),
        ("latest", by(&["room"])),
        ("at", by(&["room", "time"])),
        ("numbered", numbered),
    ];
    for (name, options) in tables {
        let rows = readings(round)?;
        let table = Table::create_for(store, name, &rows, &options)?;
        table.append(&rows, WriteOptions::default())?;
        let minute = START_MS + 120_000;
        table.delete(minute..minute + 1, Durability::Written)?;
    }
    Ok(())
}

fn put_topics(store: &Store, round: i64) -> Result {
    let options = TopicOptions { partitions: 2, ..TopicOptions::default() };
    let events = Topic::create(store, "events", &options)?;
    send(&events, 0, round, 300)?;
    send(&events, 1, round, 5)?;
    let of_group = ConsumerOptions { group: Some("alarms".into()), ..ConsumerOptions::default() };
    let mut consumer = Consumer::new(store, of_group)?;
    consumer.subscribe(["events"])?;
    let few = PollLimits { records: 123, ..PollLimits::default() };
    consumer.poll(std::time::Duration::ZERO, few)?;
    consumer.commit()?;
    consumer.close()?;
    let signer = Signer::from_seed(KeyName::new("example.org/log")?, [7; 32]);
    events.checkpoint(0, &signer, None)?;
    let retention = TopicRetention { records: Some(100), ..TopicRetention::default() };
    let options = TopicOptions { retention, ..TopicOptions::default() };
    let short = Topic::create(store, "short", &options)?;
    send(&short, 0, round, 400)?;
    short.retain()?;
    let whole = Topic::create(store, "whole", &TopicOptions { keep_entries: true, ..options })?;
    send(&whole, 0, round, 90)?;
    whole.retain()?;
    Ok(())
}

/// Records of all shapes, numbered by their producer.
fn send(topic: &Topic, partition: u32, round: i64, count: usize) -> Result {
    let place = TopicPartition { topic: topic.name().to_owned(), partition };
    let texts: Vec<String> =
        (0..count).map(|number| format!("{place:?} {round} {number}")).collect();
    let records: Vec<Record<'_>> = (texts.iter().enumerate())
        .map(|(number, text)| Record {
            key: (number % 3 > 0).then_some(&text.as_bytes()[..number % 7]),
            value: (number % 5 > 0).then_some(text.as_bytes()),
            headers: [("n", &text.as_bytes()[..2]), ("n", &b""[..])][..number % 3].to_vec(),
            timestamp_ns: Some(START_MS * 1_000_000 + number as i64 + round),
            partition: None,
        })
        .collect();
    let options = SendOptions {
        partition: Some(partition),
        durability: Durability::Written,
        sequence: Some((describe::PRODUCER, None)),
        ..SendOptions::default()
    };
    topic.send_batch(&records, &options)?;
    Ok(())
}

/// Blocks of a few versions and edges with all that can be said of them; some are gone in the end.
fn put_graphs(store: &Store, round: i64) -> Result {
    for (name, keep_versions) in [("latest-code", 1), ("code", 3)] {
        let graph = Graph::create(store, name, &GraphOptions { keep_versions })?;
        let id = |number: i64| [u8::try_from(number).unwrap_or_default(); 16].into();
        let contents: Vec<String> =
            (0..8).map(|number| format!("fn f{number}() {{ {round} }}")).collect();
        let mut changes = GraphChanges::new();
        for (number, content) in (0..).zip(&contents) {
            changes = changes.put(NewBlock {
                id: Some(id(number)),
                source_uri: (number % 2 == 0).then_some("src/lib.rs"),
                metadata: (number % 3 == 0).then_some(r#"{"kind":"function"}"#),
                is_text: number % 4 > 0,
                content: content.as_bytes(),
                ..NewBlock::default()
            });
            let calls = Edge::new(id(number), "calls", id((number * 3 + round) % 8));
            let said = Edge {
                weight: Some(number as f64 / 4.0),
                valid_from_ns: Some(START_MS * 1_000_000 + number),
                properties: Some(r#"{"sites":[[1,0]]}"#.into()),
                ..Edge::new(id(number), "imports", id(number + 1))
            };
            changes = changes.link(calls).link(said);
        }
        graph.change(&changes.delete(id(7)).unlink(key(id(2), id(3))), Durability::Written)?;
    }
    Ok(())
}

fn key(source: BlockId, target: BlockId) -> EdgeKey {
    EdgeKey { source, kind: "imports".into(), target }
}
