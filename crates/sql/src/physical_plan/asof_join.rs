//! The as-of join, streaming: both sides come in time order (for the next row instead of the last
//! one, in the reverse of it), and of the right side the newest row of each key is remembered.

mod state;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlanProperties, PlanProperties};
use futures::StreamExt;
use futures::stream::try_unfold;

use self::state::JoinState;
use super::operator::{Inputs, Operator, keys_of, order_by, streamed};

/// The terms of a join, by places of columns.
#[derive(Debug, Clone)]
pub(crate) struct AsofJoinSpec {
    pub(crate) left_time: usize,
    pub(crate) right_time: usize,
    /// Pairs that must be equal.
    pub(crate) by: Vec<(usize, usize)>,
    /// What one unit of either time is in a common one.
    pub(crate) scales: (i128, i128),
    /// In that unit.
    pub(crate) tolerance: Option<i128>,
    /// The next row of the right side, and not the last one.
    pub(crate) forward: bool,
    /// The nearest of both.
    pub(crate) nearest: bool,
    pub(crate) allow_exact: bool,
    /// Columns of the right side that are given.
    pub(crate) shown: Vec<usize>,
    /// The columns of the left side, then those.
    pub(crate) schema: SchemaRef,
}

impl Operator<2> for AsofJoinSpec {
    const NAME: &'static str = "AsofJoinExec";
    const KEEPS_ORDER: [bool; 2] = [true, false];

    fn properties(&self, [left, right]: &Inputs<2>) -> Result<Arc<PlanProperties>> {
        let (ours, theirs): (Vec<usize>, Vec<usize>) = self.by.iter().copied().unzip();
        keys_of(&left.schema(), &ours)?;
        keys_of(&right.schema(), &theirs)?;
        // The columns of the left side come first: its order is ours.
        Ok(streamed(Arc::clone(&self.schema), left.output_ordering().cloned(), 1))
    }

    fn required_order(&self, [left, right]: &Inputs<2>) -> [Option<LexOrdering>; 2] {
        [(left, self.left_time), (right, self.right_time)]
            .map(|(side, time)| order_by(&side.schema(), &[time], self.forward))
    }

    fn describe(&self, [left, right]: &Inputs<2>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, right) = (left.schema(), right.schema());
        let pair = |(ours, theirs): (usize, usize)| {
            format!("{} = {}", left.field(ours).name(), right.field(theirs).name())
        };
        let on = pair((self.left_time, self.right_time));
        let by: Vec<String> = self.by.iter().map(|columns| pair(*columns)).collect();
        let direction = match (self.nearest, self.forward) {
            (true, _) => "nearest",
            (false, true) => "forward",
            (false, false) => "backward",
        };
        write!(f, ": on={on}, by=[{}], {direction}", by.join(", "))
    }

    fn execute(
        &self,
        [left, right]: &Inputs<2>,
        schema: SchemaRef,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let memory = MemoryConsumer::new("AsofJoin").register(context.memory_pool());
        let rows = left.execute(partition, Arc::clone(&context))?;
        let right_rows = right.execute(partition, context)?;
        let schemas = (left.schema(), right.schema());
        let state = JoinState::new(self.clone(), (&schemas.0, &schemas.1), right_rows, memory)?;
        let joined = try_unfold((rows, state), |(mut rows, mut state)| async move {
            let Some(batch) = rows.next().await.transpose()? else { return Ok(None) };
            let joined = state.join(&batch).await?;
            Ok(Some((joined, (rows, state))))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, joined)))
    }
}
