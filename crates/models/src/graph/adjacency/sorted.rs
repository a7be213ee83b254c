//! A sorted map whose copies share what they have in common.

use std::sync::Arc;

/// Entries of a leaf at most. A change copies one leaf and the list of all: with more entries the
/// leaves would be long to copy, with fewer the list.
const LEAF_ENTRIES: usize = 256;

type Entries<K, V> = Vec<(K, V)>;

#[derive(Debug)]
struct Leaf<K, V> {
    /// The first key of it, or one before that.
    first: K,
    entries: Arc<Entries<K, V>>,
}

impl<K: Copy, V> Clone for Leaf<K, V> {
    fn clone(&self) -> Self {
        Self { first: self.first, entries: Arc::clone(&self.entries) }
    }
}

/// A map of which copies are cheap: those of a leaf that several have are only made by whoever
/// changes it. Entries are replaced, but never taken out.
#[derive(Debug, Clone)]
pub(super) struct Sorted<K: Copy, V> {
    leaves: Vec<Leaf<K, V>>,
    len: usize,
}

/// A place in a map: leaf and entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    leaf: u32,
    entry: u32,
}

impl<K: Copy, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self { leaves: Vec::new(), len: 0 }
    }
}

impl<K: Copy + Ord, V: Copy> Sorted<K, V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        let entries: usize = self.leaves.iter().map(|leaf| leaf.entries.capacity()).sum();
        entries * size_of::<(K, V)>() + self.leaves.capacity() * size_of::<Leaf<K, V>>()
    }

    /// The leaf that has a key, if any has it.
    fn leaf_of(&self, key: &K) -> usize {
        self.leaves.partition_point(|leaf| leaf.first <= *key).saturating_sub(1)
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        let entries = &self.leaves.get(self.leaf_of(key))?.entries;
        let place = entries.binary_search_by(|(own, _)| own.cmp(key)).ok()?;
        entries.get(place).map(|(_, value)| value)
    }

    /// Puts a value, in place of the one its key has.
    pub(super) fn insert(&mut self, key: K, value: V) {
        let index = self.leaf_of(&key);
        let Some(leaf) = self.leaves.get_mut(index) else {
            let mut entries = Vec::with_capacity(LEAF_ENTRIES);
            entries.push((key, value));
            self.leaves.push(Leaf { first: key, entries: Arc::new(entries) });
            self.len = 1;
            return;
        };
        leaf.first = leaf.first.min(key);
        let entries = Arc::make_mut(&mut leaf.entries);
        match entries.binary_search_by(|(own, _)| own.cmp(&key)) {
            Ok(place) => {
                if let Some(entry) = entries.get_mut(place) {
                    entry.1 = value;
                }
            }
            Err(place) => {
                entries.insert(place, (key, value));
                self.len += 1;
                if entries.len() >= LEAF_ENTRIES {
                    let behind = entries.split_off(LEAF_ENTRIES / 2);
                    self.insert_leaf(index + 1, behind);
                }
            }
        }
    }

    fn insert_leaf(&mut self, index: usize, entries: Entries<K, V>) {
        if let Some((first, _)) = entries.first() {
            let first = *first;
            self.leaves.insert(index, Leaf { first, entries: Arc::new(entries) });
        }
    }

    /// The place of the first entry that is not before a key.
    pub(super) fn seek(&self, key: &K) -> Place {
        let leaf = self.leaf_of(key);
        let entries = self.leaves.get(leaf).map(|leaf| leaf.entries.as_slice());
        let entry = entries.unwrap_or_default().partition_point(|(own, _)| own < key);
        Place { leaf: leaf as u32, entry: entry as u32 }
    }

    /// The entry at a place, or the first behind it, to which the place is moved.
    #[inline]
    pub(super) fn at(&self, place: &mut Place) -> Option<&(K, V)> {
        loop {
            let leaf = self.leaves.get(place.leaf as usize)?;
            if let Some(entry) = leaf.entries.get(place.entry as usize) {
                return Some(entry);
            }
            *place = Place { leaf: place.leaf + 1, entry: 0 };
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
        let mut shared: Vec<_> =
            older.leaves.iter().map(|leaf| Arc::as_ptr(&leaf.entries)).collect();
        shared.sort_unstable();
        let is_newer =
            move |leaf: &&Leaf<K, V>| shared.binary_search(&Arc::as_ptr(&leaf.entries)).is_err();
        self.leaves.iter().filter(is_newer).flat_map(|leaf| leaf.entries.iter())
    }
}

impl Place {
    #[inline]
    pub(super) fn forward(&mut self) {
        self.entry += 1;
    }
}
