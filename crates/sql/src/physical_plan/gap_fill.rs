//! Gap filling, streaming: the input comes series by series, each in time order, and between two
//! rows of one series come rows for the steps that are missing; and before its first and behind its last one, if there
//! is a start or an end.

mod rows;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::PlanProperties;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use futures::stream::try_unfold;

use self::rows::GapFiller;
use super::operator::{Inputs, Operator, keys_of, names_of, order_by, streamed};
use crate::functions::{Buckets, Fill};

/// What is filled, by places of columns.
#[derive(Debug, Clone)]
pub(crate) struct GapFillSpec {
    pub(crate) time: usize,
    pub(crate) by: Vec<usize>,
    pub(crate) buckets: Buckets,
    pub(crate) fill: Fill,
    /// From when on, and up to when, there are rows.
    pub(crate) start: Option<i64>,
    pub(crate) end: Option<i64>,
}

impl GapFillSpec {
    fn is_kept(&self, column: usize) -> bool {
        column == self.time || self.by.contains(&column)
    }

    /// By series, then by time.
    fn order(&self, schema: &Schema) -> Option<LexOrdering> {
        let columns: Vec<usize> = self.by.iter().copied().chain([self.time]).collect();
        order_by(schema, &columns, false)
    }
}

impl Operator<1> for GapFillSpec {
    const NAME: &'static str = "GapFillExec";
    const KEEPS_ORDER: [bool; 1] = [false];

    fn properties(&self, [input]: &Inputs<1>) -> Result<Arc<PlanProperties>> {
        let given = input.schema();
        keys_of(&given, &self.by)?;
        let fields = given.fields().iter().enumerate().map(|(index, field)| {
            let nullable = field.is_nullable() || !self.is_kept(index);
            field.as_ref().clone().with_nullable(nullable)
        });
        let fields: Vec<Field> = fields.collect();
        let schema: SchemaRef =
            Arc::new(Schema::new_with_metadata(fields, given.metadata().clone()));
        let order = self.order(&schema);
        Ok(streamed(schema, order, 1))
    }

    fn required_order(&self, [input]: &Inputs<1>) -> [Option<LexOrdering>; 1] {
        [self.order(&input.schema())]
    }

    fn describe(&self, [input]: &Inputs<1>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = input.schema();
        let (time, by) = (names_of(&schema, &[self.time]), names_of(&schema, &self.by));
        write!(f, ": time={time}, by=[{by}], fill={:?}", self.fill)
    }

    fn execute(
        &self,
        [input]: &Inputs<1>,
        schema: SchemaRef,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size().max(1);
        let filler = GapFiller::new(self.clone(), Arc::clone(&schema), batch_rows)?;
        let input = input.execute(partition, context)?;
        let rows = try_unfold((input, filler), |(mut input, mut filler)| async move {
            // One batch of the input may become any number of them: others must get their turn.
            tokio::task::consume_budget().await;
            loop {
                if let Some(batch) = filler.next_batch()? {
                    return Ok(Some((batch, (input, filler))));
                }
                match input.next().await.transpose()? {
                    Some(batch) => filler.push(&batch)?,
                    None if filler.finish()? => {}
                    None => return Ok(None),
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
