//! A store over HTTP: `timestrata serve`.
//!
//! Bodies come in by streams and answers go out by streams; what the engine may wait for is done
//! on threads of its own, so that no request holds up another. An acknowledged write has been
//! synced; requests that write at once share syncs. The server listens on loopback unless told
//! otherwise, and then asks for a token.
//!
//! [`Server::bind`] takes an open store and a [`Config`]; [`Server::run`] serves until told to
//! stop, lets requests end, and closes the store.
#![forbid(unsafe_code)]

mod answer;
mod auth;
mod body;
pub mod config;
mod drain;
mod error;
mod metrics;
mod routes;
mod serve;
mod state;

pub use config::Config;
pub use serve::{Server, init_logs};
