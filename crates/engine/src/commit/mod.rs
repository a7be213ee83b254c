//! The write path: what becomes of changes until they have their place in the order of commits.
//!
//! Small commits go through the log to memtables ([`write`]); large ones go straight to runs
//! ([`direct`]), batch by batch where they come so ([`bulk_load`]).

mod bulk_load;
mod direct;
mod write;

pub(crate) use bulk_load::BulkLoad;
