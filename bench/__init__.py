"""Benchmarks that are written in Python; those in Rust are `crates/bench`."""
