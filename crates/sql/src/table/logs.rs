//! A log as a table: its entries with levels by name, and each field in its column, wherever its
//! value is kept.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use timestrata_engine::{Snapshot, Stream};
use timestrata_logs::{ShownColumns, is_logs};

use super::{Narrowed, judge_filters, lead_of, narrow_table};
use crate::physical_plan::StreamScan;
use crate::schema::SqlTable;

/// A log of one query.
#[derive(Debug)]
pub(crate) struct LogsTable {
    /// The stream as it is.
    stored: Arc<SqlTable>,
    shown: Arc<ShownColumns>,
    schema: SchemaRef,
    snapshot: Snapshot,
}

/// The columns of a log's table; `None` if the stream is something else.
pub(crate) fn logs_schema(stream: &Arc<Stream>) -> Option<SchemaRef> {
    if !is_logs(stream) {
        return None;
    }
    Some(viewed(&ShownColumns::of(stream).ok()?.schema()))
}

/// The same, with text as it is worked with.
fn viewed(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Utf8 => Arc::new(Field::clone(field).with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

impl LogsTable {
    /// The table of a log; `None` if the stream is something else.
    pub(crate) fn of(stream: &Arc<Stream>, snapshot: &Snapshot) -> Option<Self> {
        let schema = logs_schema(stream)?;
        Some(Self {
            stored: Arc::new(SqlTable::whole(stream)),
            shown: Arc::new(ShownColumns::of(stream).ok()?),
            schema,
            snapshot: snapshot.clone(),
        })
    }
}

#[async_trait]
impl TableProvider for LogsTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Narrowed { ranges, .. } = narrow_table(&self.stored, filters);
        let wanted: Vec<usize> = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let mut read: Vec<usize> =
            wanted.iter().flat_map(|column| self.shown.sources(*column)).collect();
        read.sort_unstable();
        read.dedup();
        let parts = state.config().target_partitions();
        let scan = StreamScan::new(&self.stored, &self.snapshot, &read, ranges, limit, parts)?;
        let source = |column: &usize| -> Arc<dyn PhysicalExpr> {
            let place = read.binary_search(column).unwrap_or_default();
            Arc::new(Column::new(self.stored.schema.field(*column).name(), place))
        };
        let expressions = wanted.iter().map(|column| {
            let field = self.schema.field(*column);
            let sources = self.shown.sources(*column);
            let is_same = self.stored.schema.field(*column) == field && sources.len() == 1;
            let expr = match is_same {
                true => source(column),
                false => Arc::new(Shown {
                    shown: Arc::clone(&self.shown),
                    column: *column,
                    data_type: field.data_type().clone(),
                    sources: sources.iter().map(source).collect(),
                }),
            };
            ProjectionExpr { expr, alias: field.name().clone() }
        });
        let expressions: Vec<_> = expressions.collect();
        Ok(Arc::new(ProjectionExec::try_new(expressions, Arc::new(scan))?))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(judge_filters(lead_of(&self.stored).as_ref(), filters))
    }
}

/// A column as it is shown, made of those of the stream.
#[derive(Debug, Clone)]
struct Shown {
    shown: Arc<ShownColumns>,
    column: usize,
    data_type: DataType,
    sources: Vec<Arc<dyn PhysicalExpr>>,
}

impl PartialEq for Shown {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shown, &other.shown)
            && self.column == other.column
            && self.sources == other.sources
    }
}

impl Eq for Shown {}

impl Hash for Shown {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.column.hash(state);
        self.sources.hash(state);
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shown.schema().field(self.column).name())
    }
}

impl PhysicalExpr for Shown {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let sources: Vec<ArrayRef> = self
            .sources
            .iter()
            .map(|source| source.evaluate(batch)?.into_array(batch.num_rows()))
            .collect::<Result<_>>()?;
        let shown = self.shown.show(self.column, &sources).ok_or_else(|| {
            DataFusionError::Internal(format!("column {self} can't be shown of what was read"))
        })?;
        Ok(ColumnarValue::Array(cast(&shown, &self.data_type)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.sources.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        sources: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self { sources, ..Self::clone(&self) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
