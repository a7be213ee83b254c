//! The log against a sorted list, and what its readers and its published state promise.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

/// A value that counts its references.
type Value = Arc<u64>;

/// Rows as a plain list has them.
type Rows = Vec<(i64, u64)>;

/// The plainest log there is.
#[derive(Debug, Default)]
struct Model {
    rows: Rows,
}

impl Model {
    fn append(&mut self, time: i64, value: u64) {
        let place = self.rows.partition_point(|(old, _)| *old <= time);
        self.rows.insert(place, (time, value));
    }

    fn delete(&mut self, first: i64, last: i64) -> u64 {
        let before = self.rows.len();
        self.rows.retain(|(time, _)| !(first..=last).contains(time));
        (before - self.rows.len()) as u64
    }

    fn between(&self, first: i64, last: i64) -> Rows {
        self.rows.iter().copied().filter(|(time, _)| (first..=last).contains(time)).collect()
    }
}

fn read(mut slice: Slice<Value>) -> Rows {
    let mut rows = Vec::new();
    while let Some((time, value)) = slice.next_row() {
        rows.push((time, **value));
    }
    assert_eq!(slice.left(), 0);
    rows
}

fn read_back(mut slice: Slice<Value>) -> Rows {
    let mut rows = Vec::new();
    while let Some((time, value)) = slice.next_row_back() {
        rows.push((time, **value));
    }
    rows.reverse();
    rows
}

fn paged(pages: &[Part<Value>]) -> Rows {
    let rows = |page: &Part<Value>| {
        let values = page.values().iter().map(|value| **value);
        page.times().iter().copied().zip(values).collect::<Vec<_>>()
    };
    pages.iter().flat_map(rows).collect()
}

#[derive(Debug, Clone)]
enum Step {
    Append(i64),
    /// So many rows from a time on, a fixed time apart.
    Burst(i64, u16, i64),
    Delete(i64, i64),
    Publish,
    Compact,
    HoldSlice(i64, i64),
    DropSlices,
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -50_000..50_000_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 2 => 0..4_i64]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => time().prop_map(Step::Append),
        4 => (-50_000..50_000_i64, 1..9_000_u16, 0..4_i64)
            .prop_map(|(from, rows, apart)| Step::Burst(from, rows, apart)),
        3 => (time(), time()).prop_map(|(a, b)| Step::Delete(a.min(b), a.max(b))),
        // Inside of a leaf, mostly.
        4 => (-50_000..50_000_i64, 0..300_i64).prop_map(|(a, more)| Step::Delete(a, a + more)),
        1 => Just(Step::Publish),
        1 => Just(Step::Compact),
        2 => (time(), time()).prop_map(|(a, b)| Step::HoldSlice(a.min(b), a.max(b))),
        1 => Just(Step::DropSlices),
    ]
}

fn check_finds(log: &mut Memory<Value>, model: &Model, time: i64) {
    let before = model.rows.iter().rev().find(|(other, _)| *other < time).map(|(time, _)| *time);
    let after = model.rows.iter().find(|(other, _)| *other > time).map(|(time, _)| *time);
    assert_eq!((log.previous_time(time), log.next_time(time)), (before, after), "around {time}");
    let found: Vec<u64> = match log.at(time) {
        Found::Nothing => Vec::new(),
        Found::One(value) => vec![*value],
        Found::Several(values) => values.iter().map(|value| **value).collect(),
    };
    let expected: Vec<u64> = model.between(time, time).iter().map(|(_, value)| *value).collect();
    assert_eq!(log.contains(time), !expected.is_empty(), "{time}");
    assert_eq!(found, expected, "at {time}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_log_in_memory_is_a_sorted_list(steps in prop::collection::vec(step(), 1..40)) {
        let (mut log, mut model) = (Memory::new(), Model::default());
        let mut next = 0_u64;
        let mut held: Vec<(Slice<Value>, Rows)> = Vec::new();
        let mut published: Rows = Vec::new();
        for step in steps {
            match step {
                Step::Append(time) => {
                    log.append(time, Arc::new(next));
                    model.append(time, next);
                    next += 1;
                    check_finds(&mut log, &model, time);
                }
                Step::Burst(from, rows, apart) => {
                    for row in 0..i64::from(rows) {
                        log.append(from + row * apart, Arc::new(next));
                        model.append(from + row * apart, next);
                        next += 1;
                    }
                    check_finds(&mut log, &model, from);
                }
                Step::Delete(first, last) => {
                    prop_assert_eq!(log.delete(first..=last).rows, model.delete(first, last));
                }
                Step::Publish => {
                    drop(log.publish());
                    let ghosts = published.iter().filter(|row| !model.rows.contains(row));
                    published = model.rows.iter().chain(ghosts).copied().collect();
                }
                Step::Compact => {
                    drop(log.compact());
                    published.clone_from(&model.rows);
                }
                Step::HoldSlice(first, last) => {
                    held.push((log.slice(first..=last), model.between(first, last)));
                }
                Step::DropSlices => held.clear(),
            }
            prop_assert_eq!(log.len(), model.rows.len() as u64);
            prop_assert_eq!(log.max_time(), model.rows.last().map(|(time, _)| *time));
        }
        prop_assert_eq!(log.min_time(), model.rows.first().map(|(time, _)| *time));
        prop_assert_eq!(&read(log.slice(..)), &model.rows);
        prop_assert_eq!(&read_back(log.slice(..)), &model.rows);
        prop_assert_eq!(paged(&log.logical_pages(.., 100)), model.rows.clone());
        let last = model.rows.len().saturating_sub(5_000);
        prop_assert_eq!(&read(log.last(5_000))[..], &model.rows[last..]);
        let first = model.rows.len().min(5_000);
        prop_assert_eq!(&read(log.first(5_000))[..], &model.rows[..first]);
        for (slice, expected) in held {
            prop_assert_eq!(read(slice), expected, "a slice changed");
        }
        let mut pages = paged(&log.pages(.., 7));
        pages.sort_unstable();
        published.sort_unstable();
        prop_assert_eq!(pages, published, "what was published changed");
        let values = model.rows.len();
        drop(log.compact());
        let mut shown = 0;
        log.for_each_held(|value| {
            shown += 1;
            // One reference in a leaf, and one in the published copy of the tail.
            if Arc::strong_count(value) <= 2 { Ok(()) } else { Err("held too often") }
        }).unwrap();
        prop_assert!(shown >= values && shown <= values + 2 * LEAF_ROWS);
        drop(log.clear());
        prop_assert!(log.is_empty() && log.max_time().is_none() && log.min_time().is_none());
    }
}

#[test]
fn nothing_is_retained_after_a_delete_and_a_compaction() {
    let mut log = Memory::new();
    let values: Vec<Value> = (0..20_000).map(Arc::new).collect();
    for (time, value) in (0..).zip(&values) {
        log.append(time, Arc::clone(value));
    }
    drop(log.publish());
    drop(log.delete(100..19_900));
    assert!(Arc::strong_count(&values[10_000]) > 1, "the published state still shows it");
    drop(log.compact());
    let kept = values.iter().filter(|value| Arc::strong_count(value) > 1).count();
    assert_eq!(kept, 200);
}

/// What is copied for readers of the newest rows is copied once, for all who ask until these change.
#[test]
fn readers_of_the_newest_rows_share_a_copy_and_nothing_of_it_stays_behind() {
    let mut log = Memory::new();
    let values: Vec<Value> = (0..100).map(Arc::new).collect();
    for (time, value) in (0..).zip(&values) {
        log.append(time, Arc::clone(value));
    }
    let slices = [log.slice(..), log.slice(10..), log.slice(..)];
    assert!(values.iter().all(|value| Arc::strong_count(value) == 3));
    drop(slices);
    log.append(100, Arc::new(100));
    assert!(values.iter().all(|value| Arc::strong_count(value) == 2), "the tail has changed");
    assert_eq!(log.slice(..).left(), 101);
    drop(log.delete(50..));
    assert!(values[50..].iter().all(|value| Arc::strong_count(value) == 1));
    let slice = log.slice(..);
    drop(log.publish());
    drop(log.publish());
    assert!(values[..50].iter().all(|value| Arc::strong_count(value) == 3));
    drop(log.clear());
    assert_eq!(read(slice).len(), 50);
    assert!(values.iter().all(|value| Arc::strong_count(value) == 1));
}

#[test]
fn rows_deleted_before_they_were_published_are_gone_at_once() {
    let mut log = Memory::new();
    let value = Arc::new(1);
    log.append(5, Arc::clone(&value));
    log.append(3, Arc::clone(&value));
    drop(log.delete(..=5));
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn both_ends_of_the_range_are_times_like_any_other() {
    let mut log = Memory::new();
    for time in [i64::MAX, 0, i64::MIN, i64::MAX, i64::MIN] {
        log.append(time, Arc::new(time as u64));
    }
    assert_eq!((log.min_time(), log.max_time()), (Some(i64::MIN), Some(i64::MAX)));
    assert_eq!((log.previous_time(i64::MIN), log.next_time(i64::MAX)), (None, None));
    assert_eq!((log.previous_time(0), log.next_time(0)), (Some(i64::MIN), Some(i64::MAX)));
    assert_eq!(log.slice(..i64::MAX).left(), 3);
    assert_eq!(log.slice(i64::MAX..).left(), 2);
    assert_eq!(log.delete(..).rows, 5);
}

#[test]
fn many_rows_of_one_time_keep_their_order() {
    let mut log = Memory::new();
    log.append(9, Arc::new(0));
    for value in 1..30_000_u64 {
        log.append(5, Arc::new(value));
    }
    let found = match log.at(5) {
        Found::Several(values) => values,
        other => panic!("{other:?}"),
    };
    assert!(found.iter().map(|value| **value).eq(1..30_000));
    assert_eq!(log.delete(6..).rows, 1);
    assert_eq!(log.delete(5..=5).rows, 29_999);
}

/// A log of so many times from 0 on, their values the same.
fn counting(rows: u64) -> Memory<Value> {
    let mut log = Memory::new();
    for row in 0..rows {
        log.append(row as i64, Arc::new(row));
    }
    log
}

fn times(part: &Part<Value>) -> std::ops::Range<i64> {
    let ends = part.times().first().zip(part.times().last());
    ends.map_or(0..0, |(first, last)| *first..*last + 1)
}

#[test]
fn a_slice_is_read_from_both_ends_until_they_meet() {
    // Of a few leaves, and of so many that slices share a list of them.
    read_from_both_ends(10_000);
    read_from_both_ends(80_000);
}

fn read_from_both_ends(rows: i64) {
    let mut log = counting(rows as u64);
    let mut slice = log.slice(..);
    let (mut front, mut back) = (0, rows);
    while front < back {
        assert_eq!(slice.left() as i64, back - front);
        assert_eq!(slice.next_row().map(|(time, _)| time), Some(front));
        let part = slice.take_part(30).unwrap();
        assert!(times(&part).start == front + 1 && part.times().len() <= 30);
        front = times(&part).end;
        let last = (front < back).then_some(back - 1);
        assert_eq!(slice.next_row_back().map(|(time, _)| time), last);
        let Some(part) = slice.take_part_back(40) else { break };
        assert!(times(&part).end == back - 1 && part.times().len() <= 40);
        back = times(&part).start;
    }
    assert_eq!(slice.left(), 0);
    assert!(slice.take_part(1).is_none() && slice.take_part_back(1).is_none());
    assert!(slice.next_row().is_none() && slice.next_row_back().is_none());
}

#[test]
fn slices_of_many_leaves_stay_as_they_were_and_leave_nothing_behind() {
    let mut log = counting(80_000);
    let rows: Rows = (0..80_000).map(|time| (time, time as u64)).collect();
    let Found::One(value) = log.at(25_000) else { panic!("a row is missing") };
    let (all, some) = (log.slice(..), log.slice(5_000..70_000));
    log.append(40_000, Arc::new(7));
    drop(log.delete(20_000..=30_000));
    assert_eq!(log.slice(..).left() as u64, log.len());
    assert_eq!(read(some), rows[5_000..70_000]);
    assert_eq!(read(all), rows);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn leaves_that_only_one_slice_holds_are_shown_by_it_and_by_no_other() {
    let mut log = counting(80_000);
    let (one, other) = (log.slice(..), log.slice(..));
    assert_eq!(one.sole_parts().count(), 0);
    drop(log.clear());
    assert_eq!(one.sole_parts().count() + other.sole_parts().count(), 0);
    drop(other);
    assert!(one.sole_parts().count() > 10);
}

#[test]
fn what_is_ahead_is_what_comes() {
    let mut log = counting(5_000);
    let mut slice = log.slice(10..);
    for time in 10..5_000_u64 {
        if let Some(value) = slice.ahead(7) {
            assert_eq!(**value, time + 7);
        }
        assert_eq!(slice.next_row().map(|(_, value)| **value), Some(time));
    }
    assert!(slice.ahead(0).is_none());
}

#[test]
fn a_few_late_rows_do_not_cut_leaves_in_two() {
    let mut log = Memory::new();
    let mut value = (0..).map(Arc::new);
    for time in 0..200_000_i64 {
        let late = if time % 20 == 0 { time % 300 } else { 0 };
        log.append(time - late, value.next().unwrap());
    }
    drop(log.publish());
    let pages = log.pages(.., LEAF_ROWS);
    assert!(pages.len() <= 52, "{}", pages.len());
}

#[test]
fn a_delete_in_a_leaf_that_others_hold_leaves_them_theirs() {
    let mut log = counting(20_000);
    let held = log.slice(..);
    let removed = log.delete(1_000..2_000);
    assert_eq!(removed.rows, 1_000);
    drop(removed);
    assert_eq!(read(held).len(), 20_000);
    let kept: Vec<i64> = read(log.slice(..3_000)).iter().map(|(time, _)| *time).collect();
    assert!(kept.into_iter().eq((0..1_000).chain(2_000..3_000)));
}

#[test]
fn what_is_deleted_inside_of_a_published_leaf_goes_with_the_next_compaction() {
    let mut log = Memory::new();
    let values: Vec<Value> = (0..20_000).map(Arc::new).collect();
    for (time, value) in values.iter().enumerate() {
        log.append(time as i64, Arc::clone(value));
    }
    drop(log.compact());
    let is_deleted = |time: usize| time % 500 < 200;
    for start in (0..20_000).step_by(500) {
        assert_eq!(log.delete(start..start + 200).rows, 200);
    }
    let rows = read(log.slice(..));
    assert_eq!(rows.len(), 12_000);
    assert!(
        rows.iter().all(|(time, value)| !is_deleted(*value as usize) && *time == *value as i64)
    );
    assert_eq!(read_back(log.slice(700..1300)), read(log.slice(700..1300)));
    drop(log.publish());
    assert!(values.iter().all(|value| Arc::strong_count(value) > 1), "published, and so held");
    drop(log.compact());
    for (time, value) in values.iter().enumerate() {
        assert_eq!(Arc::strong_count(value) == 1, is_deleted(time), "{time}");
    }
    assert_eq!(read(log.slice(..)), rows);
}

proptest! {
    #[test]
    fn a_time_is_found_wherever_it_would_be_expected(
        mut times in prop::collection::vec(
            prop_oneof![any::<i64>(), 0..40_i64, Just(i64::MIN), Just(i64::MAX)], 0..300,
        ),
        sought in prop_oneof![any::<i64>(), -1..41_i64, Just(i64::MIN), Just(i64::MAX)],
    ) {
        times.sort_unstable();
        let expected = times.partition_point(|time| *time < sought);
        prop_assert_eq!(super::leaf::start_of(&times, sought), expected);
    }
}
