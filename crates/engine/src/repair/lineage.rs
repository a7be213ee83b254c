//! Which of the runs on disk make the store, where no manifest says so.
//!
//! Pure: what runs say of themselves goes in, a verdict on each comes out. A compaction's outputs and its
//! inputs may both be there: the outputs count if all of them are (or what later took their place is), else
//! the inputs. A run that two compactions have taken as an input was still there at the second one, so
//! the first was never installed. Runs of earlier builds don't say what they replace: there the
//! rectangle of keys and commits tells, which live runs of a stream don't share.

use std::collections::{BTreeMap, BTreeSet};

use timestrata_format::{RunId, RunMeta, RunOrigin};

/// A run on disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunCandidate<'a> {
    pub(super) meta: &'a RunMeta,
    pub(super) origin: Option<&'a RunOrigin>,
    /// Set aside by an open.
    pub(super) is_aside: bool,
}

/// Which runs count.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// Those that don't, each with the reason.
    pub(super) dead: BTreeMap<RunId, String>,
    /// What is not certain.
    pub(super) doubts: Vec<String>,
}

/// A compaction, by its first output.
#[derive(Debug, Default)]
struct Group<'a> {
    replaces: &'a [RunId],
    outputs: BTreeSet<RunId>,
    has_last: bool,
}

/// Judges all runs of a store.
pub(super) fn judge(candidates: &[RunCandidate<'_>]) -> Verdicts {
    let mut verdicts = Verdicts::default();
    by_origin(candidates, &mut verdicts);
    by_rectangle(candidates, &mut verdicts);
    verdicts
}

fn groups<'a>(candidates: &[RunCandidate<'a>]) -> BTreeMap<RunId, Group<'a>> {
    let mut groups: BTreeMap<RunId, Group<'a>> = BTreeMap::new();
    for candidate in candidates {
        let Some(origin) = candidate.origin.filter(|origin| !origin.replaces.is_empty()) else {
            continue;
        };
        let first = origin.outputs_before.first().copied().unwrap_or(candidate.meta.id);
        let group = groups.entry(first).or_default();
        group.replaces = &origin.replaces;
        group.outputs.extend(origin.outputs_before.iter().copied());
        group.outputs.insert(candidate.meta.id);
        group.has_last |= origin.is_last_output;
    }
    groups
}

fn by_origin(candidates: &[RunCandidate<'_>], verdicts: &mut Verdicts) {
    let by_id: BTreeMap<RunId, &RunCandidate<'_>> =
        candidates.iter().map(|candidate| (candidate.meta.id, candidate)).collect();
    let groups = groups(candidates);
    // The newest compaction that took a run: later ones begin with later ids.
    let mut taken_by: BTreeMap<RunId, RunId> = BTreeMap::new();
    for (first, group) in &groups {
        taken_by.extend(group.replaces.iter().map(|run| (*run, *first)));
    }
    let mut installed: BTreeSet<RunId> = BTreeSet::new();
    for (first, group) in groups.iter().rev() {
        let present = |run: &RunId| by_id.contains_key(run);
        let give_up = |verdicts: &mut Verdicts, why: &str| {
            let outputs = group.outputs.iter().filter(|run| present(run));
            verdicts.dead.extend(outputs.map(|run| (*run, why.to_owned())));
        };
        if group.replaces.iter().any(|run| taken_by.get(run) != Some(first)) {
            give_up(verdicts, "it is of a compaction that was begun anew later");
            continue;
        }
        let is_accounted = |run: &RunId| {
            present(run) || taken_by.get(run).is_some_and(|later| installed.contains(later))
        };
        let is_complete = group.has_last && group.outputs.iter().all(is_accounted);
        let is_aside =
            group.outputs.iter().any(|run| by_id.get(run).is_some_and(|run| run.is_aside));
        let in_runs = |run: &RunId| by_id.get(run).is_some_and(|run| !run.is_aside);
        if is_aside && group.replaces.iter().any(in_runs) {
            give_up(verdicts, "an open has set it aside, and runs that it was made of are there");
        } else if is_complete {
            installed.insert(*first);
            for run in group.replaces.iter().filter(|run| present(run)) {
                verdicts.dead.insert(*run, format!("run {first} and those with it took its place"));
            }
        } else if group.replaces.iter().all(present) {
            give_up(verdicts, "it is of a compaction that was not ended, whose inputs are there");
        } else {
            let outputs: Vec<String> = group.outputs.iter().map(ToString::to_string).collect();
            verdicts.doubts.push(format!(
                "of a compaction's outputs (runs {}) not all are there, nor all of its inputs: what is \
                 there was kept, and rows between may be missing",
                outputs.join(", ")
            ));
            // What it was made of would be there twice.
            for run in group.replaces.iter().filter(|run| present(run)) {
                verdicts.dead.insert(*run, format!("run {first} has been made of it"));
            }
        }
    }
}

/// Whether two runs can't both be live: they share keys and commits. Those of one commit may, if one
/// edit of the manifest can have named both.
fn clash(one: &RunCandidate<'_>, other: &RunCandidate<'_>) -> bool {
    let (a, b) = (one.meta, other.meta);
    let has_one = |run: &RunMeta| run.seq_min == run.seq_max;
    let are_of_one_commit =
        has_one(a) && has_one(b) && a.format == b.format && one.is_aside == other.is_aside;
    a.stream == b.stream
        && a.key_min <= b.key_max
        && b.key_min <= a.key_max
        && a.seq_min <= b.seq_max
        && b.seq_min <= a.seq_max
        && !are_of_one_commit
}

/// What is left after the lineage: files that were set aside give way, and older builds' runs are
/// told apart by what they cover.
fn by_rectangle(candidates: &[RunCandidate<'_>], verdicts: &mut Verdicts) {
    let mut left: Vec<&RunCandidate<'_>> = candidates.iter().collect();
    // Those in 'runs' first, the newest first: an output is newer than what it was made of.
    left.sort_by_key(|candidate| (candidate.is_aside, std::cmp::Reverse(candidate.meta.id)));
    let mut kept: Vec<&RunCandidate<'_>> = Vec::new();
    for candidate in left {
        if verdicts.dead.contains_key(&candidate.meta.id) {
            continue;
        }
        let clashing: Vec<usize> =
            (0..kept.len()).filter(|index| clash(kept[*index], candidate)).collect();
        if clashing.is_empty() {
            kept.push(candidate);
            continue;
        }
        if candidate.is_aside || covers(&kept, &clashing, candidate.meta) {
            let why = format!("run {} has its commits", kept[clashing[0]].meta.id);
            verdicts.dead.insert(candidate.meta.id, why);
            continue;
        }
        // The outputs end before their input does: they were not all written.
        for index in clashing.iter().rev() {
            let output = kept.remove(*index);
            let why = format!("run {}, which it seems to be made of, has more", candidate.meta.id);
            verdicts.dead.insert(output.meta.id, why);
        }
        verdicts.doubts.push(format!(
            "run {} and newer ones have the same commits, and don't say which were made of which: the \
             one with more keys was kept",
            candidate.meta.id
        ));
        kept.push(candidate);
    }
}

/// Whether the outputs that clash with a run, together with others of the same compaction, reach from
/// its first key to its last.
fn covers(kept: &[&RunCandidate<'_>], clashing: &[usize], run: &RunMeta) -> bool {
    let mark = |meta: &RunMeta| (meta.seq_min, meta.seq_max, meta.tombstones_applied_through);
    clashing.iter().any(|index| {
        let output = kept[*index].meta;
        let together = || {
            kept.iter().filter(|other| {
                other.meta.stream == output.stream && mark(other.meta) == mark(output)
            })
        };
        let min = together().map(|other| other.meta.key_min).min();
        let max = together().map(|other| other.meta.key_max).max();
        min.is_some_and(|min| min <= run.key_min) && max.is_some_and(|max| run.key_max <= max)
    })
}

#[cfg(test)]
mod tests;
