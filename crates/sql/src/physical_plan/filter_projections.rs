//! A rule of the optimizer, before projections are pushed down for the second time: filters that choose columns become
//! filters below projections that do.
//!
//! The first time that projections are pushed down, DataFusion lets filters choose columns. The second time it may
//! push a projection below such a filter, and takes the columns that the filter gives for those that it is given:
//! where one is called the same and stands at the same place, another is filtered by, and others are answered.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

/// Makes projections of what filters choose.
pub(crate) fn split_filter_projections(
    plan: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        Ok(match plan.downcast_ref::<FilterExec>() {
            Some(filter) if filter.projection().is_some() => Transformed::yes(split(filter)?),
            _ => Transformed::no(plan),
        })
    })
    .data()
}

fn split(filter: &FilterExec) -> Result<Arc<dyn ExecutionPlan>> {
    let whole = FilterExecBuilder::from(filter).apply_projection(None)?.build()?;
    Ok(Arc::new(ProjectionExec::try_new(projection_of(filter), Arc::new(whole))?))
}

/// The columns that a filter chooses of its input's.
pub(super) fn projection_of(filter: &FilterExec) -> Vec<ProjectionExpr> {
    let schema = filter.input().schema();
    let chosen = filter.projection().iter().flat_map(|chosen| chosen.iter().copied());
    let columns = chosen.map(|index| {
        let name = schema.field(index).name();
        ProjectionExpr { expr: Arc::new(Column::new(name, index)), alias: name.clone() }
    });
    columns.collect()
}
