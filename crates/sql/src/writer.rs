//! What SQL asks of those who can write: the hook behind `INSERT`, `DELETE`, `CREATE TABLE` and
//! `DROP TABLE`.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use timestrata_engine::{KeyRange, Result};

type Matches = dyn Fn(&RecordBatch) -> Result<BooleanArray> + Send + Sync;

/// Which rows of a table are meant.
#[derive(Clone)]
pub struct Predicate {
    /// No row outside of these, disjoint and ascending, is meant.
    pub ranges: Vec<KeyRange>,
    /// Every row inside of `ranges` is.
    pub is_exact: bool,
    pub(crate) matches: Arc<Matches>,
}

impl Predicate {
    /// Which rows of a batch, of all columns of the table, are meant: those that are true; none is
    /// null.
    pub fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        (self.matches)(batch)
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predicate")
            .field("ranges", &self.ranges)
            .field("is_exact", &self.is_exact)
            .finish_non_exhaustive()
    }
}

/// A table that is to be made.
#[derive(Debug, Clone)]
pub struct TableDefinition {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub schema: SchemaRef,
    /// Columns of its primary key; empty: every row is kept.
    pub key: Vec<String>,
    /// `IF NOT EXISTS`: one that is there will do.
    pub if_not_exists: bool,
}

/// Writes tables. Called by statements, on threads that may block.
pub trait SqlWriter: fmt::Debug + Send + Sync {
    /// Adds rows, each batch with all columns of the table; gives how many.
    fn insert(
        &self,
        table: &str,
        batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    ) -> Result<u64>;

    /// Deletes the rows meant; gives how many.
    fn delete_where(&self, table: &str, predicate: &Predicate) -> Result<u64>;

    /// Makes a table.
    fn create(&self, definition: &TableDefinition) -> Result<()>;

    /// Removes a table and its rows.
    fn drop_table(&self, table: &str) -> Result<()>;
}
