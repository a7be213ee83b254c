//! Range deletes as pieces of the key space: disjoint, in key order, each with the newest delete
//! that holds its keys.
//!
//! That is all a reader needs. A delete hides the rows of a source that are older than it, so of all
//! deletes that hold a key the newest one decides, whatever the source.

use timestrata_format::{KeyRange, LeadKey, SeqNo, Tombstone};

/// So many pieces share a note of the newest delete among them, by which a search for newer ones
/// passes them over.
const STRIDE: usize = 32;

/// Disjoint ascending pieces, none empty.
#[derive(Debug)]
struct TombstonePieces {
    list: Vec<Tombstone>,
    /// The newest delete of each [`STRIDE`] of them.
    newest: Vec<SeqNo>,
}

impl TombstonePieces {
    fn new(list: Vec<Tombstone>) -> Self {
        let newest = list.chunks(STRIDE).map(|stride| {
            let seqs = stride.iter().map(|piece| piece.seq);
            seqs.max().unwrap_or_default()
        });
        Self { newest: newest.collect(), list }
    }

    /// The first piece of a delete newer than `than` that ends after `key` (`None`: the first of all).
    fn first_after(&self, key: Option<LeadKey>, than: SeqNo) -> Option<&Tombstone> {
        let mut index = self.list.partition_point(|piece| {
            visits::count();
            piece.range.hi.is_some_and(|hi| Some(hi) <= key)
        });
        while let Some(piece) = self.list.get(index) {
            visits::count();
            if piece.seq > than {
                return Some(piece);
            }
            index += 1;
            while index % STRIDE == 0
                && self.newest.get(index / STRIDE).is_some_and(|newest| *newest <= than)
            {
                visits::count();
                index += STRIDE;
            }
        }
        None
    }

    /// The last piece of a delete newer than `than` that begins before `key` (`None`: the last of all).
    fn last_before(&self, key: Option<LeadKey>, than: SeqNo) -> Option<&Tombstone> {
        let mut end = self.list.partition_point(|piece| {
            visits::count();
            key.is_none_or(|key| piece.range.lo < Some(key))
        });
        while let Some(piece) = end.checked_sub(1).and_then(|last| self.list.get(last)) {
            visits::count();
            if piece.seq > than {
                return Some(piece);
            }
            end -= 1;
            while end % STRIDE == 0
                && end > 0
                && self.newest.get(end / STRIDE - 1).is_some_and(|newest| *newest <= than)
            {
                visits::count();
                end -= STRIDE;
            }
        }
        None
    }
}

/// Some range deletes of a stream. Immutable, so that views share it.
#[derive(Debug)]
pub(super) struct Layer {
    pieces: TombstonePieces,
    /// The same keys without regard to which delete is whose, where that makes fewer pieces: what is
    /// hidden of a source that is older than all of the deletes.
    joined: Option<TombstonePieces>,
    oldest: SeqNo,
    newest: SeqNo,
}

impl Layer {
    /// Of one delete, which isn't empty.
    pub(super) fn one(tombstone: Tombstone) -> Self {
        Self::of(vec![tombstone])
    }

    /// Of disjoint ascending pieces.
    pub(super) fn of(list: Vec<Tombstone>) -> Self {
        let seqs = || list.iter().map(|piece| piece.seq);
        let (oldest, newest) = (seqs().min().unwrap_or_default(), seqs().max().unwrap_or_default());
        let mut joined = Vec::new();
        for piece in &list {
            push(&mut joined, Tombstone { seq: newest, ..*piece });
        }
        let joined = (joined.len() < list.len()).then(|| TombstonePieces::new(joined));
        Self { pieces: TombstonePieces::new(list), joined, oldest, newest }
    }

    /// What two layers tell together.
    pub(super) fn merged(&self, other: &Self) -> Self {
        Self::of(merged(&self.pieces.list, &other.pieces.list))
    }

    pub(super) fn pieces(&self) -> &[Tombstone] {
        &self.pieces.list
    }

    /// As few ranges as can be with the same keys, and the newest delete of all.
    pub(super) fn joined(&self) -> &[Tombstone] {
        &self.joined.as_ref().unwrap_or(&self.pieces).list
    }

    pub(super) fn oldest(&self) -> SeqNo {
        self.oldest
    }

    pub(super) fn newest(&self) -> SeqNo {
        self.newest
    }

    pub(super) fn bytes(&self) -> usize {
        let bytes = |pieces: &TombstonePieces| pieces.list.capacity() * size_of::<Tombstone>();
        size_of::<Self>() + bytes(&self.pieces) + self.joined.as_ref().map_or(0, bytes)
    }

    /// Whether a range holds all keys of this.
    pub(super) fn is_within(&self, range: &KeyRange) -> bool {
        let (Some(first), Some(last)) = (self.pieces.list.first(), self.pieces.list.last()) else {
            return true;
        };
        range.lo <= first.range.lo
            && range.hi.is_none_or(|hi| last.range.hi.is_some_and(|last| last <= hi))
    }

    /// Where to look for deletes newer than `than`.
    fn newer(&self, than: SeqNo) -> Option<&TombstonePieces> {
        match &self.joined {
            _ if self.newest <= than => None,
            Some(joined) if self.oldest > than => Some(joined),
            _ => Some(&self.pieces),
        }
    }

    /// The newest delete of a key.
    pub(super) fn newest_at(&self, key: LeadKey) -> Option<SeqNo> {
        let found = self.pieces.first_after(Some(key), SeqNo::default())?;
        found.range.contains(key).then_some(found.seq)
    }

    /// The first hole of deletes newer than `than` that ends after `key` (`None`: the first of all).
    pub(super) fn first_after(&self, key: Option<LeadKey>, than: SeqNo) -> Option<KeyRange> {
        self.newer(than)?.first_after(key, than).map(|piece| piece.range)
    }

    /// The last hole of deletes newer than `than` that begins before `key` (`None`: the last of all).
    pub(super) fn last_before(&self, key: Option<LeadKey>, than: SeqNo) -> Option<KeyRange> {
        self.newer(than)?.last_before(key, than).map(|piece| piece.range)
    }

    /// Whether one of the deletes after `after` and up to `through` holds a key of the inclusive
    /// `[min, max]`.
    pub(super) fn has_between(
        &self,
        (min, max): (LeadKey, LeadKey),
        after: SeqNo,
        through: SeqNo,
    ) -> bool {
        if self.newest <= after || through < self.oldest {
            return false;
        }
        let list = &self.pieces.list;
        let start = list.partition_point(|piece| piece.range.hi.is_some_and(|hi| hi <= min));
        let met =
            list[start..].iter().take_while(|piece| piece.range.lo.is_none_or(|lo| lo <= max));
        met.into_iter().any(|piece| after < piece.seq && piece.seq <= through)
    }
}

/// Adds a piece behind all others; one with theirs where they touch and are of one delete.
fn push(list: &mut Vec<Tombstone>, piece: Tombstone) {
    match list.last_mut() {
        Some(last) if last.seq == piece.seq && last.range.hi == piece.range.lo => {
            last.range.hi = piece.range.hi;
        }
        _ => list.push(piece),
    }
}

/// Both lists as one, of each key the newest delete.
fn merged(a: &[Tombstone], b: &[Tombstone]) -> Vec<Tombstone> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().copied(), b.iter().copied());
    let (mut x, mut y) = (a.next(), b.next());
    loop {
        let (first, second) = match (x, y) {
            (Some(first), Some(second)) => (first, second),
            (None, None) => return all,
            (Some(rest), None) | (None, Some(rest)) => {
                push(&mut all, rest);
                (x, y) = (a.next(), b.next());
                continue;
            }
        };
        if second.range.lo < first.range.lo {
            std::mem::swap(&mut a, &mut b);
            (x, y) = (Some(second), Some(first));
            continue;
        }
        if first.range.lo < second.range.lo {
            let hi = least_end(first.range.hi, second.range.lo);
            push(&mut all, Tombstone { range: KeyRange { lo: first.range.lo, hi }, ..first });
            x = behind(first, hi).or_else(|| a.next());
            continue;
        }
        let hi = least_end(first.range.hi, second.range.hi);
        let range = KeyRange { lo: first.range.lo, hi };
        push(&mut all, Tombstone { range, seq: first.seq.max(second.seq) });
        x = behind(first, hi).or_else(|| a.next());
        y = behind(second, hi).or_else(|| b.next());
    }
}

/// The lesser of two ends; `None` is behind all keys.
pub(super) fn least_end(a: Option<LeadKey>, b: Option<LeadKey>) -> Option<LeadKey> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// What is left of a piece from `hi` on.
fn behind(piece: Tombstone, hi: Option<LeadKey>) -> Option<Tombstone> {
    if piece.range.hi == hi {
        return None;
    }
    Some(Tombstone { range: KeyRange { lo: hi, hi: piece.range.hi }, ..piece })
}

/// How many pieces searches have looked at, for tests that count.
pub(crate) mod visits {
    #[cfg(test)]
    thread_local! {
        static VISITS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    #[inline]
    pub(super) fn count() {
        #[cfg(test)]
        VISITS.with(|visits| visits.set(visits.get() + 1));
    }

    /// Of this thread, since the last call.
    #[cfg(test)]
    pub(crate) fn take() -> u64 {
        VISITS.with(std::cell::Cell::take)
    }
}
