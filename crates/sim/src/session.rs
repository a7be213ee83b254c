//! A store in use: does what a workload says, and writes down what was promised.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    Access, BulkCommit, Cell, Changes, Durability, Error, ErrorKind, KeyRange, Maintenance, Merge,
    Result, RowAppender, RunFormat, ScanSpec, SeqNo, Settings, Snapshot, Store, Stream, StreamId,
    StreamSpec,
};

use crate::disk::SimDisk;
use crate::io_on;
use crate::model::{Model, ModelChange, Row};
use crate::story::{Found, Story};
use crate::workload::{Action, EVENTS, STATE};

/// Where the store is on the simulated disk: two directories that are not there yet.
pub(crate) const STORE_DIR: &str = "/data/store";
const PIN: &str = "pin";
/// Names of the streams, by their place in the model.
const STREAMS: [&str; 2] = ["events", "state"];
/// Seed of the store's identity.
const STORE_SEED: u64 = 77;

/// A store without a commit, in the model.
pub(crate) fn empty_model() -> Model {
    Model::new(&[Merge::Keep, Merge::Latest])
}

/// So small that a few rows exercise every path; nothing in the background.
pub(crate) fn settings() -> Settings {
    Settings {
        memtable_bytes_max: 8 << 10,
        memory_bytes_max: 32 << 10,
        wal_segment_bytes: 4 << 10,
        wal_bytes_max: 16 << 10,
        run_batch_rows: 8,
        run_bytes_max: 4 << 10,
        level0_runs_max: 2,
        maintenance: Maintenance::Manual,
        ..Settings::default()
    }
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("value", DataType::Utf8, false),
    ]))
}

fn specs() -> [StreamSpec; 2] {
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

fn misfit(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, error.to_string())
}

/// Opens the store on a disk.
pub(crate) fn open(disk: &SimDisk, access: Access) -> Result<Store> {
    Store::open_with(io_on(disk, STORE_SEED), Path::new(STORE_DIR), access, settings())
}

/// An open store with its streams.
pub(crate) struct Session<'a> {
    disk: &'a SimDisk,
    store: Store,
    streams: [StreamId; 2],
    appenders: [RowAppender; 2],
    pinned: bool,
}

impl<'a> Session<'a> {
    /// Opens the store, and makes the streams that are missing.
    pub(crate) fn start(disk: &'a SimDisk, story: &mut Story) -> Result<Self> {
        let store = open(disk, Access::Write)?;
        let make = |spec: StreamSpec| match store.stream(&spec.name) {
            Some(stream) => Ok(stream.id()),
            None => store.create_stream(spec),
        };
        let [events, state] = specs();
        let streams = [make(events)?, make(state)?];
        story.streams_made(disk.operations());
        let appenders = [store.appender(streams[EVENTS])?, store.appender(streams[STATE])?];
        let pinned = !store.pins().is_empty();
        Ok(Self { disk, store, streams, appenders, pinned })
    }

    /// The store.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Does one thing. After an error the story says what was begun and not acknowledged.
    pub(crate) fn act(&mut self, action: &Action, story: &mut Story) -> Result<()> {
        match action {
            Action::AppendRow { stream, row, durability } => {
                let changes = [ModelChange::Insert(*stream, vec![row.clone()])];
                story.commit_begun(self.disk.operations(), &changes);
                let mut cells = vec![Cell::Int(row.0), Cell::Text(&row.1)];
                let columns = self.stream(*stream)?.schema().fields().len();
                cells.resize(columns, Cell::Text(repeated(&row.1)));
                let outcome = append(&mut self.appenders[*stream], &cells, *durability);
                self.committed(outcome.map(|seq| seq.0), *durability, story)
            }
            Action::Commit { changes, durability } => {
                story.commit_begun(self.disk.operations(), changes);
                let outcome = self.store.commit(self.changes(changes)?, *durability);
                self.committed(outcome.map(|seq| seq.0), *durability, story)
            }
            Action::Bulk { changes } => {
                let mut bulk = self.store.bulk()?;
                for change in changes {
                    self.add(&mut bulk, change)?;
                }
                // Until now nothing may be found of it, whatever fails.
                story.commit_begun(self.disk.operations(), changes);
                self.committed(bulk.commit().map(|seq| seq.0), Durability::Synced, story)
            }
            Action::Sync => {
                self.store.sync()?;
                story.acknowledged(self.disk.operations(), Durability::Synced);
                Ok(())
            }
            Action::Flush => self.store.flush(),
            Action::Compact => self.store.compact(None),
            Action::Pin => self.toggle_pin(story),
            Action::Alter => (0..STREAMS.len()).try_for_each(|stream| self.alter(stream)),
            Action::Reopen => {
                self.store.close()?;
                story.acknowledged(self.disk.operations(), Durability::Synced);
                *self = Self::start(self.disk, story)?;
                Ok(())
            }
        }
    }

    fn committed(
        &self,
        outcome: Result<u64>,
        durability: Durability,
        story: &mut Story,
    ) -> Result<()> {
        let seq = outcome.inspect_err(|error| {
            if !leaves_doubt(error) {
                story.commit_refused();
            }
        })?;
        story.acknowledged(self.disk.operations(), durability);
        if seq != story.last().seq() {
            let message = format!("commit {} was given number {seq}", story.last().seq());
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        Ok(())
    }

    fn changes(&self, changes: &[ModelChange]) -> Result<Changes> {
        changes.iter().try_fold(Changes::new(), |all, change| {
            Ok(match change {
                ModelChange::Insert(stream, rows) => {
                    all.insert(self.streams[*stream], batch(&*self.stream(*stream)?, rows)?)
                }
                ModelChange::DeleteRange(stream, lo, hi) => {
                    all.delete_range(self.streams[*stream], KeyRange::times(*lo, *hi))
                }
                ModelChange::DeleteKeys(stream, deleted) => {
                    all.delete_keys(self.streams[*stream], keys(deleted)?)
                }
            })
        })
    }

    fn add(&self, bulk: &mut BulkCommit, change: &ModelChange) -> Result<()> {
        match change {
            ModelChange::Insert(stream, rows) => {
                bulk.insert(self.streams[*stream], batch(&*self.stream(*stream)?, rows)?)
            }
            ModelChange::DeleteRange(stream, lo, hi) => {
                bulk.delete_range(self.streams[*stream], KeyRange::times(*lo, *hi))
            }
            ModelChange::DeleteKeys(stream, deleted) => {
                bulk.delete_keys(self.streams[*stream], keys(deleted)?)
            }
        }
    }

    fn stream(&self, stream: usize) -> Result<Arc<Stream>> {
        let missing = || Error::new(ErrorKind::NotFound, STREAMS[stream]);
        self.store.stream(STREAMS[stream]).ok_or_else(missing)
    }

    /// Gives a stream a column more.
    fn alter(&self, stream: usize) -> Result<()> {
        let mut fields = self.stream(stream)?.schema().fields().to_vec();
        let name = format!("again {}", fields.len());
        fields.push(Arc::new(Field::new(name, DataType::Utf8, true)));
        self.store.alter_stream(self.streams[stream], Arc::new(Schema::new(fields))).map(|_| ())
    }

    fn toggle_pin(&mut self, story: &mut Story) -> Result<()> {
        if self.pinned {
            story.unpin_begun(self.disk.operations());
            self.store.unpin(PIN)?;
            story.unpin_done(self.disk.operations());
        } else {
            story.pin_begun(self.disk.operations());
            self.store.pin(PIN)?;
            story.pin_done(self.disk.operations());
        }
        self.pinned = !self.pinned;
        Ok(())
    }
}

/// Whether a commit that failed so may be found all the same.
pub(crate) fn leaves_doubt(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace)
}

/// Why a store is not what it should be.
#[derive(Debug)]
pub(crate) enum Problem {
    /// It answers, wrongly.
    Wrong(String),
    /// It doesn't answer.
    Failed(Error),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(message) => f.write_str(message),
            Self::Failed(error) => write!(f, "can't be read: {error}"),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Problem> for String {
    fn from(problem: Problem) -> Self {
        problem.to_string()
    }
}

type Judgement<T> = std::result::Result<T, Problem>;

/// Holds a store against its story: all that it shows must be what was after one commit.
pub(crate) fn read(store: &Store, story: &Story, streams_made: bool) -> Judgement<Found> {
    let snapshot = store.snapshot()?;
    let seq = snapshot.seq().0;
    let Some(model) = story.model(seq) else {
        let message = format!("the store says that it is at commit {seq}, which was never made");
        return Err(Problem::Wrong(message));
    };
    compare(store, &snapshot, model, streams_made)?;
    let pins = store.pins();
    let pin = match pins.as_slice() {
        [] => None,
        [pin] if pin.name == PIN => Some(pin.seq.0),
        _ => return Err(Problem::Wrong(format!("unknown pins: {pins:?}"))),
    };
    if let Some(at) = pin {
        let Some(model) = story.pinned(at) else {
            return Err(Problem::Wrong(format!("a pin sees commit {at}, where none was made")));
        };
        compare(store, &store.snapshot_at(PIN)?, model, streams_made)?;
    }
    Ok(Found { seq, pin })
}

/// Holds a snapshot against a model; an empty stream may be missing if it isn't promised.
pub(crate) fn compare(
    store: &Store,
    snapshot: &Snapshot,
    model: &Model,
    streams_made: bool,
) -> Judgement<()> {
    let at = model.seq();
    for (index, name) in STREAMS.iter().enumerate() {
        let expected = model.rows(index);
        let Some(stream) = store.stream(name) else {
            if expected.is_empty() && !streams_made {
                continue;
            }
            return Err(Problem::Wrong(format!("at commit {at}: stream '{name}' is missing")));
        };
        let (forward, backward, count) = scan_stream(snapshot, stream.id())?;
        if forward != expected {
            return Err(Problem::Wrong(format!(
                "at commit {at}: stream '{name}' holds {}, expected {}",
                shown(&forward),
                shown(&expected)
            )));
        }
        if backward != expected || count != expected.len() as u64 {
            return Err(Problem::Wrong(format!(
                "at commit {at}: stream '{name}' read from the end holds {}, its count is \
                 {count}, expected {}",
                shown(&backward),
                shown(&expected)
            )));
        }
    }
    Ok(())
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
            let message = format!("{} beside {}", again.value(row), values.value(row));
            return Err(Error::new(ErrorKind::InvalidData, message));
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
