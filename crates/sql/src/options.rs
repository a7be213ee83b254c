//! What a query may use.

use std::path::PathBuf;

/// What the queries of one [`Sql`](crate::Sql) may use, all together.
///
/// ```
/// use timestrata_sql::SqlOptions;
///
/// let options = SqlOptions { memory_bytes_max: 64 << 20, read_only: true, ..SqlOptions::default() };
/// assert_eq!(options.batch_rows, 8_192);
/// ```
#[derive(Debug, Clone)]
pub struct SqlOptions {
    /// Memory of sorts, groups and joins, in bytes; what is more is spilled to disk, where the
    /// operator can do that, and refused with `TooLarge` where not. Default 1 GiB.
    pub memory_bytes_max: usize,
    /// Where spilled rows go. Default: the system's directory for temporary files.
    pub spill_dir: Option<PathBuf>,
    /// Threads that a query is shared among. Default: as many as the machine has.
    pub threads: usize,
    /// Rows of a batch, in between and of an answer, at most. Default 8,192.
    pub batch_rows: usize,
    /// Refuse all that writes, even where there is a writer. Default false.
    pub read_only: bool,
    /// Length of a statement in bytes, at most. Default 1 MiB.
    pub statement_bytes_max: usize,
}

impl Default for SqlOptions {
    fn default() -> Self {
        Self {
            memory_bytes_max: 1 << 30,
            spill_dir: None,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            batch_rows: 8_192,
            read_only: false,
            statement_bytes_max: 1 << 20,
        }
    }
}
