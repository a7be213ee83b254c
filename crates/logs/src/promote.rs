//! Promotion: fields that many entries have, with values of one kind, get columns of their own.

use hashbrown::HashMap;

use super::layout::{ColumnKind, Layout, may_have_column};
use super::{Fields, Scalar};

/// One entry of so many is looked at; each one of a log without such columns, until something was decided: many logs
/// are small, or written by processes that end soon.
const ONE_OF: u32 = 16;
/// Entries that are looked at before something is decided.
const SAMPLES: u32 = 128;
/// A field needs to be in so many hundredths of them.
const SHARE_MIN: u32 = 25;
/// Fields that are counted at once; entries with a name of their own for each field would take memory.
const COUNTED_MAX: usize = 512;

/// Looks at the fields of some entries.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    seen: u32,
    samples: u32,
    has_decided: bool,
    counts: HashMap<String, Count>,
}

#[derive(Debug)]
struct Count {
    kind: ColumnKind,
    with_kind: u32,
    others: u32,
    /// Who came first has its column first.
    order: usize,
}

impl Sampler {
    /// Sees an entry's fields. `Some`: these should have columns now, besides those of `layout`.
    pub(super) fn see(
        &mut self,
        fields: &Fields,
        layout: &Layout,
        columns_max: usize,
    ) -> Option<Vec<(String, ColumnKind)>> {
        self.seen = self.seen.wrapping_add(1);
        let is_looked_at =
            self.seen.is_multiple_of(ONE_OF) || (!self.has_decided && layout.promoted.is_empty());
        if !is_looked_at || layout.promoted.len() >= columns_max {
            return None;
        }
        self.samples += 1;
        for (name, item) in fields.iter() {
            let Some(kind) = Scalar::of_item(item).and_then(ColumnKind::of) else { continue };
            if let Some(count) = self.counts.get_mut(name) {
                match count.kind == kind {
                    true => count.with_kind += 1,
                    false => count.others += 1,
                }
            } else if self.counts.len() < COUNTED_MAX
                && may_have_column(name)
                && layout.find(name).is_none()
            {
                let count = Count { kind, with_kind: 1, others: 0, order: self.counts.len() };
                self.counts.insert(name.to_owned(), count);
            }
        }
        self.decide(layout, columns_max)
    }

    /// What it has seen; it goes on with nothing.
    pub(super) fn take(&mut self) -> Self {
        let rest = self.branch();
        std::mem::replace(self, rest)
    }

    /// One that goes on where this one is in its count of entries, with nothing seen.
    pub(super) fn branch(&self) -> Self {
        Self { seen: self.seen, has_decided: self.has_decided, ..Self::default() }
    }

    /// Takes in what a [`branch`](Self::branch) has seen; as [`see`](Self::see).
    pub(super) fn join(
        &mut self,
        branch: Self,
        layout: &Layout,
        columns_max: usize,
    ) -> Option<Vec<(String, ColumnKind)>> {
        self.seen = branch.seen;
        self.has_decided |= branch.has_decided;
        if layout.promoted.len() >= columns_max {
            return None;
        }
        self.samples += branch.samples;
        let mut counts: Vec<_> = branch.counts.into_iter().collect();
        counts.sort_unstable_by_key(|(_, count)| count.order);
        for (name, more) in counts {
            if let Some(count) = self.counts.get_mut(&name) {
                let (same, others) = match count.kind == more.kind {
                    true => (more.with_kind, more.others),
                    false => (0, more.with_kind + more.others),
                };
                count.with_kind += same;
                count.others += others;
            } else if self.counts.len() < COUNTED_MAX {
                let order = self.counts.len();
                self.counts.insert(name, Count { order, ..more });
            }
        }
        self.decide(layout, columns_max)
    }

    fn decide(&mut self, layout: &Layout, columns_max: usize) -> Option<Vec<(String, ColumnKind)>> {
        if self.samples < SAMPLES {
            return None;
        }
        let mut chosen = self.choose(columns_max - layout.promoted.len());
        chosen.retain(|(name, _)| layout.find(name).is_none());
        *self = Self { has_decided: true, ..self.branch() };
        (!chosen.is_empty()).then_some(chosen)
    }

    fn choose(&mut self, room: usize) -> Vec<(String, ColumnKind)> {
        let samples = self.samples;
        let mut chosen: Vec<_> = std::mem::take(&mut self.counts)
            .into_iter()
            .filter(|(_, count)| {
                count.with_kind * 100 >= samples * SHARE_MIN && count.others * 20 <= count.with_kind
            })
            .collect();
        // The most frequent have it; they stand in the order in which they came.
        chosen.sort_by_key(|(_, count)| (std::cmp::Reverse(count.with_kind), count.order));
        chosen.truncate(room);
        chosen.sort_by_key(|(_, count)| count.order);
        chosen.into_iter().map(|(name, count)| (name, count.kind)).collect()
    }
}
