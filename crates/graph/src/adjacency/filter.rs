//! Which edges count: by their kind, and by the time from which on they are valid.

use std::sync::Arc;

/// A set of kinds; every kind unless told otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindFilter(Set);

/// The set as it is asked fastest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Set {
    #[default]
    All,
    One(u16),
    /// Kinds with numbers below 64, a bit each.
    Bits(u64),
    /// In order.
    List(Arc<[u16]>),
}

impl KindFilter {
    /// Every kind.
    pub const fn all() -> Self {
        Self(Set::All)
    }

    /// These kinds and no others; no edge if there are none.
    pub fn of(kinds: impl IntoIterator<Item = u16>) -> Self {
        let mut kinds: Vec<u16> = kinds.into_iter().collect();
        kinds.sort_unstable();
        kinds.dedup();
        Self(match (kinds.as_slice(), kinds.last()) {
            ([kind], _) => Set::One(*kind),
            (_, Some(64..)) => Set::List(kinds.into()),
            _ => Set::Bits(kinds.iter().fold(0, |bits, kind| bits | 1 << kind)),
        })
    }

    /// Whether a kind is in it.
    #[inline]
    pub fn has(&self, kind: u16) -> bool {
        match &self.0 {
            Set::All => true,
            Set::One(one) => *one == kind,
            Set::Bits(bits) => kind < 64 && bits >> kind & 1 == 1,
            Set::List(kinds) => kinds.binary_search(&kind).is_ok(),
        }
    }

    /// Whether every kind is in it.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.0 == Set::All
    }

    /// The kind, if there is only one in it.
    #[inline]
    pub(super) fn only(&self) -> Option<u16> {
        match self.0 {
            Set::One(kind) => Some(kind),
            _ => None,
        }
    }
}

/// Which edges count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EdgeFilter {
    /// Those of these kinds.
    pub kinds: KindFilter,
    /// Those valid at this time: edges with a later `valid_from` don't count. All without.
    pub as_of: Option<i64>,
}

impl EdgeFilter {
    /// Every edge.
    pub const fn all() -> Self {
        Self { kinds: KindFilter::all(), as_of: None }
    }

    /// Edges of these kinds, at any time.
    pub fn of_kinds(kinds: impl IntoIterator<Item = u16>) -> Self {
        Self { kinds: KindFilter::of(kinds), as_of: None }
    }

    /// Whether edges that are valid from then on count.
    #[inline]
    pub(super) fn has_time(&self, valid_from: i64) -> bool {
        self.as_of.is_none_or(|time| valid_from <= time)
    }
}
