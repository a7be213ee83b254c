//! Filters on what a cast makes of a time, hidden from conclusions that don't hold.
//!
//! Of `CAST(time AS DATE) = '2024-01-02'` DataFusion concludes that the time itself has one value,
//! as if no two times had one date, and then drops a sort by it. Such conditions are wrapped, so
//! that they are only ever evaluated.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::CastExpr;
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;

use super::conditions;
use super::wrapped_expr::Evaluation;

/// A rule of the optimizer, to come before all that asks for the order of rows.
pub(crate) fn hide_rounding_casts(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    conditions::replaced(plan, true, |filter| {
        let schema = filter.input().schema();
        let parts = split_conjunction(filter.predicate());
        if !parts.iter().any(|part| rounds(part, &schema)) {
            return Ok(None);
        }
        let hidden = parts.into_iter().map(|part| match rounds(part, &schema) {
            true => EvaluatedOnly.wrap(Arc::clone(part)),
            false => Ok(Arc::clone(part)),
        });
        Ok(Some(conjunction(hidden.collect::<Result<Vec<_>>>()?)))
    })
}

/// Whether something in an expression is a time in another type.
fn rounds(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let is_cast = expr
        .downcast_ref::<CastExpr>()
        .is_some_and(|cast| matches!(cast.expr().data_type(schema), Ok(DataType::Timestamp(_, _))));
    is_cast || expr.children().into_iter().any(|child| rounds(child, schema))
}

/// As the expression itself.
#[derive(Debug, Clone, PartialEq)]
struct EvaluatedOnly;

impl Evaluation for EvaluatedOnly {
    fn evaluate(&self, inner: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<ColumnarValue> {
        inner.evaluate(batch)
    }
}
