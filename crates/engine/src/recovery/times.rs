//! When commits were made.
//!
//! Each record of the log has the time of its commit. Of commits that went straight to runs, and of log that is gone, edits of the
//! manifest tell: by the time in an edit all commits had been made that it tells of.

use timestrata_format::{SeqNo, WalId};

use super::moment::beside;
use crate::directory::WAL_DIR;
use crate::manifest::{History, LoadedManifest, ManifestState};
use crate::state::Engine;
use crate::wal::{ReadMode, WalReader, each_record, ms_of};
use crate::{Error, ErrorKind, Result};

/// The last commit that was made by a time, in nanoseconds since the epoch.
///
/// # Errors
/// `HistoryLost` where that commit is not kept any more; `InvalidArgument` for a time that has not come.
pub(crate) fn commit_by(engine: &Engine, time_ns: i64) -> Result<SeqNo> {
    let invalid = |what: &str| Err(Error::new(ErrorKind::InvalidArgument, what));
    let has_come = time_ns <= engine.io.clock.wall_ns();
    let time_ms = ms_of(time_ns);
    if let Some(moment) = engine.moment {
        // It holds nothing but that.
        return Err(engine.lost(moment, Some(moment)));
    }
    match (&engine.manifest, &engine.wal, &engine.follower) {
        (Some(manifest), Some(wal), _) => {
            let manifest = manifest.lock();
            let core = engine.core.lock();
            let last_seq = core.last_seq;
            // Commits are dated under the commit lock.
            let last_ms = wal.time_ms();
            if last_ms <= time_ms {
                return if has_come || time_ms == last_ms {
                    Ok(last_seq)
                } else {
                    Err(too_early())
                };
            }
            drop(core);
            let Some(history) = manifest.history() else { return Err(engine.lost_time(last_seq)) };
            let log = Dated::of_history(history);
            let _held = engine.past.hold();
            drop(manifest);
            Ok(log.commit_by(engine, time_ms, Some(last_seq))?.0)
        }
        (_, _, Some(_)) => {
            let read = |loaded: &LoadedManifest, history: Option<&History>| {
                let of_now = || Dated::of_manifest(&loaded.state);
                let log = history.map_or_else(of_now, Dated::of_history);
                // Where the clock was set back, later than now is not later than the last commit.
                match log.commit_by(engine, time_ms, None)? {
                    (_, newest_ms) if !has_come && newest_ms < time_ms => Err(too_early()),
                    (seq, _) => Ok(seq),
                }
            };
            beside(engine, read)?.ok_or_else(|| engine.lost_time(SeqNo::default()))
        }
        _ => invalid("a store in memory does not date its commits: ask for one by its number"),
    }
}

fn too_early() -> Error {
    let message = "the time has not come yet: what is read of it could still change";
    Error::new(ErrorKind::InvalidArgument, message)
}

/// What tells of the times of commits.
struct Dated {
    /// Where the log begins that is still there.
    floor: WalId,
    /// The last commit, as far as the manifest tells.
    newest: SeqNo,
    /// The oldest commit that can be read; `None`: the last one only.
    oldest: Option<SeqNo>,
    /// Commits, each with a time by which it had been made.
    made_by: Vec<(SeqNo, u64)>,
}

impl Dated {
    fn of_history(history: &History) -> Self {
        let made_by = history.made_by().collect();
        let (newest, oldest) = (history.newest(), Some(history.oldest()));
        Self { floor: history.floor(), newest, oldest, made_by }
    }

    fn of_manifest(state: &ManifestState) -> Self {
        // By no time is known that a commit had been made that an earlier build did not date.
        let is_dated = state.time_ms > 0;
        let made_by = is_dated.then(|| (state.last_seq(), state.time_ms)).into_iter().collect();
        Self { floor: state.wal_floor, newest: state.last_seq(), oldest: None, made_by }
    }

    /// The last commit that was made by a time, and when the newest of all had been made.
    fn commit_by(
        &self,
        engine: &Engine,
        time_ms: u64,
        through: Option<SeqNo>,
    ) -> Result<(SeqNo, u64)> {
        let known = self.made_by.iter().filter(|(_, by_ms)| *by_ms <= time_ms);
        let mut found = known.map(|(seq, _)| *seq).max().unwrap_or_default();
        let mut newest = self.newest;
        let mut newest_ms = self.made_by.iter().map(|(_, by_ms)| *by_ms).max().unwrap_or_default();
        let (dir, store_id) = (engine.dir.join(WAL_DIR), engine.folder.store_id);
        let mode = ReadMode::Follower;
        let mut reader = WalReader::open(&engine.io, &dir, store_id, mode, self.floor, None)?;
        reader.read_past(through.unwrap_or(SeqNo(u64::MAX)));
        each_record(reader, &mut |record| {
            newest = newest.max(record.seq);
            newest_ms = newest_ms.max(record.time_ms.unwrap_or(0));
            if record.time_ms.is_some_and(|made_ms| made_ms <= time_ms) {
                found = found.max(record.seq);
            }
            Ok(())
        })?;
        let oldest = self.oldest.unwrap_or(newest);
        if found < oldest { Err(engine.lost_time(oldest)) } else { Ok((found, newest_ms)) }
    }
}

impl Engine {
    /// The error of a time of which the store can't be read any more.
    fn lost_time(&self, oldest: SeqNo) -> Error {
        let message = format!(
            "the store can't be read any more as of that time: the oldest commit that can be is {oldest}, and \
             the setting history_min says how long they are kept"
        );
        Error::new(ErrorKind::HistoryLost, message)
    }
}
