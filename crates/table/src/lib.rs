//! Tables: typed rows by time.
//!
//! A table has a time column, other typed columns that may be null, and if wished an *upsert
//! key*. It is one stream, keyed by the time:
//!
//! - without an upsert key every row is kept, and rows of the same time stay in the order in
//!   which they were committed;
//! - with one, of the rows that are equal in the key's columns the one committed last is the
//!   table's. If the time is part of the key, the stream itself sees to that. If it isn't, a row
//!   may replace one at another time; then a second stream leads from keys to times, and both
//!   change in one commit.
//!
//! The stream's properties say what it is: `model = table`, `key` and `tag` once a column,
//! `index`, the second stream's name.
//!
//! A [`Table`] writes, and gives a [`TableView`], which reads and never changes.
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
//! use timestrata_engine::{Durability, KeyRange, Settings, Store};
//! use timestrata_table::{IngestOptions, Table, TableScan, ingest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Store::memory(Settings::default())?;
//! let rows = RecordBatch::try_from_iter([
//!     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
//!     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
//!     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
//! ])?;
//! // Makes the table, of columns like these, if there is none yet; one commit of any size.
//! let mut batches = std::iter::once(Ok(rows));
//! let taken = ingest(&store, "rooms", &mut batches, &IngestOptions::default())?;
//! assert_eq!(taken.rows, 3);
//!
//! let view = Table::open(&store, "rooms")?.view()?;
//! assert_eq!(view.count(&KeyRange::times(2_000, 4_000))?, 2);
//! let scan = view.scan(&TableScan::of_times(2_000..)?)?;
//! assert_eq!(scan.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<usize, _>>()?, 2);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod commit_part;
mod delete;
mod fit;
mod handle;
mod identity;
mod ingest;
mod latest;
mod layout;
mod materialized;
mod options;
mod page;
mod replace;
mod series;
mod series_keys;
mod text;
mod time;
mod together;
mod unit;
mod update;
mod view;
mod views;
mod write;

pub use commit_part::TableWrite;
pub use delete::RowPredicate;
pub use fit::OnMismatch;
pub use handle::Table;
pub use ingest::{Commits, Expected, FoundTime, IngestOptions, Ingested, ingest};
pub use materialized::{Buckets, MARGIN, expiring_before};
pub use options::{ID_COLUMN, TableOptions, is_hidden, is_table};
pub use page::without_first;
pub use text::{TimeTexts, times_as_text};
pub use timestrata_values::time::{array as time_array, parse as parse_time, text as time_text};
pub use together::append_together;
pub use view::{TableScan, TableView};
pub use views::{
    FoldLock, MaterializedView, create_materialized_view, create_view, drop_view, follower_of,
    is_view, materialized_from, place_of, view_query,
};
pub use write::WriteOptions;
