//! Purging: what was deleted or replaced is in no file of the store any more, and nothing else is missing.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::time::Duration;

use proptest::prelude::*;
use timestrata_engine::{
    Access, Changes, Durability, ErrorKind, Moment, PurgeReport, RunFormat, SeqNo, Settings, Store,
    StreamId, check,
};

use crate::moments::{kept, last};
use crate::support::*;

/// A text that nothing else holds.
fn secret(number: i64) -> String {
    format!("secret-{number:04}-of-nobody-else")
}

/// Files of the machine with a text.
fn holding(machine: &Machine, text: &str) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let files = machine.files().into_iter().filter(|path| holds(&machine.read_file(path)));
    files.map(|path| path.display().to_string()).collect()
}

fn is_erased(machine: &Machine, numbers: &[i64]) {
    for number in numbers {
        assert_eq!(holding(machine, &secret(*number)), Vec::<String>::new(), "{number}");
    }
}

/// Two streams with secrets: 0 to 4 in `events`, of which 1 and 2 are deleted; 10 in `newest`, which 11 has replaced, and
/// 12, which is deleted.
fn with_secrets(settings: Settings, format: RunFormat) -> (Machine, Store, StreamId, StreamId) {
    let machine = Machine::new();
    let store = machine.open(settings);
    let mut spec = keep("events");
    spec.run_format = format;
    let events = store.create_stream(spec).unwrap();
    let newest = store.create_stream(latest("newest")).unwrap();
    for number in 0..3 {
        append(&store, events, &[pair(number, &secret(number))]);
    }
    insert(&store, newest, &[pair(1, &secret(10)), pair(2, &secret(12))], Durability::Written);
    store.flush().unwrap();
    for number in 3..5 {
        append(&store, events, &[pair(number, &secret(number))]);
    }
    insert(&store, newest, &[pair(1, &secret(11))], Durability::Written);
    delete(&store, events, 1, 3);
    store.commit(Changes::new().delete_keys(newest, keys(&[2])), Durability::Written).unwrap();
    (machine, store, events, newest)
}

const GONE: [i64; 4] = [1, 2, 10, 12];

fn holds_the_rest(store: &Store) {
    let of = |number| pair(number, &secret(number));
    assert_eq!(read(store, "events"), [of(0), of(3), of(4)]);
    assert_eq!(read(store, "newest"), [pair(1, &secret(11))]);
}

#[test]
fn what_was_deleted_or_replaced_is_in_no_file_behind_a_purge() {
    for settings in [manual(), kept(manual()), Settings { history_min: Duration::ZERO, ..tiny() }] {
        for format in [RunFormat::Hot, RunFormat::Cold] {
            let (machine, store, ..) = with_secrets(settings.clone(), format);
            for number in GONE {
                assert_ne!(holding(&machine, &secret(number)), Vec::<String>::new());
            }
            let PurgeReport { seq, files, bytes, still_read } = store.purge(None).unwrap();
            assert_eq!((seq, still_read.len()), (last(&store), 0));
            assert!(files > 0 && bytes > 0);
            is_erased(&machine, &GONE);
            holds_the_rest(&store);
            // It goes on as before, and a kill behind it brings nothing back.
            append(&store, store.stream("events").unwrap().id(), &[pair(9, "later")]);
            let killed = machine.copy();
            assert!(check(&killed.io, &killed.dir).unwrap().is_sound());
            is_erased(&killed, &GONE);
            assert_eq!(read(&killed.open(manual()), "events").len(), 4);
            store.close().unwrap();
            is_erased(&machine, &GONE);
        }
    }
}

#[test]
fn no_earlier_commit_is_read_behind_a_purge() {
    let (_machine, store, events, _) = with_secrets(kept(manual()), RunFormat::Hot);
    let before = last(&store);
    assert!(store.at(&Moment::Commit(before)).is_ok());
    append(&store, events, &[pair(20, "behind")]);
    let purged = store.purge(None).unwrap().seq;
    let error = store.at(&Moment::Commit(before)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HistoryLost, "{error}");
    append(&store, events, &[pair(21, "later")]);
    let behind = last(&store);
    append(&store, events, &[pair(22, "last")]);
    assert!(behind > purged);
    assert_eq!(read(&store.at(&Moment::Commit(behind)).unwrap(), "events").len(), 5);
}

#[test]
fn a_pin_that_keeps_what_was_deleted_is_named_and_prevents_a_purge() {
    let machine = Machine::new();
    let store = machine.open(manual());
    let events = store.create_stream(keep("events")).unwrap();
    append(&store, events, &[pair(1, &secret(1)), pair(2, "stays")]);
    store.pin("may").unwrap();
    delete(&store, events, 1, 2);
    let error = store.purge(None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.message().contains("'may' (1)"), "{error}");
    store.unpin("may").unwrap();
    // A pin of what is there now keeps nothing of that.
    store.pin("june").unwrap();
    store.purge(Some(&[events])).unwrap();
    is_erased(&machine, &[1]);
    assert_eq!(read(&store, "events"), [pair(2, "stays")]);
}

#[test]
fn a_follower_that_has_not_seen_a_delete_is_named_and_prevents_a_purge() {
    let (machine, store, ..) = with_secrets(kept(manual()), RunFormat::Hot);
    let mut feed = store.follow("index", Some(SeqNo(2))).unwrap();
    let error = store.purge(None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.message().contains("'index'"), "{error}");
    while !feed.poll(1 << 20).unwrap().is_empty() {}
    feed.save(last(&store)).unwrap();
    store.purge(None).unwrap();
    is_erased(&machine, &GONE);
    assert_eq!(store.followers().unwrap().len(), 1);
}

#[test]
fn a_run_that_is_still_read_is_told_and_goes_with_its_reader() {
    let (machine, store, ..) = with_secrets(manual(), RunFormat::Hot);
    store.flush().unwrap();
    let reader = store.snapshot().unwrap();
    let report = store.purge(None).unwrap();
    assert!(!report.still_read.is_empty());
    drop(reader);
    assert!(report.still_read.iter().all(|path| !machine.io.disk.exists(path).unwrap()));
    is_erased(&machine, &GONE);
}

#[test]
fn a_purge_takes_what_was_set_aside_and_files_of_earlier_writers() {
    let (machine, store, ..) = with_secrets(kept(manual()), RunFormat::Hot);
    store.sync().unwrap();
    let orphan = machine.dir.join("runs/00000000000000ee.arrow");
    let killed = machine.copy();
    killed.write_file(&orphan, &killed.read_file(&killed.run_files()[0]));
    let store = killed.open(kept(manual()));
    assert_eq!(store.quarantine().unwrap().len(), 1);
    store.purge(None).unwrap();
    assert_eq!(store.quarantine().unwrap().len(), 0);
    is_erased(&killed, &GONE);
    holds_the_rest(&store);
}

#[test]
fn a_stream_that_was_dropped_is_erased_by_a_purge() {
    let (machine, store, ..) = with_secrets(kept(manual()), RunFormat::Hot);
    store.flush().unwrap();
    store.drop_stream("events").unwrap();
    store.purge(None).unwrap();
    is_erased(&machine, &[0, 1, 2, 3, 4, 10, 12]);
    assert_eq!(read(&store, "newest"), [pair(1, &secret(11))]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever was written, replaced, deleted and flushed before.
    #[test]
    fn a_purge_erases_what_no_row_holds_and_nothing_else(
        steps in prop::collection::vec((0..6_u8, 0..12_i64), 1..40),
        is_kept in any::<bool>(),
    ) {
        let machine = Machine::new();
        let store = machine.open(if is_kept { kept(manual()) } else { tiny() });
        let events = store.create_stream(keep("events")).unwrap();
        let newest = store.create_stream(latest("newest")).unwrap();
        let mut next = 0;
        for (step, key) in steps {
            next += 1;
            match step {
                0 | 1 => append(&store, events, &[pair(key, &secret(next))]),
                2 => insert(&store, newest, &[pair(key, &secret(next))], Durability::Written),
                3 => delete(&store, events, key, key + 3),
                4 => {
                    let changes = Changes::new().delete_keys(newest, keys(&[key]));
                    store.commit(changes, Durability::Written).unwrap();
                }
                _ => store.flush().unwrap(),
            }
        }
        let before = (read(&store, "events"), read(&store, "newest"));
        store.purge(None).unwrap();
        prop_assert_eq!(&(read(&store, "events"), read(&store, "newest")), &before);
        let live = |number: i64| {
            let value = secret(number).into_bytes();
            before.0.iter().chain(&before.1).any(|(_, held)| *held == value)
        };
        let gone: Vec<i64> = (1..=next).filter(|number| !live(*number)).collect();
        is_erased(&machine, &gone);
        store.close().unwrap();
        let reopened = machine.try_open(Access::Read, manual()).unwrap();
        prop_assert_eq!(&(read(&reopened, "events"), read(&reopened, "newest")), &before);
    }
}
