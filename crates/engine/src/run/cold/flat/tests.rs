use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Int32Type};
use arrow_array::{
    Array, Decimal64Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat;
use arrow_select::take::take;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedPageReader};
use proptest::prelude::*;

use super::super::super::checked::guarded;
use super::super::columns::BlockColumns;
use super::*;

/// How a column is written.
#[derive(Debug, Clone, Copy)]
struct Written {
    by_dictionary: bool,
    is_second_version: bool,
    page_rows: usize,
    may_be_null: bool,
}

fn written(column: &ArrayRef, how: Written, encoding: Option<Encoding>) -> Bytes {
    let field = Field::new("x", column.data_type().clone(), how.may_be_null);
    let schema = Arc::new(Schema::new(vec![field]));
    let version = match how.is_second_version {
        true => WriterVersion::PARQUET_2_0,
        false => WriterVersion::PARQUET_1_0,
    };
    let mut properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_dictionary_enabled(how.by_dictionary)
        .set_data_page_row_count_limit(how.page_rows)
        .set_write_batch_size(how.page_rows);
    if let Some(encoding) = encoding {
        properties = properties.set_encoding(encoding);
    }
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, Arc::clone(&schema), Some(properties.build())).unwrap();
    writer.write(&RecordBatch::try_new(schema, vec![Arc::clone(column)]).unwrap()).unwrap();
    writer.close().unwrap();
    bytes.into()
}

fn metadata_of(bytes: &Bytes) -> ParquetMetaData {
    let options = ReadOptionsBuilder::new().with_page_index().build();
    let file = SerializedFileReader::new_with_options(bytes.clone(), options).unwrap();
    file.metadata().clone()
}

/// The only column of a file.
fn column_of(bytes: &Bytes, data_type: &DataType) -> Option<FlatColumn> {
    column_as(bytes, data_type, None, None)
}

/// The same, of its pages those that have some rows, and as floats if it has decimal numbers of so many digits behind the
/// point.
fn column_as(
    bytes: &Bytes,
    data_type: &DataType,
    selected: Option<&RowSelection>,
    float_digits: Option<u32>,
) -> Option<FlatColumn> {
    let metadata = Arc::new(metadata_of(bytes));
    let chunk = metadata.row_group(0).column(0);
    let rows = usize::try_from(metadata.row_group(0).num_rows()).unwrap();
    let columns = BlockColumns::new(bytes.clone(), Arc::clone(&metadata), 0);
    let pages = || columns.pages_with(0, selected);
    FlatColumn::new((chunk, rows), data_type, float_digits, pages).unwrap()
}

fn keys() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The texts of codes, or the numbers as they are.
fn plain(column: &ArrayRef) -> ArrayRef {
    match column.as_dictionary_opt::<Int32Type>() {
        Some(column) => take(column.values(), column.keys(), None).unwrap(),
        None => Arc::clone(column),
    }
}

/// Reads the rows in steps: so many passed over, so many read, and of these one in so many chosen, or all.
fn assert_read(
    bytes: &Bytes,
    column: &ArrayRef,
    (data_type, float_digits): (&DataType, Option<u32>),
    by_index: bool,
    steps: &[(usize, usize, Option<u32>)],
) {
    let selectors = steps
        .iter()
        .flat_map(|(skipped, read, _)| [RowSelector::skip(*skipped), RowSelector::select(*read)]);
    let selected = by_index.then(|| selectors.collect::<Vec<_>>().into());
    let flat = column_as(bytes, data_type, selected.as_ref(), float_digits);
    let mut flat = flat.expect("a flat column");
    let arena = Arena::default();
    let (mut at, mut expected, mut parts) = (0, Vec::new(), Vec::new());
    for (skipped, read, one_in) in steps.iter().copied() {
        let (skipped, read) = (skipped.min(column.len() - at), read);
        let read = read.min(column.len() - at - skipped);
        let places = (0..u32::try_from(read).unwrap()).filter(|place| {
            one_in.is_none_or(|one_in| place.wrapping_mul(0x9E37_79B9) % one_in == 0)
        });
        let places: Vec<u32> = places.collect();
        flat.skip(skipped);
        flat.reserve(places.len(), Some(&arena).filter(|_| read % 2 == 0));
        let first = u32::try_from(at).unwrap();
        let moved: Vec<u32> = places.iter().map(|place| place + first).collect();
        flat.read(read, first, one_in.map(|_| moved.as_slice())).unwrap();
        at += skipped;
        let rows = places.iter().map(|place| place + u32::try_from(at).unwrap());
        expected.extend(rows);
        at += read;
        parts.push(plain(&flat.take().unwrap()));
    }
    let parts: Vec<&dyn Array> = parts.iter().map(|part| &**part).collect();
    let expected = take(column, &arrow_array::UInt32Array::from(expected), None).unwrap();
    assert_eq!(&concat(&parts).unwrap(), &expected);
}

fn columns() -> impl Strategy<Value = (ArrayRef, Option<Encoding>)> {
    let lengths = prop::collection::vec((any::<i64>(), 0_usize..70), 1..40);
    // Runs of equal numbers, and numbers that rise by steps of few bits, of many, or of all.
    let numbers =
        (lengths, prop_oneof![Just(0_u32), 1..40_u32, Just(63)]).prop_map(|(runs, bits)| {
            let mut last = 0_i64;
            let values = runs.into_iter().flat_map(|(value, count)| {
                last = last.wrapping_add(value >> (63 - bits));
                let step = i64::from(bits % 3 == 0);
                let first = last;
                (0..count as i64).map(move |n| first.wrapping_add(n * step))
            });
            values.collect::<Vec<i64>>()
        });
    (numbers, 0..11).prop_map(|(numbers, kind)| -> (ArrayRef, Option<Encoding>) {
        let deltas = Some(Encoding::DELTA_BINARY_PACKED);
        let split = Some(Encoding::BYTE_STREAM_SPLIT);
        match kind {
            0 => (Arc::new(Int64Array::from(numbers)), deltas),
            1 => (Arc::new(Int64Array::from(numbers)), None),
            2 => (Arc::new(numbers.iter().map(|n| *n as i32).collect::<Int32Array>()), deltas),
            3 => (Arc::new(numbers.iter().map(|n| *n as i32).collect::<Int32Array>()), None),
            4 => (Arc::new(numbers.iter().map(|n| *n as f64).collect::<Float64Array>()), None),
            5 => {
                let decimals = numbers.iter().map(|n| n % 1_000_000).collect::<Decimal64Array>();
                (Arc::new(decimals.with_precision_and_scale(18, 2).unwrap()), deltas)
            }
            8 => (Arc::new(Int64Array::from(numbers)), split),
            9 => (Arc::new(numbers.iter().map(|n| *n as i32).collect::<Int32Array>()), split),
            10 => {
                let decimals = numbers.iter().map(|n| n % 1_000_000).collect::<Decimal64Array>();
                (Arc::new(decimals.with_precision_and_scale(18, 2).unwrap()), split)
            }
            kind => {
                let texts = numbers.iter().map(|n| Some(format!("höst_{n}")));
                let chained = (kind == 7).then_some(Encoding::DELTA_BYTE_ARRAY);
                (Arc::new(texts.collect::<StringArray>()), chained)
            }
        }
    })
}

proptest! {
    #[test]
    fn rows_are_those_that_were_written(
        (column, encoding) in columns(),
        (by_dictionary, is_second_version) in any::<(bool, bool)>(),
        (may_be_null, by_index, as_floats) in any::<(bool, bool, bool)>(),
        page_rows in 1_usize..300,
        steps in prop::collection::vec((
            prop_oneof![2 => Just(0), 1 => 0_usize..200],
            0_usize..300,
            prop::option::of(prop_oneof![1_u32..4, 4_u32..200]),
        ), 1..12),
    ) {
        let is_coded = column.data_type() == &DataType::Utf8 && encoding.is_none();
        let is_chained = encoding == Some(Encoding::DELTA_BYTE_ARRAY);
        let by_dictionary = (by_dictionary || is_coded) && !is_chained;
        let how = Written { by_dictionary, is_second_version, page_rows, may_be_null };
        prop_assume!(!column.is_empty());
        let bytes = written(&column, how, encoding.filter(|_| !by_dictionary));
        let data_type = if is_coded { keys() } else { column.data_type().clone() };
        let float_digits = match &data_type {
            DataType::Decimal64(_, scale) if as_floats => u32::try_from(*scale).ok(),
            _ => None,
        };
        let expected: ArrayRef = match float_digits {
            Some(_) => {
                let hundredths = column.as_primitive::<Decimal64Type>().values().iter();
                Arc::new(hundredths.map(|n| *n as f64 / 100.0).collect::<Float64Array>())
            }
            None => column,
        };
        assert_read(&bytes, &expected, (&data_type, float_digits), by_index, &steps);
    }

    #[test]
    fn places_of_pages_that_are_wrong_are_errors_and_no_panics(
        (column, encoding) in columns(),
        page_rows in 1_usize..100,
        wrong in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..3, prop_oneof![any::<i64>(), -9_i64..900]), 1..4),
        steps in prop::collection::vec((0_usize..200, 0_usize..90), 1..6),
    ) {
        prop_assume!(!column.is_empty());
        let is_coded = column.data_type() == &DataType::Utf8 && encoding.is_none();
        let how = Written { by_dictionary: is_coded, is_second_version: true, page_rows, may_be_null: false };
        let bytes = written(&column, how, encoding);
        let metadata = metadata_of(&bytes);
        let mut places = metadata.offset_index().unwrap().clone();
        for (index, field, value) in wrong {
            let page = index.get_mut(places[0][0].page_locations.as_mut_slice());
            match field {
                0 => page.first_row_index = value,
                1 => page.offset = value,
                _ => page.compressed_page_size = value as i32,
            }
        }
        let metadata = Arc::new(metadata.into_builder().set_offset_index(Some(places)).build());
        let selectors = steps.iter().flat_map(|(skipped, read)| {
            [RowSelector::skip(*skipped), RowSelector::select(*read)]
        });
        let selected: RowSelection = selectors.collect::<Vec<_>>().into();
        let data_type = if is_coded { keys() } else { column.data_type().clone() };
        let chunk = metadata.row_group(0).column(0);
        let columns = BlockColumns::new(bytes, Arc::clone(&metadata), 0);
        let pages = || columns.pages_with(0, Some(&selected));
        let flat = FlatColumn::new((chunk, column.len()), &data_type, None, pages);
        let Ok(Some(mut flat)) = flat else { return Ok(()) };
        // Parquet's reader of pages panics at some of them.
        let read = || {
            for (skipped, read) in &steps {
                flat.skip(*skipped);
                if flat.read(*read, 0, None).is_err() {
                    return Ok(None);
                }
            }
            Ok(flat.take().ok())
        };
        if let Ok(Some(found)) = guarded(Path::new("x"), read) {
            prop_assert_eq!(found.len(), steps.iter().map(|(_, read)| read).sum::<usize>());
        }
    }

    #[test]
    fn pages_of_other_bytes_are_errors_and_no_panics(
        (column, encoding) in columns(),
        (by_dictionary, is_second_version) in any::<(bool, bool)>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let is_coded = column.data_type() == &DataType::Utf8 && encoding.is_none();
        let is_chained = encoding == Some(Encoding::DELTA_BYTE_ARRAY);
        let by_dictionary = (by_dictionary || is_coded) && !is_chained;
        let how = Written { by_dictionary, is_second_version, page_rows: 64, may_be_null: true };
        prop_assume!(!column.is_empty());
        let bytes = written(&column, how, encoding.filter(|_| !by_dictionary));
        let metadata = metadata_of(&bytes);
        let chunk = metadata.row_group(0).column(0);
        let (start, length) = chunk.byte_range();
        let mut damaged = bytes.to_vec();
        for (at, byte) in flips {
            damaged[start as usize + at.index(length as usize)] = byte;
        }
        let damaged = Arc::new(Bytes::from(damaged));
        let data_type = if is_coded { keys() } else { column.data_type().clone() };
        let pages = || {
            let reader = SerializedPageReader::new(damaged, chunk, column.len(), None)?;
            Ok(Box::new(reader) as Box<dyn ColumnPages>)
        };
        // Whether the bytes are the right ones is for checksums to say; and Parquet's reader of page headers panics.
        let mut flat = FlatColumn::new((chunk, column.len()), &data_type, None, pages).unwrap().unwrap();
        let has_page = guarded(Path::new("x"), || Ok(flat.find_page().is_ok())).unwrap_or(false);
        if has_page && flat.read(column.len().min(flat.left), 0, None).is_ok() && let Ok(read) = flat.take() {
            plain(&read);
        }
    }
}

#[test]
fn columns_that_are_not_flat_are_left_to_others() {
    let how =
        Written { by_dictionary: false, is_second_version: true, page_rows: 64, may_be_null: true };
    let of = |column: ArrayRef, encoding: Option<Encoding>| {
        let bytes = written(&column, how, encoding);
        column_of(&bytes, column.data_type()).is_some()
    };
    let numbers = || Int64Array::from_iter_values(0..100);
    assert!(of(Arc::new(numbers()), None));
    assert!(!of(Arc::new(Int64Array::from(vec![Some(1), None])), None));
    let split = Some(Encoding::BYTE_STREAM_SPLIT);
    assert!(of(Arc::new(numbers()), split));
    assert!(!of(Arc::new(Float64Array::from(vec![1.5, 2.5])), split));
    let texts = || Arc::new(StringArray::from(vec!["a", "b"]));
    assert!(!of(texts(), Some(Encoding::PLAIN)));
    assert!(!of(texts(), Some(Encoding::DELTA_LENGTH_BYTE_ARRAY)));
    assert!(of(texts(), Some(Encoding::DELTA_BYTE_ARRAY)));
    assert!(!of(Arc::new(arrow_array::BooleanArray::from(vec![true, false])), None));
}

/// Numbers in a page of 64 rows and one of 36.
fn a_hundred_rows() -> (ArrayRef, Bytes) {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
    let how = Written {
        by_dictionary: true,
        is_second_version: false,
        page_rows: 64,
        may_be_null: false,
    };
    let bytes = written(&column, how, None);
    (column, bytes)
}

#[test]
fn more_rows_than_there_are_are_refused() {
    let (column, bytes) = a_hundred_rows();
    for (skipped, read) in [(0, 101), (100, 1), (64, 37), (1_000, 1)] {
        let mut flat = column_of(&bytes, column.data_type()).unwrap();
        flat.skip(skipped);
        let error = flat.read(read, 0, None).unwrap_err().to_string();
        assert!(error.contains("fewer rows"), "{error}");
    }
}

#[test]
fn pages_of_more_rows_than_the_block_are_refused_before_there_is_room_for_them() {
    let (column, bytes) = a_hundred_rows();
    let metadata = metadata_of(&bytes);
    let chunk = metadata.row_group(0).column(0);
    for rows in [63, 99] {
        let pages = || {
            let reader = SerializedPageReader::new(Arc::new(bytes.clone()), chunk, 100, None)?;
            Ok(Box::new(reader) as Box<dyn ColumnPages>)
        };
        let data_type = column.data_type();
        let mut flat = FlatColumn::new((chunk, rows), data_type, None, pages).unwrap().unwrap();
        let error = flat.read(rows, 0, None).unwrap_err().to_string();
        assert!(error.contains("more rows"), "{error}");
    }
}
