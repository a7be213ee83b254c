//! Gap filling, streaming: the input comes series by series, each in time order, and between two
//! rows of one series come rows for the steps that are missing.

mod rows;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, PhysicalExpr};
use datafusion::physical_expr_common::sort_expr::OrderingRequirements;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, Partitioning,
    PlanProperties,
};
use futures::StreamExt;
use futures::stream::try_unfold;

use self::rows::Filling;
use super::latest_on::{keys_of, names_of, order_by, recompute};
use crate::error::refused;
use crate::functions::Step;

/// What rows that fill a gap hold, besides their time and what tells the series apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Default)]
pub enum Fill {
    /// Nothing.
    #[default]
    Null,
    /// What the row before the gap holds.
    Previous,
    /// Numbers on the line from the row before to the row behind, rounded where they are whole
    /// ones; nothing in columns that hold no numbers, and where either row has none.
    Linear,
}

impl FromStr for Fill {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "null" => Ok(Self::Null),
            "previous" => Ok(Self::Previous),
            "linear" => Ok(Self::Linear),
            other => Err(refused(format!("fill is 'null', 'previous' or 'linear', not '{other}'"))),
        }
    }
}

/// What is filled, by places of columns.
#[derive(Debug, Clone)]
pub(crate) struct GapFillSpec {
    pub(crate) time: usize,
    pub(crate) by: Vec<usize>,
    pub(crate) step: Step,
    pub(crate) fill: Fill,
}

impl GapFillSpec {
    fn is_kept(&self, column: usize) -> bool {
        column == self.time || self.by.contains(&column)
    }

    /// By series, then by time.
    fn order(&self) -> Vec<usize> {
        self.by.iter().copied().chain([self.time]).collect()
    }
}

#[derive(Debug)]
pub(crate) struct GapFillExec {
    input: Arc<dyn ExecutionPlan>,
    spec: Arc<GapFillSpec>,
    properties: Arc<PlanProperties>,
}

impl GapFillExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, spec: GapFillSpec) -> Result<Self> {
        let given = input.schema();
        keys_of(&given, &spec.by)?;
        let fields = given.fields().iter().enumerate().map(|(index, field)| {
            let nullable = field.is_nullable() || !spec.is_kept(index);
            field.as_ref().clone().with_nullable(nullable)
        });
        let fields: Vec<Field> = fields.collect();
        let schema: SchemaRef =
            Arc::new(Schema::new_with_metadata(fields, given.metadata().clone()));
        let order = order_by(&schema, &spec.order(), false);
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(schema, order),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { input, spec: Arc::new(spec), properties: Arc::new(properties) })
    }
}

impl DisplayAs for GapFillExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema();
        let (time, by) = (names_of(&schema, &[self.spec.time]), names_of(&schema, &self.spec.by));
        let fill = self.spec.fill;
        write!(f, "GapFillExec: time={time}, by=[{by}], fill={fill:?}")
    }
}

impl ExecutionPlan for GapFillExec {
    fn name(&self) -> &'static str {
        "GapFillExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![order_by(&self.input.schema(), &self.spec.order(), false).map(Into::into)]
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
        let input = children.pop().unwrap_or_else(|| Arc::clone(&self.input));
        Ok(Arc::new(Self::new(input, self.spec.as_ref().clone())?))
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
        let batch_rows = context.session_config().batch_size().max(1);
        let filling = Filling::new(Arc::clone(&self.spec), self.schema(), batch_rows)?;
        let input = self.input.execute(partition, context)?;
        let rows = try_unfold((input, filling), |(mut input, mut filling)| async move {
            // One batch of the input may become any number of them: others must get their turn.
            tokio::task::consume_budget().await;
            loop {
                if let Some(batch) = filling.next_batch()? {
                    return Ok(Some((batch, (input, filling))));
                }
                match input.next().await.transpose()? {
                    Some(batch) => filling.push(&batch)?,
                    None => return Ok(None),
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
