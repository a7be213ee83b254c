//! Compaction: runs to fewer, better runs.
