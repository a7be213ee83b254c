//! A range cut into parts is still all of the range, and the parts are of about the same size.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support::{Pair, delete, insert, keep, latest, pair, read_spec, tiny};
use proptest::prelude::*;
use timestrata_engine::{Durability, KeyRange, LeadKey, ScanSpec, Store, StreamId};

fn rows(times: &[i64]) -> Vec<Pair> {
    times.iter().map(|time| pair(*time, &format!("{time}"))).collect()
}

fn all_of(store: &Store, stream: StreamId, range: KeyRange) -> Vec<Pair> {
    let spec = ScanSpec { range, ..ScanSpec::default() };
    read_spec(&store.snapshot().unwrap(), stream, &spec).unwrap()
}

#[test]
fn parts_of_ordered_rows_are_about_equal() {
    let store = Store::memory(tiny()).unwrap();
    let stream = store.create_stream(keep("events")).unwrap();
    for part in 0..10 {
        let times: Vec<i64> = (part * 100..(part + 1) * 100).collect();
        insert(&store, stream, &rows(&times), Durability::Written);
        store.flush().unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    let parts = snapshot.split(stream, &KeyRange::ALL, 4).unwrap();
    assert_eq!(parts.len(), 4);
    for part in &parts {
        let rows = snapshot.count(stream, part).unwrap();
        assert!((200..=300).contains(&rows), "{part} has {rows} of 1,000 rows");
    }
    let estimate = snapshot.estimate(stream, &[KeyRange::times(150, 160)]).unwrap();
    assert_eq!((estimate.runs_read, estimate.runs_skipped, estimate.chunks_read), (1, 9, 0));
    assert!(estimate.counts_cheaply);
}

#[test]
fn one_large_block_is_cut_by_its_times() {
    let store = Store::memory(tiny()).unwrap();
    let stream = store.create_stream(keep("events")).unwrap();
    let times: Vec<i64> = (0..1_000).collect();
    insert(&store, stream, &rows(&times), Durability::Written);
    let parts = store.snapshot().unwrap().split(stream, &KeyRange::ALL, 2).unwrap();
    let cut = parts[0].hi;
    assert!((Some(LeadKey::Time(400))..=Some(LeadKey::Time(600))).contains(&cut), "{cut:?}");
}

#[test]
fn replaced_rows_are_not_counted_cheaply() {
    let store = Store::memory(tiny()).unwrap();
    let stream = store.create_stream(latest("events")).unwrap();
    insert(&store, stream, &rows(&[1, 2, 3]), Durability::Written);
    store.flush().unwrap();
    let estimate =
        |store: &Store| store.snapshot().unwrap().estimate(stream, &[KeyRange::ALL]).unwrap();
    assert!(estimate(&store).counts_cheaply);
    insert(&store, stream, &rows(&[2]), Durability::Written);
    assert!(!estimate(&store).counts_cheaply);
    assert_eq!(estimate(&store).rows_max, 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn parts_give_all_rows_in_order(
        commits in proptest::collection::vec(proptest::collection::vec(-50_i64..50, 1..40), 1..8),
        flushes in any::<u8>(),
        hole in (-50_i64..50, 0_i64..20),
        range in (proptest::option::of(-60_i64..60), proptest::option::of(-60_i64..60)),
        parts in 1_usize..9,
    ) {
        let store = Store::memory(tiny()).unwrap();
        let stream = store.create_stream(keep("events")).unwrap();
        for (index, times) in commits.iter().enumerate() {
            insert(&store, stream, &rows(times), Durability::Written);
            if flushes >> index & 1 == 1 {
                store.flush().unwrap();
            }
        }
        delete(&store, stream, hole.0, hole.0 + hole.1);
        let range = KeyRange { lo: range.0.map(LeadKey::Time), hi: range.1.map(LeadKey::Time) };
        let cuts = store.snapshot().unwrap().split(stream, &range, parts).unwrap();
        prop_assert!(!cuts.is_empty() && cuts.len() <= parts);
        prop_assert_eq!((cuts[0].lo, cuts[cuts.len() - 1].hi), (range.lo, range.hi));
        for pair in cuts.windows(2) {
            prop_assert!(pair[0].hi.is_some() && pair[0].hi == pair[1].lo);
        }
        let together: Vec<Pair> =
            cuts.iter().flat_map(|cut| all_of(&store, stream, *cut)).collect();
        prop_assert_eq!(together, all_of(&store, stream, range));
    }
}
