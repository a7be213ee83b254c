//! Random views read in every way, against a model.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use proptest::prelude::*;
use timestrata_format::manifest::Merge;
use timestrata_format::{KeyRange, LeadKey, SeqNo, Tombstone};

use super::fixture::{Dice, LEAD, NoMultiple, PAYLOAD, TestRow, VecSource, lead, stream, view};
use crate::key::KeyView;
use crate::scan::{Row, ScanFilter, ScanSpec, Share, Source, StreamView, merge_sources};
use crate::{Cell, LeadKind, Result, Stream};

/// What a random view is made of.
#[derive(Debug, Clone)]
struct Shape {
    kind: LeadKind,
    composite: bool,
    merge: Merge,
    sources: usize,
    rows_max: u64,
    /// Keys are of `0..keys`, and both ends of all keys.
    keys: u64,
    block_rows: u64,
    tombstones: usize,
    markers: bool,
    seed: u64,
}

fn shapes(rows_max: u64) -> impl Strategy<Value = Shape> {
    let kind = prop_oneof![
        Just(LeadKind::Time),
        Just(LeadKind::Offset),
        Just(LeadKind::Id16),
        Just(LeadKind::Id32)
    ];
    let merge = prop_oneof![Just(Merge::Keep), Just(Merge::Latest)];
    let sizes = (0..6_usize, 1..=rows_max, 1..=4 * rows_max, 1..=1 + rows_max / 3, 0..6_usize);
    (kind, any::<bool>(), merge, sizes, any::<bool>(), any::<u64>()).prop_map(
        |(kind, composite, merge, sizes, markers, seed)| {
            let (sources, rows_max, keys, block_rows, tombstones) = sizes;
            Shape {
                kind,
                composite,
                merge,
                sources,
                rows_max,
                keys,
                block_rows,
                tombstones,
                markers,
                seed,
            }
        },
    )
}

#[derive(Debug)]
struct World {
    shape: Shape,
    dice: Dice,
    stream: Arc<Stream>,
    sources: Vec<Arc<VecSource>>,
    /// Rows of each source as it has them.
    rows: Vec<Vec<TestRow>>,
    tombstones: Vec<Tombstone>,
    view: Arc<StreamView>,
}

impl World {
    fn new(shape: Shape) -> Self {
        let stream = stream(shape.kind, shape.composite, shape.merge);
        let mut world = Self {
            view: view(&stream, &[], &[]),
            dice: Dice(shape.seed),
            stream,
            shape,
            sources: Vec::new(),
            rows: Vec::new(),
            tombstones: Vec::new(),
        };
        // Source `n` has commits 10 n + 1 to 10 n + 8; range deletes are between sources.
        for _ in 0..world.shape.tombstones {
            let seq = 10 * world.dice.below(world.shape.sources as u64 + 1);
            let range = world.range();
            world.tombstones.push(Tombstone { range, seq: SeqNo(seq) });
        }
        for number in 0..world.shape.sources as u64 {
            world.add_source(number);
        }
        world.view = view(&world.stream, &world.sources, &world.tombstones);
        world
    }

    fn key(&mut self) -> LeadKey {
        let number = match self.dice.below(30) {
            0 => i64::MIN,
            1 => i64::MAX,
            _ => self.dice.below(self.shape.keys).cast_signed(),
        };
        lead(self.shape.kind, number)
    }

    fn range(&mut self) -> KeyRange {
        let mut end = || (self.dice.below(4) > 0).then(|| self.key());
        let (lo, hi) = (end(), end());
        match (lo, hi) {
            (Some(a), Some(b)) if a > b && self.dice.below(8) > 0 => KeyRange::new(b, a),
            _ => KeyRange { lo, hi },
        }
    }

    fn add_source(&mut self, number: u64) {
        let count = 1 + self.dice.below(self.shape.rows_max);
        // Some sources have a part of the keys only.
        let part = self.range();
        let mut rows = Vec::new();
        for index in 0..count {
            let lead = self.key();
            let second = match self.shape.composite {
                true => format!("s{}", self.dice.below(3)),
                false => String::new(),
            };
            let deleted = self.shape.markers && self.stream.is_latest() && self.dice.below(4) == 0;
            let payload = (number * 1_000_000 + index).cast_signed();
            if self.shape.seed.is_multiple_of(2) || part.contains(lead) {
                rows.push(TestRow { lead, second, payload, deleted });
            }
        }
        rows.sort_by(|a, b| a.key().cmp(&b.key()));
        if self.stream.is_latest() {
            rows.dedup_by(|a, b| a.key() == b.key());
        }
        let seq_max = 10 * number + 8;
        let applied = 10 * self.dice.below(self.shape.sources as u64 + 1);
        for tombstone in &self.tombstones {
            if tombstone.seq.0 <= applied && tombstone.seq.0 > seq_max {
                rows.retain(|row| !tombstone.range.contains(row.lead));
            }
        }
        if !rows.is_empty() {
            let block_rows = 1 + self.dice.below(self.shape.block_rows) as usize;
            let seqs = (10 * number + 1, seq_max);
            let source = VecSource::new(&self.stream, &rows, block_rows, seqs, applied);
            self.sources.push(Arc::new(source));
            self.rows.push(rows);
        }
    }

    /// Every row that is there, in order; with the delete markers.
    fn merged(&self) -> Vec<TestRow> {
        let mut merged = Vec::new();
        for (source, rows) in self.sources.iter().zip(&self.rows) {
            let hidden = |row: &&TestRow| {
                let hides = |tombstone: &Tombstone| {
                    tombstone.seq > source.summary().seq_max && tombstone.range.contains(row.lead)
                };
                self.tombstones.iter().any(hides)
            };
            merged.extend(rows.iter().filter(|row| !hidden(row)).cloned());
        }
        merged.sort_by(|a, b| a.key().cmp(&b.key()));
        if self.stream.is_latest() {
            let mut newest: Vec<TestRow> = Vec::new();
            for row in merged {
                match newest.last_mut() {
                    Some(last) if last.key() == row.key() => *last = row,
                    _ => newest.push(row),
                }
            }
            return newest;
        }
        merged
    }

    fn expected(&self, spec: &ScanSpec, filter: Option<i64>) -> Vec<TestRow> {
        let mut rows = self.merged();
        rows.retain(|row| !row.deleted && spec.range.contains(row.lead));
        rows.retain(|row| filter.is_none_or(|number| NoMultiple(number).lets(row.payload)));
        if spec.reverse {
            rows.reverse();
        }
        rows.truncate(spec.limit.unwrap_or(usize::MAX));
        rows
    }
}

fn payloads(batches: &[RecordBatch], column: usize) -> Vec<i64> {
    let values = |batch: &RecordBatch| {
        let values = batch.column(column).as_primitive::<Int64Type>();
        assert_eq!(values.null_count(), 0);
        values.values().to_vec()
    };
    batches.iter().flat_map(values).collect()
}

fn expected_payloads(rows: &[TestRow]) -> Vec<i64> {
    rows.iter().map(|row| row.payload).collect()
}

fn check_scan(world: &World, spec: &ScanSpec, filter: Option<i64>) {
    let expected = world.expected(spec, filter);
    let scan = world.view.scan(spec).unwrap();
    let schema = scan.schema();
    let batches = scan.collect::<Result<Vec<_>>>().unwrap();
    assert!(batches.iter().all(|batch| batch.num_rows() > 0 && batch.schema() == schema));
    let columns = spec.columns.clone().unwrap_or_else(|| (0..4).collect());
    assert_eq!(schema.as_ref(), &world.stream.schema().project(&columns).unwrap());
    for (position, column) in columns.iter().enumerate() {
        match *column {
            PAYLOAD => assert_eq!(payloads(&batches, position), expected_payloads(&expected)),
            LEAD => {
                let keys = batches.iter().flat_map(|batch| {
                    let keys = KeyView::of_column(batch.column(position).as_ref()).unwrap();
                    (0..keys.len()).map(|row| keys.get(row)).collect::<Vec<_>>()
                });
                assert!(keys.eq(expected.iter().map(|row| row.lead)));
            }
            _ => {}
        }
    }
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, expected.len());
}

/// Without an order it is the same rows.
fn check_any_order(world: &World, range: KeyRange, number: Option<i64>) {
    let filter = number.map(|number| ScanFilter::new(NoMultiple(number)));
    let spec = ScanSpec { range, columns: Some(vec![PAYLOAD]), filter, ..ScanSpec::default() };
    let expected = world.expected(&spec, number);
    let parts = 3;
    let share = |part| ScanSpec { any_order: Some(Share { part, parts }), ..spec.clone() };
    let scans = (0..parts).map(|part| world.view.scan(&share(part)));
    if world.stream.is_latest() {
        assert!(scans.into_iter().all(|scan| scan.is_err()));
        return;
    }
    let batches: Vec<RecordBatch> =
        scans.flat_map(Result::unwrap).collect::<Result<Vec<_>>>().unwrap();
    let (mut found, mut expected) = (payloads(&batches, 0), expected_payloads(&expected));
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// Views show the same text, in every other column the same values.
fn check_views(world: &World, spec: &ScanSpec) {
    let plain = world.view.scan(spec).unwrap();
    let schema = plain.schema();
    let plain: Vec<RecordBatch> = plain.collect::<Result<_>>().unwrap();
    let viewed = world.view.scan(&ScanSpec { text_views: true, ..spec.clone() }).unwrap();
    let columns = spec.columns.clone().unwrap_or_else(|| (0..4).collect());
    for (field, column) in viewed.schema().fields().iter().zip(columns) {
        let is_view = field.data_type() == &DataType::Utf8View;
        assert_eq!(is_view, world.stream.has_text_views(column));
    }
    let again = viewed.map(|batch| {
        let batch = batch.unwrap();
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()).unwrap());
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(schema.clone(), columns.collect(), &options).unwrap()
    });
    let again: Vec<RecordBatch> = again.collect();
    let whole = |batches: &[RecordBatch]| concat_batches(&schema, batches).unwrap();
    assert_eq!(whole(&again), whole(&plain));
}

fn check_world(mut world: World, readings: usize) {
    for _ in 0..readings {
        let columns = match world.dice.below(4) {
            0 => None,
            1 => Some(vec![PAYLOAD]),
            2 => Some(vec![LEAD, 3, PAYLOAD, LEAD]),
            _ => Some(vec![]),
        };
        let limit =
            (world.dice.below(2) == 0).then(|| world.dice.below(world.shape.rows_max * 2) as usize);
        let range = if world.dice.below(4) == 0 { KeyRange::ALL } else { world.range() };
        // One lets nothing through, two half, a million nearly all.
        let numbers = [None, Some(1), Some(2), Some(1_000_000)];
        let number = numbers[world.dice.below(4) as usize].filter(|_| !world.stream.is_latest());
        for reverse in [false, true] {
            let threads = world.dice.below(4) as usize;
            let columns = columns.clone();
            let filter = number.map(|number| ScanFilter::new(NoMultiple(number)));
            let spec =
                ScanSpec { range, columns, limit, reverse, threads, filter, ..ScanSpec::default() };
            check_scan(&world, &spec, number);
            check_views(&world, &spec);
        }
        check_any_order(&world, range, number);
        check_measures(&world, range);
        check_get(&mut world);
    }
    check_merge(&world);
}

fn check_measures(world: &World, range: KeyRange) {
    let expected = world.expected(&ScanSpec { range, ..ScanSpec::default() }, None);
    assert_eq!(world.view.count(&range).unwrap(), expected.len() as u64);
    assert_eq!(world.view.min_key(&range).unwrap(), expected.first().map(|row| row.lead));
    assert_eq!(world.view.max_key(&range).unwrap(), expected.last().map(|row| row.lead));
    let ends = [world.view.first(&range).unwrap(), world.view.last(&range).unwrap()];
    let expected = [expected.first(), expected.last()].map(|row| row.map(|row| row.payload));
    assert_eq!(ends.each_ref().map(|row| row.as_ref().map(payload)), expected);
}

fn payload(row: &Row) -> i64 {
    assert_eq!(row.batch.num_columns(), 4);
    row.batch.column(PAYLOAD).as_primitive::<Int64Type>().value(row.index)
}

fn check_get(world: &mut World) {
    let merged = world.merged();
    for _ in 0..8 {
        let known = match world.dice.below(merged.len() as u64 * 5 / 4 + 1) as usize {
            index if index < merged.len() => merged[index].lead,
            _ => world.key(),
        };
        let second = match world.shape.composite {
            true => format!("s{}", world.dice.below(3)),
            false => String::new(),
        };
        let cell = match &known {
            LeadKey::Time(time) => Cell::Int(*time),
            LeadKey::Offset(offset) => Cell::UInt(*offset),
            LeadKey::Id16(id) => Cell::Bytes(id),
            LeadKey::Id32(id) => Cell::Bytes(id),
        };
        let cells = [cell, Cell::Text(&second)];
        let found = world.view.get(&cells[..1 + usize::from(world.shape.composite)]).unwrap();
        let expected = merged.iter().find(|row| row.key() == (known, &second) && !row.deleted);
        assert_eq!(found.as_ref().map(payload), expected.map(|row| row.payload));
    }
}

fn check_merge(world: &World) {
    for keep_delete_markers in [false, true] {
        let mut expected = world.merged();
        expected.retain(|row| keep_delete_markers || !row.deleted);
        let batches: Vec<RecordBatch> = merge_sources(
            &world.stream,
            world.view.sources.clone(),
            &world.view.tombstones,
            keep_delete_markers,
        )
        .collect::<Result<_>>()
        .unwrap();
        assert!(batches.iter().all(|batch| &batch.schema() == world.stream.stored_schema()));
        let found: Vec<(Option<i64>, bool)> = batches
            .iter()
            .flat_map(|batch| {
                let values = batch.column(PAYLOAD).as_primitive::<Int64Type>();
                let deleted = |row: usize| {
                    world.stream.is_latest() && batch.column(4).as_boolean().value(row)
                };
                (0..batch.num_rows())
                    .map(|row| (values.is_valid(row).then(|| values.value(row)), deleted(row)))
                    .collect::<Vec<_>>()
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|row| ((!row.deleted).then_some(row.payload), row.deleted))
            .collect();
        assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn small_views_read_as_the_model_says(shape in shapes(25)) {
        check_world(World::new(shape), 6);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn large_views_read_as_the_model_says(shape in shapes(30_000)) {
        check_world(World::new(shape), 3);
    }
}

/// Sources that overlap along their whole length, as late rows do: what the inner loop for two
/// is for.
fn pairs() -> impl Strategy<Value = Shape> {
    (shapes(3_000), 2..4_usize).prop_map(|(shape, sources)| Shape {
        composite: false,
        markers: false,
        sources,
        tombstones: shape.tombstones / 3,
        ..shape
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn two_sources_that_overlap_read_as_the_model_says(shape in pairs()) {
        check_world(World::new(shape), 3);
    }
}
