//! Floats that are decimal numbers with few digits, such as prices and readings of sensors, stored as whole numbers.
//!
//! A price of 101.25 is 10125 hundredths. Whole numbers take few bits for the step from one to the next, where
//! the bits of floats look like noise; and the quotient that a reader makes of them is the same float, bit by bit,
//! which is what is looked at here: division rounds to the nearest float, as reading "101.25" does.

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_buffer::{Buffer, MutableBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};
use pulp::{Arch, NullaryFnOnce};

use super::cold;
use crate::scan::{RowOrder, Share, Source, ViewedColumns};
use crate::{Result, Stream};

/// With more digits behind the point than these, a number is mostly no decimal one.
const DIGITS_MAX: u32 = 6;
/// Floats below this are whole numbers one by one.
const WHOLE_MAX: f64 = (1_u64 << 53) as f64;

/// Values that are made floats at once: they stay in the processor's first cache.
const CHUNK_VALUES: usize = 1024;

/// A column of floats, and how many digits all of its values have behind the point at most.
pub(crate) type DecimalColumn = (usize, u32);

/// The columns all of whose values, in all of some sources, are decimal numbers; none once `goes_on` says no, which it is
/// asked before each block.
///
/// # Errors
/// Those of reading the sources.
pub(crate) fn decimal_columns(
    stream: &Stream,
    sources: &[Arc<dyn Source>],
    goes_on: impl Fn() -> bool,
) -> Result<Vec<DecimalColumn>> {
    let fields = stream.schema().fields().iter().enumerate();
    let floats = fields.filter(|(_, field)| field.data_type() == &DataType::Float64);
    let mut found = Vec::new();
    for (column, _) in floats {
        if let Some(digits) = digits_of(column, sources, &goes_on)? {
            found.push((column, digits));
        }
    }
    Ok(found)
}

fn digits_of(
    column: usize,
    sources: &[Arc<dyn Source>],
    goes_on: &impl Fn() -> bool,
) -> Result<Option<u32>> {
    let mut all = Digits::default();
    for source in sources {
        if let Some(known) = source.decimal_digits(column)? {
            all.digits = all.digits.max(known);
            // It is in a file already, so that its numbers are small enough with as many digits as it has.
            all.greatest = all.greatest.max(WHOLE_MAX / power(known));
            continue;
        }
        let wanted = ViewedColumns::plain(vec![column]);
        for block in 0..source.blocks()?.len() {
            if !goes_on() {
                return Ok(None);
            }
            let values = source.read_viewed(block, &wanted, None, RowOrder::Any(Share::WHOLE))?;
            let values = values.columns().first().and_then(|v| v.as_primitive_opt::<Float64Type>());
            if !values.is_some_and(|values| all.take(values)) {
                return Ok(None);
            }
        }
    }
    Ok(all.is_small().then_some(all.digits))
}

/// What the values so far have in common.
#[derive(Debug, Default)]
struct Digits {
    digits: u32,
    /// No value is farther from zero.
    greatest: f64,
}

impl Digits {
    /// Looks at more values; false: some of them is no decimal number.
    fn take(&mut self, values: &Float64Array) -> bool {
        let greatest = |values: &Float64Array| {
            values.iter().flatten().fold(0.0_f64, |greatest, value| greatest.max(value.abs()))
        };
        while !are_decimal(values, self.digits) {
            self.digits += 1;
            if self.digits > DIGITS_MAX {
                return false;
            }
        }
        self.greatest = self.greatest.max(greatest(values));
        self.is_small()
    }

    fn is_small(&self) -> bool {
        self.greatest * power(self.digits) <= WHOLE_MAX
    }
}

pub(super) fn power(digits: u32) -> f64 {
    10_f64.powi(digits.cast_signed())
}

/// Of floats between this and twice as much each is a whole number, so that adding it to a smaller one rounds that; and the last
/// bits of the sum are that number. Without a call, which rounding is for processors that are not known to have it.
const ROUNDS: f64 = (3_u64 << 51) as f64;
/// What it rounds is smaller than this.
const ROUNDED_MAX: f64 = (1_u64 << 51) as f64;

/// Whether all values come back as they were.
fn are_decimal(values: &Float64Array, digits: u32) -> bool {
    let factor = power(digits);
    let comes_back = |value: f64| {
        let whole = (value * factor).round();
        whole.abs() <= WHOLE_MAX && (whole as i64 as f64 / factor).to_bits() == value.to_bits()
    };
    // Without a branch and a call a value, compilers look at several at once. No zero has a sign.
    let comes_back_quickly = |value: f64| {
        let product = value * factor;
        let whole = (product + ROUNDS) - ROUNDS + 0.0;
        (product.abs() < ROUNDED_MAX) & ((whole / factor).to_bits() == value.to_bits())
    };
    match values.nulls() {
        None => values.values().chunks(1024).all(|chunk| {
            chunk.iter().fold(true, |all, value| all & comes_back_quickly(*value))
                || chunk.iter().all(|value| comes_back(*value))
        }),
        Some(_) => values.iter().flatten().all(comes_back),
    }
}

/// The same numbers as decimal ones with so many digits.
///
/// # Errors
/// Of floats that are none: whoever looked for them has a bug.
pub(super) fn as_decimals(
    column: &ArrayRef,
    digits: u32,
) -> std::result::Result<ArrayRef, ArrowError> {
    let values = column.as_primitive_opt::<Float64Type>();
    let (Some(values), Some(data_type)) = (values, cold::decimal_type(digits)) else {
        let message = format!("{} with {digits} digits", column.data_type());
        return Err(ArrowError::CastError(message));
    };
    if !are_decimal(values, digits) {
        let message = format!("some number has more than {digits} digits behind the point");
        return Err(ArrowError::CastError(message));
    }
    let factor = power(digits);
    let whole = values.unary::<_, Decimal64Type>(|value| units_of(value, factor));
    Ok(Arc::new(whole.with_data_type(data_type)))
}

/// A float that is a decimal number as a whole number of its units, `factor` of which are 1.
#[inline]
pub(super) fn units_of(value: f64, factor: f64) -> i64 {
    let product = value * factor;
    match product.abs() < ROUNDED_MAX {
        true => (product + ROUNDS).to_bits().wrapping_sub(ROUNDS.to_bits()).cast_signed(),
        false => product.round() as i64,
    }
}

/// The same numbers as floats, where a column has decimal ones: in their place where nobody else has them.
pub(super) fn as_floats(column: ArrayRef) -> ArrayRef {
    let whole = column.as_primitive_opt::<Decimal64Type>().cloned();
    let (Some(whole), DataType::Decimal64(_, scale)) = (whole, column.data_type()) else {
        return column;
    };
    let digits = u32::try_from(*scale).unwrap_or_default();
    drop(column);
    let (_, values, nulls) = whole.into_parts();
    let mut values = match values.into_inner().into_mutable() {
        Ok(values) => values,
        Err(values) => {
            let mut copy = MutableBuffer::new(values.len());
            copy.extend_from_slice(values.as_slice());
            copy
        }
    };
    make_floats(values.typed_data_mut(), digits);
    Arc::new(Float64Array::new(ScalarBuffer::from(Buffer::from(values)), nulls))
}

/// Which decimal numbers with so many digits behind the point are floats within two bounds, in units of the last digit: the
/// first and the last one; where there are none, the first is greater.
///
/// Of greater numbers the floats aren't less, so both ends are found by halving.
pub(super) fn units_within(lo: Bound<f64>, hi: Bound<f64>, digits: u32) -> (i64, i64) {
    let factor = power(digits);
    let float = |number: i64| number as f64 / factor;
    let first = match lo {
        Bound::Unbounded => Some(i64::MIN),
        Bound::Included(lo) => least(|number| float(number) >= lo),
        Bound::Excluded(lo) => least(|number| float(number) > lo),
    };
    let behind = match hi {
        Bound::Unbounded => None,
        Bound::Included(hi) => least(|number| float(number) > hi),
        Bound::Excluded(hi) => least(|number| float(number) >= hi),
    };
    let last = behind.map_or(Some(i64::MAX), |behind| behind.checked_sub(1));
    first.zip(last).unwrap_or((i64::MAX, i64::MIN))
}

/// The least number of which something is true, that is true of all greater ones too.
fn least(is_true: impl Fn(i64) -> bool) -> Option<i64> {
    let (mut start, mut end) = (i128::from(i64::MIN), i128::from(i64::MAX) + 1);
    while start < end {
        let middle = (start + end) >> 1;
        match i64::try_from(middle).is_ok_and(&is_true) {
            true => end = middle,
            false => start = middle + 1,
        }
    }
    i64::try_from(start).ok()
}

/// Puts the bits of floats in the place of decimal numbers with so many digits behind the point.
pub(super) fn make_floats(numbers: &mut [i64], digits: u32) {
    let factor = 10_f64.powi(digits.cast_signed());
    let arch = Arch::new();
    // Without such an instruction a fused step takes longer than all of a division.
    let reciprocal = (!matches!(arch, Arch::Scalar)).then_some(1.0 / factor);
    arch.dispatch(ToFloats { numbers, factor, reciprocal });
}

/// Puts the bits of floats in the place of decimal numbers, so many times as large: built once for the registers that
/// all processors have, and once for wider ones.
struct ToFloats<'a> {
    numbers: &'a mut [i64],
    factor: f64,
    /// Where quotients are made of products.
    reciprocal: Option<f64>,
}

impl NullaryFnOnce for ToFloats<'_> {
    type Output = ();

    /// In loops: what adapters of iterators call is not built for wider registers.
    #[inline(always)]
    fn call(self) {
        for chunk in self.numbers.chunks_mut(CHUNK_VALUES) {
            to_float_bits(chunk);
            match self.reciprocal {
                _ if self.factor == 1.0 => {}
                Some(reciprocal) => {
                    for bits in chunk {
                        let float = quotient(float_of(*bits), self.factor, reciprocal);
                        *bits = float.to_bits().cast_signed();
                    }
                }
                None => {
                    for bits in chunk {
                        *bits = (float_of(*bits) / self.factor).to_bits().cast_signed();
                    }
                }
            }
        }
    }
}

/// `number / factor`, rounded to the nearest float as a division rounds it, in a third of its time. `reciprocal` is `1 / factor`,
/// rounded so.
///
/// The first product is off by two units in the last place at most; what is missing, times the reciprocal, makes it one of
/// the two floats around the quotient; and then what is missing is a float itself, which a fused step tells exactly, and
/// the same once more rounds as a division does: P. Markstein, "Computation of elementary functions on the IBM RISC
/// System/6000 processor" (1990), theorem 8.3 in J.-M. Muller and others, "Handbook of Floating-Point Arithmetic". That holds
/// where nothing is too large or too small for floats: numbers are below 2^64, and factors are powers of ten up to 10^18.
#[inline(always)]
fn quotient(number: f64, factor: f64, reciprocal: f64) -> f64 {
    let near = number * reciprocal;
    let nearer = (-factor).mul_add(near, number).mul_add(reciprocal, near);
    (-factor).mul_add(nearer, number).mul_add(reciprocal, nearer)
}

/// Puts the bits of the floats in the place of whole numbers.
///
/// Processors without AVX-512 have an instruction for one of them at a time only. Numbers below 2^51 are added to the bits
/// of 1.5 * 2^52, of which the last bits are ones, twos and so on; and that is taken off again.
#[inline(always)]
fn to_float_bits(numbers: &mut [i64]) {
    const SMALL_BITS: u32 = 51;
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let mut large = 0;
    for number in &*numbers {
        large |= number.wrapping_add(1 << SMALL_BITS) as u64 >> (SMALL_BITS + 1);
    }
    for number in numbers {
        let float = match large {
            0 => float_of(MAGIC.to_bits().cast_signed().wrapping_add(*number)) - MAGIC,
            _ => *number as f64,
        };
        *number = float.to_bits().cast_signed();
    }
}

fn float_of(bits: i64) -> f64 {
    f64::from_bits(bits.cast_unsigned())
}

#[cfg(test)]
mod tests;
