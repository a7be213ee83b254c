//! Filters of joins that ask, at each evaluation, whether the query is wanted.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
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
use crate::physical_plan::{Evaluation, WrappedExpr};

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
    let inner = Arc::clone(filter.expression());
    let evaluation = Asked { query: query.clone() };
    JoinFilter::new(
        Arc::new(WrappedExpr { inner, evaluation }),
        filter.column_indices().to_vec(),
        Arc::clone(filter.schema()),
    )
}

#[derive(Debug, Clone, PartialEq)]
struct Asked {
    query: RunningQuery,
}

impl Evaluation for Asked {
    fn evaluate(&self, inner: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.query.check().map_err(carried)?;
        inner.evaluate(batch)
    }
}
