//! Which runs may be merged without disturbing the order of commits.
//!
//! Owns the closure of a set of runs, and the layers in which runs lie over each other.
//! Called by all strategies. Indexes are places in the slice of runs that the strategy
//! was given.
//!
//! Of two runs that share a key, all rows of one were committed before all rows of the other: that is how readers
//! know which row is newer, without a number for each row. A merge of runs whose commits lie around those of
//! another run with keys among theirs would end that. So [`close`] takes such a run in, and looks again,
//! for the span of the chosen runs has grown.
//!
//! ```text
//!   commits
//!     9   C |=========|                        A and C are chosen: together they span the keys 0 to 20 and the
//!     7   D           |=============|           commits 2 to 9. B shares keys with that, and its commit 5 is among
//!     5   B      |=========|                   these: it comes in, and the span is 0 to 30. Now D shares keys with it
//!     2   A |=========|                        and comes in too: 0 to 50. E doesn't: its commit 1 is before all of
//!     1   E                |===========|       theirs, so it is older than all rows of the output, as it was before.
//!    keys   0    10   20   30   40   50   60
//! ```

use timestrata_format::{LeadKey, RunMeta, SeqNo};

/// What a set of runs spans, ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) key_min: LeadKey,
    pub(super) key_max: LeadKey,
    pub(super) seq_min: SeqNo,
    pub(super) seq_max: SeqNo,
}

impl Span {
    /// The span of the chosen runs; `None` of no runs.
    pub(super) fn of(runs: &[RunMeta], chosen: &[usize]) -> Option<Self> {
        chosen.iter().map(|index| Self::of_run(&runs[*index])).reduce(Self::join)
    }

    /// The span of one run.
    pub(super) fn of_run(run: &RunMeta) -> Self {
        Self {
            key_min: run.key_min,
            key_max: run.key_max,
            seq_min: run.seq_min,
            seq_max: run.seq_max,
        }
    }

    fn join(self, other: Self) -> Self {
        Self {
            key_min: self.key_min.min(other.key_min),
            key_max: self.key_max.max(other.key_max),
            seq_min: self.seq_min.min(other.seq_min),
            seq_max: self.seq_max.max(other.seq_max),
        }
    }

    /// Whether a run has keys in the span's range of keys.
    pub(super) fn shares_keys(&self, run: &RunMeta) -> bool {
        run.key_min <= self.key_max && self.key_min <= run.key_max
    }

    /// Whether a run's commits are neither wholly before nor wholly after the span's.
    fn shares_commits(&self, run: &RunMeta) -> bool {
        run.seq_min <= self.seq_max && self.seq_min <= run.seq_max
    }
}

/// Whether two runs have a stretch of keys in common.
pub(super) fn overlap(a: &RunMeta, b: &RunMeta) -> bool {
    a.key_min <= b.key_max && b.key_min <= a.key_max
}

/// The sum of the chosen runs' lengths.
pub(super) fn bytes_of(runs: &[RunMeta], chosen: &[usize]) -> u64 {
    chosen.iter().map(|index| runs[*index].file_bytes).fold(0, u64::saturating_add)
}

/// Adds to `chosen` every run that must be merged with it: while a run outside shares keys
/// with the span of the chosen ones and its commits lie among theirs, it comes in too.
/// The result is in commit order, oldest first.
pub(super) fn close(runs: &[RunMeta], chosen: &[usize]) -> Vec<usize> {
    let mut inside = vec![false; runs.len()];
    chosen.iter().for_each(|index| inside[*index] = true);
    let Some(mut span) = Span::of(runs, chosen) else {
        return Vec::new();
    };
    loop {
        let before = span;
        for (index, run) in runs.iter().enumerate() {
            if !inside[index] && span.shares_keys(run) && span.shares_commits(run) {
                inside[index] = true;
                span = span.join(Span::of_run(run));
            }
        }
        if span == before {
            break;
        }
    }
    let mut closed: Vec<usize> = (0..runs.len()).filter(|index| inside[*index]).collect();
    sort_by_commit(runs, &mut closed);
    closed
}

/// Whether no run outside has older rows within the keys of these.
pub(super) fn has_nothing_older(runs: &[RunMeta], chosen: &[usize]) -> bool {
    Span::of(runs, chosen).is_some_and(|span| {
        !runs.iter().enumerate().any(|(index, run)| {
            !chosen.contains(&index) && span.shares_keys(run) && run.seq_min < span.seq_min
        })
    })
}

/// Oldest first.
pub(super) fn sort_by_commit(runs: &[RunMeta], chosen: &mut [usize]) {
    chosen.sort_by_key(|index| {
        let run = &runs[*index];
        (run.seq_min, run.seq_max, run.id)
    });
}

/// How many of the chosen runs lie one over the other below each of them: 0 for a run that
/// overlaps no older one, else one more than the highest older run it overlaps. Given in
/// the order of `chosen`, which must be oldest first.
pub(super) fn layers(runs: &[RunMeta], chosen: &[usize]) -> Vec<usize> {
    let mut layers: Vec<usize> = Vec::with_capacity(chosen.len());
    for (place, index) in chosen.iter().enumerate() {
        let below = chosen[..place]
            .iter()
            .zip(&layers)
            .filter(|(older, _)| overlap(&runs[**older], &runs[*index]))
            .map(|(_, layer)| layer + 1)
            .max();
        layers.push(below.unwrap_or(0));
    }
    layers
}
