//! Figures of the store, as they are when somebody asks: nothing is counted here.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use timestrata_engine::{
    HistoryStats, QueryInfo, QueryState, SeqNo, Store, StoreStats, StreamStats,
};

/// The store at one moment.
#[derive(Debug)]
pub(crate) struct StoreFigures {
    stats: StoreStats,
    queries: Vec<QueryInfo>,
    pins: u64,
    /// What can't be told now is left out.
    history: Option<HistoryStats>,
    followers: Option<Vec<SeqNo>>,
    sql_memory_bytes: u64,
}

impl StoreFigures {
    /// May wait for the disk.
    pub(crate) fn of(store: &Store, sql_memory_bytes: usize) -> Self {
        Self {
            stats: store.stats(),
            queries: store.queries(),
            pins: store.pins().len() as u64,
            history: store.history().ok(),
            followers: store.followers().ok().map(|all| all.into_values().collect()),
            sql_memory_bytes: sql_memory_bytes as u64,
        }
    }

    fn sum(&self, of: impl Fn(&StreamStats) -> u64) -> u64 {
        self.stats.streams.iter().map(of).sum()
    }

    /// How many runs there are of each level.
    fn runs(&self) -> Vec<u64> {
        let mut runs = vec![0];
        for stream in &self.stats.streams {
            runs.resize(runs.len().max(stream.level_runs.len()), 0);
            runs.iter_mut().zip(&stream.level_runs).for_each(|(all, of)| *all += of);
        }
        runs
    }

    fn queries(&self, state: QueryState) -> u64 {
        self.queries.iter().filter(|query| query.state == state).count() as u64
    }
}

/// What a figure is.
#[derive(Clone, Copy)]
enum Kind {
    /// It goes up and down.
    Gauge,
    /// It never falls as long as the store is open.
    Counter,
}

/// Name, kind, meaning and value; nothing where it can't be told now.
type Figure = (&'static str, Kind, &'static str, fn(&StoreFigures) -> Option<u64>);

const FIGURES: &[Figure] = {
    use Kind::{Counter, Gauge};
    &[
        ("streams", Gauge, "Streams; a model is made of one or a few", |of| {
            Some(of.stats.streams.len() as u64)
        }),
        ("wal_bytes", Gauge, "Write-ahead log that recovery would read", |of| {
            Some(of.stats.wal_bytes)
        }),
        ("wal_segments", Gauge, "Files of the log, spares included", |of| {
            Some(of.stats.wal_segments)
        }),
        ("wal_syncs", Counter, "Syncs of the log; each serves all who wait", |of| {
            Some(of.stats.wal_syncs)
        }),
        ("wal_sync_waits", Counter, "Calls that waited for a sync of the log", |of| {
            Some(of.stats.wal_sync_waits)
        }),
        ("unsynced_commits", Gauge, "Commits that a power cut could still take", |of| {
            Some(of.stats.last_seq.0.saturating_sub(of.stats.synced_seq.0))
        }),
        ("memtable_bytes", Gauge, "Rows in memory", |of| Some(of.stats.memtable_bytes)),
        ("memtable_rows", Gauge, "Rows in memory", |of| {
            Some(of.sum(|stream| stream.memtable_rows))
        }),
        ("flush_debt_memtables", Gauge, "Memtables that wait for their flush", |of| {
            Some(of.sum(|stream| stream.sealed_memtables))
        }),
        ("flush_debt_rows", Gauge, "Rows that wait for their flush", |of| {
            Some(of.sum(|stream| stream.sealed_rows))
        }),
        ("flushes", Counter, "Memtables that were flushed", |of| Some(of.stats.flushes)),
        ("flushed_bytes", Counter, "Run files that flushes wrote", |of| Some(of.stats.flush_bytes)),
        (
            "commit_stalls",
            Counter,
            "Commits that waited or were refused because flushes had fallen behind",
            |of| Some(of.stats.stalls),
        ),
        ("compaction_debt_bytes", Gauge, "What compaction would rewrite now", |of| {
            Some(of.sum(|stream| stream.compaction_debt_bytes))
        }),
        ("compactions", Counter, "Compactions that were carried out", |of| {
            Some(of.stats.compactions)
        }),
        ("compacted_bytes", Counter, "Run files that compactions wrote", |of| {
            Some(of.stats.compaction_bytes)
        }),
        ("run_bytes", Gauge, "Run files", |of| Some(of.sum(|stream| stream.run_bytes))),
        ("run_rows", Gauge, "Rows in run files, deleted ones included", |of| {
            Some(of.sum(|stream| stream.run_rows))
        }),
        ("range_deletes", Gauge, "Range deletes that are still heeded", |of| {
            Some(of.sum(|stream| stream.tombstones))
        }),
        ("cache_hits", Counter, "Questions that the cache of blocks answered", |of| {
            Some(of.stats.cache.hits)
        }),
        ("cache_misses", Counter, "Questions that it did not", |of| Some(of.stats.cache.misses)),
        ("cache_bytes", Gauge, "What the cache of blocks holds", |of| Some(of.stats.cache.bytes)),
        ("cache_bytes_max", Gauge, "What it may hold", |of| Some(of.stats.cache.bytes_max)),
        ("background_troubles", Gauge, "Background work that fails and is tried again", |of| {
            Some(of.stats.troubles.len() as u64)
        }),
        (
            "poisoned",
            Gauge,
            "1 once the store takes no more writes, because one has failed",
            |of| Some(of.stats.background_error.is_some().into()),
        ),
        ("damaged_rows", Gauge, "Rows in blocks that are known to be damaged", |of| {
            Some(of.stats.damaged.iter().map(|missing| missing.rows).sum())
        }),
        ("scrubbed_bytes", Counter, "Read by the scrubber since the start", |of| {
            Some(of.stats.scrub.bytes)
        }),
        ("scrub_rounds", Counter, "Rounds of the scrubber since the start", |of| {
            Some(of.stats.scrub.rounds)
        }),
        (
            "scrub_round_ended_timestamp_seconds",
            Gauge,
            "When the scrubber's last round ended, since 1970; 0: never",
            |of| {
                let ended_ns = of.stats.scrub.round_ended_wall_ns.unwrap_or(0);
                u64::try_from(ended_ns / 1_000_000_000).ok()
            },
        ),
        ("history_run_bytes", Gauge, "Runs that only the past needs", |of| {
            Some(of.history.as_ref()?.run_bytes)
        }),
        ("history_wal_bytes", Gauge, "Log that only the past needs", |of| {
            Some(of.history.as_ref()?.log_bytes)
        }),
        ("pinned_bytes", Gauge, "What pins keep of that", |of| {
            Some(of.history.as_ref()?.pinned_bytes)
        }),
        ("pins", Gauge, "Pins: snapshots with a name", |of| Some(of.pins)),
        ("followers", Gauge, "Followers with a name", |of| {
            Some(of.followers.as_ref()?.len() as u64)
        }),
        (
            "follower_lag_commits",
            Gauge,
            "Commits that the follower who is furthest behind hasn't saved yet",
            |of| {
                let last = of.stats.last_seq.0;
                let behind = of.followers.as_ref()?.iter().map(|seq| last.saturating_sub(seq.0));
                Some(behind.max().unwrap_or(0))
            },
        ),
        ("query_memory_bytes", Gauge, "Memory of all queries in SQL", |of| {
            Some(of.sql_memory_bytes)
        }),
    ]
};

impl Collector for StoreFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, kind, about, value) in FIGURES {
            let Some(value) = value(self) else { continue };
            match kind {
                Kind::Gauge => encoder
                    .encode_descriptor(name, about, None, MetricType::Gauge)?
                    .encode_gauge(&value)?,
                Kind::Counter => encoder
                    .encode_descriptor(name, about, None, MetricType::Counter)?
                    .encode_counter::<[(&str, &str); 0], u64, u64>(&value, None)?,
            }
        }
        let about = "Run files by level: 0 is what flushes wrote";
        let mut runs = encoder.encode_descriptor("runs", about, None, MetricType::Gauge)?;
        for (level, count) in self.runs().iter().enumerate() {
            runs.encode_family(&[("level", level.to_string())])?.encode_gauge(count)?;
        }
        let about = "Queries and reads under way, by what they do";
        let mut queries = encoder.encode_descriptor("queries", about, None, MetricType::Gauge)?;
        for state in [QueryState::Running, QueryState::Waiting, QueryState::Ending] {
            let count = self.queries(state);
            queries.encode_family(&[("state", state.name())])?.encode_gauge(&count)?;
        }
        Ok(())
    }
}
