//! What a reading promises beside its rows: what it doesn't copy and doesn't read.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{BooleanArray, RecordBatch};
use timestrata_format::manifest::Merge;
use timestrata_format::{KeyRange, LeadKey, SeqNo, Tombstone};

use super::fixture::{LEAD, NoMultiple, PAYLOAD, TestRow, VecSource, stream, view};
use crate::scan::{RowFilter, ScanFilter, ScanSpec, Source, merge_sources};
use crate::{Cell, ErrorKind, LeadKind, Result, Settings, Store, Stream};

fn rows(times: impl Iterator<Item = i64>) -> Vec<TestRow> {
    let row = |time| TestRow {
        lead: LeadKey::Time(time),
        second: String::new(),
        payload: time,
        deleted: false,
    };
    times.map(row).collect()
}

fn times() -> Arc<Stream> {
    stream(LeadKind::Time, false, Merge::Keep)
}

fn source(
    stream: &Stream,
    times: impl Iterator<Item = i64>,
    block_rows: usize,
    number: u64,
) -> VecSource {
    VecSource::new(stream, &rows(times), block_rows, (10 * number + 1, 10 * number + 8), 0)
}

#[test]
fn sources_that_do_not_overlap_are_not_copied() {
    let stream = times();
    let late = Arc::new(source(&stream, 10_000..20_000, 2_000, 0));
    let early = Arc::new(source(&stream, 0..10_000, 2_000, 1));
    let view = view(&stream, &[Arc::clone(&late), Arc::clone(&early)], &[]);
    let batches: Vec<_> = view.scan(&ScanSpec::default()).unwrap().map(Result::unwrap).collect();
    let blocks: Vec<_> = [early, late]
        .iter()
        .flat_map(|source| (0..5).map(|block| source.batch(block).clone()))
        .collect();
    assert_eq!(batches.len(), blocks.len());
    for (batch, block) in batches.iter().zip(&blocks) {
        assert_eq!(batch, block);
        for (given, stored) in batch.columns().iter().zip(block.columns()) {
            assert!(given.to_data().ptr_eq(&stored.to_data()));
        }
    }
}

#[test]
fn a_range_delete_cuts_slices_and_copies_nothing() {
    let stream = times();
    let only = Arc::new(source(&stream, 0..10_000, 10_000, 0));
    let tombstone = Tombstone { range: KeyRange::times(4_000, 6_000), seq: SeqNo(10) };
    let view = view(&stream, &[Arc::clone(&only)], &[tombstone]);
    let batches: Vec<_> = view.scan(&ScanSpec::default()).unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.len(), 2);
    for (batch, start) in batches.iter().zip([0, 6_000]) {
        assert_eq!(batch.num_rows(), 4_000);
        let stored = only.batch(0).column(PAYLOAD).slice(start, 4_000);
        assert!(batch.column(PAYLOAD).to_data().ptr_eq(&stored.to_data()));
    }
}

#[test]
fn blocks_out_of_the_range_are_not_read() {
    let stream = times();
    let first = Arc::new(source(&stream, 0..100, 10, 0));
    let second = Arc::new(source(&stream, 200..300, 10, 1));
    let view = view(&stream, &[Arc::clone(&first), Arc::clone(&second)], &[]);
    let spec = ScanSpec {
        range: KeyRange::times(35, 55),
        columns: Some(vec![PAYLOAD]),
        ..ScanSpec::default()
    };
    let rows: usize = view.scan(&spec).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 20);
    let reads = std::mem::take(&mut *first.reads.lock());
    let columns = vec![PAYLOAD, LEAD];
    assert_eq!(reads, [3, 4, 5].map(|block| (block, columns.clone())));
    assert_eq!(second.opened.load(Ordering::Relaxed), 0);
}

#[test]
fn a_filter_reads_other_columns_only_of_blocks_with_rows_that_pass() {
    let stream = times();
    let only = Arc::new(source(&stream, 0..30, 10, 0));
    let view = view(&stream, &[Arc::clone(&only)], &[]);
    // Of the payloads from 0 to 29 only 0 is a multiple of 100.
    let filter = Some(ScanFilter::new(Not(NoMultiple(100))));
    let spec = ScanSpec { filter, columns: Some(vec![3, PAYLOAD]), ..ScanSpec::default() };
    let rows = view.collect(&spec).unwrap();
    assert_eq!(rows.num_rows(), 1);
    let reads = std::mem::take(&mut *only.reads.lock());
    let looked_at = vec![LEAD, PAYLOAD];
    let expected = [(0, looked_at.clone()), (0, vec![3]), (1, looked_at.clone()), (2, looked_at)];
    assert_eq!(reads, expected);
}

#[test]
fn what_has_passed_a_filter_is_given_before_all_is_read() {
    let stream = times();
    let only = Arc::new(source(&stream, 0..1_000, 10, 0));
    let view = view(&stream, &[Arc::clone(&only)], &[]);
    let filter = Some(ScanFilter::new(Not(NoMultiple(500))));
    let mut scan = view.scan(&ScanSpec { filter, ..ScanSpec::default() }).unwrap();
    assert_eq!(scan.next().unwrap().unwrap().num_rows(), 1);
    let read = only.blocks_read().len();
    assert!(read < 10, "{read} reads");
    assert_eq!(scan.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1);
}

#[test]
fn a_scan_with_a_filter_ends_with_its_query_though_nothing_passes() {
    let stream = times();
    let only = Arc::new(source(&stream, 0..1_000, 10, 0));
    let view = view(&stream, &[Arc::clone(&only)], &[]);
    let store = Store::memory(Settings::default()).unwrap();
    let query = store.begin_query("nothing of it", None);
    let filter = Some(ScanFilter::new(Cancelling(store.clone())));
    let spec = ScanSpec { filter, ..ScanSpec::default() };
    let mut scan = view.scan_for(&spec, Some(&query)).unwrap();
    assert_eq!(scan.next().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(only.blocks_read(), [0]);
    assert!(scan.next().is_none());
}

#[test]
fn the_newest_row_a_key_takes_no_filter() {
    let stream = stream(LeadKind::Time, false, Merge::Latest);
    let view = view(&stream, &[], &[]);
    let filter = Some(ScanFilter::new(NoMultiple(2)));
    let error = view.scan(&ScanSpec { filter, ..ScanSpec::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

/// Lets through what the other one doesn't.
#[derive(Debug)]
struct Not(NoMultiple);

impl RowFilter for Not {
    fn columns(&self) -> &[usize] {
        self.0.columns()
    }
    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        Ok(self.0.passes(rows)?.iter().map(|passes| Some(passes.is_none())).collect())
    }
}

/// Lets nothing through, and has all queries end.
#[derive(Debug)]
struct Cancelling(Store);

impl RowFilter for Cancelling {
    fn columns(&self) -> &[usize] {
        &[PAYLOAD]
    }
    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        self.0.queries().iter().for_each(|query| assert!(self.0.cancel_query(query.id)));
        Ok(BooleanArray::from(vec![false; rows.num_rows()]))
    }
}

#[test]
fn a_limit_leaves_later_blocks_and_sources_unread() {
    let stream = times();
    let first = Arc::new(source(&stream, 0..100, 10, 0));
    let over = Arc::new(source(&stream, 50..150, 10, 1));
    let view = view(&stream, &[Arc::clone(&first), Arc::clone(&over)], &[]);
    let spec = ScanSpec { limit: Some(15), ..ScanSpec::default() };
    let rows: usize = view.scan(&spec).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 15);
    assert_eq!(first.blocks_read(), [0, 1]);
    assert_eq!(over.opened.load(Ordering::Relaxed), 0);
}

#[test]
fn the_last_rows_are_read_from_the_last_blocks() {
    let stream = times();
    let first = Arc::new(source(&stream, 0..1_000, 100, 0));
    let over = Arc::new(source(&stream, 500..980, 100, 1));
    let view = view(&stream, &[Arc::clone(&first), Arc::clone(&over)], &[]);
    let spec = ScanSpec { limit: Some(10), reverse: true, ..ScanSpec::default() };
    let batch = view.collect(&spec).unwrap();
    assert_eq!(batch.num_rows(), 10);
    assert_eq!(first.blocks_read(), [9]);
    assert_eq!(over.blocks_read(), [0_usize; 0]);
    assert_eq!(view.last(&KeyRange::times(0, 300)).unwrap().unwrap().index, 0);
    assert_eq!(first.blocks_read(), [2]);
}

#[test]
fn a_reverse_scan_reads_each_block_once() {
    let stream = times();
    let sources = [
        Arc::new(source(&stream, 0..1_000, 90, 0)),
        Arc::new(source(&stream, 100..900, 70, 1)),
        Arc::new(source(&stream, 2_000..2_100, 7, 2)),
    ];
    let view = view(&stream, &sources, &[]);
    let spec = ScanSpec { reverse: true, ..ScanSpec::default() };
    let rows: usize = view.scan(&spec).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 1_900);
    for source in &sources {
        let blocks = source.blocks().unwrap().len();
        assert_eq!(source.blocks_read(), (0..blocks).rev().collect::<Vec<_>>());
    }
}

#[test]
fn counts_and_ends_come_from_metadata_where_that_is_exact() {
    let stream = times();
    let first = Arc::new(source(&stream, (0..1_000).map(|time| time * 2), 100, 0));
    let over = Arc::new(source(&stream, 500..600, 10, 1));
    let view = view(&stream, &[Arc::clone(&first), Arc::clone(&over)], &[]);
    assert_eq!(view.count(&KeyRange::ALL).unwrap(), 1_100);
    assert_eq!(view.min_key(&KeyRange::ALL).unwrap(), Some(LeadKey::Time(0)));
    assert_eq!(view.max_key(&KeyRange::ALL).unwrap(), Some(LeadKey::Time(1_998)));
    assert_eq!(first.opened.load(Ordering::Relaxed) + over.opened.load(Ordering::Relaxed), 0);

    // The range cuts one block at each end.
    assert_eq!(view.count(&KeyRange::times(101, 1_901)).unwrap(), 900 + 100);
    assert_eq!(first.blocks_read(), [0, 9]);
    assert_eq!(over.blocks_read(), [0_usize; 0]);
    assert_eq!(view.min_key(&KeyRange::times(101, 1_901)).unwrap(), Some(LeadKey::Time(102)));
    assert_eq!(view.max_key(&KeyRange::times(101, 1_901)).unwrap(), Some(LeadKey::Time(1_900)));
    assert_eq!(first.blocks_read(), [0, 9]);
    assert_eq!(over.blocks_read(), [0_usize; 0]);
}

#[test]
fn the_newest_rows_are_counted_by_reading_only_what_overlaps() {
    let stream = stream(LeadKind::Time, false, Merge::Latest);
    let first = Arc::new(source(&stream, 0..1_000, 100, 0));
    let over = Arc::new(source(&stream, 450..470, 10, 1));
    let alone = Arc::new(source(&stream, 2_000..3_000, 10, 2));
    let sources = [Arc::clone(&first), Arc::clone(&over), Arc::clone(&alone)];
    let view = view(&stream, &sources, &[]);
    assert_eq!(view.count(&KeyRange::ALL).unwrap(), 2_000);
    assert_eq!(first.blocks_read(), [4]);
    assert_eq!(over.blocks_read(), [0, 1]);
    assert_eq!(alone.opened.load(Ordering::Relaxed), 0);
}

#[test]
fn a_point_read_stops_at_the_newest_source_that_has_the_key() {
    let stream = stream(LeadKind::Time, false, Merge::Latest);
    let old = Arc::new(source(&stream, 0..100, 10, 0));
    let new = Arc::new(source(&stream, 0..50, 10, 1));
    let view = view(&stream, &[Arc::clone(&old), Arc::clone(&new)], &[]);
    assert!(view.get(&[Cell::Int(25)]).unwrap().is_some());
    assert_eq!(new.blocks_read(), [2]);
    assert_eq!(old.blocks_read(), [0_usize; 0]);
    assert!(view.get(&[Cell::Int(75)]).unwrap().is_some());
    assert_eq!(new.blocks_read(), [0_usize; 0]);
    assert_eq!(old.blocks_read(), [7]);
    assert!(view.get(&[Cell::Int(100)]).unwrap().is_none());
    for wrong in [&[][..], &[Cell::UInt(1)], &[Cell::Int(1), Cell::Int(1)]] {
        assert_eq!(view.get(wrong).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn blocks_that_range_deletes_hide_are_not_read() {
    let stream = times();
    let only = Arc::new(source(&stream, 0..100, 10, 0));
    let deletes: Vec<_> = (0..90)
        .map(|time| Tombstone { range: KeyRange::times(time, time + 1), seq: SeqNo(10 + 1) })
        .collect();
    let view = view(&stream, &[Arc::clone(&only)], &deletes);
    let rows: usize =
        view.scan(&ScanSpec::default()).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 10);
    assert_eq!(only.blocks_read(), [9]);
    let whole = [Tombstone { range: KeyRange::times(0, 90), seq: SeqNo(10) }];
    let view = super::fixture::view(&stream, &[Arc::clone(&only)], &whole);
    assert_eq!(view.scan(&ScanSpec::default()).unwrap().count(), 1);
    assert_eq!(only.blocks_read(), [9]);
}

#[test]
fn an_error_of_a_source_comes_out_and_ends_the_scan() {
    let stream = times();
    let mut broken = source(&stream, 0..100, 10, 0);
    broken.fails_at = Some(5);
    let broken = Arc::new(broken);
    let view = view(&stream, &[Arc::clone(&broken)], &[]);
    let mut scan = view.scan(&ScanSpec::default()).unwrap().skip_while(Result::is_ok);
    assert_eq!(scan.next().unwrap().unwrap_err().kind(), ErrorKind::Corruption);
    assert!(scan.next().is_none());
    let sources = view.sources.clone();
    let mut merge =
        merge_sources(&stream, sources, &view.tombstones, false).skip_while(Result::is_ok);
    assert_eq!(merge.next().unwrap().unwrap_err().kind(), ErrorKind::Corruption);
    assert!(merge.next().is_none());
}

#[test]
fn bad_columns_and_ranges_of_another_kind_are_refused() {
    let stream = times();
    let view = view(&stream, &[Arc::new(source(&stream, 0..10, 10, 0))], &[]);
    let spec = ScanSpec { columns: Some(vec![0, 4]), ..ScanSpec::default() };
    assert_eq!(view.scan(&spec).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let range = KeyRange::new(LeadKey::Offset(1), None);
    let spec = ScanSpec { range, ..ScanSpec::default() };
    assert_eq!(view.scan(&spec).unwrap_err().kind(), ErrorKind::InvalidArgument);
}
