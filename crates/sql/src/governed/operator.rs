//! An operator that hands on what its input gives as long as the query is wanted.

use std::sync::Arc;
use std::task::{Poll, ready};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::Distribution;
use datafusion::physical_plan::PlanProperties;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use futures::stream::poll_fn;
use timestrata_engine::{GiveUpOnDrop, RunningQuery};

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
        Ok(as_long_as_wanted(input, &self.query, None))
    }
}

/// The rows of a whole query, which is given up when they are dropped.
pub(crate) fn governed_stream(
    rows: SendableRecordBatchStream,
    query: &RunningQuery,
) -> SendableRecordBatchStream {
    as_long_as_wanted(rows, query, Some(query.given_up_on_drop()))
}

/// Rows that come as long as the query is wanted, from a thread that is handed on now and then.
fn as_long_as_wanted(
    rows: SendableRecordBatchStream,
    query: &RunningQuery,
    on_drop: Option<GiveUpOnDrop>,
) -> SendableRecordBatchStream {
    let schema = rows.schema();
    // `None` at the end: nothing is kept for who doesn't let go of a stream that has ended.
    let mut live = Some((make_cooperative(rows), query.clone(), on_drop));
    let governed = poll_fn(move |context| {
        let Some((rows, query, _)) = &mut live else { return Poll::Ready(None) };
        let next = match query.check() {
            Ok(()) => ready!(rows.poll_next_unpin(context)),
            Err(error) => Some(Err(carried(error))),
        };
        if !matches!(next, Some(Ok(_))) {
            live = None;
        }
        Poll::Ready(next)
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, governed))
}
