//! Compaction: runs to fewer, better runs.
//!
//! Owns the strategies, which are pure: the runs and tombstones of one stream go in, one
//! [`CompactionPlan`] comes out. A worker carries a plan out and asks again; nothing here touches a
//! file or a clock. Invariant of every plan: the rows of any run that stays outside and
//! shares keys with the inputs were committed wholly before or wholly after the inputs'
//! rows, so the outputs have one place in the order of commits.

mod around;
mod choose;
mod concatenate;
mod cut;
mod leveled;
mod order;
mod retention;
#[cfg(test)]
mod simulation;
mod window;

pub(crate) use around::choose_around;
pub(crate) use choose::{CompactionPlan, Rewrite, debt_bytes};
pub(crate) use retention::expired;
