//! Structured logs: entries by the time of their arrival, searched by words, fields and time.
//!
//! A log is one stream that keeps every row. Its columns are `timestamp` (the store's own, in
//! nanoseconds; rises from entry to entry, so that it names one), `source_time` (the sender's), `level`
//! (an OpenTelemetry severity number), `message`, `labels` (a JSON object), `fields` (a CBOR map), and one
//! for each field that many entries have with values of one kind; such a value isn't in `fields`
//! then. Compacted runs tell which words their blocks have. The stream's properties say what it is:
//! `model = logs`, `message_bytes_max`, `columns_max`.
//!
//! Invariant: the order of timestamps is that of commits. Who has read up to one has missed nothing.
//!
//! ```
//! use timestrata_engine::{Settings, Store};
//! use timestrata_logs::{Level, Logs, LogsOptions, NewEntry, Query};
//!
//! # fn main() -> timestrata_engine::Result<()> {
//! let store = Store::memory(Settings::default())?;
//! let app = Logs::create(&store, "app", &LogsOptions::default())?;
//! let mut entry = NewEntry::new("disk is full");
//! entry.level = Some(Level::Error);
//! entry.fields.text("device", "sda1").int("free", 0);
//! app.write(&entry)?;
//!
//! assert_eq!(app.count(&Query::of("level>=error disk device:sd*")?)?, 1);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod batch;
mod columns;
mod commit_part;
mod delete;
mod entries;
mod entry;
mod field_column;
mod fields;
pub mod filter;
mod handle;
mod hub;
mod labels;
mod layout;
mod level;
mod options;
mod promote;
mod received;
mod search;
mod shown;
mod statement;
mod tail;
mod value;
mod view;
mod write;

pub use commit_part::LogsWrite;
pub use delete::DeletedEntries;
pub use entries::{Entries, EntryRef};
pub use entry::NewEntry;
pub use fields::{Fields, Scalar};
pub use handle::Logs;
pub use labels::{LABELS_MAX, Labels};
pub use level::Level;
pub use options::{COLUMNS_MAX, LogsOptions, MESSAGE_BYTES_MAX, is_logs};
pub use received::EntryReader;
pub use search::{
    Bucket, Clock, EntryFilter, Facet, FacetsOptions, HISTOGRAM_BUCKETS_MAX, Hits, Position, Query,
};
pub use shown::ShownColumns;
pub use statement::AskedLog;
pub use tail::Tail;
pub use value::FieldValue;
pub use view::LogsView;
pub use write::EntryBatch;
