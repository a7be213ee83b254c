//! What retention throws away by itself: whole runs.
//!
//! Invariant: of a `Latest` stream a run goes only with every older run that shares keys
//! with it, or a row that it replaced or deleted would come back. Called by the worker
//! after each flush and compaction.

use timestrata_format::manifest::Retention;
use timestrata_format::{LeadKey, RunId, RunMeta};

use super::order;
use crate::Stream;
use crate::planted::{Plant, is_planted};

/// The runs that may go at `wall_now_ns`, to be removed from the version.
///
/// By age: those whose newest key and whose file are both older than the age, so that rows
/// dated far back stay as long as any other, and one row dated far ahead keeps only its own
/// run. An `Int64` time counts as nanoseconds. By bytes: the oldest by key, until the rest
/// fits; never the one with the newest key.
pub(crate) fn expired(
    stream: &Stream,
    runs: &[RunMeta],
    retention: &Retention,
    wall_now_ns: i64,
) -> Vec<RunId> {
    let mut gone = vec![false; runs.len()];
    if let Some(age_ns) = retention.age_ns {
        let cutoff_ns = i128::from(wall_now_ns) - i128::from(age_ns);
        let unit_ns = i128::from(stream.time_unit_ns().unwrap_or(1));
        for (index, run) in runs.iter().enumerate() {
            let LeadKey::Time(newest) = run.key_max else {
                continue;
            };
            gone[index] = i128::from(newest) * unit_ns < cutoff_ns
                && i128::from(run.created_wall_ns) < cutoff_ns;
        }
        if stream.is_latest() {
            keep_what_covers(runs, &mut gone);
        }
    }
    if let Some(bytes_max) = retention.bytes {
        drop_down_to(runs, &mut gone, bytes_max, stream.is_latest());
    }
    let gone_runs = runs.iter().zip(&gone).filter(|(_, gone)| **gone);
    gone_runs.map(|(run, _)| run.id).collect()
}

/// Whether `older` has rows that `newer` may replace.
fn lies_under(older: &RunMeta, newer: &RunMeta) -> bool {
    order::overlap(older, newer) && older.id != newer.id && older.seq_min <= newer.seq_max
}

/// Takes back what is gone while something older under it is not.
fn keep_what_covers(runs: &[RunMeta], gone: &mut [bool]) {
    spread(gone, false, |kept, covers| lies_under(&runs[kept], &runs[covers]));
}

/// Adds everything older that lies under what is gone.
fn take_what_lies_under(runs: &[RunMeta], gone: &mut [bool]) {
    spread(gone, true, |gone, older| lies_under(&runs[older], &runs[gone]));
}

/// Gives a verdict to each run that one with it draws after itself, until none is left.
fn spread(verdicts: &mut [bool], verdict: bool, draws: impl Fn(usize, usize) -> bool) {
    let is_drawn = |verdicts: &[bool], run: usize| {
        verdicts[run] != verdict
            && (0..verdicts.len()).any(|other| verdicts[other] == verdict && draws(other, run))
    };
    while let Some(run) = (0..verdicts.len()).find(|run| is_drawn(verdicts, *run)) {
        verdicts[run] = verdict;
    }
}

fn drop_down_to(runs: &[RunMeta], gone: &mut [bool], bytes_max: u64, is_latest: bool) {
    let mut by_key: Vec<usize> = (0..runs.len()).filter(|index| !gone[*index]).collect();
    by_key.sort_by_key(|index| (runs[*index].key_max, runs[*index].seq_max));
    let Some(newest) = by_key.pop() else {
        return;
    };
    let mut rest = order::bytes_of(runs, &by_key).saturating_add(runs[newest].file_bytes);
    for index in by_key {
        if rest <= bytes_max {
            return;
        }
        let mut with_older = gone.to_vec();
        with_older[index] = true;
        if is_latest && !is_planted(Plant::UncoveredRetention) {
            take_what_lies_under(runs, &mut with_older);
        }
        if with_older[newest] {
            continue;
        }
        for (place, taken) in with_older.into_iter().enumerate() {
            if taken && !gone[place] {
                gone[place] = true;
                rest = rest.saturating_sub(runs[place].file_bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests;
