//! What is written: arrivals, columns of fields, limits.

use timestrata_engine::{Durability, ErrorKind, Retention, Store};
use timestrata_logs::{FieldValue, Level, Logs, LogsOptions, NewEntry, Query, Scalar};

use crate::support::{SECOND, entry, fill, found, log, manual, settle, with_clock};

#[test]
fn timestamps_never_decrease_though_the_clock_goes_back() {
    let (logs, clock) = with_clock();
    let first = logs.write(&NewEntry::new("a")).unwrap();
    assert_eq!(first, 1_000 * SECOND);
    let second = logs.write(&NewEntry::new("b")).unwrap();
    clock.set(10 * SECOND);
    let third = logs.write(&NewEntry::new("c")).unwrap();
    let many = fill(&logs, 3, |index| NewEntry::new(format!("d{index}")));
    clock.set(2_000 * SECOND);
    let last = logs.write(&NewEntry::new("e")).unwrap();
    assert_eq!((second, third, many), (first + 1, first + 2, first + 3));
    assert_eq!(last, 2_000 * SECOND);
    assert_eq!(found(&logs, &Query::default()), ["a", "b", "c", "d0", "d1", "d2", "e"]);
}

#[test]
fn timestamps_go_on_behind_those_of_before_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let last = {
        let store = Store::open(dir.path(), manual()).unwrap();
        let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
        let far = NewEntry::new("x");
        fill(&logs, 1_000, |_| far.clone()) + 999
    };
    let store = Store::open(dir.path(), manual()).unwrap();
    let logs = Logs::open(&store, "app").unwrap();
    assert!(logs.write(&NewEntry::new("y")).unwrap() > last);
    assert_eq!(logs.snapshot().unwrap().len().unwrap(), 1_001);
}

#[test]
fn every_field_comes_back_as_sent() {
    let logs = log();
    let mut sent = entry("all of them", Some(Level::Warn));
    sent.source_time = Some(-5);
    sent.labels.set("service", "api").unwrap();
    sent.fields.text("path", "/a \"b\"\n").int("status", -7).uint("big", u64::MAX);
    sent.fields.float("took", 0.1).bool("cached", false).null("user");
    // {"a": [1, {"b": "deep"}]}
    sent.fields.item("nested", |out| out.extend(b"\xa1\x61a\x82\x01\xa1\x61b\x64deep"));
    let timestamp = logs.write(&sent).unwrap();
    for _ in 0..2 {
        let all: Vec<_> =
            logs.search(&Query::default()).unwrap().collect::<Result<_, _>>().unwrap();
        let read = all[0].get(0).unwrap();
        assert_eq!(read.timestamp(), timestamp);
        assert_eq!(read.to_owned(), sent);
        assert_eq!(read.field("nested.a").unwrap().to_text(), r#"[1,{"b":"deep"}]"#);
        let mut json = String::new();
        read.write_json(&mut json);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["fields"]["big"], u64::MAX);
        assert_eq!(json["level"], "warn");
        assert_eq!(json["labels"]["service"], "api");
        assert_eq!(json["source_time"], "1969-12-31T23:59:59.999999995Z");
        settle(&logs);
    }
}

/// An access-like entry.
fn request(index: usize) -> NewEntry {
    let mut entry = NewEntry::new(format!("GET /{index}"));
    entry.fields.int("status", if index.is_multiple_of(10) { 404 } else { 200 });
    entry.fields.text("agent", &format!("browser {}", index % 3)).float("took", index as f64);
    if index.is_multiple_of(1_000) {
        entry.fields.text("rare", "x");
    }
    entry
}

#[test]
fn frequent_scalar_fields_get_columns_and_nobody_can_tell() {
    let logs = log();
    for index in 0..3_000 {
        logs.write(&request(index)).unwrap();
    }
    assert_eq!(logs.columns().unwrap(), ["status", "agent", "took"]);
    fill(&logs, 1_000, |index| request(3_000 + index));
    let mut odd = NewEntry::new("odd");
    odd.fields.text("status", "gone").int("took", 5);
    logs.write(&odd).unwrap();
    for _ in 0..2 {
        let all: Vec<_> =
            logs.search(&Query::default()).unwrap().collect::<Result<_, _>>().unwrap();
        let entries =
            all.iter().flat_map(|batch| batch.iter().map(|e| e.to_owned()).collect::<Vec<_>>());
        let expected = (0..4_000).map(request).chain([odd.clone()]);
        assert!(entries.eq(expected));
        settle(&logs);
    }
    let last = logs.search(&Query { newest_first: true, limit: Some(1), ..Query::default() });
    let last = last.unwrap().next().unwrap().unwrap();
    let last = last.get(0).unwrap();
    assert_eq!(last.field("status"), Some(FieldValue::Scalar(Scalar::Text("gone"))));
    assert_eq!(last.field("took"), Some(FieldValue::Scalar(Scalar::Int(5))));
}

#[test]
fn a_batch_gives_fields_columns_and_stays_one_commit() {
    let logs = log();
    let before = logs.store().snapshot().unwrap().seq();
    fill(&logs, 5_000, request);
    assert_eq!(logs.columns().unwrap(), ["status", "agent", "took"]);
    assert_eq!(logs.store().snapshot().unwrap().seq().0, before.0 + 1);
    assert_eq!(found(&logs, &Query::default()).len(), 5_000);
}

#[test]
fn a_batch_can_be_gathered_in_parts_by_another_thread() {
    let logs = log();
    let (sender, parts) = std::sync::mpsc::sync_channel(1);
    let mut gathered = logs.batch().unwrap();
    let gathering = std::thread::spawn(move || {
        for index in 0..10_000 {
            gathered.push(&request(index)).unwrap();
            if gathered.len() == 3_000 {
                sender.send(gathered.split_off().unwrap()).unwrap();
            }
        }
        sender.send(gathered).unwrap();
    });
    let mut batch = logs.batch().unwrap();
    for (part, rows) in parts.iter().zip([3_000, 3_000, 3_000, 1_000]) {
        assert_eq!(part.len(), rows);
        let bytes = batch.bytes() + part.bytes();
        batch.append(part).unwrap();
        assert_eq!(batch.bytes(), bytes);
    }
    gathering.join().unwrap();
    logs.write_batch(&mut batch, Durability::Written).unwrap();
    assert!(batch.is_empty());
    let mut index = 0;
    for entries in logs.search(&Query::default()).unwrap() {
        for read in entries.unwrap().iter() {
            assert_eq!(read.to_owned(), request(index));
            index += 1;
        }
    }
    assert_eq!(index, 10_000);
    let other = log();
    let error = other.batch().unwrap().append(logs.batch().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn many_small_batches_give_fields_columns_too() {
    let logs = log();
    for start in 0..1_000 {
        fill(&logs, 3, |index| request(3 * start + index));
    }
    assert_eq!(logs.columns().unwrap(), ["status", "agent", "took"]);
    assert_eq!(found(&logs, &Query::default()).len(), 3_000);
}

#[test]
fn no_more_fields_get_columns_than_the_log_allows() {
    let (logs, _) = with_clock();
    let options = LogsOptions { columns_max: 2, ..LogsOptions::default() };
    let narrow = Logs::create(logs.store(), "narrow", &options).unwrap();
    fill(&narrow, 5_000, request);
    assert_eq!(narrow.columns().unwrap(), ["status", "agent"]);
    let none = LogsOptions { columns_max: 0, ..LogsOptions::default() };
    let none = Logs::create(logs.store(), "none", &none).unwrap();
    fill(&none, 5_000, request);
    assert!(none.columns().unwrap().is_empty());
    let error = Logs::create(logs.store(), "none", &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

#[test]
fn what_is_too_long_is_refused_with_the_limit() {
    let (logs, _) = with_clock();
    let options = LogsOptions { message_bytes_max: 10, ..LogsOptions::default() };
    let short = Logs::create(logs.store(), "short", &options).unwrap();
    short.write(&NewEntry::new("0123456789")).unwrap();
    let error = short.write(&NewEntry::new("0123456789a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("message of 11 bytes; at most 10"), "{error}");
    let mut wide = NewEntry::new("x");
    wide.fields.text("field", "0123456789");
    let error = short.write(&wide).unwrap_err();
    assert!(error.to_string().contains("fields of 17 bytes; at most 10"), "{error}");
    let both = [NewEntry::new("fits"), NewEntry::new("does not fit")];
    assert!(short.write_many(&both, Durability::Written).is_err());
    assert_eq!(found(&short, &Query::default()), ["0123456789"], "all or none");
    for bytes in [0, 9 << 20] {
        let options = LogsOptions { message_bytes_max: bytes, ..LogsOptions::default() };
        let error = Logs::create(logs.store(), "never", &options).unwrap_err();
        assert!(error.to_string().contains("1 to 8388608"), "{error}");
    }
    let longest = LogsOptions { message_bytes_max: 8 << 20, ..LogsOptions::default() };
    let longest = Logs::create(logs.store(), "longest", &longest).unwrap();
    longest.write(&NewEntry::new("x".repeat(8 << 20))).unwrap();
}

#[test]
fn retention_by_age_and_by_bytes_can_be_set_and_changed() {
    let (logs, clock) = with_clock();
    assert_eq!(logs.options().unwrap().retention, Some(Retention::default()));
    let day = Retention { age_ns: Some(86_400 * SECOND as u64), ..Retention::default() };
    let options = LogsOptions { retention: Some(day), ..LogsOptions::default() };
    let logs = Logs::create(logs.store(), "app", &options).unwrap();
    assert_eq!(logs.options().unwrap().retention, Some(day));
    logs.write(&NewEntry::new("old")).unwrap();
    logs.flush().unwrap();
    clock.set(200_000 * SECOND);
    logs.write(&NewEntry::new("new")).unwrap();
    settle(&logs);
    assert_eq!(found(&logs, &Query::default()), ["new"]);
}

#[test]
fn a_log_that_is_removed_is_gone_and_can_be_made_anew() {
    let (logs, clock) = with_clock();
    logs.write(&NewEntry::new("old")).unwrap();
    assert_eq!(Logs::names(logs.store()), ["app"]);
    let before = logs.snapshot().unwrap();
    Logs::drop(logs.store(), "app").unwrap();
    assert!(Logs::names(logs.store()).is_empty());
    assert_eq!(Logs::open(logs.store(), "app").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(logs.write(&NewEntry::new("late")).is_err());
    assert_eq!(before.len().unwrap(), 1);
    clock.set(5 * SECOND);
    let anew = Logs::create(logs.store(), "app", &LogsOptions::default()).unwrap();
    assert_eq!(anew.write(&NewEntry::new("new")).unwrap(), 5 * SECOND);
    assert_eq!(found(&anew, &Query::default()), ["new"]);
}
