//! A rule of the optimizer: what a `LIMIT` behind an `ORDER BY` needs of its rows is told to the scan below it while it runs.
//!
//! ```text
//!    SELECT * FROM cpu ORDER BY usage DESC LIMIT 3
//!
//!    rows so far         97 99 12 98 51 ..
//!    the three greatest  97 98 99            so a row with less than 97 is none of them
//!    the next block      usage is decoded first; of the pages and columns of rows with less nothing more
//! ```
//!
//! DataFusion's sort keeps the threshold in an expression that changes as it goes on, and lays it before whoever takes it. Its
//! own rule hands it down by the names of columns, which are not unique; here it goes to a scan right below, by their places.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::scan::StreamScan;

type Plan = Arc<dyn ExecutionPlan>;

/// Lets scans know the thresholds of sorts above them. Comes behind the rule that gives scans their conditions.
pub(crate) fn share_thresholds(plan: Plan) -> Result<Plan> {
    // What a first round has found says nothing of the next one.
    if plan.exists(|plan| Ok(plan.is::<RecursiveQueryExec>()))? {
        return Ok(plan);
    }
    plan.transform_up(|plan| {
        let sort = plan.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_some());
        let Some(sort) = sort else { return Ok(Transformed::no(plan)) };
        // Anything else could fail on rows that the query doesn't see.
        let are_columns = sort.expr().iter().all(|each| each.expr.is::<Column>());
        let thresholds = sort.dynamic_expressions_produced();
        let [threshold] = thresholds.as_slice() else { return Ok(Transformed::no(plan)) };
        let input = if are_columns { watching(sort.input(), threshold)? } else { None };
        Ok(match input {
            Some(input) => {
                Transformed::yes(replace_children_if_necessary(Arc::clone(&plan), vec![input])?)
            }
            None => Transformed::no(plan),
        })
    })
    .data()
}

/// The plan with a scan that gives no row that the threshold excludes, where it is a scan, or a filter over one.
fn watching(plan: &Plan, threshold: &Arc<dyn PhysicalExpr>) -> Result<Option<Plan>> {
    if let Some(scan) = plan.downcast_ref::<StreamScan>() {
        return Ok(scan.watching(threshold)?.map(|scan| Arc::new(scan) as Plan));
    }
    let filter = plan.downcast_ref::<FilterExec>();
    let is_same_rows =
        |filter: &&FilterExec| filter.projection().is_none() && filter.fetch().is_none();
    let Some(filter) = filter.filter(is_same_rows) else { return Ok(None) };
    let input = watching(filter.input(), threshold)?;
    input.map(|input| replace_children_if_necessary(Arc::clone(plan), vec![input])).transpose()
}
