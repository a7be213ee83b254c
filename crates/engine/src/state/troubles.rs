//! Work in the background that has failed, and is tried again after a pause that grows.
//!
//! Owns what failed last of each kind of work. Nothing depends on what such work had written so far: its
//! files are removed, and it begins anew with others. Workers ask before they try; whoever waits for
//! their work, and the store's figures, are told why it doesn't get done.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use timestrata_format::StreamId;
use timestrata_io::sync::Mutex;

use crate::{Error, Result};

/// The first pause; each one after is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(250);
/// The longest pause of work that commits wait for.
const URGENT_PAUSE_MAX: Duration = Duration::from_secs(2);
/// The longest pause of other work: a try may write much before it fails.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Work that is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Work {
    /// Memtables to runs.
    Flush,
    /// A file for the log's next segment.
    LogFile,
    /// Compaction of one stream, or its retention.
    Compaction(StreamId),
}

impl Work {
    fn pause_max(self) -> Duration {
        match self {
            Self::Flush => URGENT_PAUSE_MAX,
            Self::LogFile | Self::Compaction(_) => PAUSE_MAX,
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flush => f.write_str("flush"),
            Self::LogFile => f.write_str("a file for the log"),
            Self::Compaction(stream) => write!(f, "compaction of stream {stream}"),
        }
    }
}

#[derive(Debug)]
struct Trouble {
    error: Error,
    pause: Duration,
    /// By the monotonic clock.
    not_before_ns: u64,
}

/// What has failed, and not succeeded since.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Mutex<HashMap<Work, Trouble>>);

impl Troubles {
    /// Notes what came of a try at `now_ns`, and tells of it: of a failure, and of the success after one.
    pub(crate) fn note<T>(&self, work: Work, outcome: &Result<T>, now_ns: u64) {
        let mut troubles = self.0.lock();
        let Err(error) = outcome else {
            let was = troubles.remove(&work);
            drop(troubles);
            if was.is_some() {
                tracing::info!(target: "timestrata::trouble", %work, "done at last, after it had failed");
            }
            return;
        };
        let pause = troubles.get(&work).map_or(PAUSE_MIN, |trouble| trouble.pause * 2);
        let pause = pause.min(work.pause_max());
        let pause_ns = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        let not_before_ns = now_ns.saturating_add(pause_ns);
        troubles.insert(work, Trouble { error: error.duplicate(), pause, not_before_ns });
        drop(troubles);
        let retry_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(
            target: "timestrata::trouble",
            %work,
            %error,
            retry_ms,
            "work in the background has failed, and will be tried again"
        );
    }

    /// Whether it is too early for another try.
    pub(crate) fn is_early(&self, work: Work, now_ns: u64) -> bool {
        self.0.lock().get(&work).is_some_and(|trouble| now_ns < trouble.not_before_ns)
    }

    /// Why the work doesn't get done, if it doesn't.
    pub(crate) fn error(&self, work: Work) -> Option<Error> {
        self.0.lock().get(&work).map(|trouble| trouble.error.duplicate())
    }

    /// All that has failed and not succeeded since, the most urgent first.
    pub(crate) fn texts(&self) -> Vec<String> {
        let troubles = self.0.lock();
        let mut list: Vec<_> = troubles.iter().collect();
        list.sort_by_key(|(work, _)| **work);
        list.into_iter().map(|(_, trouble)| trouble.error.to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn pauses_between_tries_grow_to_a_bound_and_end_with_success() {
        let troubles = Troubles::default();
        let failed: Result<()> = Err(Error::new(ErrorKind::NoSpace, "full"));
        let pause_ns = |now_ns: u64| {
            (1..=240)
                .map(|n| n * 250_000_000)
                .find(|ns| !troubles.is_early(Work::Flush, now_ns + ns))
        };
        let pauses: Vec<_> = (0..5)
            .map(|_| {
                troubles.note(Work::Flush, &failed, 7);
                pause_ns(7).map(|ns| ns / 1_000_000)
            })
            .collect();
        assert_eq!(pauses, [250, 500, 1000, 2000, 2000].map(Some));
        assert!(!troubles.is_early(Work::LogFile, 7));
        assert_eq!(troubles.texts(), ["full"]);
        troubles.note(Work::Flush, &Ok(()), 8);
        assert!(!troubles.is_early(Work::Flush, 8) && troubles.texts().is_empty());
    }
}
