//! How far the scrubber has come, in memory: [`crate::maintenance`] reads and moves it on.

use std::sync::Arc;

use timestrata_format::RunId;
use timestrata_io::sync::Mutex;

use crate::run::RunReader;

/// Figures of the scrubber, which reads runs against their checksums.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// while !store.scrub_step(64 << 20)? {}
/// assert_eq!((store.stats().scrub.rounds, store.stats().scrub.found_damage), (1, false));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScrubStats {
    /// Rounds over all runs that have ended since the store was opened.
    pub rounds: u64,
    /// Wall clock when the last round ended, also before the store was opened: nanoseconds since the epoch.
    pub round_ended_wall_ns: Option<i64>,
    /// Bytes read in the round under way.
    pub round_bytes: u64,
    /// Bytes read since the store was opened.
    pub bytes: u64,
    /// Whether damage was found in the round under way or in the one before.
    pub found_damage: bool,
}

/// See [`Scrubber`].
#[derive(Debug, Default)]
pub(crate) struct ScrubProgress {
    pub(crate) is_loaded: bool,
    pub(crate) run: RunId,
    pub(crate) offset: u64,
    /// The run has been whole so far, from its beginning.
    pub(crate) is_whole: bool,
    pub(crate) stats: ScrubStats,
    pub(crate) found_in_round: bool,
    /// Of the run under way, and gone with it: a store has more runs than may be kept open.
    pub(crate) reader: Option<Arc<RunReader>>,
    pub(crate) noted_bytes: u64,
    /// By the monotonic clock: up to when bytes have been accounted for.
    pub(crate) paced_ns: Option<u64>,
}

/// How far the scrubber has come.
#[derive(Debug, Default)]
pub(crate) struct Scrubber(pub(crate) Mutex<ScrubProgress>);
