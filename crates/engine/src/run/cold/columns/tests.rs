use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowSelection, RowSelector,
};
use parquet::arrow::{ArrowWriter, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::basic::ZstdLevel;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::*;

fn rows(count: i64) -> RecordBatch {
    let some = |divisor: i64| (0..count).map(move |at| (at % divisor != 0).then_some(at * 7 / 3));
    let words = ["door", "window", "roof"];
    let columns: [(&str, ArrayRef); 4] = [
        ("sorted", Arc::new(Int64Array::from_iter_values(0..count))),
        ("holes", Arc::new(Int64Array::from_iter(some(3)))),
        ("nulls", Arc::new(Int64Array::from(vec![None; usize::try_from(count).unwrap()]))),
        ("word", Arc::new(StringArray::from_iter((0..count).map(|at| words.get(at as usize % 4))))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// Two row groups of pages of 500 rows.
fn file(rows: &RecordBatch, version: WriterVersion, compression: Compression) -> Bytes {
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(compression)
        .set_max_row_group_row_count(Some(3_000))
        .set_data_page_row_count_limit(500)
        .set_write_batch_size(100)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    bytes.into()
}

fn read(bytes: &Bytes, block: usize, selection: Option<RowSelection>) -> Result<Vec<RecordBatch>> {
    let policy = match selection {
        Some(_) => PageIndexPolicy::Required,
        None => PageIndexPolicy::Skip,
    };
    let options = ArrowReaderOptions::new().with_page_index_policy(policy);
    let metadata = ArrowReaderMetadata::load(bytes, options)?;
    let levels = parquet_to_arrow_field_levels(
        metadata.parquet_schema(),
        ProjectionMask::all(),
        Some(metadata.schema().fields()),
    )?;
    let columns = BlockColumns::new(bytes.clone(), Arc::clone(metadata.metadata()), block);
    let rows = RowGroups::num_rows(&columns);
    ParquetRecordBatchReader::try_new_with_row_groups(&levels, &columns, rows, selection)?
        .map(|batch| batch.map_err(ParquetError::from))
        .collect()
}

#[test]
fn pages_of_both_versions_and_of_any_compression_become_the_rows_that_were_written() {
    let rows = rows(5_000);
    let packed = [Compression::ZSTD(ZstdLevel::default()), Compression::SNAPPY];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for compression in packed.into_iter().chain([Compression::UNCOMPRESSED]) {
            let bytes = file(&rows, version, compression);
            assert_eq!(read(&bytes, 0, None).unwrap(), [rows.slice(0, 3_000)]);
            assert_eq!(read(&bytes, 1, None).unwrap(), [rows.slice(3_000, 2_000)]);
            let wanted = [RowSelector::skip(1_200), RowSelector::select(700)];
            let found = read(&bytes, 1, Some(wanted.to_vec().into())).unwrap();
            assert_eq!(found, [rows.slice(4_200, 700)]);
            assert!(read(&bytes, 2, None).is_err());
        }
    }
}

#[test]
fn a_page_without_its_size_is_unpacked_to_no_more_than_its_column_has() {
    let values: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
    let stream = zstd::stream::encode_all(values.as_slice(), 3).unwrap();
    assert!(matches!(get_frame_content_size(&stream), Ok(None)));
    let page = Bytes::from([b"levels", stream.as_slice()].concat());
    let whole = [b"levels", values.as_slice()].concat();
    assert_eq!(unpack(&page, 6, values.len()).unwrap(), whole);
    let refused = unpack(&page, 6, values.len() - 1).unwrap_err().to_string();
    assert!(refused.contains("a page has 40000 bytes where it should have 39999"), "{refused}");
}

#[test]
fn a_page_that_is_damaged_is_refused_and_the_next_is_read() {
    let values: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
    let packed = Bytes::from(zstd::bulk::compress(&values, 3).unwrap());
    let fails = |page: Bytes, plain, bytes_max, words: &str| {
        let refused = unpack(&page, plain, bytes_max).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
        assert_eq!(unpack(&packed, 0, values.len()).unwrap(), values);
    };
    fails(packed.clone(), 0, 39_999, "says that it has 40000 bytes");
    fails(packed.clone(), packed.len() + 1, 40_000, "of levels");
    fails(packed.slice(..packed.len() - 9), 0, 40_000, "");
    fails(packed.slice(1..), 0, 40_000, "should be packed by ZSTD");
    let nothing_but_levels = Bytes::from_static(b"levels");
    assert_eq!(unpack(&nothing_but_levels, 6, 0).unwrap(), nothing_but_levels);
}
