//! Rows that one call makes: those of table functions that read no table row by row.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{TryStreamExt, stream};

use super::operator::streamed;
use crate::error::carried;

/// What makes the rows.
pub(crate) trait Computation: fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// Their columns.
    fn schema(&self) -> SchemaRef;

    /// All of them. Runs on a thread that may block, and ends soon once the query isn't wanted any more.
    ///
    /// # Errors
    /// Any ends the query.
    fn compute(&self) -> timestrata_engine::Result<RecordBatch>;
}

/// The table that a call gives.
#[derive(Debug)]
pub(crate) struct ComputedTable<C>(pub(crate) Arc<C>);

#[async_trait]
impl<C: Computation> TableProvider for ComputedTable<C> {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.schema().fields().len()).collect();
        let columns: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let schema = Arc::new(self.schema().project(&columns)?);
        let no_order = None::<LexOrdering>;
        let properties = streamed(schema, no_order, 1);
        Ok(Arc::new(ComputedExec { computation: Arc::clone(&self.0), columns, properties }))
    }
}

#[derive(Debug)]
struct ComputedExec<C> {
    computation: Arc<C>,
    columns: Vec<usize>,
    properties: Arc<PlanProperties>,
}

impl<C: Computation> DisplayAs for ComputedExec<C> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.computation)
    }
}

impl<C: Computation> ExecutionPlan for ComputedExec<C> {
    fn name(&self) -> &'static str {
        type_name::<C>().rsplit("::").next().unwrap_or("ComputedExec")
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
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
        match children.as_slice() {
            [] => Ok(self),
            _ => internal_err!("{} has no inputs", self.name()),
        }
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (computation, columns) = (Arc::clone(&self.computation), self.columns.clone());
        let batch_rows = context.session_config().batch_size().max(1);
        let memory = MemoryConsumer::new(self.name()).register(context.memory_pool());
        let rows = async move {
            let computed = SpawnedTask::spawn_blocking(move || computation.compute());
            let failed = |error| DataFusionError::ExecutionJoin(Box::new(error));
            let rows = computed.join_unwind().await.map_err(failed)?.map_err(carried)?;
            memory.try_grow(rows.get_array_memory_size())?;
            let rows = rows.project(&columns)?;
            let starts = (0..rows.num_rows()).step_by(batch_rows);
            let pieces = starts.map(move |start| {
                // They are there as long as pieces of them are.
                let _ = &memory;
                let length = batch_rows.min(rows.num_rows() - start);
                Ok::<_, DataFusionError>(rows.slice(start, length))
            });
            Ok::<_, DataFusionError>(stream::iter(pieces))
        };
        let rows = stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
