//! The writer's lock can't be pulled away without a word. Somebody removed LOCK, a second writer came
//! in, and what the first one then acknowledged as synced was gone.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::Path;

use crate::support::*;
use timestrata_engine::{Access, Changes, Durability, Error, ErrorKind, Io, Settings, Store};

fn try_open(dir: &Path) -> timestrata_engine::Result<Store> {
    Store::open_with(Io::os(), dir, Access::Write, Settings { cache_bytes_max: 1 << 20, ..tiny() })
}

fn synced(store: &Store, time: i64) -> Result<(), Error> {
    let stream = store.expect_stream("events").unwrap().id();
    let rows = batch(&[pair(time, "synced")]);
    store.commit(Changes::new().insert(stream, rows), Durability::Synced).map(|_| ())
}

#[test]
fn a_store_whose_lock_file_was_removed_lets_nobody_in_and_acknowledges_nothing_more() {
    let above = tempfile::tempdir().unwrap();
    let dir = above.path().join("store");
    let store = try_open(&dir).unwrap();
    store.create_stream(keep("events")).unwrap();
    synced(&store, 1).unwrap();
    Io::os().disk.remove(&dir.join("LOCK")).unwrap();
    assert_eq!(try_open(&dir).unwrap_err().kind(), ErrorKind::Locked);
    let error = synced(&store, 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    assert!(error.to_string().contains("lock file"), "{error}");
    for error in [synced(&store, 3).unwrap_err(), store.flush().unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Poisoned, "{error}");
    }
    assert_eq!(read(&store, "events")[0], pair(1, "synced"), "reads go on");
    drop(store);
    let again = try_open(&dir).unwrap();
    assert_eq!(read(&again, "events")[0], pair(1, "synced"));
    synced(&again, 4).unwrap();
}

#[test]
fn a_store_whose_directory_was_replaced_writes_to_neither() {
    let above = tempfile::tempdir().unwrap();
    let (dir, moved) = (above.path().join("store"), above.path().join("moved"));
    let store = try_open(&dir).unwrap();
    store.create_stream(keep("events")).unwrap();
    synced(&store, 1).unwrap();
    rename_dir(&dir, &moved);
    let other = try_open(&dir).unwrap();
    other.create_stream(keep("events")).unwrap();
    synced(&other, 10).unwrap();
    assert_eq!(synced(&store, 2).unwrap_err().kind(), ErrorKind::Locked);
    // Maintenance and the catalog are writing too.
    let error = store.create_stream(keep("more")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Poisoned, "{error}");
    drop(store);
    assert_eq!(read(&other, "events"), [pair(10, "synced")]);
    other.close().unwrap();
    assert_eq!(read(&try_open(&moved).unwrap(), "events")[0], pair(1, "synced"));
}

/// As a stranger would, past the store.
#[expect(clippy::disallowed_methods, reason = "a disk renames files only")]
fn rename_dir(from: &Path, to: &Path) {
    std::fs::rename(from, to).unwrap();
}

#[test]
fn the_catalog_looks_at_the_lock_before_each_edit() {
    let (machine, store, _) = with_events();
    machine.io.disk.remove(&machine.dir.join("LOCK")).unwrap();
    let error = store.create_stream(keep("more")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    assert!(machine.copy().open(tiny()).stream("more").is_none());
}
