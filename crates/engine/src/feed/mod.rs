//! What commits have changed, one after the other: for those who follow a store.
//!
//! The log has nearly all of it, as it was asked for. The history's edits tell of the rest: of commits that went straight to runs,
//! and of what is no commit, that rows have expired or that a stream was dropped.
//!
//! ```text
//!    log       commit 7   commit 8              commit 10
//!    history                         commit 9: run 4 added       (after 10) run 1 has expired
//!    given     7          8          9          10               10, which has expired
//! ```
//!
//! Commits are numbered without a gap, so what is in neither of the two is lost, and that is said. What is no commit has the number
//! of the last one before it: who goes on behind that commit is told of it again, rather than never.

mod change;
mod read;
mod recent;
mod rewritten;
mod rows;
mod told;

pub use change::{ChangeKind, CommittedChanges, StreamChange};
pub(crate) use read::Feed;
pub use rows::ChangeBatches;
