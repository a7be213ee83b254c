//! The as-of join, streaming: both sides come in time order (for the next row instead of the last
//! one, in the reverse of it), and of the right side the newest row of each key is remembered.

mod state;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, PhysicalExpr};
use datafusion::physical_expr_common::sort_expr::OrderingRequirements;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties,
};
use futures::StreamExt;
use futures::stream::try_unfold;

use self::state::Joining;
use super::latest_on::{keys_of, order_by, recompute};

/// The terms of a join, by places of columns.
#[derive(Debug, Clone)]
pub(crate) struct AsofJoinOn {
    pub(crate) left_time: usize,
    pub(crate) right_time: usize,
    /// Pairs that must be equal.
    pub(crate) by: Vec<(usize, usize)>,
    /// What one unit of either time is in a common one.
    pub(crate) scales: (i64, i64),
    /// In that unit.
    pub(crate) tolerance: Option<i128>,
    /// The next row of the right side, and not the last one.
    pub(crate) forward: bool,
    pub(crate) allow_exact: bool,
    /// Columns of the right side that are given.
    pub(crate) shown: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct AsofJoinExec {
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    on: Arc<AsofJoinOn>,
    properties: Arc<PlanProperties>,
}

impl AsofJoinExec {
    pub(crate) fn new(
        left: Arc<dyn ExecutionPlan>,
        right: Arc<dyn ExecutionPlan>,
        on: AsofJoinOn,
        schema: SchemaRef,
    ) -> Result<Self> {
        let (ours, theirs): (Vec<usize>, Vec<usize>) = on.by.iter().copied().unzip();
        keys_of(&left.schema(), &ours)?;
        keys_of(&right.schema(), &theirs)?;
        // The columns of the left side come first: its order is ours.
        let orders = left.output_ordering().cloned();
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(schema, orders),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { left, right, on: Arc::new(on), properties: Arc::new(properties) })
    }
}

impl DisplayAs for AsofJoinExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, right) = (self.left.schema(), self.right.schema());
        let pair = |(ours, theirs): (usize, usize)| {
            format!("{} = {}", left.field(ours).name(), right.field(theirs).name())
        };
        let on = pair((self.on.left_time, self.on.right_time));
        let by: Vec<String> = self.on.by.iter().map(|columns| pair(*columns)).collect();
        let direction = if self.on.forward { "forward" } else { "backward" };
        write!(f, "AsofJoinExec: on={on}, by=[{}], {direction}", by.join(", "))
    }
}

impl ExecutionPlan for AsofJoinExec {
    fn name(&self) -> &'static str {
        "AsofJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![
            Distribution::SinglePartition,
            Distribution::SinglePartition,
        ])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let (left, right) = (self.left.schema(), self.right.schema());
        vec![
            order_by(&left, &[self.on.left_time], self.on.forward).map(Into::into),
            order_by(&right, &[self.on.right_time], self.on.forward).map(Into::into),
        ]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true, false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let right = children.pop().unwrap_or_else(|| Arc::clone(&self.right));
        let left = children.pop().unwrap_or_else(|| Arc::clone(&self.left));
        Ok(Arc::new(Self::new(left, right, self.on.as_ref().clone(), self.schema())?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, recompute())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let memory = MemoryConsumer::new("AsofJoin").register(context.memory_pool());
        let left = self.left.execute(partition, Arc::clone(&context))?;
        let right = self.right.execute(partition, context)?;
        let joining = Joining::new(
            Arc::clone(&self.on),
            (&self.left.schema(), &self.right.schema()),
            self.schema(),
            right,
            memory,
        )?;
        let rows = try_unfold((left, joining), |(mut left, mut joining)| async move {
            let Some(batch) = left.next().await.transpose()? else { return Ok(None) };
            let joined = joining.join(&batch).await?;
            Ok(Some((joined, (left, joining))))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
