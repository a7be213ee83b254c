//! Commits that went straight to runs behind a row that waited in memory are compacted and expire as
//! others do.
//!
//! What a stream has in runs was remembered as the newest commit of its last flush. A flush of the
//! row moved that up to the row only, and the runs behind it passed for newer than what waits in
//! memory, until some later row was flushed: through reopening, for as long as it took.

use crate::support::*;
use timestrata_engine::{Durability, Retention, Store, StreamId};

/// One row, and behind it two commits over the same keys, each too large for the log.
fn bulk_behind_row() -> (Machine, Store, StreamId) {
    let (machine, store, stream) = with_events();
    append(&store, stream, &[pair(5, "row")]);
    for value in [b'a', b'b'] {
        let rows: Vec<Pair> = (0..20).map(|time| (time, vec![value; 1_000])).collect();
        insert(&store, stream, &rows, Durability::Written);
    }
    (machine, store, stream)
}

fn runs(store: &Store) -> u64 {
    store.stats().streams.iter().map(|stream| stream.runs).sum()
}

#[test]
fn a_bulk_commit_behind_a_row_in_memory_is_compacted_once_the_row_is_flushed() {
    let (_, store, _) = bulk_behind_row();
    assert_eq!(runs(&store), 2, "the commits went straight to runs");
    let before = read(&store, "events");
    store.compact(None).unwrap();
    assert_eq!(runs(&store), 1);
    assert_eq!(read(&store, "events"), before);
}

#[test]
fn a_bulk_commit_behind_a_row_in_memory_is_compacted_after_reopening() {
    let (machine, store, _) = bulk_behind_row();
    store.flush().unwrap();
    let before = read(&store, "events");
    drop(store);
    let store = machine.open(tiny());
    store.compact(None).unwrap();
    assert_eq!(runs(&store), 1);
    assert_eq!(read(&store, "events"), before);
}

#[test]
fn a_bulk_commit_behind_a_row_in_memory_expires_once_the_row_is_flushed() {
    let (_, store, stream) = bulk_behind_row();
    store.flush().unwrap();
    store.set_retention(stream, Retention { bytes: Some(1), ..Retention::default() }).unwrap();
    while store.maintain_step().unwrap() {}
    assert_eq!(runs(&store), 1, "all but the newest by key are too many bytes");
}
