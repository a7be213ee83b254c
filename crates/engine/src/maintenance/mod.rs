//! Work that commits leave behind: flush, compaction, retention, periodic sync.
//!
//! Each is a method of the engine that does one piece of work in the calling thread;
//! [`start`] starts the threads that call them where maintenance is in the background.

mod compact;
mod flush;
mod purge;
mod retain;
mod scrub;
mod workers;

use crate::Result;

pub(crate) use compact::CompactionTarget;
pub(crate) use flush::write_memtable;
pub use purge::PurgeReport;
pub(crate) use workers::start;

/// Takes steps until one says that nothing is left to do.
fn until_done(mut step: impl FnMut() -> Result<bool>) -> Result<()> {
    while step()? {}
    Ok(())
}
