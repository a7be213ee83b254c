//! What disks without files of their own have in common: the tree of names, what an open
//! file allows, locks. For the disk in memory and the simulated one, so that both refuse
//! the same calls with the same words, as the real one does; no part of the crate's promises.

mod access;
mod locks;
mod tree;

pub(crate) use access::fixed_length;
pub use access::{Access, read_at};
pub use locks::Locks;
pub use tree::{Tree, failure, plain};
