//! Range deletes, for those who read past them.
//!
//! A stream may have very many, and each write is followed by a new view. So they are kept in
//! layers, which are immutable and shared by all views: a delete becomes a layer of its own, and
//! layers of about one size are merged, so that there are as many as the logarithm of their number,
//! each is searched by halves, and a delete is copied a logarithmic number of times. One that holds
//! all that layers before it hold takes their place: a stream that again and again lets go of all
//! before some time has one.
//!
//! Invariant: for each key the layers tell the newest delete that holds it. Which row an older one
//! hides doesn't matter any more: the newest hides it as well. A view, being of one commit, keeps the
//! layers that it was made with.

mod layer;
#[cfg(test)]
mod tests;
mod visible;

use std::sync::Arc;

use timestrata_format::{KeyRange, LeadKey, SeqNo, Tombstone};

use self::layer::Layer;
#[cfg(test)]
pub(crate) use self::layer::visits;
pub(crate) use self::visible::Visible;

/// A set of range deletes. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tombstones {
    /// The larger ones first, where deletes came one by one; `None`: no delete.
    layers: Option<Arc<Vec<Arc<Layer>>>>,
}

impl Tombstones {
    /// Of any deletes.
    pub(crate) fn of(list: impl IntoIterator<Item = Tombstone>) -> Self {
        let mut all = Self::default();
        list.into_iter().for_each(|tombstone| all.add(tombstone));
        all
    }

    /// Of ranges that are disjoint and in key order.
    pub(crate) fn of_pieces(pieces: Vec<Tombstone>) -> Self {
        match pieces.is_empty() {
            true => Self::default(),
            false => Self { layers: Some(Arc::new(vec![Arc::new(Layer::of(pieces))])) },
        }
    }

    /// What several sets tell together.
    pub(crate) fn union<'a>(sets: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sets = sets.into_iter().filter(|set| !set.is_empty());
        let Some(first) = sets.next() else { return Self::default() };
        let mut all = first.clone();
        for set in sets {
            let layers = all.layers.get_or_insert_default();
            Arc::make_mut(layers).extend(set.layers().iter().cloned());
        }
        all
    }

    /// The same in one layer.
    #[must_use]
    pub(crate) fn flat(&self) -> Self {
        if self.layers().len() < 2 {
            return self.clone();
        }
        // The small ones first.
        let mut layers: Vec<Arc<Layer>> = self.layers().to_vec();
        layers.sort_by_key(|layer| std::cmp::Reverse(layer.pieces().len()));
        while let (Some(one), Some(other)) = (layers.pop(), layers.pop()) {
            layers.push(Arc::new(other.merged(&one)));
            if layers.len() == 1 {
                break;
            }
        }
        Self { layers: Some(Arc::new(layers)) }
    }

    /// Adds a delete.
    pub(crate) fn add(&mut self, tombstone: Tombstone) {
        if tombstone.range.is_empty() {
            return;
        }
        let layers = Arc::make_mut(self.layers.get_or_insert_default());
        layers.retain(|layer| layer.newest() > tombstone.seq || !layer.is_within(&tombstone.range));
        let mut last = Layer::one(tombstone);
        while let Some(before) =
            layers.pop_if(|before| before.pieces().len() < 2 * last.pieces().len())
        {
            last = before.merged(&last);
        }
        layers.push(Arc::new(last));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.layers.is_none()
    }

    /// Pieces held: no more than twice as many as there are deletes, and one more.
    pub(crate) fn len(&self) -> usize {
        self.layers().iter().map(|layer| layer.pieces().len()).sum()
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.layers().iter().map(|layer| layer.bytes()).sum()
    }

    /// The commit of the newest; `None` without any.
    pub(crate) fn newest(&self) -> Option<SeqNo> {
        self.layers().iter().map(|layer| layer.newest()).max()
    }

    /// Disjoint ranges in key order, each with its newest delete.
    pub(crate) fn pieces(&self) -> Vec<Tombstone> {
        self.flat().layers().iter().flat_map(|layer| layer.pieces()).copied().collect()
    }

    /// As few ranges as can be, as if all deletes were the newest of them. That is the same for every
    /// source that is older than all of them or newer than all.
    pub(crate) fn joined(&self) -> Vec<Tombstone> {
        self.flat().layers().iter().flat_map(|layer| layer.joined()).copied().collect()
    }

    /// Those of commits up to `seq`; of keys with later ones too, maybe none.
    #[must_use]
    pub(crate) fn through(&self, seq: SeqNo) -> Self {
        if self.newest().is_none_or(|newest| newest <= seq) {
            return self.clone();
        }
        let pieces = self.layers().iter().flat_map(|layer| layer.pieces());
        Self::of(pieces.filter(|piece| piece.seq <= seq).copied())
    }

    /// Whether one is of a commit after `last` and before `seq`.
    pub(crate) fn any_between(&self, last: SeqNo, seq: SeqNo) -> bool {
        self.layers().iter().any(|layer| {
            let is_between = |piece: &Tombstone| last < piece.seq && piece.seq < seq;
            layer.newest() > last && layer.oldest() < seq && layer.pieces().iter().any(is_between)
        })
    }

    /// The newest delete of a key.
    #[inline]
    pub(crate) fn newest_at(&self, key: LeadKey) -> Option<SeqNo> {
        self.layers().iter().filter_map(|layer| layer.newest_at(key)).max()
    }

    /// What may be seen of a source in `range`: it has heeded the deletes up to `than`, and its keys are in
    /// the inclusive `[min, max]`. `None`: nothing.
    pub(crate) fn visible(
        &self,
        range: &KeyRange,
        than: SeqNo,
        (min, max): (LeadKey, LeadKey),
    ) -> Option<Visible> {
        if !range.overlaps(min, max) {
            return None;
        }
        if self.newest().is_none_or(|newest| newest <= than) {
            return Some(Visible::new(*range, Self::default(), than));
        }
        let visible = Visible::new(*range, self.clone(), than);
        visible.first_overlap(min, max).map(|_| visible)
    }

    /// Whether a delete after `after` and up to `through` holds a key of the inclusive `[min, max]` and
    /// is the newest one that does.
    pub(crate) fn has_between(
        &self,
        keys: (LeadKey, LeadKey),
        after: SeqNo,
        through: SeqNo,
    ) -> bool {
        self.layers().iter().any(|layer| layer.has_between(keys, after, through))
    }

    fn layers(&self) -> &[Arc<Layer>] {
        self.layers.as_ref().map_or(&[], |layers| layers.as_slice())
    }
}
