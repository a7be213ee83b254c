//! What SQL asks of those who can write: the hook behind `INSERT`, `UPDATE`, `DELETE`, `ALTER TABLE`, and `CREATE` and `DROP` of
//! tables and views.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::datatypes::{FieldRef, SchemaRef};
use timestrata_engine::{KeyRange, Result, Stream};
use timestrata_table::MaterializedView;

use crate::error::invalid;

type Matches = dyn Fn(&RecordBatch) -> Result<BooleanArray> + Send + Sync;

/// Which rows of a table are meant.
///
/// ```
/// # use timestrata_engine::{Settings, Store};
/// # use timestrata_sql::{Params, Sql, SqlOptions};
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let sql = Sql::open(&store, SqlOptions::default())?;
/// sql.query_blocking("CREATE TABLE t (time TIMESTAMP NOT NULL, n BIGINT)", Params::none())?;
/// let old = sql.predicate("t", "time < '2024-05-01'", Params::none())?;
/// // It is a range of times, and nothing else has to be looked at.
/// assert!(old.is_exact && old.ranges.len() == 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Predicate {
    /// The table as it was seen: ranges are told in the unit of its times.
    pub stream: Arc<Stream>,
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

type Change = dyn Fn(&RecordBatch) -> Result<RecordBatch> + Send + Sync;

/// What becomes of rows that an `UPDATE` means.
///
/// ```
/// # use timestrata_engine::{Settings, Store};
/// # use timestrata_sql::{Params, Sql, SqlOptions};
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let sql = Sql::open(&store, SqlOptions::default())?;
/// let run = |statement: &str| sql.query_blocking(statement, Params::none());
/// run("CREATE TABLE t (time TIMESTAMP NOT NULL, k VARCHAR, n BIGINT, PRIMARY KEY (k))")?;
/// run("INSERT INTO t VALUES ('2024-05-01', 'a', 1)")?;
/// // The writer is given a `RowChange` that adds one to `n`.
/// run("UPDATE t SET n = n + 1 WHERE k = 'a'")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RowChange {
    pub(crate) change: Arc<Change>,
}

impl RowChange {
    /// The rows that take the place of those of a batch, of all columns of the table: as many, of the same keys.
    ///
    /// # Errors
    /// `InvalidData` where an expression doesn't fit a row, or its value the column.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        (self.change)(batch)
    }
}

impl fmt::Debug for RowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowChange")
    }
}

/// What an `ALTER TABLE` changes.
///
/// ```
/// use timestrata_sql::TableChange;
///
/// let change = TableChange::Rename { name: "trades".to_owned() };
/// assert!(matches!(change, TableChange::Rename { .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableChange {
    /// New columns, and columns that get types which hold more: all at once.
    Columns {
        /// Columns that are new.
        added: Vec<FieldRef>,
        /// Columns that are there, with the types that they get.
        widened: Vec<FieldRef>,
    },
    /// Another name.
    Rename {
        /// The name.
        name: String,
    },
}

/// A table that is to be made.
///
/// ```
/// use std::sync::Arc;
///
/// use timestrata_sql::TableDefinition;
///
/// let definition = TableDefinition {
///     name: "trades".to_owned(),
///     schema: Arc::new(datafusion::arrow::datatypes::Schema::empty()),
///     key: Vec::new(),
///     if_not_exists: true,
/// };
/// assert!(definition.key.is_empty());
/// ```
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

/// A view that is to be made.
///
/// ```
/// use timestrata_sql::ViewDefinition;
///
/// let query = "SELECT * FROM trades WHERE volume > 100".to_owned();
/// let view =
///     ViewDefinition { name: "large".to_owned(), query, replaces: false, materialized: None };
/// assert!(view.query.starts_with("SELECT"));
/// ```
#[derive(Debug, Clone)]
pub struct ViewDefinition {
    /// Its name.
    pub name: String,
    /// The query that it stands for.
    pub query: String,
    /// `OR REPLACE`: it takes the place of a view of that name.
    pub replaces: bool,
    /// What is kept of it, if it is a materialised one.
    pub materialized: Option<MaterializedView>,
}

/// Writes tables. Called by statements, on threads that may block.
///
/// ```
/// use datafusion::arrow::array::RecordBatch;
/// use timestrata_engine::{Error, ErrorKind, Result};
/// use timestrata_sql::{Predicate, SqlWriter, TableDefinition, ViewDefinition};
///
/// /// Takes new rows, and counts them only.
/// #[derive(Debug)]
/// struct Counting;
///
/// impl SqlWriter for Counting {
///     fn insert(
///         &self,
///         _: &str,
///         batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
///     ) -> Result<u64> {
///         batches.map(|batch| Ok(batch?.num_rows() as u64)).sum()
///     }
///
///     fn delete_where(&self, table: &str, _: &Predicate) -> Result<u64> {
///         Err(Error::new(ErrorKind::ReadOnly, format!("rows of '{table}' stay")))
///     }
///
///     fn create(&self, _: &TableDefinition) -> Result<()> {
///         Ok(())
///     }
///
///     fn drop_table(&self, table: &str) -> Result<()> {
///         Err(Error::new(ErrorKind::ReadOnly, format!("'{table}' stays")))
///     }
///
///     fn create_view(&self, view: &ViewDefinition) -> Result<()> {
///         Err(Error::new(ErrorKind::ReadOnly, format!("'{}' can't be made", view.name)))
///     }
///
///     fn drop_view(&self, view: &str) -> Result<()> {
///         Err(Error::new(ErrorKind::ReadOnly, format!("'{view}' stays")))
///     }
/// }
/// assert_eq!(Counting.insert("t", &mut std::iter::empty()).ok(), Some(0));
/// ```
pub trait SqlWriter: fmt::Debug + Send + Sync {
    /// Adds rows, each batch with all columns of the table; gives how many.
    fn insert(
        &self,
        table: &str,
        batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    ) -> Result<u64>;

    /// Deletes the rows meant; gives how many.
    fn delete_where(&self, table: &str, predicate: &Predicate) -> Result<u64>;

    /// Changes the rows meant, of a table with a key; gives how many. Unless somebody does it, it is refused.
    fn update_where(&self, table: &str, _: &Predicate, _: &RowChange) -> Result<u64> {
        Err(invalid(format!("rows of '{table}' are not changed by UPDATE here")))
    }

    /// Changes a table. Unless somebody does it, it is refused.
    fn alter(&self, table: &str, _: &TableChange) -> Result<()> {
        Err(invalid(format!("table '{table}' is not altered here")))
    }

    /// Makes a table.
    fn create(&self, definition: &TableDefinition) -> Result<()>;

    /// Removes a table and its rows.
    fn drop_table(&self, table: &str) -> Result<()>;

    /// Makes a view.
    fn create_view(&self, view: &ViewDefinition) -> Result<()>;

    /// Removes a view.
    fn drop_view(&self, view: &str) -> Result<()>;
}
