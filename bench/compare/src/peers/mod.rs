//! The stores: each opens in a folder, ingests, is scanned, and is asked for single rows.

mod fjall;
mod lmdb;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sqlite;
mod timestrata;

use std::path::Path;

use timestrata_bench::Result;

use crate::race::Race;

/// One store.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// What differs from the store's defaults.
    pub(crate) settings: &'static str,
    pub(crate) run: fn(&Path, &mut Race<'_>) -> Result<()>,
}

/// All of them.
pub(crate) const PEERS: &[Peer] = &[
    Peer { name: "Timestrata", settings: "a `Latest` stream", run: timestrata::run },
    Peer {
        name: "LMDB",
        settings: "LMDB with MDB_APPEND, a map of 4 GiB, MDB_NOSYNC where syncs are at the end",
        run: lmdb::run,
    },
    Peer { name: "redb", settings: "redb as it comes", run: redb::run },
    #[cfg(feature = "rocksdb")]
    Peer { name: "RocksDB", settings: "RocksDB without compression", run: rocksdb::run },
    Peer { name: "fjall", settings: "fjall as it comes", run: fjall::run },
    Peer {
        name: "SQLite",
        settings: "SQLite with its WAL, a table without row ids, a cache of 256 MiB, \
                   synchronous=OFF where syncs are at the end, then a full checkpoint",
        run: sqlite::run,
    },
];
