//! What the tests share: stores with a few streams, somebody who writes, answers as text.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use datafusion::arrow::compute::{concat_batches, filter_record_batch, not};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use timestrata_engine::{
    Access, Changes, Durability, Io, KeyRange, Maintenance, Merge, Result, RunFormat, ScanSpec,
    Settings, Store, StreamId, StreamSpec,
};
use timestrata_sql::{
    Params, Predicate, Sql, SqlOptions, SqlWriter, TableDefinition, ViewDefinition,
};
use timestrata_table::{create_view, drop_view};

/// Nothing in the background, small blocks.
pub(crate) fn settings() -> Settings {
    Settings { maintenance: Maintenance::Manual, run_batch_rows: 256, ..Settings::default() }
}

pub(crate) fn memory() -> Store {
    // A disk in memory, and not a store without one: there must be runs.
    Store::open_with(Io::memory(), Path::new("store"), Access::Write, settings()).unwrap()
}

pub(crate) fn memory_without_cache() -> Store {
    let settings = Settings { cache_bytes_max: 0, ..settings() };
    Store::open_with(Io::memory(), Path::new("store"), Access::Write, settings).unwrap()
}

/// Time, series, a number that tells rows apart, a measure.
pub(crate) fn schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("time", time, false),
        Field::new("series", DataType::Utf8, false),
        Field::new("n", DataType::Int64, false),
        Field::new("value", DataType::Float64, true),
    ]))
}

pub(crate) fn create(store: &Store, name: &str, merge: Merge, run_format: RunFormat) -> StreamId {
    let key = match merge {
        Merge::Keep => vec!["time".to_owned()],
        Merge::Latest => vec!["time".to_owned(), "series".to_owned()],
    };
    store
        .create_stream(StreamSpec { key, merge, run_format, ..StreamSpec::new(name, schema()) })
        .unwrap()
}

pub(crate) fn series(row: i64) -> String {
    format!("s{}", row.rem_euclid(3))
}

/// Rows of these times, numbered from `first` on.
pub(crate) fn rows(times: &[i64], first: i64) -> RecordBatch {
    let numbers = first..first + times.len() as i64;
    let values = numbers.clone().map(|n| (n % 5 != 0).then_some(n as f64 / 2.0));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampMillisecondArray::from(times.to_vec()).with_timezone("UTC")),
        Arc::new(StringArray::from_iter_values(numbers.clone().map(series))),
        Arc::new(Int64Array::from_iter_values(numbers)),
        Arc::new(values.collect::<Float64Array>()),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

pub(crate) fn insert(store: &Store, stream: StreamId, batch: RecordBatch) {
    store.commit(Changes::new().insert(stream, batch), Durability::Written).unwrap();
}

pub(crate) fn sql(store: &Store) -> Sql {
    let options = SqlOptions { threads: 2, ..SqlOptions::default() };
    Sql::with(store, options, Vec::new(), Some(Arc::new(Writer(store.clone())))).unwrap()
}

pub(crate) fn ask(sql: &Sql, query: &str) -> Result<Vec<RecordBatch>> {
    sql.query_blocking(query, Params::none())?.collect()
}

/// One line a row, cells with a blank between them.
pub(crate) fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut lines = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter();
        let columns: Vec<_> =
            columns.map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = columns.iter().map(|c| c.value(row).to_string()).collect();
            lines.push(cells.join(" "));
        }
    }
    lines
}

pub(crate) fn answer(sql: &Sql, query: &str) -> Vec<String> {
    lines(&ask(sql, query).unwrap_or_else(|error| panic!("{query}: {error}")))
}

/// The operators that answer a query, one a line.
pub(crate) fn plan(sql: &Sql, query: &str) -> String {
    answer(sql, &format!("EXPLAIN FORMAT INDENT {query}"))
        .join("\n")
        .split("physical_plan ")
        .last()
        .unwrap_or_default()
        .to_owned()
}

/// Writes straight to streams; a table's key is its first column.
#[derive(Debug)]
pub(crate) struct Writer(pub(crate) Store);

impl SqlWriter for Writer {
    fn insert(
        &self,
        table: &str,
        batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    ) -> Result<u64> {
        let stream = self.0.expect_stream(table)?;
        let mut changes = Changes::new();
        let mut rows = 0;
        for batch in batches {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            let batch = RecordBatch::try_new(Arc::clone(stream.schema()), batch.columns().to_vec());
            changes = changes.insert(
                stream.id(),
                batch.map_err(|error| {
                    timestrata_engine::Error::new(
                        timestrata_engine::ErrorKind::InvalidData,
                        error.to_string(),
                    )
                })?,
            );
        }
        if rows > 0 {
            self.0.commit(changes, Durability::Written)?;
        }
        Ok(rows)
    }

    fn delete_where(&self, table: &str, predicate: &Predicate) -> Result<u64> {
        let stream = self.0.expect_stream(table)?;
        let snapshot = self.0.snapshot()?;
        let (mut changes, mut deleted) = (Changes::new(), 0);
        for range in &predicate.ranges {
            let spec = ScanSpec { range: *range, ..ScanSpec::default() };
            changes = changes.delete_range(stream.id(), *range);
            for batch in snapshot.scan(stream.id(), &spec)? {
                let batch = batch?;
                let matches = predicate.matches(&batch)?;
                deleted += matches.true_count() as u64;
                let rest = filter_record_batch(&batch, &not(&matches).unwrap()).unwrap();
                changes = changes.insert(stream.id(), rest);
            }
        }
        self.0.commit(changes, Durability::Written)?;
        Ok(deleted)
    }

    fn create(&self, definition: &TableDefinition) -> Result<()> {
        let key = definition.key.clone();
        let mut spec = StreamSpec::new(&definition.name, Arc::clone(&definition.schema));
        if !key.is_empty() {
            (spec.key, spec.merge) = (key, Merge::Latest);
        }
        self.0.create_stream(spec).map(drop)
    }

    fn drop_table(&self, table: &str) -> Result<()> {
        self.0.drop_stream(table)
    }

    fn create_view(&self, view: &ViewDefinition) -> Result<()> {
        create_view(&self.0, &view.name, &view.query, view.replaces)
    }

    fn drop_view(&self, view: &str) -> Result<()> {
        drop_view(&self.0, view)
    }
}

/// All rows of a stream as an `(time, n)` list, in key order.
pub(crate) fn pairs_of(store: &Store, stream: StreamId, range: KeyRange) -> Vec<(i64, i64)> {
    let spec = ScanSpec { range, ..ScanSpec::default() };
    let batch = store.snapshot().unwrap().collect(stream, &spec).unwrap();
    pairs(&[batch])
}

/// `time` and `n` of each row.
pub(crate) fn pairs(batches: &[RecordBatch]) -> Vec<(i64, i64)> {
    let Some(first) = batches.first() else { return Vec::new() };
    let all = concat_batches(&first.schema(), batches).unwrap();
    let times =
        datafusion::arrow::compute::cast(all.column_by_name("time").unwrap(), &DataType::Int64)
            .unwrap();
    let times = times.as_primitive::<datafusion::arrow::datatypes::Int64Type>();
    let numbers = all.column_by_name("n").unwrap();
    let numbers = numbers.as_primitive::<datafusion::arrow::datatypes::Int64Type>();
    times.values().iter().copied().zip(numbers.values().iter().copied()).collect()
}
