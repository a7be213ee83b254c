//! Rows of a block by series: those with the same values in some columns lie together, in the order of the key.
//!
//! ```text
//!    in the order of the key          as they are stored
//!    time  host  cpu                  time  host  cpu   place in the order of the key
//!      10  b      95                    10  a      12   1
//!      10  a      12                    20  a      14   2
//!      20  a      14                    10  b      95   0
//!      20  b      91                    20  b      91   3
//! ```
//!
//! Who asks for one series then reads a few pages of each block, and not all of them; and neighbours are alike, so
//! that they take less room. What the order of the key costs is the places, which rise evenly within a series
//! that comes evenly.

mod keys;

use std::cmp::Ordering;
use std::hash::BuildHasher;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_schema::ArrowError;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use self::keys::SeriesKey;
use super::block_builder::Block;
use crate::ids::Ids;

/// The name of the column of places, which is a file's last.
pub(super) const PLACE_COLUMN: &str = "timestrata.place";

/// Of the `columns` as many as are needed to tell the series of a block apart, the one that tells most of them first,
/// and how many series there are; none where rows could not lie together by them.
///
/// # Errors
/// Arrow's, of a block that lacks one of the columns.
pub(super) fn telling(block: &Block, columns: &[usize]) -> Result<(Vec<usize>, usize), ArrowError> {
    let tags = block.project(columns)?;
    let told = |places: &[usize]| Some(Numbered::of(&values_of(&tags, places)?).firsts.len());
    let each = (0..columns.len()).filter_map(|place| Some((told(&[place])?, place)));
    let mut usable: Vec<(usize, usize)> = each.collect();
    usable.sort_by_key(|(tells, _)| std::cmp::Reverse(*tells));
    let first = usable.first().map_or(0, |(tells, _)| *tells);
    let usable: Vec<usize> = usable.into_iter().map(|(_, place)| place).collect();
    let most = if usable.len() > 1 { told(&usable).unwrap_or(0) } else { first };
    // What the first one tells, and all of them, is known.
    let tells = |count: usize| match count {
        1 => Some(first),
        count if count == usable.len() => Some(most),
        count => told(usable.get(..count)?),
    };
    let fewest = (1..=usable.len()).find(|count| tells(*count) == Some(most));
    // Of one there is nothing to tell apart.
    let chosen = fewest.filter(|_| most > 1).and_then(|count| usable.get(..count));
    let chosen = chosen.unwrap_or_default().iter();
    Ok((chosen.filter_map(|place| columns.get(*place).copied()).collect(), most))
}

/// The rows of a block by series: for each place the row that lies there. `None` where a column has a type that
/// rows can't lie by.
///
/// # Errors
/// Arrow's, of a block that lacks one of the columns.
pub(super) fn by_series(
    block: &Block,
    columns: &[usize],
) -> Result<Option<UInt32Array>, ArrowError> {
    let tags = block.project(columns)?;
    let places: Vec<usize> = (0..columns.len()).collect();
    Ok(values_of(&tags, &places).map(|values| order_of(&values)))
}

fn order_of(values: &[SeriesValues<'_>]) -> UInt32Array {
    let Numbered { ids, firsts } = Numbered::of(values);
    let mut order: Vec<usize> = (0..firsts.len()).collect();
    order.sort_unstable_by(|a, b| compare(values, firsts[*a], firsts[*b]));
    let mut counts = vec![0_u32; firsts.len()];
    ids.iter().for_each(|id| counts[*id as usize] += 1);
    // Where the rows of each series begin.
    let mut next = vec![0_u32; firsts.len()];
    let mut begin = 0;
    for id in order {
        next[id] = begin;
        begin += counts[id];
    }
    let mut rows = vec![0_u32; ids.len()];
    for (row, id) in (0_u32..).zip(&ids) {
        let place = &mut next[*id as usize];
        rows[*place as usize] = row;
        *place += 1;
    }
    UInt32Array::from(rows)
}

/// The opposite: for each row in the order of the key the place where it lies. `None` where what a file says are not the
/// places of so many rows, each once.
pub(super) fn by_key(rows: &UInt32Array) -> Option<UInt32Array> {
    const NOWHERE: u32 = u32::MAX;
    if rows.null_count() > 0 {
        return None;
    }
    let mut places = vec![NOWHERE; rows.len()];
    for (place, row) in (0_u32..).zip(rows.values()) {
        let slot = places.get_mut(usize::try_from(*row).ok()?)?;
        if *slot != NOWHERE {
            return None;
        }
        *slot = place;
    }
    Some(UInt32Array::from(places))
}

/// The values of a column that rows lie by.
pub(super) enum SeriesValues<'a> {
    Text(&'a StringArray),
    /// Numbers and times, as their bytes.
    Fixed {
        bytes: &'a [u8],
        width: usize,
        nulls: Option<&'a NullBuffer>,
    },
}

impl SeriesValues<'_> {
    /// How many there are.
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Fixed { bytes, width, .. } => bytes.len() / width.max(&1),
        }
    }

    /// The bytes of a value; `None`: it is null.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Text(text) => text.is_valid(row).then(|| text.value(row).as_bytes()),
            Self::Fixed { bytes, width, nulls } => {
                let is_there = nulls.is_none_or(|nulls| nulls.is_valid(row));
                is_there.then(|| bytes.get(row * width..(row + 1) * width)).flatten()
            }
        }
    }
}

/// All columns of a batch; `None` where one has a type that rows can't lie by.
pub(super) fn values_of_columns(tags: &RecordBatch) -> Option<Vec<SeriesValues<'_>>> {
    tags.columns().iter().map(values).collect()
}

fn values_of<'a>(block: &'a RecordBatch, columns: &[usize]) -> Option<Vec<SeriesValues<'a>>> {
    columns.iter().map(|column| values(block.columns().get(*column)?)).collect()
}

fn values(column: &ArrayRef) -> Option<SeriesValues<'_>> {
    if let Some(text) = column.as_string_opt::<i32>() {
        return Some(SeriesValues::Text(text));
    }
    let width = column.data_type().primitive_width()?;
    arrow_array::downcast_primitive_array!(
        column => {
            let bytes = column.values().inner().as_slice();
            Some(SeriesValues::Fixed { bytes, width, nulls: column.nulls() })
        },
        _ => None,
    )
}

/// A column of text.
pub(super) fn values_of_text(texts: &StringArray) -> SeriesValues<'_> {
    SeriesValues::Text(texts)
}

fn is_same(values: &[SeriesValues<'_>], one: usize, other: usize) -> bool {
    values.iter().all(|column| column.get(one) == column.get(other))
}

/// Text as text; what else there is in an order that is always the same. Nulls come last.
fn compare(values: &[SeriesValues<'_>], one: usize, other: usize) -> Ordering {
    let each = values.iter().map(|column| match (column.get(one), column.get(other)) {
        (Some(one), Some(other)) => one.cmp(other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    });
    each.fold(Ordering::Equal, Ordering::then)
}

/// The series of a block, numbered as they come.
pub(super) struct Numbered {
    /// Of each row.
    pub(super) ids: Vec<u32>,
    /// The first row of each.
    pub(super) firsts: Vec<usize>,
}

impl Numbered {
    /// The series of rows that some columns tell apart.
    pub(super) fn of(values: &[SeriesValues<'_>]) -> Self {
        Self::by_keys::<u64>(values)
            .or_else(|| Self::by_keys::<u128>(values))
            .unwrap_or_else(|| Self::by_values(values))
    }

    /// By keys of the values, column by column; `None` where some value has no key.
    fn by_keys<K: SeriesKey>(values: &[SeriesValues<'_>]) -> Option<Self> {
        let (first, rest) = values.split_first()?;
        if !values.iter().all(SeriesValues::has_keys::<K>) {
            return None;
        }
        let mut ids = Ids::default();
        let mut found = Self::with_capacity(first.len());
        first.all_keys(|keys: &[K]| found.extend(keys.iter().map(|key| ids.of(*key))));
        for column in rest {
            // Most say nothing that the first one, a host's name, has not said.
            let told: Vec<K> = found.firsts.iter().map(|row| column.key(*row)).collect();
            let mut each = found.ids.iter();
            let is_told = |key: &K, id: &u32| told.get(*id as usize) == Some(key);
            if column.all_keys(|keys: &[K]| {
                keys.iter().all(|key| each.next().is_some_and(|id| is_told(key, id)))
            }) {
                continue;
            }
            let (mut ids, mut pairs) = (Ids::default(), Ids::default());
            let mut each = found.ids.iter();
            let mut paired = Self::with_capacity(found.ids.len());
            column.all_keys(|keys: &[K]| {
                paired.extend(keys.iter().map(|key| {
                    let id = each.next().copied().unwrap_or_default();
                    pairs.of((ids.of(*key) as u64) << u32::BITS | u64::from(id))
                }))
            });
            found = paired;
        }
        Some(found)
    }

    fn with_capacity(rows: usize) -> Self {
        Self { ids: Vec::with_capacity(rows), firsts: Vec::new() }
    }

    /// Adds rows, of each of which the number is the next one, or was there before. Always true: more rows are wanted.
    fn extend(&mut self, numbers: impl Iterator<Item = usize>) -> bool {
        let Self { ids, firsts } = self;
        let mut row = ids.len();
        ids.extend(numbers.map(|number| {
            if number == firsts.len() {
                firsts.push(row);
            }
            row += 1;
            // Blocks have far fewer than 2^32 rows.
            number as u32
        }));
        true
    }

    /// Who comes after whom is mostly the same each time round: that is tried first, and spares the hashing.
    fn by_values(values: &[SeriesValues<'_>]) -> Self {
        let rows = values.first().map_or(0, SeriesValues::len);
        let hashing = DefaultHashBuilder::default();
        let mut known: HashTable<(u64, u32)> = HashTable::new();
        let mut found = Self { ids: Vec::with_capacity(rows), firsts: Vec::new() };
        // After each series the one that came last behind it.
        let mut successors: Vec<u32> = Vec::new();
        let mut before: Option<u32> = None;
        for row in 0..rows {
            let guess = before.and_then(|before| successors.get(before as usize).copied());
            let guess = guess.filter(|guess| {
                found.firsts.get(*guess as usize).is_some_and(|first| is_same(values, *first, row))
            });
            let id = guess.unwrap_or_else(|| {
                let hash = values.iter().fold(0, |hash: u64, column| {
                    hash.rotate_left(23) ^ hashing.hash_one(column.get(row))
                });
                let Self { firsts, .. } = &mut found;
                let is_it = |entry: &(u64, u32)| {
                    entry.0 == hash
                        && (firsts.get(entry.1 as usize))
                            .is_some_and(|first| is_same(values, *first, row))
                };
                match known.entry(hash, is_it, |entry| entry.0) {
                    Entry::Occupied(entry) => entry.get().1,
                    Entry::Vacant(entry) => {
                        // Blocks have far fewer than 2^32 rows.
                        let id = u32::try_from(firsts.len()).unwrap_or(u32::MAX);
                        entry.insert((hash, id));
                        firsts.push(row);
                        successors.push(u32::MAX);
                        id
                    }
                }
            });
            if let Some(successor) = before.and_then(|before| successors.get_mut(before as usize)) {
                *successor = id;
            }
            found.ids.push(id);
            before = Some(id);
        }
        found
    }
}

#[cfg(test)]
mod tests;
