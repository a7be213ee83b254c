//! An operator that hands on what its input gives as long as the query is wanted.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::Distribution;
use datafusion::physical_plan::PlanProperties;
use futures::Stream;
use timestrata_engine::{GiveUpOnDrop, RunningQuery};
use tokio::task::coop;

use crate::error::carried;
use crate::physical_plan::{Inputs, Operator};

#[derive(Debug, Clone)]
pub(super) struct Governed {
    pub(super) query: RunningQuery,
}

impl Operator<1> for Governed {
    const NAME: &'static str = "GovernedExec";
    const KEEPS_ORDER: [bool; 1] = [true];
    const DISTRIBUTION: Distribution = Distribution::UnspecifiedDistribution;
    const KEEPS_STATISTICS: bool = true;

    fn properties(&self, [input]: &Inputs<1>) -> Result<Arc<PlanProperties>> {
        Ok(Arc::clone(input.properties()))
    }

    fn execute(
        &self,
        [input]: &Inputs<1>,
        _: SchemaRef,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.query.check().map_err(carried)?;
        let input = input.execute(partition, context)?;
        Ok(Box::pin(GovernedStream::new(input, &self.query, None)))
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
