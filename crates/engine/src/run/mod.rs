//! Runs: immutable files of rows sorted by the stream's key.
