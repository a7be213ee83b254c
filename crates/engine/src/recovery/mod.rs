//! Opening: manifest, then the WAL from the first segment still needed.
//!
//! What recovery may not do: lose an acknowledged commit, change a byte that it can't
//! explain, or let go of a file before all that the manifest names is known to be there. A torn tail is cut (by going on in a new segment) and reported; damage in the
//! middle is an error that names file and offset.

mod follow;
mod load;
mod replay;

pub(crate) use follow::{load_beside, refresh};
pub(crate) use load::{KnownRuns, Loaded, Recovered, build_core, recover};
pub(crate) use replay::Replay;
