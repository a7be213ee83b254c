//! Every supported column type comes back from both formats; the others are refused.

use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeListBuilder, Int32Builder, LargeListBuilder, ListBuilder, MapBuilder, StringBuilder,
};
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{IntervalDayTime, i256};
use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};

use super::*;

const ROWS: usize = 330;

/// A column of a primitive type where every fifth value is missing.
fn numbers<T: ArrowPrimitiveType>(value: impl Fn(i64) -> T::Native) -> PrimitiveArray<T> {
    (0..ROWS as i64).map(|row| (row % 5 != 4).then(|| value(row * 37 - 4000))).collect()
}

fn text(row: usize) -> Option<String> {
    match row % 6 {
        0 => None,
        1 => Some(String::new()),
        _ => Some("\u{fc}\u{1f980}x".repeat(row % 9) + &row.to_string()),
    }
}

fn primitives() -> Vec<ArrayRef> {
    vec![
        Arc::new(numbers::<Int8Type>(|n| n as i8)),
        Arc::new(numbers::<Int16Type>(|n| n as i16)),
        Arc::new(numbers::<Int32Type>(|n| n as i32)),
        Arc::new(numbers::<Int64Type>(|n| n << 40)),
        Arc::new(numbers::<UInt8Type>(|n| n as u8)),
        Arc::new(numbers::<UInt16Type>(|n| n as u16)),
        Arc::new(numbers::<UInt32Type>(|n| n as u32)),
        Arc::new(numbers::<UInt64Type>(|n| n as u64)),
        Arc::new(numbers::<Float16Type>(half_of)),
        Arc::new(numbers::<Float32Type>(|n| n as f32 / 3.0)),
        Arc::new(numbers::<Float64Type>(|n| if n == 33 { f64::INFINITY } else { n as f64 })),
        Arc::new(numbers::<Date32Type>(|n| n as i32)),
        Arc::new(numbers::<Date64Type>(|n| n * 86_400_000)),
        Arc::new(numbers::<Time32SecondType>(|n| n as i32 + 5000)),
        Arc::new(numbers::<Time32MillisecondType>(|n| n as i32 + 5000)),
        Arc::new(numbers::<Time64MicrosecondType>(|n| n + 5000)),
        Arc::new(numbers::<Time64NanosecondType>(|n| n + 5000)),
        Arc::new(numbers::<TimestampSecondType>(|n| n)),
        Arc::new(numbers::<TimestampMillisecondType>(|n| n).with_timezone("UTC")),
        Arc::new(numbers::<TimestampMicrosecondType>(|n| n).with_timezone("Europe/Berlin")),
        Arc::new(numbers::<TimestampNanosecondType>(|n| n)),
        Arc::new(numbers::<DurationSecondType>(|n| n)),
        Arc::new(numbers::<DurationMillisecondType>(|n| n)),
        Arc::new(numbers::<DurationMicrosecondType>(|n| n)),
        Arc::new(numbers::<DurationNanosecondType>(|n| n)),
        Arc::new(numbers::<IntervalYearMonthType>(|n| n as i32)),
        Arc::new(numbers::<IntervalDayTimeType>(|n| IntervalDayTime::new(n as i32, 7))),
        Arc::new(numbers::<Decimal32Type>(|n| n as i32).with_precision_and_scale(8, 2).unwrap()),
        Arc::new(numbers::<Decimal64Type>(|n| n).with_precision_and_scale(17, 3).unwrap()),
        Arc::new(
            numbers::<Decimal128Type>(|n| i128::from(n) << 50)
                .with_precision_and_scale(38, 9)
                .unwrap(),
        ),
        Arc::new(
            numbers::<Decimal256Type>(|n| i256::from_i128(i128::from(n) << 60))
                .with_precision_and_scale(70, 12)
                .unwrap(),
        ),
    ]
}

fn bytes_and_flags() -> Vec<ArrayRef> {
    let texts: Vec<Option<String>> = (0..ROWS).map(text).collect();
    let bytes: Vec<Option<&[u8]>> =
        texts.iter().map(|text| text.as_ref().map(String::as_bytes)).collect();
    let fixed = (0..ROWS).map(|row| (row % 3 != 0).then_some([row as u8; 5]));
    vec![
        Arc::new(StringArray::from(texts.clone())),
        Arc::new(LargeStringArray::from(texts.clone())),
        Arc::new(BinaryArray::from(bytes.clone())),
        Arc::new(LargeBinaryArray::from(bytes)),
        Arc::new(StringArray::from(vec![""; ROWS])),
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 5).unwrap()),
        Arc::new(
            (0..ROWS).map(|row| (row % 4 != 0).then_some(row % 3 == 1)).collect::<BooleanArray>(),
        ),
        Arc::new(NullArray::new(ROWS)),
        new_null_array(&DataType::Utf8, ROWS),
    ]
}

fn nested() -> Vec<ArrayRef> {
    let mut list = ListBuilder::new(StringBuilder::new());
    let mut large = LargeListBuilder::new(Int32Builder::new());
    let mut fixed = FixedSizeListBuilder::new(Int32Builder::new(), 3);
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..ROWS {
        for item in 0..row % 4 {
            list.values().append_option(text(row + item));
            large.values().append_value((row * item) as i32);
            map.keys().append_value(format!("k{item}"));
            map.values().append_option((item != 1).then_some(row as i32));
        }
        list.append(row % 7 != 0);
        large.append(row % 5 != 0);
        map.append(row % 6 != 0).unwrap();
        fixed.values().append_slice(&[row as i32, 1, 2]);
        fixed.append(row % 4 != 0);
    }
    let lists: ArrayRef = Arc::new(list.finish());
    let numbers: ArrayRef = Arc::new(numbers::<Int32Type>(|n| n as i32));
    let fields = vec![
        Field::new("l", lists.data_type().clone(), true),
        Field::new("n", DataType::Int32, true),
    ];
    let valid = (0..ROWS).map(|row| row % 9 != 0).collect::<Vec<_>>();
    let of_both =
        StructArray::new(fields.into(), vec![Arc::clone(&lists), numbers], Some(valid.into()));
    vec![
        lists,
        Arc::new(large.finish()),
        Arc::new(fixed.finish()),
        Arc::new(map.finish()),
        Arc::new(of_both),
    ]
}

fn with_time(columns: Vec<ArrayRef>) -> RecordBatch {
    let time: ArrayRef = Arc::new(TimestampNanosecondArray::from_iter_values(0..ROWS as i64));
    let columns =
        columns.into_iter().enumerate().map(|(index, array)| (format!("c{index}"), array, true));
    let all = std::iter::once(("t".to_owned(), time, false)).chain(columns);
    RecordBatch::try_from_iter_with_nullable(all).unwrap()
}

/// Columns of all types, of as many rows each, whose times are their numbers.
pub(super) fn all_types() -> [RecordBatch; 3] {
    [primitives(), bytes_and_flags(), nested()].map(with_time)
}

#[test]
fn all_types_come_back_from_both_formats() {
    for rows in all_types() {
        for format in FORMATS {
            let place = Place::new(rows.schema());
            // Pieces that begin inside bytes of bitmaps, and must be cut and joined.
            let pieces = [rows.slice(0, 3), rows.slice(3, 210), rows.slice(213, 117)];
            let meta = place.write(1, format, &pieces);
            let reader = place.reader(&meta);
            let found = read_all(&reader).unwrap();
            assert_eq!(found.schema(), rows.schema());
            for (column, field) in rows.schema().fields().iter().enumerate() {
                assert_eq!(found.column(column), rows.column(column), "{format:?} {field}");
                let alone = reader.read(1, &[column]).unwrap();
                assert_eq!(alone.num_columns(), 1);
            }
            reader.verify_all().unwrap();
        }
    }
}

#[test]
fn columns_without_nulls_come_back_as_not_nullable() {
    let rows = batch_of([
        ("t", Arc::new(Int64Array::from_iter_values(0..300)), false),
        ("s", Arc::new(StringArray::from_iter_values((0..300).map(|n| n.to_string()))), false),
        ("b", Arc::new(BooleanArray::from(vec![true; 300])), false),
    ]);
    for format in FORMATS {
        let (place, meta) = Place::holding(&rows, format);
        let reader = place.reader(&meta);
        assert_eq!(read_all(&reader).unwrap(), rows);
    }
}

#[test]
fn composite_keys_are_checked_whole() {
    let rows = batch_of([
        ("t", Arc::new(Int64Array::from_iter_values((0..300).map(|n| n / 10))), false),
        (
            "k",
            Arc::new(StringArray::from_iter_values((0..300).map(|n| format!("{}", n % 10)))),
            false,
        ),
    ]);
    let swapped = {
        let mut order: Vec<u32> = (0..300).collect();
        order.swap(152, 153);
        arrow_select::take::take_record_batch(&rows, &UInt32Array::from(order)).unwrap()
    };
    for format in FORMATS {
        let place =
            Place::with_key(rows.schema(), &["k"], timestrata_format::manifest::Merge::Keep);
        let sound = place.write(1, format, std::slice::from_ref(&rows));
        place.reader(&sound).verify_all().unwrap();
        let wrong = place.write(2, format, std::slice::from_ref(&swapped));
        let error = place.reader(&wrong).verify_all().unwrap_err();
        assert!(error.to_string().contains("out of order"), "{error}");
    }
}

#[test]
fn types_that_a_run_can_not_hold_are_refused() {
    let text = || Box::new(DataType::Utf8);
    let item = Arc::new(Field::new("item", DataType::Utf8View, true));
    for data_type in [
        DataType::Utf8View,
        DataType::BinaryView,
        DataType::Dictionary(Box::new(DataType::Int32), text()),
        DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Decimal128(9, -2),
        DataType::List(item.clone()),
        DataType::ListView(item),
        DataType::Struct(Vec::<Field>::new().into()),
    ] {
        let schema = Schema::new(vec![
            Field::new("t", DataType::Timestamp(TimeUnit::Nanosecond, None), false),
            Field::new("bad", data_type, true),
        ]);
        let place = Place::new(Arc::new(schema));
        let error = place.writer(1, RunFormat::Hot).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("'bad'"), "{error}");
        assert!(place.io.disk.list(&place.dir).unwrap().is_empty());
    }
}

/// A half-precision number, without the crate that names the type.
fn half_of(number: i64) -> <Float16Type as ArrowPrimitiveType>::Native {
    <Float16Type as ArrowPrimitiveType>::Native::from_bits((number & 0x3fff) as u16)
}
