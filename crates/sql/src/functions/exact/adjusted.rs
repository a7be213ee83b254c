//! DataFusion's accumulators, given other values than there are or asked in another way in the end.

use std::borrow::Cow;
use std::fmt::Debug;

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

/// What is other than in the accumulator itself.
pub(super) trait Adjustment: Debug + Send + Sync + 'static {
    /// What it is given of some values.
    fn values<'a>(&self, given: &'a [ArrayRef]) -> Cow<'a, [ArrayRef]> {
        Cow::Borrowed(given)
    }

    /// What it says in the end.
    fn evaluate(&self, plain: &mut dyn Accumulator) -> Result<ScalarValue> {
        plain.evaluate()
    }
}

/// An accumulator with an adjustment.
#[derive(Debug)]
pub(super) struct Adjusted<A> {
    pub(super) plain: Box<dyn Accumulator>,
    pub(super) adjustment: A,
}

impl<A: Adjustment> Accumulator for Adjusted<A> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.plain.update_batch(&self.adjustment.values(values))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.adjustment.evaluate(self.plain.as_mut())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.plain.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.plain.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.plain.merge_batch(&self.adjustment.values(states))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.plain.retract_batch(&self.adjustment.values(values))
    }

    fn supports_retract_batch(&self) -> bool {
        self.plain.supports_retract_batch()
    }
}
