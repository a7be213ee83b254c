//! A few rows of several streams in one commit: what batches would have come to, all or nothing.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::{FixedSizeBinaryBuilder, StringBuilder, UInt64Builder};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use proptest::prelude::*;
use timestrata_engine::{
    Access, Cell, Changes, Durability, ErrorKind, GroupAppender, Io, KeyRange, Merge, RowChange,
    Store, StreamId, StreamSpec,
};

use crate::quota_disk::{Quota, QuotaDisk};
use crate::support::*;

/// Streams that keep the latest row a key: by a time alone, and by an id and a text behind it with more
/// columns than are put together without an allocation, of which none takes null.
struct Pieces {
    store: Store,
    streams: [StreamId; 2],
}

const IDS_BYTES: i32 = 100;
const COLUMNS: usize = 10;

fn wide() -> SchemaRef {
    let mut fields = vec![
        Field::new("id", DataType::FixedSizeBinary(16), false),
        Field::new("name", DataType::Utf8, false),
        Field::new("other", DataType::FixedSizeBinary(IDS_BYTES), false),
    ];
    let rest = (fields.len()..COLUMNS)
        .map(|place| Field::new(format!("n{place}"), DataType::UInt64, false));
    fields.extend(rest);
    Arc::new(Schema::new(fields))
}

fn wide_keys() -> SchemaRef {
    Arc::new(Schema::new(wide().fields().iter().take(2).cloned().collect::<Vec<_>>()))
}

impl Pieces {
    fn of(store: Store) -> Self {
        let stream = |name: &str| store.stream(name).map(|stream| stream.id());
        let streams = match stream("times").zip(stream("wide")) {
            Some((times, wide)) => [times, wide],
            None => {
                let key = vec!["id".to_owned(), "name".to_owned()];
                let spec = StreamSpec::new("wide", wide());
                let spec = StreamSpec { merge: Merge::Latest, key, ..spec };
                let times = store.create_stream(latest("times")).unwrap();
                [times, store.create_stream(spec).unwrap()]
            }
        };
        Self { store, streams }
    }

    fn rows(&self) -> (Vec<Pair>, Vec<RecordBatch>) {
        let snapshot = self.store.snapshot().unwrap();
        let scan = snapshot.scan(self.streams[1], &Default::default()).unwrap();
        let batches: Vec<_> = scan.map(Result::unwrap).collect();
        let all = arrow_select::concat::concat_batches(&wide(), &batches).unwrap();
        (read(&self.store, "times"), vec![all])
    }

    /// The changes of one commit as batches would make them.
    fn commit_batches(&self, ops: &[Op]) {
        let mut changes = Changes::new();
        for op in ops {
            changes = match op {
                Op::PutTime(time, value) => {
                    changes.insert(self.streams[0], batch(&[pair((*time).into(), value)]))
                }
                Op::DeleteTime(time) => {
                    changes.delete_keys(self.streams[0], keys(&[(*time).into()]))
                }
                Op::PutWide(id, name, value) => {
                    changes.insert(self.streams[1], wide_batch(*id, name, *value))
                }
                Op::DeleteWide(id, name) => {
                    let row = wide_batch(*id, name, 0);
                    let key = RecordBatch::try_new(wide_keys(), row.columns()[..2].to_vec());
                    changes.delete_keys(self.streams[1], key.unwrap())
                }
            };
        }
        self.store.commit(changes, Durability::Written).unwrap();
    }
}

fn wide_batch(id: u8, name: &str, value: u64) -> RecordBatch {
    let (mut ids, mut names) = (FixedSizeBinaryBuilder::new(16), StringBuilder::new());
    let mut others = FixedSizeBinaryBuilder::new(IDS_BYTES);
    ids.append_value([id; 16]).unwrap();
    names.append_value(name);
    others.append_value([id; IDS_BYTES as usize]).unwrap();
    let mut columns: Vec<arrow_array::ArrayRef> =
        vec![Arc::new(ids.finish()), Arc::new(names.finish()), Arc::new(others.finish())];
    for _ in columns.len()..COLUMNS {
        let mut numbers = UInt64Builder::new();
        numbers.append_value(value);
        columns.push(Arc::new(numbers.finish()));
    }
    RecordBatch::try_new(wide(), columns).unwrap()
}

#[derive(Debug, Clone)]
enum Op {
    PutTime(i8, String),
    DeleteTime(i8),
    PutWide(u8, String, u64),
    DeleteWide(u8, String),
}

/// Commits some changes together, one a stream and key.
fn commit(appender: &mut GroupAppender, ops: &[Op]) {
    let ids: Vec<_> = ops.iter().map(Op::ids).collect();
    let filled = filled(ops, &ids);
    let changes: Vec<_> = filled
        .iter()
        .map(|(place, deletes, cells)| match deletes {
            false => RowChange::Put(*place, cells),
            true => RowChange::DeleteKey(*place, cells),
        })
        .collect();
    appender.commit(&changes, Durability::Written).unwrap();
}

type Ids = ([u8; 16], [u8; IDS_BYTES as usize]);

/// What changes are in cells, with their ids.
fn filled<'a>(ops: &'a [Op], ids: &'a [Ids]) -> Vec<(usize, bool, Vec<Cell<'a>>)> {
    ops.iter().map(cells_of).zip(ids).map(|(row, ids)| with_ids(row, ids)).collect()
}

/// Commits some changes together, of which several may be to one key, encoded one by one.
fn commit_encoded(pieces: &Pieces, ops: &[Op]) {
    let encoders = pieces.streams.map(|stream| pieces.store.row_encoder(stream).unwrap());
    let mut changes = Changes::new();
    let ids: Vec<_> = ops.iter().map(Op::ids).collect();
    for (place, deletes, cells) in &filled(ops, &ids) {
        match deletes {
            false => encoders[*place].put(&mut changes, cells).unwrap(),
            true => encoders[*place].delete_key(&mut changes, cells).unwrap(),
        }
    }
    pieces.store.commit(changes, Durability::Written).unwrap();
}

impl Op {
    fn ids(&self) -> Ids {
        match self {
            Self::PutWide(id, ..) | Self::DeleteWide(id, _) => ([*id; 16], [*id; 100]),
            _ => ([0; 16], [0; 100]),
        }
    }

    /// What one commit may change only once.
    fn key(&self) -> (bool, i16, &str) {
        match self {
            Self::PutTime(time, _) | Self::DeleteTime(time) => (false, (*time).into(), ""),
            Self::PutWide(id, name, _) | Self::DeleteWide(id, name) => (true, (*id).into(), name),
        }
    }
}

/// Place, whether it deletes, and the cells; those of ids follow.
fn cells_of(op: &Op) -> (usize, bool, Vec<Cell<'_>>) {
    match op {
        Op::PutTime(time, value) => {
            (0, false, vec![Cell::Int((*time).into()), Cell::Bytes(value.as_bytes())])
        }
        Op::DeleteTime(time) => (0, true, vec![Cell::Int((*time).into())]),
        Op::PutWide(_, name, value) => {
            let mut cells = vec![Cell::Null, Cell::Text(name), Cell::Null];
            cells.resize(COLUMNS, Cell::UInt(*value));
            (1, false, cells)
        }
        Op::DeleteWide(_, name) => (1, true, vec![Cell::Null, Cell::Text(name)]),
    }
}

fn with_ids<'a>(
    (place, deletes, mut cells): (usize, bool, Vec<Cell<'a>>),
    (id, other): &'a Ids,
) -> (usize, bool, Vec<Cell<'a>>) {
    if place == 1 {
        cells[0] = Cell::Bytes(id);
        if let Some(cell) = cells.get_mut(2) {
            *cell = Cell::Bytes(other);
        }
    }
    (place, deletes, cells)
}

fn op() -> impl Strategy<Value = Op> {
    let name = || prop::sample::select(vec!["", "calls", "imports"]).prop_map(str::to_owned);
    prop_oneof![
        3 => (0..9i8, "[a-z]{0,4}").prop_map(|(time, value)| Op::PutTime(time, value)),
        1 => (0..9i8).prop_map(Op::DeleteTime),
        3 => (0..5u8, name(), any::<u64>()).prop_map(|(id, name, n)| Op::PutWide(id, name, n)),
        2 => (0..5u8, name()).prop_map(|(id, name)| Op::DeleteWide(id, name)),
    ]
}

fn group() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..5).prop_map(|mut ops| {
        ops.sort_by(|one, other| one.key().cmp(&other.key()));
        ops.dedup_by(|one, other| one.key() == other.key());
        ops
    })
}

#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<Op>),
    Encoded(Vec<Op>),
    /// By batches on both sides: they and single rows come in turns.
    Batches(Vec<Op>),
    Flush,
    Compact,
    Look,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => group().prop_map(Step::Commit),
        6 => prop::collection::vec(op(), 1..8).prop_map(Step::Encoded),
        2 => group().prop_map(Step::Batches),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Look),
        1 => Just(Step::Kill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn groups_of_rows_come_to_what_batches_would_and_outlive_a_killed_process(
        steps in prop::collection::vec(step(), 1..40)
    ) {
        let mut machine = Machine::new();
        let mut ours = Pieces::of(machine.open(tiny()));
        let mut appender = ours.store.group_appender(&ours.streams).unwrap();
        let other = Pieces::of(Store::memory(manual()).unwrap());
        for step in &steps {
            match step {
                Step::Commit(ops) => {
                    commit(&mut appender, ops);
                    other.commit_batches(ops);
                }
                Step::Encoded(ops) => {
                    commit_encoded(&ours, ops);
                    other.commit_batches(ops);
                }
                Step::Batches(ops) => {
                    ours.commit_batches(ops);
                    other.commit_batches(ops);
                }
                Step::Flush => ours.store.flush().unwrap(),
                Step::Compact => ours.store.compact(None).unwrap(),
                Step::Look => prop_assert_eq!(ours.rows(), other.rows()),
                Step::Kill => {
                    machine = machine.copy();
                    let killed = Pieces::of(machine.open(tiny()));
                    appender = killed.store.group_appender(&killed.streams).unwrap();
                    ours = killed;
                }
            }
        }
        prop_assert_eq!(ours.rows(), other.rows());
        let again = Pieces::of(machine.copy().open(tiny()));
        prop_assert_eq!(again.rows(), other.rows());
        prop_assert!(again.store.check().unwrap().is_sound());
    }
}

fn both() -> (Machine, Store, GroupAppender) {
    let machine = Machine::new();
    let store = machine.open(manual());
    let kept = store.create_stream(keep("kept")).unwrap();
    let newest = store.create_stream(latest("newest")).unwrap();
    let appender = store.group_appender(&[kept, newest]).unwrap();
    (machine, store, appender)
}

#[test]
fn what_a_group_can_not_do_is_refused_whole() {
    for store in [None, Some(Store::memory(manual()).unwrap())] {
        let (_machine, on_disk, mut appender) = both();
        let store = match store {
            None => on_disk,
            Some(store) => {
                let kept = store.create_stream(keep("kept")).unwrap();
                let newest = store.create_stream(latest("newest")).unwrap();
                appender = store.group_appender(&[kept, newest]).unwrap();
                store
            }
        };
        let row = [Cell::Int(1), Cell::Bytes(b"one")];
        let (key, text) = ([Cell::Int(1)], [Cell::Text("one")]);
        let first = RowChange::Put(0, &row);
        for (wrong, kind, words) in [
            (vec![], ErrorKind::InvalidArgument, "no changes"),
            (vec![first, RowChange::Put(2, &row)], ErrorKind::InvalidArgument, "stream 2 of"),
            (vec![first, RowChange::DeleteKey(0, &key)], ErrorKind::InvalidArgument, "keeps every"),
            (vec![first, RowChange::DeleteKey(1, &text)], ErrorKind::InvalidData, "'time'"),
            (vec![first, RowChange::DeleteKey(1, &row)], ErrorKind::InvalidData, "a key has 1"),
            (vec![first, RowChange::Put(1, &key)], ErrorKind::InvalidData, "a row has 2"),
        ] {
            let error = appender.commit(&wrong, Durability::Written).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(read(&store, "kept"), []);
        // And it goes on.
        appender.commit(&[first, RowChange::Put(1, &row)], Durability::Synced).unwrap();
        assert_eq!(read(&store, "kept"), [pair(1, "one")]);
        assert_eq!(read(&store, "newest"), [pair(1, "one")]);
    }
}

#[test]
fn a_group_follows_streams_that_get_other_columns() {
    let (machine, store, mut appender) = both();
    let row = [Cell::Int(1), Cell::Bytes(b"one")];
    appender
        .commit(&[RowChange::Put(0, &row), RowChange::Put(1, &row)], Durability::Written)
        .unwrap();
    let newest = store.stream("newest").unwrap().id();
    let mut fields: Vec<_> = schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new("more", DataType::UInt64, true)));
    store.alter_stream(newest, Arc::new(Schema::new(fields))).unwrap();
    let narrow = appender.commit(&[RowChange::Put(1, &row)], Durability::Written).unwrap_err();
    assert!(narrow.to_string().contains("a row has 3 columns"), "{narrow}");
    let wider = [Cell::Int(2), Cell::Bytes(b"two"), Cell::UInt(2)];
    let key = [Cell::Int(1)];
    let changes =
        [RowChange::Put(0, &row), RowChange::Put(1, &wider), RowChange::DeleteKey(1, &key)];
    appender.commit(&changes, Durability::Written).unwrap();
    let times = |store: &Store| {
        let snapshot = store.snapshot().unwrap();
        let id = store.stream("newest").unwrap().id();
        let last = snapshot.last(id, &KeyRange::ALL).unwrap().unwrap();
        (snapshot.count(id, &KeyRange::ALL).unwrap(), last.batch.num_columns())
    };
    assert_eq!(times(&store), (1, 3));
    assert_eq!(times(&machine.copy().open(manual())), (1, 3));
}

#[test]
fn a_full_disk_refuses_a_group_in_all_its_streams() {
    let quota = Arc::new(Quota::default());
    quota.set(1 << 30);
    let machine = Machine::new();
    let io = Io { disk: Arc::new(QuotaDisk::new(&quota)), ..machine.io };
    let store = Store::open_with(io, &machine.dir, Access::Write, tiny()).unwrap();
    let streams = ["a", "b"].map(|name| store.create_stream(latest(name)).unwrap());
    let mut appender = store.group_appender(&streams).unwrap();
    quota.set(quota.used() + (16 << 10));
    let value = vec![7; 500];
    let mut written = 0;
    let refused = loop {
        let row = [Cell::Int(written), Cell::Bytes(&value)];
        let changes = [RowChange::Put(0, &row), RowChange::Put(1, &row)];
        match appender.commit(&changes, Durability::Written) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 10_000, "the disk is never full");
    };
    assert_eq!(refused.kind(), ErrorKind::NoSpace, "{refused}");
    let there = ["a", "b"].map(|name| read(&store, name).len() as i64);
    assert_eq!(there, [written, written]);
    quota.set(1 << 30);
    let row = [Cell::Int(written), Cell::Bytes(&value)];
    appender
        .commit(&[RowChange::Put(0, &row), RowChange::Put(1, &row)], Durability::Synced)
        .unwrap();
    assert_eq!(["a", "b"].map(|name| read(&store, name).len() as i64), [written + 1; 2]);
}
