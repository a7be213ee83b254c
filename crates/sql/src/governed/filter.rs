//! Filters of joins that ask, at each evaluation, whether the query is wanted.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
    SortMergeJoinExec,
};
use timestrata_engine::RunningQuery;

use crate::error::carried;

/// The same join with a filter that asks; `None` for what is no join, or has no filter.
pub(super) fn with_asked_filter(
    plan: &Arc<dyn ExecutionPlan>,
    query: &RunningQuery,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let join = NestedLoopJoinExecBuilder::from(join).with_filter(Some(asked(filter, query)));
        return Ok(Some(Arc::new(join.build()?)));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let join = HashJoinExecBuilder::from(join).with_filter(Some(asked(filter, query)));
        return Ok(Some(Arc::new(join.build()?)));
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let join = SortMergeJoinExec::try_new(
            Arc::clone(&join.left),
            Arc::clone(&join.right),
            join.on.clone(),
            Some(asked(filter, query)),
            join.join_type,
            join.sort_options.clone(),
            join.null_equality,
        )?;
        return Ok(Some(Arc::new(join)));
    }
    Ok(None)
}

fn asked(filter: &JoinFilter, query: &RunningQuery) -> JoinFilter {
    let expression = AskedExpr { expr: Arc::clone(filter.expression()), query: query.clone() };
    JoinFilter::new(
        Arc::new(expression),
        filter.column_indices().to_vec(),
        Arc::clone(filter.schema()),
    )
}

#[derive(Debug, Eq)]
struct AskedExpr {
    expr: Arc<dyn PhysicalExpr>,
    query: RunningQuery,
}

impl PartialEq for AskedExpr {
    fn eq(&self, other: &Self) -> bool {
        self.expr.eq(&other.expr) && self.query == other.query
    }
}

impl Hash for AskedExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expr.hash(state);
    }
}

impl fmt::Display for AskedExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

impl PhysicalExpr for AskedExpr {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.expr.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.expr.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.query.check().map_err(carried)?;
        self.expr.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.expr]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = children.pop().unwrap_or_else(|| Arc::clone(&self.expr));
        Ok(Arc::new(Self { expr, query: self.query.clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt_sql(f)
    }
}
