//! Opening: manifest, then the WAL from the first segment still needed. Also how a store was earlier, which is the same but
//! for where it ends.
//!
//! What recovery may not do: lose an acknowledged commit, change a byte that it can't
//! explain, or let go of a file before all that the manifest names is known to be there. A torn end is
//! cut (by going on in a new segment) and reported; damage in the
//! middle is an error that names file and offset.
//!
//! ```text
//!   manifest    runs 4 and 5 of stream `a`, flushed through 20; run 6 of `b`, flushed through 12; floor 7.wal
//!   files       000..4 000..5 000..6 and 000..9, which no version names (a flush that didn't end)
//!   log         from 7.wal on: commits 13 (b), 18 (a), 21 (a and b), 22 (a), and a part of one behind
//!
//!   1  are runs 4, 5, 6 there, and their ends whole?   else: error, or `damaged_runs`; no file is touched
//!   2  build the streams: `a` with runs 4, 5; `b` with run 6
//!   3  replay    13 -> memtable of b
//!                18 -> passed over: a is flushed through 20
//!                21 -> memtables of a and of b
//!                22 -> memtable of a
//!                the part behind 22 was never acknowledged as synced: the log ends here, which is reported
//!   4  a new manifest file, then run 9 is set aside in quarantine, then the log goes on in a new segment
//! ```
//!
//! A commit that went straight to runs isn't in the log. Where such a run has a commit between two of the log,
//! the memtable is sealed between them, as it was when the commit was made: or it would hold
//! commits from both sides of the run ([`replay`]).

mod follow;
mod kept;
mod load;
mod moment;
mod replay;
mod times;

pub(crate) use follow::{load_beside, refresh};
pub(crate) use kept::{kept_bytes, oldest_commit};
pub(crate) use load::{KnownRuns, LoadedStore, Recovered, build_core, recover};
pub(crate) use moment::{beside, core_at, is_newest_beside, known_runs, past_handle};
pub(crate) use replay::Replay;
pub(crate) use times::commit_by;
