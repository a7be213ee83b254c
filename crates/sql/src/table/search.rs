//! Entries of a log that its own language of filters looks for, in a plan.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use timestrata_logs::EntryFilter;

use crate::physical_plan::evaluated;

/// Whether an entry is one that is looked for.
#[derive(Debug, Clone)]
pub(super) struct Searched {
    filter: Arc<EntryFilter>,
    /// Those that the filter looks at.
    columns: Vec<Arc<dyn PhysicalExpr>>,
}

impl Searched {
    pub(super) fn new(filter: Arc<EntryFilter>, columns: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        Self { filter, columns }
    }
}

impl PartialEq for Searched {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.filter, &other.filter) && self.columns == other.columns
    }
}

impl Eq for Searched {}

impl Hash for Searched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.columns.hash(state);
    }
}

impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "search({})", self.filter.filter())
    }
}

impl PhysicalExpr for Searched {
    fn return_field(&self, _: &Schema) -> Result<FieldRef> {
        Ok(Arc::new(Field::new("search", DataType::Boolean, false)))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let columns =
            evaluated(&self.columns, batch)?.into_iter().map(|column| match column.data_type() {
                DataType::Utf8View => cast(&column, &DataType::Utf8),
                _ => Ok(column),
            });
        let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
        let fields = columns.iter().map(|column| Field::new("", column.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let rows = RecordBatch::try_new_with_options(schema, columns, &options)?;
        Ok(ColumnarValue::Array(Arc::new(self.filter.passes(&rows))))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.columns.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        columns: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self { filter: Arc::clone(&self.filter), columns }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
