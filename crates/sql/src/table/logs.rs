//! A log as a table: its entries with levels by name, and each field in its column, wherever its
//! value is kept.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use timestrata_engine::Stream;
use timestrata_logs::ShownColumns;

use super::{ScanRequest, TableSource};
use crate::schema::{SqlTable, logs_schema};

/// The columns of a log.
#[derive(Debug)]
pub(super) struct LogColumns {
    /// The stream as it is.
    stored: Arc<SqlTable>,
    shown: Arc<ShownColumns>,
    schema: SchemaRef,
}

impl LogColumns {
    /// Those of a log; `None` if the stream is something else.
    pub(super) fn of(stream: &Arc<Stream>) -> Option<Self> {
        Some(Self {
            schema: logs_schema(stream)?,
            stored: Arc::new(SqlTable::whole(stream)),
            shown: Arc::new(ShownColumns::of(stream).ok()?),
        })
    }
}

impl TableSource for LogColumns {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn scan(&self, columns: &[usize], request: &ScanRequest<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let mut read: Vec<usize> =
            columns.iter().flat_map(|column| self.shown.sources(*column)).collect();
        read.sort_unstable();
        read.dedup();
        let scan = request.scan(&self.stored, &read)?;
        let source = |column: &usize| -> Arc<dyn PhysicalExpr> {
            let place = read.binary_search(column).unwrap_or_default();
            Arc::new(Column::new(self.stored.schema.field(*column).name(), place))
        };
        let expressions = columns.iter().map(|column| {
            let field = self.schema.field(*column);
            let sources = self.shown.sources(*column);
            let is_same = self.stored.schema.field(*column) == field && sources.len() == 1;
            let expr = match is_same {
                true => source(column),
                false => Arc::new(ShownColumn {
                    shown: Arc::clone(&self.shown),
                    column: *column,
                    field: Arc::new(field.clone().with_nullable(true)),
                    sources: sources.iter().map(source).collect(),
                }),
            };
            ProjectionExpr { expr, alias: field.name().clone() }
        });
        let expressions: Vec<_> = expressions.collect();
        Ok(Arc::new(ProjectionExec::try_new(expressions, Arc::new(scan))?))
    }

    fn pushed_down(&self, filters: &[&Expr]) -> Vec<TableProviderFilterPushDown> {
        self.stored.pushed_down(filters)
    }
}

/// A column as it is shown, made of those of the stream.
#[derive(Debug, Clone)]
struct ShownColumn {
    shown: Arc<ShownColumns>,
    column: usize,
    field: FieldRef,
    sources: Vec<Arc<dyn PhysicalExpr>>,
}

impl PartialEq for ShownColumn {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shown, &other.shown)
            && self.column == other.column
            && self.sources == other.sources
    }
}

impl Eq for ShownColumn {}

impl Hash for ShownColumn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.column.hash(state);
        self.sources.hash(state);
    }
}

impl fmt::Display for ShownColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field.name())
    }
}

impl PhysicalExpr for ShownColumn {
    fn return_field(&self, _: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.field))
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
        Ok(ColumnarValue::Array(cast(&shown, self.field.data_type())?))
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
