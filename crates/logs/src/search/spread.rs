//! How times are spread: a sketch of bounded size, from which stray ones can be told.

use std::collections::BTreeMap;

/// Stretches that are told apart at most; half of them are left when they become too many.
const STRETCHES_MAX: usize = 4_096;
/// Of so many times one may be stray on each side, and of more of them each hundredth.
const STRAY_OF: u64 = 10;
const STRAY_SHARE: u64 = 100;

/// Counts of times by stretches of a power of two nanoseconds, which grows as they need it.
#[derive(Debug, Default)]
pub(super) struct Spread {
    bits: u32,
    counts: BTreeMap<i64, u64>,
}

impl Spread {
    pub(super) fn add(&mut self, time: i64, count: u64) {
        *self.counts.entry(time >> self.bits).or_insert(0) += count;
        while self.counts.len() > STRETCHES_MAX {
            while self.counts.len() > STRETCHES_MAX / 2 {
                self.coarsen();
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        while self.bits < other.bits {
            self.coarsen();
        }
        for (stretch, count) in other.counts {
            self.add(stretch << other.bits, count);
        }
    }

    /// From a time to the last, about: with all of them, and without those that may be stray.
    pub(super) fn lengths(&self) -> (i64, i64) {
        let all: u64 = self.counts.values().sum();
        let stray = if all < STRAY_OF { 0 } else { (all / STRAY_SHARE).max(1) };
        (self.length_without(0), self.length_without(stray))
    }

    /// The time between the first and the last, without so many on each side.
    fn length_without(&self, stray: u64) -> i64 {
        let first = behind(self.counts.iter(), stray);
        let last = behind(self.counts.iter().rev(), stray);
        let stretches = first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first));
        // A stretch was cut from what `i64` holds, so that only the product of many may not fit.
        stretches.max(0).checked_shl(self.bits).filter(|ns| *ns >= 0).unwrap_or(i64::MAX)
    }

    fn coarsen(&mut self) {
        self.bits += 1;
        for (stretch, count) in std::mem::take(&mut self.counts) {
            *self.counts.entry(stretch >> 1).or_insert(0) += count;
        }
    }
}

/// The first stretch behind so many times.
fn behind<'a>(counts: impl Iterator<Item = (&'a i64, &'a u64)>, mut stray: u64) -> Option<i64> {
    for (stretch, count) in counts {
        if *count > stray {
            return Some(*stretch);
        }
        stray -= count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    #[test]
    fn stray_times_are_told_from_the_rest() {
        let now = 1_700_000_000_000_000_000;
        let mut spread = Spread::default();
        (0..20_000).for_each(|at| spread.add(now + at * HOUR / 20_000, 1));
        let mut strays = Spread::default();
        [0, i64::MIN, i64::MAX].into_iter().for_each(|time| strays.add(time, 1));
        spread.merge(strays);
        let (all, most) = spread.lengths();
        assert_eq!(all, i64::MAX);
        assert!(spread.counts.len() <= STRETCHES_MAX);
        assert!((HOUR * 9 / 10..HOUR * 11 / 10).contains(&most), "{most}");
    }

    #[test]
    fn of_few_times_none_is_stray() {
        let mut spread = Spread::default();
        [5, 8, 1_000].into_iter().for_each(|time| spread.add(time, 1));
        assert_eq!(spread.lengths(), (995, 995));
        assert_eq!(Spread::default().lengths(), (0, 0));
    }
}
