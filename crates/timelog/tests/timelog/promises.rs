//! What a time log promises, through its public face.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::ops::Bound;

use arrow_array::{Array, BinaryArray};
use timestrata_engine::{
    Access, Changes, CommitPart, Durability, ErrorKind, Io, Merge, Retention, Settings, Store,
    StreamSpec,
};
use timestrata_timelog::{
    Codec, Entry, EntryBatch, Timelog, TimelogOptions, TimelogWrite, Unit, VALUE_BYTES_MAX,
};

fn memory() -> Store {
    Store::memory(Settings::default()).unwrap()
}

fn log(store: &Store) -> Timelog {
    Timelog::create(store, "log", TimelogOptions::default()).unwrap()
}

fn cbor(store: &Store) -> Timelog {
    let options = TimelogOptions { codec: Codec::Cbor, ..Default::default() };
    Timelog::create(store, "objects", options).unwrap()
}

fn pairs(entries: &[Entry]) -> Vec<(i64, &str)> {
    entries.iter().map(|entry| (entry.time, std::str::from_utf8(&entry.value).unwrap())).collect()
}

fn all(log: &Timelog) -> Vec<Entry> {
    log.range(..).unwrap().entries().collect::<Result<_, _>>().unwrap()
}

#[test]
fn entries_come_by_time_and_equal_times_in_commit_order() {
    let store = memory();
    let log = log(&store);
    log.append(5, b"a").unwrap();
    log.append(3, b"late").unwrap();
    log.extend(&[5, 4, 5], &["b", "between", "c"]).unwrap();
    log.append(5, b"d").unwrap();
    let expected = [(3, "late"), (4, "between"), (5, "a"), (5, "b"), (5, "c"), (5, "d")];
    assert_eq!(pairs(&all(&log)), expected);
    log.flush().unwrap();
    log.append(5, b"e").unwrap();
    assert_eq!(log.at(5).unwrap().len(), 5);
    let newest: Vec<Entry> =
        log.range(..).unwrap().reverse().limit(2).entries().collect::<Result<_, _>>().unwrap();
    assert_eq!(pairs(&newest), [(5, "e"), (5, "d")]);
}

/// Few entries are rows in the log, many and large ones a batch.
#[test]
fn entries_in_a_commit_are_as_they_were_given_however_many_and_large_they_are() {
    for (count, length) in [(1, 3), (16, 0), (16, 1 << 10), (17, 3), (1, 1 << 20), (100, 40)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let store = Store::open(&path, Settings::default()).unwrap();
        let log = log(&store);
        log.append(1, b"before").unwrap();
        let value = |number: u8| vec![number; length];
        let mut entries = EntryBatch::new();
        (0..count).for_each(|number| entries.push(-i64::from(number), &value(number)).unwrap());
        let mut write = TimelogWrite::new(&log);
        write.delete(0..2).unwrap();
        write.append(entries).unwrap();
        let commit = &mut |changes| store.commit(changes, Durability::Written);
        write.commit(Changes::new(), commit).unwrap();
        let given: Vec<(i64, Vec<u8>)> =
            (0..count).rev().map(|number| (-i64::from(number), value(number))).collect();
        let read = |log: &Timelog| -> Vec<(i64, Vec<u8>)> {
            all(log).into_iter().map(|entry| (entry.time, entry.value.to_vec())).collect()
        };
        assert!(read(&log) == given, "{count} of {length} bytes");
        store.close().unwrap();
        let store = Store::open(&path, Settings::default()).unwrap();
        let reopened = Timelog::open(&store, "log").unwrap();
        assert!(read(&reopened) == given, "{count} of {length} bytes, opened again");
    }
}

#[test]
fn both_ends_of_time_are_times() {
    let store = memory();
    let log = log(&store);
    log.extend(&[i64::MAX, 0, i64::MIN], &["max", "zero", "min"]).unwrap();
    assert_eq!(log.min_time().unwrap(), Some(i64::MIN));
    assert_eq!(log.max_time().unwrap(), Some(i64::MAX));
    assert_eq!(log.range(0..=i64::MAX).unwrap().count().unwrap(), 2);
    assert_eq!(log.range(0..i64::MAX).unwrap().count().unwrap(), 1);
    assert_eq!(log.at(i64::MAX).unwrap().len(), 1);
    assert_eq!(log.next_time(i64::MIN).unwrap(), Some(0));
    assert_eq!(log.next_time(0).unwrap(), Some(i64::MAX));
    assert_eq!(log.next_time(i64::MAX).unwrap(), None);
    assert_eq!(log.previous_time(i64::MAX).unwrap(), Some(0));
    assert_eq!(log.previous_time(i64::MIN).unwrap(), None);
    let after_max = (Bound::Excluded(i64::MAX), Bound::Unbounded);
    assert_eq!(log.range(after_max).unwrap().entries().count(), 0);
    log.delete_range(i64::MAX..=i64::MAX).unwrap();
    assert_eq!(log.max_time().unwrap(), Some(0));
    log.delete_range(..=i64::MIN).unwrap();
    assert_eq!(pairs(&all(&log)), [(0, "zero")]);
}

#[test]
fn first_and_last_are_oldest_first_whatever_is_asked() {
    let store = memory();
    let log = log(&store);
    assert!(log.is_empty().unwrap());
    assert_eq!(log.last(3).unwrap(), []);
    log.extend(&[3, 1, 2], &["c", "a", "b"]).unwrap();
    assert_eq!(pairs(&log.first(2).unwrap()), [(1, "a"), (2, "b")]);
    assert_eq!(pairs(&log.last(2).unwrap()), [(2, "b"), (3, "c")]);
    assert_eq!(log.first(0).unwrap(), []);
    assert_eq!(log.last(9).unwrap().len(), 3);
    assert_eq!(log.len().unwrap(), 3);
    assert!(!log.is_empty().unwrap());
}

#[test]
fn a_range_delete_spares_what_comes_after_it() {
    let store = memory();
    let log = log(&store);
    log.extend(&[1, 2, 3], &["a", "b", "c"]).unwrap();
    let deleted = log.delete_range(2..3).unwrap();
    assert!(deleted.is_some());
    log.append(2, b"again").unwrap();
    assert_eq!(pairs(&all(&log)), [(1, "a"), (2, "again"), (3, "c")]);
    assert_eq!(log.delete_range(2..2).unwrap(), None, "an empty range commits nothing");
    log.flush().unwrap();
    log.compact().unwrap();
    assert_eq!(pairs(&all(&log)), [(1, "a"), (2, "again"), (3, "c")]);
}

#[test]
fn a_view_never_changes() {
    let store = memory();
    let log = log(&store);
    log.append(1, b"a").unwrap();
    let view = log.snapshot().unwrap();
    let chosen = log.range(..).unwrap();
    log.append(2, b"b").unwrap();
    log.delete_range(..2).unwrap();
    log.flush().unwrap();
    log.compact().unwrap();
    assert_eq!(pairs(&view.first(9).unwrap()), [(1, "a")]);
    assert_eq!(view.len().unwrap(), 1);
    assert_eq!(chosen.count().unwrap(), 1);
    assert_eq!(pairs(&all(&log)), [(2, "b")]);
}

#[test]
fn objects_come_back_as_they_were() {
    let store = memory();
    let log = cbor(&store);
    log.append_value(2, &("b", 2.5, vec![1u8, 2])).unwrap();
    let mut batch = EntryBatch::new();
    batch.push_value(1, &("a", f64::MAX, Vec::<u8>::new())).unwrap();
    log.extend_batch(batch, Durability::Written).unwrap();
    let decoded = log.range(..).unwrap().decode::<(String, f64, Vec<u8>)>();
    let decoded = decoded.collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(decoded[0], (1, ("a".to_owned(), f64::MAX, vec![])));
    assert_eq!(decoded[1], (2, ("b".to_owned(), 2.5, vec![1, 2])));
}

#[test]
fn a_value_that_is_not_what_was_asked_is_an_error_with_stream_and_time() {
    let store = memory();
    let log = cbor(&store);
    log.append(7, b"\xff\xff").unwrap();
    log.append_value(8, "text").unwrap();
    log.append(9, b"\x01\x02").unwrap();
    let results: Vec<_> = log.range(..).unwrap().decode::<u64>().collect();
    assert_eq!(results.len(), 3, "reading goes on behind a bad value");
    for (result, time) in results.into_iter().zip(["7", "8", "9"]) {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let text = error.to_string();
        assert!(text.contains("'objects'") && text.contains(&format!("time {time}")), "{text}");
    }
}

#[test]
fn a_log_of_bytes_neither_encodes_nor_decodes() {
    let store = memory();
    let log = log(&store);
    let error = log.append_value(1, "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    log.append(1, b"\x01").unwrap();
    let error = log.range(..).unwrap().decode::<u8>().next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_value_without_cbor_form_leaves_nothing_behind() {
    struct Odd;
    impl serde::Serialize for Odd {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("odd"))
        }
    }
    let mut batch = EntryBatch::new();
    batch.push_value(1, "even").unwrap();
    let bytes = batch.value_bytes();
    let error = batch.push_value(2, &(1, Odd)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!((batch.len(), batch.value_bytes()), (1, bytes));
    let store = memory();
    let log = cbor(&store);
    log.append_value(1, &Odd).unwrap_err();
    log.append_value(1, "even").unwrap();
    assert_eq!(log.len().unwrap(), 1);
}

#[test]
fn a_value_that_is_too_long_is_refused_with_its_time_and_the_limit() {
    let long = vec![0; VALUE_BYTES_MAX + 1];
    let mut batch = EntryBatch::new();
    let error = batch.push(77, &long).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let text = error.to_string();
    assert!(text.contains("time 77") && text.contains("33554432"), "{text}");
    assert!(batch.is_empty());
    let store = memory();
    let log = log(&store);
    assert_eq!(log.append(1, &long).unwrap_err().kind(), ErrorKind::TooLarge);
    log.append(1, &long[1..]).unwrap();
    assert_eq!(log.at(1).unwrap()[0].len(), VALUE_BYTES_MAX);
}

#[test]
fn times_and_values_must_be_as_many() {
    let store = memory();
    let log = log(&store);
    let error = log.extend(&[1, 2], &["only one"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(error.to_string(), "2 times but 1 values");
    assert_eq!(log.extend(&[], &[] as &[&str]).unwrap(), None);
    assert_eq!(log.len().unwrap(), 0);
}

#[test]
fn an_iterator_goes_in_by_chunks() {
    let store = memory();
    let log = log(&store);
    let before = store.stats().last_seq.0;
    let rows = log.extend_from((0..25).map(|time| (time, time.to_string())), 10).unwrap();
    assert_eq!((rows, log.len().unwrap()), (25, 25));
    assert_eq!(store.stats().last_seq.0 - before, 3);
}

#[test]
fn blocks_have_the_same_entries_as_the_iterator() {
    let store = memory();
    let log = log(&store);
    log.extend_from((0..1000).map(|time| (time * 7 % 1000, time.to_string())), 64).unwrap();
    log.flush().unwrap();
    log.extend_from((0..100).map(|time| (time * 3, format!("late {time}"))), 7).unwrap();
    let mut from_blocks = Vec::new();
    for block in log.range(100..900).unwrap().blocks() {
        let block = block.unwrap();
        assert_eq!(block.len(), block.values().unwrap().len());
        for (index, time) in block.times().iter().enumerate() {
            from_blocks.push((*time, block.value(index).unwrap().to_vec()));
        }
        assert!(block.entry(block.len()).is_none() && block.value(block.len()).is_none());
    }
    let from_entries: Vec<_> = log
        .range(100..900)
        .unwrap()
        .into_iter()
        .map(|entry| entry.map(|entry| (entry.time, entry.value.to_vec())).unwrap())
        .collect();
    assert_eq!(from_blocks, from_entries);
    assert!(from_blocks.iter().map(|(time, _)| *time).is_sorted());
}

#[test]
fn a_log_is_one_thing_with_one_codec_and_unit() {
    let store = memory();
    let nanoseconds = TimelogOptions { unit: Unit::Nano, ..Default::default() };
    Timelog::create(&store, "log", nanoseconds.clone()).unwrap();
    assert_eq!(Timelog::open(&store, "log").unwrap().unit(), Unit::Nano);
    Timelog::create(&store, "log", nanoseconds).unwrap();
    let error = Timelog::create(&store, "log", TimelogOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    let text = error.to_string();
    assert!(text.contains("'ns'") && text.contains("'ms'") && text.contains("'log'"), "{text}");
}

#[test]
fn what_is_no_time_log_is_not_opened_as_one() {
    let store = memory();
    let error = Timelog::open(&store, "none").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("'none'"));
    let of_log = log(&store);
    let schema = store.stream("log").unwrap().schema().clone();
    store.create_stream(StreamSpec::new("bare", schema.clone())).unwrap();
    let forged = StreamSpec {
        merge: Merge::Latest,
        properties: store.stream("log").unwrap().spec().properties.clone(),
        ..StreamSpec::new("forged", schema)
    };
    store.create_stream(forged).unwrap();
    for name in ["bare", "forged"] {
        let error = Timelog::open(&store, name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
        let error = Timelog::create(&store, name, TimelogOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
    }
    assert_eq!(of_log.name(), "log");
}

#[test]
fn retention_changes_only_where_it_is_given() {
    let store = memory();
    let week = Retention { age_ns: Some(7 * 86_400_000_000_000), bytes: None };
    let options = TimelogOptions { retention: Some(week), ..Default::default() };
    Timelog::create(&store, "log", options).unwrap();
    log(&store);
    assert_eq!(store.stream("log").unwrap().spec().retention, week);
    let none = TimelogOptions { retention: Some(Retention::default()), ..Default::default() };
    Timelog::create(&store, "log", none).unwrap();
    assert_eq!(store.stream("log").unwrap().spec().retention, Retention::default());
}

#[test]
fn a_log_outlives_its_store_being_closed_and_can_be_read_without_writing() {
    let dir = tempfile::tempdir().unwrap();
    for durability in [Durability::Buffered, Durability::Written, Durability::Synced] {
        let store = Store::open(dir.path(), Settings::default()).unwrap();
        let log = cbor(&store);
        let time = log.len().unwrap() as i64;
        log.append_value_with(time, &time, durability).unwrap();
        store.close().unwrap();
    }
    let store = Store::open_with(Io::os(), dir.path(), Access::Read, Settings::default()).unwrap();
    let log = Timelog::open(&store, "objects").unwrap();
    let times: Vec<(i64, i64)> = log.range(..).unwrap().decode().collect::<Result<_, _>>().unwrap();
    assert_eq!(times, [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(log.append_value(3, &3).unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(log.delete_range(..).unwrap_err().kind(), ErrorKind::ReadOnly);
    cbor(&store);
}

#[test]
fn several_threads_append_to_one_log() {
    let store = memory();
    let log = log(&store);
    std::thread::scope(|scope| {
        for writer in 0..4i64 {
            let log = log.clone();
            scope.spawn(move || {
                for number in 0..250 {
                    log.append(number * 4 + writer, b"x").unwrap();
                }
            });
        }
    });
    let times: Vec<i64> = all(&log).iter().map(|entry| entry.time).collect();
    assert_eq!(times, (0..1000).collect::<Vec<i64>>());
}

#[test]
fn arrow_columns_go_in_uncopied_but_checked() {
    let store = memory();
    let log = log(&store);
    let values = BinaryArray::from_vec(vec![b"b", b"a"]);
    let extend = |times: Vec<i64>, values: BinaryArray| {
        log.extend_arrays(times.into(), values, Durability::Written)
    };
    assert!(extend(vec![2, 1], values.clone()).unwrap().is_some());
    assert_eq!(pairs(&all(&log)), [(1, "a"), (2, "b")]);
    assert_eq!(extend(vec![3], values).unwrap_err().kind(), ErrorKind::InvalidData);
    let with_null = BinaryArray::from_opt_vec(vec![Some(b"x"), None]);
    assert_eq!(extend(vec![3, 4], with_null).unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(extend(vec![], BinaryArray::from_vec(vec![])).unwrap(), None);
    assert_eq!(log.len().unwrap(), 2);
}

#[test]
fn codecs_and_units_are_told_by_their_names() {
    for codec in [Codec::Bytes, Codec::Cbor, Codec::Json, Codec::Pickle] {
        assert_eq!(codec.name().parse::<Codec>().unwrap(), codec);
    }
    for unit in [Unit::Second, Unit::Milli, Unit::Micro, Unit::Nano] {
        assert_eq!(unit.to_string().parse::<Unit>().unwrap(), unit);
    }
    assert_eq!("xml".parse::<Codec>().unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!("m".parse::<Unit>().unwrap_err().kind(), ErrorKind::InvalidArgument);
}
