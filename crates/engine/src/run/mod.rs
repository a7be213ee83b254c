//! Runs: immutable files of rows of one stream, sorted by the stream's whole key.
//!
//! A *hot* run is an Arrow IPC file that is mapped and read without copying; a *cold* run
//! is a Parquet file. Either can be read on its own by any tool for its format: what the
//! store adds (identity, zone maps, block checksums) is one entry of the file's metadata.
//!
//! Invariants: a run never changes once [`RunWriter::finish`] has given its
//! [`timestrata_format::RunMeta`]; no byte of a file is handed out before its checksum has
//! been compared. Flush and compaction write runs; scans and `check` read them.

mod aggregates;
mod ahead;
mod block_builder;
mod cache;
mod checked;
mod coded;
mod cold;
mod damaged;
mod decimals;
mod dictionary;
mod encoder;
mod encodings;
mod evolve;
mod hot;
mod layout;
mod name;
mod parts;
mod peek;
mod reader;
mod row_groups;
mod scrub;
mod series;
mod sink;
mod stored_block;
mod tail;
mod value_buffer;
mod verify;
mod word_filter;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use cache::BlockCache;
pub use cache::CacheStats;
pub(crate) use checked::has_whole_tail;
pub(crate) use decimals::{DecimalColumn, decimal_columns};
pub(crate) use layout::{check_column_types, children};
pub(crate) use name::{file_name, parse_file_name};
pub(crate) use peek::{Peeked, peek};
pub(crate) use reader::RunReader;

pub(crate) use writer::{Lineage, Provenance, RunWriter, writer_in};

/// The key under which a run file's own metadata carries the run's tail, in base64.
const METADATA_KEY: &str = "timestrata.run";

/// The key under which it says where the run comes from, in base64.
const ORIGIN_KEY: &str = "timestrata.origin";

/// The key under which a cold run's metadata says how its rows and columns are stored, where that is not as the stream
/// has them.
const LAYOUT_KEY: &str = "timestrata.layout";

/// The key under which a cold run's metadata says where the filters of its blocks' words lie.
const WORDS_KEY: &str = "timestrata.words";

/// The key under which a cold run's metadata says where that lies which its rows come to.
const AGGREGATES_KEY: &str = "timestrata.aggregates";
