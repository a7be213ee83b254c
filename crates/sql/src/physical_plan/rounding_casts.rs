//! Filters on what a cast makes of a time, hidden from conclusions that don't hold.
//!
//! Of `CAST(time AS DATE) = '2024-01-02'` DataFusion concludes that the time itself has one value,
//! as if no two times had one date, and then drops a sort by it. Such conditions are wrapped, so
//! that they are only ever evaluated.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::CastExpr;
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use super::conditions;

/// A rule of the optimizer, to come before all that asks for the order of rows.
#[derive(Debug)]
pub(crate) struct HideRoundingCasts;

impl PhysicalOptimizerRule for HideRoundingCasts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        conditions::replaced(plan, true, |filter| {
            let schema = filter.input().schema();
            let parts = split_conjunction(filter.predicate());
            if !parts.iter().any(|part| rounds(part, &schema)) {
                return Ok(None);
            }
            let hidden = parts.into_iter().map(|part| match rounds(part, &schema) {
                true => Arc::new(Opaque(Arc::clone(part))) as Arc<dyn PhysicalExpr>,
                false => Arc::clone(part),
            });
            Ok(Some(conjunction(hidden)))
        })
    }

    fn name(&self) -> &str {
        "hide_rounding_casts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether something in an expression is a time in another type.
fn rounds(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let is_cast = expr
        .downcast_ref::<CastExpr>()
        .is_some_and(|cast| matches!(cast.expr().data_type(schema), Ok(DataType::Timestamp(_, _))));
    is_cast || expr.children().into_iter().any(|child| rounds(child, schema))
}

/// An expression that is only evaluated.
#[derive(Debug, Eq)]
struct Opaque(Arc<dyn PhysicalExpr>);

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq(&other.0)
    }
}

impl Hash for Opaque {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PhysicalExpr for Opaque {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.0.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.0.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.0.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.0]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self(children.pop().unwrap_or_else(|| Arc::clone(&self.0)))))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}
