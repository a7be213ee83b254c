//! Compaction of a stream of which some runs can't be read.
//!
//! A damaged run stays as it is, and so must its place in the order of commits. The others are told
//! apart by where they lie to it: older, newer, or of the same time and on one side of its keys. Of runs
//! that lie alike to all damaged ones any may be merged: what comes of it lies as they do.

use std::collections::BTreeMap;

use timestrata_format::{RunId, RunMeta};

use super::choose::{self, CompactionPlan, Rewrite};
use super::order;
use crate::tombstones::Tombstones;
use crate::{Settings, Stream};

/// Where a run lies to a damaged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SideOfDamage {
    Older,
    Newer,
    Left,
    Right,
}

fn side(run: &RunMeta, damaged: &RunMeta) -> Option<SideOfDamage> {
    if run.seq_max < damaged.seq_min {
        Some(SideOfDamage::Older)
    } else if damaged.seq_max < run.seq_min {
        Some(SideOfDamage::Newer)
    } else if run.key_max < damaged.key_min {
        Some(SideOfDamage::Left)
    } else if damaged.key_max < run.key_min {
        Some(SideOfDamage::Right)
    } else {
        // Of the same commit, over the same keys: it can't be moved without the damaged one.
        None
    }
}

/// As [`choose`], but no run of `set_aside` is read.
pub(crate) fn choose_around(
    stream: &Stream,
    runs: &[RunMeta],
    set_aside: &[RunId],
    tombstones: &Tombstones,
    settings: &Settings,
    force: bool,
) -> Option<CompactionPlan> {
    let is_damaged = |run: &&RunMeta| set_aside.contains(&run.id);
    let damaged: Vec<&RunMeta> = runs.iter().filter(is_damaged).collect();
    if damaged.is_empty() {
        let plan = choose::choose(stream, runs, tombstones, settings, force);
        return plan
            .or_else(|| if force { choose::drop_markers(stream, runs, settings) } else { None });
    }
    // What is deleted whole goes unread, the damaged ones too.
    if let Some(plan) = choose::drop_covered(runs, tombstones) {
        return Some(plan);
    }
    let mut groups: BTreeMap<Vec<SideOfDamage>, Vec<RunMeta>> = BTreeMap::new();
    for run in runs.iter().filter(|run| !is_damaged(run)) {
        let sides: Option<Vec<SideOfDamage>> =
            damaged.iter().map(|damaged| side(run, damaged)).collect();
        if let Some(sides) = sides {
            groups.entry(sides).or_default().push(run.clone());
        }
    }
    groups.values().find_map(|group| {
        match choose::choose(stream, group, tombstones, settings, force)? {
            CompactionPlan::Rewrite(rewrite) => {
                within_all(runs, rewrite).map(CompactionPlan::Rewrite)
            }
            plan @ CompactionPlan::Drop { .. } => Some(plan),
        }
    })
}

/// A plan for some runs as one for all of them; `None` if runs of other groups would have to be inputs.
fn within_all(runs: &[RunMeta], plan: Rewrite) -> Option<Rewrite> {
    let place = |id: &RunId| runs.iter().position(|run| run.id == *id);
    let inputs: Vec<usize> = plan.inputs.iter().filter_map(place).collect();
    if order::close(runs, &inputs).len() != inputs.len() {
        return None;
    }
    let drop_delete_markers = order::has_nothing_older(runs, &inputs);
    Some(Rewrite { drop_delete_markers, ..plan })
}

#[cfg(test)]
mod tests {
    use timestrata_format::manifest::Merge;
    use timestrata_format::{KeyRange, LeadKey, RunFormat};
    use timestrata_io::{Rng, SeededRng};

    use super::super::simulation::{Simulation, small_settings, stream_of};
    use crate::LeadKind;

    fn below(rng: &SeededRng, bound: u64) -> u64 {
        let mut bytes = [0; 8];
        rng.fill(&mut bytes);
        u64::from_le_bytes(bytes) % bound
    }

    /// The simulation holds that no plan takes a run that is set aside, that all plans together end,
    /// and that runs over the same keys stay in the order of their commits.
    #[test]
    fn around_damaged_runs_the_others_are_compacted_in_the_order_of_commits() {
        const SEEDS: u64 = 24;
        const FLUSHES: usize = 94;
        let mut runs_left = 0;
        for seed in 0..SEEDS {
            let rng = SeededRng::new(seed);
            let merge = if seed % 2 == 0 { Merge::Keep } else { Merge::Latest };
            let stream = stream_of(LeadKind::Time, merge, RunFormat::Hot);
            let mut simulation = Simulation::new(stream, small_settings());
            for row in 0..6_000 {
                let late = below(&rng, 3) == 0;
                let key = if late { below(&rng, row + 1) } else { row } as i64;
                simulation.insert(LeadKey::Time(key));
                if row % 1_500 == 700 && !simulation.runs.is_empty() {
                    let index = below(&rng, simulation.runs.len() as u64) as usize;
                    simulation.set_aside.push(simulation.runs[index].id);
                    simulation.set_aside.sort_unstable();
                    simulation.set_aside.dedup();
                }
            }
            simulation.delete(KeyRange::times(1_000, 1_003));
            let rows = simulation.live_rows();
            simulation.settle(false);
            simulation.settle(true);
            assert!(merge == Merge::Latest || simulation.live_rows() == rows, "seed {seed}");
            let kept = simulation.runs.iter().filter(|run| simulation.set_aside.contains(&run.id));
            assert_eq!(kept.count(), simulation.set_aside.len(), "seed {seed}");
            assert!(simulation.runs.len() < FLUSHES, "seed {seed}: nothing was merged");
            runs_left += simulation.runs.len();
        }
        // Runs on two sides of a damaged one that has all keys can't be joined, so it depends on which were
        // damaged; without any about 25 would be left.
        assert!(runs_left * 10 < SEEDS as usize * FLUSHES * 6, "{runs_left} runs are left");
    }
}
