//! Work that commits leave behind: flush, compaction, retention, periodic sync.
//!
//! Each is a method of the engine that does one piece of work in the calling thread;
//! [`Workers`] are the threads that call them where maintenance is in the background.

mod compact;
mod flush;
mod retain;
mod scrub;
mod troubles;
mod workers;

pub(crate) use compact::Ground;
pub(crate) use flush::write_memtable;
pub use scrub::ScrubStats;
pub(crate) use scrub::Scrubber;
pub(crate) use troubles::{Troubles, Work};
pub(crate) use workers::Workers;
