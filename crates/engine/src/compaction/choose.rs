//! The most useful piece of compaction of one stream.
//!
//! Owns [`CompactionPlan`] and the order of urgency: drop what a range delete covers, merge what lies
//! too deep, rewrite what is largely deleted, join what is small, change the format of what
//! has settled. Called by the worker, which carries one plan a stream out at a time: the
//! runs given must be all of the stream's.

use timestrata_format::{KeyRange, LeadKey, RunFormat, RunId, RunMeta};

use super::around::choose_around;
use super::cut::{Cuts, bytes_within, place};
use super::{concatenate, leveled, order, window};
use crate::tombstones::Tombstones;
use crate::{LeadKind, Settings, Stream};

/// A run of which this part is deleted is rewritten: one in so many bytes.
const DELETED_PART: u64 = 4;
/// Range deletes of a stream that runs must heed at most; beyond, the run that heeds the
/// most is rewritten.
const TOMBSTONES_MAX: usize = 256;
/// A run may hold this part of the time that the stream keeps: so much later than it might
/// does its oldest row go.
const AGE_PARTS: u64 = 8;
/// How far ahead [`debt_bytes`] looks.
const DEBT_PLANS_MAX: usize = 32;

/// One piece of compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CompactionPlan {
    /// Merge the inputs, apply the tombstones, write outputs.
    Rewrite(Rewrite),
    /// Every row of these runs is deleted: remove them from the version without reading them.
    Drop {
        /// The runs.
        runs: Vec<RunId>,
    },
}

/// Runs to merge into new ones. There may be no output at all, if every row was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rewrite {
    /// In the order of commits, oldest first.
    pub(crate) inputs: Vec<RunId>,
    /// Level of the outputs.
    pub(crate) output_level: u8,
    /// File format of the outputs.
    pub(crate) format: RunFormat,
    /// No older run outside the inputs has keys in their range: delete markers have nothing
    /// left to hide in the runs.
    pub(crate) drop_delete_markers: bool,
    /// Where outputs end.
    pub(crate) cuts: Cuts,
}

/// What strategies see.
#[derive(Debug, Clone, Copy)]
pub(super) struct StrategyInput<'a> {
    pub(super) runs: &'a [RunMeta],
    pub(super) format: RunFormat,
    /// Runs of similar size that may lie over each other, at least 2.
    pub(super) layers_max: usize,
    pub(super) run_bytes_max: u64,
    /// Runs further apart than this are not joined: retention drops whole runs, by their
    /// newest key. In places of the key; `None`: however far.
    pub(super) span_max: Option<u64>,
    pub(super) force: bool,
}

impl StrategyInput<'_> {
    /// A rewrite of the closure of `chosen`.
    pub(super) fn rewrite(&self, chosen: &[usize], output_level: u8, cuts: Cuts) -> CompactionPlan {
        let inputs = order::close(self.runs, chosen);
        let drop_delete_markers = order::has_nothing_older(self.runs, &inputs);
        CompactionPlan::Rewrite(Rewrite {
            inputs: inputs.iter().map(|index| self.runs[*index].id).collect(),
            output_level,
            format: self.format,
            drop_delete_markers,
            cuts,
        })
    }

    /// Whether runs from the first to the last of these, in key order, may become one.
    pub(super) fn is_close(&self, first: usize, last: usize) -> bool {
        // Saturating: the keys come from the manifest, and may be of two kinds in a forged one.
        let span = place(self.runs[last].key_max).saturating_sub(place(self.runs[first].key_min));
        self.span_max.is_none_or(|span_max| span <= span_max)
    }

    /// The runs at these places.
    pub(super) fn metas(&self, chosen: &[usize]) -> Vec<&RunMeta> {
        chosen.iter().map(|index| &self.runs[*index]).collect()
    }
}

/// The most useful piece of work on a stream now; `None` when it has settled. `force` goes
/// on until nothing overlaps, no tombstone touches a run and every run has the stream's
/// format; then [`drop_markers`] follows.
pub(super) fn choose(
    stream: &Stream,
    runs: &[RunMeta],
    tombstones: &Tombstones,
    settings: &Settings,
    force: bool,
) -> Option<CompactionPlan> {
    let input = StrategyInput {
        runs,
        format: stream.spec().run_format,
        layers_max: settings.level0_runs_max.max(2),
        run_bytes_max: settings.run_bytes_max,
        span_max: span_max(stream),
        force,
    };
    let is_id = matches!(stream.lead_kind(), LeadKind::Id16 | LeadKind::Id32);
    drop_covered(runs, tombstones)
        .or_else(|| if force { merge_overlapping(&input) } else { None })
        .or_else(|| if is_id { leveled::choose(&input) } else { window::choose(&input) })
        .or_else(|| rewrite_deleted(&input, tombstones))
        .or_else(|| concatenate::choose(&input))
        .or_else(|| {
            let may_reach = stream.is_latest() && !is_id && !force;
            if may_reach { concatenate::reaching(&input) } else { None }
        })
}

fn span_max(stream: &Stream) -> Option<u64> {
    let age_ns = stream.spec().retention.age_ns?;
    let unit_ns = stream.time_unit_ns().unwrap_or(1).unsigned_abs().max(1);
    Some(age_ns / unit_ns / AGE_PARTS)
}

/// Bytes that compaction would rewrite now, around the runs that are `set_aside`: of the plans that
/// could run beside each other.
pub(crate) fn debt_bytes(
    stream: &Stream,
    runs: &[RunMeta],
    set_aside: &[RunId],
    tombstones: &Tombstones,
    settings: &Settings,
) -> u64 {
    let mut rest = runs.to_vec();
    let mut debt: u64 = 0;
    for _ in 0..DEBT_PLANS_MAX {
        let done = match choose_around(stream, &rest, set_aside, tombstones, settings, false) {
            Some(CompactionPlan::Rewrite(rewrite)) => {
                let inputs = rest.iter().filter(|run| rewrite.inputs.contains(&run.id));
                debt = inputs.map(|run| run.file_bytes).fold(debt, u64::saturating_add);
                rewrite.inputs
            }
            Some(CompactionPlan::Drop { runs }) => runs,
            None => break,
        };
        rest.retain(|run| !done.contains(&run.id));
    }
    debt
}

/// What is hidden of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hidden {
    All,
    /// About this many bytes, in this many stretches.
    Some {
        bytes: u64,
        stretches: usize,
    },
}

fn hidden(run: &RunMeta, tombstones: &Tombstones) -> Hidden {
    let keys = KeyRange::new(run.key_min, run.key_max.successor());
    let heeded_through = run.seq_max.max(run.tombstones_applied_through);
    let visible = tombstones.visible(&keys, heeded_through, (run.key_min, run.key_max));
    let Some(visible) = visible else { return Hidden::All };
    let mut stretches = 0;
    let mut bytes: u64 = 0;
    for hole in visible.holes() {
        let from = hole.lo.unwrap_or(run.key_min);
        stretches += 1;
        bytes = bytes.saturating_add(match hole.hi {
            Some(hi) => hidden_bytes(run, from, hi),
            None => bytes_within(run, place(from), u64::MAX),
        });
    }
    Hidden::Some { bytes, stretches }
}

fn hidden_bytes(run: &RunMeta, from: LeadKey, hi: LeadKey) -> u64 {
    match place(hi).checked_sub(1) {
        Some(last) => bytes_within(run, place(from), last),
        None => 0,
    }
}

/// Lets go of runs of which all rows are deleted.
pub(super) fn drop_covered(runs: &[RunMeta], tombstones: &Tombstones) -> Option<CompactionPlan> {
    if tombstones.is_empty() {
        return None;
    }
    let covered = runs.iter().filter(|run| hidden(run, tombstones) == Hidden::All);
    let runs: Vec<RunId> = covered.map(|run| run.id).collect();
    (!runs.is_empty()).then_some(CompactionPlan::Drop { runs })
}

/// The run of which most is deleted, if that is worth a rewrite.
fn rewrite_deleted(input: &StrategyInput<'_>, tombstones: &Tombstones) -> Option<CompactionPlan> {
    if tombstones.is_empty() {
        return None;
    }
    let is_crowded = tombstones.len() > TOMBSTONES_MAX;
    let mut best: Option<((bool, u64, usize), usize)> = None;
    for (index, run) in input.runs.iter().enumerate() {
        let Hidden::Some { bytes, stretches } = hidden(run, tombstones) else {
            continue;
        };
        let is_large = bytes >= run.file_bytes.div_ceil(DELETED_PART).max(1);
        if stretches == 0 || !(is_large || input.force || is_crowded) {
            continue;
        }
        let worth = (is_large, if is_large { bytes } else { 0 }, stretches);
        if best.is_none_or(|(most, _)| worth > most) {
            best = Some((worth, index));
        }
    }
    let (_, index) = best?;
    let level = input.runs[index].level;
    Some(input.rewrite(&[index], level, Cuts::by_size(input.run_bytes_max)))
}

/// Under force, where nothing overlaps: rewrites a run without the keys that were deleted, which hide nothing any more.
pub(super) fn drop_markers(
    stream: &Stream,
    runs: &[RunMeta],
    settings: &Settings,
) -> Option<CompactionPlan> {
    let hides_nothing = |index: &usize| {
        runs.get(*index).is_some_and(|run| run.delete_markers > 0)
            && order::has_nothing_older(runs, &[*index])
    };
    let run = (0..runs.len()).find(hides_nothing).and_then(|index| runs.get(index))?;
    Some(CompactionPlan::Rewrite(Rewrite {
        inputs: vec![run.id],
        output_level: run.level,
        format: stream.spec().run_format,
        drop_delete_markers: true,
        cuts: Cuts::by_size(settings.run_bytes_max),
    }))
}

/// Under force: all runs of the stretch of overlapping runs that is cheapest.
fn merge_overlapping(input: &StrategyInput<'_>) -> Option<CompactionPlan> {
    let mut by_key: Vec<usize> = (0..input.runs.len()).collect();
    by_key.sort_by_key(|index| input.runs[*index].key_min);
    let mut stretches: Vec<(LeadKey, Vec<usize>)> = Vec::new();
    for index in by_key {
        let run = &input.runs[index];
        match stretches.last_mut() {
            Some((end, members)) if run.key_min <= *end => {
                *end = run.key_max.max(*end);
                members.push(index);
            }
            _ => stretches.push((run.key_max, vec![index])),
        }
    }
    let (_, chosen) = stretches
        .into_iter()
        .filter(|(_, members)| members.len() > 1)
        .min_by_key(|(_, members)| order::bytes_of(input.runs, members))?;
    Some(input.rewrite(&chosen, 1, Cuts::by_size(input.run_bytes_max)))
}

#[cfg(test)]
mod tests;
