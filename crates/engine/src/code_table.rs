//! What codes of a dictionary stand for.

/// Lengths that are known when this is built.
const LENGTHS: [usize; 3] = [1 << 8, 1 << 12, 1 << 16];

/// A value for each code from 0 on.
///
/// Values are followed by others up to a length that is known when this is built, where they are not too many: so a code
/// is looked up without being held against the length, and all codes are held against the number of values before,
/// several at once.
///
/// ```
/// use timestrata_engine::CodeTable;
///
/// let table = CodeTable::new(vec![1.5, 2.5]);
/// let mut values = Vec::new();
/// assert!(table.look_up(&[1_u32, 0, 1], &mut values));
/// assert_eq!(values, [2.5, 1.5, 2.5]);
/// assert!(!table.look_up(&[0_u32, 2], &mut values));
/// assert_eq!(values.len(), 3);
/// ```
#[derive(Debug, Clone, Default)]
pub struct CodeTable<T> {
    padded: Vec<T>,
    count: usize,
}

/// A code as it is stored.
///
/// ```
/// use timestrata_engine::Code;
///
/// assert_eq!((7_u32.code(), 7_i32.code()), (7, 7));
/// ```
pub trait Code: Copy {
    /// The code; what is below zero is beyond all values.
    fn code(self) -> u32;
}

impl Code for u32 {
    fn code(self) -> u32 {
        self
    }
}

impl Code for i32 {
    fn code(self) -> u32 {
        self.cast_unsigned()
    }
}

impl<T: Copy + Default> CodeTable<T> {
    /// The values of the codes from 0 on.
    pub fn new(mut values: Vec<T>) -> Self {
        let count = values.len();
        let padded = LENGTHS.into_iter().find(|length| count <= *length).unwrap_or(count);
        values.resize(padded, T::default());
        Self { padded: values, count }
    }

    /// The values, to be changed.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.padded.get_mut(..self.count).unwrap_or_default()
    }

    /// The value of a code; `None` where there is none.
    pub fn get(&self, code: u32) -> Option<T> {
        let values = self.padded.get(..self.count)?;
        values.get(usize::try_from(code).ok()?).copied()
    }

    /// Appends the values of codes. False: one of them has none, and nothing is appended.
    #[must_use]
    pub fn look_up<C: Code>(&self, codes: &[C], into: &mut impl Extend<T>) -> bool {
        if !are_below(codes, self.count) {
            return false;
        }
        let table = self.padded.as_slice();
        if let Ok(table) = table.try_into() {
            of_table::<T, C, { LENGTHS[0] }>(table, codes, into);
        } else if let Ok(table) = table.try_into() {
            of_table::<T, C, { LENGTHS[1] }>(table, codes, into);
        } else if let Ok(table) = table.try_into() {
            of_table::<T, C, { LENGTHS[2] }>(table, codes, into);
        } else {
            let value = |code: &C| table.get(code.code() as usize).copied().unwrap_or_default();
            into.extend(codes.iter().map(value));
        }
        true
    }

    /// Bytes in memory.
    pub fn size(&self) -> usize {
        self.padded.capacity() * size_of::<T>()
    }
}

fn of_table<T: Copy, C: Code, const N: usize>(
    table: &[T; N],
    codes: &[C],
    into: &mut impl Extend<T>,
) {
    into.extend(codes.iter().map(|code| table[code.code() as usize % N]));
}

/// Whether all codes are below a number. The highest bit of the difference tells, which the processor finds out for several
/// at once.
fn are_below<C: Code>(codes: &[C], count: usize) -> bool {
    const HIGHEST: u32 = 1 << 31;
    let Some(last) = count.checked_sub(1) else { return codes.is_empty() };
    let last = u32::try_from(last).unwrap_or(u32::MAX).min(HIGHEST - 1);
    let bits = codes.iter().map(|code| code.code());
    bits.fold(0, |all, code| all | code | last.wrapping_sub(code)) & HIGHEST == 0
}

#[cfg(test)]
mod tests;
