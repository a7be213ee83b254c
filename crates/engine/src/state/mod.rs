//! What all parts of an open store share: its locks and what they guard.
//!
//! Owns [`Engine`], with the order of its locks; [`StoreState`], what the commit lock guards; the
//! [`Version`]s of streams; and [`Edit`], by which alone the manifest is changed. What is done with
//! them is above: flush and compaction in `maintenance`, commits in `commit`, streams and pins in `catalog`,
//! opening in `recovery` and `store`. Nothing here calls any of these.

mod bulks;
mod committed;
mod edit;
mod engine;
mod follower;
mod past;
mod pins;
mod poison;
mod provisional;
mod report;
mod reserve;
mod scrubber;
mod store_state;
mod tell;
mod troubles;
mod version;
mod viewing;
mod workers;

pub(crate) use self::bulks::GiveUp;
pub(crate) use self::edit::Edit;
pub(crate) use self::engine::{Counters, Engine};
pub(crate) use self::follower::{Follower, FollowerProgress};
pub(crate) use self::past::readable_history;
pub use self::pins::PinInfo;
pub(crate) use self::pins::PinState;
pub(crate) use self::provisional::{Maker, Seen};
pub use self::report::RecoveryReport;
pub(crate) use self::reserve::{Reserve, fit};
pub(crate) use self::scrubber::ScrubProgress;
pub use self::scrubber::ScrubStats;
pub(crate) use self::store_state::{Slot, StoreState, StreamState, no_stream};
pub(crate) use self::troubles::Work;
pub(crate) use self::version::{RunFolder, RunHandle, Version, heeded};
pub(crate) use self::workers::Role;
