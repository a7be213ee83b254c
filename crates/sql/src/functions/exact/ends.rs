//! The order of floats: NaN is greater than all others, whatever its sign.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use crate::rules::plain;

/// A float, in the order of the house.
pub(super) trait Float: Copy {
    fn is_less(self, other: Self) -> bool;
}

macro_rules! floats {
    ($($native:ty),*) => {
        $(impl Float for $native {
            #[inline]
            fn is_less(self, other: Self) -> bool {
                self < other || (other.is_nan() && !self.is_nan())
            }
        })*
    };
}

floats!(f32, f64);

/// An accumulator that compares floats bit by bit, with one NaN for all that there are: that with a sign
/// would be the least.
#[derive(Debug)]
pub(super) struct Canonical {
    plain: Box<dyn Accumulator>,
}

impl Canonical {
    pub(super) fn new(plain: Box<dyn Accumulator>) -> Self {
        Self { plain }
    }
}

fn canonical(values: &[ArrayRef]) -> Vec<ArrayRef> {
    values.iter().map(plain).collect()
}

impl Accumulator for Canonical {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.plain.update_batch(&canonical(values))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.plain.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.plain.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.plain.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.plain.merge_batch(&canonical(states))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.plain.retract_batch(&canonical(values))
    }

    fn supports_retract_batch(&self) -> bool {
        self.plain.supports_retract_batch()
    }
}
