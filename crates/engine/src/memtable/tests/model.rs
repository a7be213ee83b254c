//! Random changes against a plain model: a list of rows, sorted stably when read.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use timestrata_format::manifest::Merge;
use timestrata_format::{KeyRange, LeadKey, SeqNo, StreamId, Tombstone};

use super::super::apart::Merging;
use super::super::{Memtable, MemtableView, PreparedBatch, check_row};
use crate::key::KeyOrder;
use crate::scan::Source;
use crate::{Cell, Stream, StreamSpec};

type Key = (i64, &'static str);

const TIMES: [i64; 9] = [i64::MIN, i64::MIN + 1, -1, 0, 1, 2, 3, i64::MAX - 1, i64::MAX];
/// Merges of so many rows are left to who reads.
const APART_ROWS_MIN: usize = 4;
const NAMES: [&str; 4] = ["", "a", "a\0", "b"];

/// Columns: payload, time, name. The key is the time, or the time and the name.
fn stream(composite: bool, merge: Merge) -> Arc<Stream> {
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let schema = Schema::new(vec![
        Field::new("payload", DataType::Int64, true),
        Field::new("time", time, false),
        Field::new("name", DataType::Utf8, false),
    ]);
    let mut spec = StreamSpec::new("model", Arc::new(schema));
    spec.key = vec!["time".to_owned()];
    if composite {
        spec.key.push("name".to_owned());
    }
    spec.merge = merge;
    Arc::new(Stream::new(StreamId(1), spec).unwrap())
}

#[derive(Debug, Clone)]
enum Change {
    Rows(Vec<Key>),
    DeleteKeys(Vec<Key>),
    DeleteRange(KeyRange),
}

#[derive(Debug, Clone)]
enum Step {
    Append(Key),
    Commit(Vec<Change>),
    /// A reader takes what is to be merged, if it has none, or else comes back with it.
    MergeApart,
    View,
}

#[derive(Debug, Clone)]
struct ModelRow {
    key: Key,
    seq: SeqNo,
    payload: i64,
    deleted: bool,
}

fn key() -> impl Strategy<Value = Key> {
    (prop::sample::select(&TIMES[..]), prop::sample::select(&NAMES[..]))
}

fn range() -> impl Strategy<Value = KeyRange> {
    let end = || prop::option::of(prop::sample::select(&TIMES[..]).prop_map(LeadKey::Time));
    (end(), end()).prop_map(|(lo, hi)| KeyRange::new(lo, hi))
}

fn rising_keys(rows: usize) -> impl Strategy<Value = Vec<Key>> {
    prop::collection::vec(key(), 0..rows).prop_map(|mut keys| {
        keys.sort_unstable();
        keys
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => prop::collection::vec(key(), 0..12).prop_map(Change::Rows),
        4 => rising_keys(40).prop_map(Change::Rows),
        1 => prop::collection::vec(key(), 0..6).prop_map(Change::DeleteKeys),
        2 => range().prop_map(Change::DeleteRange),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => key().prop_map(Step::Append),
        3 => prop::collection::vec(change(), 1..4).prop_map(Step::Commit),
        3 => Just(Step::MergeApart),
        2 => Just(Step::View),
    ]
}

struct Model {
    stream: Arc<Stream>,
    memtable: Memtable,
    rows: Vec<ModelRow>,
    tombstones: Vec<Tombstone>,
    seq: SeqNo,
    payload: i64,
    views: Vec<(Arc<MemtableView>, Vec<i64>)>,
    merging: Option<Merging>,
}

impl Model {
    fn new(composite: bool, merge: Merge) -> Self {
        Self::settling_at(usize::MAX, composite, merge)
    }

    fn settling_at(rows: usize, composite: bool, merge: Merge) -> Self {
        let stream = stream(composite, merge);
        let memtable = Memtable::new(Arc::clone(&stream)).unwrap().settling_at(rows);
        let memtable = memtable.merging_apart_from(APART_ROWS_MIN);
        let (rows, tombstones, views) = (Vec::new(), Vec::new(), Vec::new());
        let (seq, payload, merging) = (SeqNo(7), 0, None);
        Self { stream, memtable, rows, tombstones, seq, payload, views, merging }
    }

    fn step(&mut self, step: Step) {
        self.seq = self.seq.next();
        match step {
            Step::Append(key) => {
                let payload = self.remember(key, false);
                let cells = [Cell::Int(payload), Cell::Int(key.0), Cell::Text(key.1)];
                check_row(&self.stream, &cells).unwrap();
                self.memtable.append_row(self.seq, &cells);
            }
            Step::Commit(changes) => changes.into_iter().for_each(|change| self.change(change)),
            Step::MergeApart => match self.merging.take() {
                None => self.merging = self.memtable.next_large_merge(),
                Some(merging) => {
                    let before = self.memtable.rows();
                    self.memtable.adopt(&merging, merging.run());
                    assert!(self.memtable.rows() <= before, "a merge makes no rows");
                }
            },
            Step::View => {
                let (view, expected) = (self.memtable.view(), self.expected());
                assert_eq!(self.visible(&view), expected);
                assert!(Arc::ptr_eq(&view, &self.memtable.view()));
                self.views.push((view, expected));
            }
        }
    }

    fn remember(&mut self, key: Key, deleted: bool) -> i64 {
        self.payload += 1;
        self.rows.push(ModelRow { key, seq: self.seq, payload: self.payload, deleted });
        self.payload
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Rows(keys) => {
                let batch = self.batch(&keys);
                let prepared = PreparedBatch::insert(&self.stream, batch).unwrap();
                self.memtable.insert(self.seq, prepared);
            }
            Change::DeleteKeys(keys) if self.stream.is_latest() => {
                for key in &keys {
                    self.remember(*key, true);
                }
                let keys = key_columns(&keys, self.stream.key_columns().len());
                let prepared = PreparedBatch::delete_keys(&self.stream, keys).unwrap();
                self.memtable.insert(self.seq, prepared);
            }
            Change::DeleteKeys(_) => {}
            Change::DeleteRange(range) => {
                let tombstone = Tombstone { range, seq: self.seq };
                self.memtable.delete_range(tombstone);
                self.tombstones.push(tombstone);
            }
        }
    }

    fn batch(&mut self, keys: &[Key]) -> RecordBatch {
        let payloads: Vec<i64> = keys.iter().map(|key| self.remember(*key, false)).collect();
        let keys = key_columns(keys, 2);
        let payload = Arc::new(Int64Array::from(payloads)) as ArrayRef;
        let columns = [payload, keys.column(0).clone(), keys.column(1).clone()];
        RecordBatch::try_new(self.stream.schema().clone(), columns.to_vec()).unwrap()
    }

    /// Payloads in the order that a scan must give.
    fn expected(&self) -> Vec<i64> {
        let same = |a: &ModelRow, b: &ModelRow| {
            a.key.0 == b.key.0 && (self.stream.key_columns().len() == 1 || a.key.1 == b.key.1)
        };
        let hidden = |row: &ModelRow| {
            self.tombstones.iter().any(|tombstone| {
                row.seq < tombstone.seq && tombstone.range.contains(LeadKey::Time(row.key.0))
            })
        };
        let mut rows: Vec<&ModelRow> = self
            .rows
            .iter()
            .enumerate()
            .filter(|(index, row)| {
                let replaced = || self.rows[index + 1..].iter().any(|later| same(row, later));
                !hidden(row) && !(self.stream.is_latest() && (row.deleted || replaced()))
            })
            .map(|(_, row)| row)
            .collect();
        match self.stream.key_columns().len() {
            1 => rows.sort_by_key(|row| row.key.0),
            _ => rows.sort_by_key(|row| row.key),
        }
        rows.iter().map(|row| row.payload).collect()
    }

    /// Payloads as a reader gets them from a view by the engine's rules.
    fn visible(&self, view: &MemtableView) -> Vec<i64> {
        let order = KeyOrder::new(&self.stream).unwrap();
        let latest = self.stream.is_latest();
        let mut rows: Vec<(Key, i64, bool)> = Vec::new();
        for source in &view.sources {
            let batch = whole(source.as_ref(), self.stream.stored_schema().fields().len());
            assert!(order.is_sorted(&batch, latest).unwrap(), "a source is sorted");
            assert!(view.seq_min.unwrap() <= source.summary().seq_max);
            assert!(source.summary().seq_max <= view.seq_max.unwrap());
            let hides = |key: i64| {
                view.tombstones.pieces().iter().any(|tombstone| {
                    let unapplied = tombstone.seq > source.summary().tombstones_applied_through;
                    let touches = tombstone.range.overlaps(source.key_min(), source.key_max());
                    assert!(!unapplied || !touches || tombstone.seq > source.summary().seq_max);
                    unapplied && tombstone.range.contains(LeadKey::Time(key))
                })
            };
            let read = rows_of(&batch, latest);
            assert_eq!(
                read.iter().filter(|row| row.2).count() as u64,
                source.delete_markers(),
                "delete markers are counted"
            );
            rows.extend(read.into_iter().filter(|row| !hides(row.0.0)));
        }
        let single = order.is_single();
        rows.sort_by(|a, b| match single {
            true => a.0.0.cmp(&b.0.0),
            false => a.0.cmp(&b.0),
        });
        if latest {
            let same = |a: Key, b: Key| a.0 == b.0 && (single || a.1 == b.1);
            rows = (0..rows.len())
                .filter(|&row| rows.get(row + 1).is_none_or(|next| !same(rows[row].0, next.0)))
                .map(|row| rows[row])
                .filter(|row| !row.2)
                .collect();
        }
        rows.iter().map(|row| row.1).collect()
    }

    fn finish(mut self) {
        self.step(Step::View);
        for (view, expected) in &self.views {
            assert_eq!(&self.visible(view), expected, "a view never changes");
        }
    }
}

/// The first `count` key columns: time, name.
fn key_columns(keys: &[Key], count: usize) -> RecordBatch {
    let times = keys.iter().map(|key| key.0);
    let times = TimestampMillisecondArray::from_iter_values(times).with_timezone("UTC");
    let names = StringArray::from_iter_values(keys.iter().map(|key| key.1));
    let columns = [("time", Arc::new(times) as ArrayRef), ("name", Arc::new(names) as ArrayRef)];
    RecordBatch::try_from_iter(columns.into_iter().take(count)).unwrap()
}

fn whole(source: &dyn Source, columns: usize) -> RecordBatch {
    let columns: Vec<usize> = (0..columns).collect();
    let zones = source.blocks().unwrap();
    let batches: Vec<RecordBatch> =
        (0..zones.len()).map(|block| source.read(block, &columns).unwrap()).collect();
    assert_eq!(source.key_min(), zones[0].key_min);
    assert_eq!(source.key_max(), zones[zones.len() - 1].key_max);
    let batch = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    assert_eq!(source.rows(), batch.num_rows() as u64);
    assert!(source.may_contain(source.key_min()).unwrap());
    assert!(source.may_contain(source.key_max()).unwrap());
    batch
}

fn rows_of(batch: &RecordBatch, latest: bool) -> Vec<(Key, i64, bool)> {
    let payloads = batch.column(0).as_primitive::<Int64Type>();
    let times = batch.column(1).as_primitive::<TimestampMillisecondType>();
    let names = batch.column(2).as_string::<i32>();
    (0..batch.num_rows())
        .map(|row| {
            let name = NAMES.iter().find(|name| **name == names.value(row));
            // A deleted key has defaults where the name is no key column.
            let name = name.copied().unwrap_or_default();
            let deleted = latest && batch.column(3).as_boolean().value(row);
            ((times.value(row), name), payloads.value(row), deleted)
        })
        .collect()
}

#[test]
fn two_range_deletes_of_one_commit_with_an_insert_between_both_hide_older_rows() {
    // The insert merged older chunks and marked them as past the commit's first delete, so
    // the second one missed them.
    let mut model = Model::new(false, Merge::Keep);
    for time in [0, -1, -1] {
        model.step(Step::Append((time, "a")));
        model.step(Step::View);
    }
    model.step(Step::Commit(vec![
        Change::DeleteRange(KeyRange::times(0, 1)),
        Change::Rows(vec![(-1, "b")]),
        Change::DeleteRange(KeyRange::ALL),
    ]));
    model.finish();
}

#[test]
fn late_rows_of_one_commit_outlive_a_range_delete_after_them() {
    let mut model = Model::new(false, Merge::Keep);
    model.step(Step::Append((1, "a")));
    model.step(Step::Append((0, "a")));
    model.step(Step::Commit(vec![
        Change::Rows(vec![(0, "b"), (1, "b")]),
        Change::DeleteRange(KeyRange::ALL),
    ]));
    model.step(Step::Append((0, "c")));
    model.finish();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_changes_read_as_a_stable_sort_of_their_rows(
        composite in any::<bool>(),
        latest in any::<bool>(),
        settled_rows in prop_oneof![Just(2_usize), Just(5), Just(usize::MAX)],
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let merge = if latest { Merge::Latest } else { Merge::Keep };
        let mut model = Model::settling_at(settled_rows, composite, merge);
        steps.into_iter().for_each(|step| model.step(step));
        model.finish();
    }
}
