//! Memory for values that are decoded one behind the other: of the allocator, or of an arena.

use std::ops::{Deref, DerefMut};

use arrow_buffer::{ArrowNativeType, Buffer};
use bytemuck::{AnyBitPattern, NoUninit};
use timestrata_io::{Arena, ArenaBytes, Bytes};

/// Values of a width that is known.
pub(super) trait Plain: AnyBitPattern + NoUninit + Default {}

impl<T: AnyBitPattern + NoUninit + Default> Plain for T {}

/// Grows as a `Vec` does; in an arena as far as there is room.
#[derive(Debug)]
pub(super) struct ValueBuffer<T> {
    /// All values, unless they are in an arena.
    values: Vec<T>,
    /// Bytes of an arena, and how many values they have.
    in_arena: Option<(ArenaBytes, usize)>,
}

impl<T> Default for ValueBuffer<T> {
    fn default() -> Self {
        Self { values: Vec::new(), in_arena: None }
    }
}

impl<T: Plain> ValueBuffer<T> {
    /// Makes room for so many values more; in the arena, if there is one that has it, and no value yet.
    pub(super) fn reserve(&mut self, values: usize, arena: Option<&Arena>) {
        if self.in_arena.is_none() && self.values.capacity() == 0 {
            let bytes = values.saturating_mul(size_of::<T>());
            self.in_arena = arena.and_then(|arena| arena.take(bytes)).map(|bytes| (bytes, 0));
        }
        if self.in_arena.is_none() {
            self.values.reserve(values);
        }
    }

    /// Keeps so many values, from the first one on.
    pub(super) fn truncate(&mut self, values: usize) {
        self.values.truncate(values);
        if let Some((_, len)) = &mut self.in_arena {
            *len = values.min(*len);
        }
    }

    /// So many values more, which are to be written: they are any yet.
    #[inline]
    pub(super) fn grow(&mut self, count: usize) -> &mut [T] {
        self.leave_arena_without(count);
        match &mut self.in_arena {
            Some((bytes, len)) => {
                let first = *len;
                *len += count;
                values_of_mut(bytes).get_mut(first..first + count).unwrap_or_default()
            }
            None => {
                let first = self.values.len();
                self.values.resize(first + count, T::default());
                self.values.get_mut(first..).unwrap_or_default()
            }
        }
    }

    #[inline]
    pub(super) fn push(&mut self, value: T) {
        match &mut self.in_arena {
            None => self.values.push(value),
            Some(_) => self.grow(1).fill(value),
        }
    }

    /// Appends a value so many times.
    #[inline]
    pub(super) fn push_times(&mut self, value: T, count: usize) {
        match &mut self.in_arena {
            None => self.values.resize(self.values.len() + count, value),
            Some(_) => self.grow(count).fill(value),
        }
    }

    /// Takes memory of the allocator where the arena has no room for so many values more.
    #[inline]
    fn leave_arena_without(&mut self, count: usize) {
        if let Some((bytes, len)) = &self.in_arena
            && count > bytes.len() / size_of::<T>() - len
        {
            self.leave_arena();
        }
    }

    #[cold]
    fn leave_arena(&mut self) {
        self.values = self.to_vec();
        self.in_arena = None;
    }

    /// The values, as Arrow has them.
    pub(super) fn into_buffer(self) -> Buffer
    where
        T: ArrowNativeType,
    {
        match self.in_arena {
            None => Buffer::from_vec(self.values),
            Some((mut bytes, len)) => {
                bytes.truncate(len * size_of::<T>());
                Buffer::from(Bytes::from_owner(bytes))
            }
        }
    }
}

/// The values that bytes of an arena have room for.
#[inline]
fn values_of<T: Plain>(bytes: &[u8]) -> &[T] {
    let whole = bytes.len() / size_of::<T>() * size_of::<T>();
    bytemuck::try_cast_slice(bytes.get(..whole).unwrap_or_default()).unwrap_or_default()
}

#[inline]
fn values_of_mut<T: Plain>(bytes: &mut [u8]) -> &mut [T] {
    let whole = bytes.len() / size_of::<T>() * size_of::<T>();
    bytemuck::try_cast_slice_mut(bytes.get_mut(..whole).unwrap_or_default()).unwrap_or_default()
}

impl<T: Plain> Deref for ValueBuffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.in_arena {
            None => &self.values,
            Some((bytes, len)) => values_of(bytes).get(..*len).unwrap_or_default(),
        }
    }
}

impl<T: Plain> DerefMut for ValueBuffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.in_arena {
            None => &mut self.values,
            Some((bytes, len)) => values_of_mut(bytes).get_mut(..*len).unwrap_or_default(),
        }
    }
}

impl<T: Plain> Extend<T> for ValueBuffer<T> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        let (_, most) = values.size_hint();
        self.leave_arena_without(most.unwrap_or(usize::MAX));
        match &mut self.in_arena {
            None => self.values.extend(values),
            Some((bytes, len)) => {
                let room = values_of_mut(bytes).get_mut(*len..).unwrap_or_default();
                *len += room.iter_mut().zip(values).map(|(place, value)| *place = value).count();
            }
        }
    }
}

#[cfg(test)]
mod tests;
