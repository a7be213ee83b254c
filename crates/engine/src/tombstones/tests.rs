use std::collections::BTreeMap;

use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;

use super::*;
use crate::{Cell, Changes, Durability, Maintenance, Settings, Store, StreamSpec};

const KEYS: std::ops::Range<i64> = -9..9;

fn end() -> impl Strategy<Value = Option<LeadKey>> {
    prop_oneof![
        1 => Just(None),
        1 => Just(Some(LeadKey::Time(i64::MIN))),
        1 => Just(Some(LeadKey::Time(i64::MAX))),
        8 => KEYS.prop_map(|key| Some(LeadKey::Time(key))),
    ]
}

fn range() -> impl Strategy<Value = KeyRange> {
    (end(), end()).prop_map(|(lo, hi)| KeyRange { lo, hi })
}

fn keys() -> impl Iterator<Item = LeadKey> {
    (KEYS.start - 1..KEYS.end + 1)
        .chain([i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX])
        .map(LeadKey::Time)
}

fn deletes() -> impl Strategy<Value = Vec<Tombstone>> {
    let delete = (range(), 1_u64..20).prop_map(|(range, seq)| Tombstone { range, seq: SeqNo(seq) });
    prop::collection::vec(delete, 0..40)
}

/// The newest delete of a key, as a list tells.
fn newest(list: &[Tombstone], key: LeadKey) -> Option<SeqNo> {
    let holds = |tombstone: &&Tombstone| tombstone.range.contains(key);
    list.iter().filter(holds).map(|tombstone| tombstone.seq).max()
}

fn is_disjoint(pieces: &[Tombstone]) -> bool {
    pieces.windows(2).all(|pair| pair[0].range.hi.is_some() && pair[0].range.hi <= pair[1].range.lo)
        && pieces.iter().all(|piece| !piece.range.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn of_each_key_the_newest_delete_is_told(
        list in deletes(),
        others in deletes(),
        through in 0_u64..20,
    ) {
        let tombstones = Tombstones::of(list.iter().copied());
        let both = Tombstones::union([&tombstones, &Tombstones::of(others.iter().copied())]);
        let all: Vec<Tombstone> = list.iter().chain(&others).copied().collect();
        prop_assert!(is_disjoint(&both.pieces()) && is_disjoint(&both.joined()));
        prop_assert!(both.joined().len() <= both.pieces().len());
        let pieces = both.pieces();
        prop_assert_eq!(Tombstones::of_pieces(pieces.clone()).pieces(), pieces.clone());
        let earlier = tombstones.through(SeqNo(through));
        for key in keys() {
            prop_assert_eq!(tombstones.newest_at(key), newest(&list, key));
            prop_assert_eq!(both.newest_at(key), newest(&all, key));
            prop_assert_eq!(newest(&pieces, key), newest(&all, key));
            let is_joined = newest(&both.joined(), key).is_some();
            prop_assert_eq!(is_joined, newest(&all, key).is_some());
            if newest(&list, key).is_none_or(|seq| seq.0 <= through) {
                prop_assert_eq!(earlier.newest_at(key), newest(&list, key));
            }
            prop_assert!(earlier.newest_at(key).is_none_or(|seq| seq.0 <= through));
        }
    }

    #[test]
    fn what_is_visible_holds_just_the_keys_that_no_newer_delete_holds(
        list in deletes(),
        whole in range(),
        window in range(),
        than in 0_u64..20,
    ) {
        let tombstones = Tombstones::of(list.iter().copied());
        let than = SeqNo(than);
        let is_seen = |key: LeadKey| {
            whole.contains(key) && newest(&list, key).is_none_or(|seq| seq <= than)
        };
        let (min, max) = (LeadKey::Time(i64::MIN), LeadKey::Time(i64::MAX));
        let visible = tombstones.visible(&whole, than, (min, max));
        prop_assert_eq!(visible.is_some(), keys().any(is_seen) || gap(&list, &whole, than));
        let Some(visible) = visible else { return Ok(()) };
        let parts: Vec<KeyRange> = visible.parts().collect();
        let holes: Vec<KeyRange> = visible.holes().collect();
        for (ranges, shows) in [(&parts, true), (&holes, false)] {
            let apart = ranges.windows(2).all(|pair| pair[0].hi.is_some() && pair[0].hi < pair[1].lo);
            prop_assert!(apart && ranges.iter().all(|range| !range.is_empty()));
            for key in keys() {
                let expected = whole.contains(key) && is_seen(key) == shows;
                prop_assert_eq!(ranges.iter().any(|range| range.contains(key)), expected);
            }
        }
        for key in keys() {
            let from = visible.from(Some(key));
            let expected = parts.iter().find(|part| part.hi.is_none_or(|hi| key < hi));
            let expected = expected.map(|part| KeyRange { lo: part.lo.max(Some(key)), ..*part });
            prop_assert_eq!(from, expected);
            prop_assert_eq!(visible.covers(key, key), is_seen(key));
            let last = visible.last_before(Some(key));
            let below = KeyRange { lo: None, hi: Some(key) };
            let clipped = parts.iter().map(|part| part.intersect(&below));
            prop_assert_eq!(last, clipped.rev().find(|part| !part.is_empty()));
            let without = visible.without(&[window]);
            prop_assert_eq!(without.covers(key, key), is_seen(key) && !window.contains(key));
            prop_assert_eq!(visible.within(&window).covers(key, key), is_seen(key) && window.contains(key));
        }
        prop_assert_eq!(visible.last_before(None), parts.last().copied());
        let over: Vec<KeyRange> = visible.parts_over(LeadKey::Time(-3), LeadKey::Time(3)).collect();
        let met = parts.iter().filter(|part| part.overlaps(LeadKey::Time(-3), LeadKey::Time(3)));
        prop_assert_eq!(over.len(), met.count());
    }
}

/// Whether something is visible between the keys that tests look at.
fn gap(list: &[Tombstone], whole: &KeyRange, than: SeqNo) -> bool {
    let between = [LeadKey::Time(-100), LeadKey::Time(100)];
    between
        .into_iter()
        .any(|key| whole.contains(key) && newest(list, key).is_none_or(|seq| seq <= than))
}

/// Looked at, of `count` deletes of every other key, by a search in a place that rises.
fn visits_of_a_search(count: i64) -> u64 {
    let delete = |seq: i64| Tombstone {
        range: KeyRange::times(2 * seq, 2 * seq + 1),
        seq: SeqNo(seq.cast_unsigned() + 1),
    };
    let tombstones = Tombstones::of((0..count).map(delete));
    visits::take();
    let asked = 64;
    for place in 0..asked {
        let key = LeadKey::Time(2 * count * place / asked);
        tombstones.newest_at(key);
        let all = (LeadKey::Time(0), LeadKey::Time(i64::MAX));
        let visible = tombstones.visible(&KeyRange::ALL, SeqNo(0), all).unwrap();
        visible.from(Some(key)).unwrap();
        visible.last_before(Some(key));
    }
    visits::take() / asked.cast_unsigned()
}

#[test]
fn a_search_among_many_deletes_looks_at_few_of_them() {
    let few = visits_of_a_search(1_000);
    let many = visits_of_a_search(100_000);
    // Twice the logarithm, for each of at most that many layers.
    assert!(many <= 4 * few, "{few} of 1,000 deletes are looked at, {many} of 100,000");
}

#[test]
fn a_source_that_has_heeded_most_deletes_passes_them_over() {
    let delete = |key: i64| Tombstone {
        range: KeyRange::times(2 * key, 2 * key + 1),
        seq: SeqNo(if key == 99_999 { 2 } else { 1 }),
    };
    let tombstones = Tombstones::of((0..100_000).map(delete)).flat();
    let visible = Visible::new(KeyRange::ALL, tombstones, SeqNo(1));
    visits::take();
    assert_eq!(visible.from(None).and_then(|part| part.hi), Some(LeadKey::Time(199_998)));
    let looked_at = visits::take();
    assert!(looked_at < 100_000 / 16, "{looked_at}");
}

#[test]
fn deletes_that_hold_all_before_them_take_their_place() {
    let mut tombstones = Tombstones::default();
    for step in 0..10_000 {
        let range = KeyRange { lo: None, hi: Some(LeadKey::Time(step)) };
        tombstones.add(Tombstone { range, seq: SeqNo(step.cast_unsigned() + 1) });
        assert_eq!(tombstones.len(), 1);
    }
}

#[test]
fn neighbours_of_different_commits_are_one_for_what_is_older_than_all() {
    let delete = |minute: i64| Tombstone {
        range: KeyRange::times(minute, minute + 1),
        seq: SeqNo(minute.cast_unsigned() + 1),
    };
    let tombstones = Tombstones::of((0..1_000).map(delete));
    assert_eq!(tombstones.pieces().len(), 1_000);
    let joined = [Tombstone { range: KeyRange::times(0, 1_000), seq: SeqNo(1_000) }];
    assert_eq!(tombstones.joined(), joined);
}

#[test]
fn layers_are_few_and_adding_copies_each_delete_a_few_times() {
    let mut tombstones = Tombstones::default();
    let mut by_layers: BTreeMap<usize, usize> = BTreeMap::new();
    for key in 0..20_000_i64 {
        let range = KeyRange::times(2 * key, 2 * key + 1);
        tombstones.add(Tombstone { range, seq: SeqNo(key.cast_unsigned() + 1) });
        *by_layers.entry(tombstones.layers().len()).or_default() += 1;
    }
    assert!(by_layers.keys().all(|layers| *layers <= 15), "{by_layers:?}");
    assert_eq!(tombstones.len(), 20_000);
}

/// Looked at by an append, a point read and a scan of a few keys, each of a new view, of a store with
/// `count` range deletes in memory.
fn visits_of_a_step(count: i64) -> u64 {
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let store = Store::memory(settings).unwrap();
    let schema = Schema::new(vec![Field::new("time", DataType::Int64, false)]);
    let id = store.create_stream(StreamSpec::new("rows", Arc::new(schema))).unwrap();
    let mut appender = store.appender(id).unwrap();
    for time in 0..10_000 {
        appender.append(&[Cell::Int(time * count / 5_000)], Durability::Written).unwrap();
    }
    store.flush().unwrap();
    for key in 0..count {
        let range = KeyRange::times(2 * key + 1, 2 * key + 2);
        store.commit(Changes::new().delete_range(id, range), Durability::Written).unwrap();
    }
    visits::take();
    let steps = 50;
    for step in 0..steps {
        appender.append(&[Cell::Int(2 * count + step)], Durability::Written).unwrap();
        let snapshot = store.snapshot_of(id).unwrap();
        let key = 2 * (count / 2);
        assert!(snapshot.get(id, &[Cell::Int(key)]).unwrap().is_some());
        let near = KeyRange::times(key, key + 1);
        assert!(snapshot.count(id, &near).unwrap() >= 1);
        assert!(snapshot.first(id, &KeyRange::ALL).unwrap().is_some());
        assert!(snapshot.last(id, &KeyRange::ALL).unwrap().is_some());
    }
    visits::take() / steps.cast_unsigned()
}

/// A view once copied all range deletes, and each read looked at all of them.
#[test]
fn a_step_after_many_range_deletes_looks_at_few_of_them() {
    let few = visits_of_a_step(200);
    let many = visits_of_a_step(12_800);
    assert!(many <= 4 * few, "{few} of 200 deletes are looked at, {many} of 12,800");
}

#[test]
fn views_share_the_layers_that_they_have_in_common() {
    let delete = |key: i64| Tombstone {
        range: KeyRange::times(2 * key, 2 * key + 1),
        seq: SeqNo(key.cast_unsigned() + 1),
    };
    let mut tombstones = Tombstones::of((0..1_000).map(delete));
    let view = tombstones.clone();
    tombstones.add(delete(1_000));
    let shared = view
        .layers()
        .iter()
        .filter(|layer| tombstones.layers().iter().any(|other| Arc::ptr_eq(layer, other)));
    let pieces: usize = shared.map(|layer| layer.pieces().len()).sum();
    assert!(pieces >= 500, "{pieces}");
    assert_eq!((view.len(), tombstones.len()), (1_000, 1_001));
    let both = Tombstones::union([&view, &tombstones]);
    let first = view.layers().first().unwrap();
    assert!(both.layers().iter().any(|layer| Arc::ptr_eq(layer, first)));
}
