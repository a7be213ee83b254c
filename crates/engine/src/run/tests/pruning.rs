//! A read touches what it must and no more.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use timestrata_format::LeadKey;

use super::*;
use crate::key::KeyView;

/// A time and ten columns that are much wider.
fn wide(rows: i64) -> RecordBatch {
    let time: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let columns = (0..10).map(|column| {
        let values = (0..rows).map(|row| (row * 7919 + column) as f64 * 1.000_1);
        (format!("v{column}"), Arc::new(Float64Array::from_iter_values(values)) as ArrayRef, false)
    });
    let columns = std::iter::once(("t".to_owned(), time, false)).chain(columns);
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn blocks_verified(reader: &RunReader) -> u32 {
    reader.opened().unwrap().content.file().blocks_verified()
}

#[test]
fn reading_the_time_verifies_only_the_time() {
    let rows = wide(100_000);
    for format in FORMATS {
        let mut place = Place::new(rows.schema());
        place.settings.run_batch_rows = 1 << 20;
        let meta = place.write(1, format, std::slice::from_ref(&rows));
        let reader = place.reader(&meta);
        reader.blocks().unwrap();
        assert_eq!(blocks_verified(&reader), 0, "opening reads only the tail");
        let time = reader.read(0, &[0]).unwrap();
        assert_eq!(time.column(0), rows.column(0));
        let verified = blocks_verified(&reader);
        let all = meta.tail_offset.div_ceil(65_536) as u32;
        assert!(verified > 0 && verified * 5 < all, "{verified} of {all}");
        let before = verified;
        reader.read(0, &[0]).unwrap();
        assert_eq!(blocks_verified(&reader), before);
        reader.read(0, &(0..11).collect::<Vec<_>>()).unwrap();
        assert!(blocks_verified(&reader) + 1 >= all);
    }
}

#[test]
fn columns_come_in_the_order_asked_for() {
    let rows = series(120);
    for format in FORMATS {
        let (place, meta) = Place::holding(&rows, format);
        let reader = place.reader(&meta);
        for columns in [&[2, 0][..], &[1], &[0, 1, 2], &[2, 2, 1], &[]] {
            let found = reader.read(1, columns).unwrap();
            assert_eq!(found.num_rows(), 20);
            assert_eq!(found, rows.slice(100, 20).project(columns).unwrap());
        }
        assert_eq!(reader.read(0, &[3]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(reader.read(2, &[0]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_hot_column_is_a_slice_of_the_map() {
    let rows = series(1000);
    let (place, meta) = Place::holding(&rows, RunFormat::Hot);
    let reader = place.reader(&meta);
    let file = reader.opened().unwrap().content.file().bytes().clone();
    let map = file.as_ptr_range();
    for block in 0..reader.blocks().unwrap().len() {
        let batch = reader.read(block, &[0, 1, 2]).unwrap();
        for column in batch.columns() {
            for buffer in column.to_data().buffers() {
                let start = buffer.as_ptr();
                assert!(map.contains(&start), "copied");
            }
            if let Some(nulls) = column.nulls() {
                assert!(map.contains(&nulls.buffer().as_ptr()), "nulls copied");
            }
        }
        let again = reader.read(block, &[0]).unwrap();
        let first =
            |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().as_ptr();
        assert_eq!(first(&batch), first(&again));
    }
}

#[test]
fn memory_that_is_not_aligned_is_copied_once() {
    let rows = series(100);
    let (place, meta) = Place::holding(&rows, RunFormat::Hot);
    let mut shifted = vec![0_u8];
    shifted.extend_from_slice(&place.bytes(&place.path(&meta)));
    let shifted = bytes::Bytes::from(shifted);
    for start in [0, 1] {
        let slice = shifted.slice(start..);
        let aligned = super::super::hot::aligned(slice.clone());
        assert_eq!(aligned, slice);
        assert_eq!(aligned.as_ptr().addr() % 16, 0);
    }
}

#[test]
fn a_key_that_is_there_is_never_denied() {
    let rows = ids(5000);
    for format in FORMATS {
        let mut place = Place::new(rows.schema());
        place.settings.run_batch_rows = 1000;
        let reader = place.reader(&place.write(1, format, std::slice::from_ref(&rows)));
        let keys = KeyView::of(&place.stream, &rows).unwrap();
        assert!((0..5000).all(|row| reader.may_contain(keys.get(row)).unwrap()));
        let strangers = (5000..15_000).map(|row| LeadKey::Id16(id16(row)));
        let passed = strangers.filter(|key| reader.may_contain(*key).unwrap()).count();
        if format == RunFormat::Cold {
            assert!(passed < 500, "{passed} of 10,000 unknown keys pass the Bloom filter");
        }
        assert!(!reader.may_contain(LeadKey::Id16([0xff; 16])).unwrap());
    }
}

#[test]
fn a_gap_between_blocks_holds_no_key() {
    let times: Vec<i64> = (0..100).chain(1000..1100).collect();
    let rows = batch_of([("t", Arc::new(Int64Array::from(times)), false)]);
    for format in FORMATS {
        let (place, meta) = Place::holding(&rows, format);
        let reader = place.reader(&meta);
        for (time, expected) in [(-1, false), (0, true), (99, true), (500, false), (1099, true)] {
            assert_eq!(reader.may_contain(LeadKey::Time(time)).unwrap(), expected, "{time}");
        }
    }
}

#[test]
fn cold_columns_are_kept_in_the_cache() {
    // Without text, so that each block is a row group.
    let rows = series(400).project(&[0, 1]).unwrap();
    let (place, meta) = Place::holding(&rows, RunFormat::Cold);
    let cache = Arc::clone(&place.cache);
    let reader = place.reader_with(&meta, &cache);
    reader.verify_all().unwrap();
    assert_eq!(cache.bytes(), 0, "a check does not push out what readers use");
    let one = reader.read(0, &[0, 1]).unwrap();
    let two = reader.read(0, &[1, 0]).unwrap();
    assert!(cache.bytes() > 0);
    assert!(Arc::ptr_eq(one.column(0), two.column(1)));
}
