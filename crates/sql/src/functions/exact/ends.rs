//! The order of floats: NaN is greater than all others, whatever its sign.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::compute::unary;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};

use super::adjusted::Adjustment;

/// A float, in the order of the house.
pub(super) trait Float: Copy {
    /// Before all others, and behind them.
    const LEAST: Self;
    const GREATEST: Self;

    fn is_less(self, other: Self) -> bool;

    /// Without the sign of a NaN or of a zero.
    fn canonical(self) -> Self;
}

macro_rules! floats {
    ($($native:ty),*) => {
        $(impl Float for $native {
            const LEAST: Self = Self::NEG_INFINITY;
            const GREATEST: Self = Self::NAN;

            #[inline]
            fn is_less(self, other: Self) -> bool {
                self < other || (other.is_nan() && !self.is_nan())
            }

            #[inline]
            fn canonical(self) -> Self {
                // 0.0 added to -0.0 gives 0.0; to all others nothing.
                if self.is_nan() { Self::NAN } else { self + 0.0 }
            }
        })*
    };
}

floats!(f32, f64);

/// The values of an array of floats, with one NaN for all that there are, and one zero.
pub(crate) fn canonical(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            Arc::new(unary::<_, _, Float64Type>(floats, Float::canonical))
        }
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            Arc::new(unary::<_, _, Float32Type>(floats, Float::canonical))
        }
        _ => Arc::clone(array),
    }
}

/// Has an accumulator compare floats bit by bit, with one NaN for all that there are: that with a sign would be
/// the least.
#[derive(Debug)]
pub(super) struct CanonicalFloats;

impl Adjustment for CanonicalFloats {
    fn values<'a>(&self, given: &'a [ArrayRef]) -> Cow<'a, [ArrayRef]> {
        given.iter().map(canonical).collect()
    }
}
