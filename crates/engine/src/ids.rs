//! Numbers for keys, of groups and of series: 0 for the first key that is seen, 1 for the next other one.
//!
//! Keys of rows that come by time repeat: a minute for all of its rows, a few hundred symbols again
//! and again. So a small table of the keys seen last is asked first. Its answer costs one comparison,
//! which the processor does for several rows at once; a hash table answers for the rest.

use hashbrown::HashTable;

/// Places in the table of keys seen last: it stays in the processor's first cache.
const RECENT: usize = 1 << RECENT_BITS;
const RECENT_BITS: u32 = 10;
/// An odd number of which half of the bits are ones, spread: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is numbered.
///
/// ```
/// use timestrata_engine::ids::Key;
///
/// assert_ne!(1_u64.hash(), 2_u64.hash());
/// ```
pub trait Key: Copy + Eq + Default {
    /// Equal keys have the same one, and others mostly another.
    fn hash(self) -> u64;

    /// A quicker one, of which only the upper bits tell keys apart.
    fn quick_hash(self) -> u64;
}

impl Key for u64 {
    #[inline]
    fn hash(self) -> u64 {
        let product = u128::from(self ^ SPREAD) * u128::from(SPREAD);
        (product >> 64) as u64 ^ product as u64
    }

    #[inline]
    fn quick_hash(self) -> u64 {
        self.wrapping_mul(SPREAD)
    }
}

impl Key for u128 {
    #[inline]
    fn hash(self) -> u64 {
        folded(self).hash()
    }

    #[inline]
    fn quick_hash(self) -> u64 {
        folded(self).quick_hash()
    }
}

fn folded(key: u128) -> u64 {
    ((key >> 64) as u64).wrapping_mul(SPREAD).rotate_left(32).wrapping_add(key as u64)
}

#[derive(Debug, Clone, Copy, Default)]
struct Recent<K> {
    key: K,
    /// One more than the key's number; 0: no key.
    next: usize,
}

/// The numbers of keys.
///
/// ```
/// use timestrata_engine::ids::Ids;
///
/// let mut ids = Ids::default();
/// assert_eq!([ids.of(70_u64), ids.of(50), ids.of(70), ids.of_null()], [0, 1, 0, 2]);
/// assert_eq!(ids.take().collect::<Vec<_>>(), [Some(70), Some(50), None]);
/// ```
#[derive(Debug)]
pub struct Ids<K> {
    recent: Box<[Recent<K>; RECENT]>,
    table: HashTable<usize>,
    /// By number.
    keys: Vec<K>,
    null: Option<usize>,
}

impl<K: Key> Default for Ids<K> {
    fn default() -> Self {
        Self {
            recent: Box::new([Recent::default(); RECENT]),
            table: HashTable::new(),
            keys: Vec::new(),
            null: None,
        }
    }
}

impl<K: Key> Ids<K> {
    /// How many keys have a number, "none" among them.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether none has one.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The number of a key.
    #[inline]
    pub fn of(&mut self, key: K) -> usize {
        let place = (key.quick_hash() >> (u64::BITS - RECENT_BITS)) as usize % RECENT;
        let recent = self.recent[place];
        if recent.next > 0 && recent.key == key {
            return recent.next - 1;
        }
        let number = self.look_up(key);
        self.recent[place] = Recent { key, next: number + 1 };
        number
    }

    #[inline(never)]
    fn look_up(&mut self, key: K) -> usize {
        let Self { table, keys, .. } = self;
        let hash = key.hash();
        let is_same = |number: &usize| keys.get(*number) == Some(&key);
        if let Some(number) = table.find(hash, is_same) {
            return *number;
        }
        let number = keys.len();
        keys.push(key);
        table.insert_unique(hash, number, |number| {
            keys.get(*number).copied().unwrap_or_default().hash()
        });
        number
    }

    /// The number of "no value".
    pub fn of_null(&mut self) -> usize {
        *self.null.get_or_insert_with(|| {
            self.keys.push(K::default());
            self.keys.len() - 1
        })
    }

    /// All keys by their numbers, `None` for "no value"; no key has a number any more.
    pub fn take(&mut self) -> impl Iterator<Item = Option<K>> + use<K> {
        let null = self.null.take();
        self.table = HashTable::new();
        *self.recent = [Recent::default(); RECENT];
        let keys = std::mem::take(&mut self.keys).into_iter().enumerate();
        keys.map(move |(number, key)| (Some(number) != null).then_some(key))
    }

    /// Bytes in memory.
    pub fn size(&self) -> usize {
        size_of_val(&*self.recent)
            + self.table.allocation_size()
            + self.keys.capacity() * size_of::<K>()
    }
}

/// Values that are held against the one before them together, without a branch for each.
const AT_ONCE: usize = 16;

/// Appends the number of each value, which is mostly that of its neighbour where rows lie by series or by time.
///
/// ```
/// use timestrata_engine::ids::{Ids, number_each};
///
/// let (mut ids, mut numbers) = (Ids::default(), Vec::new());
/// number_each(&[70_u64, 70, 50], &mut numbers, |value| ids.of(value));
/// assert_eq!(numbers, [0, 0, 1]);
/// ```
pub fn number_each<V: Copy + PartialEq>(
    values: &[V],
    numbers: &mut Vec<usize>,
    mut number_of: impl FnMut(V) -> usize,
) {
    let mut last = None;
    for values in values.chunks(AT_ONCE) {
        match last {
            Some((value, number)) if values.iter().fold(true, |same, v| same & (*v == value)) => {
                numbers.resize(numbers.len() + values.len(), number);
            }
            _ => numbers.extend(values.iter().map(|value| match last {
                Some((same, number)) if same == *value => number,
                _ => {
                    let number = number_of(*value);
                    last = Some((*value, number));
                    number
                }
            })),
        }
    }
}

/// Replaces numbers by those of the pairs that they are with others.
///
/// ```
/// use timestrata_engine::ids::{Ids, number_pairs};
///
/// let (mut ids, mut numbers) = (Ids::default(), vec![0, 0, 1, 0]);
/// number_pairs(&mut numbers, &[5, 6, 5, 5], |one, other| ids.of((one * 10 + other) as u64));
/// assert_eq!(numbers, [0, 1, 2, 0]);
/// ```
pub fn number_pairs(
    numbers: &mut [usize],
    others: &[usize],
    mut number_of: impl FnMut(usize, usize) -> usize,
) {
    let mut last = None;
    for (numbers, others) in numbers.chunks_mut(AT_ONCE).zip(others.chunks(AT_ONCE)) {
        let mut pairs = numbers.iter_mut().zip(others);
        if let Some(((one, other), number)) = last
            && pairs.by_ref().fold(true, |same, (n, o)| same & (*n == one) & (*o == other))
        {
            numbers.fill(number);
            continue;
        }
        for (slot, other) in numbers.iter_mut().zip(others) {
            let pair = (*slot, *other);
            *slot = match last {
                Some((same, number)) if same == pair => number,
                _ => number_of(pair.0, pair.1),
            };
            last = Some((pair, *slot));
        }
    }
}
