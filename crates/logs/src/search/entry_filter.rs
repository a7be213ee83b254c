//! A filter for those who scan a log's stream themselves.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use timestrata_engine::{PruneFilter, Result, Stream};

use super::matching::{self, SearchedRows};
use super::read_columns::ReadColumns;
use crate::LogsOptions;
use crate::filter::Filter;
use crate::layout::Layout;

/// Which rows of a log's stream a filter lets through.
///
/// ```
/// use timestrata_engine::{KeyRange, ScanSpec, Settings, Store};
/// use timestrata_logs::{EntryFilter, Logs, LogsOptions, NewEntry};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// app.write(&NewEntry::new("started"))?;
/// app.write(&NewEntry::new("disk is full"))?;
/// let stream = store.expect_stream("app")?;
/// let filter = EntryFilter::new(&stream, &"disk".parse()?)?;
/// let columns = Some(filter.columns().to_vec());
/// let rows = store.snapshot()?.collect(stream.id(), &ScanSpec { columns, ..ScanSpec::default() })?;
/// assert_eq!(filter.passes(&rows).true_count(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct EntryFilter {
    filter: Filter,
    layout: Arc<Layout>,
    columns: Vec<usize>,
}

impl EntryFilter {
    /// # Errors
    /// `InvalidArgument` if the stream is no log.
    pub fn new(stream: &Arc<Stream>, filter: &Filter) -> Result<Self> {
        LogsOptions::of(stream)?;
        let layout = Arc::new(Layout::new(Arc::clone(stream)));
        let columns = ReadColumns::of(filter, &layout).columns().to_vec();
        Ok(Self { filter: filter.clone(), layout, columns })
    }

    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The columns of the stream that it looks at; at least one.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// What blocks are asked unread: no row of those that it leaves out passes.
    pub fn prune_filter(&self) -> PruneFilter {
        ReadColumns::prune_filter(&self.filter)
    }

    /// Whether each row passes; `rows` has [`columns`](Self::columns) in their order, text as `Utf8`.
    pub fn passes(&self, rows: &RecordBatch) -> BooleanArray {
        let rows = SearchedRows::new(rows, &self.columns, &self.layout);
        let all = BooleanBuffer::new_set(rows.len());
        matching::hits(self.filter.root(), &rows, &all).into()
    }
}
