//! Blocks that are read part by part.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_cast::cast;
use arrow_select::concat::concat_batches;
use timestrata_format::{RunFormat, RunMeta};
use timestrata_io::OpenMode;

use super::super::parts::PART_ROWS;
use super::selected::{OfHost, hosts, planned};
use super::{BlockCache, Place, RunReader, series};
use crate::scan::{RowFilter, RowOrder, Share, Source, ViewedColumns};
use crate::{ErrorKind, Result};

fn reader(place: &Place, meta: &RunMeta, cache_bytes: u64) -> RunReader {
    place.reader_with(meta, &Arc::new(BlockCache::new(cache_bytes)))
}

/// Runs of long blocks, in the order of the key and by series.
fn runs() -> Vec<(Place, RunMeta)> {
    let (by_key, by_series) = (series(30_000), hosts(500, 90));
    let mut places = [Place::new(by_key.schema()), Place::by_series(by_series.schema(), &["s"])];
    places[0].settings.run_batch_rows = 20_000;
    places[1].settings.run_batch_rows = 10_000;
    let runs = places.into_iter().zip([by_key, by_series]);
    runs.map(|(place, rows)| {
        let meta = place.write(2, RunFormat::Cold, &[rows]);
        (place, meta)
    })
    .collect()
}

#[test]
fn parts_of_a_block_are_together_all_of_its_rows() {
    let mut dictionaries = 0;
    for (place, meta) in runs() {
        for columns in [vec![0, 1, 2], vec![2, 0], vec![1], vec![2]] {
            for text_views in [false, true] {
                let has_text = text_views && columns.contains(&2);
                let views = columns.iter().map(|column| *column == 2);
                let views = if has_text { views.collect() } else { Vec::new() };
                let mut wanted = ViewedColumns {
                    columns: columns.clone(),
                    views,
                    by_dictionary: Vec::new(),
                    scan_rows: 0,
                    arena: None,
                };
                let reader = reader(&place, &meta, 0);
                for block in 0..reader.blocks().unwrap().len() {
                    let joined = |wanted: &ViewedColumns| -> RecordBatch {
                        let parts =
                            reader.read_parts(block, wanted, Share::WHOLE, 1).unwrap().unwrap();
                        let parts = parts.collect::<Result<Vec<_>>>().unwrap();
                        assert!(parts.iter().all(|part| part.num_rows() <= PART_ROWS));
                        assert!(block > 0 || parts.len() > 1, "{} parts", parts.len());
                        concat_batches(&parts[0].schema(), &parts).unwrap()
                    };
                    wanted.take_dictionaries(&[]);
                    let whole = reader
                        .read_viewed(block, &wanted, None, RowOrder::Any(Share::WHOLE))
                        .unwrap();
                    assert_eq!(joined(&wanted), whole, "{columns:?}, views: {text_views}");
                    // Of what is stored by dictionaries the same texts.
                    wanted.take_dictionaries(&[2]);
                    for (coded, plain) in joined(&wanted).columns().iter().zip(whole.columns()) {
                        let plain_type = plain.data_type();
                        dictionaries += usize::from(coded.data_type() != plain_type);
                        assert_eq!(&cast(coded, plain_type).unwrap(), plain, "{columns:?}");
                    }
                }
            }
        }
    }
    assert!(dictionaries > 0);
}

#[test]
fn only_what_the_cache_has_no_room_for_is_read_in_parts() {
    let rows = series(30_000);
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = 8_000;
    let meta = place.write(2, RunFormat::Cold, &[rows]);
    let wanted = ViewedColumns::plain(vec![0, 1]);
    let reader = self::reader(&place, &meta, 1 << 20);
    let parts = |scan_rows| reader.read_parts(1, &wanted, Share::WHOLE, scan_rows).unwrap();
    // Of 16 bytes a row the cache has room for 65,536.
    assert!(parts(65_536).is_none());
    assert!(parts(131_072).is_some());
    let one = ViewedColumns::plain(vec![1]);
    reader.read_viewed(1, &one, None, RowOrder::Any(Share::WHOLE)).unwrap();
    assert!(parts(u64::MAX).is_none(), "it has one of them");
    let rows = series(1_000);
    let (place, meta) = Place::holding(&rows, RunFormat::Hot);
    let reader = place.reader(&meta);
    assert!(reader.read_parts(0, &wanted, Share::WHOLE, u64::MAX).unwrap().is_none());
    // Of a long block all has to have room: else a good part of the cache would be gone for one column.
    let (place, meta) = runs().remove(1);
    let reader = self::reader(&place, &meta, 1 << 20);
    let parts = |scan_rows| reader.read_parts(0, &wanted, Share::WHOLE, scan_rows).unwrap();
    assert!(parts(65_536).is_none());
    assert!(parts(65_537).is_some());
}

#[test]
fn parts_of_a_damaged_block_are_not_begun() {
    for (place, meta) in runs() {
        let path = place.path(&meta);
        let byte = place.bytes(&path)[100];
        let file = place.io.disk.open(&path, OpenMode::ReadWrite).unwrap();
        file.write_at(100, &[byte ^ 1]).unwrap();
        let reader = reader(&place, &meta, 0);
        let wanted = ViewedColumns::plain(vec![0, 1, 2]);
        let error = reader.read_parts(0, &wanted, Share::WHOLE, 1).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert_eq!(error.missing().unwrap().stream, "s");
    }
}

/// Lets few rows through that lie all over a block, and tells nothing of pages.
#[derive(Debug)]
struct NowAndThen;

impl RowFilter for NowAndThen {
    fn columns(&self) -> &[usize] {
        &[0]
    }
    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let times = rows.column(0).as_primitive::<Int64Type>();
        Ok(times.values().iter().map(|time| Some(time % 1_000 == 0)).collect())
    }
}

/// The rows of each share, put together.
fn of_shares(parts: usize, read: impl Fn(Share) -> RecordBatch) -> RecordBatch {
    let shares: Vec<_> = (0..parts).map(|part| read(Share { part, parts })).collect();
    concat_batches(&shares[0].schema(), &shares).unwrap()
}

#[test]
fn shares_of_a_block_are_together_all_of_its_rows() {
    for ((place, meta), is_long) in runs().into_iter().zip([false, true]) {
        let (kept, once) = (reader(&place, &meta, 1 << 24), reader(&place, &meta, 0));
        assert_eq!([0, 1].map(|block| kept.is_long(block)), [is_long, false]);
        let rows = kept.blocks().unwrap()[0].rows as usize;
        for (columns, host) in [(vec![0, 1, 2], "host 042"), (vec![1, 2], "host 089")] {
            let wanted = ViewedColumns::plain(columns.clone());
            let whole = once.read_viewed(0, &wanted, None, RowOrder::Any(Share::WHOLE)).unwrap();
            assert_eq!(whole.num_rows(), rows);
            let of_host = OfHost { host, pages_left_out: Arc::default() };
            let filters = [
                planned(&place, NowAndThen, &columns, false),
                planned(&place, of_host, &columns, false),
            ];
            let filters = &filters[..1 + usize::from(is_long)];
            let passing =
                |filter, share| kept.read_passing(0, filter, None, RowOrder::Any(share)).unwrap();
            let expected: Vec<RecordBatch> =
                filters.iter().map(|filter| passing(filter, Share::WHOLE)).collect();
            assert!(expected.iter().all(|passing| passing.num_rows() > 50));
            // More of them than there are rows to be dealt out, too.
            for parts in [1, 2, 3, 7] {
                // Twice: what is kept of a share is that share.
                for reader in [&once, &kept, &kept] {
                    let at_once =
                        |share| reader.read_viewed(0, &wanted, None, RowOrder::Any(share)).unwrap();
                    assert_eq!(of_shares(parts, at_once), whole);
                }
                let part_by_part = |share| {
                    let parts = once.read_parts(0, &wanted, share, u64::MAX).unwrap().unwrap();
                    let parts = parts.collect::<Result<Vec<_>>>().unwrap();
                    concat_batches(&whole.schema(), &parts).unwrap()
                };
                assert_eq!(of_shares(parts, part_by_part), whole);
                for (filter, expected) in filters.iter().zip(&expected) {
                    assert_eq!(&of_shares(parts, |share| passing(filter, share)), expected);
                }
            }
        }
    }
}

#[test]
fn codes_are_kept_as_codes_where_these_are_wanted() {
    for (place, meta) in runs() {
        let mut wanted = ViewedColumns {
            columns: vec![2, 1],
            views: vec![true, false],
            by_dictionary: Vec::new(),
            scan_rows: 0,
            arena: None,
        };
        wanted.take_dictionaries(&[2]);
        let plain = ViewedColumns {
            by_dictionary: Vec::new(),
            scan_rows: 0,
            arena: None,
            columns: wanted.columns.clone(),
            views: wanted.views.clone(),
        };
        let reader = reader(&place, &meta, 1 << 24);
        for share in [Share::WHOLE, Share { part: 1, parts: 2 }] {
            let read = |wanted| reader.read_viewed(0, wanted, None, RowOrder::Any(share)).unwrap();
            let (first, texts, again) = (read(&wanted), read(&plain), read(&wanted));
            assert!(first.num_rows() > 0);
            let code = |batch: &RecordBatch| {
                batch.column(0).as_any_dictionary().keys().to_data().buffers()[0].as_ptr()
            };
            assert_eq!(code(&first), code(&again), "{share:?}");
            assert_eq!(
                &cast(first.column(0), texts.column(0).data_type()).unwrap(),
                texts.column(0)
            );
            assert_eq!(first.column(1), texts.column(1));
        }
        // In the order of the key nobody asks for codes.
        let in_order = reader.read_viewed(0, &wanted, None, RowOrder::ByKey).unwrap();
        assert_eq!(in_order.column(0).data_type(), &arrow_schema::DataType::Utf8View);
    }
}

#[test]
fn of_a_scan_larger_than_the_cache_some_blocks_are_kept_and_the_others_go_by() {
    // Without text, so that each block is a row group and the cache has columns alone.
    let rows = series(8_000).project(&[0, 1]).unwrap();
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = 500;
    let meta = place.write(2, RunFormat::Cold, &[rows]);
    let cache = Arc::new(BlockCache::new(1 << 16));
    let reader = place.reader_with(&meta, &cache);
    let whole = self::reader(&place, reader.meta(), 0);
    let mut kept = 0;
    // 64 KB of 16 bytes a row are 4,096 rows.
    for (scan_rows, order) in [(8_000, RowOrder::ByKey), (8_000, RowOrder::Any(Share::WHOLE))] {
        for block in 0..16 {
            let before = cache.bytes();
            let mut wanted = ViewedColumns::plain(vec![0, 1]);
            wanted.scan_rows = scan_rows;
            let found = reader.read_viewed(block, &wanted, None, order).unwrap();
            assert_eq!(found, whole.read(block, &[0, 1]).unwrap());
            kept += usize::from(cache.bytes() > before);
        }
    }
    assert!((4..=8).contains(&kept), "{kept} of 16 blocks");
    // Of a few rows all are.
    let before = cache.bytes();
    let of_few = ViewedColumns::plain(vec![0]);
    (0..16).for_each(|block| drop(reader.read_viewed(block, &of_few, None, RowOrder::ByKey)));
    assert!(cache.bytes() > before);
}
