//! Operators of ours over the rows of others: an [`Operator`] says what one does, and [`OperatorExec`] is all
//! that DataFusion asks besides, which is alike in all of them.
//!
//! Invariant: an operator's properties are worked out anew whenever it gets other inputs.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_expr_common::sort_expr::OrderingRequirements;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, Partitioning,
    PlanProperties,
};

/// What an operator reads.
pub(crate) type Inputs<const N: usize> = [Arc<dyn ExecutionPlan>; N];

/// What one operator does with the rows of `N` inputs.
pub(crate) trait Operator<const N: usize>:
    fmt::Debug + Clone + Send + Sync + 'static
{
    /// Its name in plans.
    const NAME: &'static str;
    /// For each input whether the rows that are given are in its order.
    const KEEPS_ORDER: [bool; N];
    /// How rows of the inputs may be spread over partitions.
    const DISTRIBUTION: Distribution = Distribution::SinglePartition;
    /// Whether what is known of the rows of its first input is true of its own.
    const KEEPS_STATISTICS: bool = false;

    /// What is known of its rows.
    ///
    /// # Errors
    /// For inputs that it can't work on.
    fn properties(&self, inputs: &Inputs<N>) -> Result<Arc<PlanProperties>>;

    /// The order that each input has to come in.
    fn required_order(&self, _: &Inputs<N>) -> [Option<LexOrdering>; N] {
        [const { None }; N]
    }

    /// What plans show behind its name.
    fn describe(&self, _: &Inputs<N>, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// The rows of one partition.
    fn execute(
        &self,
        inputs: &Inputs<N>,
        schema: SchemaRef,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream>;
}

/// An operator in a plan.
#[derive(Debug)]
pub(crate) struct OperatorExec<O, const N: usize> {
    operator: O,
    inputs: Inputs<N>,
    properties: Arc<PlanProperties>,
}

impl<O: Operator<N>, const N: usize> OperatorExec<O, N> {
    pub(crate) fn new(operator: O, inputs: Inputs<N>) -> Result<Self> {
        let properties = operator.properties(&inputs)?;
        Ok(Self { operator, inputs, properties })
    }
}

impl<O: Operator<N>, const N: usize> DisplayAs for OperatorExec<O, N> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(O::NAME)?;
        self.operator.describe(&self.inputs, f)
    }
}

impl<O: Operator<N>, const N: usize> ExecutionPlan for OperatorExec<O, N> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![O::DISTRIBUTION; N])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.operator.required_order(&self.inputs).map(|order| order.map(Into::into)).into()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        O::KEEPS_ORDER.to_vec()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let inputs = Inputs::try_from(children)
            .map_err(|_| internal_datafusion_err!("{} has {N} inputs", O::NAME))?;
        Ok(Arc::new(Self::new(self.operator.clone(), inputs)?))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.operator.execute(&self.inputs, self.schema(), partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        let request =
            if O::KEEPS_STATISTICS { ChildStats::At(partition) } else { ChildStats::Skip };
        vec![request; N]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let unknown = || Arc::new(Statistics::new_unknown(&self.schema()));
        let kept = inputs.first().filter(|_| O::KEEPS_STATISTICS);
        Ok(kept.map_or_else(unknown, Arc::clone))
    }
}

/// Properties of children may be others: ours are worked out anew.
pub(super) fn recompute() -> ReplaceChildrenOptions {
    ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute)
}

/// Properties of rows that end, and are given as they come, in each of `orders` and in so many partitions.
pub(super) fn streamed(
    schema: SchemaRef,
    orders: impl IntoIterator<Item = impl IntoIterator<Item = PhysicalSortExpr>>,
    partitions: usize,
) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new_with_orderings(schema, orders),
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

/// The order of some columns, nulls behind everything.
pub(super) fn order_by(
    schema: &Schema,
    columns: &[usize],
    descending: bool,
) -> Option<LexOrdering> {
    let options = SortOptions { descending, nulls_first: false };
    LexOrdering::new(columns.iter().map(|column| PhysicalSortExpr {
        expr: Arc::new(Column::new(schema.field(*column).name(), *column)),
        options,
    }))
}

/// A converter of some columns to keys that can be compared as bytes.
pub(super) fn keys_of(schema: &Schema, columns: &[usize]) -> Result<RowConverter> {
    let types = columns.iter().map(|column| schema.field(*column).data_type().clone());
    Ok(RowConverter::new(types.map(SortField::new).collect())?)
}

/// Names of columns, as plans show them.
pub(super) fn names_of(schema: &Schema, columns: &[usize]) -> String {
    let names: Vec<_> =
        columns.iter().map(|column| schema.field(*column).name().as_str()).collect();
    names.join(", ")
}
