//! The memtable: a stream's recent rows.
