//! From nodes of the logical plan to operators.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::asof_join::{AsofJoin, Direction, find};
use super::gap_fill::GapFill;
use super::latest_on::LatestOn;
use crate::physical_plan::{AsofJoinExec, AsofJoinOn, GapFillExec, GapFillSpec, LatestOnExec};

/// Plans our nodes.
pub(crate) struct Operators;

#[async_trait]
impl ExtensionPlanner for Operators {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let node = node.as_any();
        match inputs {
            [left, right] => match node.downcast_ref::<AsofJoin>() {
                Some(node) => asof_join(node, left, right).map(Some),
                None => Ok(None),
            },
            [input] => {
                if let Some(node) = node.downcast_ref::<GapFill>() {
                    return gap_fill(node, input).map(Some);
                }
                match node.downcast_ref::<LatestOn>() {
                    Some(node) => latest_on(node, input).map(Some),
                    None => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }
}

fn place(plan: &LogicalPlan, name: &str) -> Result<usize> {
    Ok(find(plan.schema(), name, "input")?.0)
}

fn places(plan: &LogicalPlan, names: &[String]) -> Result<Vec<usize>> {
    names.iter().map(|name| place(plan, name)).collect()
}

fn asof_join(
    node: &AsofJoin,
    left: &Arc<dyn ExecutionPlan>,
    right: &Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let terms = &node.terms;
    let by = |(left, right): &(String, String)| {
        Ok((place(&node.left, left)?, place(&node.right, right)?))
    };
    let on = AsofJoinOn {
        left_time: place(&node.left, &terms.on.0)?,
        right_time: place(&node.right, &terms.on.1)?,
        by: terms.by.iter().map(by).collect::<Result<_>>()?,
        scales: terms.scales,
        tolerance: terms.tolerance,
        forward: terms.direction == Direction::Forward,
        allow_exact: terms.allow_exact,
        shown: node.shown(),
    };
    let schema = Arc::clone(node.schema.inner());
    Ok(Arc::new(AsofJoinExec::new(Arc::clone(left), Arc::clone(right), on, schema)?))
}

fn gap_fill(node: &GapFill, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let terms = &node.terms;
    let spec = GapFillSpec {
        time: place(&node.input, &terms.time)?,
        by: places(&node.input, &terms.by)?,
        step: terms.step,
        fill: terms.fill,
    };
    Ok(Arc::new(GapFillExec::new(Arc::clone(input), spec)?))
}

fn latest_on(node: &LatestOn, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let (time, by) = (place(&node.input, &node.time)?, places(&node.input, &node.by)?);
    Ok(Arc::new(LatestOnExec::new(Arc::clone(input), time, by)?))
}
