//! `Changes`: what commits change, one after the other.

mod change;
mod feed;
mod open;

pub(crate) use change::{Change, CommittedChanges};
pub(crate) use feed::Changes;
