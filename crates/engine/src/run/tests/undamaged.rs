//! Rows of a damaged block that are whole are given to who wants these alone; damaged ones never.

use timestrata_format::{KeyRange, LeadKey};
use timestrata_io::OpenMode;

use super::types::all_types;
use super::*;
use crate::BLOCK_ROWS_PROPERTY;
use crate::scan::{RowOrder, ViewedColumns};

/// So many that some columns have bytes under several checksums.
const BLOCK_ROWS: usize = 330;
/// Rows that are asked for at once.
const ROWS: usize = 7;

fn keys(rows: &std::ops::Range<usize>) -> KeyRange {
    let key = |row: usize| Some(LeadKey::Time(row as i64));
    KeyRange { lo: key(rows.start), hi: key(rows.end) }
}

/// A place whose runs have the least checksums that there are, as they have shorter blocks than is usual.
fn place(rows: &RecordBatch) -> Place {
    let mut place = Place::new(rows.schema());
    place.settings.run_batch_rows = 2 * BLOCK_ROWS;
    let mut spec = place.stream.spec().clone();
    spec.properties.push((BLOCK_ROWS_PROPERTY.to_owned(), BLOCK_ROWS.to_string()));
    place.stream = Arc::new(Stream::new(StreamId(7), spec).unwrap());
    place
}

/// What a reader gives of some rows of one block: none of them, or just these.
fn given(
    reader: &RunReader,
    wanted: &ViewedColumns,
    rows: std::ops::Range<usize>,
) -> Option<RecordBatch> {
    let block = rows.start / BLOCK_ROWS;
    let told = |result: Result<RecordBatch>| match result {
        Ok(read) => Some(read),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            None
        }
    };
    if let Some(whole) = told(reader.read_viewed(block, wanted, None, RowOrder::ByKey)) {
        return Some(whole.slice(rows.start - block * BLOCK_ROWS, rows.len()));
    }
    assert!(reader.leaves_out_other_keys(block, &keys(&rows)));
    told(reader.read_viewed(block, wanted, Some(keys(&rows)), RowOrder::ByKey))
}

#[test]
fn rows_beside_a_damaged_byte_are_given_and_damaged_ones_never() {
    for rows in all_types() {
        let place = place(&rows);
        let meta = place.write(1, RunFormat::Hot, std::slice::from_ref(&rows));
        let path = place.path(&meta);
        let sound = place.bytes(&path);
        let file = place.io.disk.open(&path, OpenMode::ReadWrite).unwrap();
        let all = ViewedColumns::plain((0..rows.num_columns()).collect());
        let data = usize::try_from(meta.tail_offset).unwrap();
        let (mut lost, mut beside) = (0, 0);
        for offset in (0..data).step_by(211) {
            file.write_at(offset as u64, &[sound[offset] ^ 0x10]).unwrap();
            let reader = place.reader(&meta);
            for start in (0..rows.num_rows() - ROWS).step_by(17) {
                let block_end = (start / BLOCK_ROWS + 1) * BLOCK_ROWS;
                let some = start..(start + ROWS).min(block_end);
                match given(&reader, &all, some.clone()) {
                    Some(read) => {
                        assert_eq!(read, rows.slice(start, some.len()), "{offset}");
                        let whole =
                            reader.read_viewed(start / BLOCK_ROWS, &all, None, RowOrder::ByKey);
                        beside += usize::from(whole.is_err());
                    }
                    None => lost += 1,
                }
                // The keys may be damaged, and the column not.
                let column = offset % rows.num_columns();
                let alone = ViewedColumns::plain(vec![column]);
                if let Some(read) = given(&reader, &alone, some.clone()) {
                    let expected = rows.column(column).slice(start, some.len());
                    assert_eq!(read.column(0), &expected, "{offset} {column}");
                }
            }
            file.write_at(offset as u64, &[sound[offset]]).unwrap();
        }
        assert!(lost > 0 && beside > 0, "{lost} were lost, {beside} were beside damage");
    }
}

#[test]
fn a_damaged_value_costs_the_rows_that_share_its_checksum() {
    let values: Vec<String> = (0..BLOCK_ROWS).map(|n| format!("{n:0200}")).collect();
    let rows = batch_of([
        ("t", Arc::new(Int64Array::from_iter_values(0..BLOCK_ROWS as i64)), false),
        ("v", Arc::new(StringArray::from(values.clone())), true),
    ]);
    let place = place(&rows);
    let meta = place.write(1, RunFormat::Hot, std::slice::from_ref(&rows));
    let path = place.path(&meta);
    let bytes = place.bytes(&path);
    let last = bytes.windows(200).position(|window| window == values[BLOCK_ROWS - 1].as_bytes());
    let offset = last.unwrap();
    let file = place.io.disk.open(&path, OpenMode::ReadWrite).unwrap();
    file.write_at(offset as u64, &[bytes[offset] ^ 1]).unwrap();
    let reader = place.reader(&meta);
    let wanted = ViewedColumns::plain(vec![0, 1]);
    let readable = (0..BLOCK_ROWS).filter(|row| given(&reader, &wanted, *row..row + 1).is_some());
    let readable: Vec<usize> = readable.collect();
    // Of values of 200 bytes 22 at most have some under the same checksum of 4,096.
    let lost = BLOCK_ROWS - readable.len();
    assert!((1..=22).contains(&lost), "{readable:?}");
    assert!(readable.iter().copied().eq(0..readable.len()), "{readable:?}");
}
