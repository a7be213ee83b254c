//! From nodes of the logical plan to operators.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::Session;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::asof_join::AsofJoinSpec;
use super::gap_fill::GapFillSpec;
use super::latest_on::LatestOnSpec;
use super::operator::{Operator, OperatorExec};
use crate::functions::{
    AsofTerms, Direction, FunctionNode, FunctionTerms, GapFillTerms, LatestOnTerms, find,
};

/// Plans the nodes of table functions.
pub(crate) struct TableFunctionPlanner;

#[async_trait]
impl ExtensionPlanner for TableFunctionPlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        Ok(match planned(node, inputs, asof_join)? {
            Some(plan) => Some(plan),
            None => match planned(node, inputs, gap_fill)? {
                Some(plan) => Some(plan),
                None => planned(node, inputs, latest_on)?,
            },
        })
    }
}

/// The operator of a node, if it is one of such terms.
fn planned<T: FunctionTerms<N>, O: Operator<N>, const N: usize>(
    node: &dyn UserDefinedLogicalNode,
    inputs: &[Arc<dyn ExecutionPlan>],
    operator: fn(&FunctionNode<T, N>) -> Result<O>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    match (node.as_any().downcast_ref(), <[_; N]>::try_from(inputs.to_vec())) {
        (Some(node), Ok(inputs)) => Ok(Some(Arc::new(OperatorExec::new(operator(node)?, inputs)?))),
        _ => Ok(None),
    }
}

fn place(plan: &LogicalPlan, name: &str) -> Result<usize> {
    Ok(find(plan.schema(), name, "input")?.0)
}

fn places(plan: &LogicalPlan, names: &[String]) -> Result<Vec<usize>> {
    names.iter().map(|name| place(plan, name)).collect()
}

fn asof_join(node: &FunctionNode<AsofTerms, 2>) -> Result<AsofJoinSpec> {
    let FunctionNode { inputs: [left, right], terms, schema } = node;
    let pair = |(ours, theirs): &(String, String)| Ok((place(left, ours)?, place(right, theirs)?));
    let (left_time, right_time) = pair(&terms.on)?;
    Ok(AsofJoinSpec {
        left_time,
        right_time,
        by: terms.by.iter().map(pair).collect::<Result<_>>()?,
        scales: terms.scales,
        tolerance: terms.tolerance,
        forward: terms.direction == Direction::Forward,
        nearest: terms.direction == Direction::Nearest,
        allow_exact: terms.allow_exact,
        shown: terms.shown(right),
        schema: Arc::clone(schema.inner()),
    })
}

fn gap_fill(node: &FunctionNode<GapFillTerms, 1>) -> Result<GapFillSpec> {
    let FunctionNode { inputs: [input], terms, .. } = node;
    let (time, by) = (place(input, &terms.time)?, places(input, &terms.by)?);
    let DataType::Timestamp(unit, _) = *input.schema().field(time).data_type() else {
        return internal_err!("gaps are filled between times");
    };
    Ok(GapFillSpec {
        time,
        by,
        buckets: terms.buckets(unit)?,
        fill: terms.fill,
        start: terms.start,
        end: terms.end,
    })
}

fn latest_on(node: &FunctionNode<LatestOnTerms, 1>) -> Result<LatestOnSpec> {
    let FunctionNode { inputs: [input], terms, .. } = node;
    Ok(LatestOnSpec { time: place(input, &terms.time)?, by: places(input, &terms.by)? })
}
