//! What comes to a table fits its columns, makes them fit, or is refused whole.

#![expect(clippy::unwrap_used, reason = "a test fails that way")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float64Array, Int32Array,
    Int64Array, ListArray, NullArray, RecordBatch, StringArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use arrow_select::concat::concat_batches;
use timestrata_engine::{ErrorKind, KeyRange, Maintenance, Settings, Store};
use timestrata_table::{OnMismatch, Table, TableOptions, TableScan, WriteOptions};

fn store() -> Store {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    Store::memory(settings).unwrap()
}

fn micros(times: &[i64]) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(times.to_vec()).with_timezone("UTC"))
}

fn rows(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, c)| (name, c, true)))
        .unwrap()
}

fn ints(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn all(table: &Table) -> RecordBatch {
    let view = table.view().unwrap();
    let batches: Vec<_> =
        view.scan(&TableScan::default()).unwrap().collect::<Result<_, _>>().unwrap();
    concat_batches(view.schema(), &batches).unwrap()
}

fn table(store: &Store) -> Table {
    let first = rows(vec![("time", micros(&[10, 20])), ("volume", ints(&[1, 2]))]);
    let table = Table::create_for(store, "t", &first, &TableOptions::default()).unwrap();
    table.append(&first, WriteOptions::default()).unwrap();
    table
}

const WIDEN: WriteOptions = WriteOptions {
    durability: timestrata_engine::Durability::Written,
    on_mismatch: OnMismatch::Widen,
};

#[test]
fn a_new_column_is_null_before_it() {
    let store = store();
    let table = table(&store);
    store.flush().unwrap();
    let more = rows(vec![
        ("venue", texts(&["x"])),
        ("time", micros(&[15])),
        ("note", Arc::new(NullArray::new(1))),
    ]);
    table.append(&more, WriteOptions::default()).unwrap();
    let found = all(&table);
    // Of the column without a value nobody knows the type: it is not added.
    assert_eq!(found.num_columns(), 3);
    let venue = found.column_by_name("venue").unwrap().as_string::<i32>();
    assert_eq!(venue.iter().collect::<Vec<_>>(), [None, Some("x"), None]);
    let volume = found.column_by_name("volume").unwrap().as_primitive::<Int64Type>();
    assert_eq!(volume.iter().collect::<Vec<_>>(), [Some(1), None, Some(2)]);
}

#[test]
fn a_batch_that_does_not_fit_is_refused_whole_and_named() {
    let store = store();
    let table = table(&store);
    let before = table.schema().unwrap();
    let cases: Vec<(RecordBatch, &[&str])> = vec![
        (
            rows(vec![("time", micros(&[1, 2])), ("volume", floats(&[1.0, 2.5]))]),
            &["row 1", "'volume'", "2.5", "Int64", "widen"],
        ),
        (
            rows(vec![("time", micros(&[1])), ("volume", texts(&["many"])), ("new", ints(&[1]))]),
            &["row 0", "'volume'", "\"many\"", "Int64"],
        ),
        (rows(vec![("volume", ints(&[1]))]), &["'time' is missing"]),
        (
            rows(vec![(
                "time",
                Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None])) as ArrayRef,
            )]),
            &["row 1", "'time'", "null"],
        ),
        (
            rows(vec![("time", Arc::new(TimestampNanosecondArray::from(vec![1000, 1001])))]),
            &["row 1", "'time'", "fixed"],
        ),
        (rows(vec![("time", micros(&[1])), ("", ints(&[1]))]), &["column 2", "no name"]),
        (rows(vec![("time", micros(&[1])), ("__x", ints(&[1]))]), &["'__x'", "two underscores"]),
    ];
    for (batch, words) in cases {
        let error = table.append(&batch, WriteOptions::default()).unwrap_err();
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}: expected {words:?}");
        assert_eq!(table.schema().unwrap(), before);
        assert_eq!(table.view().unwrap().count(&KeyRange::ALL).unwrap(), 2);
    }
    let twice = Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("time", DataType::Int64, false),
    ]);
    let twice = RecordBatch::try_new(Arc::new(twice), vec![ints(&[1]), ints(&[1])]).unwrap();
    let error = table.append(&twice, WriteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("twice"), "{error}");
}

#[test]
fn columns_widen_where_asked() {
    let store = store();
    let table = table(&store);
    store.flush().unwrap();
    let half = rows(vec![("time", micros(&[30])), ("volume", floats(&[2.5]))]);
    table.append(&half, WIDEN).unwrap();
    let found = all(&table);
    assert_eq!(found.column(1).as_primitive::<Float64Type>().values(), &[1.0, 2.0, 2.5]);
    let text = rows(vec![("time", micros(&[40])), ("volume", texts(&["many"]))]);
    table.append(&text, WIDEN).unwrap();
    store.flush().unwrap();
    let number = rows(vec![("time", micros(&[50])), ("volume", ints(&[7]))]);
    table.append(&number, WIDEN).unwrap();
    let found = all(&table);
    let volumes: Vec<_> = found.column(1).as_string::<i32>().iter().flatten().collect();
    assert_eq!(volumes, ["1.0", "2.0", "2.5", "many", "7"]);
    store.compact(None).unwrap();
    assert_eq!(all(&table), found);
}

#[test]
fn other_types_come_in_where_each_value_means_the_same() {
    let store = store();
    let table = table(&store);
    let symbols: DictionaryArray<arrow_array::types::Int8Type> =
        vec!["a", "b"].into_iter().collect();
    let batch = rows(vec![
        ("time", Arc::new(TimestampMillisecondArray::from(vec![1, 2]))),
        ("volume", Arc::new(Int32Array::from(vec![5, 6]))),
    ]);
    table.append(&batch, WriteOptions::default()).unwrap();
    let batch = rows(vec![
        ("time", Arc::new(Date32Array::from(vec![-1, 1]))),
        ("volume", floats(&[7.0, 8.0])),
        ("symbol", texts(&["x", "y"])),
    ]);
    table.append(&batch, WriteOptions::default()).unwrap();
    let batch = rows(vec![
        ("time", texts(&["2013-01-01T05:00:00Z", "1969-12-31 23:59:59.000001"])),
        ("symbol", Arc::new(symbols)),
    ]);
    table.append(&batch, WriteOptions::default()).unwrap();
    let found = all(&table);
    let times = found.column(0).as_primitive::<TimestampMicrosecondType>().values().to_vec();
    let day = 86_400_000_000;
    assert_eq!(times, [-day, -999_999, 10, 20, 1000, 2000, day, 1_357_016_400_000_000]);
    let symbols: Vec<_> = found.column(2).as_string::<i32>().iter().collect();
    assert_eq!(symbols[1], Some("b"));
    let ints = rows(vec![("time", ints(&[77]))]);
    // Numbers are times in the table's own unit.
    table.append(&ints, WriteOptions::default()).unwrap();
    assert_eq!(table.view().unwrap().count(&KeyRange::times(77, 78)).unwrap(), 1);
}

#[test]
fn the_time_column_is_found() {
    let store = store();
    let time_of = |name: &str, columns: Vec<(&str, ArrayRef)>, declared: Option<&str>| {
        let options = TableOptions { time: declared.map(str::to_owned), ..Default::default() };
        Table::create_for(&store, name, &rows(columns), &options).map(|t| t.time_column().unwrap())
    };
    let flag: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let found = time_of("a", vec![("x", micros(&[1])), ("timestamp", ints(&[1]))], None);
    assert_eq!(found.unwrap(), "timestamp");
    let found = time_of("b", vec![("when", micros(&[1])), ("volume", ints(&[1000]))], None);
    assert_eq!(found.unwrap(), "when");
    let found = time_of("c", vec![("x", micros(&[1])), ("y", micros(&[1]))], Some("y"));
    assert_eq!(found.unwrap(), "y");
    // A volume of 1000 is no time.
    let error =
        time_of("d", vec![("volume", ints(&[1000])), ("ok", flag.clone())], None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("volume, ok"), "{error}");
    let error = time_of("e", vec![("x", micros(&[1])), ("ok", flag)], Some("ok")).unwrap_err();
    assert!(error.to_string().contains("'ok' has type Boolean"), "{error}");
    assert!(time_of("f", vec![("x", micros(&[1]))], Some("z")).is_err());
}

#[test]
fn numbers_are_epochs_of_the_unit_that_their_magnitude_tells() {
    let store = store();
    let cases = [
        (1_357_016_400, TimeUnit::Second),
        (1_357_016_400_000, TimeUnit::Millisecond),
        (1_357_016_400_000_000, TimeUnit::Microsecond),
        (-1_357_016_400_000_000_000, TimeUnit::Nanosecond),
    ];
    for (number, unit) in cases {
        let name = format!("{unit:?}");
        let batch = rows(vec![("ts", ints(&[number, 0]))]);
        let table = Table::create_for(&store, &name, &batch, &TableOptions::default()).unwrap();
        table.append(&batch, WriteOptions::default()).unwrap();
        let wanted = DataType::Timestamp(unit, Some("UTC".into()));
        assert_eq!(*table.schema().unwrap().field(0).data_type(), wanted);
        let range = KeyRange::times(number, number + 1);
        assert_eq!(table.view().unwrap().count(&range).unwrap(), 1);
    }
}

#[test]
fn two_who_create_one_table_with_different_columns() {
    let store = store();
    let names = ["a", "b", "c", "d"];
    std::thread::scope(|scope| {
        for name in names {
            let store = store.clone();
            scope.spawn(move || {
                let batch = rows(vec![("time", micros(&[1])), (name, ints(&[1]))]);
                let table =
                    Table::create_for(&store, "t", &batch, &TableOptions::default()).unwrap();
                for _ in 0..20 {
                    table.append(&batch, WriteOptions::default()).unwrap();
                }
            });
        }
    });
    let table = Table::open(&store, "t").unwrap();
    let found = all(&table);
    assert_eq!((found.num_rows(), found.num_columns()), (80, 5));
    for name in names {
        assert_eq!(found.column_by_name(name).unwrap().null_count(), 60, "{name}");
    }
    let keyed = TableOptions { key: vec!["a".into()], ..TableOptions::default() };
    let batch = rows(vec![("time", micros(&[1])), ("a", ints(&[1]))]);
    let error = Table::create_for(&store, "t", &batch, &keyed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

#[test]
fn names_of_tables_are_words_not_paths() {
    let store = store();
    let batch = rows(vec![("time", micros(&[1]))]);
    for name in ["a/b", "../x", "dots.and.more", "quo\"te's", "пример", " "] {
        let table = Table::create_for(&store, name, &batch, &TableOptions::default()).unwrap();
        table.append(&batch, WriteOptions::default()).unwrap();
        assert_eq!(table.name().unwrap(), name);
    }
    let long = "x".repeat(10_000);
    for name in ["", "__index/x", "line\nbreak", long.as_str()] {
        let error = Table::create_for(&store, name, &batch, &TableOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().len() < 400, "{error}");
    }
    assert_eq!(Table::names(&store).len(), 6);
    Table::drop(&store, "a/b").unwrap();
    assert_eq!(Table::open(&store, "a/b").unwrap_err().kind(), ErrorKind::NotFound);
}

/// Only the lists themselves were looked at: a number in one without room in the column's type became null,
/// unseen.
#[test]
fn values_in_lists_fit_or_are_refused_with_their_row() {
    let store = store();
    let lists = |times: &[i64], lists: &[i64]| {
        let lists = lists.iter().map(|value| Some(vec![Some(*value), None]));
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
        rows(vec![("time", micros(times)), ("sizes", Arc::new(lists))])
    };
    let item = Arc::new(Field::new("item", DataType::Int8, true));
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let columns = Schema::new(vec![
        Field::new("time", time, false),
        Field::new("sizes", DataType::List(item), true),
    ]);
    let table = Table::create(&store, "t", &Arc::new(columns), &TableOptions::default()).unwrap();
    table.append(&lists(&[1, 2], &[1, 127]), WriteOptions::default()).unwrap();
    let error = table.append(&lists(&[3, 4], &[2, 300]), WriteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(
        error.to_string().contains("row 1 (the first is 0), column 'sizes': \"[300, ]\""),
        "{error}"
    );
    assert_eq!(all(&table).num_rows(), 2);
}
