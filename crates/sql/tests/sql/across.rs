//! One query over several models: joins by time, rows from one into another, and all of it at an earlier moment and beside
//! a writer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, Float64Array, RecordBatch, TimestampNanosecondArray};
use timestrata_engine::{Access, Cell, Durability, ErrorKind, Io, Moment, Settings, Store};
use timestrata_graph::{BlockId, Edge, Graph, GraphChanges, GraphOptions, NewBlock};
use timestrata_logs::{Logs, LogsOptions, NewEntry};
use timestrata_sql::{Sql, SqlOptions};
use timestrata_table::{IngestOptions, ingest};
use timestrata_timelog::{Codec, Timelog, TimelogOptions, Unit, ValueColumns};
use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};

use crate::files;
use crate::support::{answer, ask, settings, sql};

const SECOND_NS: i64 = 1_000_000_000;

fn disk() -> Io {
    Io::memory()
}

fn open(io: &Io, access: Access) -> Store {
    Store::open_with(io.clone(), Path::new("store"), access, settings()).unwrap()
}

fn id(number: u8) -> BlockId {
    BlockId::new([number; 16])
}

/// One thing a second in each model, all called by the number of the second; the later ones first where order is free.
fn fill(store: &Store, seconds: std::ops::Range<i64>) {
    let times: Vec<i64> = seconds.clone().map(|second| second * SECOND_NS).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("time", Arc::new(TimestampNanosecondArray::from(times).with_timezone("UTC"))),
        (
            "n",
            Arc::new(Float64Array::from_iter_values(seconds.clone().map(|second| second as f64))),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    ingest(store, "measures", &mut [Ok(batch)].into_iter(), &IngestOptions::default()).unwrap();
    let of = |codec| TimelogOptions { codec, unit: Unit::Milli, ..TimelogOptions::default() };
    let door = Timelog::create(store, "door", of(Codec::Cbor)).unwrap();
    let typed = ValueColumns::scalar(datafusion::arrow::datatypes::DataType::Float64).unwrap();
    let typed = TimelogOptions { unit: Unit::Micro, ..TimelogOptions::typed(typed) };
    let typed = Timelog::create(store, "kitchen", typed).unwrap();
    let logs = Logs::create(store, "app", &LogsOptions::default()).unwrap();
    let topic =
        Topic::create(store, "events", &TopicOptions { partitions: 2, ..TopicOptions::default() })
            .unwrap();
    let graph = Graph::create(store, "code", &GraphOptions::default()).unwrap();
    for second in seconds.clone().rev() {
        door.append_value(second * 1_000, &BTreeMap::from([("n", second)])).unwrap();
        let cells = [Cell::Int(second * 1_000_000), Cell::Float(second as f64)];
        typed.append_cells(&cells, Durability::Written).unwrap();
        let mut entry = NewEntry::new(format!("second {second}"));
        entry.source_time = Some(second * SECOND_NS);
        entry.fields.int("n", second);
        logs.write(&entry).unwrap();
    }
    for second in seconds {
        let value = format!(r#"{{"n": {second}}}"#);
        let record = Record {
            key: Some(b"k"),
            value: Some(value.as_bytes()),
            timestamp_ns: Some(second * SECOND_NS),
            partition: Some((second % 2) as u32),
            ..Record::default()
        };
        topic.send(&record, &SendOptions::default()).unwrap();
        let number = second as u8;
        let block = NewBlock { id: Some(id(number)), ..NewBlock::default() };
        let edge = Edge {
            valid_from_ns: Some(second * SECOND_NS),
            ..Edge::new(id(number), "next", id(number + 1))
        };
        graph.change(&GraphChanges::new().put(block).link(edge), Durability::Written).unwrap();
    }
}

/// Each model as rows of a time and the number of its second.
const MODELS: [(&str, &str); 6] = [
    ("table", "(SELECT time AS t, CAST(n AS BIGINT) AS n FROM measures)"),
    ("timelog", "(SELECT time AS t, CAST(value->>'n' AS BIGINT) AS n FROM door)"),
    ("typed timelog", "(SELECT time AS t, CAST(value AS BIGINT) AS n FROM kitchen)"),
    ("logs", "(SELECT source_time AS t, json_get_int(fields, 'n') AS n FROM app)"),
    ("topic", "(SELECT timestamp AS t, json_get_int(value, 'n') AS n FROM events)"),
    (
        "graph",
        "(SELECT valid_from AS t, CAST(extract(epoch FROM valid_from) AS BIGINT) AS n FROM \"code/edges\")",
    ),
];

#[test]
fn the_rows_of_any_two_models_are_joined_by_time() {
    let store = open(&disk(), Access::Write);
    fill(&store, 1..21);
    let sql = sql(&store);
    for flushed in [false, true] {
        for (left_name, left) in MODELS {
            for (right_name, right) in MODELS {
                // Each second of the left with the last one of the right that is before it.
                let query = format!(
                    "SELECT n, n_right FROM asof_join({left}, {right}, on => t, exact => false) ORDER BY n"
                );
                let expected: Vec<String> = (1..21)
                    .map(|n| if n == 1 { "1 NULL".to_owned() } else { format!("{n} {}", n - 1) })
                    .collect();
                let found = answer(&sql, &query);
                assert_eq!(found, expected, "{left_name} and {right_name}, flushed: {flushed}");
            }
        }
        store.flush().unwrap();
    }
}

#[test]
fn rows_of_each_model_are_inserted_into_a_table() {
    let store = open(&disk(), Access::Write);
    fill(&store, 1..21);
    let sql = Sql::open(&store, SqlOptions { threads: 2, ..SqlOptions::default() }).unwrap();
    let made = "CREATE TABLE kept (t TIMESTAMP NOT NULL, model VARCHAR, n BIGINT)";
    ask(&sql, made).unwrap();
    for (name, rows) in MODELS {
        let insert = format!("INSERT INTO kept SELECT t, '{name}', n FROM {rows}");
        assert_eq!(answer(&sql, &insert), ["20"], "{name}");
    }
    let kept = "SELECT count(*), sum(n), count(DISTINCT model) FROM kept";
    assert_eq!(answer(&sql, kept), ["120 1260 6"]);
    let two = "INSERT INTO kept SELECT source_time, message, json_get_int(fields, 'n') FROM search(app, 'second (3 or 4)')";
    assert_eq!(answer(&sql, two), ["2"]);
    let made =
        "CREATE TABLE copied AS SELECT source_time AS time, fields->'n' AS n, fields AS f FROM app";
    assert_eq!(answer(&sql, made), ["20"]);
    assert_eq!(answer(&sql, "SELECT sum(CAST(n AS BIGINT)), max(f->>'n') FROM copied"), ["210 9"]);
    // Where nothing may be written, neither may this.
    let reading = Sql::new(&store, SqlOptions::default()).unwrap();
    let error = ask(&reading, "INSERT INTO kept SELECT * FROM kept").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
}

fn questions() -> Vec<String> {
    let first = id(1);
    let mut questions: Vec<String> =
        MODELS.map(|(_, rows)| format!("SELECT count(*), sum(n), max(t) FROM {rows}")).into();
    questions.extend([
        "SELECT count(*) FROM search(app, 'second')".to_owned(),
        "SELECT count(*) FROM app WHERE fields->>'n' IN ('3', '12')".to_owned(),
        format!("SELECT count(*), max(depth) FROM walk(code, '{first}')"),
        format!("SELECT count(*) FROM shortest_path(code, '{first}', '{}')", id(12)),
        "SELECT size FROM proof(events, 0)".to_owned(),
    ]);
    questions
}

fn answers(sql: &Sql) -> Vec<Vec<String>> {
    questions().iter().map(|question| answer(sql, question)).collect()
}

#[test]
fn a_store_is_asked_as_it_was_at_an_earlier_moment() {
    let settings = Settings { history_min: Duration::from_secs(600), ..settings() };
    let store = Store::open_with(disk(), Path::new("store"), Access::Write, settings).unwrap();
    fill(&store, 1..6);
    let before = answers(&sql(&store));
    let seq = store.stats().last_seq;
    store.flush().unwrap();
    fill(&store, 6..21);
    store.flush().unwrap();
    store.compact(None).unwrap();
    let then = store.at(&Moment::Commit(seq)).unwrap();
    assert_eq!(answers(&sql(&then)), before);
    assert_ne!(answers(&sql(&store)), before);
    assert!(ask(&sql(&then), "SELECT * FROM proof(events, 9)").is_err());
}

#[test]
fn a_reader_is_answered_as_the_writer_is() {
    let io = disk();
    let writer = open(&io, Access::Write);
    fill(&writer, 1..6);
    writer.sync().unwrap();
    let reader = open(&io, Access::Read);
    let of_reader = Sql::new(&reader, SqlOptions { threads: 2, ..SqlOptions::default() }).unwrap();
    assert_eq!(answers(&of_reader), answers(&sql(&writer)));
    writer.flush().unwrap();
    fill(&writer, 6..21);
    writer.sync().unwrap();
    reader.refresh().unwrap();
    assert_eq!(answers(&of_reader), answers(&sql(&writer)));
}

#[test]
fn empty_streams_of_all_models_have_no_rows() {
    let store = open(&disk(), Access::Write);
    fill(&store, 1..1);
    let sql = sql(&store);
    for (name, rows) in MODELS.iter().filter(|(name, _)| *name != "table") {
        assert_eq!(
            answer(&sql, &format!("SELECT count(*), sum(n) FROM {rows}")),
            ["0 NULL"],
            "{name}"
        );
    }
    assert_eq!(answer(&sql, "SELECT count(*) FROM search(app, 'x')"), ["0"]);
    assert_eq!(answer(&sql, &format!("SELECT count(*) FROM walk(code, '{}')", id(1))), ["1"]);
    assert_eq!(
        answer(
            &sql,
            &format!("SELECT count(*) FROM shortest_path(code, '{}', '{}')", id(1), id(2))
        ),
        ["0"]
    );
    assert!(ask(&sql, "SELECT * FROM proof(events, 0)").is_err());
}

#[test]
fn stores_of_earlier_builds_are_asked_as_they_are_and_compacted() {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for version in 1..=4 {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("store");
        files::copy(&fixtures.join(format!("models-{version}/store")), &dir);
        let reader = files::open(&dir, Access::Read);
        let as_it_is = all_rows(&reader);
        assert!(as_it_is.len() > 5, "{as_it_is:?}");
        drop(reader);
        let store = files::open(&dir, Access::WriteExisting);
        store.compact(None).unwrap();
        assert_eq!(all_rows(&store), as_it_is, "models-{version}");
    }
}

/// The rows of each table, by its name, and one of its columns as JSON where it has any.
fn all_rows(store: &Store) -> BTreeMap<String, (Vec<String>, Vec<String>)> {
    let sql = Sql::new(store, SqlOptions { threads: 2, ..SqlOptions::default() }).unwrap();
    let rows = |table: String| {
        let mut rows = answer(&sql, &format!("SELECT * FROM \"{table}\""));
        assert_eq!(
            answer(&sql, &format!("SELECT count(*) FROM \"{table}\"")),
            [rows.len().to_string()]
        );
        rows.sort_unstable();
        let of_logs = format!("SELECT fields, fields->>'n' FROM \"{table}\" ORDER BY timestamp");
        let documents = ask(&sql, &of_logs).map_or(Vec::new(), |rows| crate::support::lines(&rows));
        (table, (rows, documents))
    };
    sql.tables().unwrap().into_iter().map(rows).collect()
}
