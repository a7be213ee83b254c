use timestrata_format::RunFormat;
use timestrata_format::manifest::Merge;

use super::super::simulation::{run, stream_of};
use super::*;
use crate::LeadKind;

const AGE_100: Retention = Retention { age_ns: Some(100), bytes: None };

fn by_bytes(bytes: u64) -> Retention {
    Retention { age_ns: None, bytes: Some(bytes) }
}

/// A run of keys `keys` that was written at `created`.
fn run_at(id: u64, keys: (i64, i64), created: i64) -> RunMeta {
    let mut meta = run(id, 0, keys, (id, id), 10);
    meta.created_wall_ns = created;
    meta
}

fn gone(merge: Merge, runs: &[RunMeta], retention: Retention, now: i64) -> Vec<u64> {
    let stream = stream_of(LeadKind::Time, merge, RunFormat::Hot);
    expired(&stream, runs, &retention, now).iter().map(|id| id.0).collect()
}

#[test]
fn a_run_goes_when_its_rows_and_its_file_are_past_the_age() {
    let runs = [run_at(1, (0, 99), 99), run_at(2, (100, 200), 200)];
    assert_eq!(gone(Merge::Keep, &runs, AGE_100, 199), [0_u64; 0]);
    assert_eq!(gone(Merge::Keep, &runs, AGE_100, 200), [1]);
    assert_eq!(gone(Merge::Keep, &runs, AGE_100, 301), [1, 2]);
}

#[test]
fn rows_dated_far_back_stay_as_long_as_any_other() {
    let runs = [run_at(1, (-10_000, -9_000), 1_000)];
    assert_eq!(gone(Merge::Keep, &runs, AGE_100, 1_100), [0_u64; 0]);
    assert_eq!(gone(Merge::Keep, &runs, AGE_100, 1_101), [1]);
}

#[test]
fn a_row_dated_far_ahead_expires_nothing_and_keeps_only_its_own_run() {
    let runs = [run_at(1, (0, 10), 10), run_at(2, (20, i64::MAX), 30), run_at(3, (950, 990), 990)];
    assert_eq!(gone(Merge::Keep, &runs, AGE_100, 1_000), [1]);
}

#[test]
fn a_clock_at_either_end_of_time_is_no_overflow() {
    let runs = [run_at(1, (i64::MIN, i64::MIN), i64::MIN)];
    let longest = Retention { age_ns: Some(u64::MAX), bytes: None };
    assert_eq!(gone(Merge::Keep, &runs, longest, i64::MIN), [0_u64; 0]);
    assert_eq!(gone(Merge::Keep, &runs, AGE_100, i64::MAX), [1]);
}

#[test]
fn the_oldest_runs_go_until_the_rest_fits_and_never_the_newest() {
    let runs = [run_at(1, (20, 29), 0), run_at(2, (0, 9), 0), run_at(3, (10, 19), 0)];
    assert_eq!(gone(Merge::Keep, &runs, by_bytes(30), 0), [0_u64; 0]);
    assert_eq!(gone(Merge::Keep, &runs, by_bytes(29), 0), [2]);
    assert_eq!(gone(Merge::Keep, &runs, by_bytes(10), 0), [2, 3]);
    assert_eq!(gone(Merge::Keep, &runs, by_bytes(0), 0), [2, 3]);
}

#[test]
fn a_replaced_row_does_not_come_back_when_the_run_that_replaced_it_goes() {
    // Run 1 is older by commit but reaches further in time; run 2 replaces some of its rows.
    let runs = [run_at(1, (0, 950), 0), run_at(2, (0, 10), 0), run_at(3, (960, 990), 0)];
    assert_eq!(gone(Merge::Keep, &runs, AGE_100, 1_000), [2]);
    assert_eq!(gone(Merge::Latest, &runs, AGE_100, 1_000), [0_u64; 0]);
    assert_eq!(gone(Merge::Keep, &runs, by_bytes(20), 0), [2]);
    assert_eq!(gone(Merge::Latest, &runs, by_bytes(20), 0), [1, 2]);
}

#[test]
fn retention_by_bytes_works_for_offsets() {
    let stream = stream_of(LeadKind::Offset, Merge::Keep, RunFormat::Hot);
    let mut runs = [run_at(1, (0, 0), 0), run_at(2, (0, 0), 0)];
    for (index, meta) in runs.iter_mut().enumerate() {
        meta.key_min = LeadKey::Offset(index as u64 * 100);
        meta.key_max = LeadKey::Offset(index as u64 * 100 + 99);
    }
    assert_eq!(expired(&stream, &runs, &by_bytes(15), 0), [RunId(1)]);
}
