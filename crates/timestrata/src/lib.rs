//! Timestrata: one embedded, Arrow-native, log-structured store for everything that happens
//! over time.
//!
//! A [`Store`] is a directory (or memory). Models live in it side by side; so far:
//!
//! - [`graph`]: versioned blocks and typed edges between them, walked in memory;
//! - [`logs`]: structured application logs by the time of their arrival, searched by words, fields
//!   and time, and followed;
//! - [`table`]: typed rows by time, from CSV, JSON, Arrow and Parquet, with upsert keys;
//! - [`timelog`]: values (bytes, or objects as CBOR) by timestamp, with slices, late data and
//!   range deletes;
//! - [`topic`]: an event log with consumer groups, whose records can be proved to others.
//!
//! What a commit survives is its [`Durability`]; what an error asks you to do is its
//! [`ErrorKind`].
//!
//! ```
//! use timestrata::timelog::{Codec, Timelog, TimelogOptions};
//! use timestrata::{Settings, Store};
//!
//! # fn main() -> timestrata::Result<()> {
//! let store = Store::memory(Settings::default())?; // or Store::open("readings", ...)
//! let options = TimelogOptions { codec: Codec::Cbor, ..Default::default() };
//! let log = Timelog::create(&store, "cellar", options)?;
//! log.append_value(1_357_016_400_000, &("temperature", 11.5))?;
//! log.append_value(1_357_020_000_000, &("temperature", 11.75))?;
//!
//! let readings: Vec<(i64, (String, f64))> =
//!     log.range(1_357_020_000_000..)?.decode().collect::<Result<_, _>>()?;
//! assert_eq!(readings[0].1.1, 11.75);
//! store.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! A query in SQL goes over all models, at one moment:
//!
//! ```
//! use timestrata::sql::{Params, Sql, SqlOptions};
//! use timestrata::timelog::{Timelog, TimelogOptions};
//! use timestrata::{Settings, Store};
//!
//! # #[cfg(feature = "sql")]
//! # fn main() -> timestrata::Result<()> {
//! let store = Store::memory(Settings::default())?;
//! let door = Timelog::create(&store, "door", TimelogOptions::default())?;
//! door.append(1_700_000_000_000, b"opened")?;
//! let sql = Sql::new(&store, SqlOptions::default())?;
//! let answer = sql.query_blocking("SELECT time, value FROM door", Params::none())?;
//! let batches = answer.collect::<timestrata::Result<Vec<_>>>()?;
//! assert_eq!(batches[0].num_rows(), 1);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "sql"))]
//! # fn main() {}
//! ```
//!
//! # Features
//!
//! All are on by default. Who wants one model alone asks for it by name and builds neither DataFusion nor
//! readers of files: `timestrata = { version = "0.1", default-features = false, features = ["topic"] }`.
//!
//! | feature | what it gives |
//! | --- | --- |
//! | `timelog`, `table`, `logs`, `topic`, `graph` | a model each |
//! | `ingest` | CSV, JSON, Arrow, Parquet, protobuf and lines of logs, as rows and entries |
//! | `sql` | queries over all models |
//!
//! The crates of Arrow that rows are made with are [`arrow_array`] and [`arrow_schema`].
//!
//! The streams under the models can be used directly as well: see [`StreamSpec`],
//! [`Changes`] and [`Snapshot::scan`].
#![forbid(unsafe_code)]

mod commit;
#[cfg(all(doctest, feature = "ingest", feature = "sql"))]
mod documents;

pub use arrow_array;
pub use arrow_schema;
pub use commit::commit_together;
#[cfg(all(
    feature = "graph",
    feature = "logs",
    feature = "table",
    feature = "timelog",
    feature = "topic"
))]
pub use extent::Extent;
#[cfg(all(
    feature = "graph",
    feature = "logs",
    feature = "table",
    feature = "timelog",
    feature = "topic"
))]
pub use info::{missing_info, store_info};
#[cfg(all(feature = "graph", feature = "logs", feature = "table", feature = "topic"))]
pub use owner::{drop_by_name, owner_of, purge_by_name, purge_by_name_for};
#[cfg(all(
    feature = "graph",
    feature = "logs",
    feature = "table",
    feature = "timelog",
    feature = "topic"
))]
pub use role::{StreamRole, role_of};
pub use timestrata_engine::{
    Access, BackupOptions, BackupReport, BulkCommit, BusyPolicy, CacheStats, Cell, ChangeBatches,
    ChangeFeed, ChangeKind, Changes, CheckReport, Clock, ColumnSize, CommitPart, CommittedChanges,
    Durability, Error, ErrorKind, FORMAT_VERSION, FileLeftOut, Finding, HistoryStats, Io, KeyRange,
    LeadKey, LeadKind, LockRank, Maintenance, Merge, MissingRange, Moment, PinInfo, PurgeReport,
    QuarantinedFile, QueryInfo, QueryState, RecoveryReport, RepairOptions, RepairReport,
    RepairedStream, Result, Retention, Row, RowAppender, RowEncoder, RunCompression, RunFormat,
    RunningQuery, Scan, ScanSpec, ScrubStats, SeqNo, Setting, SettingForm, Settings, Share,
    Snapshot, Store, StoreId, StoreStats, Stream, StreamChange, StreamId, StreamSpec, StreamStats,
    check, duration_of_text, repair, size_of_text,
};
#[cfg(feature = "graph")]
pub use timestrata_graph as graph;
#[cfg(feature = "ingest")]
pub use timestrata_ingest as ingest;
#[cfg(feature = "logs")]
pub use timestrata_logs as logs;
#[cfg(feature = "topic")]
pub use timestrata_merkle as merkle;
#[cfg(feature = "sql")]
pub use timestrata_sql as sql;
#[cfg(feature = "table")]
pub use timestrata_table as table;
#[cfg(feature = "timelog")]
pub use timestrata_timelog as timelog;
#[cfg(feature = "topic")]
pub use timestrata_topic as topic;
pub use timestrata_values as values;

#[cfg(all(feature = "graph", feature = "logs", feature = "table", feature = "topic"))]
mod owner;
#[cfg(all(
    feature = "graph",
    feature = "logs",
    feature = "table",
    feature = "timelog",
    feature = "topic"
))]
mod role;

#[cfg(all(
    feature = "graph",
    feature = "logs",
    feature = "table",
    feature = "timelog",
    feature = "topic"
))]
mod extent;
#[cfg(all(
    feature = "graph",
    feature = "logs",
    feature = "table",
    feature = "timelog",
    feature = "topic"
))]
mod info;

/// Its examples run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
