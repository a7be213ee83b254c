//! Events of the crate `tracing` as entries of a log.
//!
//! A [`LogsLayer`] hands events to a thread, which writes them in batches: whoever has something to say
//! waits for no disk. The queue between is bounded. What it can't take is dropped and counted, and
//! the log itself says so, where the entries are missing; so it does of what could not be written. What is
//! too long for the log is written shorter, and has a field `shortened`.
//!
//! ```
//! use timestrata::logs::{Logs, LogsOptions, Query};
//! use timestrata::{Settings, Store};
//! use timestrata_tracing::LogsLayer;
//! use tracing_subscriber::prelude::*;
//!
//! # fn main() -> timestrata::Result<()> {
//! let store = Store::memory(Settings::default())?;
//! let logs = Logs::create(&store, "app", &LogsOptions::default())?;
//! let (layer, writer) = LogsLayer::new(&logs)?;
//! tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
//!     let request = tracing::info_span!("request", path = "/items").entered();
//!     tracing::warn!(status = 404, "nothing there");
//!     drop(request);
//! });
//! drop(writer); // waits until everything is written
//! assert_eq!(logs.count(&Query::of("level>=warn path:items status=404")?)?, 1);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod layer;
mod visitor;
mod writer;

pub use layer::{LogsLayer, QUEUE_ENTRIES};
pub use writer::Writer;
