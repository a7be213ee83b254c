//! The engine: one log-structured store of Arrow streams.
//!
//! A [`Store`] is a directory (or memory) with any number of streams; a commit changes one
//! or several of them atomically; a [`Snapshot`] sees all of them at one instant. The
//! modules are the chapters: a row is *committed* (`wal`, `memtable`), *flushed* (`run`,
//! `manifest`), *compacted* (`compaction`), *read* (`snapshot`, `scan`) and *recovered*
//! (`recovery`).

mod backup;
mod catalog;
mod cell;
mod changes;
mod check;
mod code_table;
mod commit;
mod compaction;
mod damage;
mod directory;
mod encoded_rows;
mod error;
mod feed;
pub mod ids;
mod key;
mod key_changes;
mod lock;
mod maintenance;
mod manifest;
mod memory;
mod memtable;
#[doc(hidden)]
pub mod planted;
mod query;
mod recovery;
mod repair;
mod row_encoder;
mod run;
mod scan;
mod settings;
mod snapshot;
mod state;
mod store;
mod stream;
mod tombstones;
mod wal;
mod within;
pub mod words;

pub use backup::{BackupOptions, BackupReport};
pub use cell::Cell;
pub use changes::{Changes, Durability};
pub use check::{CheckReport, Finding, check};
pub use code_table::{Code, CodeTable};
pub use directory::{QuarantinedFile, TOKENS_DIR};
pub use error::{Error, ErrorKind, MissingRange, Result};
pub use feed::{ChangeBatches, ChangeKind, CommittedChanges, StreamChange};
pub use maintenance::PurgeReport;
pub use memory::ask_for_copy;
pub use memtable::RowBatch;
pub use query::{GiveUpOnDrop, QueryInfo, QueryState, RunningQuery};
pub use repair::{FileLeftOut, RepairOptions, RepairReport, RepairedStream, repair};
pub use row_encoder::RowEncoder;
pub use run::CacheStats;
pub use scan::{
    AggregatedBlocks, Aggregates, BlockBounds, ColumnBounds, ColumnSize, NumberAggregates,
    NumberRange, PartBounds, PruneFilter, Row, RowFilter, Scan, ScanEstimate, ScanFilter, ScanSpec,
    SeriesAggregates, Share, Values,
};
pub use settings::{
    BusyPolicy, Maintenance, Setting, SettingForm, Settings, duration_of_text, size_of_text,
};
pub use snapshot::Snapshot;
pub use state::{PinInfo, RecoveryReport, ScrubStats};
pub use store::{
    Access, BulkCommit, ChangeFeed, CommitPart, GroupAppender, HistoryStats, LockRank, Moment,
    ProvisionalStreams, RowAppender, RowChange, Store, StoreStats, StreamStats,
};
pub use stream::{
    BLOCK_ROWS_PROPERTY, COLD_BLOCK_ROWS_PROPERTY, COMPRESSION_PROPERTY, LeadKind, RunCompression,
    SERIES_PROPERTY, Stream, StreamSpec, WORDS_PROPERTY, finer_times, widens,
};
pub use timestrata_format::manifest::{Merge, Retention};
pub use timestrata_format::{
    FORMAT_VERSION, KeyRange, LeadKey, RunFormat, SeqNo, StoreId, StreamId,
};
pub use timestrata_io::{Clock, Disk, DiskFile, Io, OpenMode, locks};
