//! What stands in for Pulsora in its own tests: its names, and behind them a server of ours.

pub mod config;
pub mod error;
pub mod server;
pub mod storage;
