//! Rows of a block that pass a filter, read without the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;
use timestrata_format::RunFormat;

use super::{BlockCache, FORMATS, Place, RunReader, series};
use crate::Result;
use crate::scan::{
    ColumnBounds, PlannedFilter, RowFilter, RowOrder, ScanFilter, Source, ViewedColumns,
};

/// Lets through one row in `share` by a fixed rule, in heaps, whatever is in them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heaps(pub(super) usize);

impl Heaps {
    pub(super) fn of(self, rows: usize) -> BooleanArray {
        let is_in = |row: usize| (row / 3).wrapping_mul(2_654_435_761) >> 7 & 1023 < 1024 / self.0;
        (0..rows).map(|row| Some(is_in(row))).collect()
    }
}

impl RowFilter for Heaps {
    fn columns(&self) -> &[usize] {
        &[1]
    }
    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        Ok(self.of(rows.num_rows()))
    }
}

pub(super) fn planned(
    place: &Place,
    filter: impl RowFilter + 'static,
    columns: &[usize],
    text_views: bool,
) -> PlannedFilter {
    PlannedFilter::new(&place.stream, columns, &ScanFilter::new(filter), text_views, None).unwrap()
}

/// The same columns, whatever their fields are called.
fn assert_same(found: &RecordBatch, expected: &RecordBatch, what: &str) {
    assert_eq!(found.num_rows(), expected.num_rows(), "{what}");
    assert_eq!(found.columns(), expected.columns(), "{what}");
}

/// Columns of a block, with views of its texts or without.
fn whole(
    reader: &RunReader,
    block: usize,
    columns: &[usize],
    texts: &[usize],
    text_views: bool,
) -> RecordBatch {
    let views: Vec<bool> = columns.iter().map(|column| texts.contains(column)).collect();
    match text_views && views.contains(&true) {
        true => {
            let wanted = ViewedColumns {
                columns: columns.to_vec(),
                views,
                by_dictionary: Vec::new(),
                scan_rows: 0,
                arena: None,
            };
            reader.read_viewed(block, &wanted, None, RowOrder::ByKey).unwrap()
        }
        false => reader.read(block, columns).unwrap(),
    }
}

#[test]
fn rows_that_pass_are_those_of_the_whole_block() {
    // Of short blocks few rows are picked out of all, and of long ones the others are skipped where there are many.
    for (format, block_rows) in
        FORMATS.into_iter().flat_map(|format| [(format, 1_000), (format, 20_000)])
    {
        let rows = series(3 * block_rows as i64);
        let mut place = Place::new(rows.schema());
        place.settings.run_batch_rows = block_rows;
        let meta = place.write(2, format, std::slice::from_ref(&rows));
        for columns in [vec![0, 1, 2], vec![2, 0], vec![1, 0], vec![0]] {
            for text_views in [false, true] {
                for share in [1024, 100, 5, 2, 1] {
                    let what = format!("{format:?}, one in {share}, {columns:?}, {text_views}");
                    // A reader each, whose cache is empty at first and then has all columns.
                    let reader = place.reader(&meta);
                    let filter = planned(&place, Heaps(share), &columns, text_views);
                    let first = reader.read_passing(1, &filter, None, RowOrder::ByKey).unwrap();
                    let all = whole(&reader, 1, &columns, &[2], text_views);
                    let expected = filter_record_batch(&all, &Heaps(share).of(block_rows)).unwrap();
                    assert!(share == 1024 || expected.num_rows() > 0, "{what}");
                    assert_same(&first, &expected, &what);
                    assert_same(
                        &reader.read_passing(1, &filter, None, RowOrder::ByKey).unwrap(),
                        &expected,
                        &what,
                    );
                }
            }
        }
    }
}

#[test]
fn few_rows_are_not_kept_and_many_are() {
    let rows = series(3_000);
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = 1_000;
    let meta = place.write(2, RunFormat::Cold, std::slice::from_ref(&rows));
    let cache = Arc::new(BlockCache::new(1 << 24));
    let reader = place.reader_with(&meta, &cache);
    let kept_by = |share| {
        let before = cache.bytes();
        reader
            .read_passing(0, &planned(&place, Heaps(share), &[2], false), None, RowOrder::ByKey)
            .unwrap();
        cache.bytes() - before
    };
    // What the filter looks at is kept.
    assert!(kept_by(50) > 0);
    assert_eq!(kept_by(50), 0);
    assert!(kept_by(2) > 0);
}

/// Lets the rows of one host through, and looks at pages that may have some.
#[derive(Debug)]
pub(super) struct OfHost {
    pub(super) host: &'static str,
    pub(super) pages_left_out: Arc<AtomicUsize>,
}

fn text(column: &dyn Array, row: usize) -> Option<&str> {
    match column.as_string_opt::<i32>() {
        Some(texts) => texts.is_valid(row).then(|| texts.value(row)),
        None => column.as_string_view().is_valid(row).then(|| column.as_string_view().value(row)),
    }
}

impl RowFilter for OfHost {
    fn columns(&self) -> &[usize] {
        &[2]
    }
    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let hosts = rows.column(0);
        Ok((0..rows.num_rows()).map(|row| Some(text(hosts, row) == Some(self.host))).collect())
    }
    fn may_pass(&self, pages: &[ColumnBounds]) -> Result<Option<BooleanArray>> {
        let [ColumnBounds { min, max, rows, .. }] = pages else { return Ok(None) };
        let may = |page: usize| {
            let may = text(min, page).is_none_or(|min| min <= self.host)
                && text(max, page).is_none_or(|max| self.host <= max);
            self.pages_left_out.fetch_add((!may).into(), Ordering::Relaxed);
            Some(may)
        };
        Ok(Some((0..rows.len()).map(may).collect()))
    }
}

/// Lets rows through whose text, or that it is null, is one of these.
#[derive(Debug)]
struct OneOf {
    texts: Vec<Option<&'static str>>,
    single: Vec<ScanFilter>,
    shown: Arc<AtomicUsize>,
}

impl RowFilter for OneOf {
    fn columns(&self) -> &[usize] {
        &[2]
    }
    fn of_single_columns(&self) -> &[ScanFilter] {
        &self.single
    }
    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        self.shown.fetch_add(rows.num_rows(), Ordering::Relaxed);
        let passes = |row| self.texts.contains(&text(rows.column(0), row));
        Ok((0..rows.num_rows()).map(|row| Some(passes(row))).collect())
    }
}

#[test]
fn each_of_few_texts_is_looked_at_once_as_many_blocks_were_asked_for_as_a_flushed_run_has() {
    let texts = (0..3_000).map(|row| (row % 11 != 3).then(|| format!("sensor-{}", row % 5)));
    let columns = series(3_000).columns().to_vec();
    let rows = super::batch_of([
        ("t", columns[0].clone(), false),
        ("v", columns[1].clone(), true),
        ("s", Arc::new(StringArray::from_iter(texts)), true),
    ]);
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = 1_000;
    let meta = place.write(2, RunFormat::Hot, std::slice::from_ref(&rows));
    for wanted in [vec![], vec![None], vec![Some("sensor-3")], vec![Some("sensor-1"), None]] {
        for (text_views, columns) in [(false, vec![0, 1, 2]), (true, vec![2, 0]), (true, vec![1])] {
            let passing = |is_single: bool| {
                let shown = [Arc::default(), Arc::default()];
                let one_of = |single, shown: &Arc<_>| OneOf {
                    texts: wanted.clone(),
                    single,
                    shown: Arc::clone(shown),
                };
                let single = is_single.then(|| ScanFilter::new(one_of(Vec::new(), &shown[0])));
                let filter = one_of(single.into_iter().collect(), &shown[1]);
                let filter = planned(&place, filter, &columns, text_views);
                let reader = place.reader(&meta);
                let ask = |block| {
                    let found = reader.read_passing(block, &filter, None, RowOrder::ByKey).unwrap();
                    let take = |shown: &AtomicUsize| shown.swap(0, Ordering::Relaxed);
                    (found, [take(&shown[0]), take(&shown[1])])
                };
                if is_single {
                    for block in 0..3 {
                        assert_eq!(ask(block).1, [0, 1_000], "each row of {block}");
                    }
                }
                ask(1)
            };
            let (expected, shown) = passing(false);
            assert_eq!(shown, [0, 1_000]);
            let (found, shown) = passing(true);
            assert_same(&found, &expected, &format!("{wanted:?} of {columns:?}"));
            assert_eq!(shown, [6, expected.num_rows()], "five texts, and null");
        }
    }
}

/// Rows of many hosts, a step of time after the other, each with values of its own.
pub(super) fn hosts(steps: usize, hosts: usize) -> RecordBatch {
    let rows = 0..steps * hosts;
    let host = |row: usize| row * 7 % hosts;
    let noise = |row: usize| (row.wrapping_mul(2_654_435_761) >> 7 & 15) as f64;
    let times = rows.clone().map(|row| 10 * (row / hosts) as i64);
    let values = rows
        .clone()
        .map(|row| (host(row) % 11 != 3).then_some(host(row) as f64 * 1e3 + noise(row) / 3.0));
    let names = rows.map(|row| Some(format!("host {:03}", host(row))));
    super::batch_of([
        ("t", Arc::new(Int64Array::from_iter_values(times)), false),
        ("v", Arc::new(Float64Array::from_iter(values)), true),
        ("s", Arc::new(StringArray::from_iter(names)), true),
    ])
}

#[test]
fn pages_of_other_series_are_left_out() {
    let rows = hosts(500, 90);
    let mut place = Place::by_series(rows.schema(), &["s"]);
    place.settings.run_batch_rows = 10_000;
    let meta = place.write(2, RunFormat::Cold, std::slice::from_ref(&rows));
    for text_views in [false, true] {
        let reader = place.reader(&meta);
        assert_eq!(reader.blocks().unwrap().len(), 2, "40,000 rows and 5,000");
        for block in 0..2 {
            let pages_left_out = Arc::default();
            let filter = OfHost { host: "host 042", pages_left_out: Arc::clone(&pages_left_out) };
            let filter = planned(&place, filter, &[0, 1, 2], text_views);
            let found = reader.read_passing(block, &filter, None, RowOrder::ByKey).unwrap();
            assert!(found.num_rows() > 50);
            let all = whole(&reader, block, &[0, 1, 2], &[2], text_views);
            let is_it =
                (0..all.num_rows()).map(|row| Some(text(all.column(2), row) == Some("host 042")));
            let expected = filter_record_batch(&all, &is_it.collect()).unwrap();
            assert_same(&found, &expected, "one host");
            let left_out = pages_left_out.load(Ordering::Relaxed);
            assert!(left_out >= [8, 1][block], "{left_out} pages of block {block}");
        }
    }
}

#[test]
fn rows_that_lie_by_series_are_read_in_the_order_of_the_key() {
    // Rows of a block: four times as many as usual, enough for all series, and no more than 32 times as many.
    let cases = [(300, 40, 2_600, 10_400), (300, 40, 1_200, 10_800), (100, 200, 500, 16_000)];
    for (steps, count, run_batch_rows, expected) in cases {
        let rows = hosts(steps, count);
        let mut place = Place::by_series(rows.schema(), &["s"]);
        place.settings.run_batch_rows = run_batch_rows;
        // As one batch, and as many that end anywhere.
        for batch_rows in [rows.num_rows(), 700] {
            let starts = (0..rows.num_rows()).step_by(batch_rows);
            let batches: Vec<_> = starts
                .map(|start| rows.slice(start, batch_rows.min(rows.num_rows() - start)))
                .collect();
            let meta = place.write(batch_rows as u64, RunFormat::Cold, &batches);
            let reader = place.reader(&meta);
            let blocks: Vec<_> = reader.blocks().unwrap().iter().map(|zone| zone.rows).collect();
            assert_eq!(blocks, [expected, rows.num_rows() as u32 - expected]);
            assert_eq!(super::read_all(&reader).unwrap(), rows);
            assert_eq!(reader.verify_all().unwrap().rows, rows.num_rows() as u64);
        }
    }
}

#[test]
fn a_block_of_many_series_that_ends_early_holds_all_its_rows() {
    let rows = hosts(300, 40);
    let mut place = Place::by_series(rows.schema(), &["s"]);
    place.settings.run_batch_rows = 1_000;
    // Before it is known how many series there are, while rows are waited for, and behind the first block.
    for ends in [vec![3_000], vec![5_000, 5_001], vec![500, 11_800]] {
        let mut writer = place.writer(ends.iter().sum::<usize>() as u64, RunFormat::Cold).unwrap();
        let mut start = 0;
        for end in ends.iter().copied().chain([rows.num_rows()]) {
            writer.write(&rows.slice(start, end - start)).unwrap();
            writer.end_block().unwrap();
            start = end;
        }
        let meta = writer.finish(super::PROVENANCE, crate::run::Lineage::default()).unwrap();
        let reader = place.reader(&meta);
        assert_eq!(super::read_all(&reader).unwrap(), rows);
        assert_eq!(reader.verify_all().unwrap().rows, 12_000);
    }
}
