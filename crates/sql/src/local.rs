//! Rows that a program has in memory, as tables of its own queries: beside those of the store, under names that the store
//! doesn't have.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use timestrata_engine::Result;

use crate::error::{from_datafusion, invalid};
use crate::names::unique_schema;

/// Rows in memory, under a name. What they are is said by whoever asks, for as long as the query and its answer live.
///
/// ```
/// use std::sync::Arc;
///
/// use datafusion::arrow::array::{Int64Array, RecordBatch};
/// use timestrata_engine::{Settings, Store};
/// use timestrata_sql::{LocalTable, Params, Sql, SqlOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let numbers = Arc::new(Int64Array::from(vec![1, 2, 3]));
/// let batch = RecordBatch::try_from_iter([("n", numbers as _)])?;
/// let table = LocalTable::new("numbers", batch.schema(), vec![batch])?;
///
/// let store = Store::memory(Settings::default())?;
/// let sql = Sql::new(&store, SqlOptions::default())?.with_tables([table]);
/// let mut rows = sql.query_blocking("SELECT n FROM numbers WHERE n > 2", Params::none())?;
/// assert_eq!(rows.next().transpose()?.map(|batch| batch.num_rows()), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LocalTable {
    pub(crate) name: String,
    rows: Arc<MemTable>,
}

impl LocalTable {
    /// Batches of these columns. Of columns that are called the same the second becomes `name:1`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name without letters, and for batches of other columns.
    pub fn new(
        name: impl Into<String>,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> Result<Self> {
        let name = name.into();
        if name.is_empty() {
            return Err(invalid("a table of a query needs a name"));
        }
        // Whether a column has nulls is not looked at, so that it may.
        let fields = unique_schema(&schema);
        let fields = fields.fields().iter().map(|field| Field::clone(field).with_nullable(true));
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let relabelled = batches.into_iter().map(|batch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let columns = batch.columns().to_vec();
            RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
        });
        let batches = relabelled.collect::<std::result::Result<Vec<_>, _>>();
        let batches = batches.map_err(|error| {
            invalid(format!("the rows of '{name}' don't have its columns: {error}"))
        })?;
        let rows = MemTable::try_new(schema, vec![batches]).map_err(from_datafusion)?;
        Ok(Self { name, rows: Arc::new(rows) })
    }

    pub(crate) fn provider(&self) -> Arc<dyn TableProvider> {
        Arc::clone(&self.rows) as _
    }
}

/// Refuses two of one name.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn check_names(tables: &[LocalTable]) -> Result<()> {
    for (place, table) in tables.iter().enumerate() {
        let mut before = tables.iter().take(place);
        let wanted = table.name.to_lowercase();
        if let Some(other) = before.find(|other| other.name.to_lowercase() == wanted) {
            return Err(invalid(format!(
                "the query is given two tables that its SQL can't tell apart: '{}' and '{}'",
                other.name, table.name
            )));
        }
    }
    Ok(())
}
