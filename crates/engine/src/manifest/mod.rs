//! The manifest: which runs and tombstones make the store.
