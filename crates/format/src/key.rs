//! The leading key of a row, as a value: what ranges, tombstones and zone maps speak of.

use std::fmt;

/// One value of a stream's leading key column. Two keys of one stream are always of the
/// same variant, and compare by value.
///
/// ```
/// # use timestrata_format::LeadKey;
/// assert!(LeadKey::Time(-1) < LeadKey::Time(2));
/// assert_eq!(LeadKey::Time(i64::MAX).successor(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeadKey {
    /// Signed 64-bit time; the unit is the column's.
    Time(i64),
    /// Unsigned 64-bit offset.
    Offset(u64),
    /// 16-byte id, compared as bytes.
    Id16([u8; 16]),
    /// 32-byte id, compared as bytes.
    Id32([u8; 32]),
}

impl LeadKey {
    /// The smallest key greater than this one, `None` after the greatest.
    #[must_use]
    pub fn successor(self) -> Option<Self> {
        match self {
            Self::Time(time) => time.checked_add(1).map(Self::Time),
            Self::Offset(offset) => offset.checked_add(1).map(Self::Offset),
            Self::Id16(mut id) => increment(&mut id).then_some(Self::Id16(id)),
            Self::Id32(mut id) => increment(&mut id).then_some(Self::Id32(id)),
        }
    }

    /// The time that it is; `None` for a key of another kind.
    #[must_use]
    pub fn time(self) -> Option<i64> {
        match self {
            Self::Time(time) => Some(time),
            Self::Offset(_) | Self::Id16(_) | Self::Id32(_) => None,
        }
    }

    /// The same time in a unit of which `factor` make one of its own; `None` beyond what 64 bits hold, or for a key of
    /// another kind.
    ///
    /// ```
    /// # use timestrata_format::LeadKey;
    /// assert_eq!(LeadKey::Time(-2).in_finer_unit(1_000), Some(LeadKey::Time(-2_000)));
    /// assert_eq!(LeadKey::Time(i64::MAX).in_finer_unit(1_000), None);
    /// ```
    #[must_use]
    pub fn in_finer_unit(self, factor: i64) -> Option<Self> {
        self.time()?.checked_mul(factor).map(Self::Time)
    }

    /// Name of the variant, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Time(_) => "time",
            Self::Offset(_) => "offset",
            Self::Id16(_) => "16-byte id",
            Self::Id32(_) => "32-byte id",
        }
    }
}

/// Adds one to a big-endian number; false if it wrapped.
fn increment(bytes: &mut [u8]) -> bool {
    for byte in bytes.iter_mut().rev() {
        let (sum, carry) = byte.overflowing_add(1);
        *byte = sum;
        if !carry {
            return true;
        }
    }
    false
}

impl fmt::Display for LeadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => write!(f, "{time}"),
            Self::Offset(offset) => write!(f, "{offset}"),
            Self::Id16(id) => id.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Id32(id) => id.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// A half-open range of leading keys, `[lo, hi)`. A missing end is open: only a range with
/// no `hi` can hold the greatest key.
///
/// ```
/// # use timestrata_format::{KeyRange, LeadKey};
/// let range = KeyRange::times(1_000, 2_000);
/// assert!(range.contains(LeadKey::Time(1_000)) && !range.contains(LeadKey::Time(2_000)));
/// assert!(KeyRange::times(5, 5).is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyRange {
    /// First key in the range; `None`: from the smallest.
    pub lo: Option<LeadKey>,
    /// First key after the range; `None`: to the greatest, inclusive.
    pub hi: Option<LeadKey>,
}

impl KeyRange {
    /// Every key.
    pub const ALL: Self = Self { lo: None, hi: None };

    /// From the first key to the last, both inclusive.
    #[must_use]
    pub fn closed(first: LeadKey, last: LeadKey) -> Self {
        Self { lo: Some(first), hi: last.successor() }
    }

    /// `[lo, hi)`.
    pub fn new(lo: impl Into<Option<LeadKey>>, hi: impl Into<Option<LeadKey>>) -> Self {
        Self { lo: lo.into(), hi: hi.into() }
    }

    /// `[lo, hi)` of times; both ends given.
    pub fn times(lo: i64, hi: i64) -> Self {
        Self::new(LeadKey::Time(lo), LeadKey::Time(hi))
    }

    /// Just one key.
    pub fn point(key: LeadKey) -> Self {
        Self { lo: Some(key), hi: key.successor() }
    }

    /// Whether no key can be in it (`lo >= hi`).
    pub fn is_empty(&self) -> bool {
        matches!((self.lo, self.hi), (Some(lo), Some(hi)) if lo >= hi)
    }

    /// Whether it holds `key`.
    pub fn contains(&self, key: LeadKey) -> bool {
        self.lo.is_none_or(|lo| lo <= key) && self.hi.is_none_or(|hi| key < hi)
    }

    /// Whether it holds any key of the inclusive interval `[min, max]`.
    pub fn overlaps(&self, min: LeadKey, max: LeadKey) -> bool {
        !self.is_empty() && self.lo.is_none_or(|lo| lo <= max) && self.hi.is_none_or(|hi| min < hi)
    }

    /// Whether it holds every key of the inclusive interval `[min, max]`.
    pub fn covers(&self, min: LeadKey, max: LeadKey) -> bool {
        self.contains(min) && self.contains(max)
    }

    /// The range of the same times in a unit of which `factor` make one of theirs: it holds of what 64 bits can hold exactly the
    /// times that this one does. `None` where that is none, or for a range of other keys.
    ///
    /// ```
    /// # use timestrata_format::{KeyRange, LeadKey};
    /// assert_eq!(KeyRange::times(1, 3).in_finer_unit(1_000), Some(KeyRange::times(1_000, 3_000)));
    /// let open = KeyRange::new(LeadKey::Time(0), None);
    /// assert_eq!(KeyRange::times(0, i64::MAX).in_finer_unit(1_000), Some(open));
    /// assert_eq!(KeyRange::times(i64::MAX - 1, i64::MAX).in_finer_unit(1_000), None);
    /// ```
    #[must_use]
    pub fn in_finer_unit(&self, factor: i64) -> Option<Self> {
        let lo = match self.lo.map(LeadKey::time) {
            None => None,
            Some(lo) => match lo?.checked_mul(factor) {
                Some(lo) => Some(LeadKey::Time(lo)),
                None if lo? < 0 => None,
                None => return None,
            },
        };
        let hi = match self.hi.map(LeadKey::time) {
            None => None,
            Some(hi) => match hi?.checked_mul(factor) {
                Some(hi) => Some(LeadKey::Time(hi)),
                None if hi? > 0 => None,
                None => return None,
            },
        };
        Some(Self { lo, hi })
    }

    /// The keys that are in both.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        // No `lo` is the least, as `None` is; no `hi` is the greatest.
        let lo = self.lo.max(other.lo);
        Self { lo, hi: [self.hi, other.hi].into_iter().flatten().min() }
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lo {
            Some(lo) => write!(f, "[{lo}, ")?,
            None => write!(f, "[.., ")?,
        }
        match self.hi {
            Some(hi) => write!(f, "{hi})"),
            None => write!(f, "..]"),
        }
    }
}
