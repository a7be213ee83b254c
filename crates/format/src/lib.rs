//! Bytes to structs and back, without I/O: what a store's files hold.
//!
//! Everything here is pure, so that fuzzing can feed it. `docs/format.md` has the byte maps.
//! Decoders take untrusted bytes: they return [`DecodeError`] and never panic.
#![forbid(unsafe_code)]

pub mod checksum;
mod error;
pub mod frame;
mod header;
mod history;
mod ids;
pub mod input;
mod key;
pub mod manifest;
mod run;
mod run_aggregates;
mod run_layout;
mod run_origin;
mod scrub;
pub mod wal;
mod word_filters;

pub use error::DecodeError;
pub use header::HeaderError;
pub use history::{HISTORY_HEADER_BYTES, HistoryHeader, HistoryStep};
pub use ids::{RunId, SeqNo, StoreId, StreamId, WalId};
pub use key::{KeyRange, LeadKey};
pub use run::{
    BLOCK_CHECKSUM_BYTES, BLOCK_CHECKSUM_BYTES_LEAST, BLOCK_CHECKSUM_BYTES_SMALL, RunFormat,
    RunMeta, RunTail, Tombstone, Zone,
};
pub use run_aggregates::RunAggregates;
pub use run_layout::RunLayout;
pub use run_origin::{BlockExtent, RunOrigin};
pub use scrub::{SCRUB_MARK_BYTES, ScrubMark};
pub use word_filters::WordFilters;

/// The version of all file formats of this build. A store records the version that wrote
/// it; a build opens its own version and every earlier one, and refuses later ones.
pub const FORMAT_VERSION: u32 = 4;
