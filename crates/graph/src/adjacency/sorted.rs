//! A sorted map whose copies share what they have in common.

use std::sync::Arc;

/// Entries of a leaf at most, and leaves of a branch. A change copies one leaf, one branch, and the
/// list of branches: these keep all three short up to some millions of entries.
const LEAF_ENTRIES: usize = 128;
const BRANCH_LEAVES: usize = 64;

/// What lies below a key, shared by all copies that have the same.
#[derive(Debug)]
struct Below<K, T> {
    /// None of its keys is before this one, but for what lies first of all: nothing else could
    /// have the keys before.
    first: K,
    items: Arc<Vec<T>>,
}

type Leaf<K, V> = Below<K, (K, V)>;
type Branch<K, V> = Below<K, Leaf<K, V>>;

impl<K: Copy, T> Clone for Below<K, T> {
    fn clone(&self) -> Self {
        Self { first: self.first, items: Arc::clone(&self.items) }
    }
}

impl<K: Copy + Ord, T: Clone> Below<K, T> {
    fn new(first: K, items: Vec<T>) -> Self {
        Self { first, items: Arc::new(items) }
    }

    /// Its items, of which nobody else has them: a copy if others do. There is room for one more.
    fn own(&mut self, items_max: usize) -> &mut Vec<T> {
        if Arc::get_mut(&mut self.items).is_none() {
            let mut items = Vec::with_capacity(items_max);
            items.extend_from_slice(&self.items);
            self.items = Arc::new(items);
        }
        Arc::make_mut(&mut self.items)
    }

    /// Of several in order, the one that has a key if any does.
    fn place_of(several: &[Self], key: &K) -> usize {
        several.partition_point(|below| below.first <= *key).saturating_sub(1)
    }
}

/// A map of which copies are cheap: those of a leaf that several have are only made by whoever
/// changes it. Entries are replaced, but never taken out.
#[derive(Debug, Clone)]
pub(super) struct Sorted<K: Copy, V> {
    branches: Vec<Branch<K, V>>,
    len: usize,
}

/// A place in a map: branch, leaf and entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SortedPlace {
    branch: u32,
    leaf: u16,
    entry: u16,
}

impl<K: Copy, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self { branches: Vec::new(), len: 0 }
    }
}

impl<K: Copy + Ord, V: Copy> Sorted<K, V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn leaves(&self) -> impl Iterator<Item = &Leaf<K, V>> {
        self.branches.iter().flat_map(|branch| branch.items.iter())
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        let leaves = &self.branches.get(Below::place_of(&self.branches, key))?.items;
        let entries = &leaves.get(Below::place_of(leaves, key))?.items;
        let place = entries.binary_search_by(|(own, _)| own.cmp(key)).ok()?;
        entries.get(place).map(|(_, value)| value)
    }

    /// Puts a value, in place of the one its key has.
    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.branches.is_empty() {
            let leaf = Below::new(key, Vec::with_capacity(LEAF_ENTRIES));
            self.branches.push(Below::new(key, vec![leaf]));
        }
        let branch_place = Below::place_of(&self.branches, &key);
        let Some(branch) = self.branches.get_mut(branch_place) else { return };
        let leaves = branch.own(BRANCH_LEAVES);
        let leaf_place = Below::place_of(leaves, &key);
        let Some(leaf) = leaves.get_mut(leaf_place) else { return };
        let entries = leaf.own(LEAF_ENTRIES);
        match entries.binary_search_by(|(own, _)| own.cmp(&key)) {
            Ok(place) => {
                if let Some(entry) = entries.get_mut(place) {
                    entry.1 = value;
                }
                return;
            }
            Err(place) => entries.insert(place, (key, value)),
        }
        self.len += 1;
        if entries.len() < LEAF_ENTRIES {
            return;
        }
        let behind = half_of(entries, LEAF_ENTRIES);
        if let Some((first, _)) = behind.first() {
            leaves.insert(leaf_place + 1, Below::new(*first, behind));
        }
        if leaves.len() < BRANCH_LEAVES {
            return;
        }
        let behind = half_of(leaves, BRANCH_LEAVES);
        if let Some(Leaf { first, .. }) = behind.first() {
            self.branches.insert(branch_place + 1, Below::new(*first, behind));
        }
    }

    /// The place of the first entry that is not before a key.
    pub(super) fn seek(&self, key: &K) -> SortedPlace {
        let branch = Below::place_of(&self.branches, key);
        let leaves = self.branches.get(branch).map(|branch| branch.items.as_slice());
        let leaves = leaves.unwrap_or_default();
        let leaf = Below::place_of(leaves, key);
        let entries = leaves.get(leaf).map(|leaf| leaf.items.as_slice()).unwrap_or_default();
        let entry = entries.partition_point(|(own, _)| own < key);
        SortedPlace { branch: branch as u32, leaf: leaf as u16, entry: entry as u16 }
    }

    /// The entry at a place, or the first behind it, to which the place is moved.
    #[inline]
    pub(super) fn at(&self, place: &mut SortedPlace) -> Option<&(K, V)> {
        loop {
            let branch = self.branches.get(place.branch as usize)?;
            let Some(leaf) = branch.items.get(usize::from(place.leaf)) else {
                *place = SortedPlace { branch: place.branch + 1, leaf: 0, entry: 0 };
                continue;
            };
            if let Some(entry) = leaf.items.get(usize::from(place.entry)) {
                return Some(entry);
            }
            *place = SortedPlace { leaf: place.leaf + 1, entry: 0, ..*place };
        }
    }

    /// All entries from a key on.
    pub(super) fn from(&self, key: K) -> impl Iterator<Item = &(K, V)> {
        let mut place = self.seek(&key);
        std::iter::from_fn(move || {
            let entry = self.at(&mut place)?;
            place.forward();
            Some(entry)
        })
    }

    /// All entries but for those of leaves that an older copy has as well: every entry that is new
    /// or replaced since is among them.
    pub(super) fn newer_than<'a>(&'a self, older: &Self) -> impl Iterator<Item = &'a (K, V)> {
        let mut shared: Vec<_> = older.leaves().map(|leaf| Arc::as_ptr(&leaf.items)).collect();
        shared.sort_unstable();
        let is_newer =
            move |leaf: &&Leaf<K, V>| shared.binary_search(&Arc::as_ptr(&leaf.items)).is_err();
        self.leaves().filter(is_newer).flat_map(|leaf| leaf.items.iter())
    }
}

/// Takes the second half of a full list, as one that has room for as much.
fn half_of<T>(items: &mut Vec<T>, items_max: usize) -> Vec<T> {
    let mut behind = Vec::with_capacity(items_max);
    behind.extend(items.drain(items_max / 2..));
    behind
}

impl SortedPlace {
    #[inline]
    pub(super) fn forward(&mut self) {
        self.entry += 1;
    }
}
