//! Plans whose work stops when nobody wants it any more.
//!
//! DataFusion cancels by dropping what it polls, so an operator that polls its input again and again, or
//! that computes for long between two polls, can't be stopped. Here every operator that may do much for
//! one row of its input asks the query at each batch that it gives; so do the filters of joins, which
//! may reject pairs of rows for minutes before one passes. Each of them also hands its thread on now and
//! then. What a query sets aside in memory is counted for it.
//!
//! Invariant: an operator that isn't asked gives no more batches than its input does, or is above one
//! that is asked for each of its own.

mod filter;
mod operator;
mod pool;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use timestrata_engine::RunningQuery;

use self::filter::with_asked_filter;
use self::operator::Governed;
pub(crate) use self::operator::governed_stream;
use self::pool::QueryPool;
use crate::physical_plan::{OperatorExec, StreamScan};

/// The same plan, for a query. To be executed, and not to be optimised any more.
pub(crate) fn governed(
    plan: Arc<dyn ExecutionPlan>,
    query: &RunningQuery,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let asked = with_asked_filter(&plan, query)?;
        let (plan, is_other) = asked.map_or((plan, false), |plan| (plan, true));
        Ok(match hands_on(&plan) {
            true => Transformed::new_transformed(plan, is_other),
            false => {
                let governed = Governed { query: query.clone() };
                Transformed::yes(Arc::new(OperatorExec::new(governed, [plan])?))
            }
        })
    })
    .data()
}

/// Whether an operator gives a batch for each of its input at most; and the scan, whose snapshot asks.
fn hands_on(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<StreamScan>()
        || plan.is::<CooperativeExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
}

/// What operators run in, for a query.
pub(crate) fn task_of(task: &TaskContext, query: &RunningQuery) -> Arc<TaskContext> {
    let runtime = task.runtime_env();
    let memory_pool = QueryPool::new(Arc::clone(&runtime.memory_pool), query.clone());
    let runtime = RuntimeEnv { memory_pool: Arc::new(memory_pool), ..runtime.as_ref().clone() };
    let governed = TaskContext::default()
        .with_session_config(task.session_config().clone())
        .with_runtime(Arc::new(runtime));
    Arc::new(governed)
}
