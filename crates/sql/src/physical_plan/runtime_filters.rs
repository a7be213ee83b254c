//! A rule of the optimizer: what operators find out while they run, of rows that they have no use for, is told to the scans
//! below them.
//!
//! ```text
//!    SELECT * FROM cpu ORDER BY usage DESC LIMIT 3
//!
//!    rows so far         97 99 12 98 51 ..
//!    the three greatest  97 98 99            so a row with less than 97 is none of them
//!    the next block      usage is decoded first; of the pages and columns of rows with less nothing more
//! ```
//!
//! In the same way a join that has read its smaller side knows which keys it has. DataFusion's operators keep that in an
//! expression that changes as they go on, and lay it before whoever takes it. Its own rule hands it down by the names of
//! columns, which are not unique; here it goes to a scan right below, by their places.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{NullEquality, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, PushedDownPredicate,
};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::scan::StreamScan;

type Plan = Arc<dyn ExecutionPlan>;

/// The rule. Comes behind the one that gives scans their conditions.
#[derive(Debug)]
pub(crate) struct RuntimeFilters;

impl PhysicalOptimizerRule for RuntimeFilters {
    fn optimize(&self, plan: Plan, options: &ConfigOptions) -> Result<Plan> {
        // What a first round has found says nothing of the next one.
        if plan.exists(|plan| Ok(plan.is::<RecursiveQueryExec>()))? {
            return Ok(plan);
        }
        plan.transform_up(|plan| {
            let watched = match plan.downcast_ref::<HashJoinExec>() {
                Some(join) => below_join(&plan, join, options)?,
                None => below_sort(&plan)?,
            };
            Ok(watched.map_or_else(|| Transformed::no(plan), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &str {
        "runtime_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A sort with a limit, over a scan that knows its threshold.
fn below_sort(plan: &Plan) -> Result<Option<Plan>> {
    let sort = plan.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_some());
    let Some(sort) = sort else { return Ok(None) };
    let thresholds = sort.dynamic_expressions_produced();
    let [threshold] = thresholds.as_slice() else { return Ok(None) };
    let input = watching(sort.input(), threshold)?;
    input.map(|input| replace_children_if_necessary(Arc::clone(plan), vec![input])).transpose()
}

/// A join over a scan that knows the keys of the other side.
fn below_join(plan: &Plan, join: &HashJoinExec, options: &ConfigOptions) -> Result<Option<Plan>> {
    // Where one side has all keys there are, to look for them twice is for nothing.
    let is_narrow = join.left().exists(|plan| Ok(narrows(plan)))?;
    if !is_narrow || join.null_equality() != NullEquality::NullEqualsNothing {
        return Ok(None);
    }
    let (phase, none) = (FilterPushdownPhase::Post, Vec::new());
    let told = join.gather_filters_for_pushdown(phase, none, options)?.self_filters();
    let Some([keys]) = told.get(1).map(Vec::as_slice) else { return Ok(None) };
    let Some(right) = watching(join.right(), keys)? else { return Ok(None) };
    let children = vec![Arc::clone(join.left()), right];
    let join = replace_children_if_necessary(Arc::clone(plan), children)?;
    let taken = ChildPushdownResult {
        parent_filters: Vec::new(),
        self_filters: vec![Vec::new(), vec![PushedDownPredicate::supported(Arc::clone(keys))]],
    };
    Ok(join.handle_child_pushdown_result(phase, taken, options)?.updated_node)
}

/// Whether an operator leaves out some of its rows, as may be.
fn narrows(plan: &Plan) -> bool {
    plan.is::<FilterExec>()
        || plan.fetch().is_some()
        || plan.downcast_ref::<StreamScan>().is_some_and(StreamScan::is_narrow)
}

/// The plan with a scan that gives no row that the filter excludes, where that is a scan, or what gives the same rows.
fn watching(plan: &Plan, filter: &Arc<dyn PhysicalExpr>) -> Result<Option<Plan>> {
    // Anything else could fail on rows that the query doesn't see.
    if !filter.children().iter().all(|child| child.is::<Column>()) {
        return Ok(None);
    }
    if let Some(scan) = plan.downcast_ref::<StreamScan>() {
        return Ok(scan.watching(filter)?.map(|scan| Arc::new(scan) as Plan));
    }
    let filters = plan.downcast_ref::<FilterExec>();
    let filters = filters.filter(|all| all.projection().is_none() && all.fetch().is_none());
    let input = match (filters, plan.downcast_ref::<RepartitionExec>()) {
        (Some(filters), _) => watching(filters.input(), filter)?,
        (None, Some(shared)) => watching(shared.input(), filter)?,
        (None, None) => None,
    };
    input.map(|input| replace_children_if_necessary(Arc::clone(plan), vec![input])).transpose()
}
