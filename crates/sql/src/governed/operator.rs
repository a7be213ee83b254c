//! An operator that hands on what its input gives as long as the query is wanted.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};
use futures::Stream;
use timestrata_engine::{GiveUpOnDrop, RunningQuery};
use tokio::task::coop;

use crate::error::carried;

#[derive(Debug)]
pub(super) struct GovernedExec {
    input: Arc<dyn ExecutionPlan>,
    query: RunningQuery,
}

impl GovernedExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, query: RunningQuery) -> Self {
        Self { input, query }
    }
}

impl DisplayAs for GovernedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GovernedExec")
    }
}

impl ExecutionPlan for GovernedExec {
    fn name(&self) -> &'static str {
        "GovernedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![
            datafusion::physical_expr::Distribution::UnspecifiedDistribution,
        ])
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
        Ok(Arc::new(Self { input, query: self.query.clone() }))
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop().unwrap_or_else(|| Arc::clone(&self.input));
        Ok(Arc::new(Self { input, query: self.query.clone() }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.query.check().map_err(carried)?;
        let input = self.input.execute(partition, context)?;
        Ok(Box::pin(GovernedStream::new(input, &self.query, None)))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        input: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let unknown = || Arc::new(Statistics::new_unknown(&self.schema()));
        Ok(input.first().map_or_else(unknown, Arc::clone))
    }
}

/// The rows of a whole query, which is given up when they are dropped.
pub(crate) fn governed_stream(
    rows: SendableRecordBatchStream,
    query: &RunningQuery,
) -> SendableRecordBatchStream {
    Box::pin(GovernedStream::new(rows, query, Some(query.given_up_on_drop())))
}

struct GovernedStream {
    schema: SchemaRef,
    /// `None` at the end: nothing is kept for who doesn't let go of a stream that has ended.
    live: Option<(SendableRecordBatchStream, RunningQuery, Option<GiveUpOnDrop>)>,
}

impl GovernedStream {
    fn new(
        input: SendableRecordBatchStream,
        query: &RunningQuery,
        on_drop: Option<GiveUpOnDrop>,
    ) -> Self {
        Self { schema: input.schema(), live: Some((input, query.clone(), on_drop)) }
    }
}

impl Stream for GovernedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some((input, query, _)) = &mut self.live else { return Poll::Ready(None) };
        if let Err(error) = query.check() {
            self.live = None;
            return Poll::Ready(Some(Err(carried(error))));
        }
        let turn = ready!(coop::poll_proceed(context));
        let next = ready!(input.as_mut().poll_next(context));
        turn.made_progress();
        if !matches!(next, Some(Ok(_))) {
            self.live = None;
        }
        Poll::Ready(next)
    }
}

impl RecordBatchStream for GovernedStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
