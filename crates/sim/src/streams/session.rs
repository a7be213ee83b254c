//! A store in use: does what a workload says, and writes down what was promised.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    BulkCommit, Cell, Changes, Durability, KeyRange, Merge, Result, RowAppender, RunFormat,
    ScanSpec, SeqNo, Snapshot, Store, Stream, StreamId, StreamSpec,
};

use super::model::{ModelChange, Row, StreamsModel};
use super::step::{self, EVENTS, STATE, Write};
use crate::subject::{Action, Alphabet, Judgement, Showing, Subject, Work, misfit, wrong};

/// Names of the streams, by their place in the model.
const STREAMS: [&str; 2] = ["events", "state"];
fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("value", DataType::Utf8, false),
    ]))
}

pub(crate) fn specs() -> [StreamSpec; 2] {
    let events = StreamSpec::new(STREAMS[EVENTS], schema());
    let mut state = StreamSpec::new(STREAMS[STATE], schema());
    state.merge = Merge::Latest;
    state.run_format = RunFormat::Cold;
    [events, state]
}

/// What columns that have come later hold of a row's value: so little that a row fits a segment of
/// the log however many there are.
fn repeated(value: &str) -> &str {
    const BYTES_MAX: usize = 32;
    value.get(..BYTES_MAX).unwrap_or(value)
}

/// Rows of a stream. Columns that have come later repeat the beginning of the value.
fn batch(stream: &Stream, rows: &[Row]) -> Result<RecordBatch> {
    let schema = stream.schema();
    let times = Int64Array::from_iter_values(rows.iter().map(|(key, _)| *key));
    let values = StringArray::from_iter_values(rows.iter().map(|(_, value)| value));
    let again = StringArray::from_iter_values(rows.iter().map(|(_, value)| repeated(value)));
    let again: ArrayRef = Arc::new(again);
    let mut columns: Vec<ArrayRef> = vec![Arc::new(times), Arc::new(values)];
    columns.resize(schema.fields().len(), again);
    RecordBatch::try_new(schema.clone(), columns).map_err(misfit)
}

fn keys(keys: &[i64]) -> Result<RecordBatch> {
    let schema = Arc::new(Schema::new(vec![schema().field(0).clone()]));
    let times = Int64Array::from(keys.to_vec());
    RecordBatch::try_new(schema, vec![Arc::new(times)]).map_err(misfit)
}

/// Plain streams of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Streams;

/// What is open of them.
#[derive(Debug)]
pub struct StreamsParts {
    streams: [StreamId; 2],
    appenders: [RowAppender; 2],
}

impl Subject for Streams {
    type Model = StreamsModel;
    type Write = Write;
    type Parts = StreamsParts;
    const KIND: &'static str = "streams";
    const ALPHABET: Alphabet<Write> = step::ALPHABET;
    const CHOSEN: &'static [&'static str] = step::CHOSEN;

    fn attach(store: &Store) -> Result<StreamsParts> {
        let make = |spec: StreamSpec| match store.stream(&spec.name) {
            Some(stream) => Ok(stream.id()),
            None => store.create_stream(spec),
        };
        let [events, state] = specs();
        let streams = [make(events)?, make(state)?];
        let appenders = [store.appender(streams[EVENTS])?, store.appender(streams[STATE])?];
        Ok(StreamsParts { streams, appenders })
    }

    fn write(
        parts: &mut StreamsParts,
        work: &mut Work<'_, StreamsModel>,
        write: &Write,
    ) -> Result<()> {
        let (store, StreamsParts { streams, appenders }) = (work.store, parts);
        match write {
            Write::AppendRow { stream, row, durability } => {
                let changes = [ModelChange::Insert(*stream, vec![row.clone()])];
                work.commit(&changes, *durability, || {
                    let mut cells = vec![Cell::Int(row.0), Cell::Text(&row.1)];
                    let columns = store.expect_stream(STREAMS[*stream])?.schema().fields().len();
                    cells.resize(columns, Cell::Text(repeated(&row.1)));
                    append(&mut appenders[*stream], &cells, *durability)
                })
            }
            Write::Commit { changes, durability } => work.commit(changes, *durability, || {
                store.commit(engine_changes(store, streams, changes)?, *durability)
            }),
            Write::Bulk { changes } => {
                let mut bulk = store.bulk()?;
                for change in changes {
                    add(store, streams, &mut bulk, change)?;
                }
                // Until now nothing may be found of it, whatever fails.
                work.commit(changes, Durability::Synced, || bulk.commit())
            }
            Write::Alter => {
                STREAMS.iter().zip(streams).try_for_each(|(name, id)| alter(store, name, *id))
            }
        }
    }

    fn is_only_a_commit(write: &Write) -> bool {
        matches!(write, Write::AppendRow { .. } | Write::Commit { .. })
    }

    fn after_recovery(seq: u64) -> Vec<Action<Write>> {
        let commit = |key, durability| {
            let row = (key, format!("after recovery to commit {seq}"));
            let changes = vec![ModelChange::Insert(EVENTS, vec![row])];
            Action::Write(Write::Commit { changes, durability })
        };
        vec![commit(1000, Durability::Written), commit(1001, Durability::Synced)]
    }

    fn after_failure() -> Write {
        let rows = vec![(2000, "after the failure".to_owned())];
        let changes = vec![ModelChange::Insert(EVENTS, rows)];
        Write::Commit { changes, durability: Durability::Synced }
    }

    fn compare(showing: &Showing<'_>, model: &StreamsModel) -> Judgement<()> {
        for (index, name) in STREAMS.iter().enumerate() {
            let expected = model.rows(index);
            let Some(stream) = showing.store.stream(name) else {
                if expected.is_empty() && !showing.is_made {
                    continue;
                }
                return wrong(format!("stream '{name}' is missing"));
            };
            let (forward, backward, count) = scan_stream(showing.snapshot, stream.id())?;
            if forward != expected {
                return wrong(format!(
                    "stream '{name}' holds {}, expected {}",
                    shown(&forward),
                    shown(&expected)
                ));
            }
            if backward != expected || count != expected.len() as u64 {
                return wrong(format!(
                    "stream '{name}' read from the end holds {}, its count is {count}, expected {}",
                    shown(&backward),
                    shown(&expected)
                ));
            }
        }
        Ok(())
    }
}

/// Gives a stream a column more.
fn alter(store: &Store, name: &str, id: StreamId) -> Result<()> {
    let mut fields = store.expect_stream(name)?.schema().fields().to_vec();
    let name = format!("again {}", fields.len());
    fields.push(Arc::new(Field::new(name, DataType::Utf8, true)));
    store.alter_stream(id, Arc::new(Schema::new(fields))).map(|_| ())
}

/// Changes of a commit, as the engine takes them.
fn engine_changes(
    store: &Store,
    streams: &[StreamId; 2],
    changes: &[ModelChange],
) -> Result<Changes> {
    changes.iter().try_fold(Changes::new(), |all, change| {
        Ok(match change {
            ModelChange::Insert(stream, rows) => {
                all.insert(streams[*stream], batch(&*store.expect_stream(STREAMS[*stream])?, rows)?)
            }
            ModelChange::DeleteRange(stream, lo, hi) => {
                all.delete_range(streams[*stream], KeyRange::times(*lo, *hi))
            }
            ModelChange::DeleteKeys(stream, deleted) => {
                all.delete_keys(streams[*stream], keys(deleted)?)
            }
        })
    })
}

/// Adds a change to a bulk commit.
fn add(
    store: &Store,
    streams: &[StreamId; 2],
    bulk: &mut BulkCommit,
    change: &ModelChange,
) -> Result<()> {
    match change {
        ModelChange::Insert(stream, rows) => {
            bulk.insert(streams[*stream], batch(&*store.expect_stream(STREAMS[*stream])?, rows)?)
        }
        ModelChange::DeleteRange(stream, lo, hi) => {
            bulk.delete_range(streams[*stream], KeyRange::times(*lo, *hi))
        }
        ModelChange::DeleteKeys(stream, deleted) => {
            bulk.delete_keys(streams[*stream], keys(deleted)?)
        }
    }
}

/// Rows in key order; the same read from the end and put in order; their count.
fn scan_stream(snapshot: &Snapshot, stream: StreamId) -> Result<(Vec<Row>, Vec<Row>, u64)> {
    let rows = |reverse: bool| -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for batch in snapshot.scan(stream, &ScanSpec { reverse, ..ScanSpec::default() })? {
            let batch = batch?;
            let times = batch.column(0).as_primitive::<Int64Type>();
            let values = batch.column(1).as_string::<i32>();
            check_repeats(&batch)?;
            rows.extend(
                times
                    .values()
                    .iter()
                    .zip(values)
                    .map(|(time, value)| (*time, value.unwrap_or("(null)").to_owned())),
            );
        }
        Ok(rows)
    };
    let forward = rows(false)?;
    let mut backward = rows(true)?;
    backward.reverse();
    Ok((forward, backward, snapshot.count(stream, &KeyRange::ALL)?))
}

/// Columns that have come later hold the value's beginning, or nothing in rows from before.
fn check_repeats(batch: &RecordBatch) -> Result<()> {
    let values = batch.column(1).as_string::<i32>();
    for column in batch.columns().iter().skip(2) {
        let again = column.as_string::<i32>();
        let differs =
            |row: &usize| again.is_valid(*row) && again.value(*row) != repeated(values.value(*row));
        if let Some(row) = (0..batch.num_rows()).find(differs) {
            let (again, value) = (again.value(row), values.value(row));
            return Err(misfit(format!("{again} beside {value}")));
        }
    }
    Ok(())
}

/// Rows for a message: long values cut.
fn shown(rows: &[Row]) -> String {
    let short: Vec<String> = rows
        .iter()
        .map(|(key, value)| format!("{key}: {}", value.chars().take(28).collect::<String>()))
        .collect();
    format!("[{}]", short.join(", "))
}

/// One row, every other turn on the way of those that can't wait.
fn append(appender: &mut RowAppender, cells: &[Cell<'_>], durability: Durability) -> Result<SeqNo> {
    let is_hurried = matches!(cells, [Cell::Int(time), ..] if time / 10 % 2 != 0);
    if is_hurried
        && durability < Durability::Synced
        && let Some(seq) = appender.try_append(cells)?
    {
        return Ok(seq);
    }
    appender.append(cells, durability)
}
