"""Benchmarks that are written in Python; those in Rust are `bench/rust` and `bench/compare`."""
